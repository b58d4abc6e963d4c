//! Compares the embedded engine with `rg --json`.

use std::ops::ControlFlow;
use std::path::Path;

use forage_base::Stop;
use forage_fs::{Globs, RelPath, Root, RootPolicy, SecretPolicy, SkipReason, Skipped, WalkOptions};
use forage_search::{Case, EventKind, FileEvents, Pattern, PatternOptions, ScanOptions, search};

use crate::ripgrep::{self, Record};
use crate::trees::{Random, tree};

pub(crate) const PATTERNS: &[&str] = &[
    "foo",
    "Foo",
    "needle|retry",
    r"\bfoo\b",
    "fo+",
    "^foo",
    "foo$",
    "^$",
    r"\w+_code",
    "[A-Z]",
    "k",
    "s",
    "é",
    "naïve",
    "x*",
    r"[a-z]{3}",
    ".",
    "ſ",
    "(foo|bar)(bar)?",
    r"error\w*",
    "a.b",
    "FOO",
    r"\bif\b",
    r"fo{1,2}\b",
    r"[^a-z\s]",
    "backoff|bar|needle|retry|error_code",
    r"\s$",
    "K",
];
pub(crate) const LITERALS: &[&str] = &["a.b", "(", "foo", "_code", "K", "é"];
pub(crate) const GLOBS: &[&str] =
    &["*.rs", "*.txt", "!*.log", "src/*", "!target", "**/deep/**", "*.{c,md}", "/a", "!b"];

pub(crate) fn open(root: &Path) -> std::sync::Arc<Root> {
    Root::open(root, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap()
}

/// Intended difference: `$` also matches before CR LF.
pub(crate) fn for_ripgrep(pattern: &str) -> String {
    pattern.replace('$', "(?:$|(?R:$))")
}

pub(crate) fn records(files: &[FileEvents]) -> Vec<Record> {
    let event = |file: &FileEvents| {
        let path = file.path.as_bytes().to_vec();
        let record = |event: &forage_search::SearchEvent| {
            let spans = event.spans.iter().map(|span| (span.start, span.end)).collect();
            (path.clone(), event.line_number, event.kind == EventKind::Match, event.bytes.clone(), spans)
        };
        file.events.iter().map(record).collect::<Vec<_>>()
    };
    files.iter().flat_map(event).collect()
}

pub(crate) fn ours(
    root: &Path,
    walk: &WalkOptions,
    pattern: &Pattern,
    scan: &ScanOptions,
) -> (Vec<Record>, Skipped) {
    let mut files = Vec::new();
    let report = search(&open(root), &RelPath::root(), walk, pattern, scan, &Stop::never(), |file| {
        files.push(file);
        ControlFlow::Continue(())
    })
    .unwrap();
    (records(&files), report.skipped)
}

/// Generates a random request for our engine, together with the same request as arguments of `rg`.
fn request(random: &mut Random) -> (Pattern, WalkOptions, ScanOptions, Vec<String>) {
    let mut arguments: Vec<String> = Vec::new();
    let literal = random.one_in(5);
    let text = random.pick(if literal { LITERALS } else { PATTERNS });
    let case = [Case::Sensitive, Case::Insensitive, Case::Smart][random.below(3)];
    let word = random.one_in(4);
    arguments.extend(match case {
        Case::Sensitive => None,
        Case::Insensitive => Some("-i".to_owned()),
        Case::Smart => Some("-S".to_owned()),
    });
    arguments.extend(literal.then(|| "-F".to_owned()));
    arguments.extend(word.then(|| "-w".to_owned()));
    let context = random.below(4);
    arguments.push(format!("-C{context}"));
    let mut walk = WalkOptions { threads: 1 + random.below(3), ..WalkOptions::default() };
    let globs: Vec<String> = (0..random.below(3)).map(|_| random.pick(GLOBS).to_owned()).collect();
    if random.one_in(3) && !globs.is_empty() {
        walk.globs = Some(Globs::new(&globs).unwrap());
        arguments.extend(globs.iter().flat_map(|glob| ["-g".to_owned(), glob.clone()]));
    }
    if random.one_in(3) {
        walk.hidden = true;
        arguments.push("--hidden".to_owned());
    }
    // Intended difference: `.git` is never searched.
    arguments.extend(["-g".to_owned(), "!.git".to_owned()]);
    if random.one_in(4) {
        walk.no_ignore = true;
        arguments.push("--no-ignore".to_owned());
    }
    if random.one_in(4) {
        walk.follow = true;
        arguments.push("--follow".to_owned());
    }
    let theirs = if literal { text.to_owned() } else { for_ripgrep(text) };
    arguments.extend(["-e".to_owned(), theirs]);
    let pattern =
        Pattern::new(text, &PatternOptions { case, literal, word, ..PatternOptions::default() }).unwrap();
    let scan = ScanOptions { before_context: context, after_context: context, ..ScanOptions::default() };
    (pattern, walk, scan, arguments)
}

#[test]
fn records_equal_ripgreps() {
    forage_fuzz::needs!("rg");
    let (mut found, mut binaries) = (0, 0);
    for seed in 0..320 {
        let mut random = Random::new(seed);
        let (_keep, root) = tree(&mut random, true);
        for _ in 0..3 {
            let (pattern, walk, scan, arguments) = request(&mut random);
            let (theirs, binary) = ripgrep::records(&root, &arguments);
            found += theirs.len();
            let (ours, skipped) = ours(&root, &walk, &pattern, &scan);
            // Intended difference: we count a file with a NUL byte and do not search it. ripgrep reports
            // matches in the blocks before the one with the NUL byte.
            assert!(skipped.get(SkipReason::Binary) >= binary, "seed {seed}: {binary} binary files");
            binaries += binary;
            if ours != theirs {
                let first = ours
                    .iter()
                    .zip(&theirs)
                    .position(|(a, b)| a != b)
                    .unwrap_or(ours.len().min(theirs.len()));
                panic!(
                    "seed {seed}, rg {arguments:?}: {} records, rg has {}; first difference at {first}:\n{:?}\n{:?}\n{}",
                    ours.len(),
                    theirs.len(),
                    ours.get(first),
                    theirs.get(first),
                    pattern.describe(),
                );
            }
        }
    }
    // This comparison is meaningful only if there was something to compare.
    assert!(found > 15_000 && binaries > 0, "only {found} records and {binaries} binary files were compared");
}
