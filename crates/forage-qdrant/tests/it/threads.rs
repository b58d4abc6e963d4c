//! One store, many threads, and other people's runtimes.

use std::sync::{Arc, Barrier};
use std::thread;

use qdrant::{QueryPoints, ScoredPoint};
use tokio::runtime::Builder;

use super::*;

/// As many hits as are asked for.
fn generous() -> Peer {
    let peer = Peer::start();
    peer.on(|asked: &QueryPoints| {
        let hit = |number: u64| ScoredPoint { id: Some(number.into()), ..Default::default() };
        let result = (0..asked.limit.unwrap()).map(hit).collect();
        Reply::Now(qdrant::QueryResponse { result, ..Default::default() })
    });
    peer
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
                    let vector = SparseVector::ones([1]);
                    let query = PointQuery {
                        vector: &vector,
                        using: "v",
                        limit,
                        fields: &[],
                        filter: &PointFilter::default(),
                    };
                    assert_eq!(store.query(&query, &Stop::never()).unwrap().len(), limit);
                }
            });
        }
    });
    assert_eq!(peer.total(), 160);
}

#[test]
fn a_call_that_waits_does_not_hold_up_others() {
    let peer = Peer::start();
    peer.on(|asked: &QueryPoints| if asked.limit == Some(1) { Reply::Never } else { no_hits() });
    let store = store(&peer);
    let stop = Stop::never();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let vector = SparseVector::ones([1]);
            let query = PointQuery {
                vector: &vector,
                using: "v",
                limit: 1,
                fields: &[],
                filter: &PointFilter::default(),
            };
            store.query(&query, &stop)
        });
        peer.wait_until_asked();
        for _ in 0..10 {
            assert_eq!(ask(&store, &Stop::never()), Ok(0));
        }
        stop.cancel();
        assert_eq!(waiting.join().unwrap(), Err(StoreError::Cancelled));
    });
}

/// The control: what the calls would do without threads of their own.
#[test]
fn blocking_on_a_future_inside_of_a_runtime_panics() {
    let outer = Builder::new_current_thread().build().unwrap();
    let panicked = thread::spawn(move || {
        outer.block_on(async {
            let inner = Builder::new_current_thread().build().unwrap();
            inner.block_on(async {});
        });
    });
    assert!(panicked.join().is_err());
}

#[test]
fn a_store_works_inside_of_every_kind_of_runtime_and_ends_there() {
    let peer = generous();
    let current = Builder::new_current_thread().enable_all().build().unwrap();
    let many = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    for runtime in [&current, &many] {
        // Made, asked and dropped in an async context.
        let answer = runtime.block_on(async {
            let store = store(&peer);
            ask(&store, &Stop::never())
        });
        assert_eq!(answer, Ok(5));
        // And on a thread for what blocks, while its last owner is a task.
        let answer = runtime.block_on(async {
            let store = Arc::new(store(&peer));
            let blocking = Arc::clone(&store);
            let answer = tokio::task::spawn_blocking(move || ask(&blocking, &Stop::never())).await.unwrap();
            drop(store);
            answer
        });
        assert_eq!(answer, Ok(5));
        let task = runtime.spawn({
            let store = store(&peer);
            async move { ask(&store, &Stop::never()) }
        });
        assert_eq!(runtime.block_on(task).unwrap(), Ok(5));
    }
}
