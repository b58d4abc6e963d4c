//! Excludes other writers of a collection, in this process and others.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};

/// A file lock that is held until this value is dropped. The system releases it when the process ends, even
/// after a crash.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Unlocks explicitly. Closing the file is not enough, because a child process that is being started has
    /// a copy of the handle until it runs its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The reasons why a lock can't be acquired.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another process holds the lock. This is its process id if we could read it.
    Held(Option<u32>),
    /// The file can't be locked or written.
    Io(io::Error),
}

impl Lock {
    /// Locks a file without waiting, and writes the id of this process to it.
    pub(super) fn take(mut file: File) -> Result<Self, LockError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held(holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        let number = format!("{}\n", std::process::id());
        // We use the id only in messages, so a full disk must not prevent the removal of a collection.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(number.as_bytes()));
        Ok(Self { file })
    }
}

/// Reads the process id in a lock file. Note that Windows does not allow reading a locked file.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
