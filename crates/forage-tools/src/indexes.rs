//! Indexes of roots.
//!
//! An index changes nothing but the time that a search takes, so that having none is never an error here. Where indexes
//! are kept and when they are built is not this crate's business.

use std::sync::Arc;

use forage_fs::Root;
use forage_search::index::Index;

/// Where indexes come from.
pub trait Indexes: Send + Sync {
    /// The index of a root, if there is one. A search asks once and waits for the answer.
    fn of(&self, root: &Arc<Root>) -> Option<Arc<Index>>;
}
