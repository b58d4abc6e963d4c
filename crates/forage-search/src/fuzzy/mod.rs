//! Fuzzy matching: finds lines with a part that is within a few edits of the pattern.
//!
//! # Definition of a match
//!
//! A line matches if at most `k` edits turn some part of it into a string that the pattern matches. An edit
//! is the insertion, deletion or substitution of a character.
//!
//! - A character is a Unicode scalar value, or a byte that is not part of valid UTF-8. Bytes above 0x7F that
//!   the pattern names explicitly (`(?-u:\xff)`) match only such a byte, never a part of a character. No edit
//!   touches a line feed, because a line is its own haystack.
//! - Assertions (`^`, `$`, `\b` …, and those of [`PatternOptions::word`](crate::PatternOptions::word)) are
//!   tested on the unedited text and can't be edited themselves. The distance of a part of the text is
//!   therefore the minimum cost of a path through the pattern. A matching character costs 0. A substituted, a
//!   deleted and an inserted character cost 1 each. Insertions are possible before any character or
//!   assertion, and at the end.
//! - Letters compare as in exact search: case-insensitive patterns use Unicode simple case folding.
//!
//! # Which matches of a line are reported
//!
//! We search in rounds with `d` = 0, 1, …, `k`. Each round goes from left to right through the gaps that the
//! matches of earlier rounds left. Within a gap it reports the match with a distance of at most `d` that
//! starts first, or the longest of several with that start, and continues after it. A worse match can
//! therefore never hide an adjacent exact one. Matches are not empty and do not overlap, and all matches of
//! round `d` have distance `d`. In lines longer than
//! [`FUZZY_WINDOW_BYTES`](crate::limits::FUZZY_WINDOW_BYTES) we search only a part of that length around the
//! first end of a match. This does not affect whether the line matches.
//!
//! # How it works
//!
//! [`graph`] represents the pattern. [`automaton`] adds the layers of edits and decides lines at about half a
//! gigabyte per second and thread. [`pieces`] finds literals such that every match contains at least one
//! unchanged. With them, a prefilter selects the few lines to decide; without them, the automaton reads the
//! whole text. [`simulation`] locates the start and end of matches on the reported lines. It also decides
//! lines for which the automaton would have to test words beyond ASCII.

mod automaton;
mod finder;
mod graph;
mod pieces;
mod simulation;
#[cfg(test)]
mod tests;

use forage_base::Pace;
use regex_syntax::hir::Hir;

use crate::budget::PatternBudget;
use crate::limits;
use crate::prefilter::{Literal, Prefilter};
use automaton::{Automaton, AutomatonSize};
pub(crate) use finder::FuzzyFinder;
use graph::{Graph, TooLarge};
use pieces::PatternPieces;

/// A pattern compiled for fuzzy search.
#[derive(Debug)]
pub(crate) struct Fuzzy {
    graph: Graph,
    /// One automaton per number of edits. The last one decides lines, and the others help to locate spans.
    automata: Vec<Automaton>,
    pieces: Option<SearchedText>,
}

/// Pieces and the prefilter that searches for them.
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

/// Reasons why a pattern can't be searched for with edits.
#[derive(Debug)]
pub(crate) enum FuzzyError {
    /// The shortest string that the pattern matches has this many characters, which is not more than the
    /// number of edits.
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

/// A pattern whose automata are not built yet.
#[derive(Debug)]
pub(crate) struct FuzzyPlan {
    graph: Graph,
    edits: usize,
    pieces: Option<SearchedText>,
}

impl FuzzyPlan {
    /// Plans a search for `hir` with up to `edits` edits. No match of `hir` may contain a line feed.
    pub(crate) fn new(hir: &Hir, edits: u8) -> Result<Self, FuzzyError> {
        let edits = edits.into();
        let graph = Fuzzy::graph(hir, edits)?;
        let pieces = pieces::pieces(hir, edits).filter(PatternPieces::are_selective);
        Ok(Self { graph, edits, pieces: pieces.and_then(SearchedText::new) })
    }

    /// Estimates an upper bound for the size of the automata in bytes.
    pub(crate) fn automata_bytes(&self) -> u64 {
        // An automaton with `n` edits has `n` + 1 layers.
        let layers = (1..=self.edits as u64 + 1).sum::<u64>() * self.automata_per_layer();
        self.graph.layer_bytes() * layers
    }

    fn automata_per_layer(&self) -> u64 {
        if self.graph.has_word_looks { 2 } else { 1 }
    }

    /// Computes the cache size in bytes of each automaton.
    fn cache_bytes(&self, budget: &PatternBudget) -> usize {
        let automata = (self.edits + 1) * self.automata_per_layer() as usize;
        let share = budget.cache_bytes(0) * limits::CACHES_PER_PATTERN / automata;
        share.clamp(*limits::FUZZY_CACHE_BYTES.start(), *limits::FUZZY_CACHE_BYTES.end())
    }

    /// Computes the size in bytes of the caches of one thread.
    pub(crate) fn thread_bytes(&self, budget: &PatternBudget) -> u64 {
        let automata = (self.edits as u64 + 1) * self.automata_per_layer();
        self.cache_bytes(budget) as u64 * automata
    }

    /// Builds automata of up to `max` bytes together, within the time that `pace` allows.
    pub(crate) fn compile(self, budget: &PatternBudget, max: u64, pace: &Pace) -> Result<Fuzzy, FuzzyError> {
        let size = AutomatonSize { left: max, cache_bytes: self.cache_bytes(budget) };
        Fuzzy::with_pieces(self.graph, self.edits, self.pieces, size, pace)
    }
}

impl Fuzzy {
    /// Builds the graph of a pattern, or fails if it can't be searched for with `edits` edits.
    fn graph(hir: &Hir, edits: usize) -> Result<Graph, FuzzyError> {
        let graph = Graph::new(hir, limits::FUZZY_STATES / (edits + 1))?;
        if graph.shortest <= edits { Err(FuzzyError::TooShort(graph.shortest)) } else { Ok(graph) }
    }

    fn with_pieces(
        graph: Graph,
        edits: usize,
        pieces: Option<SearchedText>,
        mut size: AutomatonSize,
        pace: &Pace,
    ) -> Result<Self, FuzzyError> {
        let automata =
            (0..=edits).map(|edits| Automaton::new(&graph, edits, &mut size, pace)).collect::<Result<_, _>>();
        match automata {
            Err(_) if pace.is_stopped() => Err(FuzzyError::Stopped),
            Err(error) => Err(error.into()),
            Ok(automata) => Ok(Self { graph, automata, pieces }),
        }
    }

    /// Returns literals such that every match contains at least one unchanged, or `None` if searching for
    /// them would not be faster.
    pub(crate) fn pieces(&self) -> Option<&[Literal]> {
        self.pieces.as_ref().map(|searched| searched.literals.as_slice())
    }

    /// The maximum number of edits of a match.
    pub(crate) fn edits(&self) -> usize {
        self.automata.len() - 1
    }

    /// Describes how we find lines.
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
