//! Bringing the ranked index of a root up to date in the background of a server: at low priority, on threads of its own, so
//! that no call waits for it.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::Root;
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress};

use super::KeptIndexes;

/// How often it is tried again when another process has the index.
const ATTEMPTS: usize = 20;

/// Time until it is tried again when no index could be kept.
const AFTER_FAILURE: Duration = Duration::from_secs(600);

/// How often somebody who waits looks whether it is over.
const LOOK: Duration = Duration::from_millis(5);

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
    /// Waits a little for its end, if it has begun.
    ///
    /// # Errors
    /// It goes on: files that are in the index, of all that it lacked, which is 0 where that is not known.
    pub(super) fn ends_within(&self, time: Duration, stop: &Stop) -> Result<(), (u64, u64)> {
        let stop = stop.within(time);
        while self.has_begun.load(Ordering::Relaxed) && !self.is_over() {
            if stop.check().is_some() {
                return Err((self.before + self.read.read.load(Ordering::Relaxed), self.all));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
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
    (before, all): (u64, u64),
    pause: Duration,
) -> Option<Arc<Build>> {
    let build = Arc::new(Build {
        before,
        all,
        read: Arc::default(),
        has_begun: AtomicBool::new(pause.is_zero()),
        is_over: AtomicBool::new(false),
        failed: OnceLock::new(),
    });
    let (kept, root, told) = (Arc::clone(kept), Arc::clone(root), Arc::clone(&build));
    let run = move || {
        std::thread::sleep(pause);
        if kept.stop.check().is_some() {
            return;
        }
        told.has_begun.store(true, Ordering::Relaxed);
        kept.update_first(&root);
        stand_back();
        let effort =
            UpdateEffort { threads: threads(), stop: kept.stop.clone(), progress: Arc::clone(&told.read) };
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
    fn a_build_is_waited_for_a_little_and_then_told_of() {
        let build = |has_begun| Build {
            before: 2,
            all: 10,
            read: Arc::new(UpdateProgress { read: 3.into(), ..UpdateProgress::default() }),
            has_begun: AtomicBool::new(has_begun),
            is_over: AtomicBool::new(false),
            failed: OnceLock::new(),
        };
        let time = Duration::from_millis(20);
        assert_eq!(build(true).ends_within(time, &Stop::never()), Err((5, 10)));
        // Nobody waits for one that waits itself.
        assert_eq!(build(false).ends_within(time, &Stop::never()), Ok(()));
        let ends = build(true);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(time);
                ends.is_over.store(true, Ordering::Relaxed);
            });
            assert_eq!(ends.ends_within(Duration::from_secs(20), &Stop::never()), Ok(()));
        });
        assert!(ends.may_be_repeated());
        ends.failed.set(Instant::now()).unwrap();
        assert!(!ends.may_be_repeated());
    }
}
