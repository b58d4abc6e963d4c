//! Rate limits per access token.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admission::TokenShare;
use super::limits;

/// The holder of a token. Its calls count towards the token's limits.
#[derive(Debug)]
pub struct Caller {
    name: String,
    limits: CallerLimits,
    calls: Mutex<CallerCalls>,
    share: OnceLock<TokenShare>,
    /// Permits for requests other than calls.
    processing: Arc<Semaphore>,
}

/// The request limits of a token's holder. `None` means that only the server's capacity limits them.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallerLimits {
    /// Calls that may run or wait to run at the same time.
    pub at_once: Option<usize>,
    /// Requests that may arrive within any 60 seconds: tool calls and all others, for example `tools/list`.
    pub per_minute: Option<usize>,
}

/// The kind of a request, for rate limiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A tool call. If we refuse it, the answer is a message for the model.
    Call,
    /// Any other request with an answer.
    Other,
    /// A stream on which a client only listens. This stays open as long as its session.
    Stream,
}

#[derive(Debug, Default)]
struct CallerCalls {
    running: usize,
    /// Requests other than calls whose answers have not been sent completely.
    others: usize,
    /// Arrival times of the requests within the last minute. This is empty if there is no `per_minute` limit.
    begun: VecDeque<Instant>,
    /// Times of refusals within the last minute, at most as many as the `per_minute` limit.
    refused: VecDeque<Instant>,
}

/// Reasons for refusing a request, as messages for the model that made it.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum CallerLimit {
    #[error("this token already has {0} calls running, its maximum; try again when one has finished")]
    AtOnce(usize),
    #[error("this token has reached its limit of {calls} requests per minute; try again in {seconds} s")]
    PerMinute { calls: usize, seconds: u64 },
}

impl CallerLimit {
    /// The seconds after which the request may be retried.
    pub(super) fn seconds(&self) -> u64 {
        match self {
            Self::AtOnce(_) => 1,
            Self::PerMinute { seconds, .. } => *seconds,
        }
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// Minimum number of requests other than calls that may be answered at the same time, even if the limit on
/// calls is lower. A client sends `notifications/initialized` and `tools/list` while the previous answer is
/// still on its way.
const OTHERS_MIN: usize = 2;

impl Caller {
    /// Creates the holder of a token. `name` identifies the token in records and metrics.
    pub fn new(name: &str, limits: CallerLimits) -> Self {
        let processing = Arc::new(Semaphore::new(limits::OTHERS_PROCESSED));
        Self { name: name.to_owned(), limits, calls: Mutex::default(), share: OnceLock::new(), processing }
    }

    /// Waits until a request other than a call may be processed. Such requests need no permit of the gate.
    /// Without this limit, a token that sends many at once would fill the queue of the processors.
    pub(super) async fn process(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed, so this can't fail.
        Arc::clone(&self.processing).acquire_owned().await.ok()
    }

    /// The name of the token.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The token's share of the server's capacity. The first use creates it with `new`.
    pub(super) fn share(&self, new: impl FnOnce() -> TokenShare) -> &TokenShare {
        self.share.get_or_init(new)
    }

    /// Begins a request, which ends when the returned turn is dropped.
    pub(super) fn begin(self: &Arc<Self>, kind: RequestKind) -> Result<CallerTurn, CallerLimit> {
        self.begin_at(kind, Instant::now())
    }

    fn begin_at(self: &Arc<Self>, kind: RequestKind, now: Instant) -> Result<CallerTurn, CallerLimit> {
        let mut calls = self.calls();
        let at_once = self.limits.at_once.filter(|max| match kind {
            RequestKind::Call => calls.running >= *max,
            RequestKind::Other => calls.others >= (*max).max(OTHERS_MIN),
            RequestKind::Stream => false,
        });
        // This comes first, because such a request must not count towards the limit per minute.
        if let Some(max) = at_once {
            return Err(CallerLimit::AtOnce(max));
        }
        if let Some(max) = self.limits.per_minute {
            calls.forget(now);
            if let Some(first) = calls.begun.front().filter(|_| calls.begun.len() >= max) {
                let left = MINUTE.saturating_sub(now.duration_since(*first));
                if calls.refused.len() < max {
                    calls.refused.push_back(now);
                }
                return Err(CallerLimit::PerMinute { calls: max, seconds: left.as_secs() + 1 });
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

    /// Checks whether a caller's refusals within the last minute have reached its `per_minute` limit, and
    /// returns this limit if so. The server must then stop reading its requests, so that further refusals
    /// cost almost nothing.
    pub(super) fn exhausted(&self) -> Option<CallerLimit> {
        self.exhausted_at(Instant::now())
    }

    fn exhausted_at(&self, now: Instant) -> Option<CallerLimit> {
        let max = self.limits.per_minute?;
        let mut calls = self.calls();
        calls.forget(now);
        if calls.begun.len() < max || calls.refused.len() < max {
            return None;
        }
        let left =
            calls.begun.front().map_or(MINUTE, |first| MINUTE.saturating_sub(now.duration_since(*first)));
        Some(CallerLimit::PerMinute { calls: max, seconds: left.as_secs() + 1 })
    }

    fn calls(&self) -> MutexGuard<'_, CallerCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallerCalls {
    /// Removes the times that are more than a minute old.
    fn forget(&mut self, now: Instant) {
        for times in [&mut self.begun, &mut self.refused] {
            while times.front().is_some_and(|time| now.duration_since(*time) >= MINUTE) {
                times.pop_front();
            }
        }
    }
}

/// A request that is being answered, counted until it is dropped.
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

/// The turn of a call, passed with the request from the HTTP layer, which counted it, to the tool call.
#[derive(Clone, Debug)]
pub(super) struct TurnSlot(Arc<Mutex<Option<Result<CallerTurn, CallerLimit>>>>);

impl TurnSlot {
    pub(super) fn new(turn: Result<CallerTurn, CallerLimit>) -> Self {
        Self(Arc::new(Mutex::new(Some(turn))))
    }

    /// Takes the turn, or the limit that refused it. Returns `None` if this was called before.
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
        // A message that cancels one of them must get through.
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
        // A refused request must not count.
        assert!(at(60).is_ok());
        assert_eq!(at(61), Err(CallerLimit::PerMinute { calls: 2, seconds: 30 }));
        assert!(at(90).is_ok());
    }

    #[test]
    fn refused_requests_count_until_none_is_read() {
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
    fn few_requests_of_a_token_are_processed_at_once() {
        use std::pin::pin;
        use std::task::{Context, Poll, Waker};

        let caller = Caller::new("ci", CallerLimits::default());
        let at_once = || match pin!(caller.process()).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(permit) => permit,
            Poll::Pending => None,
        };
        let held: Vec<_> = std::iter::from_fn(at_once).collect();
        assert_eq!(held.len(), limits::OTHERS_PROCESSED);
        drop(held);
        assert!(at_once().is_some());
    }

    #[test]
    fn unlimited_caller_records_no_calls() {
        let caller = Arc::new(Caller::new("ci", CallerLimits::default()));
        for _ in 0..1_000 {
            drop(caller.begin(RequestKind::Call).unwrap());
        }
        assert!(caller.calls.lock().unwrap().begun.is_empty());
    }
}
