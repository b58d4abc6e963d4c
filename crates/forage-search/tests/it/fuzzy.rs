//! Fuzzy searches over files.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use forage_base::Stop;
use forage_fs::{RelPath, WalkOptions};
use forage_search::{
    Case, FileEvents, Pattern, PatternError, PatternOptions, ScanOptions, Span, limits, search,
};

use crate::search::open;
use crate::trees::Random;

fn within(edits: u8) -> PatternOptions {
    PatternOptions { fuzzy: edits, ..PatternOptions::default() }
}

fn found(root: &Path, pattern: &Pattern, scan: &ScanOptions) -> Vec<FileEvents> {
    let mut files = Vec::new();
    let walk = WalkOptions::default();
    search(&open(root), &RelPath::root(), &walk, pattern, scan, &Stop::never(), |file| {
        files.push(file);
        ControlFlow::Continue(())
    })
    .unwrap();
    files
}

/// Searches a text, and returns the number and the spans of each matching line.
fn lines(text: impl AsRef<[u8]>, pattern: &str, options: &PatternOptions) -> Vec<(u64, Vec<Span>)> {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("text"), text).unwrap();
    let pattern = Pattern::new(pattern, options).unwrap();
    let files = found(directory.path(), &pattern, &ScanOptions::default());
    let events = files.into_iter().flat_map(|file| file.events);
    events.map(|event| (event.line_number, event.spans)).collect()
}

fn span(start: usize, end: usize, distance: u8) -> Span {
    Span { start, end, distance }
}

#[test]
fn worse_match_does_not_hide_an_exact_one() {
    let found = lines("neeedle needle nedle\nnothing\n", "needle", &within(1));
    assert_eq!(found, [(1, vec![span(0, 7, 1), span(8, 14, 0), span(15, 20, 1)])]);
}

#[test]
fn edits_are_characters_not_bytes() {
    assert_eq!(lines("grün\ngrun\ngr日n\n", "gruen", &within(1)), [(2, vec![span(0, 4, 1)])]);
    let found = lines("grün\ngrun\ngr日n\n", "gruen", &within(2));
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 3]);
    let found = lines("naive\nNAÏVE\n", "naïve", &PatternOptions { case: Case::Insensitive, ..within(1) });
    assert_eq!(found, [(1, vec![span(0, 5, 1)]), (2, vec![span(0, 6, 0)])]);
}

#[test]
fn word_boundaries_use_the_unedited_text() {
    let options = PatternOptions { word: true, ..within(1) };
    let found = lines("a needle\nneedles_\nnedle.\nünedle\nü nedle\n", "needle", &options);
    assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3, 5]);
}

#[test]
fn no_edit_crosses_a_line_feed() {
    assert_eq!(lines("nee\ndle\nneed\nle", "needle", &within(1)), []);
    assert_eq!(lines("x\r\nneedle\r\n", "^needle$", &within(1)), [(2, vec![span(0, 6, 0)])]);
}

#[test]
fn unspecific_patterns_are_refused() {
    let error = |pattern: &str, edits| Pattern::new(pattern, &within(edits)).map(|_| ()).unwrap_err();
    assert_eq!(error("foo|a*", 1), PatternError::FuzzyTooShort { characters: 0, edits: 1 });
    assert_eq!(error("été", 3), PatternError::FuzzyTooShort { characters: 3, edits: 3 });
    assert_eq!(error("needle", 5), PatternError::FuzzyEdits { edits: 5 });
    assert_eq!(error("[ab]{5000}", 4), PatternError::FuzzyTooLarge { edits: 4 });
    assert!(error(&"x".repeat(5_000), 4).to_string().contains("too large"));
    assert!(matches!(error("a\\nb", 1), PatternError::LineFeed(_)));
}

/// Generates lines of words that are similar to one another.
fn text(random: &mut Random, lines: usize) -> String {
    const WORDS: &[&str] = &[
        "needle", "neeedle", "nedle", "noodle", "NEEDLE", "needles", "knee", "dleeen", "nadel", "né", "ed",
        "ſ",
    ];
    let mut text = String::new();
    for _ in 0..lines {
        for _ in 0..random.below(6) {
            let _ = write!(text, "{} ", random.pick(WORDS));
        }
        text.push('\n');
    }
    text
}

const PATTERNS: &[&str] =
    &["needle", "need(le|les)", r"\bneedle\b", "needle +needle", "[nk]ne+d", "noodles$"];

#[test]
fn more_edits_find_no_fewer_lines() {
    let mut random = Random::new(7);
    let text = text(&mut random, 400);
    for pattern in PATTERNS {
        let numbers = |edits| lines(&text, pattern, &within(edits)).into_iter().map(|(line, _)| line);
        let by_edits: Vec<Vec<u64>> = (0..=3).map(|edits| numbers(edits).collect()).collect();
        for pair in by_edits.windows(2) {
            assert!(pair[0].iter().all(|line| pair[1].contains(line)), "{pattern}");
        }
        assert!(by_edits[3].len() > by_edits[0].len(), "{pattern}: {by_edits:?}");
    }
}

/// A file that is read in pieces must give the same lines as many small files with the same text.
#[test]
fn large_files_match_like_small_ones() {
    let mut random = Random::new(11);
    let part = text(&mut random, 2_000);
    let filler = format!("{}\n", "nothing like it, ".repeat(60)).repeat(400);
    let copies = limits::WHOLE_FILE_BYTES / (part.len() + filler.len()) + 2;
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("large"), format!("{part}{filler}").repeat(copies)).unwrap();
    let per_part = 2_000 + 400;
    for pattern in PATTERNS {
        for options in [within(1), PatternOptions { case: Case::Insensitive, ..within(2) }] {
            let small = lines(format!("{part}{filler}"), pattern, &options);
            let pattern = Pattern::new(pattern, &options).unwrap();
            let files = found(directory.path(), &pattern, &ScanOptions::default());
            let large = files[0].events.iter().map(|event| (event.line_number, event.spans.clone()));
            let expected = (0..copies as u64).flat_map(|copy| {
                small.iter().map(move |(line, spans)| (line + copy * per_part, spans.clone()))
            });
            assert!(large.eq(expected), "{}", pattern.describe());
            assert!(small.len() > 50, "{}", pattern.describe());
        }
    }
}

#[test]
fn long_lines_are_cut_around_the_best_match() {
    let line = format!("{}nedle{}needle{}\n", "- ".repeat(500), "- ".repeat(500), "- ".repeat(500));
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("text"), line).unwrap();
    let pattern = Pattern::new("needle", &within(1)).unwrap();
    let files =
        found(directory.path(), &pattern, &ScanOptions { line_bytes: Some(100), ..ScanOptions::default() });
    let event = &files[0].events[0];
    let [span] = event.spans[..] else { panic!("{:?}", event.spans) };
    assert_eq!((&event.bytes[span.start..span.end], span.distance), (&b"needle"[..], 0));
    assert!(event.bytes.len() <= 100 && event.cut.before > 1_500);
}

#[test]
fn very_long_line_matches_anywhere() {
    let far = limits::FUZZY_WINDOW_BYTES * 3;
    for (pattern, word) in [("needle", false), ("needle", true), (r"x.*nee[d]le", false)] {
        let line = format!("ü{} nedle{} needle\n", "x ".repeat(far / 2), " ".repeat(far));
        let found = lines(&line, pattern, &PatternOptions { word, ..within(1) });
        let [(1, spans)] = &found[..] else { panic!("{pattern}: {} lines", found.len()) };
        assert!(
            spans.iter().any(|span| line[span.start..span.end].ends_with("nedle")),
            "{pattern}: {spans:?}"
        );
    }
}
