//! Files with a name, gathered for the pages of an answer of uses.
//!
//! Which lines come first, and how many there are, is only known when all files with the name are. Of a frequent name these are
//! thousands, and each page would look through them again: in a tree that is watched they are kept as long as nothing is told
//! to have changed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use forage_fs::{FileListing, RelPath, WalkReport};

use crate::limits;

/// A file with the name, in the order of an answer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MentioningFile {
    pub(super) part: u8,
    pub(super) path: RelPath,
    /// Lines with the name.
    pub(super) matches: u64,
    /// One of them may be a definition.
    pub(super) may_define: bool,
    /// One of them may be in the head of a type that implements or extends the name.
    pub(super) may_implement: bool,
}

/// All files with a name below a place.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) files: Vec<MentioningFile>,
    pub(super) report: WalkReport,
    /// All files are known, with all of their lines.
    pub(super) is_complete: bool,
    /// All files are known.
    pub(super) all_known: bool,
}

/// What was gathered last for one caller.
#[derive(Debug, Default)]
pub struct GatheredUses(Mutex<VecDeque<GatheredAnswer>>);

/// What cursors are bound to, and the bytes of the largest file.
type GatheredQuestion = (u64, Option<u64>);

#[derive(Debug)]
struct GatheredAnswer {
    question: GatheredQuestion,
    tree: Arc<FileListing>,
    gathered: Arc<Gathered>,
}

impl GatheredUses {
    /// What was gathered for the same question in the same tree.
    pub(super) fn find(&self, question: GatheredQuestion, tree: &Arc<FileListing>) -> Option<Arc<Gathered>> {
        let answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same =
            |answer: &&GatheredAnswer| answer.question == question && Arc::ptr_eq(&answer.tree, tree);
        answers.iter().find(is_same).map(|answer| Arc::clone(&answer.gathered))
    }

    pub(super) fn keep(&self, question: GatheredQuestion, tree: Arc<FileListing>, gathered: &Arc<Gathered>) {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        answers.retain(|answer| answer.question != question);
        answers.push_front(GatheredAnswer { question, tree, gathered: Arc::clone(gathered) });
        answers.truncate(limits::GREP_USES_KEPT);
    }
}
