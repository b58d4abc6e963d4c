//! Finds matching lines of a text, and matches within a line, for one worker.

use std::cell::RefCell;
use std::ops::Range;

use forage_base::{Pace, Stop};

use super::automaton::{Automaton, AutomatonCache, FuzzyEvent};
use super::graph::border_before;
use super::simulation::{FuzzySimulation, SimulationSearch, WantedMatch};
use super::{Fuzzy, SearchedText};
use crate::event::Span;
use crate::limits;
use crate::lines::{line_at, lines, piece_end};
use crate::prefilter::Prefilter;

/// Finds fuzzy matches. Each worker has its own.
#[derive(Debug)]
pub(crate) struct FuzzyFinder<'p> {
    fuzzy: &'p Fuzzy,
    /// Ends searches in the middle of a line.
    pace: Pace,
    /// Borrowed for the duration of one search, never while a callback runs.
    scratch: RefCell<Scratch>,
}

#[derive(Debug)]
struct Scratch {
    /// One cache per automaton.
    caches: Vec<AutomatonCache>,
    simulation: FuzzySimulation,
}

impl<'p> FuzzyFinder<'p> {
    pub(crate) fn new(fuzzy: &'p Fuzzy, stop: &Stop) -> Self {
        let caches = fuzzy.automata.iter().map(|_| AutomatonCache::default()).collect();
        Self {
            fuzzy,
            pace: Pace::new(stop, limits::WORK_PER_LOOK),
            scratch: RefCell::new(Scratch { caches, simulation: FuzzySimulation::new() }),
        }
    }

    /// Returns true if `line`, which must be given without its line feed, matches.
    pub(crate) fn is_match(&self, line: &[u8]) -> bool {
        self.first_end(line).is_some()
    }

    /// Finds the end of the match that ends first in a line, accurate to about one character.
    fn first_end(&self, line: &[u8]) -> Option<usize> {
        let edits = self.fuzzy.edits();
        let mut scratch = self.scratch.borrow_mut();
        let end = self.approximate_end(&mut scratch, line, 0..line.len(), edits)?;
        if self.fuzzy.automata[edits].is_exact(line) {
            return Some(end);
        }
        let range = self.earliest_start(line, 0, end, edits)..line.len();
        let search = SimulationSearch {
            graph: &self.fuzzy.graph,
            line,
            range,
            edits,
            wanted: WantedMatch::Any,
            pace: &self.pace,
        };
        scratch.simulation.search(&search, &mut u64::MAX.clone()).map(|found| found.end)
    }

    fn approximate_end(
        &self,
        scratch: &mut Scratch,
        line: &[u8],
        range: Range<usize>,
        edits: usize,
    ) -> Option<usize> {
        self.fuzzy.automata[edits].first_end(&mut scratch.caches[edits], line, range, &self.pace)
    }

    /// Computes a lower bound for the start of a match that ends at `end` or later, if no match ends before.
    /// The bound is not below `from`.
    fn earliest_start(&self, line: &[u8], from: usize, end: usize, edits: usize) -> usize {
        let Some(longest) = self.fuzzy.graph.longest else { return from };
        // We allow one extra character, as `end` may be inside one.
        let characters = longest.saturating_add(edits + 1);
        let bytes = if line.is_ascii() { characters } else { characters.saturating_mul(4) };
        border_before(line, end.saturating_sub(bytes)).max(from)
    }

    /// Calls `found` with each matching line of a text, in order, until it returns false.
    pub(crate) fn each(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        match &self.fuzzy.pieces {
            Some(SearchedText { prefilter, .. }) if prefilter.applies_to(text) => {
                self.by_candidates(prefilter, text, found)
            }
            // On a line without its line feed, a CRLF anchor also matches after the carriage return. In the
            // whole text it doesn't, so we search such patterns line by line.
            _ if self.fuzzy.graph.has_return_looks => self.line_by_line(text, found),
            _ => self.by_automaton(text, found),
        }
    }

    fn by_candidates(
        &self,
        prefilter: &Prefilter,
        text: &[u8],
        found: &mut impl FnMut(Range<usize>) -> bool,
    ) {
        prefilter.candidates_within(text, &self.pace, |_, position| {
            let line = line_at(text, position);
            let resume = line.end + 1;
            match self.is_match(&text[line.clone()]) && !found(line) || self.is_stopped() {
                true => usize::MAX,
                false => resume,
            }
        });
    }

    fn by_automaton(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let automaton = &self.fuzzy.automata[self.fuzzy.edits()];
        let mut start = 0;
        while start < text.len() && !self.is_stopped() {
            let end = piece_end(text, start, automaton.quick_bytes());
            let mut each = |line: Range<usize>| found(start + line.start..start + line.end);
            if !self.by_automaton_in(automaton, &text[start..end], &mut each) {
                return;
            }
            start = end;
        }
    }

    /// Searches one piece of a text. Returns true if the search should continue after it.
    fn by_automaton_in(
        &self,
        automaton: &Automaton,
        text: &[u8],
        found: &mut impl FnMut(Range<usize>) -> bool,
    ) -> bool {
        let edits = self.fuzzy.edits();
        let mut position = 0;
        while position < text.len() {
            let hit = {
                let mut scratch = self.scratch.borrow_mut();
                automaton.next_hit(&mut scratch.caches[edits], text, position, &self.pace)
            };
            let Some(hit) = hit else { break };
            let (FuzzyEvent::Match(at) | FuzzyEvent::Unknown(at)) = hit;
            let line = line_at(text, at);
            position = line.end + 1;
            let matches = matches!(hit, FuzzyEvent::Match(_)) || self.is_match(&text[line.clone()]);
            if matches && !found(line) || self.is_stopped() {
                return false;
            }
        }
        true
    }

    fn line_by_line(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let _ = lines(text)
            .all(|line| (!self.is_match(&text[line.clone()]) || found(line)) && !self.is_stopped());
    }

    /// Finds the best match of a line: the first of those with the fewest edits.
    pub(crate) fn best_span(&self, line: &[u8]) -> Option<Span> {
        self.rounds(line, 1).into_iter().next()
    }

    /// Finds the matches of a line, ordered by distance and then by position.
    pub(crate) fn best_first(&self, line: &[u8]) -> Vec<Span> {
        self.rounds(line, limits::LINE_SPANS)
    }

    /// Returns true if a search may have to end within a line of `bytes` bytes.
    pub(crate) fn may_take_long(&self, bytes: usize) -> bool {
        bytes > self.fuzzy.automata[self.fuzzy.edits()].quick_bytes()
    }

    /// Returns true if a search ended within a line. In this case, a missing match there means nothing.
    pub(crate) fn is_stopped(&self) -> bool {
        self.pace.is_stopped()
    }

    /// Finds the first `max` matches in this order: by distance, then by position.
    fn rounds(&self, line: &[u8], max: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        let Some(window) = self.window(line) else { return spans };
        let mut scratch = self.scratch.borrow_mut();
        let mut steps = limits::FUZZY_SPAN_STEPS;
        let mut gaps = vec![window];
        for distance in 0..=self.fuzzy.edits() {
            let mut left = Vec::new();
            for mut gap in gaps {
                while spans.len() < max
                    && let Some(found) = self.leftmost(&mut scratch, line, &gap, distance, &mut steps)
                {
                    left.push(gap.start..found.start);
                    gap.start = found.end;
                    let distance = u8::try_from(distance).unwrap_or(u8::MAX);
                    spans.push(Span { start: found.start, end: found.end, distance });
                }
                left.push(gap);
            }
            // Shorter gaps can't contain a match. A pattern always has more characters than edits; see
            // `Fuzzy::graph`.
            let shortest = self.fuzzy.graph.shortest - self.fuzzy.edits();
            left.retain(|gap| gap.len() >= shortest);
            gaps = left;
            if spans.len() >= max {
                break;
            }
        }
        spans
    }

    fn leftmost(
        &self,
        scratch: &mut Scratch,
        line: &[u8],
        gap: &Range<usize>,
        edits: usize,
        steps: &mut u64,
    ) -> Option<Range<usize>> {
        let end = self.approximate_end(scratch, line, gap.clone(), edits)?;
        let range = self.earliest_start(line, gap.start, end, edits)..gap.end;
        let search = SimulationSearch {
            graph: &self.fuzzy.graph,
            line,
            range,
            edits,
            wanted: WantedMatch::Leftmost,
            pace: &self.pace,
        };
        scratch.simulation.search(&search, steps)
    }

    /// Chooses the part of a line to search for matches. Returns `None` if the line is long and has no match.
    fn window(&self, line: &[u8]) -> Option<Range<usize>> {
        if line.len() <= limits::FUZZY_WINDOW_BYTES {
            return Some(0..line.len());
        }
        let end = self.first_end(line)?;
        let middle = end.clamp(limits::FUZZY_WINDOW_BYTES / 2, line.len() - limits::FUZZY_WINDOW_BYTES / 2);
        let border = |at: usize| border_before(line, at);
        Some(border(middle - limits::FUZZY_WINDOW_BYTES / 2)..border(middle + limits::FUZZY_WINDOW_BYTES / 2))
    }
}
