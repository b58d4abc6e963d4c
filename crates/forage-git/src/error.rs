//! Errors of reading a repository.

use crate::id::ObjectId;

/// Reasons why the history of a root can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// The root has no `.git`.
    #[error("the root is not the top of a git repository")]
    NoRepository,
    /// `.git` is a file that names another directory, or a link that leads outside of the root.
    #[error("the repository is outside of the root (a linked worktree or a submodule)")]
    Elsewhere,
    /// The current branch has no commit yet.
    #[error("the current branch has no commits yet")]
    Unborn,
    /// References are stored in an unknown format.
    #[error("the repository uses the `reftable` format, which is not supported")]
    RefFormat,
    /// A file of the repository can't be read or is invalid.
    #[error("the repository can't be read: {0}")]
    Unreadable(String),
}

/// Reasons why an object can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The object does not exist, for example because this repository is a partial clone.
    #[error("the repository does not have the object {0}")]
    Missing(ObjectId),
    /// The object is not in this repository, which shares the objects of another one (`git clone --shared`).
    /// That one is outside of the root.
    #[error(
        "the object {0} is in another repository, because this is a shared clone, and nothing is read there; \
         `git repack -a -d` copies the objects"
    )]
    Shared(ObjectId),
    /// The object may be in a pack that was not read, because there are too many packs or it has another
    /// format.
    #[error(
        "the object {0} is not in the packs that can be read, and there are others; `git repack -a -d` joins \
         them"
    )]
    Unopened(ObjectId),
    /// The object is invalid.
    #[error("the object {0} is damaged")]
    Damaged(ObjectId),
    /// The object exceeds the size limit.
    #[error("the object {0} is too large")]
    TooLarge(ObjectId),
    /// The history is too long for this question.
    #[error("more than {0} commits would have to be read")]
    TooManyCommits(usize),
    /// The call had to end.
    #[error("the time limit was reached while reading the repository")]
    Stopped,
}

/// Reasons why a revision names no commit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// The text has an invalid form.
    #[error("`{0}` is not a revision; give one such as `main`, `HEAD~3`, `v1.2` or `1a2b3c4`")]
    Malformed(String),
    /// There is no such branch, tag or commit.
    #[error("there is no branch, tag or commit `{0}`")]
    Unknown(String),
    /// The revision is older than the commits of a shallow clone.
    #[error("`{0}` is older than the commits of this shallow clone; fetch more of the history")]
    Shallow(String),
    /// The ids of several commits begin with these digits.
    #[error("several commits begin with `{0}`; give more digits")]
    Ambiguous(String),
    /// The revision names a file or a directory.
    #[error("`{0}` is not a commit")]
    NoCommit(String),
    /// A form of revisions that is not supported, for example one that needs the reflog.
    #[error("`{0}` has a form that is not supported; give a branch, a tag or a commit")]
    Unsupported(String),
    /// The branch has no upstream.
    #[error("the branch `{0}` has no upstream")]
    NoUpstream(String),
    /// Two commits have no common ancestor.
    #[error("`{0}` and `{1}` have no common ancestor")]
    NoMergeBase(String, String),
    /// The index can't be read.
    #[error("git's index can't be read: {0}")]
    Index(&'static str),
    /// References can't be read.
    #[error(transparent)]
    Unreadable(HistoryError),
    /// An object can't be read.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// Like [`ObjectError`], for an object whose id is unknown in this context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectFault {
    Damaged,
    TooLarge,
    /// The base object of a delta is missing.
    Missing,
}

impl ObjectFault {
    pub(crate) fn with_id(self, id: ObjectId) -> ObjectError {
        match self {
            Self::Damaged => ObjectError::Damaged(id),
            Self::TooLarge => ObjectError::TooLarge(id),
            Self::Missing => ObjectError::Missing(id),
        }
    }
}
