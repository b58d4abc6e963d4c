//! What can go wrong while a root or a file is opened.

use std::io;
use std::path::PathBuf;

use forage_base::Hint;

/// A directory that can't serve as a root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The directory does not exist or can't be opened.
    #[error("can't open {path} as a root: {source}; name an existing directory that you may read")]
    Open {
        /// The directory as given.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// `/`, the home directory or a parent of it: a search there reads far more than a project.
    #[error("{path} is too broad for a root; name the project's directory")]
    TooBroad {
        /// The directory, canonical.
        path: PathBuf,
    },
    /// A directory of the kernel's own file systems, whose files hold keys and environments.
    #[error(
        "{path} lies on a kernel file system (proc, sys or dev, or one mounted elsewhere) and can't be a root; name a \
         directory of files"
    )]
    KernelFileSystem {
        /// The directory, canonical.
        path: PathBuf,
    },
    /// No root was given at all.
    #[error("no root was given; name at least one directory")]
    NoRoot,
}

impl RootError {
    /// Returns what can be done about it beside naming another directory, if anything.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::TooBroad { .. } => Some(Hint::AllowBroadRoot),
            Self::Open { .. } | Self::KernelFileSystem { .. } | Self::NoRoot => None,
        }
    }
}

/// The reasons for which the states of a root's files do not tell of all changes, so that nothing learned of them can
/// be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoStates {
    /// A network file system, one of another program's, one of an image, or one that is not known.
    #[error("its file system does not tell at once which files have changed")]
    NotLocal,
    /// What is changed through a mapping is never written back, and sets no time.
    #[error("its file system is in memory alone, where a file that is mapped changes without its times")]
    InMemory,
}

/// A path below a root that can't be opened. The path is named in the way that is safe to print.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing has this name.
    #[error("{path} does not exist")]
    NotFound {
        /// Path as shown to people.
        path: String,
    },
    /// A link, `..` or absolute path that leads out of every root.
    #[error("{path} leads outside of the root; only files beneath {root} can be read")]
    OutsideRoot {
        /// Path as shown to people.
        path: String,
        /// The root, as shown to people.
        root: String,
    },
    /// A file that the secret-file policy keeps closed.
    #[error("{path} looks like a secrets file ({rule}) and is never read")]
    Secret {
        /// Path as shown to people.
        path: String,
        /// The rule that matched.
        rule: String,
    },
    /// A directory where a file was wanted.
    #[error("{path} is a directory, not a file")]
    IsDirectory {
        /// Path as shown to people.
        path: String,
    },
    /// A file where a directory was wanted.
    #[error("{path} is not a directory")]
    NotDirectory {
        /// Path as shown to people.
        path: String,
    },
    /// A FIFO, socket or device.
    #[error(
        "{path} is not a regular file (it is a pipe, a socket or a device) and is never opened for reading"
    )]
    NotRegular {
        /// Path as shown to people.
        path: String,
    },
    /// Something that the kernel makes of itself, mounted below the root.
    #[error(
        "{path} lies on a file system that the kernel makes of itself ({system}), which is never entered or read"
    )]
    KernelFileSystem {
        /// Path as shown to people.
        path: String,
        /// Its name.
        system: &'static str,
    },
    /// The operating system refused.
    #[error("can't open {path}: {source}")]
    Io {
        /// Path as shown to people.
        path: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl OpenError {
    /// Returns what can be done about it beside naming another path, if anything.
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
