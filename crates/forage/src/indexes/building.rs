//! How far a build is, told to other processes in the file that is locked while it goes on.
#![expect(clippy::disallowed_methods, reason = "the user's own cache directory, not a file of a repository")]

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

const BETWEEN: Duration = Duration::from_millis(200);

/// Tells how far a build is until it is dropped.
pub(super) struct Building {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Building {
    /// Takes the count of files that it has come to, and a file that nobody else writes meanwhile.
    pub(super) fn start(mut file: File, files: Arc<AtomicU64>) -> Self {
        let (end, ended) = channel();
        let tell = move || {
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(BETWEEN) {
                // Always as long, so that whoever reads meanwhile finds a number. That nobody is told does no harm.
                let count = format!("{:>20}", files.load(Ordering::Relaxed));
                let _ = file.rewind().and_then(|()| file.write_all(count.as_bytes()));
            }
        };
        let thread = std::thread::Builder::new().name("index progress".to_owned()).spawn(tell);
        Self { thread: thread.ok().map(|thread| (end, thread)) }
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.thread.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// The files that a build has come to by now, if one is going on: the lock tells that.
pub(super) fn files(lock: &Path) -> Option<u64> {
    let mut file = File::open(lock).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut count = String::new();
            Some(file.read_to_string(&mut count).ok().and_then(|_| count.trim().parse().ok()).unwrap_or(0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::indexes::store::{LOCK, Store};

    #[test]
    fn others_are_told_how_far_a_build_is_while_it_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::new(directory.path(), Path::new("/tree"));
        std::fs::create_dir(store.directory()).unwrap();
        assert_eq!(store.building(), None);
        // The second finds the file that the first has made, as one leaves it that was killed.
        for count in [4_321, 987] {
            let lock = store.lock(LOCK).unwrap().unwrap();
            assert_eq!(store.building(), Some(0));
            let building = Building::start(lock.try_clone().unwrap(), Arc::new(AtomicU64::new(count)));
            let started = std::time::Instant::now();
            while store.building() != Some(count) {
                assert!(started.elapsed() < Duration::from_secs(20));
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(building);
            assert_eq!(store.building(), Some(count));
            assert!(store.lock(LOCK).unwrap().is_none());
            drop(lock);
            assert_eq!(store.building(), None);
        }
    }
}
