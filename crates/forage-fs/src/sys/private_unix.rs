//! Private directories on Unix. We check everything on its open handle.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, fstat, lstat, mkdir, mkdirat, openat, readlink, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::{NodeFacts, NodeKind, OpenMode};
use crate::limits;
use crate::trust::{PrivateError, TrustError};

/// An open directory.
pub(crate) type PrivateHandle = OwnedFd;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Flags for only examining and opening entries. The directory can't be listed, but may be opened without
/// permission to list it.
#[cfg(target_os = "linux")]
const FOR_NAMES: OFlags = DIRECTORY.union(OFlags::PATH);
#[cfg(not(target_os = "linux"))]
const FOR_NAMES: OFlags = DIRECTORY;
/// We must never follow a link, block on a pipe or acquire a terminal.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

/// Resolves the links in the path of a directory, which need not exist. A user who can replace or redirect a
/// component decides which directory the path leads to. Therefore only this user and the system may be able
/// to do that.
pub(crate) fn resolve(path: &Path) -> Result<PathBuf, PrivateError> {
    let failed = |path: &Path, error: Errno| PrivateError::Io { path: path.to_owned(), source: error.into() };
    if !path.is_absolute() {
        return Err(failed(path, Errno::INVAL));
    }
    let top = lstat("/").map_err(|error| failed(Path::new("/"), error))?;
    let mut real = PathBuf::from("/");
    judge_way(&top, &top, &real)?;
    let mut rest: VecDeque<OsString> = names_of(path).collect();
    let mut links = 0;
    while let Some(name) = rest.pop_front() {
        if name == ".." {
            real.pop();
            continue;
        }
        let next = real.join(&name);
        let stat = match lstat(&next) {
            Ok(stat) => stat,
            // With `..` after a missing name, we could not check the rest of the path.
            Err(Errno::NOENT) if !rest.iter().any(|name| name == "..") => {
                return Ok(rest.iter().fold(next, |path, name| path.join(name)));
            }
            Err(error) => return Err(failed(&next, error)),
        };
        judge_way(&stat, &top, &next)?;
        if kind_of(&stat) != NodeKind::Symlink {
            real = next;
            continue;
        }
        links += 1;
        if links > limits::LINKS_PER_PATH {
            return Err(failed(path, Errno::LOOP));
        }
        let target = readlink(&next, Vec::new()).map_err(|error| failed(&next, error))?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        for name in names_of(&target).rev().collect::<Vec<_>>() {
            rest.push_front(name);
        }
    }
    Ok(real)
}

fn names_of(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        _ => None,
    })
}

/// Checks a component of the path to a private directory.
fn judge_way(stat: &Stat, top: &Stat, path: &Path) -> Result<(), PrivateError> {
    let refused = |reason| Err(PrivateError::Distrusted { path: path.to_owned(), reason });
    // The owner of `/` may replace everything. In a user namespace, this is the owner of everything that
    // belongs to root outside of it.
    if ![0, top.st_uid, effective_user()].contains(&stat.st_uid) {
        return refused(foreign(stat));
    }
    match kind_of(stat) {
        NodeKind::Directory => {
            let mode = Mode::from_raw_mode(stat.st_mode);
            let others = if is_own_group(stat) { Mode::WOTH } else { Mode::WGRP | Mode::WOTH };
            // In a sticky directory, only the owner of the directory or of the entry may rename or remove an
            // entry.
            match mode.intersects(others) && !mode.contains(Mode::SVTX) {
                true => refused(TrustError::Writable { mode: permissions(stat) }),
                false => Ok(()),
            }
        }
        // Only its owner can have created a link.
        NodeKind::Symlink => Ok(()),
        NodeKind::File | NodeKind::Special => {
            Err(PrivateError::Io { path: path.to_owned(), source: Errno::NOTDIR.into() })
        }
    }
}

/// Returns true if the group contains only this user, by the convention of user-private groups: both have the
/// same id. Systems with this convention make directories group-writable.
fn is_own_group(stat: &Stat) -> bool {
    stat.st_gid == rustix::process::getegid().as_raw() && stat.st_gid == effective_user()
}

/// Opens a directory by a path without links.
pub(crate) fn open_directory(path: &Path) -> io::Result<PrivateHandle> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory only for examining and opening its entries, which is all that the sandbox allows.
pub(crate) fn open_for_names(path: &Path) -> io::Result<PrivateHandle> {
    Ok(rustix::fs::open(path, FOR_NAMES, Mode::empty())?)
}

/// Like [`open_for_names`] for a directory that the user names. Follows links.
pub(crate) fn open_named_directory(path: &Path) -> io::Result<PrivateHandle> {
    Ok(rustix::fs::open(path, FOR_NAMES.difference(OFlags::NOFOLLOW), Mode::empty())?)
}

/// Opens a file that the user names for reading. Follows links.
pub(crate) fn open_named(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | FILE.difference(OFlags::NOFOLLOW);
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Opens a subdirectory, unless it is a link.
pub(crate) fn open_child(directory: &PrivateHandle, name: &OsStr) -> io::Result<PrivateHandle> {
    Ok(openat(directory, name, DIRECTORY, Mode::empty())?)
}

/// Creates a directory with access for its owner only, unless the name exists.
pub(crate) fn make_directory(path: &Path) -> io::Result<()> {
    ignore_existing(mkdir(path, Mode::RWXU))
}

/// Creates a subdirectory in the same way.
pub(crate) fn make_child(directory: &PrivateHandle, name: &OsStr) -> io::Result<()> {
    ignore_existing(mkdirat(directory, name, Mode::RWXU))
}

fn ignore_existing(made: Result<(), Errno>) -> io::Result<()> {
    match made {
        Err(Errno::EXIST) => Ok(()),
        made => Ok(made?),
    }
}

/// Opens a file of a directory.
pub(crate) fn open_file(directory: &PrivateHandle, name: &OsStr, access: OpenMode) -> io::Result<File> {
    let flags = match access {
        OpenMode::Read => OFlags::RDONLY,
        OpenMode::ReadWriteOrCreate => OFlags::RDWR | OFlags::CREATE,
        OpenMode::AppendOrCreate => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
        OpenMode::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
    };
    Ok(File::from(openat(directory, name, flags | FILE, Mode::RUSR | Mode::WUSR)?))
}

/// Removes the permissions of other users from an open file.
pub(crate) fn make_private(file: &File) -> io::Result<()> {
    let mode = Mode::from_raw_mode(fstat(file)?.st_mode);
    match mode.intersects(Mode::RWXG | Mode::RWXO) {
        true => Ok(rustix::fs::fchmod(file, mode & Mode::RWXU)?),
        false => Ok(()),
    }
}

/// Queries the metadata of an open directory.
pub(crate) fn directory_facts(directory: &PrivateHandle) -> io::Result<NodeFacts> {
    Ok(facts(&fstat(directory)?))
}

/// Queries the metadata of an open file.
pub(crate) fn file_facts(file: &File) -> io::Result<NodeFacts> {
    Ok(facts(&fstat(file)?))
}

/// Queries the metadata of a directory entry.
pub(crate) fn facts_of(directory: &PrivateHandle, name: &OsStr) -> io::Result<NodeFacts> {
    Ok(facts(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Renames a file within its directory. This replaces an existing file with the new name.
pub(crate) fn rename(directory: &PrivateHandle, from: &OsStr, to: &OsStr) -> io::Result<()> {
    Ok(renameat(directory, from, directory, to)?)
}

/// Removes an entry that is not a directory.
pub(crate) fn remove_file(directory: &PrivateHandle, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(directory, name, AtFlags::empty())?)
}

/// Removes an empty directory.
pub(crate) fn remove_directory(directory: &PrivateHandle, name: &OsStr) -> io::Result<()> {
    Ok(unlinkat(directory, name, AtFlags::REMOVEDIR)?)
}

/// Lists the names in a directory in arbitrary order.
pub(crate) fn names(directory: &PrivateHandle) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    Ok(names)
}

/// Flushes the entries of a directory to disk.
pub(crate) fn sync(directory: &PrivateHandle) -> io::Result<()> {
    Ok(rustix::fs::fsync(directory)?)
}

fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn foreign(stat: &Stat) -> TrustError {
    TrustError::Foreign { owner: stat.st_uid, user: effective_user() }
}

#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
fn permissions(stat: &Stat) -> u32 {
    stat.st_mode as u32 & 0o7777
}

fn kind_of(stat: &Stat) -> NodeKind {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => NodeKind::File,
        FileType::Directory => NodeKind::Directory,
        FileType::Symlink => NodeKind::Symlink,
        _ => NodeKind::Special,
    }
}

#[allow(clippy::unnecessary_cast, reason = "the widths of these fields differ between systems")]
fn facts(stat: &Stat) -> NodeFacts {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let modified = u64::try_from(stat.st_mtime as i64).ok().map(Duration::from_secs);
    let modified = modified.map(|seconds| seconds + Duration::from_nanos(stat.st_mtime_nsec as u64));
    NodeFacts {
        kind: kind_of(stat),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: SystemTime::UNIX_EPOCH + modified.unwrap_or_default(),
        identity: Some((stat.st_dev as u64, stat.st_ino as u64)),
        foreign: (stat.st_uid != effective_user()).then(|| foreign(stat)),
        writable: mode
            .intersects(Mode::WGRP | Mode::WOTH)
            .then(|| TrustError::Writable { mode: permissions(stat) }),
        is_closed: !mode.intersects(Mode::XGRP | Mode::XOTH),
        // A file that is being removed has zero links.
        has_other_names: stat.st_nlink as u64 > 1,
    }
}
