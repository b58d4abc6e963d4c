//! Excludes other writers of a collection, in this process and others.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};

/// A lock of a file, held until this is dropped. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Closing the file is not enough: a child that is being started has a copy of it until it runs its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// The reason for which a lock can't be had.
#[derive(Debug)]
pub(super) enum LockError {
    /// Another has it: the process with this number, if that could be read.
    Held(Option<u32>),
    /// The file can't be locked or written.
    Io(io::Error),
}

impl Lock {
    /// Locks a file without waiting, and writes the number of this process into it.
    pub(super) fn take(mut file: File) -> Result<Self, LockError> {
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockError::Held(holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        let number = format!("{}\n", std::process::id());
        // The number only serves a message: a full disk must not prevent the removal of a collection.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(number.as_bytes()));
        Ok(Self { file })
    }
}

/// Windows lets nobody read a locked file.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
