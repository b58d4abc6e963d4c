//! Errors of reading a repository.

use crate::id::ObjectId;

/// The reasons for which the history of a root can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHistory {
    /// The root has no `.git`.
    #[error("the root is not the top of a git repository")]
    NoRepository,
    /// `.git` is a file that names another directory, or a link that leads outside of the root.
    #[error("the repository lies outside of the root, as that of a linked worktree or a submodule does")]
    Elsewhere,
    /// The current branch has no commit yet.
    #[error("the branch that is checked out has no commit yet")]
    Unborn,
    /// References are stored in an unknown format.
    #[error("the repository keeps its references in a form that is not read (`reftable`)")]
    RefFormat,
    /// A file of the repository can't be read or is invalid.
    #[error("the repository can't be read: {0}")]
    Unreadable(String),
}

/// The reasons for which an object can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The object does not exist, because this is a partial clone or shares the objects of another
    /// repository.
    #[error("the repository does not have the object {0}")]
    Missing(ObjectId),
    /// The object is invalid.
    #[error("the object {0} is damaged")]
    Damaged(ObjectId),
    /// The object exceeds the size limit.
    #[error("the object {0} is too large")]
    TooLarge(ObjectId),
    /// The call had to end.
    #[error("there was no time to read the repository")]
    Stopped,
}

/// The same for an object whose id is unknown in this context.
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
