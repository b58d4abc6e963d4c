//! What can go wrong while a repository is read.

use crate::id::ObjectId;

/// The reasons for which a root has no history that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHistory {
    /// No `.git` in the root.
    #[error("the root is not the top of a git repository")]
    NoRepository,
    /// `.git` is a file that names a directory elsewhere, or a link that leads there.
    #[error("the repository lies outside of the root, as that of a linked worktree or a submodule does")]
    Elsewhere,
    /// The branch has no commit yet.
    #[error("the branch that is checked out has no commit yet")]
    Unborn,
    /// References are kept in a form that is not known.
    #[error("the repository keeps its references in a form that is not read (`reftable`)")]
    RefFormat,
    /// A file of the repository can't be read, or does not say what it should.
    #[error("the repository can't be read: {0}")]
    Unreadable(String),
}

/// An object that can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// It is not there: in a partial clone, or one that shares the objects of a repository elsewhere.
    #[error("the repository does not have the object {0}")]
    Missing(ObjectId),
    /// It is not what it should be.
    #[error("the object {0} is damaged")]
    Damaged(ObjectId),
    /// It is larger than what is read.
    #[error("the object {0} is too large")]
    TooLarge(ObjectId),
    /// There was no time for it.
    #[error("there was no time to read the repository")]
    Stopped,
}

/// The same of an object whose name is not known where it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ObjectFault {
    Damaged,
    TooLarge,
    /// Of another object, which it is made of.
    Missing,
}

impl ObjectFault {
    pub(crate) fn of(self, id: ObjectId) -> ObjectError {
        match self {
            Self::Damaged => ObjectError::Damaged(id),
            Self::TooLarge => ObjectError::TooLarge(id),
            Self::Missing => ObjectError::Missing(id),
        }
    }
}
