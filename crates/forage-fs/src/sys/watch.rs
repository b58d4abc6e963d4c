//! Watches directories for changes with inotify.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::{Directory, WatchChange};

/// All events that change the names in a directory, or one of its files or subdirectories.
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

/// Events after which cached data of an entry is invalid, because its name may refer to something else.
const NAMES: ReadFlags =
    ReadFlags::MOVED_FROM.union(ReadFlags::MOVED_TO).union(ReadFlags::CREATE).union(ReadFlags::DELETE);

/// A set of watched directories.
#[derive(Debug)]
pub(crate) struct Watcher {
    inotify: OwnedFd,
}

impl Watcher {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { inotify: inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)? })
    }

    /// Starts to watch a directory. The returned watch number belongs to the directory itself and not to its
    /// name.
    pub(crate) fn add(&self, directory: &Directory) -> io::Result<i32> {
        // This is the only way to pass an open directory. It does not use the directory's own name, which may
        // refer to another directory by now.
        let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
        Ok(inotify::add_watch(&self.inotify, path, CHANGES)?)
    }

    /// Stops watching a directory.
    pub(crate) fn remove(&self, number: i32) {
        // This fails if the directory is gone, which does not matter.
        let _ = inotify::remove_watch(&self.inotify, number);
    }

    /// Reports every change that was completed before this call.
    ///
    /// # Errors
    ///
    /// Fails if events were lost.
    pub(crate) fn drain(&self, mut tell: impl FnMut(i32, WatchChange<'_>)) -> io::Result<()> {
        let mut buffer = [const { MaybeUninit::uninit() }; 16 << 10];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        loop {
            let event = match reader.next() {
                Err(Errno::AGAIN) => return Ok(()),
                Err(Errno::INTR) => continue,
                event => event?,
            };
            let flags = event.events();
            if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                return Err(io::Error::other("change events were lost"));
            }
            let change = if flags.contains(ReadFlags::IGNORED) {
                WatchChange::Unwatched
            } else {
                match event.file_name() {
                    None => WatchChange::Itself,
                    Some(name) => WatchChange::Name {
                        name: name.to_bytes(),
                        // A subdirectory whose permissions have changed may show other names now.
                        is_another: flags.intersects(NAMES) || flags.contains(ReadFlags::ISDIR),
                    },
                }
            };
            tell(event.wd(), change);
        }
    }
}

/// Queries the maximum number of directories that a user may watch.
#[expect(clippy::disallowed_methods, reason = "the kernel's setting, which no repository can name")]
pub(crate) fn max_watches() -> usize {
    let max = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches");
    // If we can't read the setting, we assume the smallest default of the kernel.
    max.ok().and_then(|max| max.trim().parse().ok()).unwrap_or(8_192)
}

/// Detects mounting and unmounting. Either changes the names below a mount point without an event in any
/// directory.
#[derive(Debug)]
pub(crate) struct MountTable {
    table: File,
}

impl MountTable {
    #[expect(clippy::disallowed_methods, reason = "the kernel's table, which no repository can name")]
    pub(crate) fn open() -> io::Result<Self> {
        Ok(Self { table: File::open("/proc/self/mountinfo")? })
    }

    /// Returns true if something is mounted below this path. Files there can also have another name through
    /// which they are changed.
    pub(crate) fn has_below(&self, path: &[u8]) -> io::Result<bool> {
        let mut table = Vec::new();
        let mut chunk = [0; 16 << 10];
        loop {
            let read = self.table.read_at(&mut chunk, table.len() as u64)?;
            if read == 0 {
                break;
            }
            table.extend_from_slice(&chunk[..read]);
        }
        let mut points =
            table.split(|&byte| byte == b'\n').filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
        Ok(points.any(|point| {
            let point = unescaped(point);
            let rest = point.strip_prefix(path.strip_suffix(b"/").unwrap_or(path));
            rest.is_some_and(|rest| rest.len() > 1 && rest[0] == b'/')
        }))
    }

    /// Returns true if the table has changed since the last call, or if this is unknown.
    pub(crate) fn has_changed(&self) -> bool {
        let mut table = [PollFd::new(&self.table, PollFlags::PRI)];
        match poll(&mut table, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(_) => table[0].revents().intersects(PollFlags::PRI | PollFlags::ERR),
            Err(_) => true,
        }
    }
}

/// Decodes a path of the table, in which spaces and similar characters are written as three octal digits.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.first_chunk::<3>().filter(|_| byte == b'\\');
        let code = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok());
        (rest, _) = match code {
            Some(code) => (&after[3..], plain.push(code)),
            None => (after, plain.push(byte)),
        };
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_table_are_read() {
        assert_eq!(unescaped(br"/a\040b\134c\9"), br"/a b\c\9");
        let table = MountTable::open().unwrap();
        assert!(table.has_below(b"/").unwrap());
        assert!(!table.has_below(b"/proc/no/such/place").unwrap());
    }
}
