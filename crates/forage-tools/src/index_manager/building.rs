//! Publishes the progress of a build to other processes in the lock file of the build.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use forage_base::Background;

/// Bytes of the file count. A `u64` has at most 20 digits.
const COUNT_BYTES: u64 = 20;

const BETWEEN: Duration = Duration::from_millis(200);

/// Publishes the progress of a build until the returned value is dropped. Nothing else may write `file` in
/// the meantime. `files` is the number of files done.
pub(super) fn publish_progress(mut file: File, files: Arc<AtomicU64>) -> Background {
    Background::start("index progress", move |build| {
        while build.goes_on_after(BETWEEN) {
            // The length is constant, so that concurrent readers always find a number. A failure to write is
            // harmless.
            let count = format!("{:>20}", files.load(Ordering::Relaxed));
            let _ = file.rewind().and_then(|()| file.write_all(count.as_bytes()));
        }
    })
}

/// Reads the number of files done by a running build. A build is running if its lock is held.
pub(super) fn files(mut lock: File) -> Option<u64> {
    match lock.try_lock_shared() {
        Err(TryLockError::WouldBlock) => {
            let mut count = String::new();
            let read = (&mut lock).take(COUNT_BYTES).read_to_string(&mut count);
            Some(read.ok().and_then(|_| count.trim().parse().ok()).unwrap_or(0))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::index_manager::store::{IndexStore, LOCK, lock};

    #[test]
    fn build_progress_is_published_to_other_processes() {
        let directory = tempfile::tempdir().unwrap();
        let store = IndexStore::new(directory.path(), Path::new("/tree"));
        assert_eq!(store.building(), None);
        let files = store.created().unwrap();
        // The second round finds the file of the first one, as if that process had been killed.
        for count in [4_321, 987] {
            let held = lock(&files, LOCK).unwrap().unwrap();
            assert_eq!(store.building(), Some(0));
            let building = publish_progress(held.try_clone().unwrap(), Arc::new(AtomicU64::new(count)));
            let started = std::time::Instant::now();
            while store.building() != Some(count) {
                assert!(started.elapsed() < Duration::from_secs(20));
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(building);
            assert_eq!(store.building(), Some(count));
            assert!(lock(&files, LOCK).unwrap().is_none());
            drop(held);
            assert_eq!(store.building(), None);
        }
    }
}
