//! Runs work on several threads.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, ScopedJoinHandle};

/// Runs `work` on `threads` threads, including the caller's, and collects the results.
///
/// You get fewer results if the system can't create all threads. A panic in one of the threads is propagated
/// to the caller.
pub fn in_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, &work).ok();
        let others: Vec<ScopedJoinHandle<'_, T>> = (1..threads).filter_map(spawn).collect();
        let mut all = vec![work()];
        all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic))));
        all
    })
}

/// Applies `work` to each item on at most `threads` threads. The results are in the order of the items. Each
/// thread takes the next item as soon as it has finished one.
///
/// # Examples
///
/// ```
/// use forage_base::map_in_threads;
///
/// assert_eq!(map_in_threads(["a", "bb", "ccc"], 2, str::len), [1, 2, 3]);
/// ```
pub fn map_in_threads<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    threads: usize,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let items: Vec<T> = items.into_iter().collect();
    let threads = threads.min(items.len());
    let items = Mutex::new(items.into_iter().enumerate());
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    let take = || std::iter::from_fn(next).map(|(index, item)| (index, work(item))).collect::<Vec<_>>();
    let mut all: Vec<(usize, R)> = in_threads(threads, take).into_iter().flatten().collect();
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_keeps_the_order_of_items() {
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
