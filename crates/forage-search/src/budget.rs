//! The memory that the patterns of one call share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use forage_base::{Permit, Permits, Stop};

use crate::error::PatternError;
use crate::limits;

/// Permits for calls whose patterns take more than [`limits::SMALL_PATTERNS_BYTES`]. We allow only one such
/// call at a time in this process.
static LARGE_CALLS: Permits = Permits::releasing(1, 1);

/// Permits for compiling large patterns. This takes several times the size of the pattern, so we allow only
/// one at a time in this process.
static LARGE_COMPILATIONS: Permits = Permits::new(1);

/// The memory of all patterns of one call. We refuse patterns that don't fit together, whatever the number of
/// threads.
///
/// Clones share one budget. A call whose patterns are large must wait until no other call of the process has
/// large ones.
#[derive(Clone, Debug)]
pub struct PatternBudget(Arc<BudgetState>);

#[derive(Debug)]
struct BudgetState {
    /// Size in bytes of each lazy automaton's cache.
    cache_bytes: usize,
    /// Whether the call must wait until no other call has large patterns.
    takes_turns: bool,
    used: Mutex<UsedMemory>,
}

#[derive(Debug, Default)]
struct UsedMemory {
    memory: PatternMemory,
    large_call: Option<Permit>,
}

/// Memory of a [`PatternBudget`], returned when this is dropped.
#[derive(Debug)]
pub(crate) struct ReservedMemory {
    budget: PatternBudget,
    memory: PatternMemory,
}

impl Drop for ReservedMemory {
    fn drop(&mut self) {
        let mut used = self.budget.lock();
        used.memory.automata -= self.memory.automata;
        used.memory.per_thread -= self.memory.per_thread;
    }
}

/// The memory that a pattern needs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternMemory {
    /// Bytes of its automata, which all threads share.
    pub(crate) automata: u64,
    /// Bytes that each thread needs in addition.
    pub(crate) per_thread: u64,
}

impl PatternMemory {
    /// Computes the memory of a regex with an automaton of this many bytes. The regex has four automata: the
    /// matcher and the interruptible search each have one per direction. A thread has a cache for each, and
    /// simulates two of them if their lazy automata give up.
    pub(crate) fn for_regex(automaton: u64, budget: &PatternBudget) -> Self {
        let caches = budget.cache_bytes(automaton) as u64 * limits::CACHES_PER_PATTERN as u64;
        Self { automata: 4 * automaton, per_thread: 2 * automaton + caches }
    }
}

impl PatternBudget {
    /// Creates the budget of a call with this many patterns, which runs on this many threads.
    #[must_use]
    pub fn new(patterns: usize, threads: usize) -> Self {
        let caches = patterns.max(1) * threads.max(1) * limits::CACHES_PER_PATTERN;
        let cache_bytes = (limits::CACHES_BYTES / caches)
            .clamp(limits::AUTOMATON_CACHE_BYTES_MIN, limits::AUTOMATON_CACHE_BYTES);
        Self(Arc::new(BudgetState { cache_bytes, takes_turns: true, used: Mutex::default() }))
    }

    /// Creates the budget of a call with one pattern, which runs on all processors.
    #[must_use]
    pub fn for_one_pattern() -> Self {
        Self::new(1, std::thread::available_parallelism().map_or(1, Into::into))
    }

    /// Creates the budget of a command, which is the only call of its process and may have several budgets.
    /// This budget never waits.
    #[must_use]
    pub fn for_command() -> Self {
        let cache_bytes = Self::for_one_pattern().0.cache_bytes;
        Self(Arc::new(BudgetState { cache_bytes, takes_turns: false, used: Mutex::default() }))
    }

    /// Computes the cache size in bytes for a lazy automaton of this many bytes. Without room for some
    /// states, the regex falls back to a much slower engine. The cache needs 27 bytes per state of the
    /// automaton, and such a state takes 24 bytes or more. The factor of 2.5 leaves room for the automaton
    /// that reads backwards, which has more states.
    pub(crate) fn cache_bytes(&self, automaton: u64) -> usize {
        let needed = usize::try_from(automaton.saturating_mul(5) / 2).unwrap_or(usize::MAX);
        self.0.cache_bytes.max(needed).min(limits::LARGE_AUTOMATON_CACHE_BYTES)
    }

    /// Reserves the memory of a pattern before it is compiled. Dropping the result returns this memory.
    ///
    /// # Errors
    ///
    /// Returns an error if the patterns of the call are too large together, or the call has to end before
    /// others make room.
    pub(crate) fn reserve(&self, memory: PatternMemory, stop: &Stop) -> Result<ReservedMemory, PatternError> {
        let mut used = self.lock();
        let automata = used.memory.automata + memory.automata;
        if automata > limits::PATTERNS_BYTES {
            let is_alone = used.memory.automata == 0;
            return Err(if is_alone { PatternError::TooLarge } else { PatternError::TooLargeTogether });
        }
        // We wait while holding the lock, so that one call never takes two permits.
        let is_large = automata > limits::SMALL_PATTERNS_BYTES;
        if is_large && self.0.takes_turns && used.large_call.is_none() {
            used.large_call = Some(LARGE_CALLS.acquire(1, stop).ok_or(PatternError::Stopped)?);
        }
        used.memory.automata = automata;
        used.memory.per_thread += memory.per_thread;
        drop(used);
        Ok(ReservedMemory { budget: self.clone(), memory })
    }

    /// The bytes that are left for automata.
    pub(crate) fn left(&self) -> u64 {
        limits::PATTERNS_BYTES.saturating_sub(self.lock().memory.automata)
    }

    fn lock(&self) -> MutexGuard<'_, UsedMemory> {
        self.0.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Computes how many of `threads` worker threads the memory of the call allows.
    #[must_use]
    pub fn threads(&self, threads: usize) -> usize {
        let PatternMemory { automata, per_thread } = self.lock().memory;
        let fitting = limits::PATTERNS_AND_THREADS_BYTES.saturating_sub(automata) / per_thread.max(1);
        usize::try_from(fitting).unwrap_or(usize::MAX).clamp(1, threads.max(1))
    }
}

/// Waits until no other large pattern is being compiled. The permit must be dropped before waiting for
/// anything else.
pub(crate) fn compile_large(stop: &Stop) -> Result<Permit, PatternError> {
    LARGE_COMPILATIONS.acquire(1, stop).ok_or(PatternError::Stopped)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: u64 = 1 << 20;

    fn automata(megabytes: u64) -> PatternMemory {
        PatternMemory { automata: megabytes * MEGABYTE, per_thread: 0 }
    }

    #[test]
    fn patterns_share_what_one_may_take() {
        let (budget, stop) = (PatternBudget::new(3, 2), Stop::never());
        let whole = limits::PATTERNS_BYTES / MEGABYTE;
        assert_eq!(budget.reserve(automata(whole + 1), &stop).err(), Some(PatternError::TooLarge));
        let first = budget.reserve(automata(whole - 1), &stop).unwrap();
        assert_eq!(budget.reserve(automata(2), &stop).err(), Some(PatternError::TooLargeTogether));
        let second = budget.clone().reserve(automata(1), &stop).unwrap();
        assert_eq!(budget.left(), 0);
        drop((first, second));
        assert_eq!(budget.left(), limits::PATTERNS_BYTES);
    }

    #[test]
    fn calls_with_large_patterns_take_turns() {
        let stop = Stop::never();
        let (one, other, small) =
            (PatternBudget::new(1, 2), PatternBudget::new(1, 2), PatternBudget::new(1, 2));
        let large = automata(limits::SMALL_PATTERNS_BYTES / MEGABYTE + 1);
        let held = one.reserve(large, &stop).unwrap();
        let now = Stop::after(std::time::Duration::ZERO);
        assert_eq!(other.reserve(large, &now).err(), Some(PatternError::Stopped));
        // One call may have several, and small ones never wait.
        assert!(one.reserve(large, &now).is_ok() && small.reserve(automata(1), &now).is_ok());
        let command = PatternBudget::for_command();
        assert!(command.reserve(large, &now).is_ok(), "a command never waits");
        drop((held, one));
        assert!(other.reserve(large, &stop).is_ok());
    }

    #[test]
    fn large_patterns_run_on_fewer_threads() {
        let budget = PatternBudget::new(1, 64);
        let threads = |megabytes: u64| {
            let memory = PatternMemory::for_regex(megabytes * MEGABYTE / 4, &budget);
            let _reserved = budget.reserve(memory, &Stop::never()).unwrap();
            budget.threads(64)
        };
        let counts = [0, 1, 4, 16, 40].map(threads);
        assert!(counts.is_sorted_by(|more, fewer| more >= fewer), "{counts:?}");
        assert_eq!((counts[0], counts[4]), (64, 1), "{counts:?}");
    }
}
