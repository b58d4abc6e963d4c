//! Private directories on systems without `openat`, with `cap-std`. Owners and permissions are unknown here,
//! so we check only types and links.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};

use super::{NodeFacts, NodeKind, OpenMode};
use crate::trust::PrivateError;

/// An open directory.
pub(crate) type PrivateHandle = Dir;

/// Leaves the path unchanged: the permissions of its components are unknown here.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, PrivateError> {
    Ok(path.to_owned())
}

/// Opens a directory by its path.
pub(crate) fn open_directory(path: &Path) -> io::Result<PrivateHandle> {
    Dir::open_ambient_dir(path, ambient_authority())
}

/// Opens a directory only for examining and opening its entries.
pub(crate) fn open_for_names(path: &Path) -> io::Result<PrivateHandle> {
    open_directory(path)
}

/// Opens a directory that the user names. Follows links.
pub(crate) fn open_named_directory(path: &Path) -> io::Result<PrivateHandle> {
    open_directory(path)
}

/// Opens a file that the user names for reading. Follows links.
#[expect(clippy::disallowed_methods, reason = "a file that the user names, not one of a repository")]
pub(crate) fn open_named(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a subdirectory, unless it is a link.
pub(crate) fn open_child(directory: &PrivateHandle, name: &OsStr) -> io::Result<PrivateHandle> {
    if kind_of(&directory.symlink_metadata(name)?) != NodeKind::Directory {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    directory.open_dir(name)
}

/// Creates a directory and its parents.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    Dir::create_ambient_dir_all(path, ambient_authority())
}

/// Creates a subdirectory, unless the name exists.
pub(crate) fn make_child(directory: &PrivateHandle, name: &OsStr) -> io::Result<()> {
    match directory.create_dir(name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

/// Opens a file of a directory, unless it is a link.
pub(crate) fn open_file(directory: &PrivateHandle, name: &OsStr, access: OpenMode) -> io::Result<File> {
    // If a link is created after this check, it is followed, but it can't lead outside of `directory`.
    if directory.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink()) {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let mut options = OpenOptions::new();
    match access {
        OpenMode::Read => options.read(true),
        OpenMode::ReadWriteOrCreate => options.read(true).write(true).create(true),
        OpenMode::AppendOrCreate => options.append(true).create(true),
        OpenMode::CreateNew => options.read(true).write(true).create_new(true),
    };
    Ok(directory.open_with(name, &options)?.into_std())
}

/// Does nothing: permissions are unknown here.
pub(crate) fn make_private(_: &File) -> io::Result<()> {
    Ok(())
}

/// Queries the metadata of an open directory.
pub(crate) fn directory_facts(directory: &PrivateHandle) -> io::Result<NodeFacts> {
    Ok(facts(&directory.dir_metadata()?))
}

/// Queries the metadata of an open file.
pub(crate) fn file_facts(file: &File) -> io::Result<NodeFacts> {
    Ok(facts(&Metadata::from_file(file)?))
}

/// Queries the metadata of a directory entry.
pub(crate) fn facts_of(directory: &PrivateHandle, name: &OsStr) -> io::Result<NodeFacts> {
    Ok(facts(&directory.symlink_metadata(name)?))
}

/// Renames a file within its directory. This replaces an existing file with the new name.
pub(crate) fn rename(directory: &PrivateHandle, from: &OsStr, to: &OsStr) -> io::Result<()> {
    directory.rename(from, directory, to)
}

/// Removes an entry that is not a directory.
pub(crate) fn remove_file(directory: &PrivateHandle, name: &OsStr) -> io::Result<()> {
    directory.remove_file(name)
}

/// Removes an empty directory.
pub(crate) fn remove_directory(directory: &PrivateHandle, name: &OsStr) -> io::Result<()> {
    directory.remove_dir(name)
}

/// Lists the names in a directory in arbitrary order.
pub(crate) fn names(directory: &PrivateHandle) -> io::Result<Vec<OsString>> {
    directory.entries()?.map(|entry| Ok(entry?.file_name())).collect()
}

/// Does nothing here.
pub(crate) fn sync(_: &PrivateHandle) -> io::Result<()> {
    Ok(())
}

fn kind_of(metadata: &Metadata) -> NodeKind {
    if metadata.is_file() {
        NodeKind::File
    } else if metadata.is_dir() {
        NodeKind::Directory
    } else if metadata.is_symlink() {
        NodeKind::Symlink
    } else {
        NodeKind::Special
    }
}

fn facts(metadata: &Metadata) -> NodeFacts {
    NodeFacts {
        kind: kind_of(metadata),
        size: metadata.len(),
        modified: metadata.modified().map_or(SystemTime::UNIX_EPOCH, |time| time.into_std()),
        identity: None,
        foreign: None,
        writable: None,
        is_closed: true,
        has_other_names: false,
    }
}
