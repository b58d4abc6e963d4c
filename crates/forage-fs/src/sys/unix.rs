//! Unix: `openat` without following links. On Linux, one `openat2` for a whole path.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};

use super::{FileNode, FileStatus, NodeKind};
use crate::error::NoStates;
use crate::rel_path::RelPath;
use crate::state::{FileState, NameStatus};
use crate::walk::EntryKind;

/// An open directory.
pub(crate) type Directory = OwnedFd;

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opens the directory of a root. This follows links: the user chose the path, not the repository.
pub(crate) fn open_root(path: &Path) -> io::Result<Directory> {
    Ok(rustix::fs::open(path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory beneath `root` along a path without links.
pub(crate) fn open_directory(root: &Directory, path: &RelPath) -> io::Result<Directory> {
    open_with(root, path, DIRECTORY)
}

/// Opens a directory only for examining and opening its entries, so that it can't be listed. This is a fifth
/// faster on Linux.
pub(crate) fn open_for_names(root: &Directory, path: &RelPath) -> io::Result<Directory> {
    #[cfg(target_os = "linux")]
    const FLAGS: OFlags = DIRECTORY.union(OFlags::PATH);
    #[cfg(not(target_os = "linux"))]
    const FLAGS: OFlags = DIRECTORY;
    open_with(root, path, FLAGS)
}

fn open_with(root: &Directory, path: &RelPath, flags: OFlags) -> io::Result<Directory> {
    if path.is_root() {
        return Ok(openat(root, c".", flags, Mode::empty())?);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        match rustix::fs::openat2(root, path.as_bytes(), flags, Mode::empty(), resolve) {
            // Kernels before 5.6 do not have this call, and some sandboxes forbid it.
            Err(Errno::NOSYS | Errno::PERM) => {}
            // The kernel could not rule out a concurrent rename, which can't affect the walk below.
            Err(Errno::AGAIN) => {}
            result => return Ok(result?),
        }
    }
    open_directory_by_name(root, path)
}

/// Like [`open_directory`], with one `openat` per name.
fn open_directory_by_name(root: &Directory, path: &RelPath) -> io::Result<Directory> {
    let mut directory = openat(root, c".", DIRECTORY, Mode::empty())?;
    for name in path.names() {
        directory = open_child(&directory, name)?;
    }
    Ok(directory)
}

/// Opens a subdirectory, unless it is a link.
pub(crate) fn open_child(directory: &Directory, name: &[u8]) -> io::Result<Directory> {
    Ok(openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens a file of a directory for reading. Never follows a link, blocks on a pipe or acquires a terminal.
pub(crate) fn open_leaf(directory: &Directory, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(openat(directory, name, flags, Mode::empty())?))
}

/// Returns true if opening failed because a name was a link: `ELOOP` for a single name, `ENOTDIR` if a
/// directory was expected.
pub(crate) fn is_link_error(error: &io::Error) -> bool {
    use rustix::io::Errno;
    error
        .raw_os_error()
        .is_some_and(|code| [Errno::LOOP, Errno::NOTDIR].iter().any(|link| link.raw_os_error() == code))
}

/// Reads once into the spare capacity of `buffer`.
pub(crate) fn read_some(file: &mut File, buffer: &mut Vec<u8>) -> io::Result<usize> {
    loop {
        match rustix::io::read(&*file, rustix::buffer::spare_capacity(buffer)) {
            Err(rustix::io::Errno::INTR) => {}
            result => return Ok(result?),
        }
    }
}

/// Fills `bytes` from `offset` on, without changing the position of the next read.
pub(crate) fn read_exact_at(file: &mut File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

/// Queries the metadata of an open file.
pub(crate) fn status(file: &File) -> io::Result<FileStatus> {
    let stat = fstat(file)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let kind = kind_of(FileType::from_raw_mode(stat.st_mode));
    #[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
    let device = stat.st_dev as u64;
    Ok(FileStatus { kind, size, device, state: state_of(&stat) })
}

/// Queries the state of a directory, unless it is on another device. The state changes with the names and the
/// permissions of the directory.
#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
pub(crate) fn directory_state(directory: &Directory, device: u64) -> Option<FileState> {
    let stat = fstat(directory).ok()?;
    (stat.st_dev as u64 == device).then(|| state_of(&stat)).flatten()
}

/// Queries the state of a regular file by its name, without following a link. Returns `None` for everything
/// else, and for files on another device.
pub(crate) fn state(directory: &Directory, name: &[u8], device: u64) -> Option<FileState> {
    state_of(&file_of(directory, name, device)?)
}

/// Queries the metadata of a name, without following a link.
#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the widths of these fields differ between systems"
)]
pub(crate) fn name_status(directory: &Directory, name: &[u8]) -> io::Result<NameStatus> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(NameStatus {
        kind: EntryKind::from_node(kind_of(FileType::from_raw_mode(stat.st_mode))),
        is_executable: Mode::from_raw_mode(stat.st_mode).contains(Mode::XUSR),
        size: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as u32),
        inode: stat.st_ino as u64,
    })
}

/// Like [`state`], but also returns true if the file has other names.
pub(crate) fn state_and_links(directory: &Directory, name: &[u8], device: u64) -> Option<(FileState, bool)> {
    let stat = file_of(directory, name, device)?;
    Some((state_of(&stat)?, stat.st_nlink != 1))
}

#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
fn file_of(directory: &Directory, name: &[u8], device: u64) -> Option<Stat> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let is_file = kind_of(FileType::from_raw_mode(stat.st_mode)) == NodeKind::File;
    (is_file && stat.st_dev as u64 == device).then_some(stat)
}

/// Queries the device of a directory. This fails unless the file system immediately reflects every change of
/// a file in its state. Network file systems cache states for seconds, FUSE may report anything, and tmpfs
/// does not update times when a mapping is written.
pub(crate) fn device_with_states(directory: &Directory) -> Result<u64, NoStates> {
    if is_in_memory(directory) {
        return Err(NoStates::InMemory);
    }
    let device = identity(directory).filter(|_| is_local(directory)).map(|(device, _)| device);
    device.ok_or(NoStates::NotLocal)
}

/// Returns true for tmpfs, whose pages are never written back.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
fn is_in_memory(directory: &Directory) -> bool {
    rustix::fs::fstatfs(directory).is_ok_and(|system| system.f_type as u32 == TMPFS)
}

/// Returns true for file systems in memory. No file system here is known to be one.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_in_memory(_: &Directory) -> bool {
    false
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const TMPFS: u32 = 0x0102_1994;

/// Returns true if a directory's state changes with its names. A directory that overlayfs merges has the
/// state of its uppermost layer, and the others can be changed while it is not mounted.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
pub(crate) fn directories_have_states(directory: &Directory) -> bool {
    const OVERLAYFS: u32 = 0x794c_7630;
    rustix::fs::fstatfs(directory).is_ok_and(|system| system.f_type as u32 != OVERLAYFS)
}

/// Returns true if a directory's state changes with its names.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn directories_have_states(_: &Directory) -> bool {
    true
}

/// Returns true for local disks and file systems in memory.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
pub(crate) fn is_local(file: impl AsFd) -> bool {
    /// bcachefs, btrfs, ext2 to ext4, F2FS, overlayfs, tmpfs, XFS, ZFS. File systems of disk images are
    /// excluded, because their creator sets all times.
    const LOCAL: [u32; 8] =
        [0xca45_1a4e, 0x9123_683e, 0xef53, 0xf2f5_2010, 0x794c_7630, TMPFS, 0x5846_5342, 0x2fc1_2fc1];
    rustix::fs::fstatfs(file).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32)))
}

/// Returns true for local disks and file systems in memory.
#[cfg(target_os = "macos")]
pub(crate) fn is_local(file: impl AsFd) -> bool {
    let name = |system: rustix::fs::StatFs| system.f_fstypename.map(|byte| byte as u8);
    rustix::fs::fstatfs(file).is_ok_and(|system| name(system).starts_with(b"apfs\0"))
}

/// Returns true for local disks. This is unknown here.
#[cfg(not(any(target_os = "linux", target_os = "android", target_os = "macos")))]
pub(crate) fn is_local(_: impl AsFd) -> bool {
    false
}

/// Looks up the name of the file system if it is a pseudo file system of the kernel.
#[cfg(any(target_os = "linux", target_os = "android"))]
#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
pub(crate) fn kernel_file_system(file: impl AsFd) -> Option<&'static str> {
    // If the query fails, nothing can be read there either.
    rustix::fs::fstatfs(file).ok().and_then(|system| crate::kernel::name_of(system.f_type as u32))
}

/// Looks up the name of a pseudo file system of the kernel. This is not supported here.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn kernel_file_system(_: impl AsFd) -> Option<&'static str> {
    None
}

/// Returns true if only this user and root may write to an open file.
pub(crate) fn is_ours_alone(file: impl AsFd) -> bool {
    let others = Mode::WGRP | Mode::WOTH;
    fstat(file).is_ok_and(|stat| {
        stat.st_uid == rustix::process::geteuid().as_raw()
            && !Mode::from_raw_mode(stat.st_mode).intersects(others)
    })
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    reason = "the widths of these fields differ between systems"
)]
fn state_of(stat: &Stat) -> Option<FileState> {
    let nanoseconds = |seconds, part| i64::checked_add(i64::checked_mul(seconds, 1_000_000_000)?, part);
    // A change time in whole seconds comes from a clock that is too coarse, or from a disk image. The creator
    // of an image can give another file the same time.
    if stat.st_ctime_nsec == 0 {
        return None;
    }
    Some(FileState {
        size: u64::try_from(stat.st_size).ok()?,
        modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64)?,
        changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64)?,
        inode: stat.st_ino as u64,
    })
}

/// Queries the device and inode of a directory, which do not depend on the path by which we reached it.
#[allow(clippy::unnecessary_cast, reason = "the widths of these fields differ between systems")]
pub(crate) fn identity(directory: &Directory) -> Option<(u64, u64)> {
    let stat = fstat(directory).ok()?;
    Some((stat.st_dev as u64, stat.st_ino as u64))
}

/// Reads the target of a link, or fails with `InvalidInput` if it is not a link.
pub(crate) fn link_target(directory: &Directory, name: &[u8]) -> io::Result<Vec<u8>> {
    Ok(readlinkat(directory, name, Vec::new())?.into_bytes())
}

/// Queries the type of a directory entry, without following a link.
pub(crate) fn node_kind(directory: &Directory, name: &[u8]) -> io::Result<NodeKind> {
    Ok(kind_of(FileType::from_raw_mode(statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)))
}

/// Returns true if a path certainly leads to something beneath `root`, including through links.
pub(crate) fn leads_inside(root: &Directory, path: &RelPath) -> bool {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::ResolveFlags;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        rustix::fs::openat2(root, path.as_bytes(), flags, Mode::empty(), resolve).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (root, path);
        false
    }
}

/// Lists the entries of a directory in arbitrary order, while `go_on` returns true for their number.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn list_while(
    directory: &Directory,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> io::Result<Vec<FileNode>> {
    // We use the system call directly, because the portable form opens the directory again and allocates for
    // every name.
    let mut buffer = [const { std::mem::MaybeUninit::uninit() }; 32 << 10];
    let mut entries = rustix::fs::RawDir::new(directory, &mut buffer);
    let mut nodes = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry?;
        nodes.extend(node(directory, entry.file_name(), entry.file_type()));
        if !go_on(nodes.len()) {
            break;
        }
    }
    Ok(nodes)
}

/// Lists the entries of a directory in arbitrary order, while `go_on` returns true for their number.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn list_while(
    directory: &Directory,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> io::Result<Vec<FileNode>> {
    let mut nodes = Vec::new();
    for entry in rustix::fs::Dir::read_from(directory)? {
        let entry = entry?;
        nodes.extend(node(directory, entry.file_name(), entry.file_type()));
        if !go_on(nodes.len()) {
            break;
        }
    }
    Ok(nodes)
}

fn node(directory: &Directory, name: &CStr, kind: FileType) -> Option<FileNode> {
    let bytes = name.to_bytes();
    if matches!(bytes, b"." | b"..") {
        return None;
    }
    let kind = match kind {
        FileType::Unknown => match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => kind_of(FileType::from_raw_mode(stat.st_mode)),
            // The entry was removed. We count this later, when it can't be opened.
            Err(_) => NodeKind::File,
        },
        kind => kind_of(kind),
    };
    Some(FileNode { name: bytes.into(), kind })
}

fn kind_of(kind: FileType) -> NodeKind {
    match kind {
        FileType::RegularFile => NodeKind::File,
        FileType::Directory => NodeKind::Directory,
        FileType::Symlink => NodeKind::Symlink,
        _ => NodeKind::Special,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_of_opening_agree() {
        let tree = tempfile::tempdir().unwrap();
        #[expect(clippy::disallowed_methods, reason = "the test makes its own tree")]
        std::fs::create_dir_all(tree.path().join("a/b")).unwrap();
        std::os::unix::fs::symlink("b", tree.path().join("a/link")).unwrap();
        let root = open_root(tree.path()).unwrap();
        for (path, opens) in [("a/b", true), ("a/link", false), ("a/missing", false), (".", true)] {
            let path = RelPath::parse(path, &RelPath::root()).unwrap();
            assert_eq!(open_directory(&root, &path).is_ok(), opens);
            assert_eq!(open_for_names(&root, &path).is_ok(), opens);
            assert_eq!(open_directory_by_name(&root, &path).is_ok(), opens);
        }
        std::os::unix::fs::symlink("../../..", tree.path().join("a/out")).unwrap();
        std::os::unix::fs::symlink(tree.path(), tree.path().join("a/absolute")).unwrap();
        // On kernels without this call, the function returns false for every path.
        let is_told = leads_inside(&root, &RelPath::parse("a", &RelPath::root()).unwrap());
        for (path, inside) in [("a/link", true), ("a/out", false), ("a/absolute", false), ("a/none", false)] {
            let path = RelPath::parse(path, &RelPath::root()).unwrap();
            assert_eq!(leads_inside(&root, &path), inside && is_told);
        }
    }
}
