//! Bringing the ranked index of a root up to date in the background of a server: at low priority, on threads of its own, so
//! that no call waits for it.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use forage_fs::Root;
use forage_rank::limits::SMALL_UPDATE_FILES;
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress};

use super::KeptIndexes;

/// How often it is tried again when another process has the index.
const ATTEMPTS: usize = 20;

/// Time until it is tried again when no index could be kept.
const AFTER_FAILURE: Duration = Duration::from_secs(600);

/// Time between two attempts.
const BETWEEN: Duration = Duration::from_millis(500);

/// How far it is.
#[derive(Debug)]
pub(super) struct Build {
    /// Files that were in the index before it began, and all that it lacked then; 0 where that is not known.
    before: u64,
    all: u64,
    /// Files that were read since.
    read: Arc<UpdateProgress>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
    /// When it ended without an index that is kept.
    failed: OnceLock<Instant>,
}

impl Build {
    fn new((before, all): (u64, u64)) -> Self {
        Self {
            before,
            all,
            read: Arc::default(),
            has_begun: AtomicBool::new(false),
            is_over: AtomicBool::new(false),
            failed: OnceLock::new(),
        }
    }

    /// One that goes on for ever.
    #[cfg(test)]
    pub(super) fn at_work(progress: (u64, u64)) -> Self {
        Self { has_begun: AtomicBool::new(true), ..Self::new(progress) }
    }

    /// Files that are in the index and all that it lacked, 0 where that is not known, while a large build is going on.
    pub(super) fn large(&self) -> Option<(u64, u64)> {
        let is_large = self.all > SMALL_UPDATE_FILES || self.read.is_large.load(Ordering::Relaxed);
        (is_large && self.is_at_work())
            .then(|| (self.before + self.read.read.load(Ordering::Relaxed), self.all))
    }

    /// Whether it has something to lose.
    pub(super) fn is_at_work(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed) && !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Whether another one may begin: what has failed would do so again at once.
    pub(super) fn may_be_repeated(&self) -> bool {
        self.is_over() && self.failed.get().is_none_or(|failed| failed.elapsed() > AFTER_FAILURE)
    }
}

/// Starts it; `None` where there is no thread to be had.
pub(super) fn start(
    kept: &Arc<KeptIndexes>,
    root: &Arc<Root>,
    progress: (u64, u64),
    pause: Duration,
) -> Option<Arc<Build>> {
    let build = Arc::new(Build::new(progress));
    let (kept, root, told) = (Arc::clone(kept), Arc::clone(root), Arc::clone(&build));
    let run = move || {
        std::thread::sleep(pause);
        if kept.stop.check().is_some() {
            return;
        }
        kept.update_first(&root);
        told.has_begun.store(true, Ordering::Relaxed);
        stand_back();
        let effort = UpdateEffort {
            threads: threads(),
            stop: kept.stop.clone(),
            large_end: None,
            progress: Arc::clone(&told.read),
        };
        // Whoever asks next finds out what is wrong; a panic must not be taken for a build that goes on for ever.
        let is_kept = std::panic::catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..ATTEMPTS {
                match kept.ranked_now(&root, &effort) {
                    Err(UpdateError::Busy | UpdateError::Outdated) => std::thread::sleep(BETWEEN),
                    Ok(ranked) if ranked.warning.is_none() => return true,
                    _ => break,
                }
            }
            false
        }));
        if !is_kept.unwrap_or(false) {
            let _ = told.failed.set(Instant::now());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_build_is_not_repeated_at_once() {
        let build = Build::at_work((0, 0));
        assert!(!build.may_be_repeated());
        build.is_over.store(true, Ordering::Relaxed);
        assert!(build.may_be_repeated());
        build.failed.set(Instant::now()).unwrap();
        assert!(!build.may_be_repeated());
    }
}
