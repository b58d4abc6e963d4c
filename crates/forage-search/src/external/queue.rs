//! Batches on their way: filled in path order, searched by whoever is free, handed over in path order again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use forage_base::Stop;

use super::ExternalError;
use super::batch::{BatchMatches, FileBatch};
use crate::limits;

pub(super) type JobOutcome = Result<BatchMatches, ExternalError>;

/// A piece of the search, in path order.
pub(super) enum QueuedWork {
    Search(FileBatch),
    /// Searched already.
    Done(Box<JobOutcome>),
}

#[derive(Default)]
struct State {
    queue: VecDeque<(u64, FileBatch)>,
    done: BTreeMap<u64, Box<JobOutcome>>,
    /// Pieces that were put in, and that were handed over.
    put: u64,
    handed_over: u64,
    /// No more will be put in.
    closed: bool,
}

pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
    ended: AtomicBool,
    window: u64,
}

impl Queue {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            ended: AtomicBool::new(false),
            window: (workers * limits::EXTERNAL_BATCHES_PER_WORKER) as u64,
        }
    }

    /// Nobody wants a further result.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        // Under the lock, so that nobody looks before and sleeps after.
        drop(self.lock());
        self.changed.notify_all();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn is_halted(&self, stop: &Stop) -> bool {
        self.has_ended() || stop.check().is_some()
    }

    /// Puts in the next piece, after waiting for room; false when the search must end.
    pub(super) fn put(&self, work: QueuedWork, stop: &Stop) -> bool {
        let mut state = self.lock();
        while state.put - state.handed_over >= self.window && !self.is_halted(stop) {
            state = self.wait(state);
        }
        let number = state.put;
        state.put += 1;
        match work {
            QueuedWork::Search(batch) => state.queue.push_back((number, batch)),
            QueuedWork::Done(outcome) => {
                state.done.insert(number, outcome);
            }
        }
        self.changed.notify_all();
        drop(state);
        !self.is_halted(stop)
    }

    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// The next batch to search.
    pub(super) fn take(&self, stop: &Stop) -> Option<(u64, FileBatch)> {
        let mut state = self.lock();
        loop {
            if self.is_halted(stop) {
                return None;
            }
            if let Some(next) = state.queue.pop_front() {
                return Some(next);
            }
            if state.closed {
                return None;
            }
            state = self.wait(state);
        }
    }

    pub(super) fn finish(&self, number: u64, outcome: JobOutcome) {
        self.lock().done.insert(number, Box::new(outcome));
        self.changed.notify_all();
    }

    /// Waits for the next outcome in path order; `None` when there is no more, or the search must end first.
    pub(super) fn next(&self, stop: &Stop) -> Option<Box<JobOutcome>> {
        let mut state = self.lock();
        loop {
            if let Some(outcome) = Self::pop(&mut state) {
                self.changed.notify_all();
                return Some(outcome);
            }
            if (state.closed && state.put == state.handed_over) || self.is_halted(stop) {
                return None;
            }
            state = self.wait(state);
        }
    }

    /// The next outcome in path order, if it is there.
    pub(super) fn next_ready(&self) -> Option<Box<JobOutcome>> {
        Self::pop(&mut self.lock())
    }

    /// Whether all that was put in was handed over.
    pub(super) fn is_handed_over(&self) -> bool {
        let state = self.lock();
        state.put == state.handed_over
    }

    fn pop(state: &mut State) -> Option<Box<JobOutcome>> {
        let outcome = state.done.remove(&state.handed_over)?;
        state.handed_over += 1;
        Some(outcome)
    }

    fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        // Not for ever: the deadline must be seen even when nothing changes.
        self.changed.wait_timeout(state, limits::EXTERNAL_TICK).unwrap_or_else(PoisonError::into_inner).0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the search when it goes out of scope, so that nobody waits for a thread that panicked.
pub(super) struct EndOnDrop<'a>(pub(super) &'a Queue);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}
