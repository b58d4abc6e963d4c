//! Systems without `openat`: `cap-std`, which confines every call to the directory that it is made on.
//!
//! Also built on Unix with `--cfg portable_disk`, so that its tests run where no such system is at hand.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use super::{FileNode, FileStatus, NodeKind};
use crate::error::NoStates;
use crate::rel_path::{RelPath, os_bytes, os_str};
use crate::state::FileState;

/// An open directory.
pub(crate) type Directory = Dir;

/// Opens the directory of a root, following links: the user names it, not the repository.
pub(crate) fn open_root(path: &Path) -> io::Result<Directory> {
    Dir::open_ambient_dir(path, ambient_authority())
}

/// Opens a directory beneath `root` along a path without links.
pub(crate) fn open_directory(root: &Directory, path: &RelPath) -> io::Result<Directory> {
    let mut directory = root.try_clone()?;
    for name in path.names() {
        directory = open_child(&directory, name)?;
    }
    Ok(directory)
}

/// The same for asking about its names and opening them only.
pub(crate) fn open_for_names(root: &Directory, path: &RelPath) -> io::Result<Directory> {
    open_directory(root, path)
}

/// Opens a directory in a directory, unless it is a link.
pub(crate) fn open_child(directory: &Directory, name: &[u8]) -> io::Result<Directory> {
    if node_kind(directory, name)? != NodeKind::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    // A link put in place since then is followed, but never out of `directory`.
    directory.open_dir(as_path(name)?)
}

/// Opens one name of a directory for reading, unless it is a link.
pub(crate) fn open_leaf(directory: &Directory, name: &[u8]) -> io::Result<File> {
    if node_kind(directory, name)? != NodeKind::File {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(directory.open_with(as_path(name)?, OpenOptions::new().read(true))?.into_std())
}

/// Whether opening failed because a name was a link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotADirectory
}

/// One read into the spare capacity of `buffer`.
pub(crate) fn read_some(file: &mut File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let spare = buffer.capacity() - buffer.len();
    file.take(spare as u64).read_to_end(buffer)
}

/// Whether a path surely leads to something beneath `root`: not known here.
pub(crate) fn leads_inside(_: &Directory, _: &RelPath) -> bool {
    false
}

/// Fills `bytes` with those from `offset` on; where the file is read from next does not change.
pub(crate) fn read_exact_at(file: &mut File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let place = file.stream_position()?;
    file.seek(SeekFrom::Start(offset))?;
    let read = file.read_exact(bytes);
    file.seek(SeekFrom::Start(place))?;
    read
}

/// What an open file is.
pub(crate) fn status(file: &File) -> io::Result<FileStatus> {
    let metadata = file.metadata()?;
    let kind = if metadata.is_file() { NodeKind::File } else { NodeKind::Special };
    Ok(FileStatus { kind, size: metadata.len(), device: 0, state: None })
}

/// The state of a file by its name: not known here, because nothing tells a file from another that was given its times.
pub(crate) fn state(_: &Directory, _: &[u8], _: u64) -> Option<FileState> {
    None
}

/// The state of a directory: not known here.
pub(crate) fn directory_state(_: &Directory, _: u64) -> Option<FileState> {
    None
}

/// As [`state`], and whether the file has other names: not known here either.
pub(crate) fn state_and_links(_: &Directory, _: &[u8], _: u64) -> Option<(FileState, bool)> {
    None
}

/// Not told here.
pub(crate) fn directories_have_states(_: &Directory) -> bool {
    false
}

/// The device of a directory whose files can be told from what they were before: none here.
pub(crate) fn device_with_states(_: &Directory) -> Result<u64, NoStates> {
    Err(NoStates::NotLocal)
}

/// The kernel's file system that something lies on: not known here.
pub(crate) fn kernel_file_system<T>(_: &T) -> Option<&'static str> {
    None
}

/// Whether an open file is on a local disk: not known here.
pub(crate) fn is_local(_: &File) -> bool {
    false
}

/// Whether nobody but this user may write an open file: not known here.
pub(crate) fn is_ours_alone(_: &File) -> bool {
    false
}

/// The identity of a directory: none here, so that only the bound on depth ends a circle of followed links.
pub(crate) fn identity(_: &Directory) -> Option<(u64, u64)> {
    None
}

/// The target of a link; `InvalidInput` when it is none.
pub(crate) fn link_target(directory: &Directory, name: &[u8]) -> io::Result<Vec<u8>> {
    let path = as_path(name)?;
    if !directory.symlink_metadata(path).map_err(no_name)?.is_symlink() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let target = directory.read_link_contents(path)?;
    os_bytes(target.as_os_str())
        .map(|bytes| bytes.into_owned())
        .ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// What a name of a directory is, without following it.
pub(crate) fn node_kind(directory: &Directory, name: &[u8]) -> io::Result<NodeKind> {
    let metadata = directory.symlink_metadata(as_path(name)?).map_err(no_name)?;
    Ok(kind_of(Metadata::file_type(&metadata)))
}

/// The names in a directory, in no order, as long as `go_on` says so of their number. A name that this system can't give
/// as text is left out.
pub(crate) fn list_while(
    directory: &Directory,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> io::Result<Vec<FileNode>> {
    let mut nodes = Vec::new();
    for entry in directory.entries()? {
        let entry = entry?;
        if let Some(name) = os_bytes(&entry.file_name()) {
            nodes.push(FileNode { name: name.as_ref().into(), kind: kind_of(entry.file_type()?) });
        }
        if !go_on(nodes.len()) {
            break;
        }
    }
    Ok(nodes)
}

/// What can't be a name on Windows is the name of nothing, `*.rs` among it.
fn no_name(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidFilename if cfg!(windows) => io::ErrorKind::NotFound.into(),
        _ => error,
    }
}

fn as_path(name: &[u8]) -> io::Result<&Path> {
    match os_str(name) {
        Some(std::borrow::Cow::Borrowed(name)) => Ok(Path::new(name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn kind_of(kind: FileType) -> NodeKind {
    if kind.is_file() {
        NodeKind::File
    } else if kind.is_dir() {
        NodeKind::Directory
    } else if kind.is_symlink() {
        NodeKind::Symlink
    } else {
        NodeKind::Special
    }
}
