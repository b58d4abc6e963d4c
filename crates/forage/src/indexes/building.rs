//! How far a build is, told to other processes in the file that is locked while it goes on.
#![expect(clippy::disallowed_methods, reason = "the user's own cache directory, not a file of a repository")]

use std::fs::{self, File};
use std::io::{Seek as _, Write as _};
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
            // That nobody is told does no harm to the build.
            let mut write = |text: &str| {
                let _ = file
                    .set_len(0)
                    .and_then(|()| file.rewind())
                    .and_then(|()| file.write_all(text.as_bytes()));
            };
            write("0");
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(BETWEEN) {
                write(&files.load(Ordering::Relaxed).to_string());
            }
            write("");
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

/// The files that a build has come to by now, if one is going on.
pub(super) fn files(lock: &Path) -> Option<u64> {
    let files = fs::read_to_string(lock).ok()?.parse().ok()?;
    // One that was killed leaves its last count, and no lock.
    match File::open(lock).ok()?.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => Some(files),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_told_how_far_a_build_is_while_it_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let lock = File::create(&path).unwrap();
        lock.try_lock().unwrap();
        assert_eq!(files(&path), None);
        let building = Building::start(lock.try_clone().unwrap(), Arc::new(AtomicU64::new(4_321)));
        let started = std::time::Instant::now();
        while files(&path) != Some(4_321) {
            assert!(started.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(building);
        assert_eq!(files(&path), None);
        // As one leaves it that was killed.
        fs::write(&path, "4321").unwrap();
        assert_eq!(files(&path), Some(4_321));
        drop(lock);
        assert_eq!(files(&path), None);
    }
}
