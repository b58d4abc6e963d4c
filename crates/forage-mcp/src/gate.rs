//! How many calls run at the same time, and who is next.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forage_llm::{CallBudget, ChatAnswer, ChatError, ChatModel, ChatRequest};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits;

/// What a call costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    /// One file or one directory.
    Quick,
    /// A walk over a tree.
    Search,
}

/// Two queues, first come first served each: what is quick never waits behind searches, and a client that asks for
/// many searches at once delays the next one by those only that were asked for before.
pub(super) struct Gate {
    quick: Lane,
    search: Lane,
    /// For calls that wait for a model.
    asking: Arc<Semaphore>,
}

struct Lane {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// There is no room even to wait.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Busy;

impl Gate {
    pub(super) fn new() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        Self {
            quick: Lane::new(limits::QUICK_CALLS),
            search: Lane::new(processors.max(limits::SEARCHES_MIN)),
            asking: Arc::new(Semaphore::new(limits::ASKING_CALLS)),
        }
    }

    /// Waits for a place, which is free again when the permit is dropped.
    pub(super) async fn enter(&self, cost: Cost) -> Result<OwnedSemaphorePermit, Busy> {
        match cost {
            Cost::Quick => self.quick.enter().await,
            Cost::Search => self.search.enter().await,
        }
    }
}

impl Lane {
    fn new(places: usize) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), waiting: AtomicUsize::new(0) }
    }

    async fn enter(&self) -> Result<OwnedSemaphorePermit, Busy> {
        if let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(permit);
        }
        let _waiting = QueuedCall::among(&self.waiting)?;
        // Nobody closes the semaphore.
        Arc::clone(&self.places).acquire_owned().await.map_err(|_| Busy)
    }
}

/// Counts a waiting call until it goes on or is dropped.
struct QueuedCall<'a>(&'a AtomicUsize);

impl<'a> QueuedCall<'a> {
    fn among(count: &'a AtomicUsize) -> Result<Self, Busy> {
        let waiting = Self(count);
        if count.fetch_add(1, Ordering::Relaxed) < limits::WAITING_CALLS { Ok(waiting) } else { Err(Busy) }
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The place of a call that is running. Waiting for a model takes no processor, so that the place is given to the next
/// call then.
pub(super) struct CallPermit {
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    /// Places of those who wait for a model.
    asking: Arc<Semaphore>,
}

impl CallPermit {
    pub(super) fn new(permit: OwnedSemaphorePermit, gate: &Gate) -> Self {
        Self { permit: Mutex::new(Some(permit)), asking: Arc::clone(&gate.asking) }
    }

    /// Takes a place among those who wait for a model instead, where there is one.
    fn leave(&self) {
        if let Ok(asking) = Arc::clone(&self.asking).try_acquire_owned() {
            *self.permit.lock().unwrap_or_else(PoisonError::into_inner) = Some(asking);
        }
    }
}

/// A model before which a call leaves its place.
pub(super) struct WithoutPlace {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) place: Arc<CallPermit>,
}

impl ChatModel for WithoutPlace {
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
