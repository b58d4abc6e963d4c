//! Errors of a ranked index.

use forage_base::Hint;
use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// An error of a ranked index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The files of this index can't be read or written, or contain something else. You can rebuild it from
    /// the source files.
    #[error("the ranked index can't be used: {0}")]
    Engine(#[from] tantivy::TantivyError),
    /// Like [`Self::Engine`], but the file system reported the error.
    #[error("the ranked index can't be read: {0}")]
    Io(#[from] std::io::Error),
    /// Another writer is active in this process or another one. The index isn't damaged, so callers should
    /// wait and try again.
    #[error("another call or process is writing the ranked index; try again when it has finished")]
    Busy,
    /// Changes couldn't be written. Everything committed before is still there.
    #[error("the ranked index can't be written: {0}; what was written before is kept")]
    Write(#[source] tantivy::TantivyError),
    /// This index was written by a version that splits words or stores records differently.
    #[error("the ranked index was written by another version of Forage")]
    Format,
    /// A file or a document of the index differs from what was written.
    #[error("the ranked index is damaged")]
    Damaged,
    /// The engine failed where it shouldn't be able to. This happens if files are damaged in a way that our
    /// checks don't cover.
    #[error("the ranked index can't be used because its engine failed ({0})")]
    Panicked(String),
    /// The deadline passed before the index was read.
    #[error("the ranked index could not be opened in time; allow more time")]
    Stopped,
}

impl IndexError {
    /// Returns true if the index's files are the cause, so that rebuilding them will help. Lack of memory,
    /// file handles or permissions isn't damage.
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

    /// Returns advice on how to fix this error. There is none if you can only try again.
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
