//! Why what lies below a directory of the user's own is not used.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// The reasons for which a file or a directory is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// It belongs to another user.
    #[error("it belongs to another user (uid {owner}, and this process has {user})")]
    Foreign {
        /// Its owner.
        owner: u32,
        /// The effective user of this process.
        user: u32,
    },
    /// Its permissions let others write it.
    #[error("other users may write to it (mode {mode:04o})")]
    Writable {
        /// The permissions.
        mode: u32,
    },
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// The file has another name, which may be that of a file of somebody else's choice.
    #[error("it is a hard link, the same file has another name")]
    OtherNames,
    /// A pipe, a device or a directory in place of a file.
    #[error("it is no plain file")]
    NoFile,
    /// Something else in place of a directory.
    #[error("it is no directory")]
    NoDirectory,
    /// It is larger than anything that is written there.
    #[error("it has {size} bytes, {most} at most are read")]
    Size {
        /// Bytes that it has.
        size: u64,
        /// Bytes that it may have.
        most: u64,
    },
}

/// An error of using what lies below a directory of the user's own.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// Somebody else may have a say in what is there.
    #[error("{} can't be trusted: {reason}; remove it, or choose a directory that is yours alone", path.display())]
    Distrusted {
        /// What is not believed.
        path: PathBuf,
        /// Why.
        reason: Distrust,
    },
    /// The system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// What was to be used.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl PrivateError {
    /// Returns whether something is there that is not trusted, rather than nothing or nothing that can be used.
    #[must_use]
    pub fn is_distrust(&self) -> bool {
        matches!(self, Self::Distrusted { .. })
    }

    /// Returns whether an [`io::Error`] was made of one for which [`PrivateError::is_distrust`] holds.
    #[must_use]
    pub fn is_behind(error: &io::Error) -> bool {
        error.get_ref().and_then(|error| error.downcast_ref::<Self>()).is_some_and(Self::is_distrust)
    }
}

impl From<PrivateError> for io::Error {
    fn from(error: PrivateError) -> Self {
        let kind = match &error {
            PrivateError::Distrusted { .. } => ErrorKind::PermissionDenied,
            PrivateError::Io { source, .. } => source.kind(),
        };
        Self::new(kind, error)
    }
}
