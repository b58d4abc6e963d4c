//! Remembers the calls of a conversation, so that we make none of them twice.

use std::collections::HashMap;

use super::limits::SAME_CALL_TURNS;

/// The result of looking up a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallLookup {
    /// The call must be made.
    New,
    /// The call with this number was the same, and the conversation contains its result.
    Shown(usize),
}

/// The calls of one conversation, keyed by tool and arguments.
#[derive(Debug, Default)]
pub(super) struct Memory {
    calls: HashMap<String, CallUse>,
    circling: bool,
}

#[derive(Debug, Default)]
struct CallUse {
    /// The call whose result the conversation contains, or will contain at the end of this turn.
    shown_by: Option<usize>,
    last_turn: usize,
    turns: usize,
}

impl Memory {
    /// Looks up a call that is requested in this turn under this number.
    pub(super) fn recall(&mut self, key: &str, turn: usize, number: usize) -> CallLookup {
        let seen = self.calls.entry(key.to_owned()).or_default();
        if seen.last_turn != turn {
            (seen.last_turn, seen.turns) = (turn, seen.turns + 1);
            self.circling |= seen.turns >= SAME_CALL_TURNS;
        }
        match seen.shown_by {
            Some(shown) => CallLookup::Shown(shown),
            None => {
                seen.shown_by = Some(number);
                CallLookup::New
            }
        }
    }

    /// Forgets a result that is no longer in the conversation, or may differ next time.
    pub(super) fn forget(&mut self, number: usize) {
        for seen in self.calls.values_mut().filter(|seen| seen.shown_by == Some(number)) {
            seen.shown_by = None;
        }
    }

    /// Returns true if the same call was requested so often that we should expect nothing new.
    pub(super) fn is_circling(&self) -> bool {
        self.circling
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_made_once_until_its_result_is_gone() {
        let mut memory = Memory::default();
        assert_eq!(memory.recall("a", 1, 1), CallLookup::New);
        assert_eq!(memory.recall("b", 1, 2), CallLookup::New);
        assert_eq!(memory.recall("a", 1, 3), CallLookup::Shown(1), "in the same turn, too");
        assert_eq!(memory.recall("a", 2, 4), CallLookup::Shown(1));
        memory.forget(1);
        assert_eq!(memory.recall("a", 2, 5), CallLookup::New);
        assert_eq!(memory.recall("b", 2, 6), CallLookup::Shown(2));
    }

    #[test]
    fn the_third_turn_with_the_same_call_is_a_circle() {
        let mut memory = Memory::default();
        for number in 1..=5 {
            memory.recall("a", 1, number);
        }
        assert!(!memory.is_circling(), "however often in one turn");
        memory.recall("a", 2, 6);
        memory.recall("b", 2, 7);
        assert!(!memory.is_circling());
        memory.recall("a", 5, 8);
        assert!(memory.is_circling());
    }
}
