//! Tests evidence that is chosen because the terms match more than fits.

use std::fs;
use std::path::Path;

use forage_base::Stop;
use forage_fs::{RelPath, WalkOptions};
use forage_search::keyword::{Breadth, KeywordFindings, KeywordOptions, TermDetail, TermStatus, gather};

use crate::search::open;
use crate::trees::{Random, tree};

const TERMS: &[&str] =
    &["foo", "needle", "retry|backoff", r"error_\w+", "absent", r"\bif\b", "^foo", ".", "foo_bar", "e", "("];

fn gathered(root: &Path, terms: &[String], bounds: &KeywordOptions, threads: usize) -> KeywordFindings {
    let options = WalkOptions { threads, ..WalkOptions::default() };
    gather(&open(root), &RelPath::root(), &options, terms, bounds, &Stop::never()).unwrap()
}

fn named(terms: &[&str]) -> Vec<String> {
    terms.iter().map(|&term| term.to_owned()).collect()
}

fn adaptive(term_bytes: u64, evidence_bytes: u64) -> KeywordOptions {
    KeywordOptions { term_bytes, evidence_bytes, breadth: Breadth::Adaptive, ..KeywordOptions::default() }
}

/// Collects the shown lines of each file, for comparison.
fn shown(gathered: &KeywordFindings) -> Vec<(String, Vec<u64>)> {
    let lines = |file: &forage_search::keyword::FileEvidence| {
        file.lines.iter().filter(|line| line.is_shown).map(|line| line.number).collect()
    };
    gathered.files.iter().map(|file| (file.path.display().into_owned(), lines(file))).collect()
}

/// Checks the choice on random trees and limits. It must respect the budget and not depend on the number of
/// threads. The result must equal the requirement's if this includes everything, and every line shown for a
/// term must match it.
#[test]
fn chosen_evidence_invariants() {
    let (mut chosen, mut whole) = (0, 0);
    for seed in 0..150 {
        let mut random = Random::new(seed + 40_000);
        let (_keep, root) = tree(&mut random, false);
        let terms: Vec<String> = (0..1 + random.below(6)).map(|_| random.pick(TERMS).to_owned()).collect();
        let term_bytes = 1_000 + random.below(12_000) as u64;
        let bounds = adaptive(term_bytes, term_bytes + random.below(9_000) as u64);
        let ours = gathered(&root, &terms, &bounds, 1);
        let what = format!("seed {seed} {terms:?}");
        assert_eq!(shown(&ours), shown(&gathered(&root, &terms, &bounds, 4)), "{what}");
        assert!(ours.bytes < bounds.evidence_bytes, "{what}: {} bytes", ours.bytes);
        let printed = ours.to_ripgrep_output();
        if printed.lines().all(|line| line.len() < 400) {
            assert!(printed.len() as u64 <= ours.bytes, "{what}: {} of {} bytes", printed.len(), ours.bytes);
        }
        let requirement = KeywordOptions { breadth: Breadth::Requirement, ..bounds };
        let theirs = gathered(&root, &terms, &requirement, 2);
        let lacks = |term: &forage_search::keyword::TermReport| {
            matches!(term.fate, TermStatus::TooBroad | TermStatus::Dropped)
        };
        if theirs.terms.iter().any(lacks) {
            chosen += 1;
            for file in &ours.files {
                assert!(file.lines.iter().any(|line| line.is_shown && line.terms != 0), "{what}");
            }
        } else {
            whole += 1;
            let lines = |gathered: &KeywordFindings| -> Vec<_> {
                gathered.files.iter().map(|file| (file.path.clone(), file.lines.clone())).collect()
            };
            assert_eq!((&ours.terms, lines(&ours)), (&theirs.terms, lines(&theirs)), "{what}");
            assert_eq!((ours.bytes, ours.candidates), (theirs.bytes, theirs.candidates), "{what}");
        }
    }
    assert!(chosen > 30 && whole > 30, "too little was decided: {chosen} chosen, {whole} whole");
}

/// Creates 300 files with a common word on many lines. One of them also has a rare word, and in another one
/// two common words meet.
fn broad() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..300 {
        let other = if number == 217 { "session" } else { "other" };
        let line = |at: usize| match at % 4 {
            0 => format!("client {other} in line {at} of file {number}, which is long enough to add up\n"),
            _ => format!("nothing in line {at}\n"),
        };
        let text: String = (0..60).map(line).collect();
        fs::write(directory.path().join(format!("f{number:03}.txt")), text).unwrap();
    }
    fs::write(directory.path().join("rare.txt"), "one\nzebra\nclient\n").unwrap();
    directory
}

#[test]
fn broad_term_is_shown_in_the_best_files() {
    let directory = broad();
    let bounds = KeywordOptions { breadth: Breadth::Adaptive, ..KeywordOptions::default() };
    let found = gathered(directory.path(), &named(&["client", "session", "zebra"]), &bounds, 2);
    let files: Vec<String> = found.files.iter().map(|file| file.path.display().into_owned()).collect();
    assert!(files.contains(&"rare.txt".to_owned()), "{files:?}");
    let [client, session, zebra] = &found.terms[..] else { panic!("three terms") };
    assert_eq!((client.files, client.lines), (301, 300 * 15 + 1));
    assert_eq!((session.detail, zebra.detail), (TermDetail::Whole, TermDetail::Whole));
    assert!(matches!(client.detail, TermDetail::Best { files: 301, lines } if lines > 301), "{client:?}");
    // The file in which two terms meet is shown completely, others with one line.
    let lines = |name: &str| {
        let file = found.files.iter().find(|file| file.path.display() == name).unwrap();
        file.lines.iter().filter(|line| line.is_shown).count()
    };
    assert!(lines("f217.txt") >= 50 && lines("f299.txt") < 5, "{} {}", lines("f217.txt"), lines("f299.txt"));
    // The control: the requirement's rule leaves out the broad term.
    let strict =
        gathered(directory.path(), &named(&["client", "session", "zebra"]), &KeywordOptions::default(), 2);
    assert_eq!((strict.terms[0].fate.clone(), strict.files.len()), (TermStatus::TooBroad, 2));
}

#[test]
fn slightly_broad_term_loses_context_first() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..40 {
        let line = |at: usize| {
            if at == 20 { "the needle\n".to_owned() } else { format!("{at} {}\n", "x".repeat(90)) }
        };
        fs::write(directory.path().join(format!("{number}.txt")), (0..41).map(line).collect::<String>())
            .unwrap();
    }
    let bounds = KeywordOptions { breadth: Breadth::Adaptive, ..KeywordOptions::default() };
    let found = gathered(directory.path(), &named(&["needle"]), &bounds, 2);
    let TermDetail::Context(context) = found.terms[0].detail else { panic!("{:?}", found.terms) };
    assert!((1..10).contains(&context) && found.files.len() == 40, "{context}");
    let numbers: Vec<u64> = (21 - context..=21 + context).collect();
    assert!(shown(&found).iter().all(|(_, lines)| *lines == numbers), "{:?}", shown(&found));
}

#[test]
fn refuses_only_terms_on_nearly_every_line() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..30 {
        let line =
            |at: usize| format!("common words{}\n", if at.is_multiple_of(5) { " and needle" } else { "" });
        fs::write(directory.path().join(format!("{number}.txt")), (0..300).map(line).collect::<String>())
            .unwrap();
    }
    let bounds = KeywordOptions { breadth: Breadth::Adaptive, ..KeywordOptions::default() };
    let found = gathered(directory.path(), &named(&["common", "needle"]), &bounds, 2);
    let fates: Vec<&TermStatus> = found.terms.iter().map(|term| &term.fate).collect();
    assert_eq!(fates, [&TermStatus::TooBroad, &TermStatus::Kept]);
    assert_eq!((found.files.len(), found.terms[0].files), (30, 30));
    // With `Breadth::Ranked` nothing is sent to a model, so nothing is left out.
    let bounds = KeywordOptions { breadth: Breadth::Ranked { files: 7 }, ..bounds };
    let found = gathered(directory.path(), &named(&["common"]), &bounds, 2);
    assert_eq!((&found.terms[0].fate, found.files.len(), found.candidates), (&TermStatus::Kept, 7, 30));
}

/// Tests a file too large to be read whole, and lines too long to be shown.
#[test]
fn large_files_and_long_lines_stay_within_budget() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!("common {}\n", "x".repeat(60));
    fs::write(directory.path().join("large.txt"), line.repeat(150_000) + "zebra\n").unwrap();
    fs::write(
        directory.path().join("bundle.js"),
        format!("{}common{}", "y".repeat(90_000), "z".repeat(90_000)),
    )
    .unwrap();
    (0..5).for_each(|number| {
        fs::write(directory.path().join(format!("{number}.txt")), format!("common\n{}", "other\n".repeat(9)))
            .unwrap()
    });
    let bounds = KeywordOptions { breadth: Breadth::Adaptive, ..KeywordOptions::default() };
    let found = gathered(directory.path(), &named(&["zebra", "common"]), &bounds, 2);
    assert_eq!(found.files.len(), 7, "{:?}", shown(&found));
    assert!(found.terms.iter().all(|term| term.fate == TermStatus::Kept), "{:?}", found.terms);
    assert!(found.bytes < bounds.evidence_bytes);
    // For the line of 180,006 bytes we keep the part around the match and the number of bytes left out.
    let bundle = found.files.iter().find(|file| file.path.as_bytes() == b"bundle.js").unwrap();
    let line = &bundle.lines[0];
    assert!(line.bytes.len() <= forage_search::limits::KEPT_LINE_BYTES, "{}", line.bytes.len());
    assert!(line.bytes[line.first_match..].starts_with(b"common"), "{}", line.first_match);
    assert_eq!(line.cut.before + line.bytes.len() + line.cut.after, 180_006);
}

/// A search that reaches its time limit must show the lines that it has found for a broad term, and must not
/// refuse any term.
#[test]
fn shows_results_found_before_the_time_limit() {
    let directory = tempfile::tempdir().unwrap();
    let text = "the client waits for an answer of the server, and then goes on\n".repeat(100);
    (0..4_000).for_each(|number| fs::write(directory.path().join(format!("{number}.txt")), &text).unwrap());
    let mut stopped = 0;
    for breadth in [Breadth::Adaptive, Breadth::Ranked { files: 20 }] {
        let bounds = KeywordOptions { breadth, ..KeywordOptions::default() };
        for milliseconds in (1..10).map(|power| 2 << power) {
            let stop = Stop::after(std::time::Duration::from_millis(milliseconds));
            let (root, options) = (open(directory.path()), WalkOptions::default());
            let found =
                gather(&root, &RelPath::root(), &options, &named(&["client"]), &bounds, &stop).unwrap();
            if found.report.stopped.is_none() || found.report.searched() < 50 {
                continue;
            }
            stopped += 1;
            let what = format!("{breadth:?}, {milliseconds} ms: {:?}", found.terms);
            assert_eq!(found.terms[0].fate, TermStatus::Kept, "{what}");
            assert!(found.terms[0].lines_at_least && !found.files.is_empty(), "{what}");
        }
    }
    assert!(stopped > 0, "no search was ended by its time limit");
}

/// In a large file full of each term, the line that contains all of them must be shown, wherever it is.
#[test]
fn finds_best_line_at_the_end_of_a_large_file() {
    let directory = tempfile::tempdir().unwrap();
    let filler = |word: &str| format!("{word} {}\n", "x".repeat(80)).repeat(3_000);
    let text = [filler("alpha"), filler("beta"), filler("gamma"), "alpha beta gamma\n".to_owned()].concat();
    fs::write(directory.path().join("full.txt"), &text).unwrap();
    (0..5).for_each(|number| {
        fs::write(directory.path().join(format!("{number}.txt")), "other\n".repeat(9)).unwrap();
    });
    for breadth in [Breadth::Adaptive, Breadth::Ranked { files: 20 }] {
        let bounds = KeywordOptions { breadth, ..KeywordOptions::default() };
        let found = gathered(directory.path(), &named(&["alpha", "beta", "gamma"]), &bounds, 1);
        let shown = found.files[0].lines.iter().filter(|line| line.is_shown && line.terms == 0b111);
        assert_eq!(shown.map(|line| line.number).collect::<Vec<_>>(), [9_001], "{breadth:?}");
        assert_eq!(found.files[0].lines_of(0), 3_001, "{breadth:?}");
    }
}
