//! Updates the ranked index of a root in the background of a server, on separate threads of low priority. No
//! call has to wait for it.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use forage_fs::Root;
use forage_rank::limits::SMALL_UPDATE_FILES;
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress};

use super::IndexManager;

/// Maximum attempts while another process uses the index.
const ATTEMPTS: usize = 20;

/// Time until the next attempt after we could not store an index.
const AFTER_FAILURE: Duration = Duration::from_secs(600);

/// Time between two attempts.
const BETWEEN: Duration = Duration::from_millis(500);

/// State and progress of a build.
#[derive(Debug)]
pub(super) struct Build {
    /// New or changed files that were already indexed when the build began, and the number of all such files.
    /// 0 if unknown.
    before: u64,
    all: u64,
    /// Files read since then.
    read: Arc<UpdateProgress>,
    has_begun: AtomicBool,
    is_over: AtomicBool,
    /// When the build ended, if it stored no index.
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

    /// Creates a build that never ends.
    #[cfg(test)]
    pub(super) fn at_work(progress: (u64, u64)) -> Self {
        Self { has_begun: AtomicBool::new(true), ..Self::new(progress) }
    }

    /// Creates a build that never ends and has only compared files so far.
    #[cfg(test)]
    pub(super) fn comparing() -> Self {
        let build = Self::at_work((0, 0));
        build.read.is_large.store(true, Ordering::Relaxed);
        build
    }

    /// Progress of a large build that is running: how many of the new or changed files are indexed by now,
    /// and how many there are (0 if unknown).
    pub(super) fn large(&self) -> Option<(u64, u64)> {
        let is_large = self.all > SMALL_UPDATE_FILES || self.read.is_large.load(Ordering::Relaxed);
        (is_large && self.is_at_work())
            .then(|| (self.before + self.read.read.load(Ordering::Relaxed), self.all))
    }

    /// Returns true if the build has to read many files, i.e. does not only compare them with the index.
    pub(super) fn has_many_changes(&self) -> bool {
        self.all > SMALL_UPDATE_FILES || self.read.has_many_changes.load(Ordering::Relaxed)
    }

    /// Returns true if the build has unsaved work.
    pub(super) fn is_at_work(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed) && !self.is_over()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Returns true if another build may begin. Soon after a failure this is false, because the next build
    /// would fail again.
    pub(super) fn may_be_repeated(&self) -> bool {
        self.is_over() && self.failed.get().is_none_or(|failed| failed.elapsed() > AFTER_FAILURE)
    }
}

/// Starts a build. Returns `None` if no thread can be spawned.
pub(super) fn start(
    kept: &Arc<IndexManager>,
    root: &Arc<Root>,
    progress: (u64, u64),
    pause: Duration,
) -> Option<Arc<Build>> {
    let build = Arc::new(Build::new(progress));
    let (kept, root, shared) = (Arc::clone(kept), Arc::clone(root), Arc::clone(&build));
    let run = move || {
        std::thread::sleep(pause);
        if kept.stop.check().is_some() {
            return;
        }
        kept.update_first(&root);
        let _turn = kept.take_turn();
        if kept.stop.check().is_some() {
            return;
        }
        // From here on, `IndexManager::end` waits for this build to save its work.
        shared.has_begun.store(true, Ordering::Relaxed);
        lower_thread_priority();
        let effort = UpdateEffort {
            threads: threads(),
            stop: kept.stop.clone(),
            large_end: None,
            comparison_end: None,
            progress: Arc::clone(&shared.read),
        };
        // The next caller will see the error. After a panic, the build must not look as if it were still
        // running.
        let is_kept = std::panic::catch_unwind(AssertUnwindSafe(|| {
            for _ in 0..ATTEMPTS {
                match kept.update_ranked(&root, &effort) {
                    Err(UpdateError::Busy | UpdateError::Outdated) => std::thread::sleep(BETWEEN),
                    Ok(ranked) if ranked.warning.is_none() => return true,
                    _ => break,
                }
            }
            false
        }));
        if !is_kept.unwrap_or(false) {
            let _ = shared.failed.set(Instant::now());
        }
        shared.is_over.store(true, Ordering::Relaxed);
    };
    std::thread::Builder::new().name("ranking".to_owned()).spawn(run).is_ok().then_some(build)
}

/// Uses half of the processors, so that the others are free for calls.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |all| all.get().div_ceil(2))
}

/// Lowers the priority of this thread. The kernel passes the priority on to threads that this one starts.
#[cfg(target_os = "linux")]
fn lower_thread_priority() {
    // A failure is harmless: only the priority stays higher.
    let _ = rustix::process::setpriority_process(None, 10);
}

#[cfg(not(target_os = "linux"))]
fn lower_thread_priority() {}

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
