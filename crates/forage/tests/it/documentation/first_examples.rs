//! The first example of the README and of each page in `docs` must work as written, on a machine without a
//! model, a key or a network. We run each line in a shell, in a copy of the sources with a history and an
//! empty home.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::eval::git;
use crate::plan::copy_files;
use crate::{Project, Run};

/// Pages whose first example is not a command of the program. Each has the first line of its example, if it
/// has one, and the reason.
const OTHERS: &[(&str, Option<&str>, &str)] = &[
    ("README.md", None, "the front page of the book"),
    ("SUMMARY.md", None, "the table of contents"),
    ("commands.md", None, "the help of every command, whose examples `cli` looks at"),
    ("errors.md", Some("forage grep --json '('"), "an error, which ends with 2; `documentation` compares it"),
    ("glossary.md", None, "words, without an example"),
    ("mcp-session.md", None, "messages, which `mcp::page` sends"),
    (
        "packaging.md",
        Some("cargo xtask package            # into target/package"),
        "it builds for minutes, and `check --all` does",
    ),
    ("python.md", Some("pip install ."), "it builds for minutes, and `check --all` does"),
    ("ripgrep.md", None, "a table of differences, without an example"),
    (
        "typescript.md",
        Some(
            "cargo xtask node                 # builds, installs and tests it; the packages are in target/bindings/node",
        ),
        "it builds for minutes, and `check --all` does",
    ),
];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Extracts the first block of commands from a text. In a `sh` block these are all lines, and in a `console`
/// block the lines after `$ `. A line that ends with a backslash is joined with the next one.
fn first_example(text: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| !matches!(*line, "```sh" | "```console"));
    let is_console = lines.next() == Some("```console");
    let block: Vec<&str> = lines.take_while(|line| *line != "```").collect();
    let commands = block.join("\n").replace("\\\n", "");
    let commands = commands.lines().filter(|line| !line.is_empty());
    match is_console {
        true => commands.filter_map(|line| line.strip_prefix("$ ")).map(str::to_owned).collect(),
        false => commands.map(str::to_owned).collect(),
    }
}

/// Returns the text below a heading of a page.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let begin = text.find(&format!("\n{heading}\n")).unwrap();
    &text[begin..]
}

/// Creates a copy of the sources, with commits whose messages describe the touched files.
fn sources() -> Project {
    let project = Project::new(&[]);
    for entry in std::fs::read_dir(workspace()).unwrap() {
        let entry = entry.unwrap();
        let target = project.root.join(entry.file_name());
        match entry.file_name().to_str() {
            // Skip the build output. Also skip the history, which may belong to another repository.
            Some("target" | ".git") => {}
            _ if entry.file_type().unwrap().is_dir() => copy_files(&entry.path(), &target),
            _ => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
    let commit = |message: &str| {
        git(&project, &["add", "-A"]);
        git(&project, &["commit", "-q", "-m", message]);
    };
    git(&project, &["init", "-q", "-b", "main", "."]);
    commit("Begin with all of it");
    for krate in std::fs::read_dir(project.root.join("crates")).unwrap() {
        let path = krate.unwrap().path().join("src/lib.rs");
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        std::fs::write(&path, format!("{text}\n// Changed.\n")).unwrap();
        commit(text.lines().next().unwrap().trim_start_matches("//! "));
    }
    project
}

/// Runs a line as written. If it begins with a build, we take the program that these tests have built
/// instead.
fn run(project: &Project, home: &Path, line: &str) -> Run {
    let line = line.replace("cargo run --release -- ", "forage ");
    // The server of a page runs until Ctrl-C, so we send this some time after the address was printed.
    let line = match line == "forage ui" || line.starts_with("forage ui ") {
        true => format!("timeout --preserve-status --signal=INT 3 {line}"),
        false => line,
    };
    let programs = Path::new(env!("CARGO_BIN_EXE_forage")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &line])
        .current_dir(&project.root)
        .env_clear()
        .env("PATH", path)
        .env("HOME", home)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let status = output.status.code().unwrap_or(-1);
    Run { status, stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs the lines of an example in order, in a separate home. Returns the failures.
fn failures(project: &Project, name: &str, lines: &[String]) -> Vec<String> {
    let home = project.home.join(name);
    std::fs::create_dir_all(&home).unwrap();
    let fails = |line: &&String| {
        let run = run(project, &home, line);
        // A server without a client prints nothing, and lines that prepare a call need not print.
        let prints = line.contains("forage ") && !line.starts_with("forage mcp ");
        let works = run.status == 0 && !(prints && run.stdout.is_empty());
        (!works || run.stderr.contains("panicked")).then(|| format!("{name}: {line}\n{run:?}"))
    };
    lines.iter().filter_map(|line| fails(&line)).collect()
}

fn is_of_the_program(lines: &[String]) -> bool {
    lines.iter().any(|line| {
        line == "forage"
            || line.starts_with("forage ")
            || line.contains(" forage mcp ")
            || line.starts_with("cargo run --release -- ")
    })
}

/// Runs all pages, each in a separate thread.
#[test]
fn the_first_example_of_every_page_works_without_a_model() {
    let project = sources();
    let mut examples = Vec::new();
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    for heading in ["## Start", "## Use"] {
        examples.push((heading.to_owned(), first_example(section(&readme, heading))));
    }
    for entry in std::fs::read_dir(workspace().join("docs")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().extension().is_none_or(|end| end != "md") {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        // Other tests already run every example of such a page, in a package or on the page's own files.
        if text.contains("```text file=") || super::package(&text).is_some() {
            continue;
        }
        examples.push((entry.file_name().into_string().unwrap(), first_example(&text)));
    }
    let pages = examples.len() - 2;
    examples.retain(|(name, lines)| {
        let Some((_, instead, why)) = OTHERS.iter().find(|(page, ..)| page == name) else { return true };
        let first = lines.first().map(String::as_str);
        assert!(first == *instead, "{name} is said to have no example ({why}): take it out of the list");
        false
    });
    assert_eq!(pages + 2, examples.len() + OTHERS.len(), "the list names a page that is not there");
    for (name, lines) in &examples {
        assert!(is_of_the_program(lines), "the first example of {name} runs nothing of ours: {lines:?}");
    }
    let run = |(name, lines): &(String, Vec<String>)| failures(&project, name, lines);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let running: Vec<_> = examples.iter().map(|example| scope.spawn(|| run(example))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// Positive control: an example that needs a model, one that finds nothing, and one that prints nothing.
#[test]
fn an_example_that_does_not_work_is_found() {
    let project = Project::new(&[("src/retry.rs", "fn retry() {}\n")]);
    for line in [
        "forage keyword 'how are requests retried' retry",
        "forage grep 'no such text'",
        "forage grep retry >&2",
    ] {
        assert_eq!(failures(&project, "page", &[line.to_owned()]).len(), 1, "{line}");
    }
    assert!(failures(&project, "page", &["forage grep retry".to_owned()]).is_empty());
    let text = "```json\n{}\n```\n```sh\na \\\n  b\n\nc # d\n```\n```console\n$ e\nf\n```\n";
    assert_eq!(first_example(text), ["a   b", "c # d"]);
    assert_eq!(first_example(&text[24..]), ["e"]);
    assert!(first_example("```toml\na = 1\n```\n").is_empty());
}
