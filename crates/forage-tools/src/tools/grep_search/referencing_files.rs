//! Cache of the files that mention a name, for the pages of an answer of uses.
//!
//! We know the order and the number of the lines only once we know all files with the name. For a frequent
//! name there are thousands of these, and each page would have to search for them again. In a watched tree we
//! therefore cache them until a change is reported.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use forage_fs::{FileListing, RelPath, WalkReport};

use super::uses::{Listing, Subtypes};
use crate::cursor::Group;
use crate::limits;

/// A file that contains the name. These files sort as in an answer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ReferencingFile {
    pub(super) group: Group,
    pub(super) path: RelPath,
    /// Lines with the name.
    pub(super) matches: u64,
    /// True if one of the lines may be a definition.
    pub(super) may_define: bool,
    /// True if one of the lines may be in the head of a type that implements or extends the name.
    pub(super) may_implement: bool,
}

/// All files below a path that contain a name.
#[derive(Debug, Default)]
pub(super) struct ReferencingFiles {
    pub(super) files: Vec<ReferencingFile>,
    pub(super) report: WalkReport,
    /// True if all files are known, with all of their lines.
    pub(super) is_complete: bool,
    /// True if all files are known.
    pub(super) all_known: bool,
    /// The types that implement or extend the qualifier of the name.
    pub(super) subtypes: OnceLock<Arc<Subtypes>>,
    /// The definitions of the name.
    pub(super) definitions: OnceLock<Arc<Listing>>,
    /// The types that implement or extend it.
    pub(super) implementations: OnceLock<Arc<Listing>>,
}

/// Returns the cached value, or makes it. We cache only complete values.
pub(super) fn cached<T>(
    cell: &OnceLock<Arc<T>>,
    is_complete: impl Fn(&T) -> bool,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    if let Some(value) = cell.get() {
        return Arc::clone(value);
    }
    let value = Arc::new(make());
    if is_complete(&value) {
        // If another call has set its value in the meantime, both are equal.
        cell.set(Arc::clone(&value)).ok();
    }
    value
}

/// The files that were gathered most recently for one caller.
#[derive(Debug, Default)]
pub struct UsesCache(Mutex<VecDeque<CachedUses>>);

/// Key of the cache. This includes the name: for one request, we may search for the name as it is written,
/// and then for a name with a qualifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UsesCacheKey {
    /// The fingerprint that cursors are bound to.
    pub(super) bound: u64,
    /// A setting, which the fingerprint of the request does not contain.
    pub(super) max_file_bytes: Option<u64>,
    pub(super) name: String,
    pub(super) qualifier: Option<String>,
}

#[derive(Debug)]
struct CachedUses {
    question: UsesCacheKey,
    tree: Arc<FileListing>,
    gathered: Arc<ReferencingFiles>,
}

impl UsesCache {
    /// Looks up the files that were gathered for the same question in the same tree.
    pub(super) fn find(
        &self,
        question: &UsesCacheKey,
        tree: &Arc<FileListing>,
    ) -> Option<Arc<ReferencingFiles>> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A reported change creates a new listing. We hold the old one, so no other listing can have its
        // address.
        let is_same = |answer: &&CachedUses| answer.question == *question && Arc::ptr_eq(&answer.tree, tree);
        answers.iter().find(is_same).map(|answer| Arc::clone(&answer.gathered))
    }

    pub(super) fn keep(
        &self,
        question: UsesCacheKey,
        tree: Arc<FileListing>,
        gathered: &Arc<ReferencingFiles>,
    ) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|answer| answer.question != question);
        answers.push_front(CachedUses { question, tree, gathered: Arc::clone(gathered) });
        answers.truncate(limits::GREP_USES_KEPT);
    }
}
