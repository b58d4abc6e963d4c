//! The lines of a buffer that match, in order.

use std::ops::Range;

use forage_fs::Stop;
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::RegexMatcher;

use crate::event::Span;
use crate::fuzzy::FuzzyFinder;
use crate::limits::BYTES_PER_CHECK;
use crate::pattern::Pattern;
use crate::prefilter::Prefilter;

/// Where the matching lines of a text come from.
pub(crate) trait MatchingLines {
    /// Calls `found` with each matching line (without its line feed), in order, until it returns false or the call
    /// must stop.
    fn each(&self, text: &[u8], stop: &Stop, found: impl FnMut(Range<usize>) -> bool);
}

/// Finds matching lines for one worker.
#[derive(Debug)]
pub(crate) struct LineFinder<'p> {
    engine: Engine<'p>,
}

#[derive(Debug)]
enum Engine<'p> {
    Exact(Exact<'p>),
    Fuzzy(Box<FuzzyFinder<'p>>),
}

#[derive(Debug)]
struct Exact<'p> {
    matcher: RegexMatcher,
    prefilter: Option<&'p Prefilter>,
    confirmed: bool,
}

/// The line that holds `position`, without its line feed.
pub(crate) fn line_at(text: &[u8], position: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &text[..position]).map_or(0, |feed| feed + 1);
    let end = memchr::memchr(b'\n', &text[position..]).map_or(text.len(), |feed| position + feed);
    start..end
}

/// All lines of a text, without their line feeds.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let line = (position < text.len()).then(|| line_at(text, position))?;
        position = line.end + 1;
        Some(line)
    })
}

impl<'p> LineFinder<'p> {
    pub(crate) fn new(pattern: &'p Pattern) -> Self {
        let engine = match pattern.fuzzy() {
            Some(fuzzy) => Engine::Fuzzy(Box::new(FuzzyFinder::new(fuzzy))),
            None => Engine::Exact(Exact {
                matcher: pattern.matcher(),
                prefilter: pattern.prefilter(),
                confirmed: pattern.is_confirmed(),
            }),
        };
        Self { engine }
    }

    /// With the wish to end in the middle of a line: a fuzzy search of a long one can take seconds. What it found there
    /// is then incomplete.
    pub(crate) fn stopping(mut self, stop: &Stop) -> Self {
        if let Engine::Fuzzy(finder) = &mut self.engine {
            finder.stop_at(stop);
        }
        self
    }

    /// The first match in a line, without its line feed; of a fuzzy search the best one.
    pub(crate) fn first_span(&self, line: &[u8]) -> Option<Range<usize>> {
        match &self.engine {
            Engine::Exact(exact) => {
                exact.matcher.find(line).ok().flatten().map(|found| found.start()..found.end())
            }
            Engine::Fuzzy(finder) => finder.best_span(line).map(|span| span.start..span.end),
        }
    }

    /// The spans of the matches in a line, without its line feed, that lie in `part` of it, at most `most`.
    pub(crate) fn spans(&self, line: &[u8], part: &Range<usize>, most: usize) -> Vec<Span> {
        let mut spans = Vec::new();
        if most == 0 {
            return spans;
        }
        let mut add = |span: Span| {
            let Span { start, end, distance } = span;
            let inside = start < part.end && end > part.start;
            let empty_inside =
                start == end && part.start <= start && (start < part.end || part.end == line.len());
            if inside || empty_inside {
                let (start, end) = (start.max(part.start) - part.start, end.min(part.end) - part.start);
                spans.push(Span { start, end, distance });
            }
            start < part.end.max(1) && spans.len() < most
        };
        match &self.engine {
            Engine::Exact(exact) => {
                // This matcher's error type has no value: none of its calls can fail.
                let _ = exact.matcher.find_iter(line, |found| {
                    add(Span { start: found.start(), end: found.end(), distance: 0 })
                });
            }
            Engine::Fuzzy(finder) => {
                // The best come first: it is the worst that a limit leaves out.
                let _ = finder.best_first(line).into_iter().all(|span| {
                    add(span);
                    true
                });
                spans.truncate(most);
                spans.sort_unstable_by_key(|span| span.start);
            }
        }
        spans
    }

    /// Whether a line, without its line feed, matches.
    pub(crate) fn is_match(&self, line: &[u8]) -> bool {
        match &self.engine {
            Engine::Exact(exact) => exact.is_match(line),
            Engine::Fuzzy(finder) => finder.is_match(line),
        }
    }
}

impl Exact<'_> {
    fn is_match(&self, line: &[u8]) -> bool {
        self.matcher.is_match(line).unwrap_or(false)
    }

    fn each(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        match self.prefilter {
            Some(prefilter) if prefilter.applies_to(text) => self.by_candidates(prefilter, text, found),
            _ if self.matcher.line_terminator().is_some() => self.by_regex(text, found),
            // `\A` and `\z` mean the ends of the line, so each line is looked at alone.
            _ => self.line_by_line(text, found),
        }
    }

    fn by_candidates(
        &self,
        prefilter: &Prefilter,
        text: &[u8],
        found: &mut impl FnMut(Range<usize>) -> bool,
    ) {
        prefilter.candidates(text, 0, |_, position| {
            let line = line_at(text, position);
            let resume = line.end + 1;
            if (self.confirmed || self.is_match(&text[line.clone()])) && !found(line) {
                return usize::MAX;
            }
            resume
        });
    }

    fn by_regex(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let mut position = 0;
        while position < text.len() {
            let kind = self.matcher.find_candidate_line(&text[position..]).unwrap_or(None);
            let (offset, confirmed) = match kind {
                None => return,
                Some(LineMatchKind::Confirmed(offset)) => (offset, true),
                Some(LineMatchKind::Candidate(offset)) => (offset, false),
            };
            let at = position + offset;
            // An empty match behind the last line feed belongs to no line.
            if at >= text.len() && text.last() == Some(&b'\n') {
                return;
            }
            let line = line_at(text, at);
            position = line.end + 1;
            if (confirmed || self.is_match(&text[line.clone()])) && !found(line) {
                return;
            }
        }
    }

    fn line_by_line(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let _ = lines(text).all(|line| !self.is_match(&text[line.clone()]) || found(line));
    }
}

impl MatchingLines for LineFinder<'_> {
    fn each(&self, text: &[u8], stop: &Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        let mut start = 0;
        let mut go_on = true;
        while go_on && start < text.len() {
            let end = piece_end(text, start);
            let piece = &text[start..end];
            let mut found = |line: Range<usize>| {
                go_on = found(start + line.start..start + line.end);
                go_on
            };
            match &self.engine {
                Engine::Exact(exact) => exact.each(piece, &mut found),
                Engine::Fuzzy(finder) => finder.each(piece, &mut found),
            }
            start = end;
            if start < text.len() && stop.check().is_some() {
                return;
            }
        }
    }
}

/// The end of the piece that begins at `start`: behind a line feed, after enough bytes to make the look at the
/// clock that follows it cheap.
fn piece_end(text: &[u8], start: usize) -> usize {
    let least = start + BYTES_PER_CHECK;
    match text.get(least..) {
        Some(rest) => memchr::memchr(b'\n', rest).map_or(text.len(), |feed| least + feed + 1),
        None => text.len(),
    }
}
