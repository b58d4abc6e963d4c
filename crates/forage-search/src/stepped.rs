//! A regex search that can be interrupted in the middle of a line.
//!
//! The engines of `regex-automata` can't be interrupted. In the worst case their work is the length of the
//! line times the positions of the pattern. For example, a literal of 16,000 letters takes minutes on a line
//! of 2 MB that consists of its first letter. This search proceeds in short stretches, with a deadline check
//! after each. It finds the same matches in the same way. A lazy automaton runs forward to the end of a
//! match, and another one backward to its start. For text that those can't handle (Unicode word boundaries
//! next to letters outside ASCII) it uses a [`simulation`] of all states of the automaton.
//!
//! It lacks the literal searches that make the other engines fast, so we only use it for lines on which these
//! could take long.

mod simulation;
#[cfg(test)]
mod tests;

use std::ops::Range;

use forage_base::Pace;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind};
use regex_syntax::hir::Hir;

use crate::limits;
use simulation::SteppedSimulation;

/// Reasons why a search ends without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SteppedEnd {
    /// The call must end.
    Stopped,
    /// The automaton can't handle the byte at this offset.
    Quit(usize),
}

/// A regex compiled for interruptible search.
#[derive(Debug)]
pub(crate) struct SteppedRegex {
    forwards: DFA,
    backwards: DFA,
    /// The maximum work per byte, which is the number of states that can be active.
    work: u64,
}

/// The per-thread cache of a [`SteppedRegex`].
#[derive(Debug)]
pub(crate) struct SteppedCache {
    forwards: Cache,
    backwards: Cache,
    simulation: SteppedSimulation,
}

impl SteppedRegex {
    /// Compiles `hir`, for which `work` states can be active at one position, with caches of `cache_bytes`
    /// bytes. Returns `None` if it is too large. In this case the matcher is too large as well.
    pub(crate) fn new(hir: &Hir, work: u64, cache_bytes: usize) -> Option<Self> {
        let lazy = |backwards: bool| {
            let config = thompson::Config::new()
                .utf8(false)
                .reverse(backwards)
                .which_captures(WhichCaptures::None)
                .nfa_size_limit(Some(limits::COMPILED_PATTERN_BYTES));
            let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
            let kind = if backwards { MatchKind::All } else { MatchKind::LeftmostFirst };
            let config = DFA::config()
                .match_kind(kind)
                .unicode_word_boundary(true)
                .cache_capacity(cache_bytes)
                .skip_cache_capacity_check(true);
            DFA::builder().configure(config).build_from_nfa(nfa).ok()
        };
        Some(Self { forwards: lazy(false)?, backwards: lazy(true)?, work })
    }

    pub(crate) fn create_cache(&self) -> SteppedCache {
        SteppedCache {
            forwards: self.forwards.create_cache(),
            backwards: self.backwards.create_cache(),
            simulation: SteppedSimulation::default(),
        }
    }

    fn nfa(&self) -> &NFA {
        self.forwards.get_nfa()
    }

    /// Returns true if a line has a match.
    ///
    /// # Errors
    ///
    /// Returns an error if the search had to end.
    pub(crate) fn is_match(
        &self,
        cache: &mut SteppedCache,
        line: &[u8],
        pace: &Pace,
    ) -> Result<bool, SteppedEnd> {
        let steps =
            LazySearch { haystack: line, range: 0..line.len(), earliest: true, work: self.work, pace };
        match steps.forwards(&self.forwards, &mut cache.forwards) {
            Err(SteppedEnd::Quit(_)) => {
                cache.simulation.find(self.nfa(), line, 0, true, pace).map(|found| found.is_some())
            }
            found => found.map(|end| end.is_some()),
        }
    }

    /// Finds the leftmost match at or after `at`.
    ///
    /// # Errors
    ///
    /// Returns an error if the search had to end.
    pub(crate) fn find(
        &self,
        cache: &mut SteppedCache,
        line: &[u8],
        at: usize,
        pace: &Pace,
    ) -> Result<Option<Range<usize>>, SteppedEnd> {
        match self.find_by_automata(cache, line, at, pace) {
            Err(SteppedEnd::Quit(_)) => cache.simulation.find(self.nfa(), line, at, false, pace),
            found => found,
        }
    }

    fn find_by_automata(
        &self,
        cache: &mut SteppedCache,
        line: &[u8],
        at: usize,
        pace: &Pace,
    ) -> Result<Option<Range<usize>>, SteppedEnd> {
        let steps = |range| LazySearch { haystack: line, range, earliest: false, work: self.work, pace };
        let Some(end) = steps(at..line.len()).forwards(&self.forwards, &mut cache.forwards)? else {
            return Ok(None);
        };
        // A match that ends here must have a start.
        let start = steps(at..end).backwards(&self.backwards, &mut cache.backwards)?.unwrap_or(end);
        Ok(Some(start..end))
    }
}

/// One search with a lazy automaton.
pub(crate) struct LazySearch<'a> {
    /// The whole text, which is visible to assertions.
    pub(crate) haystack: &'a [u8],
    /// The part of it that contains the match.
    pub(crate) range: Range<usize>,
    /// If true, returns the first end of any match.
    pub(crate) earliest: bool,
    /// The maximum work per byte.
    pub(crate) work: u64,
    pub(crate) pace: &'a Pace,
}

impl LazySearch<'_> {
    /// Finds the end of the leftmost match in the range.
    pub(crate) fn forwards(&self, dfa: &DFA, cache: &mut Cache) -> Result<Option<usize>, SteppedEnd> {
        let Range { start, end } = self.range;
        let input = Input::new(self.haystack).range(start..end).anchored(Anchored::No);
        let mut state = dfa.start_state_forward(cache, &input).map_err(|_| SteppedEnd::Quit(start))?;
        let mut found = None;
        let mut at = start;
        while at < end {
            let stretch = end.min(at.saturating_add(self.stretch()));
            self.count(stretch - at)?;
            while at < stretch {
                state = dfa.next_state(cache, state, self.haystack[at]).map_err(|_| SteppedEnd::Quit(at))?;
                // The automaton reports a match one byte late.
                if state.is_tagged() && self.is_decided(state, at, at, &mut found)? {
                    return Ok(found);
                }
                at += 1;
            }
        }
        // We take one more step so that the last match is reported and assertions see the next byte.
        let state = match self.haystack.get(end) {
            Some(&byte) => dfa.next_state(cache, state, byte),
            None => dfa.next_eoi_state(cache, state),
        };
        self.is_decided(state.map_err(|_| SteppedEnd::Quit(end))?, end, end, &mut found)?;
        Ok(found)
    }

    /// Finds the start of the longest match that ends at the end of the range.
    fn backwards(&self, dfa: &DFA, cache: &mut Cache) -> Result<Option<usize>, SteppedEnd> {
        let Range { start, end } = self.range;
        let input = Input::new(self.haystack).range(start..end).anchored(Anchored::Yes);
        let mut state = dfa.start_state_reverse(cache, &input).map_err(|_| SteppedEnd::Quit(start))?;
        let mut found = None;
        let mut at = end;
        while at > start {
            let stretch = start.max(at.saturating_sub(self.stretch()));
            self.count(at - stretch)?;
            while at > stretch {
                let byte = self.haystack[at - 1];
                state = dfa.next_state(cache, state, byte).map_err(|_| SteppedEnd::Quit(at - 1))?;
                if state.is_tagged() && self.is_decided(state, at, at - 1, &mut found)? {
                    return Ok(found);
                }
                at -= 1;
            }
        }
        let state = match start.checked_sub(1).and_then(|before| self.haystack.get(before)) {
            Some(&byte) => dfa.next_state(cache, state, byte),
            None => dfa.next_eoi_state(cache, state),
        };
        self.is_decided(state.map_err(|_| SteppedEnd::Quit(start))?, start, start, &mut found)?;
        Ok(found)
    }

    /// Handles the special state reached by the byte at `byte`: a match is recorded with its boundary at
    /// `border`. Returns true if later bytes can't change the result.
    #[inline]
    fn is_decided(
        &self,
        state: LazyStateID,
        border: usize,
        byte: usize,
        found: &mut Option<usize>,
    ) -> Result<bool, SteppedEnd> {
        if state.is_match() {
            *found = Some(border);
            return Ok(self.earliest);
        }
        if state.is_quit() { Err(SteppedEnd::Quit(byte)) } else { Ok(state.is_dead()) }
    }

    /// The number of bytes between two deadline checks.
    fn stretch(&self) -> usize {
        usize::try_from(limits::WORK_PER_LOOK / self.work.max(1)).unwrap_or(usize::MAX).max(1)
    }

    fn count(&self, bytes: usize) -> Result<(), SteppedEnd> {
        match self.pace.allows(self.work.saturating_mul(bytes as u64)) {
            true => Ok(()),
            false => Err(SteppedEnd::Stopped),
        }
    }
}
