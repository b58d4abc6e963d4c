//! File states, which detect changes without reading files.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::limits;
use crate::walk::EntryKind;

/// The properties by which we detect that a file has changed. Every change of the content changes at least
/// one of them, with two exceptions. The first are changes within the granularity of the clock. The second
/// are changes through a memory mapping of a page that was changed in the same way before, and not written
/// back since. [`OpenedFile::stable_state`](crate::OpenedFile::stable_state) returns a state that reflects
/// every later change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Size in bytes.
    pub size: u64,
    /// The modification time, in nanoseconds since 1970.
    pub modified: i64,
    /// The time of the last metadata change, in nanoseconds since 1970; no program can set it.
    pub changed: i64,
    /// The inode number.
    pub inode: u64,
}

/// Metadata of a name in a directory, in the form in which git's index stores it. Links are not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameStatus {
    /// The kind; `None` for a device, a pipe and the like.
    pub kind: Option<EntryKind>,
    /// True if the owner may execute the file.
    pub is_executable: bool,
    /// Size in bytes.
    pub size: u64,
    /// The modification time, in seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The time of the last metadata change; 0 if unknown.
    pub changed: (i64, u32),
    /// The inode number; 0 if unknown.
    pub inode: u64,
}

impl FileState {
    /// Returns true if a change after `now` (nanoseconds since 1970) could leave the state unchanged. File
    /// system clocks advance in steps, and a long write has the time at which it began.
    pub fn may_hide_a_change(&self, now: i64) -> bool {
        self.modified.max(self.changed) > now.saturating_sub(limits::SETTLING.as_nanos() as i64)
    }
}

/// Returns the current time in the unit of [`FileState`].
pub(crate) fn nanoseconds_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
