//! Bringing the ranked index of a root up to date in the background of a server: at low priority, on threads of its own, so
//! that no call waits for it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use forage_fs::{Root, Stop};
use forage_rank::tree::{Effort, UpdateError};

use super::KeptIndexes;

/// How often it is tried again when another process has the index.
const ATTEMPTS: usize = 20;

/// Time between two attempts.
const BETWEEN: Duration = Duration::from_millis(500);

/// How far it is.
#[derive(Debug)]
pub(super) struct Build {
    /// Files that were in the index before it began, and all that it lacked then; 0 where that is not known.
    before: u64,
    all: u64,
    /// Files that were read since.
    read: Arc<AtomicU64>,
    is_over: AtomicBool,
}

impl Build {
    /// Files that are in the index, of all that it lacked, which is 0 where that is not known; `None` when it is over.
    pub(super) fn progress(&self) -> Option<(u64, u64)> {
        (!self.is_over()).then(|| (self.before + self.read.load(Ordering::Relaxed), self.all))
    }

    pub(super) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Starts it; `None` where there is no thread to be had.
pub(super) fn start(
    kept: &Arc<KeptIndexes>,
    root: &Arc<Root>,
    (before, all): (u64, u64),
    pause: Duration,
) -> Option<Arc<Build>> {
    let build = Arc::new(Build { before, all, read: Arc::default(), is_over: AtomicBool::new(false) });
    let (kept, root, told) = (Arc::clone(kept), Arc::clone(root), Arc::clone(&build));
    let run = move || {
        std::thread::sleep(pause);
        stand_back();
        let effort = Effort { threads: threads(), stop: Stop::never(), progress: Arc::clone(&told.read) };
        // Whoever asks next finds out what is wrong; a panic must not be taken for a build that goes on for ever.
        let _ = std::panic::catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..ATTEMPTS {
                match kept.ranked_now(&root, &effort) {
                    Err(UpdateError::Busy | UpdateError::Outdated) => std::thread::sleep(BETWEEN),
                    _ => break,
                }
            }
        }));
        told.is_over.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("ranking".to_owned()).spawn(run).is_ok().then_some(build)
}

/// Half of the processors: the others are for calls.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |all| all.get().div_ceil(2))
}

/// Lets other threads go first. The kernel hands the priority on to threads that this one starts.
#[cfg(target_os = "linux")]
fn stand_back() {
    // Without it, it is only less polite.
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(not(target_os = "linux"))]
fn stand_back() {}
