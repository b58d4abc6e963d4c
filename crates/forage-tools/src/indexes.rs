//! Indexes of roots.
//!
//! An index affects only the duration of a search, so a missing index is not an error. This crate does not
//! decide where indexes are stored or when they are built.

use std::sync::Arc;

use forage_fs::{Root, WalkReport};
use forage_rank::RankIndex;
use forage_rank::tree::{UpdateEffort, UpdateError, Updated, update};
use forage_search::index::Index;

/// Provides the indexes of roots.
pub trait Indexes: Send + Sync {
    /// Returns the index of a root, if there is one. A search waits for the result. A call may ask several
    /// times, so an implementation should keep the index open.
    fn open(&self, root: &Arc<Root>) -> Option<Arc<Index>>;

    /// Updates the ranked index of a root to match its tree. Returns `None` if this never stores ranked
    /// indexes. The caller then builds one in memory.
    ///
    /// # Errors
    ///
    /// Fails if the index can't be updated.
    fn ranked(&self, root: &Arc<Root>, effort: &UpdateEffort) -> Option<Result<Ranked, UpdateError>>;

    /// Takes the reasons why existing indexes were not used since the last call of this method. Each is one
    /// sentence for the answer.
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A ranked index that is up to date with the tree of its root.
pub struct Ranked {
    /// The index.
    pub index: Arc<RankIndex>,
    /// The report of the walk that compared the index with the tree.
    pub report: Arc<WalkReport>,
    /// A warning about how the index was obtained.
    pub warning: Option<String>,
    /// True if the index covers only some files, in place of one that is not ready yet.
    pub is_provisional: bool,
}

impl Ranked {
    /// Builds an index in memory for one call.
    ///
    /// # Errors
    ///
    /// Fails if the tree can't be read completely.
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
