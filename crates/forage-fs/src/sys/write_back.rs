//! Having the changed pages of a file written to its file system.
//!
//! A program that stores into a shared mapping of a file makes no system call. The kernel learns of it by a fault, at which
//! it sets the file's times and lets further stores to that page pass unseen, until the page has been written back: then it
//! is write-protected again, and the next store is a fault that sets the times. So a file none of whose pages is dirty can't
//! change without its times. File systems that live in memory alone (tmpfs) write nothing back and protect no page: there a
//! store may set no time at all.

use std::fs::File;
use std::io;

use rustix::fs::fstatfs;
use rustix::ioctl::{Updater, ioctl, opcode};

/// The kernel's `struct fiemap` without extents behind it.
#[repr(C)]
struct ExtentQuery {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `FIEMAP_FLAG_SYNC`: the file's dirty pages are written, and that is waited for, before its extents are looked up.
const SYNC: u32 = 1;

const ZFS: u32 = 0x2fc1_2fc1;

/// Writes the changed pages of an open file to its file system and waits for that, which protects them against stores
/// that set no time.
///
/// It is asked for the extents of the file with that flag, and not `sync_file_range`, because only what has a place on a
/// disk can answer: tmpfs can't, nor can an overlay for a file whose upper layer is one, and an overlay passes it on to the
/// layer that holds the file, even one that is mounted never to synchronise. Other than `fdatasync` it neither commits a
/// journal nor flushes the disk, which for a file that has nothing to write takes thousands of times as long.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`] if the file system writes nothing back, or does not tell; others if it failed.
pub(crate) fn write_back(file: &File) -> io::Result<()> {
    // It knows no extents. Its own synchronisation writes what was mapped, too.
    if fstatfs(file).is_ok_and(|system| is_zfs(&system)) {
        return file.sync_data();
    }
    // Twice: btrfs hands pages that it compresses to other threads, and the first call may end before these have begun. A
    // file without dirty pages costs half a microsecond.
    for _ in 0..2 {
        ask_for_extents(file)?;
    }
    Ok(())
}

#[allow(clippy::unnecessary_cast, reason = "the width of this field differs between systems")]
fn is_zfs(system: &rustix::fs::StatFs) -> bool {
    system.f_type as u32 == ZFS
}

fn ask_for_extents(file: &File) -> io::Result<()> {
    use rustix::io::Errno;
    const FS_IOC_FIEMAP: rustix::ioctl::Opcode = opcode::read_write::<ExtentQuery>(b'f', 11);
    let mut query =
        ExtentQuery { start: 0, length: 1, flags: SYNC, mapped_extents: 0, extent_count: 0, reserved: 0 };
    // SAFETY: the operation takes a pointer to this structure, laid out as the kernel has it; it writes to nothing behind
    // it, since there is room for no extent.
    #[expect(unsafe_code, reason = "no library has this operation")]
    let answer = unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, ExtentQuery>::new(&mut query)) };
    answer.map_err(|error| match error {
        Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS | Errno::PERM | Errno::ACCESS => {
            io::ErrorKind::Unsupported.into()
        }
        error => error.into(),
    })
}
