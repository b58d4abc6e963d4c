//! Finds the matching lines of a buffer, in order.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::time::Instant;

use forage_base::{Pace, Stop};
use forage_fs::{Encoding, RelPath};
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::RegexMatcher;
use regex_automata::util::iter::Searcher;
use regex_automata::{Input, Match, PatternID};

use crate::event::Span;
use crate::fuzzy::FuzzyFinder;
use crate::limits::{BYTES_PER_CHECK, SPANS_GRACE, WORK_PER_LOOK};
use crate::pattern::Pattern;
use crate::prefilter::Prefilter;
use crate::scan::TextSearch;
use crate::stepped::{SteppedCache, SteppedEnd, SteppedRegex};
use crate::whole_text::{PatternMatcher, WholeTextFinder};

/// Finds the matching lines of texts in memory, one text after another.
#[derive(Debug)]
pub struct LineMatches<'p> {
    finder: LineFinder<'p>,
    stop: Stop,
    too_slow: Cell<u64>,
}

impl<'p> LineMatches<'p> {
    /// Creates a search for a pattern.
    #[must_use]
    pub fn new(pattern: &'p Pattern, stop: &Stop) -> Self {
        Self { finder: LineFinder::new(pattern, stop), stop: stop.clone(), too_slow: Cell::default() }
    }

    /// Returns the matching lines of a text, without their line feeds, in order. Some are missing if the call
    /// has to end, or if the pattern takes too many steps.
    #[must_use]
    pub fn of(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        if !self.finder.rules_out(text) {
            self.finder.each(text, &self.stop, |line| {
                found.push(line);
                true
            });
            self.too_slow.update(|texts| texts + u64::from(self.finder.take_too_slow()));
        }
        found
    }

    /// Returns the number of texts that were not searched completely because the pattern took too many steps.
    #[must_use]
    pub fn too_slow(&self) -> u64 {
        self.too_slow.get()
    }
}

/// A source of the matching lines of a text.
pub(crate) trait MatchingLines {
    /// Calls `found` with each matching line (without its line feed), in order, until it returns false or the
    /// call must stop.
    fn each(&self, text: &[u8], stop: &Stop, found: impl FnMut(Range<usize>) -> bool);
}

/// Finds matching lines. Each worker has its own.
#[derive(Debug)]
pub(crate) struct LineFinder<'p> {
    engine: LineEngine<'p>,
    /// If true, finds the lines that do not match.
    invert: bool,
    /// See [`Pattern::matches_bytes`].
    matches_bytes: bool,
}

#[derive(Debug)]
enum LineEngine<'p> {
    Exact(Box<Exact<'p>>),
    Fuzzy(Box<FuzzyFinder<'p>>),
    WholeText(Box<WholeTextFinder>),
}

#[derive(Debug)]
struct Exact<'p> {
    pattern: &'p Pattern,
    matcher: RegexMatcher,
    pace: Pace,
    /// For lines on which the matcher could take long; borrowed for the duration of one search.
    stepped: RefCell<Option<SteppedCache>>,
    /// After the end of the call, we still locate matches until this time.
    grace: Cell<Option<Instant>>,
    /// True if some requested matches were not located.
    is_cut: Cell<bool>,
}

/// Finds the line that contains `position`, without its line feed.
pub(crate) fn line_at(text: &[u8], position: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &text[..position]).map_or(0, |feed| feed + 1);
    let end = memchr::memchr(b'\n', &text[position..]).map_or(text.len(), |feed| position + feed);
    start..end
}

/// Iterates over the lines of a text, without their line feeds.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut position = 0;
    std::iter::from_fn(move || {
        let line = (position < text.len()).then(|| line_at(text, position))?;
        position = line.end + 1;
        Some(line)
    })
}

impl<'p> LineFinder<'p> {
    /// Creates a finder. `stop` also ends a search in the middle of a line, because a long line can take
    /// minutes.
    pub(crate) fn new(pattern: &'p Pattern, stop: &Stop) -> Self {
        let engine = match (pattern.fuzzy(), pattern.matcher()) {
            (Some(fuzzy), _) => LineEngine::Fuzzy(Box::new(FuzzyFinder::new(fuzzy, stop))),
            (None, PatternMatcher::Regex(matcher)) if !pattern.spans_lines() => {
                LineEngine::Exact(Box::new(Exact {
                    pattern,
                    matcher: matcher.clone(),
                    pace: Pace::new(stop, WORK_PER_LOOK),
                    stepped: RefCell::default(),
                    grace: Cell::default(),
                    is_cut: Cell::default(),
                }))
            }
            (None, matcher) => {
                let finder = WholeTextFinder::new(matcher.clone(), pattern.spans_lines(), stop);
                LineEngine::WholeText(Box::new(finder))
            }
        };
        Self { engine, invert: false, matches_bytes: pattern.matches_bytes() }
    }

    /// With `invert`, makes the finder find the lines that do not match.
    pub(crate) fn inverted(self, invert: bool) -> Self {
        Self { invert, ..self }
    }

    /// Starts a new file, and returns true if the pattern can match in it.
    pub(crate) fn begin(&self, path: &RelPath) -> bool {
        match &self.engine {
            LineEngine::WholeText(finder) => finder.begin(path),
            LineEngine::Exact(_) | LineEngine::Fuzzy(_) => true,
        }
    }

    /// Returns true if a search had to end within a line. In this case, a missing match there means nothing.
    pub(crate) fn is_stopped(&self) -> bool {
        match &self.engine {
            LineEngine::Exact(exact) => exact.pace.is_stopped(),
            LineEngine::Fuzzy(finder) => finder.is_stopped(),
            LineEngine::WholeText(finder) => finder.is_stopped(),
        }
    }

    /// Returns true if the pattern took too many steps on a text since the last call.
    pub(crate) fn take_too_slow(&self) -> bool {
        matches!(&self.engine, LineEngine::WholeText(finder) if finder.take_too_slow())
    }

    /// Returns true if matches are missing because the call had to end.
    pub(crate) fn is_cut(&self) -> bool {
        match &self.engine {
            LineEngine::Exact(exact) => exact.is_cut.get(),
            LineEngine::Fuzzy(finder) => finder.is_stopped(),
            LineEngine::WholeText(_) => false,
        }
    }

    /// Returns true if a search may have to end within a line of `bytes` bytes.
    pub(crate) fn may_take_long(&self, bytes: usize) -> bool {
        match &self.engine {
            LineEngine::Exact(exact) => exact.pattern.may_take_long(bytes),
            LineEngine::Fuzzy(finder) => finder.may_take_long(bytes),
            LineEngine::WholeText(_) => false,
        }
    }

    /// Finds the first match in a line without its line feed, or the best match if the search is fuzzy.
    pub(crate) fn first_span(&self, line: &[u8]) -> Option<Range<usize>> {
        if self.invert {
            return None;
        }
        match &self.engine {
            LineEngine::Exact(exact) => exact.find(line, 0),
            LineEngine::Fuzzy(finder) => finder.best_span(line).map(|span| span.start..span.end),
            LineEngine::WholeText(finder) if finder.finds_in_lines() => finder.find_at(line, 0),
            LineEngine::WholeText(_) => None,
        }
    }

    /// Finds up to `max` matches within `part` of a line, which must be given without its line feed.
    pub(crate) fn spans(&self, line: &[u8], part: &Range<usize>, max: usize) -> Vec<Span> {
        if max == 0 || self.invert {
            return Vec::new();
        }
        // Most lines have only one match.
        let mut spans = Vec::with_capacity(1);
        let mut add = |span: Span| {
            let Span { start, end, distance } = span;
            let inside = start < part.end && end > part.start;
            let empty_inside =
                start == end && part.start <= start && (start < part.end || part.end == line.len());
            if inside || empty_inside {
                let (start, end) = (start.max(part.start) - part.start, end.min(part.end) - part.start);
                spans.push(Span { start, end, distance });
            }
            start < part.end.max(1) && spans.len() < max
        };
        match &self.engine {
            LineEngine::Exact(exact) => {
                exact.find_each(line, |found| add(Span { start: found.start, end: found.end, distance: 0 }));
            }
            // A match across lines has no position within one line.
            LineEngine::WholeText(finder) if !finder.finds_in_lines() => {}
            LineEngine::WholeText(finder) => {
                let mut at = 0;
                while at <= line.len()
                    && let Some(found) = finder.find_at(line, at)
                    && add(Span { start: found.start, end: found.end, distance: 0 })
                {
                    at = found.end.max(found.start + 1);
                }
            }
            LineEngine::Fuzzy(finder) => {
                // The best matches come first, so a limit cuts the worst ones.
                let _ = finder.best_first(line).into_iter().all(|span| {
                    add(span);
                    true
                });
                spans.truncate(max);
                spans.sort_unstable_by_key(|span| span.start);
            }
        }
        spans
    }

    /// Returns true if `line`, which must be given without its line feed, matches.
    pub(crate) fn is_match(&self, line: &[u8]) -> bool {
        match &self.engine {
            LineEngine::Exact(exact) => exact.is_match(line),
            LineEngine::Fuzzy(finder) => finder.is_match(line),
            LineEngine::WholeText(finder) => finder.find_at(line, 0).is_some(),
        }
    }
}

impl Exact<'_> {
    fn is_match(&self, line: &[u8]) -> bool {
        match self.stepped_for(line.len()) {
            Some(regex) => {
                self.by_steps(regex, |regex, cache| regex.is_match(cache, line, &self.pace)).unwrap_or(false)
            }
            None => self.allows(line.len()) && self.matcher.is_match(line).unwrap_or(false),
        }
    }

    /// Finds the leftmost match in a line at or after `at`.
    fn find(&self, line: &[u8], at: usize) -> Option<Range<usize>> {
        let bytes = line.len() - at;
        match self.stepped_for(bytes) {
            Some(regex) => {
                let found = self.by_steps(regex, |regex, cache| regex.find(cache, line, at, &self.pace));
                self.is_cut.set(self.is_cut.get() || found.is_err());
                found.ok().flatten()
            }
            // There is no grace period for work that may take long.
            None if !self.allows(bytes) && (self.pattern.may_take_long(bytes) || !self.is_in_grace()) => {
                self.is_cut.set(true);
                None
            }
            None => {
                let found = self.matcher.find_at(line, at).ok().flatten();
                found.map(|found| found.start()..found.end())
            }
        }
    }

    /// Calls `found` with the successive matches in a line until it returns false.
    fn find_each(&self, line: &[u8], mut found: impl FnMut(Range<usize>) -> bool) {
        if let Some(literal) = self.prefilter_that_confirms() {
            // This reads each byte at most a few times, so it needs no deadline check.
            literal.candidates(line, 0, |_, start| {
                let end = start + literal.longest();
                if found(start..end) { end } else { usize::MAX }
            });
            return;
        }
        let mut searcher = Searcher::new(Input::new(line));
        while let Some(next) = searcher.advance(|input| {
            // After an empty match at the end there is nothing left to search.
            let next = if input.is_done() { None } else { self.find(line, input.start()) };
            Ok(next.map(|next| Match::new(PatternID::ZERO, next)))
        }) && found(next.range())
        {}
    }

    /// Returns true if the call ended only a moment ago. The grace period begins with the first check.
    fn is_in_grace(&self) -> bool {
        let now = Instant::now();
        let end = self.grace.get().unwrap_or(now + SPANS_GRACE);
        self.grace.set(Some(end));
        now < end
    }

    fn prefilter_that_confirms(&self) -> Option<&Prefilter> {
        self.pattern.prefilter().filter(|_| self.pattern.is_confirmed())
    }

    /// Returns true if the matcher may process this many bytes before the next deadline check.
    fn allows(&self, bytes: usize) -> bool {
        self.pace.allows(self.pattern.positions().saturating_mul(bytes as u64))
    }

    /// Returns the interruptible regex if the matcher could take long.
    fn stepped_for(&self, bytes: usize) -> Option<&SteppedRegex> {
        if self.pattern.may_take_long(bytes) { self.pattern.stepped(&self.pace) } else { None }
    }

    fn by_steps<T>(
        &self,
        regex: &SteppedRegex,
        search: impl FnOnce(&SteppedRegex, &mut SteppedCache) -> Result<T, SteppedEnd>,
    ) -> Result<T, SteppedEnd> {
        search(regex, self.stepped.borrow_mut().get_or_insert_with(|| regex.create_cache()))
    }

    fn each(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        match self.pattern.prefilter() {
            Some(prefilter) if prefilter.applies_to(text) => self.by_candidates(prefilter, text, found),
            _ if self.matcher.line_terminator().is_some() => self.by_regex(text, found),
            // Note that `\A` and `\z` refer to the ends of the line, so we must search each line separately.
            _ => self.line_by_line(text, found),
        }
    }

    fn by_candidates(
        &self,
        prefilter: &Prefilter,
        text: &[u8],
        found: &mut impl FnMut(Range<usize>) -> bool,
    ) {
        let confirmed = self.pattern.is_confirmed();
        prefilter.candidates_within(text, &self.pace, |_, position| {
            let line = line_at(text, position);
            let resume = line.end + 1;
            let matches = confirmed || self.is_match(&text[line.clone()]);
            if matches && !found(line) || self.pace.is_stopped() { usize::MAX } else { resume }
        });
    }

    fn by_regex(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        // A piece of this size can be searched between two deadline checks.
        let quick = usize::try_from(WORK_PER_LOOK / self.pattern.positions()).unwrap_or(usize::MAX);
        let mut start = 0;
        let mut go_on = true;
        while go_on && start < text.len() && !self.pace.is_stopped() {
            let end = piece_end(text, start, quick.min(BYTES_PER_CHECK));
            let mut each = |line: Range<usize>| {
                go_on = found(start + line.start..start + line.end);
                go_on
            };
            let piece = &text[start..end];
            match self.pattern.may_take_long(piece.len()) {
                true => self.line_by_line(piece, &mut each),
                false if self.allows(piece.len()) => self.by_regex_in(piece, &mut each),
                false => return,
            }
            start = end;
        }
    }

    fn by_regex_in(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let mut position = 0;
        while position < text.len() {
            let kind = self.matcher.find_candidate_line(&text[position..]).unwrap_or(None);
            let (offset, confirmed) = match kind {
                None => return,
                Some(LineMatchKind::Confirmed(offset)) => (offset, true),
                Some(LineMatchKind::Candidate(offset)) => (offset, false),
            };
            let at = position + offset;
            // An empty match after the last line feed does not belong to a line.
            if at >= text.len() && text.last() == Some(&b'\n') {
                return;
            }
            let line = line_at(text, at);
            position = line.end + 1;
            let matches = confirmed || self.is_match(&text[line.clone()]);
            if matches && !found(line) || self.pace.is_stopped() {
                return;
            }
        }
    }

    fn line_by_line(&self, text: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let _ = lines(text)
            .all(|line| (!self.is_match(&text[line.clone()]) || found(line)) && !self.pace.is_stopped());
    }
}

impl LineFinder<'_> {
    fn each_match(&self, piece: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        match &self.engine {
            LineEngine::Exact(exact) => exact.each(piece, found),
            LineEngine::Fuzzy(finder) => finder.each(piece, found),
            LineEngine::WholeText(finder) => finder.each(piece, self.invert, found),
        }
    }

    /// Finds the lines that do not match. If the search was stopped, we don't know whether the last lines
    /// match.
    fn each_other(&self, piece: &[u8], found: &mut impl FnMut(Range<usize>) -> bool) {
        let (mut next, mut go_on) = (0, true);
        let mut others = |until: usize, next: usize| {
            lines(&piece[next..until]).all(|line| found(next + line.start..next + line.end))
        };
        self.each_match(piece, &mut |line| {
            go_on = others(line.start, next);
            next = piece.len().min(line.end + 1);
            go_on
        });
        if go_on && !self.is_stopped() {
            others(piece.len(), next);
        }
    }
}

impl TextSearch for LineFinder<'_> {
    fn rules_out(&self, raw: &[u8]) -> bool {
        match &self.engine {
            LineEngine::Exact(exact) if !self.invert => {
                exact.pattern.prefilter().is_some_and(|prefilter| prefilter.rules_out(raw, &exact.pace))
            }
            _ => false,
        }
    }

    fn encoding(&self, head: &[u8]) -> Encoding {
        if self.matches_bytes { Encoding::by_mark(head) } else { Encoding::detect(head) }
    }
}

impl MatchingLines for LineFinder<'_> {
    fn each(&self, text: &[u8], stop: &Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        let mut start = 0;
        let mut go_on = true;
        // These matches may span several pieces.
        let is_whole = matches!(self.engine, LineEngine::WholeText(_));
        while go_on && start < text.len() {
            let end = if is_whole { text.len() } else { piece_end(text, start, BYTES_PER_CHECK) };
            let piece = &text[start..end];
            let mut found = |line: Range<usize>| {
                go_on = found(start + line.start..start + line.end);
                go_on
            };
            if self.invert {
                self.each_other(piece, &mut found)
            } else {
                self.each_match(piece, &mut found)
            }
            start = end;
            if start < text.len() && (self.is_stopped() || stop.check().is_some()) {
                return;
            }
        }
    }
}

/// Finds the end of the piece that begins at `start`. This is after a line feed and at least `bytes` later.
pub(crate) fn piece_end(text: &[u8], start: usize, bytes: usize) -> usize {
    let least = start.saturating_add(bytes.max(1)) - 1;
    match text.get(least..) {
        Some(rest) => memchr::memchr(b'\n', rest).map_or(text.len(), |feed| least + feed + 1),
        None => text.len(),
    }
}
