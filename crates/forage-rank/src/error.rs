//! What can go wrong with an index.

use forage_base::Hint;
use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// An error of a ranked index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index's files can't be read or written, or hold something else. It can be made anew from the files.
    #[error("the ranked index can't be used: {0}")]
    Engine(#[from] tantivy::TantivyError),
    /// As above, from below the engine.
    #[error("the ranked index can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// Another writer is at work, of this process or another. It is no damage; waiting helps.
    #[error("the ranked index is being written by another; try again when it is done")]
    Busy,
    /// Changes couldn't be written: what was committed before is still there.
    #[error("the ranked index can't be written: {0}; what was committed before is kept")]
    Write(#[source] tantivy::TantivyError),
    /// The index was written by another version, whose words or records are others.
    #[error("the ranked index is of another version")]
    Format,
    /// A file or a document of the index isn't as it was written.
    #[error("the ranked index is damaged")]
    Damaged,
    /// The engine failed where it should not be able to, as it does with files that are damaged in a way that nobody
    /// thought of.
    #[error("the ranked index can't be used, its engine failed ({0})")]
    Panicked(String),
    /// There was no time to read it.
    #[error("there was no time to open the ranked index; allow more time")]
    Stopped,
}

impl IndexError {
    /// Returns whether the files of the index are to blame, so that others in their place will do. A system that is out
    /// of memory, handles or rights is not.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
        let is_damage = |kind| matches!(kind, InvalidData | NotFound | UnexpectedEof);
        match self {
            Self::Busy | Self::Write(_) | Self::Stopped => false,
            Self::Io(error) => is_damage(error.kind()),
            Self::Engine(TantivyError::IoError(error)) => is_damage(error.kind()),
            Self::Engine(TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })) => {
                is_damage(io_error.kind())
            }
            Self::Engine(_) | Self::Format | Self::Damaged | Self::Panicked(_) => true,
        }
    }

    /// Returns what can be done about it beside trying again, if anything.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Engine(_) | Self::Io(_) | Self::Format | Self::Damaged | Self::Panicked(_) => {
                Some(Hint::RebuildIndex)
            }
            Self::Busy | Self::Write(_) | Self::Stopped => None,
        }
    }
}
