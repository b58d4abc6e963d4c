//! Tests the dialects of the engines: their common syntax, and each difference listed in docs/engines.md.

use std::collections::HashSet;
use std::fs;

use forage_base::Stop;
use forage_fs::WalkOptions;
use forage_search::external::{ExternalError, ExternalRequest, ProgramKind};
use forage_search::{Case, Pattern, PatternOptions, ScanOptions};

use crate::external::{CAN_BE_EMPTY, engine, request, run};
use crate::ripgrep::Record;
use crate::search::{ours, records};

/// Lines on which dialects differ.
const LINES: &[u8] = b"foo\nfoo bar\nFoo, Bar\n(foo)\n\nfoo_bar\n\xc3\xa9foo\nfoo\xc3\xa9\nx foo\xcc\x81 y\n\
    foo\r\nbar\r\n\r\n \t \na\x0bb\n\xc2\x85\n\xe2\x80\xa8z\nk K \xe2\x84\xaa\ns S \xc5\xbf\n\xc3\x9f \xe1\xba\x9e\n\
    \xce\xa3\xcf\x83\xcf\x82\n\xf0\x9f\x98\x80 emoji\n\xff\xfefoo\nfoo\xff\n\xffbar\xff foo\n12 \xd9\xa3\nA.B[c]{2}*+?^$|\\\n\
    <foo>\n#x -y ~z\n--pre=x\n-f/etc/passwd\n--\n-\na/b\nfoo\nbar\nab ab\naaa\n\xe2\x80\x8djoin\nfin";

/// The numbers of the lines that are not UTF-8.
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

/// Checks all syntax that means the same in all engines, on lines where dialects differ.
#[test]
fn shared_syntax_means_the_same() {
    forage_fuzz::needs!("rg", "ugrep");
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
                let options = PatternOptions { case, literal, word, ..PatternOptions::default() };
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
                    if program.kind() == ProgramKind::Ugrep && !literal && CAN_BE_EMPTY.contains(&text) {
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

/// Searches one file with an engine. Returns the lines that it finds, or its error, and its notes.
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
        Ok((files, report)) => (Ok(numbers(records(&files))), report.notes),
        Err(error) => (Err(format!("{error:?}")), Vec::new()),
    }
}

/// Checks the results of all three engines: line numbers, or a part of the error.
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
fn ugrep_misses_empty_match_after_invalid_utf8() {
    forage_fuzz::needs!("rg", "ugrep");
    let text = [b"\xffbar\nbar\n", "éèêë\n".as_bytes()].concat();
    check(r"\b", &text, [Ok(&[1, 2, 3]), Ok(&[1, 2, 3]), Ok(&[2, 3])]);
    check("^$|bar", &text, [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[2])]);
    // The empty match makes this difference, not the bytes.
    check("bar", &text, [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[1, 2])]);
}

#[test]
fn ugrep_rejects_non_utf8_bytes() {
    forage_fuzz::needs!("rg", "ugrep");
    check(r"(?-u:\xff)", b"a\n\xff\n", [Ok(&[2]), Ok(&[2]), Err("NotForUgrep")]);
}

/// Regression test: the error was that for bytes that are not UTF-8.
#[test]
fn ugrep_rejects_a_count_over_its_limit() {
    forage_fuzz::needs!("ugrep");
    let of = |pattern| lines("ugrep", pattern, PatternOptions::default(), b"aaa\n").0;
    assert!(of("a{70000}").unwrap_err().contains("CountForUgrep"));
    assert_eq!(of("a{3}"), Ok(vec![1]));
}

#[test]
fn only_ugrep_supports_look_around_and_backreferences() {
    forage_fuzz::needs!("rg", "ugrep");
    let text = b"foobar\nfoofoo\nxfoo\n";
    check("foo(?=bar)", text, [Err("look-around"), Err("InvalidPattern"), Ok(&[1])]);
    check("(?<!x)foo$", text, [Err("look-around"), Err("InvalidPattern"), Ok(&[2])]);
    check(r"(foo)\1", text, [Err("backreferences"), Err("InvalidPattern"), Ok(&[2])]);
    check(r"\h", b"a b\n", [Err("not valid"), Err("InvalidPattern"), Ok(&[1])]);
    // ugrep has its own word and case handling here, and we pass the options on.
    let options = PatternOptions { case: Case::Insensitive, word: true, ..PatternOptions::default() };
    assert_eq!(lines("ugrep", "foo(?= bar)", options, b"xFOO bar\nFOO bar\n").0, Ok(vec![2]));
    let options = PatternOptions { case: Case::Smart, ..options };
    assert_eq!(lines("ugrep", "foo(?= bar)", options, b"FOO bar\n").0, Ok(vec![1]));
    assert_eq!(lines("ugrep", "Foo(?= bar)", options, b"FOO bar\n").0, Ok(vec![]));
}

#[test]
fn ugrep_multiline_match_is_left_out_and_reported() {
    forage_fuzz::needs!("ugrep");
    let (found, warnings) =
        lines("ugrep", r"(?<=f)oo\W+bar", PatternOptions::default(), b"foo\nbar\nfoo bar\nx\n");
    assert_eq!(found, Ok(vec![3]));
    let left_out =
        "left out: 1 match of ugrep across several lines, since a pattern can't match across lines";
    assert!(warnings.iter().any(|warning| warning == left_out), "{warnings:?}");
}

/// The control: ugrep alone silently exits with 1 (nothing found).
#[test]
fn ugrep_giving_up_on_long_lines_is_reported() {
    forage_fuzz::needs!("rg", "ugrep");
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
        (names, report.notes)
    };
    assert_eq!(found("rg"), ("abmyz".to_owned(), vec![]));
    let (names, warnings) = found("ugrep");
    assert_eq!(names, "abyz");
    assert!(warnings.len() == 1 && warnings[0].contains("stopped early in m "), "{warnings:?}");
    let embedded = Pattern::new(pattern, &PatternOptions::default()).unwrap();
    assert_eq!(ours(directory.path(), &walk, &embedded, &scan).0.len(), 5);
}

#[test]
fn ugrep_uses_its_own_unicode_version() {
    forage_fuzz::needs!("rg", "ugrep");
    // U+10D4A has been a letter since Unicode 16.
    check(r"x\w", "x\u{10d4a}\nxy\n".as_bytes(), [Ok(&[1, 2]), Ok(&[1, 2]), Ok(&[2])]);
}

#[test]
fn ugrep_has_a_lower_pattern_limit() {
    forage_fuzz::needs!("rg", "ugrep");
    let pattern = r"(?:[\w&&\d]\pL){120}|foo";
    check(pattern, b"foo\n", [Ok(&[1]), Ok(&[1]), Err("too large")]);
}

#[test]
fn nul_in_pattern_is_an_error() {
    forage_fuzz::needs!("rg", "ugrep");
    check("a\0", b"a\n", [Ok(&[]), Err("Nul"), Err("Nul")]);
    check(r"a\x00|b", b"b\n", [Ok(&[1]), Ok(&[1]), Ok(&[1])]);
}

#[test]
fn fuzzy_needs_ugrep() {
    forage_fuzz::needs!("rg", "ugrep");
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a.txt"), "needle\nneedl\nnedl\nother\nxeedle\n").unwrap();
    let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
    let fuzzy = |name: &str, fuzzy| {
        let request = ExternalRequest {
            pattern: "needle",
            options: PatternOptions { fuzzy, ..PatternOptions::default() },
        };
        run(&engine(name), &request, directory.path(), &walk, &scan, &Stop::never())
            .map(|(files, _)| records(&files).iter().map(|record| record.1).collect::<Vec<_>>())
            .map_err(|error| error.to_string())
    };
    assert_eq!(fuzzy("ugrep", 0), Ok(vec![1]));
    assert_eq!(fuzzy("ugrep", 1), Ok(vec![1, 2]));
    // The embedded engine may also edit the first character.
    let options = PatternOptions { fuzzy: 1, ..PatternOptions::default() };
    let pattern = Pattern::new("needle", &options).unwrap();
    let found = ours(directory.path(), &walk, &pattern, &scan).0;
    assert_eq!(found.iter().map(|record| record.1).collect::<Vec<_>>(), [1, 2, 5]);
    assert!(fuzzy("rg", 1).unwrap_err().contains("use ugrep or the embedded engine"));
    assert!(fuzzy("ugrep", 5).unwrap_err().contains("5 edits"));
}

#[test]
fn invalid_patterns_start_no_engine() {
    forage_fuzz::needs!("rg", "ugrep");
    for name in ["rg", "ugrep"] {
        for (pattern, words) in
            [("", "Empty"), ("a\nb", "LineFeed"), (r"a\nb", "LineFeed"), ("(?=a)\n", "LineFeed")]
        {
            let error = lines(name, pattern, PatternOptions::default(), b"a\nb\n").0.unwrap_err();
            assert!(error.contains(words), "{name}: {pattern:?}: {error}");
        }
        // This must also hold if there is nothing to search.
        let directory = tempfile::tempdir().unwrap();
        let (walk, scan) = (WalkOptions::default(), ScanOptions::default());
        let request = request("a(", PatternOptions::default());
        let error = run(&engine(name), &request, directory.path(), &walk, &scan, &Stop::never()).unwrap_err();
        assert!(matches!(error, ExternalError::InvalidPattern { .. }), "{name}: {error:?}");
    }
}
