//! Compares `forage grep` with ripgrep, and tests its own options.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::eval::git;
use crate::support::line_with;
use crate::{Project, Run};

fn ripgrep() -> Command {
    let mut command = Command::new(forage_fuzz::peers::program("rg"));
    command.arg("--no-config");
    command
}

/// A random number generator that yields the same numbers in each run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, max: usize) -> usize {
        usize::try_from(self.next() >> 11).unwrap() % max
    }

    /// Returns true in `percent` percent of all calls.
    fn in_hundred(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const LINES: [&str; 18] = [
    "foo",
    "Foo",
    "bar",
    "baz",
    "foo_bar",
    "fooBar",
    "TODO",
    "x",
    "",
    "é",
    "naïve",
    "foo bar",
    "  foo",
    "bar\tfoo",
    "a.b",
    "(foo)",
    "foo\r",
    "longer line with foo and bar and foo again",
];
const NAMES: [&str; 11] = [
    "a.rs",
    "b.py",
    "c.txt",
    "d.md",
    "Makefile",
    ".hidden.rs",
    ".cfg.txt",
    "e.RS",
    "x y.txt",
    "ignored.log",
    "z.rs",
];
const DIRECTORIES: [&str; 6] = ["", "src/", "src/deep/", ".dot/", "build/", "tests/"];
const PATTERNS: [&str; 21] = [
    "foo",
    "bar",
    "Foo",
    "fo+",
    "^foo",
    "foo$",
    "b.r",
    r"\bfoo\b",
    "foo|baz",
    "[a-z]+_[a-z]+",
    "x*",
    "TODO",
    "é",
    ".",
    r"o\s+b",
    "(foo|bar)",
    "^",
    "$",
    "^$",
    r"\w+$",
    "nomatch",
];
const TEXTS: [&str; 5] = ["foo", "a.b", "(foo)", "bar", "foo bar"];

/// Writes a random tree. It has file names of several types, hidden files, ignore files, and text in three
/// encodings, with and without a final line feed.
fn grow(numbers: &mut Numbers) -> Project {
    let project = Project::new(&[]);
    for _ in 0..=numbers.below(9) {
        let path = format!("{}{}", numbers.pick(&DIRECTORIES), numbers.pick(&NAMES));
        let lines: Vec<&str> = (0..numbers.below(10)).map(|_| numbers.pick(&LINES)).collect();
        let text = lines.join("\n") + if numbers.in_hundred(80) { "\n" } else { "" };
        let bytes = match numbers.below(33) {
            0 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            1 => [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect(),
            2 => [text.as_bytes(), b"\xff\xfe bad foo ", "éèêëìíîï\n".as_bytes()].concat(),
            _ => text.into_bytes(),
        };
        let path = project.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    if numbers.in_hundred(50) {
        project.write(
            ".gitignore",
            numbers.pick(&["*.log\n", "build/\n", "*.log\n!z.log\n", "tests\n", "/src/deep\n"]),
        );
    }
    if numbers.in_hundred(15) {
        project.write(".ignore", "c.txt\n");
    }
    project
}

/// Options, each with its probability in percent and its possible values.
const OPTIONS: [(&str, usize, &[&str]); 52] = [
    ("-i", 15, &[]),
    ("-s", 8, &[]),
    ("-S", 15, &[]),
    ("-w", 12, &[]),
    ("-x", 6, &[]),
    ("-v", 10, &[]),
    ("-o", 15, &[]),
    ("-A", 10, &["0", "1", "3"]),
    ("-B", 10, &["0", "1", "3"]),
    ("-C", 10, &["0", "1", "2"]),
    ("-n", 20, &[]),
    ("-N", 5, &[]),
    ("-H", 10, &[]),
    ("-I", 7, &[]),
    ("-g", 10, &["*.rs", "!*.rs", "src/**", "!src", "/src/*", "*.{py,md}", "!build/", "**/deep/*"]),
    ("--glob", 10, &["*.txt", "!/src", "!*.md"]),
    ("--iglob", 5, &["*.rs", "!*.RS", "*.TXT"]),
    ("-t", 10, &["rust", "py", "md", "txt", "make"]),
    ("-T", 6, &["rust", "py", "txt"]),
    ("-.", 6, &[]),
    ("--hidden", 6, &[]),
    ("--no-ignore", 10, &[]),
    ("-u", 4, &[]),
    ("-uu", 4, &[]),
    ("-uuu", 4, &[]),
    ("-L", 4, &[]),
    ("--follow", 4, &[]),
    ("-m", 10, &["0", "1", "3"]),
    ("-q", 5, &[]),
    ("-r", 10, &["X", "[$0]", ""]),
    ("-U", 8, &[]),
    ("-0", 7, &[]),
    ("--max-depth", 6, &["0", "1", "2"]),
    ("--sort", 10, &["path"]),
    ("--stats", 6, &[]),
    ("--column", 8, &[]),
    ("--vimgrep", 7, &[]),
    ("--heading", 10, &[]),
    ("--no-heading", 7, &[]),
    ("-a", 6, &[]),
    ("--passthru", 7, &[]),
    ("-j", 5, &["1", "4"]),
    ("--max-filesize", 5, &["20", "1K", "1M"]),
    ("--trim", 3, &[]),
    ("-b", 3, &[]),
    ("-M", 3, &["0", "10"]),
    ("--crlf", 3, &[]),
    ("-E", 5, &["auto", "none", "utf-8", "latin1", "gbk", "utf-16le"]),
    ("--include-zero", 3, &[]),
    ("--binary", 3, &[]),
    ("--multiline-dotall", 3, &[]),
    ("--color", 5, &["always"]),
];

/// Chooses the arguments of a search, without paths.
fn arguments(numbers: &mut Numbers, patterns: &Path) -> Vec<OsString> {
    let mut arguments: Vec<&str> = Vec::new();
    for (option, percent, values) in OPTIONS {
        if numbers.in_hundred(percent) {
            arguments.push(option);
            arguments.extend((!values.is_empty()).then(|| numbers.pick(values)));
        }
    }
    // With both options ripgrep prints leftover context of another file.
    if arguments.contains(&"-m") {
        arguments.retain(|argument| *argument != "-v");
    }
    if numbers.in_hundred(7) {
        arguments.push("--files");
        return arguments.into_iter().map(OsString::from).collect();
    }
    let mode = numbers.below(100);
    let modes = ["-l", "-l", "--files-without-match", "-c", "-c", "--count-matches", "--json"];
    arguments.extend(modes.get(mode / 5));
    let (texts, is_text) = if numbers.in_hundred(15) { (&TEXTS[..], true) } else { (&PATTERNS[..], false) };
    if is_text {
        arguments.push("-F");
    }
    let (one, other) = (numbers.pick(texts), numbers.pick(texts));
    let mut arguments: Vec<OsString> = arguments.into_iter().map(OsString::from).collect();
    match numbers.below(12) {
        0 => arguments.extend(["-e", one, "-e", other].map(OsString::from)),
        1 => {
            std::fs::write(patterns, format!("{one}\n{other}\n")).unwrap();
            arguments.extend(["-f".into(), patterns.into()]);
        }
        _ => arguments.extend(["-e", one].map(OsString::from)),
    }
    arguments
}

/// Removes text that differs between runs. For `--json` this includes counts of files, because an index or a
/// prefilter may skip some.
fn steady(output: &Output, is_json: bool) -> String {
    let text = output.stdout.escape_ascii().to_string().replace("\\n", "\n");
    let steady = |line: &str| {
        if let Some((_, what)) = line.split_once(" seconds ") {
            return format!("S seconds {what}");
        }
        let plain = line.replace("\\\"", "\"");
        let record = serde_json::from_str::<Value>(&plain).ok().filter(Value::is_object);
        let Some(mut record) = record else { return line.to_owned() };
        if let Some(data) = record["data"].as_object_mut() {
            data.remove("elapsed_total");
            if let Some(stats) = data.get_mut("stats").and_then(Value::as_object_mut) {
                stats.remove("elapsed");
                if record["type"] == "summary" {
                    let stats = record["data"]["stats"].as_object_mut().unwrap();
                    stats.remove("searches");
                    stats.remove("bytes_searched");
                }
            }
        }
        record.to_string()
    };
    if !is_json && !text.contains(" seconds total") {
        return text;
    }
    text.lines().map(|line| steady(line) + "\n").collect()
}

/// Compares standard output and exit status with ripgrep's on 400 random trees and combinations of options.
#[test]
fn output_and_status_are_ripgreps() {
    forage_fuzz::needs!("rg");
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut used: BTreeMap<OsString, usize> = BTreeMap::new();
    let scratch = tempfile::tempdir().unwrap();
    let mut found = 0;
    for position in 0..400 {
        let project = grow(&mut numbers);
        let mut arguments = arguments(&mut numbers, &scratch.path().join("patterns"));
        arguments.iter().for_each(|argument| *used.entry(argument.clone()).or_default() += 1);
        let is_json = arguments.contains(&"--json".into());
        if !arguments.contains(&"--sort".into()) {
            arguments.extend(["--sort", "path"].map(OsString::from));
        }
        arguments.push("--".into());
        let within = project.root.join("src");
        let directory = match numbers.in_hundred(15) && within.is_dir() {
            true => within,
            false => {
                let named =
                    ["src", ".", "./", "src/", "build", "c.txt", "src/a.rs", "./src", "a.rs", "tests"];
                for _ in 0..numbers.below(3) {
                    let path = numbers.pick(&named);
                    if project.root.join(path).exists() && !arguments.contains(&path.into()) {
                        arguments.push(path.into());
                    }
                }
                project.root.clone()
            }
        };
        let theirs = ripgrep().args(&arguments).current_dir(&directory).stdin(Stdio::null()).output();
        let theirs = theirs.unwrap();
        let index = if position % 4 == 0 { "auto" } else { "off" };
        let mut command = project.command(&directory, &["grep"], &[("FORAGE_INDEX", index)]);
        let ours = command.args(&arguments).output().unwrap();
        let context = || {
            let errors = String::from_utf8_lossy(&ours.stderr).into_owned();
            format!("{position}: {arguments:?} in {}: {errors}", directory.display())
        };
        assert_eq!(steady(&ours, is_json), steady(&theirs, is_json), "{}", context());
        assert_eq!(ours.status.code(), theirs.status.code(), "{}", context());
        found += usize::from(ours.status.success());
    }
    assert!(found > 150, "{found}");
    let unused: Vec<_> =
        OPTIONS.iter().filter(|(option, ..)| !used.contains_key(&OsString::from(option))).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

fn project() -> Project {
    Project::new(&[
        ("src/main.rs", "fn main() {\n    needle();\n}\n"),
        ("src/lib.rs", "pub fn needle() {}\n// Needle, needles\n"),
        ("README.md", "A needle.\nline 2\nline 3\nline 4\nline 5\nline 6\nanother needle\n"),
        (".gitignore", "target\n"),
        ("target/out.txt", "only here\nonly here\n"),
    ])
}

/// If an option is given several times, the last one should count. If another engine would read a pattern in
/// its own way, the pattern should be an error.
#[test]
fn last_of_several_options_wins() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("a.c", "int main() {\nx=\"${x}\"\naa\nab\n");
    for arguments in [
        &["-l", "-T", "rust", "-t", "rust", "needle"][..],
        &["-l", "-T", "rust", "-t", "all", "needle"],
        &["-l", "-t", "rust", "-T", "rust", "needle"],
        &["-l", "-t", "all", "-T", "md", "needle"],
        &["-C", "1", "-C", "0", "needle"],
        &["-m", "1", "-m", "2", "-i", "-i", "needle"],
        &["main() {"],
        &["${x}"],
        &["x{1,2"],
        &[r"^\h+$"],
        &[r"(.)\g1"],
    ] {
        let arguments = [&["--sort", "path"], arguments].concat();
        let theirs = ripgrep().args(&arguments).arg(".").current_dir(&project.root).output().unwrap();
        let ours = project.command(&project.root, &["grep"], &[]).args(&arguments).arg(".").output().unwrap();
        let errors = String::from_utf8_lossy(&ours.stderr).into_owned();
        assert_eq!(
            (ours.status.code(), steady(&ours, false)),
            (theirs.status.code(), steady(&theirs, false)),
            "{arguments:?}: {errors}"
        );
        assert!(!errors.contains("slower engine"), "{arguments:?}: {errors}");
    }
}

#[test]
fn files_are_sorted_by_time_or_backwards_as_ripgrep_does() {
    forage_fuzz::needs!("rg");
    let project = project();
    // The times must differ from both the order of the paths and the order of writing.
    for (path, day) in [("src/main.rs", 3), ("src/lib.rs", 1), ("README.md", 2)] {
        let file = std::fs::File::options().append(true).open(project.root.join(path)).unwrap();
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_700_000_000 + day * 86_400);
        file.set_modified(time).unwrap();
    }
    for order in [
        &["--sort", "modified"][..],
        &["--sortr", "modified"],
        &["--sortr", "path"],
        &["--sortr", "path", "--sort", "modified"],
        &["--sort", "modified", "--sortr", "path"],
    ] {
        for arguments in [
            &["needle"][..],
            &["-l", "needle"],
            &["--heading", "-n", "needle"],
            &["-C", "1", "needle"],
            &["--files"],
            &["-c", "needle"],
        ] {
            let theirs =
                ripgrep().args(order).args(arguments).arg(".").current_dir(&project.root).output().unwrap();
            let mut command = project.command(&project.root, &["grep"], &[]);
            let ours = command.args(order).args(arguments).arg(".").output().unwrap();
            let outcome = |output: &Output| (output.status.code(), steady(output, false));
            assert_eq!(outcome(&ours), outcome(&theirs), "{order:?} {arguments:?}");
        }
    }
}

#[test]
fn globs_are_relative_to_the_working_directory() {
    forage_fuzz::needs!("rg");
    let project = project();
    project.write("src/deep/a.rs", "needle\n");
    let directory = project.root.join("src/deep");
    for path in ["../..", "..", ".", "../lib.rs"] {
        for glob in [
            "!/src",
            "/src",
            "src/*.rs",
            "!src/**",
            "*.rs",
            "!main.rs",
            "**/lib.rs",
            "!src",
            "/a.rs",
            "!deep/",
        ] {
            let arguments = ["-l", "--sort", "path", "-g", glob, "needle", path];
            let theirs = ripgrep().args(arguments).current_dir(&directory).output().unwrap();
            let ours = project.command(&directory, &["grep"], &[]).args(arguments).output().unwrap();
            let outcome = |output: &Output| (output.status.code(), steady(output, false));
            assert_eq!(outcome(&ours), outcome(&theirs), "{arguments:?}");
        }
    }
}

#[test]
fn stdout_has_nothing_but_results() {
    let project = project();
    assert_eq!(project.run(&["grep", "-l", "needle"]).stdout, "README.md\nsrc/lib.rs\nsrc/main.rs\n");
    assert_eq!(project.run(&["grep", "-c", "needle"]).stdout, "README.md:2\nsrc/lib.rs:2\nsrc/main.rs:1\n");
    let run = project.run(&["grep", "-q", "needle"]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (0, "", ""));
    let many: String = (0..2_000).map(|index| format!("needle {index}\n")).collect();
    project.write("many.txt", &many);
    assert_eq!(project.run(&["grep", "-I", "needle", "many.txt"]).stdout, many);
}

#[test]
fn search_without_hits_reports_hidden_matches_on_stderr() {
    let project = project();
    for arguments in [
        &["only here"][..],
        &["-P", "only(?= here)"],
        &["-U", "only here\nonly"],
        &["-x", "only here"],
        &["--crlf", "only"],
    ] {
        insta::assert_snapshot!("hidden_matches", project.run(&[&["grep"], arguments].concat()).shown());
    }
    let run = project.run(&["grep", "-x", "only"]);
    assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (1, "", ""));
    assert_eq!(project.run(&["grep", "-q", "only here"]).stderr, "");
    assert_eq!(
        project.run(&["grep", "-u", "only here"]).stdout,
        "target/out.txt:only here\ntarget/out.txt:only here\n"
    );
}

#[test]
fn what_can_not_be_read_is_named_and_an_error() {
    let project = project();
    let mut shown = String::new();
    for arguments in [
        &["needle", "nowhere", "README.md"][..],
        &[],
        &["a\\nb"],
        &["(", "src"],
        &["-Z", "9", "needle"],
        &["-Z", "2", "ab"],
        &["-Z", "2", "-v", "needle"],
        &["--uses", "-o", "needle"],
        &["--uses", "--max-results", "99999", "needle"],
        &["--best-first", "needle"],
        &["--cursor", "1.2.3", "needle"],
        &["--engine", "ag", "needle"],
        &["--engine", "ugrep", "needle"],
        &["-t", "klingon", "needle"],
        &["-g", "[", "needle"],
        &["-f", "nowhere", "src"],
        &["-P", "(?<!", "src"],
        &["-z", "needle"],
        &["--pre", "cat", "needle"],
        &["--sort", "created", "needle"],
        &["--sort", "size", "needle"],
    ] {
        let run = project.run(&[&["grep"], arguments].concat());
        shown += &format!("$ forage grep {}\n{}\n", arguments.join(" "), run.shown());
    }
    insta::assert_snapshot!(shown);
}

/// Runs a command without the capability that lets root read all files.
#[cfg(target_os = "linux")]
fn without_override(command: &Command) -> Run {
    let mut limited = Command::new("/usr/bin/setpriv");
    let capabilities = "-dac_override,-dac_read_search";
    limited.args(["--bounding-set", capabilities, "--inh-caps", capabilities]);
    limited.arg(command.get_program()).args(command.get_args()).env_clear();
    limited.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    Run::from_output(
        limited.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null()).output().unwrap(),
    )
}

#[cfg(target_os = "linux")]
#[test]
fn what_may_not_be_read_is_named_with_the_systems_reason() {
    forage_fuzz::needs!("rg");
    use std::fs::{Permissions, read, set_permissions};
    use std::os::unix::fs::PermissionsExt as _;
    let project = project();
    project.write("closed.txt", "needle closed\n");
    project.write("shut/b.txt", "needle shut\n");
    let places = ["closed.txt", "shut"].map(|name| project.root.join(name));
    for path in &places {
        set_permissions(path, Permissions::from_mode(0o0)).unwrap();
    }
    let run = |command: &mut Command| match read(&places[0]) {
        Ok(_) => without_override(command),
        Err(_) => Run::from_output(command.output().unwrap()),
    };
    let ours = |arguments: &[&str]| run(&mut project.command(&project.root, arguments, &[]));
    for arguments in [&["needle"][..], &["absent"], &["-l", "needle"], &["needle", "closed.txt", "README.md"]]
    {
        let mut theirs = ripgrep();
        theirs.args(["--sort", "path"]).args(arguments).arg(".").current_dir(&project.root);
        let theirs = run(&mut theirs);
        let found = ours(&[&["grep"], arguments, &["."]].concat());
        assert_eq!((found.status, &found.stdout), (2, &theirs.stdout), "{arguments:?}: {found:?} {theirs:?}");
        // A file that is named twice is searched twice, as by ripgrep.
        let mut errors: Vec<&str> = found.stderr.lines().collect();
        errors.dedup();
        let expected = [
            "forage: error: can't open closed.txt: Permission denied (os error 13)",
            "forage: error: shut can't be listed: Permission denied (os error 13)",
        ];
        assert_eq!(errors, expected, "{arguments:?}");
    }
    let [closed, shut] = [
        "[warning: can't open closed.txt: Permission denied (os error 13)]",
        "[warning: shut can't be listed: Permission denied (os error 13)]",
    ];
    for (arguments, expected) in [
        (&["grep", "--uses", "needle"][..], &[closed, shut][..]),
        (&["grep", "-Z", "1", "needle"], &[closed, shut]),
        (&["files", "*.txt"], &[shut]),
        (&["list", "--recursive"], &[closed, shut]),
        (&["rank", "needle"], &[closed, shut]),
        (
            &["read", "closed.txt"],
            &["forage: error: `PATH`: can't open closed.txt: Permission denied (os error 13)"],
        ),
        (
            &["read", "shut/b.txt"],
            &["forage: error: `PATH`: can't open shut/b.txt: Permission denied (os error 13)"],
        ),
    ] {
        let found = ours(arguments);
        let shown = [found.stdout.as_str(), &found.stderr].concat();
        let reasons: Vec<&str> = shown.lines().filter(|line| line.contains("Permission denied")).collect();
        assert_eq!((found.status, &reasons[..]), (2, expected), "{arguments:?}: {found:?}");
    }
    for path in &places {
        set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_glob_that_no_file_fits_is_named_if_others_are_fitted() {
    let project = project();
    let run = project.run(&["grep", "needle", "-l", "-g", "*.java", "-g", "*.md", "-g", "!*.rs"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "README.md\n"));
    assert_eq!(run.stderr, "forage: no searched file matches `*.java` in -g\n");
    for arguments in [
        &["grep", "needle", "-l", "-g", "*.md", "-g", "!*.java"][..],
        &["grep", "needle", "-l", "-g", "README*", "-g", "*.md"],
        &["grep", "needle", "-q", "-g", "*.java", "-g", "*.md"],
    ] {
        assert_eq!(project.run(arguments).stderr, "", "{arguments:?}");
    }
    for (arguments, option) in [
        (&["grep", "-Z", "1", "needle", "-g", "*.java", "-g", "*.md"][..], "--glob"),
        (&["grep", "--uses", "needle", "-g", "*.java", "-g", "*.md"], "--glob"),
        (&["files", "*.java,*.md"], "NAME"),
        (&["rank", "needle", "-g", "*.java,*.md"], "--glob"),
    ] {
        let warning = format!("[warning: no searched file matches `*.java` in {option}]");
        assert_eq!(line_with(&project.run(arguments).stdout, "[warning"), warning, "{arguments:?}");
    }
}

/// The expected positions come from GNU grep, since its `-P` is PCRE.
#[test]
fn look_around_and_backreferences_match_as_pcre_has_them() {
    let project = Project::new(&[("a.txt", "foobar\nfoo\nabba\nabc\nbarfoo\nfoo foo\nword words\nXfoo\n")]);
    let slower =
        "forage: the pattern needs the slower engine, for look-around or backreferences; -P chooses it\n";
    for pattern in
        ["foo(?=bar)", "foo(?!bar)", r"(\w)\1", "(?<!bar)foo", r"\b(\w+) \1\b", r"foo\Kbar", "(?i)(?<=x)foo"]
    {
        let theirs = Command::new("grep")
            .args(["-onP", pattern, "a.txt"])
            .current_dir(&project.root)
            .output()
            .unwrap();
        let ours = project.run(&["grep", "-on", pattern, "a.txt"]);
        assert_eq!(ours.stdout, String::from_utf8(theirs.stdout).unwrap(), "{pattern}");
        assert_eq!(ours.stderr, slower, "{pattern}");
        let asked = project.run(&["grep", "-onP", pattern, "a.txt"]);
        assert_eq!((asked.stdout, asked.stderr.as_str()), (ours.stdout, ""), "{pattern}");
    }
    project.write("long.txt", &format!("{}\n", "a".repeat(200)));
    insta::assert_snapshot!(project.run(&["grep", r"^(?:(a+)+\1)+c$"]).shown());
}

#[test]
fn standard_input_is_searched() {
    let project = Project::new(&[("a.txt", "needle in a file\n")]);
    let grep = |arguments: &[&str], input: &[u8]| project.run_fed(&[&["grep"], arguments].concat(), input);
    assert_eq!(grep(&["-n", "needle", "-"], b"x\none needle\n").stdout, "2:one needle\n");
    assert_eq!(grep(&["needle"], b"x\none needle\n").stdout, "one needle\n");
    assert_eq!(
        grep(&["needle", "-", "a.txt"], b"needle\n").stdout,
        "<stdin>:needle\na.txt:needle in a file\n"
    );
    assert_eq!(grep(&["-f", "-", "a.txt"], b"needle\n").stdout, "needle in a file\n");
    assert_eq!(grep(&["absent"], b"needle\n").status, 1);
    assert_eq!(grep(&["-c", "needle", "-"], "needle\n".repeat(300_000).as_bytes()).stdout, "300000\n");
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("one needle\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    assert_eq!(grep(&["needle"], &utf16).stdout, "one needle\n");
    let run = grep(&["--uses", "needle", "-"], b"needle\n");
    let error = "forage: error: --uses, --ast and --fuzzy search files, not standard input\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, error));
}

/// We buffer the output of a file up to a limit. Anything beyond it must be printed too.
#[test]
fn a_file_prints_all_its_lines_however_many() {
    let project = Project::new(&[("b.txt", "needle\n")]);
    let line = format!("needle {}\n", "x".repeat(90));
    project.write("a.txt", &line.repeat(200_000));
    let run = project.run(&["grep", "-I", "needle"]);
    assert!(run.stdout == line.repeat(200_000) + "needle\n");
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let project = project();
    project.write("many.txt", &"needle\n".repeat(200_000));
    let mut command = project.command(&project.root, &["grep", "needle"], &[]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn binary_and_secret_files_are_reported() {
    let project = Project::new(&[("a.bin", "needle\0\n"), ("id_rsa", "needle\n"), ("a.txt", "needle\n")]);
    insta::assert_snapshot!("secret_file", project.run(&["grep", "needle"]).shown());
    std::fs::remove_file(project.root.join("a.txt")).unwrap();
    insta::assert_snapshot!("binary_and_secret_files", project.run(&["grep", "needle"]).shown());
    project.write("a.txt", "needle\n");
    assert_eq!(project.run(&["grep", "-a", "needle"]).stdout, "a.bin:needle\0\na.txt:needle\n");
    let binary = "binary file matches (found \"\\0\" byte around offset 6)\n";
    assert_eq!(project.run(&["grep", "needle", "a.bin"]).stdout, binary);
}

#[test]
fn uses_and_fuzzy_matches_have_pages() {
    let project = project();
    insta::assert_snapshot!(project.run(&["grep", "--uses", "needle"]).shown());
    let run = project.run(&["grep", "-Z", "1", "--max-results", "1", "--json", "neddle"]);
    let cursor = run.json()["next_cursor"].as_str().unwrap().to_owned();
    let run =
        project.run(&["grep", "-Z", "1", "--max-results", "1", "--json", "neddle", "--cursor", &cursor]);
    assert_eq!(run.json()["match_count"], json!(1), "{run:?}");
}

/// Creates a repository with one commit of two files.
fn committed() -> Project {
    let project = Project::new(&[("src/a.rs", "fn needle() {}\n"), ("vendor/b.rs", "fn needle() {}\n")]);
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "-A"]);
    git(&project, &["commit", "-q", "-m", "one"]);
    project
}

#[test]
fn without_a_change_changed_finds_nothing() {
    let project = committed();
    for arguments in [&["--changed"][..], &["--since", "HEAD"]] {
        let run = project.run(&[&["grep", "needle"], arguments].concat());
        insta::assert_snapshot!("no_change", run.shown());
    }
    insta::assert_snapshot!("no_change_to_rank", project.run(&["rank", "needle", "--changed"]).shown());
    // A deleted file is a change, but there is nothing to search.
    std::fs::remove_file(project.root.join("src/a.rs")).unwrap();
    insta::assert_snapshot!("deletion", project.run(&["grep", "needle", "--changed"]).shown());
    project.configure("[search]\nexclude = [\"vendor\"]\n");
    project.write("vendor/b.rs", "fn needle() {}\n// more\n");
    insta::assert_snapshot!("excluded_change", project.run(&["grep", "needle", "--changed"]).shown());
    // Control: with a change that can be searched, there are matches.
    project.write("src/c.rs", "needle\n");
    assert_eq!(project.run(&["grep", "needle", "--changed"]).status, 0);
}

#[test]
fn a_linked_worktree_is_named_as_the_reason() {
    let project = committed();
    let linked = project.root.with_file_name("linked");
    git(&project, &["worktree", "add", "-q", linked.to_str().unwrap()]);
    let errors = [
        &["read", "HEAD~1:src/a.rs"][..],
        &["grep", "needle", "main:src"],
        &["grep", "needle", "ref:main"],
        &["grep", "needle", "--changed"],
        &["read", "src/none.rs:12"],
    ]
    .map(|arguments| {
        let run = project.run_in(&linked, arguments, &[]);
        assert_eq!(run.status, 2, "{arguments:?}: {run:?}");
        run.stderr
    });
    insta::assert_snapshot!(errors.concat());
}

#[test]
fn errors_about_changes_name_the_typed_option() {
    let project = Project::new(&[("a.txt", "needle\n")]);
    for (option, revision) in [("--changed", &[][..]), ("--since", &["HEAD~1"])] {
        let error = format!("forage: error: `{option}`: the current branch has no commits yet\n");
        let arguments = [&["grep", "needle", option], revision].concat();
        assert_eq!(project.run(&arguments).stderr, error);
    }
}

/// Options that choose files mean the same at another revision as in the working tree.
#[test]
fn file_options_apply_to_another_revision() {
    let project = Project::new(&[
        ("a.txt", "needle\n"),
        ("b.log", "needle\n"),
        ("large.txt", &format!("needle\n{}", "x\n".repeat(500))),
    ]);
    std::fs::write(project.root.join("c.bin"), b"\0needle\n").unwrap();
    git(&project, &["init", "-q", "-b", "main"]);
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "First"]);
    for (options, files) in [
        (&["--iglob", "!*.LOG"][..], &["a.txt", "large.txt"][..]),
        (&["-g", "!b.log", "--iglob", "!LARGE.*"], &["a.txt"]),
        (&["--max-filesize", "100"], &["a.txt", "b.log"]),
        (&["-a"], &["a.txt", "b.log", "c.bin", "large.txt"]),
        (&["--binary"], &["a.txt", "b.log", "c.bin", "large.txt"]),
    ] {
        for more in [&["-l", "needle"][..], &["-v", "-l", "nothing"], &["--files"]] {
            let lists = more == ["--files"];
            let of = |place: &[&str]| {
                let run = project.run(&[&["grep"], options, more, place].concat());
                let files = run.stdout.lines().map(|line| line.rsplit([':', '/']).next().unwrap().to_owned());
                files.collect::<Vec<String>>()
            };
            let there = of(&["main:"]);
            assert_eq!(there, of(&[]), "{options:?} {more:?}");
            assert!(lists || there == files, "{options:?} {more:?}: {there:?}");
        }
    }
    project.write("huge.txt", &"needle\n".repeat(700_000));
    git(&project, &["add", "."]);
    git(&project, &["commit", "-q", "-m", "Second"]);
    for (place, named) in [("main:", "1 file"), ("main:huge.txt", "main:huge.txt")] {
        let run = project.run(&["grep", "-l", "needle", place]);
        let limit = "over 4 MiB, the limit for files of another revision; not searched";
        assert_eq!((run.status, run.stderr), (2, format!("forage: error: {named}: {limit}\n")));
    }
    let depth = project.run(&["grep", "-d", "1", "needle", "main:"]);
    let error = "forage: error: --max-depth is for files of the working tree; -g GLOB chooses files of another \
                 revision by name\n";
    assert_eq!((depth.status, depth.stderr.as_str()), (2, error));
    let binary = "main:c.bin: binary file matches (found \"\\0\" byte around offset 0)\n";
    assert_eq!(project.run(&["grep", "needle", "main:c.bin"]).stdout, binary);
    // A file that the user names is listed, whatever its size.
    let named = project.run(&["grep", "--files", "--max-filesize", "100", "large.txt"]);
    assert_eq!((named.status, named.stdout.as_str()), (0, "large.txt\n"));
}

/// Regression test: the note was about the files of the tree.
#[test]
fn globs_that_fit_another_revision_are_not_named() {
    let project = committed();
    std::fs::remove_file(project.root.join("src/a.rs")).unwrap();
    project.write("b.md", "needle\n");
    let searched = |paths: &[&str]| {
        let run = project.run(&[&["grep", "-l", "needle", "-g", "*.md", "-g", "src/*.rs"], paths].concat());
        (run.stdout, run.stderr)
    };
    assert_eq!(searched(&["HEAD:"]), ("HEAD:src/a.rs\n".to_owned(), String::new()));
    // Positive control.
    let note = "forage: no searched file matches `src/*.rs` in -g\n";
    assert_eq!(searched(&[]), ("b.md\n".to_owned(), note.to_owned()));
}

#[test]
fn uses_of_another_revision_are_refused_by_option() {
    let run = committed().run(&["grep", "--uses", "needle", "HEAD:"]);
    let error = "forage: error: `--uses`: uses are found only in the working tree; omit this, or search for \
                 lines\n";
    assert_eq!((run.status, run.stderr.as_str()), (2, error));
}

/// Regression test: `..` removed the revision with the directory after it, and `-q` listed a file.
#[test]
#[cfg(unix)]
fn paths_of_another_revision_may_step_up() {
    let project = committed();
    project.write("src/a.rs", "fn edited() {}\n");
    let run = project.run(&["grep", "-c", "needle|edited", "HEAD:vendor/../src"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, "HEAD:src/a.rs:1\n"), "{run:?}");
    assert_eq!(project.run(&["grep", "needle", "HEAD:vendor/../src"]).status, 0);
    assert_eq!(project.run(&["grep", "edited", "HEAD:vendor/../src"]).status, 1);
    let run = project.run(&["grep", "-q", "--files", "HEAD:"]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""), "{run:?}");
}
