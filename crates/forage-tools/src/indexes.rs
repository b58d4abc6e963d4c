//! Indexes of roots.
//!
//! An index affects only the duration of a search, so it is not an error if there is none. This crate does
//! not decide where indexes are stored and when they are built.

use std::sync::Arc;

use forage_fs::{Root, WalkReport};
use forage_rank::RankIndex;
use forage_rank::tree::{UpdateEffort, UpdateError, Updated, update};
use forage_search::index::Index;

/// A source of the indexes of roots.
pub trait Indexes: Send + Sync {
    /// Returns the index of a root, if there is one. A search asks once and waits for the result.
    fn of(&self, root: &Arc<Root>) -> Option<Arc<Index>>;

    /// Returns the ranked index of a root, up to date with its tree; `None` if no index is stored.
    ///
    /// # Errors
    ///
    /// Returns an error if the index can't be updated.
    fn ranked(&self, root: &Arc<Root>, effort: &UpdateEffort) -> Option<Result<Ranked, UpdateError>>;

    /// Returns why existing indexes were not used since the last call of this method, as one sentence each
    /// for the answer.
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A ranked index that is up to date with the tree of its root.
pub struct Ranked {
    /// The index.
    pub index: Arc<RankIndex>,
    /// The report of the walk that checked this.
    pub report: Arc<WalkReport>,
    /// A warning about how the index was obtained.
    pub warning: Option<String>,
    /// True if the index covers only some files and replaces one that is not ready yet.
    pub is_provisional: bool,
}

impl Ranked {
    /// Builds the index for one call.
    ///
    /// # Errors
    ///
    /// Returns an error if the tree can't be read completely.
    pub fn in_memory(root: &Arc<Root>, effort: &UpdateEffort) -> Result<Self, UpdateError> {
        let index = Arc::new(RankIndex::in_memory()?);
        match update(&index, root, None, effort, || Ok(())) {
            Ok(Updated { report, .. }) => {
                let report = Arc::new(report);
                Ok(Self { index, report, warning: None, is_provisional: false })
            }
            Err(error) => Err(error),
        }
    }
}
