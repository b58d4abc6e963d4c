//! When a call must end: its deadline, and the caller's wish.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Why a call ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The deadline passed.
    Deadline,
    /// The caller cancelled.
    Cancelled,
}

/// A deadline and a cancellation flag; clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    deadline: Option<Instant>,
    cancelled: Arc<AtomicBool>,
}

impl Stop {
    /// Never ends by itself.
    pub fn never() -> Self {
        Self::default()
    }

    /// Ends `budget` from now.
    pub fn after(budget: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(budget), cancelled: Arc::default() }
    }

    /// Ends when somebody sets the flag, such as the handler of a signal.
    pub fn when(flag: Arc<AtomicBool>) -> Self {
        Self { deadline: None, cancelled: flag }
    }

    /// The same cancellation with a deadline `budget` from now, unless the present one is earlier.
    pub fn within(&self, budget: Duration) -> Self {
        let other = Instant::now().checked_add(budget);
        let deadline = match (self.deadline, other) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Self { deadline, cancelled: Arc::clone(&self.cancelled) }
    }

    /// The deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Asks every holder of a clone to end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether [`Stop::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether the call must end now. Costs a clock reading: ask per file or per 256 KiB, not per line.
    pub fn check(&self) -> Option<Stopped> {
        if self.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Some(Stopped::Deadline),
            _ => None,
        }
    }
}
