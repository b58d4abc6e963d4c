//! Flushes the changed pages of a file to its file system.
//!
//! A program that stores into a shared mapping of a file makes no system call. The kernel notices the first
//! store by the page fault. It then updates the file's times, and does not notice further stores to that page
//! until the page has been written back. After that the page is write-protected again, so the next store
//! causes a fault that updates the times. Therefore a file without dirty pages can't change unless its times
//! change too. tmpfs neither writes back nor protects pages, so a store there may not update any time.

use std::fs::File;
use std::io;

use rustix::fs::fstatfs;
use rustix::ioctl::{Updater, ioctl, opcode};

/// The kernel's `struct fiemap` without extents.
#[repr(C)]
struct ExtentQuery {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// `FIEMAP_FLAG_SYNC`: write the file's dirty pages and wait for this before looking up its extents.
const SYNC: u32 = 1;

const ZFS: u32 = 0x2fc1_2fc1;

/// Writes the changed pages of an open file to its file system and waits until this is done. From then on,
/// any store to these pages updates the times.
///
/// We query the file's extents with this flag instead of calling `sync_file_range`, because only a file
/// system on a disk can answer. tmpfs can't, nor can an overlay whose upper layer is a tmpfs. An overlay
/// passes the query on to the layer that contains the file, even if it is mounted with synchronization
/// disabled. Unlike `fdatasync`, this neither commits a journal nor flushes the disk, which takes thousands
/// of times as long for a file without changes.
///
/// # Errors
///
/// Fails with [`io::ErrorKind::Unsupported`] if the file system does not write back, or does not support the
/// query. Fails with other errors if writing failed.
pub(crate) fn write_back(file: &File) -> io::Result<()> {
    // ZFS has no extents. Its own synchronization includes mapped pages.
    if fstatfs(file).is_ok_and(|system| is_zfs(&system)) {
        return file.sync_data();
    }
    // We query twice because btrfs passes pages that it compresses to other threads, and the first call may
    // return before these have started. For a file without dirty pages this costs half a microsecond.
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
    // SAFETY: the operation takes a pointer to this structure, laid out as in the kernel. It does not write
    // beyond the structure, because there is room for zero extents.
    #[expect(unsafe_code, reason = "no library has this operation")]
    let answer = unsafe { ioctl(file, Updater::<FS_IOC_FIEMAP, ExtentQuery>::new(&mut query)) };
    answer.map_err(|error| match error {
        Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS | Errno::PERM | Errno::ACCESS => {
            io::ErrorKind::Unsupported.into()
        }
        error => error.into(),
    })
}
