//! Cancellation: a deadline plus a cancel flag.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum sleep between two checks of a [`Stop`]. This is also the latency of cancelling a wait.
pub const WAIT_SLICE: Duration = Duration::from_millis(20);

/// Reasons why a call ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The deadline has passed.
    Deadline,
    /// The caller has cancelled.
    Cancelled,
}

/// A deadline and a cancellation flag. Clones share the flag.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    deadline: Option<Instant>,
    /// A deadline that is set later, shared by all clones.
    called_off: Arc<OnceLock<Instant>>,
    cancelled: Arc<AtomicBool>,
}

impl Stop {
    /// Creates a stop without a deadline. It can still be cancelled.
    pub fn never() -> Self {
        Self::default()
    }

    /// Creates a stop with a deadline `budget` from now.
    pub fn after(budget: Duration) -> Self {
        // A budget beyond the range of the clock means no deadline.
        Self { deadline: Instant::now().checked_add(budget), ..Self::default() }
    }

    /// Creates a stop with a deadline at that instant.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Creates a stop that is cancelled when the flag is set, for example by a signal handler.
    pub fn when(flag: Arc<AtomicBool>) -> Self {
        Self { cancelled: flag, ..Self::default() }
    }

    /// Creates a stop that shares the cancellation and has a deadline `budget` from now, or the current one
    /// if it is earlier.
    pub fn within(&self, budget: Duration) -> Self {
        Instant::now().checked_add(budget).map_or_else(|| self.clone(), |deadline| self.by(deadline))
    }

    /// Creates a stop that shares the cancellation and has the given deadline, or the current one if it is
    /// earlier.
    pub fn by(&self, deadline: Instant) -> Self {
        let earliest = self.deadline.map_or(deadline, |own| own.min(deadline));
        Self { deadline: Some(earliest), ..self.clone() }
    }

    /// Sets a deadline `budget` from now on all clones, unless they have an earlier one. Only the first call
    /// has an effect. You should prefer this over [`Stop::cancel`] where partial results are useful, because
    /// work that reaches a deadline keeps its results so far.
    pub fn end_within(&self, budget: Duration) {
        if let Some(deadline) = Instant::now().checked_add(budget) {
            let _ = self.called_off.set(deadline);
        }
    }

    /// Creates a stop with the same deadline and cancellation. If you call [`Stop::end_within`] on it, this
    /// affects only it and its own clones.
    pub fn detached(&self) -> Self {
        Self { deadline: self.deadline(), called_off: Arc::default(), cancelled: Arc::clone(&self.cancelled) }
    }

    /// Returns true if [`Stop::end_within`] was called on this stop or on a clone.
    pub fn is_called_off(&self) -> bool {
        self.called_off.get().is_some()
    }

    /// Returns the deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        match (self.deadline, self.called_off.get().copied()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Cancels this stop and all clones.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns true if this was cancelled, either by [`Stop::cancel`] on this stop or a clone, or by the flag
    /// of [`Stop::when`].
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Checks whether the call must end now, and returns the reason if it must. This reads the clock, so you
    /// should call it per file or per 256 KiB, not per line.
    pub fn check(&self) -> Option<Stopped> {
        if self.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        match self.deadline() {
            Some(deadline) if Instant::now() >= deadline => Some(Stopped::Deadline),
            _ => None,
        }
    }

    /// Sleeps for `pause`, but checks every [`WAIT_SLICE`] whether the call must end. Returns the reason if
    /// it must.
    pub fn wait(&self, pause: Duration) -> Option<Stopped> {
        let until = Instant::now().checked_add(pause);
        loop {
            if let Some(stopped) = self.check() {
                return Some(stopped);
            }
            let left = until.map_or(WAIT_SLICE, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return None;
            }
            thread::sleep(left.min(WAIT_SLICE));
        }
    }
}

/// Checks a [`Stop`] after a certain amount of work instead of at each step. Use this for loops with an
/// unknown number of steps that are each cheaper than reading the clock.
///
/// You can choose any unit of work, for example bytes or visited states. Once the call must end, this state
/// is permanent.
///
/// # Examples
///
/// ```
/// use forage_base::{Pace, Stop};
///
/// let stop = Stop::never();
/// let pace = Pace::new(&stop, 1_000);
/// stop.cancel();
/// // The first 1,000 units are allowed without a check.
/// let done = (0..1_000_000).take_while(|_| pace.allows(1)).count();
/// assert!(done <= 1_000 && pace.is_stopped());
/// ```
#[derive(Debug)]
pub struct Pace {
    stop: Stop,
    /// Units of work between two checks.
    per_look: u64,
    left: Cell<u64>,
    stopped: Cell<bool>,
}

impl Pace {
    /// Creates a pace that checks `stop` after every `per_look` units of work.
    pub fn new(stop: &Stop, per_look: u64) -> Self {
        Self { stop: stop.clone(), per_look, left: Cell::new(per_look), stopped: Cell::new(false) }
    }

    /// Counts work that you are about to do. Returns true if you may do it.
    #[inline]
    pub fn allows(&self, work: u64) -> bool {
        match self.left.get().checked_sub(work) {
            Some(left) => {
                self.left.set(left);
                !self.stopped.get()
            }
            None => self.look(),
        }
    }

    /// Reads the clock now. Returns true if work may continue.
    #[inline(never)]
    pub fn look(&self) -> bool {
        self.left.set(self.per_look);
        if self.stop.check().is_some() {
            self.stopped.set(true);
        }
        !self.stopped.get()
    }

    /// Returns the underlying [`Stop`].
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns true if work was refused, so that the results may be incomplete.
    pub fn is_stopped(&self) -> bool {
        self.stopped.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_within_sets_a_later_deadline() {
        let stop = Stop::never();
        let (early, late) = (stop.within(Duration::ZERO), stop.within(Duration::from_secs(60)));
        let until = late.deadline();
        stop.end_within(Duration::from_secs(30));
        assert!(stop.is_called_off() && late.deadline() < until && stop.check().is_none());
        assert_eq!(early.check(), Some(Stopped::Deadline));
        let over = Stop::never();
        let (clone, apart) = (over.clone(), over.detached());
        over.end_within(Duration::ZERO);
        assert_eq!((clone.check(), apart.check()), (Some(Stopped::Deadline), None));
        assert_eq!(over.detached().check(), Some(Stopped::Deadline));
        over.cancel();
        assert_eq!(apart.check(), Some(Stopped::Cancelled));
    }

    #[test]
    fn pace_reads_the_clock_periodically() {
        let stop = Stop::never();
        let pace = Pace::new(&stop, 10);
        assert!(pace.allows(10));
        stop.cancel();
        let other = Pace::new(&stop, 10);
        assert!(other.allows(4) && other.allows(6), "not looked at before the work is done");
        assert!(!other.allows(1) && other.is_stopped() && !other.allows(0), "and it stays so");
        assert!(!pace.allows(11));
    }
}
