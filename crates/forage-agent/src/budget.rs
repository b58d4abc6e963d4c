//! The remaining budget of turns, calls and time.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::limits::{ANSWER_SHARE, Limits, TURN_SHARE};

/// The reason why a turn is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LastTurn {
    /// No more turns.
    Turns,
    /// No more calls.
    Calls,
    /// The rest of the time is needed for the answer.
    Time,
    /// The same call was requested repeatedly.
    Repetition,
}

impl LastTurn {
    /// Describes the reason in words, for the model and for people.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Turns => "no turns are left",
            Self::Calls => "no calls are left",
            Self::Time => "the time is nearly up",
            Self::Repetition => "the same call was made again and again",
        }
    }
}

/// The budget of one conversation.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) limits: Limits,
    pub(super) deadline: Instant,
    /// The current turn, counted from 1.
    pub(super) turn: usize,
    /// Calls that have run.
    pub(super) calls: usize,
}

impl Budget {
    pub(super) fn new(limits: Limits, started: Instant) -> Self {
        Self { limits, deadline: started + limits.total, turn: 1, calls: 0 }
    }

    /// The remaining time.
    pub(super) fn time(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// The part of the total time that is reserved for the answer.
    fn reserve(&self) -> Duration {
        self.limits.total / ANSWER_SHARE
    }

    /// The remaining time for tools.
    pub(super) fn time_for_tools(&self) -> Duration {
        self.time().saturating_sub(self.reserve())
    }

    /// The remaining turns, including the current one.
    pub(super) fn turns_left(&self) -> usize {
        (self.limits.turns + 1).saturating_sub(self.turn)
    }

    /// The remaining calls.
    pub(super) fn calls_left(&self) -> usize {
        self.limits.calls.saturating_sub(self.calls)
    }

    /// Computes the maximum size in bytes of each result if a turn has this many calls.
    pub(super) fn bytes_per_call(&self, calls: usize, least: usize, max: usize) -> usize {
        (self.limits.bytes / TURN_SHARE / calls.max(1)).clamp(least, max.max(least))
    }

    /// Decides whether the next turn must be the last one, and why.
    pub(super) fn last_turn(&self, is_circling: bool) -> Option<LastTurn> {
        [
            (self.turn >= self.limits.turns, LastTurn::Turns),
            (self.calls_left() == 0, LastTurn::Calls),
            (self.time_for_tools().is_zero(), LastTurn::Time),
            (is_circling, LastTurn::Repetition),
        ]
        .into_iter()
        .find_map(|(is_last, why)| is_last.then_some(why))
    }

    /// Describes the remaining budget for the model at the beginning of a turn. `bytes` is the current size
    /// of all results.
    pub(super) fn describe(&self, bytes: usize, with_time: bool) -> String {
        let Limits { turns, calls, bytes: all, .. } = self.limits;
        let left = format!(
            "left: {} of {turns} turns, including this one and the answer; {} of {calls} calls; {} of {all} bytes of \
             results",
            self.turns_left().max(1),
            self.calls_left(),
            all.saturating_sub(bytes),
        );
        if with_time {
            format!("{left}; {}", forage_base::count(self.time().as_secs(), "second"))
        } else {
            left
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Budget {
        Budget::new(Limits { total: Duration::from_secs(1_000), ..Limits::default() }, Instant::now())
    }

    #[test]
    fn each_limit_makes_a_turn_the_last() {
        assert_eq!(budget().last_turn(false), None);
        assert_eq!(budget().last_turn(true), Some(LastTurn::Repetition));
        assert_eq!(Budget { turn: 7, ..budget() }.last_turn(false), None);
        assert_eq!(Budget { turn: 8, ..budget() }.last_turn(false), Some(LastTurn::Turns));
        assert_eq!(Budget { calls: 39, ..budget() }.last_turn(false), None);
        assert_eq!(Budget { calls: 40, ..budget() }.last_turn(false), Some(LastTurn::Calls));
        let late = Budget { deadline: Instant::now() + Duration::from_secs(249), ..budget() };
        assert_eq!(late.last_turn(false), Some(LastTurn::Time), "a quarter is the answer's");
    }

    #[test]
    fn a_full_turn_takes_a_quarter_of_the_bytes_at_most() {
        let budget = budget();
        assert_eq!(budget.bytes_per_call(1, 2_000, 40_000), 40_000);
        assert_eq!(budget.bytes_per_call(8, 2_000, 40_000), 10_000);
        assert_eq!(budget.bytes_per_call(1_000, 2_000, 40_000), 2_000);
        assert_eq!(budget.bytes_per_call(1, 2_000, 1_000), 2_000);
    }

    #[test]
    fn the_model_reads_what_is_left() {
        let text = Budget { turn: 3, calls: 9, ..budget() }.describe(20_000, true);
        assert!(
            text.starts_with(
                "left: 6 of 8 turns, including this one and the answer; 31 of 40 calls; 300000 of 320000 bytes of results; 999 "
            ),
            "{text}"
        );
    }
}
