//! T24 and the promises P4, P5: long lines, many results and long names must stay within the limits of memory
//! and answers.

use std::fs;
use std::io::Write as _;
use std::time::Duration;

use forage_tools::limits::TEXT_BYTES_MAX;
use serde_json::json;

use crate::support::{
    NEEDLE, Tree, answer, call, in_child, line_with, memory_growth, probes, skipped, transcript, within,
};

const MEGABYTE: u64 = 1 << 20;
/// Memory that a call may use: a few buffers per thread, but nothing that grows with a file.
const GROWTH: u64 = 64 * MEGABYTE;

/// T24: a single line that fills a file.
#[test]
fn a_line_of_four_hundred_megabytes() {
    in_child("limits::a_line_of_four_hundred_megabytes", || {
        let tree = Tree::new();
        let mut file = fs::File::create(tree.root().join("one_line.js")).unwrap();
        let piece = b"let x = 1; ".repeat(100_000);
        (0..400).for_each(|_| file.write_all(&piece[..1_000_000]).unwrap());
        drop(file);
        tree.write("a.txt", format!("{NEEDLE}\n"));
        // Positive control: a line reader holds the whole line in memory.
        let path = tree.root().join("one_line.js");
        let (length, growth) = memory_growth(|| {
            let mut line = Vec::new();
            std::io::BufRead::read_until(
                &mut std::io::BufReader::new(fs::File::open(path).unwrap()),
                b'\n',
                &mut line,
            )
            .unwrap()
        });
        assert!(length == 400_000_000 && growth > 300 * MEGABYTE, "{length} bytes took {growth}");
        for (tool, request) in probes("one_line.js").into_iter().chain(probes(".")) {
            let workspace = tree.workspace();
            let shown = request.to_string();
            let (result, growth) = memory_growth(|| {
                within(Duration::from_secs(4), tool, move || call(&workspace, tool, request))
            });
            assert!(growth < GROWTH, "{tool} {shown} took {} MB", growth / MEGABYTE);
            let Ok(answer) = result else { continue };
            assert!(answer.text.len() <= TEXT_BYTES_MAX, "{tool} {shown}: {} bytes", answer.text.len());
            match tool {
                "read_file" => assert!(answer.text.contains(" bytes more]"), "{}", answer.text),
                "list_directory" => {
                    let line = line_with(&answer.text, "one_line.js");
                    assert_eq!(
                        line.trim_start_matches(['├', '└', '─', ' ']),
                        "one_line.js (400,000,000 bytes)"
                    );
                }
                "search_index" => {
                    assert!(
                        answer.text.contains("only the first 1,048,576 bytes of 1 file"),
                        "{}",
                        answer.text
                    );
                }
                _ => {
                    assert_eq!(skipped(&answer, "line_too_long"), 1, "{tool} {shown}");
                    assert!(answer.text.contains("1 line too long"), "{}", answer.text);
                }
            }
        }
        assert!(call(&tree.workspace(), "read_file", json!({"path": "one_line.js"})).is_ok());
    });
}

/// A line that is just short enough to be kept, with a match at every byte.
#[test]
fn a_line_that_matches_at_every_byte() {
    in_child("limits::a_line_that_matches_at_every_byte", || {
        let tree = Tree::new();
        tree.write("dense.txt", "a".repeat(7 << 20));
        let workspace = tree.workspace();
        for (tool, request) in [
            ("grep_search", json!({"pattern": "a"})),
            ("grep_search", json!({"pattern": "[a-z]"})),
            ("keyword_search", json!({"query": "q", "search_terms": ["a", "[ab]"]})),
        ] {
            let shown = request.to_string();
            let (_, growth) = memory_growth(|| call(&workspace, tool, request));
            assert!(growth < GROWTH, "{tool} {shown} took {} MB", growth / MEGABYTE);
        }
    });
}

/// Terms may match every one of two million short lines, so we must not keep all of these.
#[test]
fn many_short_lines_that_all_match() {
    in_child("limits::many_short_lines_that_all_match", || {
        let tree = Tree::new();
        tree.write("short.txt", "a\n".repeat(2 << 20));
        let workspace = tree.workspace();
        let terms = ["a", "[ab]", "[ac]", "[ad]", "[ae]", "[af]", "[ag]", "^a$", "absent"];
        let (result, growth) = memory_growth(|| {
            call(&workspace, "keyword_search", json!({"query": "q", "search_terms": terms}))
        });
        assert!(result.unwrap().text.contains("short.txt"));
        assert!(growth < GROWTH, "keyword_search took {} MB", growth / MEGABYTE);
    });
}

#[test]
fn spans_lie_in_the_part_of_a_line_that_is_shown() {
    let tree = Tree::new();
    for (name, line) in [
        ("a.txt", "a".repeat(1_000)),
        ("b.txt", format!("{}aa{}", "é".repeat(150), "a".repeat(200))),
        ("c.txt", format!("{}a", "ß".repeat(400))),
    ] {
        tree.write(name, line);
    }
    let found = answer(&tree.workspace(), "grep_search", json!({"pattern": "a+?"}));
    for file in found.records()["files"].as_array().unwrap() {
        let line = &file["lines"][0];
        let text = line["text"].as_str().unwrap();
        for span in line["spans"].as_array().unwrap() {
            let (start, end) = (span[0].as_u64().unwrap() as usize, span[1].as_u64().unwrap() as usize);
            assert!(text.get(start..end).is_some_and(|part| part.contains('a')), "{}: {span}", file["path"]);
        }
        assert!(!line["spans"].as_array().unwrap().is_empty(), "{}", file["path"]);
    }
}

/// A file that is read in chunks, and whose numbered lines all have the same length. If we lose a byte
/// between two chunks, a line gets shorter, or all lines after it are shifted.
#[test]
fn a_file_that_is_read_in_pieces_has_no_gap() {
    const LINES: u64 = 2_600_000;
    let tree = Tree::new();
    let text: Vec<u8> = (1..=LINES).flat_map(|i| format!("{i:07}\n").into_bytes()).collect();
    tree.write("numbers.txt", text);
    let workspace = tree.workspace();
    let odd = answer(&workspace, "grep_search", json!({"pattern": "^.{0,6}$|^.{8,}$", "context_lines": 0}));
    // These lines are around the ends of the first buffers of 8 and 16 MiB.
    let mut wrong: Vec<String> = Vec::new();
    for number in [1 << 20, 1 << 21, LINES - 1].into_iter().flat_map(|at| at - 1..=at + 1) {
        let line = format!("{number:07}");
        let found =
            answer(&workspace, "grep_search", json!({"pattern": format!("^{line}$"), "context_lines": 0}));
        if found.records()["files"][0]["lines"][0]["line_number"] != number {
            wrong.push(format!("grep_search: {line} is {}", found.records()["files"][0]["lines"][0]));
        }
        let keyword = json!({"query": "q", "search_terms": [format!("^{line}$")]});
        let keyword = answer(&workspace, "keyword_search", keyword);
        if keyword.records()["files"][0]["match_lines"][0] != number {
            wrong.push(format!(
                "keyword_search: {line} is {}",
                keyword.records()["files"][0]["match_lines"][0]
            ));
        }
        let range = json!({"path": "numbers.txt", "start_line": number, "end_line": number});
        let read = answer(&workspace, "read_file", range);
        if read.records()["lines"] != json!([line]) {
            wrong.push(format!("read_file: line {line} is {}", read.records()["lines"]));
        }
    }
    assert_eq!((odd.records()["match_count"].as_u64(), wrong), (Some(0), Vec::new()));
}

/// Matches that are far apart and have much context exceed the limit per file. The answer has to take this
/// into account.
#[test]
fn totals_are_exact_or_say_that_they_are_not() {
    let tree = Tree::new();
    let mut text = String::new();
    for block in 0..3_000 {
        text.push_str(&format!("{NEEDLE} {block}\n"));
        text.push_str(&"x\n".repeat(100));
    }
    tree.write("wide.txt", &text);
    tree.write("z.txt", format!("{NEEDLE}\n"));
    let request = json!({"pattern": NEEDLE, "context_lines": 50, "max_results": 10_000});
    let found = answer(&tree.workspace(), "grep_search", request.clone());
    let (count, exact) = (found.records()["match_count"].as_u64().unwrap(), &found.records()["totals_exact"]);
    assert!(
        count == 3_001 || *exact == json!(false),
        "{count} of 3,001 matches, and the total is called exact"
    );
    // You can still reach the rest.
    let mut request = request;
    let mut total = 0;
    for _ in 0..50 {
        let page = answer(&tree.workspace(), "grep_search", request.clone());
        total += shown_matches(&page.records().clone());
        match page.records()["next_cursor"].as_str() {
            Some(cursor) => request["cursor"] = json!(cursor),
            None => break,
        }
    }
    assert_eq!(total, 3_001);
}

/// After a cursor that is late in a file with many matches, we don't lose the rest of that file.
#[test]
fn a_cursor_late_in_a_large_file_loses_nothing() {
    let tree = Tree::new();
    tree.write("many.txt", format!("{NEEDLE}\n").repeat(260_000));
    let mut request = json!({"pattern": NEEDLE, "context_lines": 0, "max_results": 10_000});
    let workspace = tree.workspace();
    let mut total = 0;
    for _ in 0..40 {
        let page = answer(&workspace, "grep_search", request.clone());
        total += shown_matches(&page.records().clone());
        match page.records()["next_cursor"].as_str() {
            Some(cursor) => request["cursor"] = json!(cursor),
            None => break,
        }
    }
    assert_eq!(total, 260_000);
}

fn shown_matches(records: &serde_json::Value) -> u64 {
    records["files"].as_array().unwrap().iter().map(|file| file["match_count"].as_u64().unwrap()).sum()
}

fn assert_fits(tool: &str, text: &str) {
    assert!(text.len() <= TEXT_BYTES_MAX, "{tool} answers with {} bytes", text.len());
}

/// Escaped characters take more room in an answer than in the file.
#[test]
fn an_answer_full_of_control_characters_keeps_its_budget() {
    let tree = Tree::new();
    tree.write("escapes.txt", format!("{NEEDLE}{}\n", "\u{1b}\u{202e}".repeat(400)).repeat(20));
    let workspace = tree.workspace();
    for (tool, request) in probes("escapes.txt").into_iter().filter(|(tool, _)| *tool != "list_directory") {
        assert_fits(tool, &answer(&workspace, tool, request).text);
    }
}

/// Warnings contain paths, which can be as long as the kernel allows.
#[test]
fn an_answer_with_long_warnings_keeps_its_budget() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    let long = vec!["\u{1}".repeat(250); 12].join("/");
    for i in 0..25 {
        tree.write(format!("{i}/{long}/.ignore"), "{a\n");
    }
    let workspace = tree.workspace();
    // Only a walk that obeys the rules reports problems with them.
    let obeys =
        |request: &serde_json::Value| request["include_ignored"].is_null() && request["no_ignore"].is_null();
    for (tool, request) in
        probes(".").into_iter().filter(|(tool, request)| *tool != "read_file" && obeys(request))
    {
        let found = answer(&workspace, tool, request);
        assert!(found.text.contains("[warning: "), "{tool}: {}", found.text);
        assert_fits(tool, &found.text);
    }
}

/// Even with a rule for each hidden file, an empty answer must not become a list of all of them.
#[test]
fn an_empty_answer_with_many_rules_keeps_its_budget() {
    let tree = Tree::new();
    let name = |i: usize| format!("{i:04}{}", "n".repeat(150));
    tree.write(".ignore", (0..300).map(|i| format!("/{}\n", name(i))).collect::<String>());
    for i in 0..300 {
        tree.write(name(i), format!("{NEEDLE}\n"));
    }
    let workspace = tree.workspace();
    for (tool, request) in probes(".").into_iter().filter(|(tool, request)| {
        matches!(*tool, "grep_search" | "keyword_search" | "Search")
            && request["include_ignored"].is_null()
            && request["no_ignore"].is_null()
    }) {
        let found = answer(&workspace, tool, request);
        assert!(found.text.contains("hidden by"), "{tool}: {}", found.text);
        assert_fits(tool, &found.text);
    }
}

/// Notes quote the caller's terms, but only in part.
#[test]
fn long_terms_keep_the_budget() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE}\n"));
    let terms: Vec<String> = (0..64).map(|i| format!("{i}{}", "absent".repeat(1_000))).collect();
    let broken: Vec<String> = terms.iter().map(|term| format!("({term}")).collect();
    let workspace = tree.workspace();
    assert_fits(
        "keyword_search",
        &answer(&workspace, "keyword_search", json!({"query": "q", "search_terms": terms})).text,
    );
    let error =
        call(&workspace, "keyword_search", json!({"query": "q", "search_terms": broken})).unwrap_err();
    assert_fits("keyword_search", &error.to_string());
}

/// A glob with a slash begins at `path`. If it seems to be meant for any directory, as in `fnmatch`, the
/// answer says so.
#[test]
fn glob_that_matches_elsewhere_is_reported() {
    let tree = Tree::new();
    tree.write("src/tools/base.py", "class Tool:\n");
    tree.write("other/x.rs", "x\n");
    let workspace = tree.workspace();
    for (tool, argument) in [("grep_search", "file_pattern"), ("Search", "glob")] {
        let globs = ["tools/*.py", "**/tools/*.py", "src/tools/*.py", "*.py", "tools/*.c", "*.c"];
        let requests = globs.map(|glob| json!({"pattern": "Tool", argument: glob}));
        insta::assert_snapshot!(format!("globs-{tool}"), transcript(&workspace, tool, requests));
    }
}

/// Renders the tree of the plan with the defaults of the plan, character by character.
#[test]
fn the_plans_tree_comes_out_at_its_defaults() {
    let tree = Tree::new();
    for (path, lines) in [
        ("agent.py", 170),
        ("main.py", 95),
        ("tools/base.py", 41),
        ("tools/implementations/read_file.py", 56),
    ] {
        tree.write(format!("src/{path}"), "pass\n".repeat(lines));
    }
    let plans = "src/\n\
                 ├── agent.py (170 lines)\n\
                 ├── main.py (95 lines)\n\
                 └── tools/\n    \
                     ├── base.py (41 lines)\n    \
                     └── implementations/\n        \
                         └── read_file.py (56 lines)\n";
    for request in
        [json!({"path": "src", "recursive": true}), json!({"path": "src", "recursive": true, "max_depth": 2})]
    {
        assert_eq!(answer(&tree.workspace(), "list_directory", request).text, plans);
    }
    tree.write("src/tools/implementations/more/deep.py", "pass\n");
    let deeper = answer(&tree.workspace(), "list_directory", json!({"path": "src", "recursive": true})).text;
    insta::assert_snapshot!(deeper);
}

/// Skipped directories look different from empty ones, and the depth is reported.
#[test]
fn a_listing_says_what_it_does_not_list() {
    let tree = Tree::new();
    tree.write("a/b/c.txt", "x\n");
    tree.write("a/d.txt", "x\n");
    fs::create_dir(tree.root().join("a/empty")).unwrap();
    fs::create_dir(tree.root().join("none")).unwrap();
    let requests = [json!({}), json!({"max_depth": 1}), json!({"recursive": true})];
    insta::assert_snapshot!(transcript(&tree.workspace(), "list_directory", requests));
}
