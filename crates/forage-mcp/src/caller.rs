//! Who calls, and how much of that each may do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

/// The holder of a token, among whose calls its limits are counted.
#[derive(Debug)]
pub struct Caller {
    name: String,
    limits: CallerLimits,
    calls: Mutex<CallerCalls>,
}

/// How many calls the holder of a token may make; `None` for as many as the server has room for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerLimits {
    /// Calls that run, or wait to run, at the same time.
    pub at_once: Option<usize>,
    /// Calls that begin within any minute.
    pub per_minute: Option<usize>,
}

#[derive(Debug, Default)]
struct CallerCalls {
    running: usize,
    /// When those of the last minute began; empty where they are not counted.
    begun: VecDeque<Instant>,
}

/// The reasons for which a call may not begin now, in words for the model that made it.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum CallerLimit {
    #[error(
        "{0} calls of this token are running, as many as it may make at once; call again when one of them has been answered"
    )]
    AtOnce(usize),
    #[error(
        "{calls} calls of this token began within the last minute, as many as it may make; call again in {seconds} s"
    )]
    PerMinute { calls: usize, seconds: u64 },
}

const MINUTE: Duration = Duration::from_secs(60);

impl Caller {
    /// The holder of a token that has this name in records and metrics.
    pub fn new(name: &str, limits: CallerLimits) -> Self {
        Self { name: name.to_owned(), limits, calls: Mutex::default() }
    }

    /// Returns the name of the token.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Begins a call, which lasts until what is returned is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Result<CallerTurn, CallerLimit> {
        self.begin_at(Instant::now())
    }

    fn begin_at(self: &Arc<Self>, now: Instant) -> Result<CallerTurn, CallerLimit> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(most) = self.limits.at_once.filter(|most| calls.running >= *most) {
            return Err(CallerLimit::AtOnce(most));
        }
        if let Some(most) = self.limits.per_minute {
            while calls.begun.front().is_some_and(|begun| now.duration_since(*begun) >= MINUTE) {
                calls.begun.pop_front();
            }
            if let Some(first) = calls.begun.front().filter(|_| calls.begun.len() >= most) {
                let left = MINUTE.saturating_sub(now.duration_since(*first));
                return Err(CallerLimit::PerMinute { calls: most, seconds: left.as_secs() + 1 });
            }
            calls.begun.push_back(now);
        }
        calls.running += 1;
        drop(calls);
        Ok(CallerTurn(Arc::clone(self)))
    }
}

/// A call of a caller's that runs.
#[derive(Debug)]
pub(super) struct CallerTurn(Arc<Caller>);

impl CallerTurn {
    pub(super) fn caller(&self) -> &Caller {
        &self.0
    }
}

impl Drop for CallerTurn {
    fn drop(&mut self) {
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_at_once_are_counted_until_they_end() {
        let caller = Arc::new(Caller::new("ci", CallerLimits { at_once: Some(2), per_minute: None }));
        let (one, two) = (caller.begin().unwrap(), caller.begin().unwrap());
        assert_eq!(caller.begin().unwrap_err(), CallerLimit::AtOnce(2));
        drop(one);
        let three = caller.begin().unwrap();
        drop((two, three));
        assert_eq!(caller.calls.lock().unwrap().running, 0);
    }

    #[test]
    fn any_minute_has_so_many_calls_at_the_most() {
        let caller = Arc::new(Caller::new("ci", CallerLimits { at_once: None, per_minute: Some(2) }));
        let began = Instant::now();
        let at = |seconds| caller.begin_at(began + Duration::from_secs(seconds)).map(drop);
        assert!(at(0).is_ok() && at(30).is_ok());
        assert_eq!(at(40), Err(CallerLimit::PerMinute { calls: 2, seconds: 21 }));
        // What was refused does not count.
        assert!(at(60).is_ok());
        assert_eq!(at(61), Err(CallerLimit::PerMinute { calls: 2, seconds: 30 }));
        assert!(at(90).is_ok());
    }

    #[test]
    fn without_limits_nothing_is_kept_of_calls() {
        let caller = Arc::new(Caller::new("ci", CallerLimits::default()));
        for _ in 0..1_000 {
            drop(caller.begin().unwrap());
        }
        assert!(caller.calls.lock().unwrap().begun.is_empty());
    }
}
