//! System calls, one name at a time beneath an open directory.
//!
//! Nothing here follows a link. [`crate::root`] resolves a path, and the result is opened without following
//! links. A link that is created in between makes the call fail instead of leading outside.

#[cfg(any(not(target_os = "linux"), portable_disk))]
mod no_watch;
#[cfg(any(not(unix), portable_disk))]
mod portable;
#[cfg(any(not(unix), portable_disk))]
#[path = "sys/private_portable.rs"]
pub(crate) mod private;
#[cfg(all(unix, not(portable_disk)))]
#[path = "sys/private_unix.rs"]
pub(crate) mod private;
#[cfg(all(unix, not(portable_disk)))]
mod unix;
#[cfg(all(target_os = "linux", not(portable_disk)))]
mod watch;
#[cfg(all(target_os = "linux", not(portable_disk)))]
mod write_back;

#[cfg(any(not(unix), portable_disk))]
use portable as system;
#[cfg(all(unix, not(portable_disk)))]
use unix as system;

#[cfg(any(not(target_os = "linux"), portable_disk))]
pub(crate) use no_watch::{MountTable, Watcher, max_watches};
#[cfg(all(target_os = "linux", not(portable_disk)))]
pub(crate) use watch::{MountTable, Watcher, max_watches};
#[cfg(all(target_os = "linux", not(portable_disk)))]
pub(crate) use write_back::write_back;

pub(crate) use system::{
    Directory, device_with_states, directories_have_states, directory_state, identity, is_link_error,
    is_local, is_ours_alone, kernel_file_system, leads_inside, link_target, list_while, name_status,
    node_kind, open_child, open_directory, open_for_names, open_leaf, open_root, read_exact_at, read_some,
    state, state_and_links, status,
};

use std::io;
use std::time::SystemTime;

use crate::state::FileState;
use crate::trust::TrustError;

/// The type of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File,
    Directory,
    Symlink,
    Special,
}

/// How to open a file in a private directory. Links are never followed, and the file is never truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    Read,
    ReadWriteOrCreate,
    AppendOrCreate,
    CreateNew,
}

/// Metadata of an entry in a private directory.
#[derive(Clone, Debug)]
pub(crate) struct NodeFacts {
    pub(crate) kind: NodeKind,
    /// Size in bytes.
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    /// Device and inode, if known.
    pub(crate) identity: Option<(u64, u64)>,
    /// Set if it belongs to another user.
    pub(crate) foreign: Option<TrustError>,
    /// Set if its permissions let other users write to it.
    pub(crate) writable: Option<TrustError>,
    /// True if no other user may open anything inside it.
    pub(crate) is_closed: bool,
    /// True if it has more than one link, so that another user may have created this name for it.
    pub(crate) has_other_names: bool,
}

/// A directory entry.
#[derive(Debug)]
pub(crate) struct FileNode {
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: NodeKind,
}

/// A change in a watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    any(not(target_os = "linux"), portable_disk),
    expect(dead_code, reason = "this platform does not report changes")
)]
pub(crate) enum WatchChange<'a> {
    /// The directory is no longer watched.
    Unwatched,
    /// The directory itself has changed: its permissions, or its own name.
    Itself,
    /// The entry with this name has changed, or with `is_another`, the name now refers to another entry.
    Name { name: &'a [u8], is_another: bool },
}

/// Metadata of an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStatus {
    pub(crate) kind: NodeKind,
    /// Size in bytes.
    pub(crate) size: u64,
    /// The device; 0 if unknown.
    pub(crate) device: u64,
    /// `None` if the system does not provide enough information to detect changes.
    pub(crate) state: Option<FileState>,
}

/// Lists the entries of a directory in arbitrary order.
pub(crate) fn list(directory: &Directory) -> io::Result<Vec<FileNode>> {
    list_while(directory, &mut |_| true)
}

/// Flushes the file's dirty pages.
///
/// # Errors
///
/// Fails if the pages can't be written.
#[cfg(all(unix, not(target_os = "linux"), not(portable_disk)))]
pub(crate) fn write_back(file: &std::fs::File) -> io::Result<()> {
    // The standard library's call also waits for the disk itself on systems that make this distinction.
    Ok(rustix::fs::fsync(file)?)
}

/// Flushes the file's dirty pages.
///
/// # Errors
///
/// Fails if the pages can't be written.
#[cfg(any(not(unix), portable_disk))]
pub(crate) fn write_back(file: &std::fs::File) -> io::Result<()> {
    file.sync_data()
}

/// Returns true if an error means that the directory does not exist, as opposed to being unreadable.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_link_error(error)
}
