//! `index`: decides if searches use an index, and if they wait for one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use forage_fs::PrivatePlace;

use super::Config;
use super::table::IndexUse;
use crate::answer_cache;
use forage_tools::index_manager::{self, IndexManager, IndexMode, IndexStore, Lifetime};

impl Config {
    /// Returns the index mode, or `None` if searches must not use an index.
    pub(crate) fn index_mode(&self) -> Option<IndexMode> {
        match self.settings.index {
            IndexUse::Off => None,
            IndexUse::Auto => Some(IndexMode::Auto),
            IndexUse::Always => Some(IndexMode::Always),
        }
    }

    /// Opens the indexes that searches use.
    pub(crate) fn indexes(&self, lifetime: Lifetime) -> Option<Arc<IndexManager>> {
        let mode = self.index_mode()?;
        let patience = Duration::from_millis(self.settings.limits.timeout_ms);
        Some(IndexManager::new(index_directory().ok()?, mode, lifetime, patience))
    }

    /// Opens the index store of a root.
    ///
    /// # Errors
    ///
    /// Returns an error if the cache directory is unknown or inside the root, or if changes of the root's
    /// files can't be detected.
    pub(crate) fn index_store(&self, root: &forage_fs::Root) -> anyhow::Result<IndexStore> {
        let directory = index_directory()?;
        let path = answer_cache::resolved(&directory.path());
        if path.starts_with(root.path()) {
            bail!(
                "the cache directory {} is inside the root {}, where Forage writes nothing; set \
                 XDG_CACHE_HOME to another directory",
                path.display(),
                root.path().display()
            );
        }
        if let Some(reason) = root.no_states() {
            bail!("{} has no index, and every search reads every file: {reason}", root.path().display());
        }
        Ok(IndexStore::new(directory, root.path()))
    }
}

/// Locates the directory of all indexes.
fn index_directory() -> anyhow::Result<PrivatePlace> {
    index_manager::shared_place().context("can't find your cache directory")
}
