//! Keeps the last calls of this process in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
#[cfg(unix)]
use std::time::{Duration, Instant};

use forage_tools::{CallHead, CallSink};

use super::limits::RECENT_CALLS;
use super::record::{CallRecord, ProcessRecord};

/// Keeps the last calls, and passes each to a persistent journal if there is one.
pub struct RecentCalls {
    process: ProcessRecord,
    ring: Mutex<Ring>,
    changed: Condvar,
    file: Option<Box<JournalSink>>,
}

/// A persistent journal of calls.
pub type JournalSink = dyn CallSink<Arc<CallRecord>>;

#[derive(Default)]
struct Ring {
    calls: VecDeque<Arc<CallRecord>>,
    /// Number of calls so far.
    all: u64,
    is_closed: bool,
}

impl RecentCalls {
    /// Creates the store for the calls of this process.
    pub fn new(surface: &str, version: &str, file: Option<Box<JournalSink>>) -> Self {
        let process = ProcessRecord::own(surface, version);
        Self { process, ring: Mutex::default(), changed: Condvar::new(), file }
    }

    /// Returns the record of this process.
    pub fn process(&self) -> &ProcessRecord {
        &self.process
    }

    /// Waits for calls after the first `after` and returns them. Returns an empty list if none came within
    /// `wait`, and `None` if no more calls will come.
    #[cfg(unix)]
    pub(crate) fn next(&self, after: u64, wait: Duration) -> Option<Vec<Arc<CallRecord>>> {
        let until = Instant::now() + wait;
        let mut ring = self.ring();
        loop {
            if ring.all > after {
                return Some(ring.calls.iter().filter(|call| call.sequence > after).cloned().collect());
            }
            if ring.is_closed {
                return None;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Some(Vec::new());
            }
            (ring, _) = self.changed.wait_timeout(ring, left).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Closes the store, so that no more calls will come.
    pub fn close(&self) {
        self.ring().is_closed = true;
        self.changed.notify_all();
        if let Some(file) = &self.file {
            file.finish();
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSink<CallHead> for RecentCalls {
    fn ended(&self, head: CallHead) {
        let call = {
            // The sequence numbers must have the order of the ring, so we assign them under the same lock.
            let mut ring = self.ring();
            ring.all += 1;
            let call = Arc::new(CallRecord::new(&self.process.process, ring.all, head));
            if ring.calls.len() == RECENT_CALLS {
                ring.calls.pop_front();
            }
            ring.calls.push_back(Arc::clone(&call));
            call
        };
        self.changed.notify_all();
        if let Some(file) = &self.file {
            file.ended(call);
        }
    }
}
