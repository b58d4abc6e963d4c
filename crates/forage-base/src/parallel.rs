//! Work that several threads do together.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::ScopedJoinHandle;

/// Returns what so many threads make of the same work, one of which is the caller's. A panic of one is the caller's, too.
pub fn in_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let others: Vec<ScopedJoinHandle<'_, T>> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut all = vec![work()];
        all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        all
    })
}

/// Returns what `work` makes of each item, in their order, on so many threads at the most. Each takes the next item when it has
/// done with one.
pub fn map_in_threads<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let nth = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(nth) else { return done };
            done.push((nth, work(item)));
        }
    };
    let mut all: Vec<(usize, R)> = in_threads(threads.min(items.len()), take).into_iter().flatten().collect();
    all.sort_by_key(|(nth, _)| *nth);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_whatever_the_threads() {
        let items: Vec<usize> = (0..100).collect();
        for threads in [0, 1, 3, 200] {
            assert_eq!(
                map_in_threads(&items, threads, |item| item * 2),
                (0..200).step_by(2).collect::<Vec<_>>()
            );
            assert!(map_in_threads(&[], threads, |item: &usize| *item).is_empty());
        }
        assert_eq!((in_threads(0, || 7), in_threads(3, || 7)), (vec![7], vec![7; 3]));
    }
}
