//! `[mcp]`: the settings of the server.

use std::path::{Path, PathBuf};

use super::Config;

/// The beginning of the server's instructions if its settings can't be used.
pub(crate) const UNUSABLE: &str = "Forage can't search, because its settings can't be used: ";

impl Config {
    /// Returns the directories beneath which a client may choose the roots.
    pub(crate) fn client_roots(&self, working: &Path) -> Vec<PathBuf> {
        match &self.settings.mcp.client_roots {
            Some(directories) => directories.iter().map(|directory| working.join(directory)).collect(),
            None => self.home.clone().into_iter().chain([working.to_owned()]).collect(),
        }
    }
}
