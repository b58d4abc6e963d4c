//! The external engines against the embedded one: equal records, and every difference that is left by name.

use std::collections::HashSet;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use forage_fs::{Globs, RelPath, Stop, WalkOptions};
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
    let (mut found, mut left_out, mut requests) = (0, 0, 0);
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
                let (mut theirs, mut embedded) = (records(&files), embedded.clone());
                // Listed in docs/engines.md and asserted by `ugrep_finds_no_empty_match_behind_invalid_utf8`.
                if program.kind() == Kind::Ugrep && CAN_BE_EMPTY.contains(&case.text) {
                    let broken = |path: &[u8]| is_broken(&root, path);
                    let paths: HashSet<Vec<u8>> =
                        embedded.iter().chain(&theirs).map(|record| record.0.clone()).collect();
                    let broken: HashSet<Vec<u8>> = paths.into_iter().filter(|path| broken(path)).collect();
                    left_out += embedded.iter().filter(|record| broken.contains(&record.0)).count();
                    theirs.retain(|record| !broken.contains(&record.0));
                    embedded.retain(|record| !broken.contains(&record.0));
                }
                assert_same(&theirs, &embedded, &what);
                assert_eq!(report.walk.skipped, skipped, "{what}");
                assert_eq!(report.stderr, "", "{what}");
            }
        }
    }
    // The comparison is worth something only if there was something to compare.
    assert!(found > 15_000 && requests > 600, "only {found} records of {requests} requests were compared");
    assert!(left_out < found / 20, "{left_out} of {found} records were left out of the comparison");
}

/// Patterns that match the empty text elsewhere than at a line's beginning.
const CAN_BE_EMPTY: &[&str] = &["x*", "a|^$|b", "^$|bar", "$", r"\b", r"\B"];

fn is_broken(root: &Path, path: &[u8]) -> bool {
    let path = root.join(std::ffi::OsStr::from_bytes(path));
    let bytes = fs::read(path).unwrap();
    !bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xfe\xff") && std::str::from_utf8(&bytes).is_err()
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

/// Lines that tell dialects apart.
const LINES: &[u8] = b"foo\nfoo bar\nFoo, Bar\n(foo)\n\nfoo_bar\n\xc3\xa9foo\nfoo\xc3\xa9\nx foo\xcc\x81 y\n\
    foo\r\nbar\r\n\r\n \t \na\x0bb\n\xc2\x85\n\xe2\x80\xa8z\nk K \xe2\x84\xaa\ns S \xc5\xbf\n\xc3\x9f \xe1\xba\x9e\n\
    \xce\xa3\xcf\x83\xcf\x82\n\xf0\x9f\x98\x80 emoji\n\xff\xfefoo\nfoo\xff\n\xffbar\xff foo\n12 \xd9\xa3\nA.B[c]{2}*+?^$|\\\n\
    <foo>\n#x -y ~z\n--pre=x\n-f/etc/passwd\n--\n-\na/b\nfoo\nbar\nab ab\naaa\n\xe2\x80\x8djoin\nfin";

/// Those of them that are not UTF-8.
const BROKEN_LINES: std::ops::RangeInclusive<u64> = 22..=24;

const TELLING: &[&str] = &[
    "(^|,)foo",
    "a|^$|b",
    "^$|bar",
    "()",
    "(?:)",
    "x{0}",
    "^",
    "$",
    r"\b",
    r"\B",
    r"\bfoo",
    r"foo\b",
    r"\Bfoo",
    r"foo\B",
    r"\b{start}foo",
    r"foo\b{end}",
    r"\<foo\>",
    r"\b{start-half}foo",
    r"foo\b{end-half}",
    r"(?-u:\b)foo(?-u:\b)",
    r"(?-u:\B)foo",
    "(?i)É",
    "(?i)k",
    "(?i:s)",
    "(?i)ß",
    "(?i)σ",
    "[[:alpha:]]+ ",
    r"\pL{3}",
    r"\p{Greek}",
    r"\PL",
    r"[^\x00-\x7f]",
    "(?x) f o o",
    r"\d\d",
    r"\d+\s\d",
    r"(?-u:\d)+",
    r"\Afoo\z",
    r"foo\z",
    r"\Abar",
    r"foo\W+bar",
    r"[\s\S]z",
    "(?s)foo.bar",
    "(?s)o.b",
    r"foo\s+bar",
    r"\s\s",
    r"\S",
    r"^\W+$",
    r"\W$",
    r"foo$",
    r"foo\r$",
    r".$",
    r"^.$",
    r"[^a-z\s]",
    "[a&&b]",
    "[a-z--b]oo",
    "[a-z&&[^f]]oo",
    r"\.",
    r"\\",
    "<",
    ">",
    "#",
    " ",
    r"\t",
    "~",
    r"\*\+\?",
    r"\{2\}",
    "é?f",
    "(?i)foo|BAR",
    "😀",
    r"\u{e9}",
    r"\x{1F600}",
    "a{2,3}?",
    "(a|b)*ab",
    r"(?:ab\s?)+$",
    "--pre=x",
    "-f/etc/passwd",
    "--",
    "-",
    "-e",
    "a/b",
    r"\x{2028}",
    "(?<n>f)o+",
    "(?P<n>b)ar",
    "f(?:o(?:o|x)|y)",
    r"[\d\w]+\s[\d\w]+",
    "(?U)fo+",
    r"foo[\n ]bar",
];

/// Everything of the syntax that means the same in all engines, over lines on which dialects part.
#[test]
fn the_whole_syntax_means_the_same() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), LINES).unwrap();
    fs::write(directory.path().join("b.txt"), "bar\n").unwrap();
    let engines = [engine("rg"), engine("ugrep")];
    let mut found = 0;
    let mut differences = Vec::new();
    for &text in TELLING {
        for case in [Case::Sensitive, Case::Insensitive, Case::Smart] {
            for (literal, word) in [(false, false), (false, true), (true, false), (true, true)] {
                if literal && case != Case::Smart {
                    continue;
                }
                let options = PatternOptions { case, literal, word };
                let pattern =
                    Pattern::new(text, &options).unwrap_or_else(|error| panic!("{text:?}: {error}"));
                let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
                let (embedded, _) = ours(directory.path(), &walk, &pattern, &scan);
                found += embedded.len();
                for program in &engines {
                    let request = request(text, options);
                    let numbers =
                        |records: &[Record]| records.iter().map(|r| (r.0[0], r.1)).collect::<Vec<_>>();
                    let theirs = match run(program, &request, directory.path(), &walk, &scan, &Stop::never())
                    {
                        Ok((files, _)) => numbers(&records(&files)),
                        Err(error) => {
                            differences
                                .push(format!("{}: {text:?} {options:?}: {error}", program.kind().name()));
                            continue;
                        }
                    };
                    let (mut theirs, mut embedded): (HashSet<_>, HashSet<_>) =
                        (theirs.into_iter().collect(), numbers(&embedded).into_iter().collect());
                    if program.kind() == Kind::Ugrep && !literal && CAN_BE_EMPTY.contains(&text) {
                        theirs.retain(|line| !BROKEN_LINES.contains(&line.1));
                        embedded.retain(|line| !BROKEN_LINES.contains(&line.1));
                    }
                    if theirs != embedded {
                        differences.push(format!(
                            "{} {text:?} {case:?} literal {literal} word {word}: more {:?}, less {:?}",
                            program.kind().name(),
                            theirs.difference(&embedded).collect::<Vec<_>>(),
                            embedded.difference(&theirs).collect::<Vec<_>>()
                        ));
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(found > 3_000, "only {found} records were compared");
}

/// The lines that an engine finds in one file, or its error.
fn lines(
    name: &str,
    pattern: &str,
    options: PatternOptions,
    text: &[u8],
) -> (Result<Vec<u64>, String>, Vec<String>) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), text).unwrap();
    let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
    let numbers = |records: Vec<Record>| records.iter().map(|record| record.1).collect();
    if name == "embedded" {
        let found = Pattern::new(pattern, &options)
            .map(|pattern| numbers(ours(directory.path(), &walk, &pattern, &scan).0))
            .map_err(|error| error.to_string());
        return (found, Vec::new());
    }
    match run(&engine(name), &request(pattern, options), directory.path(), &walk, &scan, &Stop::never()) {
        Ok((files, report)) => (Ok(numbers(records(&files))), report.walk.warnings),
        Err(error) => (Err(format!("{error:?}")), Vec::new()),
    }
}

/// What the three engines find: line numbers, or a part of the error.
fn check(pattern: &str, text: &[u8], expected: [Result<&[u64], &str>; 3]) {
    for (name, expected) in ["embedded", "rg", "ugrep"].into_iter().zip(expected) {
        match (lines(name, pattern, PatternOptions::default(), text).0, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{name}: {pattern:?}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{name}: {pattern:?}: {error}"),
            (found, expected) => panic!("{name}: {pattern:?}: {found:?} instead of {expected:?}"),
        }
    }
}

#[test]
fn ugrep_finds_no_empty_match_behind_invalid_utf8() {
    check(r"\b", b"\xffbar\nbar\n", [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[2])]);
    check("^$|bar", b"\xffbar\nbar\n", [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[2])]);
    // It is the empty match that makes the difference, not the bytes.
    check("bar", b"\xffbar\nbar\n", [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[1, 2])]);
}

#[test]
fn ugrep_searches_for_no_bytes_beyond_utf8() {
    check(r"(?-u:\xff)", b"a\n\xff\n", [Ok(&[2]), Ok(&[2]), Err("NotForUgrep")]);
}

#[test]
fn only_ugrep_knows_look_around_and_backreferences() {
    let text = b"foobar\nfoofoo\nxfoo\n";
    check("foo(?=bar)", text, [Err("look-around"), Err("InvalidPattern"), Ok(&[1])]);
    check("(?<!x)foo$", text, [Err("look-around"), Err("InvalidPattern"), Ok(&[2])]);
    check(r"(foo)\1", text, [Err("backreferences"), Err("InvalidPattern"), Ok(&[2])]);
    check(r"\h", b"a b\n", [Err("not valid"), Err("InvalidPattern"), Ok(&[1])]);
    // Words and case are its own there, and they are passed on.
    let options = PatternOptions { case: Case::Insensitive, word: true, literal: false };
    assert_eq!(lines("ugrep", "foo(?= bar)", options, b"xFOO bar\nFOO bar\n").0, Ok(vec![2]));
    let options = PatternOptions { case: Case::Smart, ..options };
    assert_eq!(lines("ugrep", "foo(?= bar)", options, b"FOO bar\n").0, Ok(vec![1]));
    assert_eq!(lines("ugrep", "Foo(?= bar)", options, b"FOO bar\n").0, Ok(vec![]));
}

#[test]
fn a_match_of_ugrep_over_a_line_end_is_left_out_and_said() {
    let (found, warnings) =
        lines("ugrep", r"(?<=f)oo\W+bar", PatternOptions::default(), b"foo\nbar\nfoo bar\nx\n");
    assert_eq!(found, Ok(vec![3]));
    assert!(
        warnings.iter().any(|warning| warning.contains("1 matches of ugrep that reach over")),
        "{warnings:?}"
    );
}

/// The control: run by hand, ugrep ends with 1 (nothing found) and without a word.
#[test]
fn ugrep_gives_up_on_long_lines_and_that_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let long = [b"ab".repeat(500_000), b"c\n".to_vec()].concat();
    for (name, text) in
        [("a", &b"abc\n"[..]), ("b", &b"abac\n"[..]), ("m", &long), ("y", b"bc\n"), ("z", b"x\nabbc\n")]
    {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let pattern = "(?:ab|ba|a|b)+c";
    let output = std::process::Command::new(engine("ugrep").path())
        .args(["-P", "-h", "-n", "-e", pattern, "m", "y", "z"])
        .current_dir(directory.path())
        .output()
        .unwrap();
    assert!(output.stderr.is_empty() && !output.stdout.starts_with(b"1:abab"), "{output:?}");
    let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
    let request = request(pattern, PatternOptions::default());
    let found = |name: &str| {
        let (files, report) =
            run(&engine(name), &request, directory.path(), &walk, &scan, &Stop::never()).unwrap();
        let names: String = files.iter().map(|file| file.path.display().into_owned()).collect();
        (names, report.walk.warnings)
    };
    assert_eq!(found("rg"), ("abmyz".to_owned(), vec![]));
    let (names, warnings) = found("ugrep");
    assert_eq!(names, "abyz");
    assert!(warnings.len() == 1 && warnings[0].contains("gave up within m "), "{warnings:?}");
    let embedded = Pattern::new(pattern, &PatternOptions::default()).unwrap();
    assert_eq!(ours(directory.path(), &walk, &embedded, &scan).0.len(), 5);
}

#[test]
fn ugrep_knows_the_letters_of_its_unicode_version() {
    // U+10D4A is a letter since Unicode 16.
    check(r"x\w", "x\u{10d4a}\nxy\n".as_bytes(), [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[2])]);
}

#[test]
fn ugrep_has_a_smaller_bound_on_patterns() {
    let pattern = r"(?:[\w&&\d]\pL){120}|foo";
    check(pattern, b"foo\n", [Ok(&[1]), Ok(&[1]), Err("too large")]);
}

#[test]
fn a_nul_in_a_pattern_is_no_argument() {
    check("a\0", b"a\n", [Ok(&[]), Err("Nul"), Err("Nul")]);
    check(r"a\x00|b", b"b\n", [Ok(&[1]), Ok(&[1]), Ok(&[1])]);
}

#[test]
fn fuzzy_needs_ugrep() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), "needle\nneedl\nnedl\nother\n").unwrap();
    let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
    let fuzzy = |name: &str, fuzzy| {
        let request = Request { pattern: "needle", options: PatternOptions::default(), fuzzy };
        run(&engine(name), &request, directory.path(), &walk, &scan, &Stop::never())
            .map(|(files, _)| records(&files).iter().map(|record| record.1).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(fuzzy("ugrep", 0), Ok(vec![1]));
    assert_eq!(fuzzy("ugrep", 1), Ok(vec![1, 2]));
    assert_eq!(fuzzy("ugrep", 2), Ok(vec![1, 2, 3]));
    assert!(fuzzy("rg", 1).unwrap_err().contains("use ugrep or the embedded engine"));
    assert!(fuzzy("ugrep", 5).unwrap_err().contains("1 to 4 edits, not 5"));
}

#[test]
fn patterns_for_no_engine_are_refused_before_one_is_started() {
    for name in ["rg", "ugrep"] {
        for (pattern, words) in
            [("", "Empty"), ("a\nb", "LineFeed"), (r"a\nb", "LineFeed"), ("(?=a)\n", "LineFeed")]
        {
            let error = lines(name, pattern, PatternOptions::default(), b"a\nb\n").0.unwrap_err();
            assert!(error.contains(words), "{name}: {pattern:?}: {error}");
        }
        // Also where there is nothing to search.
        let directory = tempfile::tempdir().unwrap();
        let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
        let request = request("a(", PatternOptions::default());
        let error = run(&engine(name), &request, directory.path(), &walk, &scan, &Stop::never()).unwrap_err();
        assert!(matches!(error, ExternalError::InvalidPattern { .. }), "{name}: {error:?}");
    }
}

#[test]
fn a_large_file_equals_the_embedded_engines() {
    let directory = tempfile::tempdir().unwrap();
    let mut text = Vec::new();
    let mut borders = Vec::new();
    for number in 1u64.. {
        // Lines of 64 bytes put the border of a piece between two of them; both match, and the lines around.
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
        let (embedded, skipped) = ours(directory.path(), &walk, &pattern, scan);
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
            assert_same(&records(&files), &embedded, name);
            assert_eq!(report.walk.skipped, skipped, "{name}");
        }
        embedded.len()
    };
    for context in [0, 3] {
        let scan = ScanOptions { before_context: context, after_context: context, ..ScanOptions::default() };
        let found = compare(&scan);
        assert!(found > 25 * (1 + context), "{found}");
    }
    compare(&ScanOptions { max_file_matches: 5, before_context: 1, ..ScanOptions::default() });
    // A NUL byte near the end: nothing of the file counts, in none of the engines.
    let late = text.len() - 100;
    text[late] = 0;
    fs::write(directory.path().join("large.txt"), &text).unwrap();
    assert_eq!(compare(&ScanOptions::default()), 2);
}

#[test]
fn a_start_that_is_a_file_and_one_that_is_not_there() {
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

#[test]
fn breaking_off_ends_the_search() {
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

#[test]
fn programs_come_from_where_no_repository_can_put_them() {
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
    let inside = |result| matches!(result, Err(ResolveError::InsideRoot { .. }));
    assert!(inside(resolve(&root.join("rg"), &[])));
    assert!(inside(resolve(Path::new("rg"), &[&root])));
    // The same file is taken when its directory is no root.
    assert!(Program::resolve(&root.join("rg"), &[], &[]).is_ok());
    std::os::unix::fs::symlink(root.join("rg"), bin.join("rg")).unwrap();
    assert!(inside(resolve(Path::new("rg"), &[&bin])));
    std::os::unix::fs::symlink(&real, root.join("ripgrep")).unwrap();
    assert!(inside(resolve(&root.join("ripgrep"), &[])));
    std::os::unix::fs::symlink(&root, place.join("alias")).unwrap();
    assert!(inside(resolve(&place.join("alias/ripgrep"), &[])));
    // The real one behind them is still found.
    let good =
        resolve(Path::new("rg"), &[Path::new("."), Path::new(""), &root, &bin, real.parent().unwrap()]);
    assert_eq!(good.unwrap().path(), real);
    for path in [".", "", "bin", "../bin"] {
        let found = resolve(Path::new("rg"), &[Path::new(path)]);
        assert!(matches!(found, Err(ResolveError::NotFound { searched: 0, .. })), "{path}: {found:?}");
    }
    assert!(matches!(resolve(Path::new("./rg"), &[&bin]), Err(ResolveError::Relative { .. })));
    assert!(matches!(resolve(Path::new("bin/rg"), &[&place]), Err(ResolveError::Relative { .. })));
    assert!(matches!(resolve(Path::new("../rg"), &[&place]), Err(ResolveError::Relative { .. })));
    fs::create_dir(bin.join("ugrep")).unwrap();
    assert!(matches!(resolve(&bin.join("ugrep"), &[]), Err(ResolveError::NotExecutable { .. })));
    fs::write(bin.join("ripgrep"), "").unwrap();
    assert!(matches!(resolve(&bin.join("ripgrep"), &[]), Err(ResolveError::NotExecutable { .. })));
    assert!(matches!(resolve(&ugrep.with_file_name("ug"), &[]), Err(ResolveError::UgRefused { .. })));
    assert!(matches!(resolve(Path::new("/bin/sh"), &[]), Err(ResolveError::UnknownName { .. })));
    // A link that keeps a good name is run under that name.
    std::os::unix::fs::symlink(ugrep.with_file_name("ug"), bin.join("ugrep-3")).unwrap();
    assert_eq!(resolve(&bin.join("ugrep-3"), &[]).unwrap().path(), bin.join("ugrep-3"));
}
