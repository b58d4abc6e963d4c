//! Fuzzy matching: lines of which some part is within a few edits of the pattern.
//!
//! # What matches
//!
//! A line matches if some part of it can be turned into a string that the pattern matches by at most `k` insertions,
//! deletions and substitutions of characters.
//!
//! - A character is a Unicode scalar value; each byte that is no part of valid UTF-8 is one, too. Bytes above 0x7F
//!   that the pattern names one by one (`(?-u:\xff)`) stand for those alone, never for a part of a character. No edit
//!   touches a line feed: a line is its own haystack.
//! - Assertions (`^`, `$`, `\b` …, and those of [`PatternOptions::word`](crate::PatternOptions::word)) are tested on
//!   the text as it is and can't be edited. The distance of a part of the text at its place is therefore the least
//!   cost of a way through the pattern on which a character that fits costs 0, one that takes the place of another 1,
//!   one left out 1, and one of the text put in between 1: before any character or assertion, and at the end.
//! - Letters compare as in the exact search: by Unicode's simple folding where case does not count.
//!
//! # Which matches of a line are reported
//!
//! Rounds `d` = 0, 1, …, `k`. In each, every gap of the line that the matches of earlier rounds leave is gone through
//! from left to right: the match within the gap with a distance of at most `d` that starts first, and of those with
//! that start the longest; then on behind it. An exact match is thus never hidden by a worse one beside it. Matches
//! are not empty and do not overlap; all matches of round `d` have distance `d`. Of lines over
//! [`FUZZY_WINDOW_BYTES`](crate::limits::FUZZY_WINDOW_BYTES) only a part of that length is gone through, around the
//! place where a match ends first; whether the line matches does not depend on that.
//!
//! # How it works
//!
//! [`graph`] holds the pattern. [`automaton`] adds the layers of edits and decides lines at about half a gigabyte per
//! second and thread. [`pieces`] finds literals of which every match holds one unharmed, so that a prefilter can find
//! the few lines to decide; without them the automaton reads the whole text. [`simulation`] finds where matches begin
//! and end, on the lines that are kept, and decides in the automaton's place where that would have to look at words
//! beyond ASCII.

mod automaton;
mod finder;
mod graph;
mod pieces;
mod simulation;
#[cfg(test)]
mod tests;

use forage_base::Pace;
use regex_syntax::hir::Hir;

use crate::limits;
use crate::prefilter::{Literal, Prefilter};
use automaton::Automaton;
pub(crate) use finder::FuzzyFinder;
use graph::{Graph, TooLarge};
use pieces::PatternPieces;

/// A pattern, compiled for fuzzy search.
#[derive(Debug)]
pub(crate) struct Fuzzy {
    graph: Graph,
    /// By the number of edits: the last decides, the others help to find spans.
    automata: Vec<Automaton>,
    pieces: Option<SearchedText>,
}

/// Pieces, and the search for them.
#[derive(Debug)]
struct SearchedText {
    literals: Vec<Literal>,
    prefilter: Prefilter,
}

impl SearchedText {
    fn new(pieces: PatternPieces) -> Option<Self> {
        let prefilter = Prefilter::from_literals(pieces.literals.clone())?;
        Some(Self { literals: pieces.literals, prefilter })
    }
}

/// Why a pattern can't be searched for with edits.
#[derive(Debug)]
pub(crate) enum FuzzyError {
    /// The shortest string that the pattern matches has this many characters, no more than there are edits.
    TooShort(usize),
    /// The automaton would be too large.
    TooLarge,
    /// The call had to end before it was compiled.
    Stopped,
}

impl From<TooLarge> for FuzzyError {
    fn from(TooLarge: TooLarge) -> Self {
        Self::TooLarge
    }
}

impl Fuzzy {
    /// Compiles `hir`, none of whose matches has a line feed, for up to `edits` edits, as long as `pace` allows.
    pub(crate) fn new(hir: &Hir, edits: u8, pace: &Pace) -> Result<Self, FuzzyError> {
        let edits = edits.into();
        let graph = Self::graph(hir, edits)?;
        let pieces = pieces::pieces(hir, edits).filter(PatternPieces::are_selective);
        Self::with_pieces(graph, edits, pieces.and_then(SearchedText::new), pace)
    }

    /// The graph of a pattern that can be searched for with so many edits.
    fn graph(hir: &Hir, edits: usize) -> Result<Graph, FuzzyError> {
        let graph = Graph::new(hir, limits::FUZZY_STATES / (edits + 1))?;
        if graph.shortest <= edits { Err(FuzzyError::TooShort(graph.shortest)) } else { Ok(graph) }
    }

    fn with_pieces(
        graph: Graph,
        edits: usize,
        pieces: Option<SearchedText>,
        pace: &Pace,
    ) -> Result<Self, FuzzyError> {
        let automata = (0..=edits).map(|edits| Automaton::new(&graph, edits, pace)).collect::<Result<_, _>>();
        match automata {
            Err(_) if pace.is_stopped() => Err(FuzzyError::Stopped),
            Err(error) => Err(error.into()),
            Ok(automata) => Ok(Self { graph, automata, pieces }),
        }
    }

    /// Literals of which every match holds one unharmed; `None` where that would not help to find it.
    pub(crate) fn pieces(&self) -> Option<&[Literal]> {
        self.pieces.as_ref().map(|searched| searched.literals.as_slice())
    }

    /// Edits that a match may have.
    pub(crate) fn edits(&self) -> usize {
        self.automata.len() - 1
    }

    /// How lines are found, in words.
    pub(crate) fn describe(&self) -> String {
        let edits = self.edits();
        let plural = if edits == 1 { "" } else { "s" };
        match &self.pieces {
            Some(SearchedText { literals, prefilter }) => {
                let names: Vec<_> =
                    literals.iter().map(|piece| String::from_utf8_lossy(&piece.bytes)).collect();
                format!(
                    "up to {edits} edit{plural}: {} for {names:?}, then an automaton on the line",
                    prefilter.describe()
                )
            }
            None => format!("up to {edits} edit{plural}: an automaton over the whole text"),
        }
    }
}
