//! Compares the engine with the definition in [`oracle`].

mod oracle;

use forage_base::{Pace, Stop};
use std::ops::Range;

use regex_syntax::hir::Hir;

use super::{AutomatonSize, Fuzzy, FuzzyError, FuzzyFinder, SearchedText, pieces};
use crate::event::Span;
use crate::large::LineMatcher;
use crate::lines::MatchingLines;
use crate::pattern::{Case, Pattern, PatternOptions};

const SIZE: AutomatonSize = AutomatonSize { left: u64::MAX, cache_bytes: 4 << 20 };

/// A small generator (xorshift64*); its seed identifies a failing case.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        usize::try_from(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33).unwrap() % n
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

fn hir(pattern: &str, insensitive: bool) -> Hir {
    let case = if insensitive { Case::Insensitive } else { Case::Sensitive };
    let options = PatternOptions { case, ..PatternOptions::default() };
    Pattern::new(pattern, &options).unwrap_or_else(|error| panic!("{pattern}: {error}")).hir().clone()
}

/// Compiles a pattern twice: with the automaton alone, and with pieces if there are any.
fn engines(hir: &Hir, edits: usize) -> Result<Vec<Fuzzy>, FuzzyError> {
    let pace = &Pace::new(&Stop::never(), 1);
    let mut engines = vec![Fuzzy::with_pieces(Fuzzy::graph(hir, edits)?, edits, None, SIZE, pace)?];
    if let Some(pieces) = pieces::pieces(hir, edits).and_then(SearchedText::new) {
        engines.push(Fuzzy::with_pieces(Fuzzy::graph(hir, edits)?, edits, Some(pieces), SIZE, pace)?);
    }
    Ok(engines)
}

fn lines(text: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut lines: Vec<_> = text
        .split(|&byte| byte == b'\n')
        .map(|line| {
            let line = start..start + line.len();
            start = line.end + 1;
            line
        })
        .collect();
    // There is no line after the last line feed.
    lines.pop_if(|line| line.start == line.end);
    lines
}

#[derive(Debug, Default)]
struct Tally {
    patterns: usize,
    refused: usize,
    with_pieces: usize,
    lines: usize,
    matching: usize,
    spans: [usize; 5],
}

/// Asserts that the engines agree with the definition on all lines of a text.
fn check(pattern: &str, insensitive: bool, edits: usize, text: &[u8], tally: &mut Tally) {
    let hir = hir(pattern, insensitive);
    tally.patterns += 1;
    let has_looks = !hir.properties().look_set().is_empty();
    let to_nothing = oracle::costs(&hir, &[])[0][0] as usize;
    let engines = match engines(&hir, edits) {
        Ok(engines) => {
            assert!(has_looks || to_nothing > edits, "{pattern} is within {edits} of nothing");
            engines
        }
        Err(FuzzyError::TooShort(_)) => {
            assert!(has_looks || to_nothing <= edits, "{pattern} is {to_nothing} from nothing");
            tally.refused += 1;
            return;
        }
        Err(error) => panic!("{pattern}: {error:?}"),
    };
    tally.with_pieces += engines.len() - 1;
    let expected: Vec<_> = lines(text)
        .into_iter()
        .map(|line| (line.clone(), oracle::spans(&hir, &text[line], u32::try_from(edits).unwrap())))
        .collect();
    tally.lines += expected.len();
    for fuzzy in &engines {
        let finder = FuzzyFinder::new(fuzzy, &Stop::never());
        let context = || {
            let text = String::from_utf8_lossy(text).into_owned();
            format!(
                "{pattern:?}, insensitive {insensitive}, in {text:?} ({text_bytes:?}): {}",
                fuzzy.describe(),
                text_bytes = text.as_bytes()
            )
        };
        let mut found = Vec::new();
        finder.each(text, &mut |line| {
            found.push(line);
            true
        });
        let matching: Vec<_> =
            expected.iter().filter(|(_, spans)| !spans.is_empty()).map(|(line, _)| line.clone()).collect();
        assert_eq!(found, matching, "{}", context());
        let mut by_matcher = Vec::new();
        let never = Stop::never();
        let matcher = LineMatcher(&finder, &never);
        while let Some(line) =
            matcher.next_line(text, by_matcher.last().map_or(0, |line: &Range<usize>| line.end + 1))
        {
            by_matcher.push(line);
        }
        assert_eq!(by_matcher, matching, "{}", context());
        for (line, spans) in &expected {
            let bytes = &text[line.clone()];
            assert_eq!(finder.is_match(bytes), !spans.is_empty(), "line {line:?} of {}", context());
            assert_eq!(&sorted(finder.best_first(bytes)), spans, "line {line:?} of {}", context());
            let best = spans.iter().min_by_key(|span| (span.distance, span.start)).copied();
            assert_eq!(finder.best_span(bytes), best, "line {line:?} of {}", context());
        }
    }
    for (_, spans) in expected {
        tally.matching += usize::from(!spans.is_empty());
        spans.iter().for_each(|span| tally.spans[usize::from(span.distance)] += 1);
    }
}

const ATOMS: &[&str] = &[
    "a",
    "b",
    "c",
    "k",
    "s",
    "é",
    "_",
    " ",
    "ab",
    "abc",
    "cab",
    "bc_",
    "[ab]",
    "[^a]",
    "[a-cé]",
    ".",
    r"\w",
    r"\s",
    r"(?-u:\xff)",
    "日",
];
const LOOKS: &[&str] = &[
    "^",
    "$",
    r"\b",
    r"\B",
    r"(?-u:\b)",
    r"(?-u:\B)",
    r"\b{start}",
    r"\b{end}",
    r"\b{start-half}",
    r"\b{end-half}",
];

fn pattern(random: &mut Random, depth: usize, looks: bool) -> String {
    match random.below(if depth == 0 { 4 } else { 10 }) {
        3 if looks => random.pick(LOOKS).to_owned(),
        0..=3 => random.pick(ATOMS).to_owned(),
        4..=6 => (0..2 + random.below(3)).map(|_| pattern(random, depth - 1, looks)).collect(),
        7 => {
            let branches: Vec<_> =
                (0..2 + random.below(2)).map(|_| pattern(random, depth - 1, looks)).collect();
            format!("({})", branches.join("|"))
        }
        _ => {
            let repeat = random.pick(&["*", "+", "?", "{2}", "{1,2}", "{2,}", "{3}"]);
            format!("(?:{}){repeat}", pattern(random, depth - 1, looks))
        }
    }
}

const PARTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"c",
    b"A",
    b"B",
    b"k",
    b"K",
    b"s",
    b"_",
    b" ",
    b"ab",
    b"abc",
    b"cab",
    "é".as_bytes(),
    "É".as_bytes(),
    "\u{212a}".as_bytes(),
    "ſ".as_bytes(),
    "日".as_bytes(),
    b"\xff",
    b"\xc3",
    b"\xa9",
    b"\xe6\x97",
    b"\r",
];

fn line(random: &mut Random, ascii: bool) -> Vec<u8> {
    let kinds = if ascii { 13 } else { PARTS.len() };
    (0..random.below(10)).flat_map(|_| PARTS[random.below(kinds)].to_vec()).collect()
}

fn text(random: &mut Random) -> Vec<u8> {
    let ascii = random.below(3) == 0;
    let mut text: Vec<u8> = Vec::new();
    for _ in 0..1 + random.below(6) {
        text.extend(line(random, ascii));
        text.push(b'\n');
    }
    if random.below(2) == 0 {
        text.pop();
    }
    text
}

#[test]
fn regexes_match_as_defined() {
    let mut tally = Tally::default();
    for seed in 0..2_500 {
        let mut random = Random::new(seed);
        let looks = random.below(2) == 0;
        let pattern: String = (0..2 + random.below(4)).map(|_| pattern(&mut random, 2, looks)).collect();
        let insensitive = random.below(3) == 0;
        let edits = 1 + random.below(4);
        check(&pattern, insensitive, edits, &text(&mut random), &mut tally);
    }
    assert!(tally.with_pieces > 700 && tally.matching > 500 && tally.refused > 200, "{tally:?}");
    assert!(tally.spans.iter().all(|&spans| spans > 30), "{tally:?}");
}

/// Generates a word of `length` letters, and edited variants of it as lines.
fn near(random: &mut Random, length: usize) -> (String, Vec<u8>) {
    const LETTERS: &[&str] = &["a", "b", "c", "d", "k", "s", "_", "é", "ß", "日"];
    let word: Vec<&str> = (0..length).map(|_| random.pick(LETTERS)).collect();
    let mut text = Vec::new();
    for _ in 0..4 {
        let padding = |random: &mut Random| random.pick(&["", " ", "x", "x-", "é", " K"]).as_bytes().to_vec();
        text.extend(padding(random));
        for _ in 0..1 + random.below(2) {
            let mut copy = word.clone();
            for _ in 0..random.below(6) {
                let at = random.below(copy.len().max(1));
                match random.below(3) {
                    0 => copy.insert(at, random.pick(LETTERS)),
                    1 if !copy.is_empty() => drop(copy.remove(at)),
                    _ if !copy.is_empty() => copy[at] = random.pick(LETTERS),
                    _ => {}
                }
            }
            let copy = copy.concat();
            text.extend(if random.below(4) == 0 { copy.to_uppercase() } else { copy }.into_bytes());
            text.extend(padding(random));
        }
        text.push(b'\n');
    }
    (word.concat(), text)
}

#[test]
fn literals_match_as_defined() {
    let mut tally = Tally::default();
    for seed in 0..1_500 {
        let mut random = Random::new(seed);
        let length = 3 + random.below(10);
        let (word, text) = near(&mut random, length);
        let pattern = match random.below(4) {
            0 => format!(r"\b{{start-half}}(?:{word})\b{{end-half}}"),
            1 => format!("^{word}"),
            _ => word,
        };
        check(&pattern, random.below(2) == 0, 1 + random.below(4), &text, &mut tally);
    }
    assert!(tally.with_pieces > 800 && tally.matching > 3_000, "{tally:?}");
}

#[test]
fn literals_match_sellers_algorithm() {
    let mut matching = [0; 5];
    for seed in 0..1_000 {
        let mut random = Random::new(seed);
        let length = 5 + random.below(10);
        let (word, text) = near(&mut random, length);
        let literal: Vec<char> = word.chars().collect();
        let engines: Vec<Vec<Fuzzy>> =
            (1..=4).map(|edits| engines(&hir(&word, false), edits).unwrap()).collect();
        for line in lines(&text) {
            let characters: Vec<char> = std::str::from_utf8(&text[line.clone()]).unwrap().chars().collect();
            let distance = oracle::sellers(&literal, &characters);
            for (edits, engines) in (1..).zip(&engines) {
                for fuzzy in engines {
                    let finder = FuzzyFinder::new(fuzzy, &Stop::never());
                    let best = finder.best_span(&text[line.clone()]).map(|span| usize::from(span.distance));
                    let expected = (distance <= edits).then_some(distance);
                    assert_eq!(best, expected, "seed {seed}, {word} within {edits} in {characters:?}");
                    matching[edits] += usize::from(best.is_some());
                }
            }
        }
    }
    assert!(matching.is_sorted() && matching[1] > 500 && matching[4] > matching[1], "{matching:?}");
}

impl MatchingLines for FuzzyFinder<'_> {
    fn each(&self, text: &[u8], _: &forage_base::Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        FuzzyFinder::each(self, text, &mut found);
    }
}

/// Sorts spans by position.
fn sorted(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable_by_key(|span| span.start);
    spans
}
