//! Simulates all states of an automaton over a text, byte by byte.
//!
//! This is the slowest search, but it can handle any text. We use it for text that lazy automata can't
//! handle.

use std::ops::Range;

use forage_base::Pace;
use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::look::LookMatcher;
use regex_automata::util::primitives::StateID;

use super::SteppedEnd;

/// Per-thread state reused across searches.
#[derive(Debug, Default)]
pub(super) struct SteppedSimulation {
    here: Threads,
    next: Threads,
    stack: Vec<StateID>,
    looks: LookMatcher,
}

/// The active states at one position, in order of preference, each with the start of the match that leads to
/// it.
#[derive(Debug, Default)]
struct Threads {
    list: Vec<(StateID, usize)>,
    /// True for each state that was reached at this position.
    reached: Vec<bool>,
    /// All states that are set in `reached`. Note that most of them do not wait for a byte.
    set: Vec<StateID>,
}

impl Threads {
    fn clear(&mut self, states: usize) {
        for state in self.set.drain(..) {
            self.reached[state.as_usize()] = false;
        }
        self.list.clear();
        self.reached.resize(states, false);
    }
}

impl SteppedSimulation {
    /// Finds the leftmost match of `nfa` at or after `at`; with `earliest`, any match.
    pub(super) fn find(
        &mut self,
        nfa: &NFA,
        line: &[u8],
        mut at: usize,
        earliest: bool,
        pace: &Pace,
    ) -> Result<Option<Range<usize>>, SteppedEnd> {
        let mut found: Option<Range<usize>> = None;
        // The previous search may have used another automaton, or ended early.
        self.here.clear(nfa.states().len());
        self.next.clear(nfa.states().len());
        loop {
            // Matches that start further left are preferred.
            if found.is_none() {
                self.reach(nfa, line, at, nfa.start_anchored(), at, false);
            }
            if self.here.list.is_empty() && found.is_some() {
                return Ok(found);
            }
            let visited = 1 + self.here.set.len() as u64;
            if !pace.allows(visited) {
                return Err(SteppedEnd::Stopped);
            }
            let byte = line.get(at).copied();
            let threads = std::mem::take(&mut self.here.list);
            for &(state, start) in &threads {
                if matches!(nfa.state(state), State::Match { .. }) {
                    found = Some(start..at);
                    if earliest {
                        return Ok(found);
                    }
                    // The remaining states have a lower preference.
                    break;
                }
                if let Some(byte) = byte
                    && let Some(next) = step(nfa.state(state), byte)
                {
                    self.reach(nfa, line, at + 1, next, start, true);
                }
            }
            self.here.list = threads;
            self.here.clear(nfa.states().len());
            std::mem::swap(&mut self.here, &mut self.next);
            if byte.is_none() {
                return Ok(found);
            }
            at += 1;
        }
    }

    /// Activates a state at `at`, and all states reachable from it without consuming a byte.
    fn reach(&mut self, nfa: &NFA, line: &[u8], at: usize, state: StateID, start: usize, next: bool) {
        let threads = if next { &mut self.next } else { &mut self.here };
        self.stack.push(state);
        while let Some(state) = self.stack.pop() {
            if std::mem::replace(&mut threads.reached[state.as_usize()], true) {
                continue;
            }
            threads.set.push(state);
            match nfa.state(state) {
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Match { .. } => {
                    threads.list.push((state, start));
                }
                State::Look { look, next } => {
                    if self.looks.matches(*look, line, at) {
                        self.stack.push(*next);
                    }
                }
                // The first alternative is preferred, so we must push it last.
                State::Union { alternates } => self.stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => self.stack.push(*next),
                State::Fail => {}
            }
        }
    }
}

/// Looks up the successor of `state` for a byte.
fn step(state: &State, byte: u8) -> Option<StateID> {
    match state {
        State::ByteRange { trans } => trans.matches_byte(byte).then_some(trans.next),
        State::Sparse(sparse) => sparse.matches_byte(byte),
        State::Dense(dense) => dense.matches_byte(byte),
        _ => None,
    }
}
