//! What changes in directories, told by the kernel: inotify.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::{Change, Directory};

/// Everything that changes the names of a directory, or a file or directory that has one of them.
const CHANGES: WatchFlags = WatchFlags::MODIFY
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::CREATE)
    .union(WatchFlags::DELETE)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR);

/// After which what is known of a directory is no longer to be relied on, or its name is no longer its own.
const NAMES: ReadFlags =
    ReadFlags::MOVED_FROM.union(ReadFlags::MOVED_TO).union(ReadFlags::CREATE).union(ReadFlags::DELETE);

/// Directories whose changes are told.
#[derive(Debug)]
pub(crate) struct Watcher {
    inotify: OwnedFd,
}

impl Watcher {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { inotify: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)? })
    }

    /// From now on tells what changes in a directory; the number is that of the directory itself, whatever its name.
    pub(crate) fn add(&self, directory: &Directory) -> io::Result<i32> {
        // The one way to name an open directory. It does not lead through the directory's own name, which may be
        // another's by now.
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        Ok(inotify::add_watch(&self.inotify, path, CHANGES)?)
    }

    /// No longer tells what changes in a directory.
    pub(crate) fn remove(&self, number: i32) {
        // It may be gone.
        let _ = inotify::remove_watch(&self.inotify, number);
    }

    /// Every change that ended before the call.
    pub(crate) fn drain(&self, mut tell: impl FnMut(i32, Change<'_>)) -> io::Result<()> {
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                event => event?,
            };
            let flags = event.events();
            let change = if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                Change::Lost
            } else if flags.contains(ReadFlags::IGNORED) {
                Change::Unwatched
            } else {
                match event.file_name() {
                    None => Change::Itself,
                    Some(name) => Change::Name {
                        name: name.to_bytes(),
                        // A directory that can be read now, or no longer, has other names.
                        is_another: flags.intersects(NAMES) || flags.contains(ReadFlags::ISDIR),
                    },
                }
            };
            tell(event.wd(), change);
        }
    }
}

/// Tells when something was mounted or unmounted: what lies below a mount point has other names at once, and no
/// directory changed.
#[derive(Debug)]
pub(crate) struct MountTable {
    table: File,
}

impl MountTable {
    #[expect(clippy::disallowed_methods, reason = "the kernel's table, which no repository can name")]
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { table: File::open("/proc/self/mountinfo")? })
    }

    /// Whether it changed since the last call; true, too, where that can't be told.
    pub(crate) fn has_changed(&self) -> bool {
        let mut table = [PollFd::new(&self.table, PollFlags::PRI)];
        match poll(&mut table, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(_) => table[0].revents().intersects(PollFlags::PRI | PollFlags::ERR),
            Err(_) => true,
        }
    }
}
