//! The ordered queue of a walk, which runs tasks and delivers their results in path order.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{ExcludingDirectories, WalkReport};
use crate::limits;
use crate::rel_path::RelPath;
use crate::skipped::{SkipReason, Skipped};
use forage_base::{Stop, Stopped};

/// Maximum sleep of a worker between two deadline checks.
const SLEEP: Duration = Duration::from_millis(20);

/// The position of a task in the order: its first path. A batch comes before the directory of the same name.
pub(super) type Key = (RelPath, bool);

/// A unit of work of the walk.
#[derive(Debug)]
pub(super) struct WalkTask<W> {
    pub(super) key: Key,
    pub(super) work: W,
}

impl<W> PartialEq for WalkTask<W> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}
impl<W> Eq for WalkTask<W> {}
impl<W> PartialOrd for WalkTask<W> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<W> Ord for WalkTask<W> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

/// The result of a task.
#[derive(Debug)]
pub(super) struct TaskOutput<T, W> {
    pub(super) tasks: Vec<WalkTask<W>>,
    pub(super) items: Vec<T>,
    /// Total weight of the items in bytes.
    pub(super) weight: usize,
    pub(super) skipped: Skipped,
    pub(super) visited: u64,
    /// See [`WalkReport::visited_unreadable`].
    pub(super) visited_unreadable: u64,
    /// Number of entries listed, for the limit of the walk.
    pub(super) entries: u64,
    pub(super) hiding: ExcludingDirectories,
    pub(super) pruned: Vec<String>,
    /// Links that were left out, which `skipped` counts too.
    pub(super) links: Vec<RelPath>,
    pub(super) warnings: Vec<String>,
    /// See [`WalkReport::unreadable`].
    pub(super) unreadable: Vec<String>,
    pub(super) stopped: Option<Stopped>,
}

impl<T, W> TaskOutput<T, W> {
    /// Counts and reports a directory on a kernel file system.
    pub(super) fn leave_out_kernels(&mut self, path: &RelPath, system: &str) {
        self.skipped.add(SkipReason::KernelFileSystem);
        self.warnings.push(format!(
            "{} is a kernel pseudo file system ({system}) and was not entered",
            path.display()
        ));
    }
}

impl<T, W> Default for TaskOutput<T, W> {
    fn default() -> Self {
        Self {
            tasks: Vec::new(),
            items: Vec::new(),
            weight: 0,
            skipped: Skipped::default(),
            visited: 0,
            visited_unreadable: 0,
            entries: 0,
            hiding: ExcludingDirectories::default(),
            pruned: Vec::new(),
            links: Vec::new(),
            warnings: Vec::new(),
            unreadable: Vec::new(),
            stopped: None,
        }
    }
}

#[derive(Debug)]
struct State<T, W> {
    open: BinaryHeap<Reverse<WalkTask<W>>>,
    running: Vec<Key>,
    done: BTreeMap<Key, TaskOutput<T, W>>,
    waiting_bytes: usize,
    entries: u64,
    /// True while a worker is delivering results.
    handing_over: bool,
    /// True once no further task may start.
    ended: bool,
    /// The first task that a deadline interrupted. Later results are not delivered, because a caller that
    /// continues after them would never see the missing ones.
    cut: Option<Key>,
    report: WalkReport,
}

impl<T, W> State<T, W> {
    /// Finds the first task that has not ended.
    fn first_open(&self) -> Option<&Key> {
        let queued = self.open.peek().map(|Reverse(task)| &task.key);
        self.running.iter().chain(queued).min()
    }
}

pub(super) struct WalkFrontier<T, W, R> {
    state: Mutex<State<T, W>>,
    changed: Condvar,
    receive: Mutex<R>,
}

impl<T: Send, W: Send, R: FnMut(T) -> ControlFlow<()> + Send> WalkFrontier<T, W, R> {
    pub(super) fn new(first: Vec<WalkTask<W>>, receive: R) -> Self {
        let state = State {
            open: first.into_iter().map(Reverse).collect(),
            running: Vec::new(),
            done: BTreeMap::new(),
            waiting_bytes: 0,
            entries: 0,
            handing_over: false,
            ended: false,
            cut: None,
            report: WalkReport::default(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), receive: Mutex::new(receive) }
    }

    /// Runs all tasks, with one `worker` state per thread.
    pub(super) fn run<S>(
        self,
        threads: usize,
        stop: &Stop,
        worker: impl Fn() -> S + Sync,
        run: impl Fn(&mut S, WalkTask<W>) -> TaskOutput<T, W> + Sync,
    ) -> WalkReport {
        std::thread::scope(|scope| {
            for _ in 0..threads.max(1) {
                scope.spawn(|| {
                    let mut state = worker();
                    self.work(stop, |task| run(&mut state, task));
                });
            }
        });
        self.into_report()
    }

    /// Runs tasks until there are no more.
    fn work(&self, stop: &Stop, mut run: impl FnMut(WalkTask<W>) -> TaskOutput<T, W>) {
        while let Some(task) = self.take(stop) {
            let key = task.key.clone();
            // If a visitor panics, we must not leave the other workers waiting for its task.
            let done = FinishGuard { frontier: self, key: Some(key) };
            let result = run(task);
            done.with(result);
        }
    }

    fn take(&self, stop: &Stop) -> Option<WalkTask<W>> {
        let mut state = self.lock();
        loop {
            if let Some(stopped) = stop.check()
                && !state.ended
            {
                state.ended = true;
                state.report.stopped = Some(stopped);
            }
            if state.ended || (state.open.is_empty() && state.running.is_empty()) {
                self.changed.notify_all();
                return None;
            }
            // We pause so that results that wait for an earlier task do not accumulate without limit. If
            // nothing is running, we must go on, or the walk would never end.
            let moving = state.handing_over || !state.running.is_empty();
            let crowded = state.waiting_bytes > limits::WALK_BUFFERED_BYTES && moving;
            if !crowded && let Some(Reverse(task)) = state.open.pop() {
                state.running.push(task.key.clone());
                return Some(task);
            }
            // This wait has a timeout so that we notice the deadline even if nothing changes.
            (state, _) = self.changed.wait_timeout(state, SLEEP).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, key: Key, mut done: TaskOutput<T, W>) {
        let mut state = self.lock();
        state.running.retain(|running| *running != key);
        state.entries += done.entries;
        if state.entries > limits::WALK_ENTRIES && !state.ended {
            state.ended = true;
            state.report.too_many_entries = true;
        }
        if let Some(stopped) = done.stopped {
            if state.cut.as_ref().is_none_or(|cut| key < *cut) {
                state.cut = Some(key.clone());
            }
            if !state.ended {
                state.ended = true;
                state.report.stopped = Some(stopped);
            }
        }
        // Workers sleep only if the queue is empty or too many results wait.
        let wake = state.open.is_empty() || state.waiting_bytes > limits::WALK_BUFFERED_BYTES || state.ended;
        state.open.extend(done.tasks.drain(..).map(Reverse));
        state.waiting_bytes += done.weight;
        state.done.insert(key, done);
        if wake {
            self.changed.notify_all();
        }
        drop(self.deliver(state));
    }

    /// Delivers every result that does not wait for an earlier open task.
    fn deliver<'a>(&'a self, mut state: MutexGuard<'a, State<T, W>>) -> MutexGuard<'a, State<T, W>> {
        if state.handing_over {
            return state;
        }
        state.handing_over = true;
        while !state.report.broke_off {
            let ready = state.done.first_key_value().is_some_and(|(first, _)| {
                state.first_open().is_none_or(|open| first < open)
                    && state.cut.as_ref().is_none_or(|cut| first <= cut)
            });
            let Some((_, done)) = ready.then(|| state.done.pop_first()).flatten() else { break };
            let was_crowded = state.waiting_bytes > limits::WALK_BUFFERED_BYTES;
            state.waiting_bytes -= done.weight;
            let report = &mut state.report;
            report.skipped.merge(&done.skipped);
            report.visited += done.visited;
            report.visited_unreadable += done.visited_unreadable;
            report.hiding.merge(done.hiding);
            done.warnings.into_iter().for_each(|warning| report.warn(warning));
            let room = limits::WARNINGS_KEPT.saturating_sub(report.unreadable.len());
            report.unreadable.extend(done.unreadable.into_iter().take(room));
            for name in done.pruned {
                if report.pruned.len() < limits::PRUNED_NAMES && !report.pruned.contains(&name) {
                    report.pruned.push(name);
                }
            }
            if done.items.is_empty() {
                continue;
            }
            // The receiver may be slow, so other workers must be able to continue meanwhile.
            drop(state);
            let flow = self.receive(done.items);
            state = self.lock();
            match flow {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => {
                    state.ended = true;
                    state.report.broke_off = true;
                    // The caller has everything that it requested, and nothing before it is missing. A
                    // deadline that has passed meanwhile did not cut anything.
                    state.report.stopped = None;
                }
                Err(panic) => {
                    // No worker may keep waiting for a receiver that is gone.
                    state.ended = true;
                    state.handing_over = false;
                    drop(state);
                    self.changed.notify_all();
                    resume_unwind(panic);
                }
            }
            if was_crowded {
                self.changed.notify_all();
            }
        }
        state.handing_over = false;
        state
    }

    fn receive(&self, items: Vec<T>) -> std::thread::Result<ControlFlow<()>> {
        let mut receive = self.receive.lock().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(AssertUnwindSafe(|| items.into_iter().try_for_each(&mut *receive)))
    }

    fn lock(&self) -> MutexGuard<'_, State<T, W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds the report after all workers have ended. Results found before a deadline are delivered first,
    /// up to the first gap.
    fn into_report(self) -> WalkReport {
        drop(self.deliver(self.lock()));
        let mut report = self.state.into_inner().unwrap_or_else(PoisonError::into_inner).report;
        report.pruned.sort();
        report
    }
}

/// Ends a task on drop, so that this happens even if its visitor panics.
struct FinishGuard<'a, T: Send, W: Send, R: FnMut(T) -> ControlFlow<()> + Send> {
    frontier: &'a WalkFrontier<T, W, R>,
    key: Option<Key>,
}

impl<T: Send, W: Send, R: FnMut(T) -> ControlFlow<()> + Send> FinishGuard<'_, T, W, R> {
    fn with(mut self, done: TaskOutput<T, W>) {
        if let Some(key) = self.key.take() {
            self.frontier.finish(key, done);
        }
    }
}

impl<T: Send, W: Send, R: FnMut(T) -> ControlFlow<()> + Send> Drop for FinishGuard<'_, T, W, R> {
    fn drop(&mut self) {
        if let Some(key) = self.key.take() {
            self.frontier
                .finish(key, TaskOutput { stopped: Some(Stopped::Cancelled), ..TaskOutput::default() });
        }
    }
}
