//! When a call must end: its deadline, and the caller's wish.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// The longest sleep between two looks at a [`Stop`]: a wait that is cancelled ends about as soon.
pub const WAIT_SLICE: Duration = Duration::from_millis(20);

/// The reasons for which a call ends before it is done.
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
    /// One that is set while the work goes on, for all clones.
    called_off: Arc<OnceLock<Instant>>,
    cancelled: Arc<AtomicBool>,
}

impl Stop {
    /// Never ends by itself.
    pub fn never() -> Self {
        Self::default()
    }

    /// Ends `budget` from now.
    pub fn after(budget: Duration) -> Self {
        Self { deadline: Instant::now().checked_add(budget), ..Self::default() }
    }

    /// Ends at that instant.
    pub fn until(deadline: Instant) -> Self {
        Self { deadline: Some(deadline), ..Self::default() }
    }

    /// Ends when somebody sets the flag, such as the handler of a signal.
    pub fn when(flag: Arc<AtomicBool>) -> Self {
        Self { cancelled: flag, ..Self::default() }
    }

    /// The same cancellation with a deadline `budget` from now, unless the present one is earlier.
    pub fn within(&self, budget: Duration) -> Self {
        Instant::now().checked_add(budget).map_or_else(|| self.clone(), |deadline| self.by(deadline))
    }

    /// The same cancellation with that deadline, unless the present one is earlier.
    pub fn by(&self, deadline: Instant) -> Self {
        let earliest = self.deadline.map_or(deadline, |own| own.min(deadline));
        Self { deadline: Some(earliest), ..self.clone() }
    }

    /// Gives every holder of a clone a deadline `budget` from now, unless it has an earlier one; the first call counts.
    /// Unlike what is cancelled, work that has a deadline keeps what it has done so far.
    pub fn end_within(&self, budget: Duration) {
        if let Some(deadline) = Instant::now().checked_add(budget) {
            let _ = self.called_off.set(deadline);
        }
    }

    /// The same deadline and cancellation. [`Stop::end_within`] on it reaches its own clones and nothing else.
    pub fn apart(&self) -> Self {
        Self { deadline: self.deadline(), called_off: Arc::default(), cancelled: Arc::clone(&self.cancelled) }
    }

    /// Returns whether [`Stop::end_within`] was called, on this or on a clone.
    pub fn is_called_off(&self) -> bool {
        self.called_off.get().is_some()
    }

    /// The deadline, if there is one.
    pub fn deadline(&self) -> Option<Instant> {
        match (self.deadline, self.called_off.get().copied()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// Asks every holder of a clone to end.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was cancelled: by [`Stop::cancel`] on this or a clone, or by the flag of [`Stop::when`].
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Returns why the call must end now; `None` while it may go on. Costs a clock reading: ask per file or per 256
    /// KiB, not per line.
    pub fn check(&self) -> Option<Stopped> {
        if self.is_cancelled() {
            return Some(Stopped::Cancelled);
        }
        match self.deadline() {
            Some(deadline) if Instant::now() >= deadline => Some(Stopped::Deadline),
            _ => None,
        }
    }

    /// Waits, and looks every [`WAIT_SLICE`] whether to go on; says why not.
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

/// Looks at a [`Stop`] after so much work, not at each of its steps: for loops whose steps take less time than a look
/// at the clock, and whose number nobody knows beforehand.
///
/// Work is counted in the unit of whoever counts it. Once it has to end, it stays so.
#[derive(Debug)]
pub struct Pace {
    stop: Stop,
    /// Work between two looks.
    per_look: u64,
    left: Cell<u64>,
    stopped: Cell<bool>,
}

impl Pace {
    /// Looks at `stop` each time that `per_look` units of work are done.
    pub fn new(stop: &Stop, per_look: u64) -> Self {
        Self { stop: stop.clone(), per_look, left: Cell::new(per_look), stopped: Cell::new(false) }
    }

    /// Counts work that is about to be done; whether it may be.
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

    /// Looks at the clock now; whether to go on.
    #[inline(never)]
    pub fn look(&self) -> bool {
        self.left.set(self.per_look);
        if self.stop.check().is_some() {
            self.stopped.set(true);
        }
        !self.stopped.get()
    }

    /// Returns the [`Stop`] that it looks at.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Returns whether work was refused: what was being looked for may be there, and was not found.
    pub fn is_stopped(&self) -> bool {
        self.stopped.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_without_a_deadline_can_be_given_one_while_it_goes_on() {
        let stop = Stop::never();
        let (early, late) = (stop.within(Duration::ZERO), stop.within(Duration::from_secs(60)));
        let until = late.deadline();
        stop.end_within(Duration::from_secs(30));
        assert!(stop.is_called_off() && late.deadline() < until && stop.check().is_none());
        assert_eq!(early.check(), Some(Stopped::Deadline));
        let over = Stop::never();
        let (clone, apart) = (over.clone(), over.apart());
        over.end_within(Duration::ZERO);
        assert_eq!((clone.check(), apart.check()), (Some(Stopped::Deadline), None));
        assert_eq!(over.apart().check(), Some(Stopped::Deadline));
        over.cancel();
        assert_eq!(apart.check(), Some(Stopped::Cancelled));
    }

    #[test]
    fn a_pace_looks_at_the_clock_after_so_much_work() {
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
