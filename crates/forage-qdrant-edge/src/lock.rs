//! One process at a time.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::Path;

use crate::directory;

/// Held as long as this lives; the system releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Closing the file is not enough: a child that is being started has a copy of it until it runs its program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Somebody else has it.
#[derive(Debug)]
pub(crate) enum LockRefusal {
    /// The number of the process, if it could be read.
    Held(Option<u32>),
    /// The file can't be made or locked.
    Io(io::Error),
}

impl Lock {
    /// Doesn't wait.
    pub(crate) fn take(path: &Path) -> Result<Self, LockRefusal> {
        let mut file = directory::open_lock(path).map_err(LockRefusal::Io)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(LockRefusal::Held(holder(&mut file))),
            Err(TryLockError::Error(error)) => return Err(LockRefusal::Io(error)),
        }
        let number = format!("{}\n", std::process::id());
        let written =
            file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(number.as_bytes()));
        written.map_err(LockRefusal::Io)?;
        Ok(Self { file })
    }
}

/// On Windows a locked file can't be read; then nobody knows.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
