//! Admission control: how many calls run at the same time, and in which order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::caller::Caller;
use super::limits;

/// The cost class of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// Reads one file or one directory.
    Quick,
    /// Walks a tree.
    Search,
}

/// Two queues, each first come, first served. Quick calls never wait for searches. A client that asks for
/// many searches at once delays another search only by those that came before it.
pub(super) struct AdmissionControl {
    quick: CallQueue,
    search: CallQueue,
    /// Permits for calls that wait for a model.
    asking: Arc<Semaphore>,
}

#[derive(Debug)]
struct CallQueue {
    places: Arc<Semaphore>,
    count: usize,
    waiting: AtomicUsize,
    /// Maximum number of calls that may wait; further ones are refused with [`QueueFull`].
    max_waiting: usize,
}

/// The queue is full.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QueueFull;

impl AdmissionControl {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Self {
            quick: CallQueue::new(limits::QUICK_CALLS, limits::WAITING_CALLS),
            search: CallQueue::new(processors.max(limits::SEARCHES_MIN), limits::WAITING_CALLS),
            asking: Arc::new(Semaphore::new(limits::ASKING_CALLS)),
        }
    }

    /// Waits for a permit. Dropping it makes room for another call. The calls of one token must first wait
    /// for each other: however many there are, one permit of each kind is left to others.
    ///
    /// # Errors
    ///
    /// Fails with [`QueueFull`] if the queue is full.
    pub(super) async fn enter(
        &self,
        cost: Cost,
        caller: Option<&Caller>,
    ) -> Result<AdmissionPermit, QueueFull> {
        let queue = self.queue(cost);
        let share = match caller {
            Some(caller) => {
                let share =
                    caller.share(|| TokenShare { quick: self.quick.share(), search: self.search.share() });
                Some(share.queue(cost).enter().await?)
            }
            None => None,
        };
        Ok(AdmissionPermit { _place: queue.enter().await?, _share: share })
    }

    fn queue(&self, cost: Cost) -> &CallQueue {
        match cost {
            Cost::Quick => &self.quick,
            Cost::Search => &self.search,
        }
    }
}

/// A permit of a queue, together with one of the token's share.
pub(super) struct AdmissionPermit {
    _place: OwnedSemaphorePermit,
    _share: Option<OwnedSemaphorePermit>,
}

/// The permits that calls of one token may hold at the same time.
#[derive(Debug)]
pub(super) struct TokenShare {
    quick: CallQueue,
    search: CallQueue,
}

impl TokenShare {
    fn queue(&self, cost: Cost) -> &CallQueue {
        match cost {
            Cost::Quick => &self.quick,
            Cost::Search => &self.search,
        }
    }
}

impl CallQueue {
    fn new(places: usize, max_waiting: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            count: places,
            waiting: AtomicUsize::new(0),
            max_waiting,
        }
    }

    /// Creates the lane of one token, with one permit fewer than this lane, but at least one.
    fn share(&self) -> Self {
        Self::new((self.count - 1).max(1), limits::WAITING_CALLS_OF_TOKEN)
    }

    async fn enter(&self) -> Result<OwnedSemaphorePermit, QueueFull> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = QueuedCall::among(&self.waiting, self.max_waiting)?;
        // The semaphore is never closed, so this can't fail.
        Arc::clone(&self.places).acquire_owned().await.map_err(|_| QueueFull)
    }
}

/// Counts a waiting call until this is dropped.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn among(count: &'a AtomicUsize, max: usize) -> Result<Self, QueueFull> {
        // This exists before we count, so that dropping it also uncounts a refused call.
        let waiting = Self(count);
        if count.fetch_add(1, Ordering::Relaxed) < max { Ok(waiting) } else { Err(QueueFull) }
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The permit of a running call. A call that waits for a model needs no processor, so meanwhile we give its
/// permit to the next call.
pub(super) struct CallPermit {
    permit: Mutex<Option<AdmissionPermit>>,
    /// Permits for calls that wait for a model.
    asking: Arc<Semaphore>,
}

impl CallPermit {
    pub(super) fn new(permit: AdmissionPermit, admission: &AdmissionControl) -> Self {
        Self { permit: Mutex::new(Some(permit)), asking: Arc::clone(&admission.asking) }
    }

    /// Exchanges the permit for one of the calls that wait for a model, if one is free.
    fn leave(&self) {
        if let Ok(asking) = Arc::clone(&self.asking).try_acquire_owned() {
            // This returns the token's share as well.
            let place = AdmissionPermit { _place: asking, _share: None };
            *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = Some(place);
        }
    }
}

/// A model whose callers give up their permit before they ask it.
pub(super) struct PermitReleasingModel {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) place: Arc<CallPermit>,
}

impl ChatModel for PermitReleasingModel {
    fn name(&self) -> String {
        self.model.name()
    }

    fn provider(&self) -> String {
        self.model.provider()
    }

    fn complete(&self, request: &ChatRequest, budget: &CallBudget) -> Result<ChatAnswer, ChatError> {
        self.place.leave();
        self.model.complete(request, budget)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::caller::CallerLimits;

    fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_token_takes_all_places_but_one() {
        let admission = AdmissionControl::new();
        let (alice, bob) =
            (Caller::new("alice", CallerLimits::default()), Caller::new("bob", CallerLimits::default()));
        for cost in [Cost::Quick, Cost::Search] {
            let mut held = Vec::new();
            while let Some(place) = at_once(admission.enter(cost, Some(&bob))) {
                held.push(place.unwrap());
            }
            assert_eq!(held.len(), admission.queue(cost).count - 1, "{cost:?}");
            // A further call waits for calls of the same token.
            assert!(at_once(admission.enter(cost, Some(&bob))).is_none(), "{cost:?}");
            let of_alice = at_once(admission.enter(cost, Some(&alice))).unwrap().unwrap();
            // Control: when all permits are taken, the next call waits.
            assert!(at_once(admission.enter(cost, None)).is_none(), "{cost:?}");
            drop(of_alice);
            assert!(at_once(admission.enter(cost, None)).is_some(), "{cost:?}");
        }
    }

    #[test]
    fn waiting_calls_per_token_are_bounded() {
        let (admission, bob) = (AdmissionControl::new(), Caller::new("bob", CallerLimits::default()));
        let mut held = Vec::new();
        while let Some(place) = at_once(admission.enter(Cost::Quick, Some(&bob))) {
            held.push(place.unwrap());
        }
        let mut waiting: Vec<_> = (0..limits::WAITING_CALLS_OF_TOKEN)
            .map(|_| Box::pin(admission.enter(Cost::Quick, Some(&bob))))
            .collect();
        let mut context = Context::from_waker(Waker::noop());
        assert!(waiting.iter_mut().all(|call| call.as_mut().poll(&mut context).is_pending()));
        assert!(at_once(admission.enter(Cost::Quick, Some(&bob))).is_some_and(|place| place.is_err()));
        assert!(at_once(admission.enter(Cost::Quick, None)).is_some_and(|place| place.is_ok()));
    }
}
