//! Work that several threads do together.

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// What so many threads make of the same work, one of which is the caller's.
pub(crate) fn in_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let others: Vec<ScopedJoinHandle<'_, T>> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut all = vec![work()];
        all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        all
    })
}
