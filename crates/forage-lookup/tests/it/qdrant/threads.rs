//! Tests one store with many threads, and inside the async runtimes of callers.

use std::sync::Barrier;
use std::thread;

use super::*;

/// Starts a server that returns as many hits as requested.
fn generous() -> Scripted {
    let peer = Scripted::start();
    peer.on("POST /points/query", |asked| {
        let hit = |number: u64| json!({"id": number, "score": 1.0});
        hits(&(0..asked.body["limit"].as_u64().unwrap()).map(hit).collect::<Vec<_>>())
    });
    peer
}

fn ask_for(store: &ServerStore, limit: usize, stop: &Stop) -> Result<usize, StoreError> {
    let vector = SparseVector::ones([1]);
    let filter = PointFilter::default();
    let query = PointQuery { vector: &vector, using: "v", limit, fields: &[], filter: &filter };
    store.query(&query, stop).map(|hits| hits.len())
}

#[test]
fn threads_that_ask_at_once_get_each_their_own_answer() {
    let peer = generous();
    let store = store(&peer);
    let barrier = Barrier::new(8);
    thread::scope(|scope| {
        for limit in 1..=8 {
            let (store, barrier) = (&store, &barrier);
            scope.spawn(move || {
                barrier.wait();
                for _ in 0..20 {
                    assert_eq!(ask_for(store, limit, &Stop::never()), Ok(limit));
                }
            });
        }
    });
    assert_eq!(peer.total(), 160);
    let connections = peer.server.connections.load(std::sync::atomic::Ordering::SeqCst);
    assert!(connections <= 8, "{connections} connections for eight threads");
}

#[test]
fn a_call_that_waits_does_not_hold_up_others() {
    let peer = Scripted::start();
    peer.on("POST /points/query", |asked| match asked.body["limit"].as_u64() {
        Some(1) => Reply::Never(None),
        _ => no_hits(),
    });
    let store = store(&peer);
    let stop = Stop::never();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| ask_for(&store, 1, &stop));
        peer.wait_until_asked();
        for _ in 0..10 {
            assert_eq!(ask(&store, &Stop::never()), Ok(0));
        }
        stop.cancel();
        assert_eq!(waiting.join().unwrap(), Err(StoreError::Cancelled));
    });
}
