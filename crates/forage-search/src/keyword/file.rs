//! Searches one file for all terms.

use std::cell::Cell;
use std::io::Read;
use std::ops::Range;

use forage_base::{Pace, Stop};
use forage_fs::{RelPath, Skipped, is_binary};
use forage_redact::KeyBlocks;
use regex_syntax::hir::Hir;

use super::account::{EvidenceLine, FileEvidence, Nearby, TermMatches};
use crate::buffer::{LineCounter, lines_before, with_feed};
use crate::event::EventKind;
use crate::large::{LineMatcher, LineSink, search_reader};
use crate::limits::{COUNTED_LINES, TERMS, WORK_PER_LOOK};
use crate::lines::{LineFinder, MatchingLines, line_at};
use crate::pattern::Pattern;
use crate::prefilter::Prefilter;
use crate::scan::TextSearch;

/// The limits for collecting the matches of each file.
#[derive(Clone, Copy, Debug)]
pub(super) struct CollectLimits {
    /// A term with more bytes of output than this is too broad.
    pub(super) term_bytes: u64,
    /// Lines of context.
    pub(super) context: u64,
    /// If true, we still count terms that a file makes too broad.
    pub(super) counts_all: bool,
    /// Maximum number of bytes of a line to count as printed; longer lines are shown in part.
    pub(super) line_bytes: u64,
    /// If true, a long line counts only with its shown length when we decide whether a term is too broad.
    pub(super) cuts_lines: bool,
}

impl CollectLimits {
    /// The length above which we keep only a part of a line. The requirement's rule prints all of it. A line
    /// beyond the limit of a term makes it too broad anyway.
    fn longest_line(&self) -> usize {
        match (self.counts_all, self.cuts_lines) {
            (false, _) => usize::MAX,
            // `EvidenceLine::shorten` has a limit of its own.
            (true, true) => 0,
            (true, false) => usize::try_from(self.term_bytes).unwrap_or(usize::MAX),
        }
    }
}

/// A selection of the lines of a file to keep.
pub(super) struct LineSelection<'a> {
    /// The terms whose lines are all kept, as a bitmap.
    pub(super) complete: u64,
    /// Maximum number of lines of the other terms.
    pub(super) max: usize,
    /// The value by which these lines are chosen.
    pub(super) weight_of: LineWeight<'a>,
}

/// Computes the value of a line that these terms match.
pub(super) type LineWeight<'a> = &'a (dyn Fn(u64) -> f64 + Sync);

impl LineSelection<'_> {
    /// Chooses lines and returns their indices in order. `lines` must yield the terms of each line.
    fn choose(&self, lines: impl Iterator<Item = u64>) -> Vec<usize> {
        let (mut chosen, mut others) = (Vec::new(), Vec::new());
        for (index, terms) in lines.enumerate() {
            if terms & self.complete != 0 {
                chosen.push(index)
            } else {
                others.push((index, (self.weight_of)(terms)))
            }
        }
        others.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        chosen.extend(others.into_iter().take(self.max).map(|(index, _)| index));
        chosen.sort_unstable();
        chosen
    }
}

/// Finds the lines that match any of the live terms. Each worker has its own.
pub(super) struct TermFinder<'p> {
    patterns: &'p [Option<Pattern>],
    finders: Vec<Option<LineFinder<'p>>>,
    live: u64,
    /// The start of the search, to which printed paths are relative.
    start: &'p RelPath,
    gathering: CollectLimits,
    /// The terms that we search for together by their literals, and the filter that finds them.
    together: Option<(Vec<usize>, Prefilter)>,
    /// The terms that we search for one by one.
    alone: Vec<usize>,
    pace: Pace,
}

/// A matching line: its range without line feed, and the terms that match it.
#[derive(Clone, Debug)]
pub(super) struct KeywordHit {
    pub(super) line: Range<usize>,
    pub(super) terms: u64,
}

/// The matching lines of a file, collected term by term.
struct Hits {
    found: Vec<KeywordHit>,
    /// The last line that matches a term with enough lines. We only keep it if another term matches it too.
    passed: Option<KeywordHit>,
    /// The counts of each term.
    counts: Vec<Count>,
    /// The terms that this file alone makes too broad, as a bitmap. Their lines must not accumulate.
    over: u64,
    /// The terms that we no longer search for in this file, as a bitmap.
    full: u64,
    /// The terms whose lines are kept instead of only counted, as a bitmap.
    wanted: u64,
    /// Minimum number of bytes printed before each line: path, a one-digit number, separators.
    head: u64,
    gathering: CollectLimits,
}

/// The matching lines of one term in one file.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    lines: u32,
    /// Minimum number of bytes printed for them without context.
    printed: u64,
    /// The same with long lines cut.
    cut: u64,
    /// The end of the last of them.
    end: usize,
}

impl Hits {
    fn new(path_bytes: usize, terms: usize, gathering: CollectLimits, wanted: u64) -> Self {
        let counts = vec![Count::default(); terms.min(TERMS)];
        Self {
            found: Vec::new(),
            passed: None,
            counts,
            over: 0,
            full: 0,
            wanted,
            head: path_bytes as u64 + 3,
            gathering,
        }
    }

    /// Adds a line. Returns false if we need not search for the term any more.
    fn add(&mut self, term: usize, line: &Range<usize>) -> bool {
        let bytes = line.len() as u64 + 1;
        let Some(count) = self.counts.get_mut(term) else { return false };
        count.lines += 1;
        count.printed += self.head + bytes;
        count.cut += self.head + bytes.min(self.gathering.line_bytes);
        count.end = line.end;
        let printed = if self.gathering.cuts_lines { count.cut } else { count.printed };
        if printed > self.gathering.term_bytes {
            self.over |= 1 << term;
            if self.gathering.cuts_lines {
                self.pass(term, line);
                return true;
            }
            let is_enough = !self.gathering.counts_all || count.lines >= COUNTED_LINES;
            self.full |= u64::from(is_enough) << term;
            return !is_enough;
        }
        if self.wanted >> term & 1 == 1 {
            let passed = self.passed.take_if(|passed| passed.line.start == line.start);
            let terms = 1 << term | passed.map_or(0, |passed| passed.terms);
            match self.found.last_mut() {
                Some(last) if last.line.start == line.start => last.terms |= terms,
                _ => self.found.push(KeywordHit { line: line.clone(), terms }),
            }
        }
        true
    }

    /// Adds a line of a term that already has enough. We only keep this line if other terms match it too,
    /// because such a line is the most informative.
    fn pass(&mut self, term: usize, line: &Range<usize>) {
        match self.found.last_mut() {
            Some(last) if last.line.start == line.start => last.terms |= 1 << term,
            _ => match self.passed.take() {
                Some(passed) if passed.line.start == line.start => {
                    self.found.push(KeywordHit { terms: passed.terms | 1 << term, ..passed });
                }
                _ => self.passed = Some(KeywordHit { line: line.clone(), terms: 1 << term }),
            },
        }
    }

    /// All terms with matches, as a bitmap.
    fn terms(&self) -> u64 {
        let matching = self.counts.iter().enumerate().filter(|(_, count)| count.lines > 0);
        matching.fold(0, |terms, (term, _)| terms | 1 << term)
    }

    /// Computes the counts of each term in a text.
    fn matched(&self, text: &[u8]) -> Vec<TermMatches> {
        // Shares are only needed to choose evidence, and counting the lines takes time.
        if !self.gathering.counts_all {
            return self.matched_in(|_| 0);
        }
        let lines_to = |end: usize| memchr::memchr_iter(b'\n', &text[..end.min(text.len())]).count() + 1;
        let all = lines_to(text.len().saturating_sub(1));
        self.matched_in(|end| if end == usize::MAX { all } else { lines_to(end) })
    }

    /// Computes the counts of each term. `lines_to` must return the number of lines up to an offset.
    fn matched_in(&self, lines_to: impl Fn(usize) -> usize) -> Vec<TermMatches> {
        let matches = |term: usize| {
            let count = self.counts[term];
            let is_part = self.full >> term & 1 == 1;
            let looked_at = lines_to(if is_part { count.end } else { usize::MAX }).max(1);
            let share = (count.lines as f32 / looked_at as f32).min(1.0);
            TermMatches { term: term as u8, is_part, share, lines: count.lines, bytes: count.cut }
        };
        bits(self.terms()).map(matches).collect()
    }

    /// Returns each line once, in order, with its terms.
    fn into_all_lines(mut self) -> Vec<KeywordHit> {
        self.found.sort_by_key(|hit| hit.line.start);
        self.found.dedup_by(|later, earlier| {
            let same = later.line.start == earlier.line.start;
            earlier.terms |= if same { later.terms } else { 0 };
            same
        });
        self.found
    }

    /// Returns the lines of the terms that are not too broad.
    fn into_lines(self) -> Vec<KeywordHit> {
        let over = self.over;
        let mut lines = self.into_all_lines();
        lines.retain_mut(|hit| {
            hit.terms &= !over;
            hit.terms != 0
        });
        lines
    }
}

impl TextSearch for TermFinder<'_> {
    fn rules_out(&self, raw: &[u8]) -> bool {
        let is_ruled_out = |prefilter: &Prefilter| prefilter.rules_out(raw, &self.pace);
        self.alone.is_empty() && self.together.as_ref().is_some_and(|(_, prefilter)| is_ruled_out(prefilter))
    }
}

impl<'p> TermFinder<'p> {
    pub(super) fn new(
        patterns: &'p [Option<Pattern>],
        live: u64,
        start: &'p RelPath,
        gathering: CollectLimits,
        stop: &Stop,
    ) -> Self {
        let finder = |pattern: &'p Option<Pattern>| Some(LineFinder::new(pattern.as_ref()?, stop));
        let mut this = Self {
            patterns,
            finders: patterns.iter().map(finder).collect(),
            live: 0,
            start,
            gathering,
            together: None,
            alone: Vec::new(),
            pace: Pace::new(stop, WORK_PER_LOOK),
        };
        this.look_for(live);
        this
    }

    /// Sets the terms to search for from now on.
    pub(super) fn look_for(&mut self, live: u64) {
        if live == self.live {
            return;
        }
        self.live = live;
        let mut together: Vec<(usize, &Hir)> = Vec::new();
        let mut alone = Vec::new();
        for (index, pattern) in bits(live).filter_map(|i| Some((i, self.patterns.get(i)?.as_ref()?))) {
            match crate::prefilter::required_literals(pattern.outline()) {
                // The call has to end, so we skip further preparation.
                _ if !self.pace.look() => alone.push(index),
                Some(_) => together.push((index, pattern.outline())),
                None => alone.push(index),
            }
        }
        let filter =
            |terms: &[(usize, &Hir)]| Prefilter::new(&terms.iter().map(|(_, hir)| *hir).collect::<Vec<_>>());
        let mut prefilter = filter(&together);
        if prefilter.is_none() && !together.is_empty() {
            // If we get here, some literal is too common to be searched for together with others, so we
            // search for its term alone.
            let mut kept = Vec::new();
            for term in together {
                kept.push(term);
                if !self.pace.look() || filter(&kept).is_none() {
                    kept.pop();
                    alone.push(term.0);
                }
            }
            together = kept;
            prefilter = filter(&together);
        }
        self.alone = alone;
        self.together =
            prefilter.map(|prefilter| (together.iter().map(|(index, _)| *index).collect(), prefilter));
    }

    /// Searches a decoded text. We only return lines that match the terms in `wanted`.
    pub(super) fn search(
        &mut self,
        path: &RelPath,
        text: &[u8],
        wanted: u64,
        stop: &Stop,
    ) -> Option<FileEvidence> {
        let mut hits = Hits::new(path.below(self.start).len(), self.patterns.len(), self.gathering, wanted);
        self.find(text, stop, &mut hits);
        let all = hits.terms();
        if all == 0 {
            return None;
        }
        if is_binary(text) {
            return Some(FileEvidence { binary: all, ..self.file(path, Vec::new()) });
        }
        let (over, matched) = (hits.over, hits.matched(text));
        let lines = self.evidence(text, &hits.into_lines());
        Some(FileEvidence { over, matched, ..self.file(path, lines) })
    }

    /// Searches a decoded text again for its most informative lines. None of them is marked as shown yet.
    pub(super) fn best(
        &mut self,
        path: &RelPath,
        text: &[u8],
        selection: &LineSelection<'_>,
        stop: &Stop,
    ) -> Option<FileEvidence> {
        let terms = self.patterns.len();
        let mut hits = Hits::new(path.below(self.start).len(), terms, self.gathering, u64::MAX);
        self.find(text, stop, &mut hits);
        if hits.terms() == 0 || is_binary(text) {
            return None;
        }
        let matched = hits.matched(text);
        let all = hits.into_all_lines();
        let chosen = selection.choose(all.iter().map(|hit| hit.terms));
        let chosen: Vec<KeywordHit> = chosen.into_iter().map(|index| all[index].clone()).collect();
        let mut file = self.file(path, self.evidence(text, &chosen));
        for line in &mut file.lines {
            // A context line of a chosen line may itself match.
            let found = all.binary_search_by_key(&line.start, |hit| hit.line.start as u64);
            line.terms = found.map_or(0, |index| all[index].terms);
            line.is_shown = false;
        }
        Some(FileEvidence { matched, ..file })
    }

    /// Like [`TermFinder::best`], for a file too large to be held in memory.
    pub(super) fn best_of_pieces(
        &mut self,
        path: &RelPath,
        reader: &mut dyn Read,
        selection: &LineSelection<'_>,
        stop: &Stop,
    ) -> Option<FileEvidence> {
        let mut file = self.search_pieces(path, reader, true, stop, &mut Skipped::default())?;
        let matching: Vec<(u64, u64)> =
            file.lines.iter().filter(|line| line.terms != 0).map(|line| (line.number, line.terms)).collect();
        let chosen = selection.choose(matching.iter().map(|(_, terms)| *terms));
        let chosen: Vec<u64> = chosen.into_iter().map(|index| matching[index].0).collect();
        let mut near = Nearby::from_lines(chosen, self.gathering.context);
        file.lines.retain_mut(|line| {
            line.is_shown = false;
            near.holds(line.number)
        });
        Some(file)
    }

    /// Finds the matching lines of a text.
    fn find(&self, text: &[u8], stop: &Stop, hits: &mut Hits) {
        match &self.together {
            Some((terms, prefilter)) if prefilter.applies_to(text) => {
                self.search_together(terms, prefilter, text, hits);
            }
            Some((terms, _)) => terms.iter().for_each(|&term| self.search_alone(term, text, stop, hits)),
            None => {}
        }
        self.alone.iter().for_each(|&term| self.search_alone(term, text, stop, hits));
    }

    fn search_together(&self, terms: &[usize], prefilter: &Prefilter, text: &[u8], hits: &mut Hits) {
        // The line of the last candidate, and the terms that were tried on it.
        let mut line = 0..0;
        let mut tried = 0u64;
        // Without this flag, a candidate at offset 0 would seem to be on the line `0..0`.
        let mut first = true;
        prefilter.candidates_within(text, &self.pace, |index, position| {
            let Some(&term) = terms.get(index) else { return position + 1 };
            if first || position > line.end {
                (line, tried, first) = (line_at(text, position), 0, false);
            }
            if (tried | hits.full) >> term & 1 == 0 {
                tried |= 1 << term;
                if self.matches(term, &text[line.clone()]) {
                    hits.add(term, &line);
                }
                // The finder of this term may have noticed the deadline before the prefilter does.
                if self.finders[term].as_ref().is_some_and(LineFinder::is_stopped) {
                    return usize::MAX;
                }
            }
            // Another term may match on the same line, so we must not skip the rest of it.
            position + 1
        });
    }

    fn search_alone(&self, term: usize, text: &[u8], stop: &Stop, hits: &mut Hits) {
        if let Some(Some(finder)) = self.finders.get(term) {
            finder.each(text, stop, |line| hits.add(term, &line));
        }
    }

    fn matches(&self, term: usize, line: &[u8]) -> bool {
        self.finders.get(term).and_then(Option::as_ref).is_some_and(|finder| finder.is_match(line))
    }

    /// Searches a file too large to be held in memory. If the file makes a term too broad, `keeps_first`
    /// decides whether we keep the first lines of the term.
    pub(super) fn search_pieces(
        &mut self,
        path: &RelPath,
        reader: &mut dyn Read,
        keeps_first: bool,
        stop: &Stop,
        skipped: &mut Skipped,
    ) -> Option<FileEvidence> {
        let context = self.gathering.context as usize;
        let any = AnyTerm { finder: self, over: Cell::new(0) };
        let mut sink = Collector {
            any: &any,
            file: self.file(path, Vec::new()),
            bytes: 0,
            room: COLLECTED_BYTES,
            keeps_first,
        };
        let mut keys = KeyBlocks::default();
        let matcher = LineMatcher(&any, stop);
        let context = (context, context);
        let is_text = search_reader(&matcher, reader, context, stop, skipped, &mut sink, Some(&mut keys));
        let mut file = sink.file;
        if !keys.is_empty() {
            file.lines.iter_mut().for_each(|line| line.mark_keys(&keys));
        }
        file.matched = self.matched_of(&file);
        let longest = self.gathering.longest_line();
        file.lines.iter_mut().filter(|line| line.bytes.len() > longest).for_each(EvidenceLine::shorten);
        (is_text && (!file.lines.is_empty() || file.over != 0)).then_some(file)
    }

    /// Computes the counts of the terms in the collected lines. For an abandoned term we only know that it
    /// has too many.
    fn matched_of(&self, file: &FileEvidence) -> Vec<TermMatches> {
        let terms = file.lines.iter().fold(file.over, |terms, line| terms | line.terms);
        let matches = |term: usize| {
            let is_part = file.over >> term & 1 == 1;
            let (term_bytes, line_bytes) = (self.gathering.term_bytes, self.gathering.line_bytes);
            let lines = file.lines.iter().filter(|line| line.terms >> term & 1 == 1);
            let (lines, bytes) = match is_part {
                true => (COUNTED_LINES, term_bytes),
                false => lines.fold((0, 0), |(lines, bytes), line| {
                    (lines + 1, bytes + file.head_bytes(line) + (line.bytes.len() as u64).min(line_bytes))
                }),
            };
            TermMatches { term: term as u8, is_part, share: 0.0, lines, bytes }
        };
        bits(terms).map(matches).collect()
    }

    pub(super) fn file(&self, path: &RelPath, lines: Vec<EvidenceLine>) -> FileEvidence {
        let printed_path = String::from_utf8_lossy(path.below(self.start)).into_owned();
        let (path, context) = (path.clone(), self.gathering.context);
        FileEvidence { path, printed_path, lines, matched: Vec::new(), context, over: 0, binary: 0 }
    }

    /// Collects the matching lines with their context.
    pub(super) fn evidence(&self, text: &[u8], hits: &[KeywordHit]) -> Vec<EvidenceLine> {
        let context = self.gathering.context;
        let mut lines = Vec::new();
        let mut counter = LineCounter::default();
        let mut next = 0;
        let keys = if hits.is_empty() { KeyBlocks::default() } else { KeyBlocks::from_text(text) };
        for (index, hit) in hits.iter().enumerate() {
            let number = counter.number(text, hit.line.start);
            let (start, up) = lines_before(text, hit.line.start, context as usize, next);
            let until = hits.get(index + 1).map_or(text.len(), |later| later.line.start);
            let mut line_number = number - up;
            next = start;
            while next < until && line_number <= number + context {
                let line = next..memchr::memchr(b'\n', &text[next..]).map_or(text.len(), |feed| next + feed);
                let terms = if line_number == number { hit.terms } else { 0 };
                let whole = with_feed(text, &line);
                next = whole.end;
                let (start, first_match) = (line.start as u64, self.first_match(terms, &text[line]));
                let bytes = text[whole].to_vec();
                let mut line =
                    EvidenceLine { terms, first_match, ..EvidenceLine::new(line_number, start, bytes) };
                if !keys.is_empty() {
                    line.mark_keys(&keys);
                }
                if line.bytes.len() > self.gathering.longest_line() {
                    line.shorten();
                }
                lines.push(line);
                line_number += 1;
            }
        }
        lines
    }

    /// Finds the offset of the first match of any of the terms, for a line too long to be shown whole.
    fn first_match(&self, terms: u64, line: &[u8]) -> usize {
        if line.len() <= SHORT_LINE_BYTES {
            return 0;
        }
        let finder = |term: usize| self.finders.get(term)?.as_ref();
        bits(terms)
            .filter_map(finder)
            .filter_map(|finder| Some(finder.first_span(line)?.start))
            .min()
            .unwrap_or(0)
    }
}

/// Finds the lines of a large file that match any of the live terms.
struct AnyTerm<'a, 'p> {
    finder: &'a TermFinder<'p>,
    /// The terms that this file has made too broad, as a bitmap.
    over: Cell<u64>,
}

impl MatchingLines for AnyTerm<'_, '_> {
    fn each(&self, text: &[u8], stop: &Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        // The collector counts the printed bytes, so we need no limit here.
        let gathering = CollectLimits { term_bytes: u64::MAX, ..self.finder.gathering };
        let mut hits = Hits::new(0, self.finder.patterns.len(), gathering, u64::MAX);
        (hits.over, hits.full) = (self.over.get(), self.over.get());
        self.finder.find(text, stop, &mut hits);
        let _ = hits.into_lines().into_iter().all(|hit| found(hit.line));
    }
}

/// Maximum length in bytes of a line that is always shown whole.
const SHORT_LINE_BYTES: usize = 128;

/// Bytes of evidence from a large file after which terms that this file alone makes too broad are abandoned.
const COLLECTED_BYTES: usize = 8 << 20;

struct Collector<'a, 'p> {
    any: &'a AnyTerm<'a, 'p>,
    file: FileEvidence,
    bytes: usize,
    /// The number of bytes at which we abandon broad terms again.
    room: usize,
    keeps_first: bool,
}

impl Collector<'_, '_> {
    fn live(&self) -> u64 {
        self.any.finder.live & !self.file.over
    }

    fn give_up_broad_terms(&mut self) {
        for term in bits(self.live()) {
            if self.file.printed_bytes(1 << term).0 > self.any.finder.gathering.term_bytes {
                self.file.over |= 1 << term;
            }
        }
        self.any.over.set(self.file.over);
        if !self.keeps_first {
            self.file.retain_so_far(self.live());
        }
        self.bytes = self.file.weight();
        self.room = self.bytes + COLLECTED_BYTES;
    }
}

impl LineSink for Collector<'_, '_> {
    fn line(&mut self, number: u64, start: u64, kind: EventKind, line: &[u8]) -> bool {
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let terms = match kind {
            EventKind::Match => bits(self.live())
                .filter(|&term| self.any.finder.matches(term, text))
                .fold(0, |mask, i| mask | 1 << i),
            EventKind::Context | EventKind::Margin => 0,
        };
        self.bytes += line.len() + size_of::<EvidenceLine>();
        let first_match = self.any.finder.first_match(terms, text);
        let line = EvidenceLine::new(number, start, line.to_vec());
        self.file.lines.push(EvidenceLine { terms, first_match, ..line });
        if self.bytes > self.room {
            self.give_up_broad_terms();
        }
        self.live() != 0
    }
}

/// Iterates over the indices of the set bits.
pub(super) fn bits(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |index| mask >> index & 1 == 1)
}
