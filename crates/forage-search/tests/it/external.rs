//! Compares the external engines with the embedded one: the records must be equal, except for named
//! differences.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{Globs, RelPath, Skipped, WalkOptions};
use forage_search::external::{
    self, ExternalError, ExternalReport, ExternalRequest, Program, ProgramError, ProgramKind,
};
use forage_search::{
    Case, FileEvents, Pattern, PatternError, PatternOptions, ResumePoint, ScanOptions, search,
};

use crate::search::{GLOBS, LITERALS, PATTERNS, open};
use crate::trees::{Random, text, tree};

/// Finds the installed engine. A test that calls this must begin with `needs!`.
pub(crate) fn engine(name: &str) -> Program {
    Program::resolve(&forage_fuzz::peers::program(name), &[], &[]).unwrap()
}

pub(crate) fn request(pattern: &str, options: PatternOptions) -> ExternalRequest<'_> {
    ExternalRequest { pattern, options }
}

/// Runs a whole search.
pub(crate) fn run(
    program: &Program,
    request: &ExternalRequest<'_>,
    root: &Path,
    walk: &WalkOptions,
    scan: &ScanOptions,
    stop: &Stop,
) -> Result<(Vec<FileEvents>, ExternalReport), ExternalError> {
    let mut files = Vec::new();
    let report =
        external::search(program, request, &open(root), &RelPath::root(), walk, scan, stop, |file| {
            files.push(file);
            ControlFlow::Continue(())
        })?;
    Ok((files, report))
}

/// A search request for both engines.
pub(crate) struct Wanted {
    pub(crate) text: &'static str,
    pub(crate) options: PatternOptions,
    pub(crate) walk: WalkOptions,
    pub(crate) scan: ScanOptions,
    pub(crate) shown: String,
}

pub(crate) fn random_request(random: &mut Random) -> Wanted {
    let literal = random.one_in(5);
    let text = random.pick(if literal { LITERALS } else { PATTERNS });
    let case = [Case::Sensitive, Case::Insensitive, Case::Smart][random.below(3)];
    let options = PatternOptions { case, literal, word: random.one_in(4), ..PatternOptions::default() };
    let context = random.below(4);
    let mut walk = WalkOptions { threads: 1 + random.below(3), ..WalkOptions::default() };
    let globs: Vec<String> = (0..random.below(3)).map(|_| random.pick(GLOBS).to_owned()).collect();
    if random.one_in(3) && !globs.is_empty() {
        walk.globs = Some(Globs::new(&globs).unwrap());
    }
    walk.hidden = random.one_in(3);
    walk.no_ignore = random.one_in(4);
    walk.follow = random.one_in(4);
    walk.label_hidden = random.one_in(6);
    let place = RelPath::parse(random.pick(&["a", "a.c", "lib.rs", "src/a"]), &RelPath::root()).unwrap();
    let after = match random.below(6) {
        0 => Some(ResumePoint::Matches(place, 2)),
        1 => Some(ResumePoint::Lines(place, 3)),
        _ => None,
    };
    let scan = ScanOptions {
        before_context: context,
        after_context: random.below(2) * context,
        line_bytes: random.one_in(4).then_some(12),
        max_file_matches: if random.one_in(5) { 3 } else { 1_000 },
        count_only: random.one_in(12),
        after,
        ..ScanOptions::default()
    };
    let shown = format!("{text:?} {options:?} {globs:?} {walk:?}");
    Wanted { text, options, walk, scan, shown }
}

#[test]
fn external_results_equal_embedded() {
    forage_fuzz::needs!("rg", "ugrep");
    let engines = [engine("rg"), engine("ugrep")];
    let (mut found, mut left_out, mut requests) = (0, 0, 0);
    for seed in 0..220 {
        let mut random = Random::new(seed + 500_000);
        let (_keep, root) = tree(&mut random, true);
        for _ in 0..3 {
            let case = random_request(&mut random);
            let pattern = Pattern::new(case.text, &case.options).unwrap();
            let (embedded, skipped) = embedded(&root, &case.walk, &pattern, &case.scan);
            found += embedded.iter().map(|file| file.events.len()).sum::<usize>();
            requests += 1;
            for program in &engines {
                let request = request(case.text, case.options);
                let (mut theirs, report) =
                    run(program, &request, &root, &case.walk, &case.scan, &Stop::never()).unwrap();
                let what = format!("seed {seed}, {}: {}", program.kind().name(), case.shown);
                let mut embedded = embedded.clone();
                // This is listed in docs/engines.md and asserted by
                // `ugrep_misses_empty_match_after_invalid_utf8`.
                if program.kind() == ProgramKind::Ugrep
                    && !case.options.literal
                    && CAN_BE_EMPTY.contains(&case.text)
                {
                    let broken = |file: &FileEvents| is_broken(&root, &file.path);
                    left_out += embedded
                        .iter()
                        .filter(|file| broken(file))
                        .map(|file| file.events.len())
                        .sum::<usize>();
                    theirs.retain(|file| !broken(file));
                    embedded.retain(|file| !broken(file));
                }
                assert_same(&theirs, &embedded, &what);
                assert_eq!(report.walk.skipped, skipped, "{what}");
                assert_eq!(report.stderr, "", "{what}");
            }
        }
    }
    // This comparison is meaningful only if there was something to compare.
    assert!(found > 15_000 && requests > 600, "only {found} events of {requests} requests were compared");
    assert!(left_out < found / 20, "{left_out} of {found} events were left out of the comparison");
}

/// Runs the embedded engine.
fn embedded(
    root: &Path,
    walk: &WalkOptions,
    pattern: &Pattern,
    scan: &ScanOptions,
) -> (Vec<FileEvents>, Skipped) {
    let mut files = Vec::new();
    let report = search(&open(root), &RelPath::root(), walk, pattern, scan, &Stop::never(), |file| {
        files.push(file);
        ControlFlow::Continue(())
    })
    .unwrap();
    (files, report.skipped)
}

/// Patterns that match the empty text at places other than the start of a line.
pub(crate) const CAN_BE_EMPTY: &[&str] = &["x*", "a|^$|b", "^$|bar", "$", r"\b", r"\B"];

fn is_broken(root: &Path, path: &RelPath) -> bool {
    let bytes = fs::read(root.join(path.to_os_string().unwrap())).unwrap();
    !bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xfe\xff") && std::str::from_utf8(&bytes).is_err()
}

/// Compares paths, lines, kinds, bytes, matches, cuts, counts and reasons.
fn assert_same(theirs: &[FileEvents], embedded: &[FileEvents], what: &str) {
    if theirs != embedded {
        let first =
            theirs.iter().zip(embedded).position(|(a, b)| a != b).unwrap_or(theirs.len().min(embedded.len()));
        panic!(
            "{what}: {} files, embedded {}; first difference at {first}:\n{:?}\nembedded:\n{:?}",
            theirs.len(),
            embedded.len(),
            theirs.get(first),
            embedded.get(first)
        );
    }
}

#[test]
fn large_file_equals_embedded() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    let mut text = Vec::new();
    let mut borders = Vec::new();
    for number in 1u64.. {
        // These lines have 64 bytes, so that the border of a piece is between two lines. Both match, and so
        // do the lines around them.
        let border = (text.len() + 64) % (4 << 20) == 0 || text.len() % (4 << 20) == 0;
        let word = if border || number % 9_973 == 0 { "needle" } else { "straws" };
        if border {
            borders.push(number);
        }
        text.extend_from_slice(format!("{word} {number:>10} {}\n", "é".repeat(22) + "x").as_bytes());
        if text.len() > 13 << 20 {
            break;
        }
    }
    text.extend_from_slice(b"needle at the end without a line feed");
    fs::write(directory.path().join("large.txt"), &text).unwrap();
    fs::write(directory.path().join("a.txt"), "needle\n").unwrap();
    fs::write(directory.path().join("z.txt"), "x\nneedle\n").unwrap();
    assert!(borders.len() >= 6, "{borders:?}");
    let options = PatternOptions::default();
    let pattern = Pattern::new("needle", &options).unwrap();
    let compare = |scan: &ScanOptions| {
        let walk = WalkOptions::default();
        let (embedded, skipped) = embedded(directory.path(), &walk, &pattern, scan);
        for name in ["rg", "ugrep"] {
            let (files, report) = run(
                &engine(name),
                &request("needle", options),
                directory.path(),
                &walk,
                scan,
                &Stop::never(),
            )
            .unwrap();
            assert_same(&files, &embedded, name);
            assert_eq!(report.walk.skipped, skipped, "{name}");
        }
        embedded.iter().map(|file| file.events.len()).sum::<usize>()
    };
    for context in [0, 3] {
        let scan = ScanOptions { before_context: context, after_context: context, ..ScanOptions::default() };
        let found = compare(&scan);
        assert!(found > 25 * (1 + context), "{found}");
    }
    compare(&ScanOptions { max_file_matches: 5, before_context: 1, ..ScanOptions::default() });
    // With this NUL byte near the end, no engine counts anything in the file.
    let late = text.len() - 100;
    text[late] = 0;
    fs::write(directory.path().join("large.txt"), &text).unwrap();
    assert_eq!(compare(&ScanOptions::default()), 2);
}

#[test]
fn start_may_be_a_file_but_must_exist() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join(".hidden"), "needle\n").unwrap();
    let root = open(directory.path());
    for name in ["rg", "ugrep"] {
        let request = request("needle", PatternOptions::default());
        let search = |start: &str| {
            let start = RelPath::parse(start, &RelPath::root()).unwrap();
            let (walk, scan, mut found) = (WalkOptions::default(), ScanOptions::default(), 0);
            external::search(&engine(name), &request, &root, &start, &walk, &scan, &Stop::never(), |file| {
                found += file.matches;
                ControlFlow::Continue(())
            })
            .map(|report| (found, report.exit_code))
        };
        assert_eq!(search(".hidden").unwrap(), (1, Some(0)));
        assert_eq!(search(".").unwrap(), (0, None));
        assert!(matches!(search("absent"), Err(ExternalError::Open(_))));
    }
}

/// If the deadline cuts an answer, the result must be a prefix of the full answer.
#[test]
fn deadline_gives_a_prefix() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new(7);
    for number in 0..40 {
        let lines = 200 + random.below(20_000);
        fs::write(directory.path().join(format!("f{number:02}")), text(&mut random, lines)).unwrap();
    }
    let large = "needle\nother\nfoo\nx\n".repeat(600_000);
    fs::write(directory.path().join("f17-large"), large).unwrap();
    let options = PatternOptions::default();
    let scan = ScanOptions { before_context: 1, after_context: 2, ..ScanOptions::default() };
    let walk = WalkOptions { threads: 2, ..WalkOptions::default() };
    let whole = embedded(directory.path(), &walk, &Pattern::new("needle|retry", &options).unwrap(), &scan).0;
    for name in ["rg", "ugrep"] {
        let (mut cut, mut within) = (0, 0);
        for milliseconds in (0..400).step_by(20) {
            let stop = Stop::after(Duration::from_millis(milliseconds));
            let request = request("needle|retry", options);
            let what = format!("{name} after {milliseconds} ms");
            let (mut files, report) =
                match run(&engine(name), &request, directory.path(), &walk, &scan, &stop) {
                    // The deadline passed before the pattern was compiled.
                    Err(ExternalError::Pattern(PatternError::Stopped)) => {
                        cut += 1;
                        continue;
                    }
                    run => run.unwrap(),
                };
            if report.walk.stopped.is_none() {
                assert_same(&files, &whole, &what);
                continue;
            }
            cut += 1;
            if let Some(last) = files.pop() {
                let expected = &whole[files.len()];
                let beginning = last.path == expected.path && expected.events.starts_with(&last.events);
                assert!(beginning, "{what}: {} lines of {:?}", last.events.len(), last.path);
                within += u32::from(last.events.len() < expected.events.len());
            }
            assert_same(&files, &whole[..files.len()], &what);
        }
        assert!(cut > 3, "{name}: only {cut} searches were cut, {within} of them within a file");
    }
}

#[test]
fn breaking_off_ends_the_search() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    for number in 0..300 {
        fs::write(directory.path().join(format!("f{number:03}")), "needle\n".repeat(3_000)).unwrap();
    }
    let request = request("needle", PatternOptions::default());
    for name in ["rg", "ugrep"] {
        let (walk, scan, mut seen) = (WalkOptions::default(), ScanOptions::default(), Vec::new());
        let report = external::search(
            &engine(name),
            &request,
            &open(directory.path()),
            &RelPath::root(),
            &walk,
            &scan,
            &Stop::never(),
            |file| {
                seen.push(file.path.display().into_owned());
                if seen.len() == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        )
        .unwrap();
        assert_eq!(seen, ["f000", "f001", "f002", "f003", "f004"]);
        assert!(report.walk.broke_off && report.walk.stopped.is_none());
    }
}

// On other systems, creating a link needs a privilege.
#[cfg(unix)]
#[test]
fn rejects_programs_inside_roots() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().canonicalize().unwrap();
    let (root, bin) = (place.join("root"), place.join("bin"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&bin).unwrap();
    let real = engine("rg").path().to_owned();
    let ugrep = engine("ugrep").path().to_owned();
    let resolve = |name: &Path, path: &[&Path]| {
        let path: Vec<PathBuf> = path.iter().map(|entry| entry.to_path_buf()).collect();
        Program::resolve(name, &path, &[&root])
    };
    fs::copy(&real, root.join("rg")).unwrap();
    let inside = |result| matches!(result, Err(ProgramError::InsideRoot { .. }));
    assert!(inside(resolve(&root.join("rg"), &[])));
    assert!(inside(resolve(Path::new("rg"), &[&root])));
    // The same file is accepted if its directory is not a root.
    assert!(Program::resolve(&root.join("rg"), &[], &[]).is_ok());
    std::os::unix::fs::symlink(root.join("rg"), bin.join("rg")).unwrap();
    assert!(inside(resolve(Path::new("rg"), &[&bin])));
    std::os::unix::fs::symlink(&real, root.join("ripgrep")).unwrap();
    assert!(inside(resolve(&root.join("ripgrep"), &[])));
    std::os::unix::fs::symlink(&root, place.join("alias")).unwrap();
    assert!(inside(resolve(&place.join("alias/ripgrep"), &[])));
    // The real program later in the path must still be found.
    let good =
        resolve(Path::new("rg"), &[Path::new("."), Path::new(""), &root, &bin, real.parent().unwrap()]);
    assert_eq!(good.unwrap().path(), real);
    for path in [".", "", "bin", "../bin"] {
        let found = resolve(Path::new("rg"), &[Path::new(path)]);
        assert!(matches!(found, Err(ProgramError::NotFound { searched: 0, .. })), "{path}: {found:?}");
    }
    assert!(matches!(resolve(Path::new("./rg"), &[&bin]), Err(ProgramError::Relative { .. })));
    assert!(matches!(resolve(Path::new("bin/rg"), &[&place]), Err(ProgramError::Relative { .. })));
    assert!(matches!(resolve(Path::new("../rg"), &[&place]), Err(ProgramError::Relative { .. })));
    fs::create_dir(bin.join("ugrep")).unwrap();
    assert!(matches!(resolve(&bin.join("ugrep"), &[]), Err(ProgramError::NotExecutable { .. })));
    fs::write(bin.join("ripgrep"), "").unwrap();
    assert!(matches!(resolve(&bin.join("ripgrep"), &[]), Err(ProgramError::NotExecutable { .. })));
    assert!(matches!(resolve(&ugrep.with_file_name("ug"), &[]), Err(ProgramError::UgRefused { .. })));
    assert!(matches!(resolve(Path::new("/bin/sh"), &[]), Err(ProgramError::UnknownName { .. })));
    // A link with an accepted name is run under that name.
    std::os::unix::fs::symlink(ugrep.with_file_name("ug"), bin.join("ugrep-3")).unwrap();
    assert_eq!(resolve(&bin.join("ugrep-3"), &[]).unwrap().path(), bin.join("ugrep-3"));
}
