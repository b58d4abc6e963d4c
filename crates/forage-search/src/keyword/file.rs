//! One file, all terms.

use std::cell::Cell;
use std::io::Read;
use std::ops::Range;

use forage_fs::{Pace, RelPath, Skipped, Stop, is_binary};
use regex_syntax::hir::Hir;

use super::account::{EvidenceLine, FileEvidence};
use crate::buffer::{LineCounter, lines_before, with_feed};
use crate::event::EventKind;
use crate::key_blocks::KeyBlocks;
use crate::large::{LineMatcher, LineSink, search_reader};
use crate::limits::{EVIDENCE_CONTEXT, TERMS, WORK_PER_LOOK};
use crate::lines::{LineFinder, MatchingLines, line_at};
use crate::pattern::Pattern;
use crate::prefilter::Prefilter;

/// Finds the lines that any of the live terms matches, for one worker.
pub(super) struct TermFinder<'p> {
    patterns: &'p [Option<Pattern>],
    finders: Vec<Option<LineFinder<'p>>>,
    live: u64,
    /// Where the search began, to which printed paths are relative.
    start: &'p RelPath,
    /// Bytes of output from which on a term is too broad.
    term_bytes: u64,
    /// The terms found together by their literals, and the filter that finds them.
    together: Option<(Vec<usize>, Prefilter)>,
    /// The terms that are looked for one by one.
    alone: Vec<usize>,
    pace: Pace,
}

/// A matching line: where it is, without line feed, and the terms that match it.
#[derive(Clone, Debug)]
struct Hit {
    line: Range<usize>,
    terms: u64,
}

/// The matching lines of a file, as they are found term by term.
struct Hits {
    found: Vec<Hit>,
    /// Bytes printed for the matching lines of each term, at least.
    bytes: [u64; TERMS],
    /// Terms that the file alone makes too broad, and that are not looked for in it any more: their lines must not
    /// pile up.
    over: u64,
    /// Bytes printed before each line, at least: path, number of one digit, marks.
    head: u64,
    term_bytes: u64,
}

impl Hits {
    fn new(path_bytes: usize, term_bytes: u64) -> Self {
        Self { found: Vec::new(), bytes: [0; TERMS], over: 0, head: path_bytes as u64 + 3, term_bytes }
    }

    /// Takes a line; false when the term has become too broad.
    fn add(&mut self, term: usize, line: &Range<usize>) -> bool {
        self.bytes[term] += self.head + line.len() as u64 + 1;
        if self.bytes[term] > self.term_bytes {
            self.over |= 1 << term;
            return false;
        }
        match self.found.last_mut() {
            Some(last) if last.line.start == line.start => last.terms |= 1 << term,
            _ => self.found.push(Hit { line: line.clone(), terms: 1 << term }),
        }
        true
    }

    /// All terms that match somewhere.
    fn terms(&self) -> u64 {
        self.found.iter().fold(self.over, |terms, hit| terms | hit.terms)
    }

    /// The lines in order, each once, of the terms that are not too broad.
    fn into_lines(mut self) -> Vec<Hit> {
        self.found.sort_by_key(|hit| hit.line.start);
        self.found.dedup_by(|later, earlier| {
            let same = later.line.start == earlier.line.start;
            earlier.terms |= if same { later.terms } else { 0 };
            same
        });
        let over = self.over;
        self.found.retain_mut(|hit| {
            hit.terms &= !over;
            hit.terms != 0
        });
        self.found
    }
}

impl<'p> TermFinder<'p> {
    pub(super) fn new(
        patterns: &'p [Option<Pattern>],
        live: u64,
        start: &'p RelPath,
        term_bytes: u64,
        stop: &Stop,
    ) -> Self {
        let finder = |pattern: &'p Option<Pattern>| Some(LineFinder::new(pattern.as_ref()?, stop));
        let mut this = Self {
            patterns,
            finders: patterns.iter().map(finder).collect(),
            live: 0,
            start,
            term_bytes,
            together: None,
            alone: Vec::new(),
            pace: Pace::new(stop, WORK_PER_LOOK),
        };
        this.look_for(live);
        this
    }

    /// Looks for these terms from now on.
    pub(super) fn look_for(&mut self, live: u64) {
        if live == self.live {
            return;
        }
        self.live = live;
        let mut together: Vec<(usize, &Hir)> = Vec::new();
        let mut alone = Vec::new();
        for (index, pattern) in bits(live).filter_map(|i| Some((i, self.patterns.get(i)?.as_ref()?))) {
            match crate::prefilter::required_literals(pattern.hir()) {
                Some(_) => together.push((index, pattern.hir())),
                None => alone.push(index),
            }
        }
        let filter =
            |terms: &[(usize, &Hir)]| Prefilter::new(&terms.iter().map(|(_, hir)| *hir).collect::<Vec<_>>());
        let mut prefilter = filter(&together);
        if prefilter.is_none() && !together.is_empty() {
            // Some literal is too common to be looked for among others: only its term goes alone.
            let mut kept = Vec::new();
            for term in together {
                kept.push(term);
                if filter(&kept).is_none() {
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

    /// Searches a decoded text.
    pub(super) fn search(&mut self, path: &RelPath, text: &[u8], stop: &Stop) -> Option<FileEvidence> {
        let mut hits = Hits::new(path.below(self.start).len(), self.term_bytes);
        self.find(text, stop, &mut hits);
        let all = hits.terms();
        if all == 0 {
            return None;
        }
        if is_binary(text) {
            return Some(FileEvidence { binary: all, ..self.file(path, Vec::new()) });
        }
        let over = hits.over;
        Some(FileEvidence { over, ..self.file(path, self.evidence(text, &hits.into_lines())) })
    }

    /// Finds the lines of a text.
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
        // The line of the last candidate, and the terms tried on it.
        let mut line = 0..0;
        let mut tried = 0u64;
        let mut first = true;
        prefilter.candidates_within(text, &self.pace, |index, position| {
            let Some(&term) = terms.get(index) else { return position + 1 };
            if first || position > line.end {
                (line, tried, first) = (line_at(text, position), 0, false);
            }
            if (tried | hits.over) >> term & 1 == 0 {
                tried |= 1 << term;
                if self.matches(term, &text[line.clone()]) {
                    hits.add(term, &line);
                }
                // The clock that another term's search looked at is this one's, too.
                if self.finders[term].as_ref().is_some_and(LineFinder::is_stopped) {
                    return usize::MAX;
                }
            }
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

    /// Searches a file too large to be held.
    pub(super) fn search_pieces(
        &mut self,
        path: &RelPath,
        reader: &mut dyn Read,
        stop: &Stop,
        skipped: &mut Skipped,
    ) -> Option<FileEvidence> {
        let context = EVIDENCE_CONTEXT as usize;
        let any = AnyTerm { finder: self, over: Cell::new(0) };
        let mut sink =
            Collector { any: &any, file: self.file(path, Vec::new()), bytes: 0, room: COLLECTED_BYTES };
        let mut keys = KeyBlocks::default();
        let matcher = LineMatcher(&any, stop);
        let is_text =
            search_reader(&matcher, reader, (context, context), stop, skipped, &mut sink, Some(&mut keys));
        let mut file = sink.file;
        if !keys.is_empty() {
            file.lines.iter_mut().for_each(|line| line.mark_keys(&keys));
        }
        (is_text && (!file.lines.is_empty() || file.over != 0)).then_some(file)
    }

    fn file(&self, path: &RelPath, lines: Vec<EvidenceLine>) -> FileEvidence {
        let printed_path = String::from_utf8_lossy(path.below(self.start)).into_owned();
        FileEvidence { path: path.clone(), printed_path, lines, over: 0, binary: 0 }
    }

    /// The lines of the hits and those around them.
    fn evidence(&self, text: &[u8], hits: &[Hit]) -> Vec<EvidenceLine> {
        let mut lines = Vec::new();
        let mut counter = LineCounter::default();
        let mut next = 0;
        let keys = if hits.is_empty() { KeyBlocks::default() } else { KeyBlocks::of(text) };
        for (index, hit) in hits.iter().enumerate() {
            let number = counter.number(text, hit.line.start);
            let (start, up) = lines_before(text, hit.line.start, EVIDENCE_CONTEXT as usize, next);
            let until = hits.get(index + 1).map_or(text.len(), |later| later.line.start);
            let mut line_number = number - up;
            next = start;
            while next < until && line_number <= number + EVIDENCE_CONTEXT {
                let line = next..memchr::memchr(b'\n', &text[next..]).map_or(text.len(), |feed| next + feed);
                let terms = if line_number == number { hit.terms } else { 0 };
                let whole = with_feed(text, &line);
                next = whole.end;
                let (start, first_match) = (line.start as u64, self.first_match(terms, &text[line]));
                let bytes = text[whole].to_vec();
                let in_key = Vec::new();
                let mut line = EvidenceLine { number: line_number, terms, first_match, start, bytes, in_key };
                if !keys.is_empty() {
                    line.mark_keys(&keys);
                }
                lines.push(line);
                line_number += 1;
            }
        }
        lines
    }

    /// Where the first match of any of the terms begins, for a line too long to be shown whole.
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

/// The lines of a large file that any of the live terms matches.
struct AnyTerm<'a, 'p> {
    finder: &'a TermFinder<'p>,
    /// Terms that this file has made too broad.
    over: Cell<u64>,
}

impl MatchingLines for AnyTerm<'_, '_> {
    fn each(&self, text: &[u8], stop: &Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        // How much of them is printed is counted by who collects them.
        let mut hits = Hits::new(0, u64::MAX);
        hits.over = self.over.get();
        self.finder.find(text, stop, &mut hits);
        let _ = hits.into_lines().into_iter().all(|hit| found(hit.line));
    }
}

/// Bytes of a line that is always shown whole.
const SHORT_LINE_BYTES: usize = 128;

/// Bytes of a large file's evidence after which the terms that this file alone makes too broad are given up.
const COLLECTED_BYTES: usize = 8 << 20;

struct Collector<'a, 'p> {
    any: &'a AnyTerm<'a, 'p>,
    file: FileEvidence,
    bytes: usize,
    /// Bytes at which to give up terms again.
    room: usize,
}

impl Collector<'_, '_> {
    fn live(&self) -> u64 {
        self.any.finder.live & !self.file.over
    }

    fn give_up_broad_terms(&mut self) {
        for term in bits(self.live()) {
            if self.file.printed_bytes(1 << term).0 > self.any.finder.term_bytes {
                self.file.over |= 1 << term;
            }
        }
        self.any.over.set(self.file.over);
        self.file.retain_so_far(self.live());
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
        let (bytes, in_key) = (line.to_vec(), Vec::new());
        self.file.lines.push(EvidenceLine { number, terms, first_match, start, bytes, in_key });
        if self.bytes > self.room {
            self.give_up_broad_terms();
        }
        self.live() != 0
    }
}

/// The indices of the set bits.
fn bits(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |index| mask >> index & 1 == 1)
}
