//! The examples of the documentation are run, and print what it says.

#[cfg(unix)]
mod first_examples;

use std::path::Path;

use crate::Project;

/// A page's files (`text file=PATH` blocks) and its commands with what they print (`console` blocks).
struct Page {
    files: Vec<(String, String)>,
    examples: Vec<(String, String)>,
}

fn read(name: &str) -> Page {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let mut page = Page { files: Vec::new(), examples: Vec::new() };
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(kind) = line.strip_prefix("```").filter(|kind| !kind.is_empty()) else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if let Some(path) = kind.strip_prefix("text file=") {
            page.files.push((path.to_owned(), block.join("\n") + "\n"));
        } else if kind == "console" {
            for line in block {
                match line.strip_prefix("$ ") {
                    Some(command) => page.examples.push((command.to_owned(), String::new())),
                    None => {
                        let (_, output) = page.examples.last_mut().unwrap();
                        output.push_str(line);
                        output.push('\n');
                    }
                }
            }
        }
    }
    page
}

/// Whether `actual` is `expected`, in which `[..]` stands for any part of a line.
fn fits(expected: &str, actual: &str) -> bool {
    let line = |expected: &str, actual: &str| {
        let mut rest = actual;
        let mut parts = expected.split("[..]").enumerate().peekable();
        while let Some((i, part)) = parts.next() {
            let at = match (i, parts.peek()) {
                (0, _) => rest.starts_with(part).then_some(0),
                (_, None) => rest.ends_with(part).then(|| rest.len() - part.len()),
                _ => rest.find(part),
            };
            let Some(at) = at else { return false };
            rest = &rest[at + part.len()..];
        }
        expected.contains("[..]") || rest.is_empty()
    };
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    expected.len() == actual.len() && expected.iter().zip(&actual).all(|(e, a)| line(e, a))
}

/// Splits a command line at blanks, but for those between single quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.into_iter().filter(|word| !word.is_empty()).collect()
}

fn run_page(name: &str, at_least: usize) {
    let page = read(name);
    let files: Vec<(&str, &str)> =
        page.files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let project = Project::new(&files);
    let path = std::env::var("PATH").unwrap_or_default();
    for (command, expected) in &page.examples {
        let words = words(command);
        assert_eq!(words[0], "forage", "{command}");
        let arguments: Vec<&str> = words[1..].iter().map(String::as_str).collect();
        let run = project.run_in(&project.root, &arguments, &[("PATH", &path)]);
        let status = if run.status == 0 { String::new() } else { format!("? {}\n", run.status) };
        // What goes to stderr beside an answer are notes; without one it is the answer.
        let output = if run.stdout.is_empty() { &run.stderr } else { &run.stdout };
        let actual = format!("{status}{output}");
        assert!(fits(expected, &actual), "{name}: {command}\nexpected:\n{expected}\nprinted:\n{actual}");
    }
    assert!(page.examples.len() >= at_least, "only {} examples were run", page.examples.len());
}

#[test]
fn examples_of_search_print_what_the_page_says() {
    run_page("search.md", 15);
}

#[test]
fn the_comparison_can_fail() {
    assert!(fits("a [..] c\nd\n", "a b c\nd\n") && fits("x[..]", "xyz"));
    for (expected, actual) in
        [("a", "b"), ("a\n", "a\nb\n"), ("a [..] c", "a b d"), ("a[..]", "ba"), ("", "x")]
    {
        assert!(!fits(expected, actual), "{expected:?} {actual:?}");
    }
    assert_eq!(words("forage search 'a b' -w"), ["forage", "search", "a b", "-w"]);
}

/// The table of requirements names tests that exist, and every id of the document.
#[test]
fn the_table_of_requirements_names_tests_that_exist() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = std::fs::read_to_string(workspace.join("docs/local-search.md")).unwrap();
    let rows: Vec<&str> =
        table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id")).collect();
    let ids: Vec<&str> = rows.iter().map(|row| row.split('|').nth(1).unwrap().trim()).collect();
    let functional = (1..=7).map(|number| format!("FR-LS-{number:02}"));
    let others = [
        "NFR-LS-SEC-01",
        "NFR-LS-SEC-02",
        "NFR-LS-PERF-01",
        "NFR-LS-PERF-02",
        "T-LS-PARSE-01",
        "T-LS-LIM-01",
        "T-LS-TMO-01",
        "IT-LS-E2E-01",
        "IT-LS-FZ-01",
        "§5",
    ];
    let expected: Vec<String> = functional.chain(others.map(str::to_owned)).collect();
    assert_eq!(ids, expected);
    let mut checked = 0;
    for row in rows {
        let mut file = String::new();
        for name in row.split('`').skip(1).step_by(2) {
            let (place, test) = name.split_once(": ").unwrap_or(("", name));
            let (directory, rest) = place.split_once('/').unwrap_or(("", ""));
            match directory {
                "tools" | "search" => file = format!("crates/forage-{directory}/tests/it/{rest}"),
                "forage" => file = format!("crates/forage/tests/it/{rest}"),
                "crates" => file = place.to_owned(),
                _ => {}
            }
            if !test.contains('_')
                || !test.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            {
                continue;
            }
            if ["max_results", "timed_out", "exit_code"].contains(&test) {
                continue;
            }
            let source = std::fs::read_to_string(workspace.join(&file)).unwrap();
            assert!(source.contains(&format!("fn {test}(")), "{file} has no test {test}");
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} names were checked");
}

/// The same of the sparse retriever: every row names a test that exists, or the decision that changes it.
#[test]
fn the_requirements_of_the_sparse_retriever_are_held_by_tests() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(workspace.join("docs/traceability/sparse.md")).unwrap();
    let rows: Vec<&str> =
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id")).collect();
    let is_test = |name: &str| {
        name.contains('_') && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let mut checked = 0;
    for row in &rows {
        let cell = row.split('|').nth(3).unwrap();
        let (mut file, mut named) = (String::new(), 0);
        for name in cell.split('`').skip(1).step_by(2) {
            let (place, test) = name.split_once(": ").unwrap_or(("", name));
            match place.split_once('/') {
                Some(("forage", rest)) => file = format!("crates/forage/tests/it/{rest}"),
                Some((directory, rest)) => file = format!("crates/forage-{directory}/tests/it/{rest}"),
                None => {}
            }
            // Settings and names of tools are no tests.
            if !is_test(test)
                || ["encoder_directory", "top_k", "keyword_lookup", "keyword_search"].contains(&test)
            {
                continue;
            }
            let source = std::fs::read_to_string(workspace.join(&file)).unwrap();
            assert!(source.contains(&format!("fn {test}(")), "{file} has no test {test}");
            named += 1;
        }
        assert!(named > 0 || cell.to_lowercase().contains("decision: "), "{row}");
        checked += named;
    }
    assert!(rows.len() >= 20 && checked >= 30, "{} rows name {checked} tests", rows.len());
}
