//! Errors of private directories: reasons why their content is not used.

use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// Reasons why a file or a directory is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// It belongs to another user.
    #[error("it belongs to another user (uid {owner}; this process runs as {user})")]
    Foreign {
        /// Its owner.
        owner: u32,
        /// The effective user of this process.
        user: u32,
    },
    /// Its permissions let other users write to it.
    #[error("other users may write to it (mode {mode:04o})")]
    Writable {
        /// The permissions.
        mode: u32,
    },
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// The file has more than one link, so another user may have chosen which file is linked here.
    #[error("it has more than one hard link")]
    OtherNames,
    /// A pipe, a device or a directory instead of a file.
    #[error("it is not a regular file")]
    NoFile,
    /// Something else instead of a directory.
    #[error("it is not a directory")]
    NoDirectory,
    /// It is larger than anything that we write there.
    #[error("it has {size} bytes, over the limit of {max}")]
    Size {
        /// Its size in bytes.
        size: u64,
        /// The maximum size in bytes.
        max: u64,
    },
}

/// Errors that occur when using a private directory.
#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    /// Another user may have changed the content.
    #[error("{} can't be trusted: {reason}; remove it, or choose a directory that only you can write to", path.display())]
    Distrusted {
        /// The untrusted path.
        path: PathBuf,
        /// The reason.
        reason: TrustError,
    },
    /// A system error.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path that was to be used.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
}

impl PrivateError {
    /// Returns true if something is present but not trusted, as opposed to missing or unusable.
    #[must_use]
    pub fn is_distrust(&self) -> bool {
        matches!(self, Self::Distrusted { .. })
    }

    /// Returns true if an [`io::Error`] was converted from an error for which [`PrivateError::is_distrust`]
    /// is true.
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
