//! The external engines against the embedded one: equal records, and every difference that is left by name.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use forage_fs::{Globs, RelPath, Skipped, Stop, WalkOptions};
use forage_search::external::{self, ExternalError, Kind, Program, Report, Request, ResolveError};
use forage_search::{Case, FileEvents, Pattern, PatternOptions, ScanOptions};

use crate::ripgrep::Record;
use crate::search::{GLOBS, LITERALS, PATTERNS, open, ours, records};
use crate::trees::{Random, tree};

/// The installed engine. Fails loudly when there is none: nothing is compared then.
pub(crate) fn engine(name: &str) -> Program {
    let variable = format!("FORAGE_TEST_{}", name.to_uppercase());
    let wanted = std::env::var_os(variable).map_or_else(|| PathBuf::from(name), PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    Program::resolve(&wanted, &directories, &[])
        .unwrap_or_else(|error| panic!("{wanted:?} is needed by this test (see CONTRIBUTING.md): {error}"))
}

pub(crate) fn request(pattern: &str, options: PatternOptions) -> Request<'_> {
    Request { pattern, options, fuzzy: 0 }
}

/// A whole search.
pub(crate) fn run(
    program: &Program,
    request: &Request<'_>,
    root: &Path,
    walk: &WalkOptions,
    scan: &ScanOptions,
    stop: &Stop,
) -> Result<(Vec<FileEvents>, Report), ExternalError> {
    let mut files = Vec::new();
    let report =
        external::search(program, request, &open(root), &RelPath::root(), walk, scan, stop, |file| {
            files.push(file);
            ControlFlow::Continue(())
        })?;
    Ok((files, report))
}

struct Case3 {
    text: &'static str,
    options: PatternOptions,
    walk: WalkOptions,
    scan: ScanOptions,
    shown: String,
}

fn random_request(random: &mut Random) -> Case3 {
    let literal = random.one_in(5);
    let text = random.pick(if literal { LITERALS } else { PATTERNS });
    let case = [Case::Sensitive, Case::Insensitive, Case::Smart][random.below(3)];
    let options = PatternOptions { case, literal, word: random.one_in(4) };
    let context = random.below(4);
    let mut walk = WalkOptions { threads: 1 + random.below(3), ..WalkOptions::default() };
    let globs: Vec<String> = (0..random.below(3)).map(|_| random.pick(GLOBS).to_owned()).collect();
    if random.one_in(3) && !globs.is_empty() {
        walk.globs = Some(Globs::new(&globs).unwrap());
    }
    walk.hidden = random.one_in(3);
    walk.no_ignore = random.one_in(4);
    walk.follow = random.one_in(4);
    let scan = ScanOptions {
        before_context: context,
        after_context: random.below(2) * context,
        line_bytes: random.one_in(4).then_some(12),
        max_file_matches: if random.one_in(5) { 3 } else { 1_000 },
        count_only: random.one_in(12),
        ..ScanOptions::default()
    };
    let shown = format!("{text:?} {options:?} {globs:?} {walk:?}");
    Case3 { text, options, walk, scan, shown }
}

#[test]
fn records_equal_the_embedded_engines() {
    let engines = [engine("rg"), engine("ugrep")];
    let (mut found, mut requests) = (0, 0);
    for seed in 0..260 {
        let mut random = Random::new(seed + 500_000);
        let (_keep, root) = tree(&mut random, true);
        for _ in 0..3 {
            let case = random_request(&mut random);
            let pattern = Pattern::new(case.text, &case.options).unwrap();
            let (embedded, skipped) = ours(&root, &case.walk, &pattern, &case.scan);
            found += embedded.len();
            requests += 1;
            for program in &engines {
                let request = request(case.text, case.options);
                let (files, report) =
                    run(program, &request, &root, &case.walk, &case.scan, &Stop::never()).unwrap();
                let what = format!("seed {seed}, {}: {}", program.kind().name(), case.shown);
                assert_same(&records(&files), &embedded, &what);
                assert_eq!(report.walk.skipped, skipped, "{what}");
                assert_eq!(report.stderr, "", "{what}");
            }
        }
    }
    // The comparison is worth something only if there was something to compare.
    assert!(found > 15_000 && requests > 600, "only {found} records of {requests} requests were compared");
}

fn assert_same(theirs: &[Record], embedded: &[Record], what: &str) {
    if theirs != embedded {
        let first =
            theirs.iter().zip(embedded).position(|(a, b)| a != b).unwrap_or(theirs.len().min(embedded.len()));
        panic!(
            "{what}: {} records, embedded {}; first difference at {first}:\n{:?}\nembedded:\n{:?}",
            theirs.len(),
            embedded.len(),
            theirs.get(first),
            embedded.get(first)
        );
    }
}
