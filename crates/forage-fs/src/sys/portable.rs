//! Systems without `openat`. We use `cap-std`, which confines every call to the directory on which it is
//! made.
//!
//! This is also built on Unix with `--cfg portable_disk`, so that its tests can run there.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType, Metadata, OpenOptions};

use super::{FileNode, FileStatus, NodeKind};
use crate::error::NoStates;
use crate::rel_path::{RelPath, os_bytes, os_str};
use crate::state::{FileState, NameStatus};
use crate::walk::EntryKind;

/// An open directory.
pub(crate) type Directory = Dir;

/// Opens the directory of a root. This follows links: the user chose the path, not the repository.
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

/// Opens a directory only for examining and opening its entries.
pub(crate) fn open_for_names(root: &Directory, path: &RelPath) -> io::Result<Directory> {
    open_directory(root, path)
}

/// Opens a subdirectory, unless it is a link.
pub(crate) fn open_child(directory: &Directory, name: &[u8]) -> io::Result<Directory> {
    if node_kind(directory, name)? != NodeKind::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    // If a link was created since then, it is followed, but it can't lead outside of `directory`.
    directory.open_dir(as_path(name)?)
}

/// Opens a file of a directory for reading, unless it is a link.
pub(crate) fn open_leaf(directory: &Directory, name: &[u8]) -> io::Result<File> {
    if node_kind(directory, name)? != NodeKind::File {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    Ok(directory.open_with(as_path(name)?, OpenOptions::new().read(true))?.into_std())
}

/// Returns true if opening failed because a name was a link.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotADirectory
}

/// Reads until the spare capacity of `buffer` is full, or to the end of the file.
pub(crate) fn read_some(file: &mut File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let spare = buffer.capacity() - buffer.len();
    file.take(spare as u64).read_to_end(buffer)
}

/// Checks whether a path certainly leads to something beneath `root`. This is unknown here.
pub(crate) fn leads_inside(_: &Directory, _: &RelPath) -> bool {
    false
}

/// Fills `bytes` from `offset` on, without changing the position of the next read.
pub(crate) fn read_exact_at(file: &mut File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    let place = file.stream_position()?;
    file.seek(SeekFrom::Start(offset))?;
    let read = file.read_exact(bytes);
    file.seek(SeekFrom::Start(place))?;
    read
}

/// Queries the metadata of an open file.
pub(crate) fn status(file: &File) -> io::Result<FileStatus> {
    let metadata = file.metadata()?;
    let kind = if metadata.is_file() { NodeKind::File } else { NodeKind::Special };
    Ok(FileStatus { kind, size: metadata.len(), device: 0, state: None })
}

/// Queries the state of a file by its name. This is unknown here, because we can't distinguish a file from
/// another one with the same times.
pub(crate) fn state(_: &Directory, _: &[u8], _: u64) -> Option<FileState> {
    None
}

/// Queries the metadata of a name, without following a link.
pub(crate) fn name_status(directory: &Directory, name: &[u8]) -> io::Result<NameStatus> {
    let metadata = directory.symlink_metadata(as_path(name)?).map_err(no_name)?;
    let modified = metadata.modified()?.into_std().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(NameStatus {
        kind: EntryKind::from_node(kind_of(Metadata::file_type(&metadata))),
        is_executable: is_executable(&metadata),
        size: metadata.len(),
        modified: (i64::try_from(modified.as_secs()).unwrap_or(i64::MAX), modified.subsec_nanos()),
        changed: (0, 0),
        inode: 0,
    })
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

/// Queries the state of a directory. This is unknown here.
pub(crate) fn directory_state(_: &Directory, _: u64) -> Option<FileState> {
    None
}

/// Like [`state`], but also returns true if the file has other names. This is unknown here.
pub(crate) fn state_and_links(_: &Directory, _: &[u8], _: u64) -> Option<(FileState, bool)> {
    None
}

/// Checks whether the state of a directory changes with its names. This is unknown here.
pub(crate) fn directories_have_states(_: &Directory) -> bool {
    false
}

/// Queries the device of a directory whose files have states. This is not supported here.
pub(crate) fn device_with_states(_: &Directory) -> Result<u64, NoStates> {
    Err(NoStates::NotLocal)
}

/// Queries the name of the kernel file system. This is unknown here.
pub(crate) fn kernel_file_system<T>(_: &T) -> Option<&'static str> {
    None
}

/// Checks whether an open file is on a local disk. This is unknown here.
pub(crate) fn is_local(_: &File) -> bool {
    false
}

/// Checks whether only this user may write to an open file. This is unknown here.
pub(crate) fn is_ours_alone(_: &File) -> bool {
    false
}

/// Queries the identity of a directory. This is unknown here, so only the depth limit ends a cycle of
/// followed links.
pub(crate) fn identity(_: &Directory) -> Option<(u64, u64)> {
    None
}

/// Reads the target of a link, or fails with `InvalidInput` if it is not a link.
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

/// Queries the type of a directory entry, without following a link.
pub(crate) fn node_kind(directory: &Directory, name: &[u8]) -> io::Result<NodeKind> {
    let metadata = directory.symlink_metadata(as_path(name)?).map_err(no_name)?;
    Ok(kind_of(Metadata::file_type(&metadata)))
}

/// Lists the entries of a directory in arbitrary order, while `go_on` returns true for their number. We leave
/// out names that this system can't represent as text.
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

/// Converts the error for an invalid name on Windows, for example `*.rs`, to “not found”.
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
