//! Why a pattern can't be searched for.

use crate::limits;

/// A pattern that can't be searched for. The messages say what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// It has no character.
    #[error("the pattern is empty, which would match every line; write what to look for")]
    Empty,
    /// It is longer than the limit.
    #[error(
        "the pattern has {bytes} bytes, over the limit of {}; search for a shorter part of it",
        limits::PATTERN_BYTES
    )]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// `(?=…)`, `(?!…)`, `(?<=…)`, `(?<!…)`.
    #[error(
        "look-around ({found}) is not supported by this linear-time regex engine; match the text around it too and \
         read the lines (`foo(?=bar)` → `foobar`), search for the wanted part alone, or search twice"
    )]
    LookAround {
        /// The part of the pattern.
        found: String,
    },
    /// `\1` and the like.
    #[error(
        "backreferences ({found}) are not supported by this linear-time regex engine; write the alternatives out \
         (`(a|b)\\1` → `aa|bb`), or match both parts loosely and read the lines"
    )]
    Backreference {
        /// The part of the pattern.
        found: String,
    },
    /// It can match a line feed only.
    #[error("a pattern can't match across lines ({0}); search for one of the lines")]
    LineFeed(String),
    /// The text is no code pattern.
    #[error("{message}")]
    Code {
        /// What is wrong.
        message: String,
    },
    /// The syntax is wrong.
    #[error(
        "the regex is not valid: {message}; escape special characters with `\\` or search for literal text"
    )]
    Syntax {
        /// What is wrong, with the place.
        message: String,
    },
    /// Its automaton is too large.
    #[error(
        "the regex is too large once compiled (over {} bytes); use smaller repetition counts",
        limits::COMPILED_PATTERN_BYTES
    )]
    TooLarge,
    /// Its classes would take too long to be written out.
    #[error(
        "the character classes of the regex are too many or too large; use fewer of them, narrower ones (`[a-z]` instead of \
         `\\p{{L}}`), or `(?-u)`"
    )]
    TooManyClasses,
    /// More edits than are supported.
    #[error("a distance of {edits} edits is over the limit of {}; take a smaller one", limits::FUZZY_EDITS)]
    FuzzyEdits {
        /// The edits asked for.
        edits: u8,
    },
    /// With so many edits it would match nearly every line.
    #[error(
        "the shortest text that the pattern matches has length {characters}, and a distance of {edits} makes nearly \
         any line match that; write a longer pattern, or take a smaller distance"
    )]
    FuzzyTooShort {
        /// Characters of the shortest string that it matches.
        characters: usize,
        /// The edits asked for.
        edits: u8,
    },
    /// Its automaton is too large with so many edits.
    #[error(
        "the pattern is too large for a distance of {edits} (over {} states, or {} bytes); search for a shorter part of \
         it, use smaller repetition counts, or take a smaller distance",
        limits::FUZZY_STATES,
        limits::COMPILED_PATTERN_BYTES
    )]
    FuzzyTooLarge {
        /// The edits asked for.
        edits: u8,
    },
    /// The call had to end before it was compiled.
    #[error(
        "the call had to end before the pattern was compiled, and nothing was searched; allow more time, or write a \
         smaller pattern"
    )]
    Stopped,
}
