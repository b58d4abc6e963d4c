//! Who calls, and how much of that each may do.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;

use super::gate::TokenShare;

/// The holder of a token, among whose calls its limits are counted.
#[derive(Debug)]
pub struct Caller {
    name: String,
    limits: CallerLimits,
    calls: Mutex<CallerCalls>,
    share: OnceLock<TokenShare>,
}

/// How many requests the holder of a token may make; `None` for as many as the server has room for.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerLimits {
    /// Calls that run, or wait to run, at the same time.
    pub at_once: Option<usize>,
    /// Requests that come within any minute: calls of tools and all others, such as lists of them.
    pub per_minute: Option<usize>,
}

/// What a request asks for, as far as its limits are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A call of a tool. Its refusal is an answer for the model.
    Call,
    /// Another request that is answered.
    Other,
    /// A stream on which a client only listens; it is open for as long as its session.
    Stream,
}

#[derive(Debug, Default)]
struct CallerCalls {
    running: usize,
    /// Requests that are no calls, until their answers were taken.
    others: usize,
    /// When the requests of the last minute came; empty where they are not counted.
    begun: VecDeque<Instant>,
    /// When requests were refused within the last minute, as many at most as may come.
    refused: VecDeque<Instant>,
}

/// The reasons for which a request may not be answered now, in words for the model that made it.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum CallerLimit {
    #[error(
        "{0} calls of this token are running, as many as it may make at once; call again when one of them has been answered"
    )]
    AtOnce(usize),
    #[error(
        "{calls} requests of this token came within the last minute, as many as it may make; call again in {seconds} s"
    )]
    PerMinute { calls: usize, seconds: u64 },
}

impl CallerLimit {
    /// Seconds after which a request may be tried again.
    pub(super) fn seconds(&self) -> u64 {
        match self {
            Self::AtOnce(_) => 1,
            Self::PerMinute { seconds, .. } => *seconds,
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// Requests that are no calls and may be answered at once, however few calls may: a client says that it has come and asks
/// for the list of tools while the answer before is on its way.
const OTHERS_MIN: usize = 2;

impl Caller {
    /// The holder of a token that has this name in records and metrics.
    pub fn new(name: &str, limits: CallerLimits) -> Self {
        Self { name: name.to_owned(), limits, calls: Mutex::default(), share: OnceLock::new() }
    }

    /// Returns the name of the token.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the places of the server that its calls may have at the same time; `new` makes them first.
    pub(super) fn share(&self, new: impl FnOnce() -> TokenShare) -> &TokenShare {
        self.share.get_or_init(new)
    }

    /// Begins a request, which ends when its turn is dropped.
    pub(super) fn begin(self: &Arc<Self>, kind: RequestKind) -> Result<CallerTurn, CallerLimit> {
        self.begin_at(kind, Instant::now())
    }

    fn begin_at(self: &Arc<Self>, kind: RequestKind, now: Instant) -> Result<CallerTurn, CallerLimit> {
        let mut calls = self.calls();
        let at_once = self.limits.at_once.filter(|most| match kind {
            RequestKind::Call => calls.running >= *most,
            RequestKind::Other => calls.others >= (*most).max(OTHERS_MIN),
            RequestKind::Stream => false,
        });
        if let Some(most) = at_once {
            return Err(CallerLimit::AtOnce(most));
        }
        if let Some(most) = self.limits.per_minute {
            calls.forget(now);
            if let Some(first) = calls.begun.front().filter(|_| calls.begun.len() >= most) {
                let left = MINUTE.saturating_sub(now.duration_since(*first));
                if calls.refused.len() < most {
                    calls.refused.push_back(now);
                }
                return Err(CallerLimit::PerMinute { calls: most, seconds: left.as_secs() + 1 });
            }
            calls.begun.push_back(now);
        }
        match kind {
            RequestKind::Call => calls.running += 1,
            RequestKind::Other => calls.others += 1,
            RequestKind::Stream => {}
        }
        drop(calls);
        Ok(CallerTurn { caller: Arc::clone(self), kind })
    }

    /// Returns the limit of a caller that was refused as often within the last minute as it may ask: no request of it is read
    /// any more, so that the refusals cost next to nothing.
    pub(super) fn exhausted(&self) -> Option<CallerLimit> {
        self.exhausted_at(Instant::now())
    }

    fn exhausted_at(&self, now: Instant) -> Option<CallerLimit> {
        let most = self.limits.per_minute?;
        let mut calls = self.calls();
        calls.forget(now);
        if calls.begun.len() < most || calls.refused.len() < most {
            return None;
        }
        let left =
            calls.begun.front().map_or(MINUTE, |first| MINUTE.saturating_sub(now.duration_since(*first)));
        Some(CallerLimit::PerMinute { calls: most, seconds: left.as_secs() + 1 })
    }

    fn calls(&self) -> MutexGuard<'_, CallerCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerCalls {
    /// Forgets what was more than a minute ago.
    fn forget(&mut self, now: Instant) {
        for times in [&mut self.begun, &mut self.refused] {
            while times.front().is_some_and(|time| now.duration_since(*time) >= MINUTE) {
                times.pop_front();
            }
        }
    }
}

/// A request of a caller's that is being answered.
#[derive(Debug)]
pub(super) struct CallerTurn {
    caller: Arc<Caller>,
    kind: RequestKind,
}

impl CallerTurn {
    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }
}

impl Drop for CallerTurn {
    fn drop(&mut self) {
        let mut calls = self.caller.calls();
        match self.kind {
            RequestKind::Call => calls.running -= 1,
            RequestKind::Other => calls.others -= 1,
            RequestKind::Stream => {}
        }
    }
}

/// The turn of a call, on its way with the request from where it was counted to where it is made.
#[derive(Clone, Debug)]
pub(super) struct HandedTurn(Arc<Mutex<Option<Result<CallerTurn, CallerLimit>>>>);

impl HandedTurn {
    pub(super) fn new(turn: Result<CallerTurn, CallerLimit>) -> Self {
        Self(Arc::new(Mutex::new(Some(turn))))
    }

    /// Takes the turn, or the limit that refused it. `None` if it was taken before.
    pub(super) fn take(&self) -> Option<Result<CallerTurn, CallerLimit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_at_once_are_counted_until_they_end() {
        let caller = Arc::new(Caller::new("ci", CallerLimits { at_once: Some(2), per_minute: None }));
        let begin = || caller.begin(RequestKind::Call);
        let (one, two) = (begin().unwrap(), begin().unwrap());
        assert_eq!(begin().unwrap_err(), CallerLimit::AtOnce(2));
        // A message that cancels one of them gets through.
        let others = [RequestKind::Other, RequestKind::Other, RequestKind::Stream]
            .map(|kind| caller.begin(kind).unwrap());
        assert_eq!(caller.begin(RequestKind::Other).unwrap_err(), CallerLimit::AtOnce(2));
        drop((one, others));
        assert_eq!(caller.calls().others, 0);
        let three = begin().unwrap();
        drop((two, three));
        assert_eq!(caller.calls.lock().unwrap().running, 0);
    }

    #[test]
    fn any_minute_has_so_many_calls_at_the_most() {
        let caller = Arc::new(Caller::new("ci", CallerLimits { at_once: None, per_minute: Some(2) }));
        let began = Instant::now();
        let at = |seconds| caller.begin_at(RequestKind::Call, began + Duration::from_secs(seconds)).map(drop);
        assert!(at(0).is_ok() && at(30).is_ok());
        assert_eq!(at(40), Err(CallerLimit::PerMinute { calls: 2, seconds: 21 }));
        // What was refused does not count.
        assert!(at(60).is_ok());
        assert_eq!(at(61), Err(CallerLimit::PerMinute { calls: 2, seconds: 30 }));
        assert!(at(90).is_ok());
    }

    #[test]
    fn every_request_counts_and_after_as_many_refusals_none_is_read() {
        let caller = Arc::new(Caller::new("ci", CallerLimits { at_once: None, per_minute: Some(3) }));
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        for kind in [RequestKind::Call, RequestKind::Other, RequestKind::Stream] {
            caller.begin_at(kind, at(0)).unwrap();
        }
        for second in 1..=3 {
            assert_eq!(caller.exhausted_at(at(second)), None);
            caller.begin_at(RequestKind::Other, at(second)).unwrap_err();
        }
        assert_eq!(caller.exhausted_at(at(4)), Some(CallerLimit::PerMinute { calls: 3, seconds: 57 }));
        for _ in 0..1_000 {
            caller.begin_at(RequestKind::Call, at(5)).unwrap_err();
        }
        assert_eq!(caller.calls().refused.len(), 3, "what is kept of them is bounded");
        assert_eq!(caller.exhausted_at(at(60)), None);
        assert!(caller.begin_at(RequestKind::Call, at(60)).is_ok());
    }

    #[test]
    fn without_limits_nothing_is_kept_of_calls() {
        let caller = Arc::new(Caller::new("ci", CallerLimits::default()));
        for _ in 0..1_000 {
            drop(caller.begin(RequestKind::Call).unwrap());
        }
        assert!(caller.calls.lock().unwrap().begun.is_empty());
    }
}
