//! Measures the memory of a thread: a counting allocator for the tests of every crate with a fuzz target.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Bytes currently held, and their maximum since the last measurement. Note that the first is negative if
    /// the thread frees memory that another thread allocated.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn add(bytes: isize) {
    // This fails while the thread ends, and then we don't count.
    let _ = HELD.try_with(|held| {
        let now = held.get().0.wrapping_add(bytes);
        held.set((now, held.get().1.max(now)));
    });
}

fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

#[expect(unsafe_code, reason = "the trait of allocators is unsafe to implement")]
// SAFETY: every call is passed unchanged to the system's allocator; the counting itself allocates no memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(signed(layout.size()));
        // SAFETY: the caller guarantees the same as the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        add(-signed(layout.size()));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(signed(size).wrapping_sub(signed(layout.size())));
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Runs `run`. Returns its result, and the maximum number of bytes that this thread held meanwhile in
/// addition to those that it held before.
pub(crate) fn max_held<T>(run: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.with(|held| {
        let (now, _) = held.get();
        held.set((now, now));
        now
    });
    let result = run();
    let max = HELD.with(Cell::get).1;
    (result, usize::try_from(max.wrapping_sub(before)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted() {
        let (_, max) = max_held(|| drop(vec![0_u8; 3 << 20]));
        assert!((3 << 20..4 << 20).contains(&max), "{max}");
        let (_, max) = max_held(|| (0..100).for_each(|_| drop(vec![0_u8; 1 << 20])));
        assert!((1 << 20..2 << 20).contains(&max), "{max}");
    }
}
