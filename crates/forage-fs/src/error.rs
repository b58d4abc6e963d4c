//! Errors of opening a root or a file.

use std::io;
use std::path::PathBuf;

use forage_base::Hint;

/// Errors that occur when opening a root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The directory does not exist or can't be opened.
    #[error("can't open {path} as a root: {source}; name an existing directory that you may read")]
    Open {
        /// The directory as given.
        path: PathBuf,
        /// The system error.
        source: io::Error,
    },
    /// `/`, the home directory or a parent of it: a search there would read far more than a project.
    #[error("{path} is too broad for a root; name the project's directory")]
    TooBroad {
        /// The canonical directory.
        path: PathBuf,
    },
    /// A directory on one of the kernel's own file systems, whose files contain keys and environments.
    #[error(
        "{path} is on a kernel file system (proc, sys or dev, or one mounted elsewhere) and can't be a root; name \
         another directory"
    )]
    KernelFileSystem {
        /// The canonical directory.
        path: PathBuf,
    },
    /// No root was given.
    #[error("no root was given; name at least one directory")]
    NoRoot,
}

impl RootError {
    /// Suggests a remedy other than naming a different directory, if there is one.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::TooBroad { .. } => Some(Hint::AllowBroadRoot),
            Self::Open { .. } | Self::KernelFileSystem { .. } | Self::NoRoot => None,
        }
    }
}

/// Reasons why the state of a root's files may not reflect all changes. Data about such files must not be
/// cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStates {
    /// A network file system, FUSE, a disk image, or an unknown file system.
    #[error("its file system does not reliably report changes")]
    NotLocal,
    /// tmpfs: changes through a memory mapping are never written back, and do not update any time.
    #[error("it is on tmpfs, which does not update times when a mapped file is written")]
    InMemory,
}

/// Errors that occur when opening a path below a root. Paths are formatted so that they are safe to print.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path does not exist.
    #[error("{path} does not exist")]
    NotFound {
        /// The path in display form.
        path: String,
    },
    /// A link, `..` or an absolute path leads outside of every root.
    #[error("{path} leads outside of the root; only files beneath {root} can be read")]
    OutsideRoot {
        /// The path in display form.
        path: String,
        /// The root in display form.
        root: String,
    },
    /// The secret-file policy denies access.
    #[error("{path} looks like a secrets file ({rule}) and is never read")]
    Secret {
        /// The path in display form.
        path: String,
        /// The rule that matched.
        rule: String,
    },
    /// The path is a directory, but a file was expected.
    #[error("{path} is a directory, not a file")]
    IsDirectory {
        /// The path in display form.
        path: String,
    },
    /// The path is a file, but a directory was expected.
    #[error("{path} is not a directory")]
    NotDirectory {
        /// The path in display form.
        path: String,
    },
    /// The path is a FIFO, socket or device.
    #[error(
        "{path} is not a regular file (it is a pipe, a socket or a device) and is never opened for reading"
    )]
    NotRegular {
        /// The path in display form.
        path: String,
    },
    /// A pseudo file system (for example proc or sysfs) that is mounted below the root.
    #[error("{path} is on a kernel pseudo file system ({system}), which is never entered or read")]
    KernelFileSystem {
        /// The path in display form.
        path: String,
        /// The name of the file system.
        system: &'static str,
    },
    /// A system error.
    #[error("can't open {path}: {source}")]
    Io {
        /// The path in display form.
        path: String,
        /// The system error.
        source: io::Error,
    },
}

impl OpenError {
    /// Suggests a remedy other than naming a different path, if there is one.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Secret { .. } => Some(Hint::AllowSecret),
            Self::IsDirectory { .. } => Some(Hint::ListDirectory),
            Self::NotFound { .. }
            | Self::OutsideRoot { .. }
            | Self::NotDirectory { .. }
            | Self::NotRegular { .. }
            | Self::KernelFileSystem { .. }
            | Self::Io { .. } => None,
        }
    }
}
