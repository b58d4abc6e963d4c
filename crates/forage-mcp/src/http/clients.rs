//! Limits on authenticated connections.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio_util::sync::CancellationToken;

use crate::caller::Caller;
use crate::limits;

/// The permits of authenticated connections. When all are taken, the connection that has been idle longest is
/// evicted for the next one. We must never evict a connection with a running call.
#[derive(Clone)]
pub(super) struct Clients(Arc<Table>);

struct Table {
    max: usize,
    /// Maximum number of permits for the holder of one token.
    share: usize,
    connections: Mutex<ClientConnections>,
}

#[derive(Default)]
struct ClientConnections {
    next: u64,
    open: HashMap<u64, Connection>,
}

struct Connection {
    /// The holder of the first request's token, if that token has a name.
    holder: Option<Arc<Caller>>,
    /// Calls that are running or whose answers are being sent.
    calls: usize,
    /// True once a request has begun to arrive.
    has_asked: bool,
    /// When the last call ended, or a request last began to arrive.
    idle_since: Instant,
    evicted: CancellationToken,
}

impl Connection {
    fn leaves(&self) -> bool {
        self.evicted.is_cancelled()
    }

    fn is_of(&self, holder: &Arc<Caller>) -> bool {
        self.holder.as_ref().is_some_and(|other| Arc::ptr_eq(other, holder))
    }
}

impl Clients {
    /// Creates `max` permits. One token gets at most `share` of them.
    pub(super) fn new(max: usize, share: usize) -> Self {
        Self(Arc::new(Table { max, share, connections: Mutex::default() }))
    }

    /// Takes a permit. Returns `None` if every connection has a running call or `max` connections are being
    /// evicted. If the holder of a token has used its share, this evicts one of its own connections.
    pub(super) fn admit(&self, holder: Option<&Arc<Caller>>) -> Option<ConnectionPermit> {
        let evicted = CancellationToken::new();
        let mut connections = self.0.lock();
        let leaving = connections.open.values().filter(|connection| connection.leaves()).count();
        let of_holder = |connection: &&Connection| holder.is_some_and(|holder| connection.is_of(holder));
        let own =
            connections.open.values().filter(of_holder).filter(|connection| !connection.leaves()).count();
        let (is_full, has_share) =
            (connections.open.len() - leaving >= self.0.max, own >= self.0.share && holder.is_some());
        if is_full || has_share {
            // Connections being evicted give up their permits at once, but keep their file descriptors until
            // they close. We must limit their number too.
            if leaving >= self.0.max {
                return None;
            }
            let idle =
                connections.open.values().filter(|connection| connection.calls == 0 && !connection.leaves());
            let idle = idle.filter(|connection| !has_share || of_holder(connection));
            idle.min_by_key(|connection| connection.idle_since)?.evicted.cancel();
        }
        let id = connections.next;
        connections.next += 1;
        let connection = Connection {
            holder: holder.cloned(),
            calls: 0,
            has_asked: false,
            idle_since: Instant::now(),
            evicted: evicted.clone(),
        };
        connections.open.insert(id, connection);
        drop(connections);
        Some(ConnectionPermit(Arc::new(ConnectionSlot { table: Arc::clone(&self.0), id, evicted })))
    }
}

impl Clients {
    /// Waits until no call is running and every connection has sent its first request.
    pub(super) async fn answered(&self) {
        let is_asking = |connection: &Connection| connection.calls > 0 || !connection.has_asked;
        while self.0.lock().open.values().any(is_asking) {
            tokio::time::sleep(limits::ANSWERED_PAUSE).await;
        }
    }

    /// Waits until all connections are closed, since answers may still be on their way until then.
    pub(super) async fn gone(&self) {
        while !self.0.lock().open.is_empty() {
            tokio::time::sleep(limits::ANSWERED_PAUSE).await;
        }
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, ClientConnections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The permit of a connection, returned when its last clone is dropped.
#[derive(Clone)]
pub(super) struct ConnectionPermit(Arc<ConnectionSlot>);

struct ConnectionSlot {
    table: Arc<Table>,
    id: u64,
    evicted: CancellationToken,
}

impl ConnectionPermit {
    /// Records that a request has begun to arrive. It does not count as a call yet: a client that never sends
    /// the end of a request must not be safe from eviction.
    pub(super) fn asks(&self) {
        self.0.change(|connection| {
            connection.has_asked = true;
            connection.idle_since = Instant::now();
        });
    }

    /// Returns true if a request has begun to arrive.
    pub(super) fn has_asked(&self) -> bool {
        self.0.table.lock().open.get(&self.0.id).is_some_and(|connection| connection.has_asked)
    }

    /// Begins a call, which ends when the returned value is dropped.
    pub(super) fn call(&self) -> ClientCall {
        self.0.change(|connection| connection.calls += 1);
        ClientCall(self.clone())
    }

    /// Waits until this connection is evicted.
    pub(super) async fn evicted(&self) {
        self.0.evicted.cancelled().await;
    }
}

impl ConnectionSlot {
    fn change(&self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.table.lock().open.get_mut(&self.id) {
            change(connection);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.table.lock().open.remove(&self.id);
    }
}

/// A running call.
pub(super) struct ClientCall(ConnectionPermit);

impl Drop for ClientCall {
    fn drop(&mut self) {
        self.0.0.change(|connection| {
            connection.calls -= 1;
            connection.idle_since = Instant::now();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::CallerLimits;

    fn leaves(place: &ConnectionPermit) -> bool {
        place.0.evicted.is_cancelled()
    }

    #[test]
    fn the_longest_idle_makes_room_and_a_call_never_does() {
        let clients = Clients::new(3, 3);
        let (first, second, third) =
            (clients.admit(None).unwrap(), clients.admit(None).unwrap(), clients.admit(None).unwrap());
        let call = first.call();
        // This request never arrives completely, but begins later than the third connection.
        second.asks();
        let fourth = clients.admit(None).unwrap();
        assert!(leaves(&third) && !leaves(&first) && !leaves(&second));
        let fifth = clients.admit(None).unwrap();
        assert!(leaves(&second) && !leaves(&first) && !leaves(&fourth));
        drop(call);
        let calls = [fourth.call(), fifth.call()];
        // The first connection's call has just ended, but the others are running.
        let sixth = clients.admit(None).unwrap();
        assert!(leaves(&first) && !leaves(&fourth) && !leaves(&fifth));
        // As many connections as there are permits are being evicted and have not closed.
        assert!(clients.admit(None).is_none());
        drop((first, second, third));
        let last = sixth.call();
        assert!(clients.admit(None).is_none(), "every connection has a call that runs");
        drop((calls, last));
        assert!(clients.admit(None).is_some());
        assert!(leaves(&fourth), "its call was the first to end");
    }

    #[test]
    fn a_place_is_free_when_its_connection_has_gone() {
        let clients = Clients::new(1, 1);
        for _ in 0..3 {
            let place = clients.admit(None).unwrap();
            let call = place.clone().call();
            assert!(clients.admit(None).is_none());
            drop((place, call));
            assert!(clients.0.lock().open.is_empty());
        }
    }

    #[test]
    fn a_token_that_has_its_share_makes_room_for_itself() {
        let clients = Clients::new(4, 2);
        let holder = |name| Arc::new(Caller::new(name, CallerLimits::default()));
        let (alice, bob) = (holder("alice"), holder("bob"));
        let of_alice = clients.admit(Some(&alice)).unwrap();
        let (first, second) = (clients.admit(Some(&bob)).unwrap(), clients.admit(Some(&bob)).unwrap());
        let third = clients.admit(Some(&bob)).unwrap();
        assert!(leaves(&first) && !leaves(&of_alice), "its own oldest leaves, though Alice's is older");
        let calls = [second.call(), third.call()];
        assert!(clients.admit(Some(&bob)).is_none(), "all of its share have calls that run");
        let other = clients.admit(Some(&alice)).unwrap();
        assert!(!leaves(&of_alice) && !leaves(&second) && !leaves(&third), "there is room for others");
        drop((calls, other));
    }
}
