//! Limits the use of a resource that all calls of a process share, such as its memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::stop::{Stop, WAIT_SLICE};

/// A counting semaphore that serves requests in order, so that small ones can't delay a large one forever.
///
/// # Examples
///
/// ```
/// use forage_base::{Permits, Stop};
///
/// static MEMORY: Permits = Permits::new(100);
///
/// let held = MEMORY.acquire(60, &Stop::never());
/// // There is no room for 60 more.
/// let stop = Stop::never();
/// stop.cancel();
/// assert!(MEMORY.acquire(60, &stop).is_none());
/// drop(held);
/// assert!(MEMORY.acquire(60, &stop).is_some());
/// ```
#[derive(Debug)]
pub struct Permits {
    capacity: u64,
    /// Permits of at least this amount return freed memory to the system.
    releasing: u64,
    state: Mutex<PermitState>,
    changed: Condvar,
}

#[derive(Debug)]
struct PermitState {
    used: u64,
    next: u64,
    waiting: VecDeque<u64>,
}

impl Permits {
    /// Creates a semaphore with this capacity.
    pub const fn new(capacity: u64) -> Self {
        Self::releasing(capacity, u64::MAX)
    }

    /// Creates a semaphore whose permits of at least `releasing` return freed memory to the system when they
    /// are dropped. Otherwise the allocator would keep this memory for the threads that freed it, where
    /// others can't use it.
    pub const fn releasing(capacity: u64, releasing: u64) -> Self {
        let state = PermitState { used: 0, next: 0, waiting: VecDeque::new() };
        Self { capacity, releasing, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, PermitState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `amount` of the resource, or all of it if the capacity is smaller. Waits for earlier requests
    /// and for room. Returns `None` if the call must end first.
    pub fn acquire(&'static self, amount: u64, stop: &Stop) -> Option<Permit> {
        let amount = amount.min(self.capacity);
        let mut state = self.lock();
        let own = state.next;
        state.next += 1;
        state.waiting.push_back(own);
        loop {
            let has_room = state.used + amount <= self.capacity;
            let is_first = state.waiting.front() == Some(&own);
            if is_first && has_room {
                state.waiting.pop_front();
                state.used += amount;
                // There may be room for the next request too.
                self.changed.notify_all();
                return Some(Permit { permits: self, amount });
            }
            if stop.check().is_some() {
                state.waiting.retain(|other| *other != own);
                // The next request may have waited only for this one.
                self.changed.notify_all();
                return None;
            }
            let waited = self.changed.wait_timeout(state, WAIT_SLICE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A part of the resource, which is returned when this is dropped.
#[derive(Debug)]
pub struct Permit {
    permits: &'static Permits,
    amount: u64,
}

impl Drop for Permit {
    fn drop(&mut self) {
        // This comes first, so that the memory is free when the next request is served.
        if self.amount >= self.permits.releasing {
            release_freed_memory();
        }
        self.permits.lock().used -= self.amount;
        self.permits.changed.notify_all();
    }
}

/// Returns freed memory to the system, which takes a millisecond or two for some hundred megabytes. Does
/// nothing with allocators other than glibc's.
fn release_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(
        unsafe_code,
        reason = "no library has this operation, which takes and returns nothing but a number"
    )]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn first_come_first_served() {
        static PERMITS: Permits = Permits::new(10);
        let never = Stop::never();
        let held = PERMITS.acquire(6, &never).unwrap();
        let (tell, served) = channel();
        let wait = |amount, name: &'static str| {
            let before = PERMITS.lock().waiting.len();
            let tell = tell.clone();
            let thread = std::thread::spawn(move || {
                let permit = PERMITS.acquire(amount, &Stop::never());
                tell.send(name).unwrap();
                drop(permit);
            });
            while PERMITS.lock().waiting.len() == before {
                std::thread::sleep(Duration::from_millis(1));
            }
            thread
        };
        // A request for more than the capacity counts as a request for all of it.
        let large = wait(100, "large");
        // There is room for this request, but it came later.
        let small = wait(1, "small");
        drop(held);
        large.join().unwrap();
        small.join().unwrap();
        assert_eq!(served.try_iter().collect::<Vec<_>>(), ["large", "small"]);
        assert_eq!(PERMITS.lock().used, 0);
    }

    #[test]
    fn request_that_gives_up_makes_way() {
        static PERMITS: Permits = Permits::new(10);
        let held = PERMITS.acquire(6, &Stop::never()).unwrap();
        assert!(PERMITS.acquire(6, &Stop::after(Duration::ZERO)).is_none());
        assert!(PERMITS.acquire(4, &Stop::after(Duration::ZERO)).is_some());
        drop(held);
        assert!(PERMITS.acquire(10, &Stop::after(Duration::ZERO)).is_some());
    }
}
