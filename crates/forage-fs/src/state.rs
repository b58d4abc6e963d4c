//! What tells a file from what it was before.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::limits;

/// The properties that tell a file from what it was before: whoever changes its content changes one of these, unless
/// that happens within the granularity of the clock, or through a mapping of a page that was changed so before and has
/// not been written back since. [`OpenedFile::settle`](crate::OpenedFile::settle) gives one that tells of every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Bytes.
    pub size: u64,
    /// The time of its last modification, in nanoseconds since 1970.
    pub modified: i64,
    /// The time of the last change of its metadata, likewise; no program can set it.
    pub changed: i64,
    /// Its number in its file system.
    pub inode: u64,
}

impl FileState {
    /// Returns whether a change after `now`, in nanoseconds since 1970, could leave the state as it is: the clock of a
    /// file system advances in steps, and a write that takes long has the time of its beginning.
    pub fn may_hide_a_change(&self, now: i64) -> bool {
        self.modified.max(self.changed) > now.saturating_sub(limits::SETTLING.as_nanos() as i64)
    }
}

/// Returns the time as in the state of a file.
pub(crate) fn nanoseconds_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
