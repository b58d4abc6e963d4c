use forage_base::Stop;
use grep_matcher::Matcher;
use grep_regex::RegexMatcherBuilder;
use proptest::prelude::*;

use super::*;
use crate::event::Span;
use crate::lines::LineFinder;
use crate::pattern::{Case, Pattern, PatternOptions};
use crate::whole_text::PatternMatcher;

/// Parts of patterns that exercise both automata, assertions and the order of preference.
const PIECES: &[&str] = &[
    "a",
    "b",
    "ab",
    "k",
    "s",
    "é",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\W",
    r"\b",
    r"\B",
    "^",
    "$",
    r"\A",
    r"\z",
    "(a|ab)",
    "(ab|a)",
    "(|a)",
    "a*",
    "a*?",
    "b+",
    "b+?",
    "(a|b){2,3}",
    "(a|b){2,3}?",
    ".*",
    ".*?",
    "x?",
    "(?-u:\\xff)",
    "|",
    r"\s",
    r"\b{start}",
    r"\b{end-half}",
    r"[^\x00-\x7f]",
    "(?-u:\\b)",
    r"\d",
];
const TEXTS: &[&[u8]] = &[
    b"a",
    b"b",
    b"ab",
    b"ba",
    b" ",
    b"k",
    b"s",
    "ſ".as_bytes(),
    "K".as_bytes(),
    "é".as_bytes(),
    "日".as_bytes(),
    b"\xff",
    b"\xe6",
    b"aaa",
    b"bbb",
    b"_",
    b"7",
    b"A",
    b"B",
    b"\t",
    b"\r",
];

fn found(pattern: &Pattern, hir_is_used: bool, line: &[u8]) -> Vec<(usize, usize)> {
    let pace = Pace::new(&Stop::never(), 1);
    let regex = pattern.stepped(&pace).unwrap();
    let mut cache = regex.create_cache();
    let mut found = Vec::new();
    let mut searcher = regex_automata::util::iter::Searcher::new(Input::new(line));
    while let Some(next) = searcher.advance(|input| {
        let at = input.start();
        if input.is_done() {
            return Ok(None);
        }
        let next = match hir_is_used {
            true => regex.find(&mut cache, line, at, &pace),
            // This tests the simulation alone, which few texts need otherwise.
            false => cache.simulation.find(regex.nfa(), line, at, false, &pace),
        };
        let next = next.unwrap();
        Ok(next.map(|next| regex_automata::Match::must(0, next)))
    }) {
        found.push((next.start(), next.end()));
    }
    assert_eq!(regex.is_match(&mut cache, line, &pace), Ok(!found.is_empty()));
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// A search in stretches must find the same matches as ripgrep's matcher.
    #[test]
    fn finds_what_the_matcher_finds(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 1..6),
        texts in prop::collection::vec(prop::sample::select(TEXTS), 0..12),
        word in any::<bool>(),
        insensitive in any::<bool>(),
    ) {
        let source = pieces.concat();
        let line = texts.concat();
        let case = if insensitive { Case::Insensitive } else { Case::Sensitive };
        let options = PatternOptions { word, case, ..PatternOptions::default() };
        let Ok(pattern) = Pattern::new(&source, &options) else { return Ok(()) };
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .case_insensitive(insensitive)
            .word(word)
            .line_terminator(Some(b'\n'))
            .build(crate::pattern::rewritten(&source).as_ref().unwrap_or(&source))
            .unwrap();
        let mut expected = Vec::new();
        matcher.find_iter(&line, |next| {
            expected.push((next.start(), next.end()));
            true
        }).unwrap();
        prop_assert_eq!(&found(&pattern, true, &line), &expected, "{} in {:?}", source, line);
        prop_assert_eq!(&found(&pattern, false, &line), &expected, "{} in {:?}, simulated", source, line);
        let finder = LineFinder::new(&pattern, &Stop::never());
        let spans: Vec<_> = finder
            .spans(&line, &(0..line.len()), usize::MAX)
            .into_iter()
            .map(|Span { start, end, .. }| (start, end))
            .collect();
        expected.retain(|&(start, end)| start < end || start <= line.len());
        prop_assert_eq!(spans, expected);
    }
}

/// Long lines are searched in stretches, and these must find all matches of the matcher.
#[test]
fn long_lines_have_the_same_matches() {
    let line = "some words, und wörter, 12 handle_request(ab); ".repeat(40_000).into_bytes();
    for (source, word) in [
        ("handle_\\w+", false),
        ("w.rter", true),
        (r"\b\d+\b", false),
        ("(?i)HANDLE", false),
        ("words?, ", false),
        ("ab", true),
    ] {
        let pattern = Pattern::new(source, &PatternOptions { word, ..PatternOptions::default() }).unwrap();
        assert!(pattern.may_take_long(line.len()), "{source}");
        let finder = LineFinder::new(&pattern, &Stop::never());
        let spans = finder.spans(&line, &(0..line.len()), usize::MAX);
        assert_eq!(spans.len(), 40_000, "{source}");
        let mut expected = Vec::new();
        let PatternMatcher::Regex(matcher) = pattern.matcher() else { panic!("{source}") };
        matcher
            .find_iter(&line, |next| {
                expected.push((next.start(), next.end()));
                true
            })
            .unwrap();
        assert_eq!(spans.iter().map(|span| (span.start, span.end)).collect::<Vec<_>>(), expected, "{source}");
        assert_eq!(finder.first_span(&line), Some(expected[0].0..expected[0].1), "{source}");
        assert!(finder.is_match(&line) && !finder.is_stopped());
    }
}

/// Once the call has to end, the search stops within a long line and finds nothing.
#[test]
fn search_ends_in_the_middle_of_a_line() {
    let stop = Stop::never();
    stop.cancel();
    let line = vec![b'a'; 100_000];
    for source in [
        "(?i)".to_owned() + &"a".repeat(10_000),
        "(a?){3000}a{3000}".to_owned(),
        r"\b(é?a){2000}é".to_owned(),
    ] {
        let pattern = Pattern::new(&source, &PatternOptions::default()).unwrap();
        let finder = LineFinder::new(&pattern, &stop);
        assert!(!finder.is_match(&line) && finder.is_stopped());
        assert_eq!(finder.first_span(&line), None);
        assert_eq!(finder.spans(&line, &(0..line.len()), 10), []);
    }
}
