//! Errors of patterns.

use forage_base::{count, grouped};

use crate::limits;

/// Reasons why we can't search for a pattern. Each message says how to change the pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The pattern is empty.
    #[error("the pattern is empty, which would match every line; give a text to search for")]
    Empty,
    /// The pattern is longer than [`limits::PATTERN_BYTES`].
    #[error(
        "the pattern has {}, over the limit of {}; search for a shorter part of it",
        count(*bytes as u64, "byte"),
        grouped(limits::PATTERN_BYTES as u64)
    )]
    TooLong {
        /// The length of the pattern.
        bytes: usize,
    },
    /// The pattern uses look-around: `(?=…)`, `(?!…)`, `(?<=…)` or `(?<!…)`.
    #[error(
        "look-around ({found}) is not supported by this linear-time regex engine; match the text around it \
         as well and read the lines (`foo(?=bar)` → `foobar`), search for just the part that you want, or \
         search twice"
    )]
    LookAround {
        /// The unsupported part of the pattern.
        found: String,
    },
    /// The pattern uses backreferences, for example `\1`.
    #[error(
        "backreferences ({found}) are not supported by this linear-time regex engine; write the alternatives out \
         (`(a|b)\\1` → `aa|bb`), or match both parts loosely and read the lines"
    )]
    Backreference {
        /// The unsupported part of the pattern.
        found: String,
    },
    /// The pattern contains a line feed, which can't match within a line.
    #[error("a pattern can't match across lines ({0}); search for one of the lines")]
    LineFeed(String),
    /// The text is not a valid code pattern.
    #[error("{message}")]
    Code {
        /// The cause.
        message: String,
    },
    /// The regex syntax is invalid.
    #[error(
        "the regex is not valid: {message}; escape special characters with `\\` or search for literal text"
    )]
    Syntax {
        /// The cause and its position.
        message: String,
    },
    /// The compiled automaton would exceed [`limits::COMPILED_PATTERN_BYTES`], or groups are nested deeper
    /// than [`limits::PATTERN_NESTING`].
    #[error(
        "the regex is too large once compiled (over {}); use smaller repetition counts or less nesting",
        count(limits::COMPILED_PATTERN_BYTES as u64, "byte")
    )]
    TooLarge,
    /// The compiled parts of a pattern with look-around or backreferences would exceed
    /// [`limits::BACKTRACKING_BYTES`].
    #[error(
        "the parts between the look-arounds of the regex are too large together once compiled (over {}); \
         use smaller repetition counts or fewer parts",
        count(limits::BACKTRACKING_BYTES[1], "byte")
    )]
    LookAroundTooLarge,
    /// The compiled automata of all patterns of the call would exceed [`limits::PATTERNS_BYTES`].
    #[error(
        "the patterns of this call are too large together once compiled (over {}); use smaller \
         repetition counts, or search for fewer of them at once",
        count(limits::PATTERNS_BYTES, "byte")
    )]
    TooLargeTogether,
    /// Expanding the character classes would exceed [`limits::CLASS_WORK`].
    #[error(
        "the regex has too many or too large character classes; use fewer of them, narrower ones (`[a-z]` \
         instead of `\\p{{L}}`), or `(?-u)`"
    )]
    TooManyClasses,
    /// The number of edits exceeds [`limits::FUZZY_EDITS`].
    #[error("a distance of {edits} edits is over the limit of {}; use a smaller one", limits::FUZZY_EDITS)]
    FuzzyEdits {
        /// The requested edits.
        edits: u8,
    },
    /// With this many edits the pattern would match nearly every line.
    #[error(
        "the shortest text that the pattern matches has length {characters}, so nearly any line is within a \
         distance of {edits}; write a longer pattern, or use a smaller distance"
    )]
    FuzzyTooShort {
        /// Characters of the shortest string that the pattern matches.
        characters: usize,
        /// The requested edits.
        edits: u8,
    },
    /// The fuzzy automaton would be too large for this many edits.
    #[error(
        "the pattern is too large for a distance of {edits} (over {}, or {}); search for a \
         shorter part of it, use smaller repetition counts, or use a smaller distance",
        count(limits::FUZZY_STATES as u64, "state"),
        count(limits::COMPILED_PATTERN_BYTES as u64, "byte")
    )]
    FuzzyTooLarge {
        /// The requested edits.
        edits: u8,
    },
    /// The call had to end before the pattern was compiled.
    #[error(
        "the call ended before the pattern was compiled, so nothing was searched; allow more time, or write \
         a smaller pattern"
    )]
    Stopped,
}
