//! Limits on the page's connections.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::task::AbortHandle;

use super::limits;

/// The open connections. We always accept a new one: if there are too many, we close the first in the order
/// of eviction. Connections that have not sent the token come first, then the oldest.
#[derive(Default)]
pub(crate) struct Connections(Mutex<OpenConnections>);

#[derive(Default)]
struct OpenConnections {
    next: u64,
    open: BTreeMap<(Stage, u64), AbortHandle>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Unauthenticated,
    Authenticated,
}

impl Connections {
    fn lock(&self) -> MutexGuard<'_, OpenConnections> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task that serves a connection. Its permit is returned when the task ends.
    pub(crate) fn admit<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        task: impl FnOnce(Arc<ConnectionPermit>) -> F,
    ) {
        if self.lock().open.len() >= limits::CONNECTIONS {
            self.evict();
        }
        let mut connections = self.lock();
        let number = connections.next;
        connections.next += 1;
        // The task needs our lock to return its permit, so its entry is always inserted first.
        let task = tokio::spawn(task(Arc::new(ConnectionPermit { connections: Arc::clone(self), number })));
        connections.open.insert((Stage::Unauthenticated, number), task.abort_handle());
    }

    /// Closes the first connection in the order of eviction. Returns false if there is none.
    pub(crate) fn evict(&self) -> bool {
        let first = self.lock().open.pop_first();
        first.inspect(|(_, task)| task.abort()).is_some()
    }
}

/// The permit of a connection.
pub(crate) struct ConnectionPermit {
    connections: Arc<Connections>,
    number: u64,
}

impl ConnectionPermit {
    /// Marks the connection as one that has sent the token.
    pub(crate) fn authenticate(&self) {
        let mut connections = self.connections.lock();
        if let Some(task) = connections.open.remove(&(Stage::Unauthenticated, self.number)) {
            connections.open.insert((Stage::Authenticated, self.number), task);
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut connections = self.connections.lock();
        for stage in [Stage::Unauthenticated, Stage::Authenticated] {
            connections.open.remove(&(stage, self.number));
        }
    }
}
