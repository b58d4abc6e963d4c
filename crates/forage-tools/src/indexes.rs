//! Indexes of roots.
//!
//! An index changes nothing but the time that a search takes, so that keeping none is no error. Where indexes
//! are kept and when they are built is not this crate's business.

use std::sync::Arc;

use forage_fs::{Root, WalkReport};
use forage_rank::RankIndex;
use forage_rank::tree::{UpdateEffort, UpdateError, Updated, update};
use forage_search::index::Index;

/// A source of the indexes of roots.
pub trait Indexes: Send + Sync {
    /// The index of a root, if there is one. A search asks once and waits for the answer.
    fn of(&self, root: &Arc<Root>) -> Option<Arc<Index>>;

    /// The ranked index of a root as its tree is now; `None` if none is kept.
    ///
    /// # Errors
    /// It can't be brought up to date.
    fn ranked(&self, root: &Arc<Root>, effort: &UpdateEffort) -> Option<Result<Ranked, UpdateError>>;

    /// Why indexes that are there were not given since this was last asked, a sentence each, for the answer.
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A ranked index that is as the tree of its root.
pub struct Ranked {
    /// The index.
    pub index: Arc<RankIndex>,
    /// The report of the walk that told so.
    pub report: Arc<WalkReport>,
    /// A warning about how it came about.
    pub warning: Option<String>,
    /// It is of some files alone, and stands in for one that is not there yet.
    pub is_provisional: bool,
}

impl Ranked {
    /// Made for one call.
    ///
    /// # Errors
    /// The tree can't be read whole.
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
