//! The calls to the operating system, one name at a time beneath an open directory.
//!
//! Nothing here follows a link: a path is resolved by [`crate::open_path`], and what is opened afterwards is
//! opened without links, so that a link put in place in between makes the call fail instead of leading out.

#[cfg(any(not(unix), feature = "portable-disk"))]
mod portable;
#[cfg(all(unix, not(feature = "portable-disk")))]
mod unix;

#[cfg(any(not(unix), feature = "portable-disk"))]
use portable as system;
#[cfg(all(unix, not(feature = "portable-disk")))]
use unix as system;

pub(crate) use system::{
    Directory, device_with_states, identity, is_link_error, link_target, list, node_kind, open_child,
    open_directory, open_leaf, open_root, read_some, state, status,
};

use crate::file::FileState;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File,
    Directory,
    Symlink,
    Special,
}

/// A name in a directory.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: NodeKind,
}

/// What an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) kind: NodeKind,
    /// Bytes.
    pub(crate) size: u64,
    /// `None` where the system does not tell enough to know a changed file by it.
    pub(crate) state: Option<FileState>,
}
