//! Patterns that match across lines or use look-around. We compare the results with those of the real `rg`.

use std::process::Command;

use forage_fuzz::peers::program;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::support::{Tree, answer, line_with, skipped};

/// Collects the numbers of the matching lines of all pages.
fn ours(tree: &Tree, mut request: Value) -> Vec<u64> {
    let mut numbers = Vec::new();
    loop {
        let records = answer(&tree.workspace(), "grep_search", request.clone()).records().clone();
        for line in
            records["files"].as_array().unwrap().iter().flat_map(|file| file["lines"].as_array().unwrap())
        {
            if line["type"] == "match" {
                numbers.push(line["line_number"].as_u64().unwrap());
            }
        }
        match &records["next_cursor"] {
            Value::String(cursor) => request["cursor"] = json!(cursor),
            _ => return numbers,
        }
    }
}

fn of_rg(tree: &Tree, pattern: &str, flags: &[&str]) -> Vec<u64> {
    let output = Command::new(program("rg"))
        .args(["--no-config", "-N", "-n", "--no-heading", "--color=never", "-I"])
        .args(flags)
        .args(["-e", pattern, "a.txt"])
        .current_dir(tree.root())
        .output()
        .unwrap();
    assert!(output.status.code() < Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split(':').next().unwrap().parse().unwrap()).collect()
}

#[test]
fn the_lines_are_those_of_ripgrep() {
    forage_fuzz::needs!("rg");
    let parts = (
        select(vec!["a", "b", "x", r"\n", ".", "[^a]", r"a\n", "(ab)?", r"b\nx", "^"]),
        select(vec!["", "a", r"\n", ".*", ".*?", "x+", r"\s+", "$"]),
        select(vec!["", "b", r"\n"]),
    );
    // ripgrep 15 looks for the next match in the rest of the text alone, so its `^` matches wherever the last
    // match ended, even within a line.
    let patterns = parts
        .prop_map(|(first, second, third)| [first, second, third].concat())
        .prop_filter("ripgrep matches `^` within a line", |pattern| {
            ![r"^\nb", r"^\s+b"].contains(&pattern.as_str())
        });
    let config = ProptestConfig { cases: 150, ..ProptestConfig::default() };
    proptest!(config, |(
        text in "([ab x]{0,4}\n){0,12}[ab]{0,2}",
        pattern in patterns,
        invert in any::<bool>(),
        max in 1_i64..6,
    )| {
        let tree = Tree::new();
        tree.write("a.txt", &text);
        let flags: &[&str] = if invert { &["-U", "--multiline-dotall", "-v"] } else { &["-U", "--multiline-dotall"] };
        let expected = of_rg(&tree, &pattern, flags);
        let request = json!({"pattern": pattern, "multiline": true, "invert_match": invert, "max_results": max});
        prop_assert_eq!(ours(&tree, request), expected, "{:?} in {:?}", pattern, text);
    });
}

/// The `^` after a match that ends within a line matches at the start of the next line, and not where that
/// match ended.
#[test]
fn line_starts_are_those_of_the_whole_text() {
    let tree = Tree::new();
    for (text, expected) in [(" b\nb\n", vec![1]), ("\n\nb\nb", vec![1, 2, 3]), (" b\n b\n", vec![1, 2])] {
        tree.write("a.txt", text);
        for pattern in [r"^\s+b", r"^[ \n]+b"] {
            let request = json!({"pattern": pattern, "multiline": true});
            assert_eq!(ours(&tree, request), expected, "{pattern:?} in {text:?}");
        }
    }
}

#[test]
fn a_match_is_shown_with_all_its_lines_and_its_context() {
    let tree = Tree::new();
    tree.write("a.rs", "one\nfn call(\n    x: u8,\n) {}\ntwo\nthree\n");
    let request = json!({"pattern": r"fn call\([^)]*\)", "multiline": "true", "context_lines": 1});
    let found = answer(&tree.workspace(), "grep_search", request);
    insta::assert_snapshot!(found.text);
    // We redact lines as usual, so a multi-line match can't expose a secret.
    let token = "ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd";
    tree.write("b.rs", format!("begin\nlet token = \"{token}\";\nend\n"));
    let found = answer(&tree.workspace(), "grep_search", json!({"pattern": "begin.*end", "multiline": true}));
    assert!(found.text.contains("b.rs") && !found.text.contains("R4nd0mT0ken"), "{}", found.text);
}

#[test]
fn look_around_and_backreferences_warn_that_they_are_slow() {
    let tree = Tree::new();
    tree.write("a.txt", "foo\nfoobar\nbarfoo\nabba\nfoo bar\n");
    for (pattern, expected) in [
        ("foo(?=bar)", vec![2]),
        ("(?<!bar)foo$", vec![1]),
        (r"(\w)\1a$", vec![4]),
        ("(?<=o) (?!x)", vec![5]),
    ] {
        let found = answer(&tree.workspace(), "grep_search", json!({"pattern": pattern, "context_lines": 0}));
        let warning = "[warning: look-around and backreferences are slower than other patterns]";
        assert_eq!(line_with(&found.text, "[warning"), warning, "{pattern}");
        assert_eq!(ours(&tree, json!({"pattern": pattern})), expected, "{pattern}");
    }
    // This also holds in a file that is read in chunks.
    tree.write("a.txt", format!("{}foobar\n", "line\n".repeat(2 << 20)));
    assert_eq!(ours(&tree, json!({"pattern": "foo(?=bar)"})), [(2 << 20) + 1]);
}

/// We count files that we could not search, and don't claim anything about them.
#[test]
fn unsearchable_files_are_counted() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{}\n", "a".repeat(60)));
    tree.write("b.txt", "aac\n");
    let found = answer(&tree.workspace(), "grep_search", json!({"pattern": r"^(?:(a+)+\1)+c$"}));
    assert_eq!((skipped(&found, "too_slow"), &found.records()["totals_exact"]), (1, &json!(false)));
    assert!(found.text.contains("b.txt"), "{}", found.text);
    tree.write("a.txt", "line\n".repeat(2 << 20));
    let found = answer(&tree.workspace(), "grep_search", json!({"pattern": "x\ny", "multiline": true}));
    assert_eq!(skipped(&found, "too_large"), 1, "{}", found.text);
    insta::assert_snapshot!(found.text);
}
