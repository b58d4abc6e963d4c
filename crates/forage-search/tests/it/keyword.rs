//! Compares keyword evidence with the requirement's own procedure, run with real ripgrep processes.

use std::fs;
use std::path::Path;

use forage_base::Stop;
use forage_fs::{RelPath, WalkOptions};
use forage_search::PatternError;
use forage_search::keyword::{
    EvidenceLine, FileEvidence, KeywordFindings, KeywordOptions, TermStatus, gather,
};

use crate::ripgrep;
use crate::search::{for_ripgrep, open};
use crate::trees::{Random, text, tree};

/// The result of the requirement's procedure.
struct Procedure {
    too_broad: Vec<String>,
    kept: Vec<String>,
    evidence: String,
}

const NO_MATCHES: &str = "no matches found";

fn ripgrep(root: &Path, terms: &[String]) -> String {
    let mut arguments: Vec<String> =
        ["-C", "10", "-i", "--line-number", "--with-filename"].into_iter().map(str::to_owned).collect();
    arguments.extend(terms.iter().flat_map(|term| ["-e".to_owned(), for_ripgrep(term)]));
    let output = ripgrep::run(root, &arguments);
    if output.is_empty() { NO_MATCHES.to_owned() } else { String::from_utf8_lossy(&output).into_owned() }
}

/// Implements steps 2 and 3 of the design document literally.
fn procedure(root: &Path, terms: &[String], bounds: &KeywordOptions) -> Procedure {
    let (mut usable, mut too_broad) = (Vec::new(), Vec::new());
    for term in terms {
        let result = ripgrep(root, std::slice::from_ref(term));
        if result.len() as u64 <= bounds.term_bytes {
            usable.push(term.clone())
        } else {
            too_broad.push(term.clone())
        }
    }
    let mut evidence = String::new();
    while !usable.is_empty() {
        evidence = ripgrep(root, &usable);
        if (evidence.len() as u64) < bounds.evidence_bytes {
            break;
        }
        usable.pop();
    }
    if evidence == NO_MATCHES {
        evidence.clear();
    }
    Procedure { too_broad, kept: usable, evidence }
}

fn terms_with(gathered: &KeywordFindings, fate: &TermStatus) -> Vec<String> {
    gathered.with_fate(fate).map(|term| term.term.clone()).collect()
}

fn check(root: &Path, terms: &[String], bounds: &KeywordOptions, what: &str) -> KeywordFindings {
    let theirs = procedure(root, terms, bounds);
    let ours = gather(&open(root), &RelPath::root(), &WalkOptions::default(), terms, bounds, &Stop::never())
        .unwrap();
    assert_eq!(terms_with(&ours, &TermStatus::TooBroad), theirs.too_broad, "{what} {terms:?}: too broad");
    // The procedure keeps a term without hits, which adds nothing to its output, until it drops it for size.
    let silent = terms_with(&ours, &TermStatus::NoHits);
    for term in &silent {
        assert_eq!(ripgrep(root, std::slice::from_ref(term)), NO_MATCHES, "{what}: {term:?} has no hits");
    }
    let kept: Vec<String> = theirs.kept.into_iter().filter(|term| !silent.contains(term)).collect();
    assert_eq!(terms_with(&ours, &TermStatus::Kept), kept, "{what} {terms:?}: kept");
    if ours.to_ripgrep_output() != theirs.evidence {
        let output = ours.to_ripgrep_output();
        let pair = output.lines().zip(theirs.evidence.lines()).find(|(a, b)| a != b);
        panic!(
            "{what} {terms:?}: the evidence differs at {pair:?} ({} and {} bytes)",
            output.len(),
            theirs.evidence.len()
        );
    }
    assert_eq!(ours.bytes, theirs.evidence.len() as u64, "{what}: bytes");
    ours
}

const TERMS: &[&str] = &[
    "foo",
    "needle",
    "retry|backoff",
    r"error_\w+",
    "naïve",
    "absent",
    "K",
    r"\bif\b",
    "^foo",
    "fo+b",
    ".",
    "nothing here",
    "straße",
    "foo_bar",
    "needle.*retry",
    "backoff$",
    "^error",
    "é-",
    "_x_",
    "Foo-",
    "bar needle",
    "ſtra",
    "if é",
    "K_",
];

/// These limits are low enough for small trees to reach them. We test the exact limits of the requirement
/// below with the same code.
#[test]
fn terms_beyond_the_limit_are_not_used() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), "t69x\n").unwrap();
    let terms: Vec<String> = (0..70).map(|index| format!("t{index}x")).collect();
    let root = open(directory.path());
    let options = KeywordOptions::default();
    let found = gather(&root, &RelPath::root(), &WalkOptions::default(), &terms, &options, &Stop::never());
    let found = found.unwrap();
    assert_eq!((found.terms.len(), found.files.len()), (forage_search::limits::TERMS, 0));
}

#[test]
fn evidence_equals_the_procedure() {
    forage_fuzz::needs!("rg");
    let (mut broad, mut dropped, mut kept) = (0, 0, 0);
    for seed in 0..240 {
        let mut random = Random::new(seed + 10_000);
        let (_keep, root) = tree(&mut random, false);
        let terms: Vec<String> = (0..2 + random.below(7)).map(|_| random.pick(TERMS).to_owned()).collect();
        let term_bytes = 3000 + random.below(12_000) as u64;
        let bounds = KeywordOptions {
            term_bytes,
            evidence_bytes: term_bytes + 1 + random.below(800) as u64,
            ..KeywordOptions::default()
        };
        let gathered = check(&root, &terms, &bounds, &format!("seed {seed}"));
        broad += gathered.with_fate(&TermStatus::TooBroad).count();
        dropped += gathered.with_fate(&TermStatus::Dropped).count();
        kept += gathered.with_fate(&TermStatus::Kept).count();
    }
    assert!(
        broad > 50 && dropped >= 10 && kept > 100,
        "too little was decided: {broad} broad, {dropped} dropped, {kept} kept"
    );
}

/// Writes a file whose ripgrep output for `word` has exactly `bytes` bytes.
fn exactly(root: &Path, name: &str, word: &str, bytes: usize) {
    let mut text = String::new();
    let mut number = 1;
    let mut left = bytes;
    loop {
        let head = name.len() + 1 + number.to_string().len() + 1;
        let room = left - head;
        if room <= 400 {
            text.push_str(&format!("{word}{}\n", "x".repeat(room - word.len() - 1)));
            break;
        }
        let line = format!("{word}{}\n", "y".repeat(100));
        left -= head + line.len();
        text.push_str(&line);
        number += 1;
    }
    fs::write(root.join(name), text).unwrap();
}

#[test]
fn the_term_bound_is_exact() {
    forage_fuzz::needs!("rg");
    for (bytes, fits) in [(65_535, true), (65_536, true), (65_537, false)] {
        let directory = tempfile::tempdir().unwrap();
        exactly(directory.path(), "a.txt", "needle", bytes);
        fs::write(directory.path().join("b.txt"), "other\n").unwrap();
        let terms = ["needle".to_owned(), "other".to_owned()];
        let gathered = check(directory.path(), &terms, &KeywordOptions::default(), "term bound");
        let fate = if fits { TermStatus::Kept } else { TermStatus::TooBroad };
        assert_eq!(gathered.terms[0].fate, fate, "{bytes} bytes");
        if fits {
            assert_eq!(gathered.terms[0].bytes, bytes as u64);
        }
    }
}

#[test]
fn the_evidence_bound_is_exact() {
    forage_fuzz::needs!("rg");
    for (bytes, fits) in [(131_070, true), (131_071, true), (131_072, false)] {
        let directory = tempfile::tempdir().unwrap();
        // Two terms of 50,000 bytes, and a third that brings the total, with separators, to the limit.
        exactly(directory.path(), "a.txt", "first", 50_000);
        exactly(directory.path(), "b.txt", "second", 50_000);
        exactly(directory.path(), "c.txt", "third", bytes - 100_000 - 2 * "--\n".len());
        let terms = ["first".to_owned(), "second".to_owned(), "third".to_owned()];
        let gathered = check(directory.path(), &terms, &KeywordOptions::default(), "evidence bound");
        let fate = if fits { TermStatus::Kept } else { TermStatus::Dropped };
        assert_eq!(gathered.terms[2].fate, fate, "{bytes} bytes");
        assert_eq!(gathered.bytes, if fits { bytes as u64 } else { 100_003 });
    }
}

#[test]
fn large_trees_equal_the_procedure() {
    forage_fuzz::needs!("rg");
    for seed in 0..12 {
        let mut random = Random::new(seed + 90_000);
        let directory = tempfile::tempdir().unwrap();
        for i in 0..20 {
            let lines = 100 + random.below(800);
            fs::write(directory.path().join(format!("f{i:02}.txt")), text(&mut random, lines)).unwrap();
        }
        let terms: Vec<String> = [
            "naïve error_code",
            "needle needle",
            "foo.*retry.*bar",
            "x",
            "backoff_foo",
            "é é",
            "absent",
            "if_retry",
        ]
        .iter()
        .map(|&t| t.to_owned())
        .collect();
        check(directory.path(), &terms, &KeywordOptions::default(), &format!("large seed {seed}"));
    }
}

#[test]
fn invalid_terms_are_reported_and_the_others_run() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), "needle\n").unwrap();
    let terms: Vec<String> = ["(", "", "needle", r"a\nb", "(?=x)"].iter().map(|&t| t.to_owned()).collect();
    let gathered = gather(
        &open(directory.path()),
        &RelPath::root(),
        &WalkOptions::default(),
        &terms,
        &KeywordOptions::default(),
        &Stop::never(),
    )
    .unwrap();
    let invalid = gathered.terms.iter().filter(|term| matches!(term.fate, TermStatus::Invalid(_))).count();
    assert_eq!((invalid, terms_with(&gathered, &TermStatus::Kept)), (4, vec!["needle".to_owned()]));
}

/// Regression: each term had the memory of a whole pattern, so 58 large ones took a gigabyte.
#[test]
fn terms_share_the_memory_of_one_call() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), format!("{}\nretry\n", "a".repeat(200))).unwrap();
    let terms: Vec<String> = (150..160)
        .map(|count| format!(r"\pL{{{count}}}"))
        .chain(["retry".to_owned(), "[a-z]{3}try".to_owned()])
        .collect();
    let root = open(directory.path());
    let options = KeywordOptions::default();
    let gathered =
        gather(&root, &RelPath::root(), &WalkOptions::default(), &terms, &options, &Stop::never()).unwrap();
    let too_large = TermStatus::Invalid(PatternError::TooLargeTogether);
    let refused = terms_with(&gathered, &too_large);
    // The first terms are the most important ones. Small ones fit together with large ones.
    assert_eq!(terms_with(&gathered, &TermStatus::Kept)[..2], terms[..2]);
    assert_eq!(refused, terms[10 - refused.len()..10]);
    assert!((5..9).contains(&refused.len()), "{refused:?}");
    assert_eq!(gathered.terms[11].fate, TermStatus::NoHits);
    let message = gathered.terms[9].fate.clone();
    assert!(format!("{}", PatternError::TooLargeTogether).contains("too large together"), "{message:?}");
}

/// For a file too large to be read whole the evidence comes from the piecewise search. There, an abandoned
/// term must not take the context of another with it.
#[test]
fn large_file_equals_the_procedure() {
    forage_fuzz::needs!("rg");
    let directory = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for i in 0..170_000 {
        let rare = if i % 40_000 == 3_897 || i == 83_891 { "raretoken" } else { "plain" };
        text.push_str(&format!("common {rare} {i:>32} padding padding\n"));
    }
    assert!(text.len() > 9 << 20);
    fs::write(directory.path().join("large.txt"), text).unwrap();
    fs::write(directory.path().join("small.txt"), "raretoken here\n").unwrap();
    let terms = ["raretoken".to_owned(), "common".to_owned()];
    let gathered = check(directory.path(), &terms, &KeywordOptions::default(), "large file");
    assert_eq!(gathered.terms[1].fate, TermStatus::TooBroad);
}

/// Combines terms without usable literals, terms too common to be searched for with others, and ordinary
/// ones.
#[test]
fn one_letter_term_does_not_affect_others() {
    forage_fuzz::needs!("rg");
    for seed in 0..20 {
        let mut random = Random::new(seed + 70_000);
        let (_keep, root) = tree(&mut random, false);
        let terms: Vec<String> =
            ["1", "==", "needle", "x", r"\w{9}", "retry.*foo"].map(str::to_owned).to_vec();
        let bounds = KeywordOptions { term_bytes: 4_000, evidence_bytes: 8_000, ..KeywordOptions::default() };
        check(&root, &terms, &bounds, &format!("one letter, seed {seed}"));
    }
}

#[test]
fn ranked_files_join_matching_ones() {
    let tree = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &[u8]| fs::write(tree.path().join(name), text).unwrap();
    fs::create_dir(tree.path().join("a")).unwrap();
    let long: String = (1..=40).map(|index| format!("line {index}\n")).collect();
    write("a/ranked.txt", long.as_bytes());
    write("b.txt", b"term\n");
    write("c.txt", b"no feed behind it");
    write("binary", b"line\0\n");
    let root = open(tree.path());
    let path = |name: &str| RelPath::parse(name, &RelPath::root()).unwrap();
    let options = KeywordOptions::default();
    let terms = ["term".to_owned()];
    let mut found =
        gather(&root, &RelPath::root(), &WalkOptions::default(), &terms, &options, &Stop::never()).unwrap();
    let paths = ["c.txt", "b.txt", "gone", "binary", "a/ranked.txt"].map(path);
    let choose = |index: usize, _: &[u8]| if index == 4 { vec![0, 19, 99] } else { vec![0] };
    let added = found.add_ranked(&root, &RelPath::root(), &paths, &options, &Stop::never(), &choose);
    assert_eq!(added, 2);
    let names: Vec<_> = found.files.iter().map(|file| file.path.display().into_owned()).collect();
    assert_eq!(names, ["a/ranked.txt", "b.txt", "c.txt"]);
    let numbers = |of: fn(&EvidenceLine) -> bool| -> Vec<u64> {
        found.files[0].lines.iter().filter(|line| of(line)).map(|line| line.number).collect()
    };
    assert_eq!(numbers(|line| line.is_ranked), [1, 20]);
    assert_eq!(numbers(|line| line.is_shown), [1, 2, 3, 18, 19, 20, 21, 22]);
    // Lines further away may show that a line contains a secret.
    assert_eq!(numbers(|_| true), (1..=30).collect::<Vec<_>>());
    assert!(found.files.iter().map(FileEvidence::is_ranked).eq([true, false, true]));
    assert_eq!(found.files[2].lines[0].bytes, b"no feed behind it");
}
