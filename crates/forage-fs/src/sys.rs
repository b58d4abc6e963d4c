//! The calls to the operating system, one name at a time beneath an open directory.
//!
//! Nothing here follows a link: a path is resolved by [`crate::root`], and what is opened afterwards is
//! opened without links, so that a link put in place in between makes the call fail instead of leading out.

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
pub(crate) use no_watch::{MountTable, Watcher, most_watches};
#[cfg(all(target_os = "linux", not(portable_disk)))]
pub(crate) use watch::{MountTable, Watcher, most_watches};
#[cfg(all(target_os = "linux", not(portable_disk)))]
pub(crate) use write_back::write_back;

pub(crate) use system::{
    Directory, device_with_states, directories_have_states, directory_state, identity, is_link_error,
    is_local, is_ours_alone, kernel_file_system, leads_inside, link_target, list_while, node_kind,
    open_child, open_directory, open_for_names, open_leaf, open_root, read_exact_at, read_some, state,
    state_and_links, status,
};

use std::io;
use std::time::SystemTime;

use crate::distrust::Distrust;
use crate::state::FileState;

/// What a name is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeKind {
    File,
    Directory,
    Symlink,
    Special,
}

/// How a file below the user's own directories is opened. Never through a link, and never emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMode {
    Read,
    ReadWriteOrCreate,
    AppendOrCreate,
    CreateNew,
}

/// What the system says of something below the user's own directories.
#[derive(Clone, Debug)]
pub(crate) struct NodeFacts {
    pub(crate) kind: NodeKind,
    /// Bytes.
    pub(crate) size: u64,
    pub(crate) modified: SystemTime,
    /// Device and file number, where they are told.
    pub(crate) identity: Option<(u64, u64)>,
    /// That it belongs to another user.
    pub(crate) foreign: Option<Distrust>,
    /// That its permissions let others write it.
    pub(crate) writable: Option<Distrust>,
    /// Whether nobody else may open what is in it.
    pub(crate) is_closed: bool,
    /// A file of one name has no other, by which somebody could have put it where it is.
    pub(crate) has_other_names: bool,
}

/// A name in a directory.
#[derive(Debug)]
pub(crate) struct FileNode {
    pub(crate) name: Box<[u8]>,
    pub(crate) kind: NodeKind,
}

/// What changed in a watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    any(not(target_os = "linux"), portable_disk),
    expect(dead_code, reason = "nothing tells of a change here")
)]
pub(crate) enum WatchChange<'a> {
    /// The directory is no longer watched.
    Unwatched,
    /// The directory itself: who may read it, or its own name.
    Itself,
    /// What has this name, or, if it `is_another`, which thing has it.
    Name { name: &'a [u8], is_another: bool },
}

/// What an open file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStatus {
    pub(crate) kind: NodeKind,
    /// Bytes.
    pub(crate) size: u64,
    /// The device that it lies on; 0 where the system does not tell.
    pub(crate) device: u64,
    /// `None` where the system does not tell enough to know a changed file by it.
    pub(crate) state: Option<FileState>,
}

/// The names in a directory, in no order.
pub(crate) fn list(directory: &Directory) -> io::Result<Vec<FileNode>> {
    list_while(directory, &mut |_| true)
}

/// Has the changed pages of an open file written to its file system.
///
/// # Errors
/// It failed.
#[cfg(all(unix, not(target_os = "linux"), not(portable_disk)))]
pub(crate) fn write_back(file: &std::fs::File) -> io::Result<()> {
    // The standard library's call waits for the disk itself, too, where the system knows the difference.
    Ok(rustix::fs::fsync(file)?)
}

/// Has the changed pages of an open file written to its file system.
///
/// # Errors
/// It failed.
#[cfg(any(not(unix), portable_disk))]
pub(crate) fn write_back(file: &std::fs::File) -> io::Result<()> {
    file.sync_data()
}

/// Whether an error says that there is no such directory, and not that it can't be read.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_link_error(error)
}
