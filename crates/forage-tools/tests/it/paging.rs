//! Pages of `grep_search`: together they must be the whole answer, and each must be exact about itself.

use std::collections::BTreeMap;

use forage_tools::registry::find;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Tree, UNKNOWN_CURSOR, answer, notes, refusal, stable};

/// A line of an answer: path, number, whether it matches, text.
type Line = (String, u64, bool, String);

fn lines(records: &Value) -> Vec<Line> {
    let mut lines = Vec::new();
    for file in records["files"].as_array().unwrap() {
        for line in file["lines"].as_array().unwrap() {
            let path = file["path"].as_str().unwrap().to_owned();
            let text = line["text"].as_str().unwrap().to_owned();
            lines.push((path, line["line_number"].as_u64().unwrap(), line["type"] == "match", text));
        }
    }
    lines
}

fn matches(lines: &[Line]) -> Vec<Line> {
    lines.iter().filter(|line| line.2).cloned().collect()
}

/// Collects all pages of a request.
fn pages(tree: &Tree, request: &Value) -> Vec<Value> {
    let workspace = tree.workspace();
    let mut request = request.clone();
    let mut pages = Vec::new();
    loop {
        let page = answer(&workspace, "grep_search", request.clone()).records().clone();
        let next = page["next_cursor"].as_str().map(str::to_owned);
        pages.push(page);
        assert!(pages.len() < 500, "the pages don't end");
        match next {
            Some(cursor) => request["cursor"] = json!(cursor),
            None => return pages,
        }
    }
}

/// Generates files of lines that match (`m`) or don't (`.`), one string per file.
fn files() -> impl Strategy<Value = BTreeMap<String, String>> {
    let path =
        prop::sample::select(vec!["a.txt", "a/b.txt", "a/c.txt", "a-b.txt", "b/x/y.txt", "ü.txt", "z\n1"]);
    prop::collection::btree_map(path.prop_map(str::to_owned), "[m.]{0,24}", 0..6)
}

fn tree_of(files: &BTreeMap<String, String>) -> Tree {
    let tree = Tree::new();
    for (path, marks) in files {
        let line =
            |(i, mark): (usize, char)| format!("{} {i}\n", if mark == 'm' { "needle" } else { "other" });
        tree.write(path, marks.chars().enumerate().map(line).collect::<String>());
    }
    tree
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_hold_every_match_once_and_in_order(files in files(), limit in 1..9u64, context in 0..4u64) {
        let tree = tree_of(&files);
        let request = json!({"pattern": "needle", "max_results": 10_000, "context_lines": context});
        let whole = answer(&tree.workspace(), "grep_search", request.clone()).records().clone();
        let total = files.values().flat_map(|marks| marks.chars()).filter(|&mark| mark == 'm').count() as u64;
        prop_assert_eq!((whole["match_count"].as_u64(), &whole["truncated"]), (Some(total), &json!(false)));
        let mut request = request;
        request["max_results"] = json!(limit);
        let pages = pages(&tree, &request);
        let together: Vec<Line> = pages.iter().flat_map(lines).collect();
        prop_assert_eq!(matches(&together), matches(&lines(&whole)));
        // No context line may be lost between two pages.
        let mut once = together;
        once.sort();
        once.dedup();
        let mut all = lines(&whole);
        all.sort();
        prop_assert!(all.iter().all(|line| once.contains(line)), "lost between pages");
        // Every page except for the last is full, and says so.
        let (last, full) = pages.split_last().unwrap();
        for page in full {
            prop_assert_eq!(matches(&lines(page)).len() as u64, limit);
            prop_assert_eq!(&page["truncated"], &json!(true));
        }
        // Each page counts its own matches and those after it. Only the first page can know that this is
        // everything.
        for (index, page) in pages.iter().enumerate() {
            let before: usize = pages[..index].iter().map(|page| matches(&lines(page)).len()).sum();
            let counts = (page["match_count"].as_u64(), page["totals_exact"].as_bool());
            prop_assert_eq!(counts, (Some(total - before as u64), Some(index == 0)));
        }
        prop_assert_eq!(&last["truncated"], &json!(false));
        prop_assert_eq!(total.div_ceil(limit).max(1), pages.len() as u64);
    }

    #[test]
    fn a_page_shows_the_context_of_its_own_matches_only(files in files(), limit in 1..9u64, context in 0..4u64) {
        let tree = tree_of(&files);
        let request = json!({"pattern": "needle", "max_results": limit, "context_lines": context});
        for page in pages(&tree, &request) {
            let shown = lines(&page);
            for line in shown.iter().filter(|line| !line.2) {
                let near = |other: &&Line| other.2 && other.0 == line.0 && other.1.abs_diff(line.1) <= context;
                prop_assert!(shown.iter().any(|other| near(&other)), "{:?} on a page of {:?}", line, shown);
            }
        }
    }
}

/// The limit is reached exactly, or else exactly one more match is left.
#[test]
fn a_page_that_is_just_full_is_not_cut() {
    let tree = Tree::new();
    for i in 0..5 {
        tree.write(format!("{i}.txt"), "needle\n".repeat(10));
    }
    let request = |limit: u64| json!({"pattern": "needle", "max_results": limit, "context_lines": 0});
    let workspace = tree.workspace();
    for limit in [50, 51, 10_000] {
        let found = answer(&workspace, "grep_search", request(limit));
        assert_eq!(found.records()["truncated"], false, "{limit}");
        assert_eq!(found.records()["next_cursor"], Value::Null, "{limit}");
        let counts = (
            &found.records()["match_count"],
            &found.records()["file_count"],
            &found.records()["totals_exact"],
        );
        assert_eq!(counts, (&json!(50), &json!(5), &json!(true)));
        assert_eq!(found.text.lines().next(), Some("Found 50 matches in 5 files:"));
        assert_eq!(notes(&found.text), "[searched 5 files]");
    }
    // These limits are within a file, at the end of one, and at the last match of all.
    for limit in [1, 9, 10, 11, 20, 49] {
        let found = answer(&workspace, "grep_search", request(limit));
        assert_eq!(
            (&found.records()["truncated"], &found.records()["truncated_by"]),
            (&json!(true), &json!("max_results"))
        );
        assert_eq!(matches(&lines(&found.records().clone())).len() as u64, limit);
        let head = format!("Found 50 matches in 5 files (showing {limit}):");
        assert_eq!(found.text.lines().next(), Some(head.as_str()));
        assert!(found.text.contains("cursor=\""), "{}", found.text);
    }
    assert_eq!(pages(&tree, &request(50)).len(), 1);
    assert_eq!(pages(&tree, &request(25)).len(), 2);
}

/// If the text has no room for a page, it shows as much as fits, and continues from there.
#[test]
fn a_page_without_room_is_cut_between_matches() {
    let tree = Tree::new();
    for i in 0..40 {
        tree.write(
            format!("d{}/{i:02}.txt", i % 3),
            format!("a needle in a line of some length, file {i}\n").repeat(10),
        );
    }
    let all: Vec<String> = {
        let whole =
            answer(&tree.workspace(), "grep_search", json!({"pattern": "needle", "max_results": 1000}));
        matches(&lines(&whole.records().clone())).iter().map(|line| format!("{line:?}")).collect()
    };
    assert_eq!(all.len(), 400);
    for (limit, bytes) in [(50, 1_000), (100, 3_000), (200, 3_000), (1_000, 8_000)] {
        let mut workspace = tree.workspace();
        workspace.limits.text_bytes = bytes;
        let mut request = json!({"pattern": "needle", "max_results": limit});
        let (mut shown, mut pages) = (0, 0);
        loop {
            let page = answer(&workspace, "grep_search", request.clone());
            let lines = page.text.lines().filter(|line| line.contains(": a needle")).count();
            assert!(lines > 0 && page.text.len() <= bytes, "{limit}, {bytes}: {}", page.text);
            // If we ask for more, we must never get less.
            assert!(page.text.len() > bytes - 400 || lines == limit || shown + lines == 400, "{}", page.text);
            if pages == 0 {
                let head = format!("Found 400 matches in 40 files (showing {lines}):");
                assert!(page.text.starts_with(&head), "{head} {}", page.text);
                assert!(page.text.contains("not shown, by directory: "), "{}", page.text);
            }
            (shown, pages) = (shown + lines, pages + 1);
            let Some((_, cursor)) = page.text.split_once("cursor=\"") else { break };
            request["cursor"] = json!(cursor.split('"').next().unwrap());
        }
        assert_eq!(shown, 400, "{limit}, {bytes}: {pages} pages");
    }
}

/// Context lines are shown for few matches only, unless they are requested.
#[test]
fn context_comes_with_few_matches() {
    let tree = Tree::new();
    tree.write("a.txt", "needle\nother\nother\n".repeat(20));
    let text = |request: Value| answer(&tree.workspace(), "grep_search", request).text;
    let notes = [
        (json!({"pattern": "needle", "max_results": 10}), true),
        (json!({"pattern": "needle", "max_results": 11}), false),
        (json!({"pattern": "needle", "context_lines": 1}), true),
    ]
    .map(|(request, has_context)| {
        let text = text(request.clone());
        assert_eq!(text.contains("- other"), has_context, "{request}: {text}");
        format!("{request}\n{}", stable(&notes(&text)))
    });
    insta::assert_snapshot!(notes.join("\n\n"));
}

/// If the tree changes between pages, deleted matches are missing, and each of the others comes once.
#[test]
fn a_cursor_survives_a_changed_tree() {
    let tree = Tree::new();
    for name in ["a", "b", "c"] {
        tree.write(format!("{name}.txt"), "needle\nneedle\n");
    }
    let workspace = tree.workspace();
    let request = json!({"pattern": "needle", "max_results": 3, "context_lines": 0});
    let first = answer(&workspace, "grep_search", request.clone()).records().clone();
    tree.write("b.txt", "other\n");
    tree.write("a.txt", "needle\n".repeat(9));
    let mut request = request;
    request["cursor"] = first["next_cursor"].clone();
    let rest = answer(&workspace, "grep_search", request).records().clone();
    let paths: Vec<String> = lines(&rest).into_iter().map(|line| line.0).collect();
    assert_eq!(paths, ["c.txt", "c.txt"]);
    assert_eq!(rest["truncated"], false);
}

#[test]
fn a_cursor_of_a_file_that_is_gone_is_refused() {
    let tree = Tree::new();
    ["a", "b"].iter().for_each(|name| drop(tree.write(format!("{name}.txt"), "needle\nneedle\n")));
    let workspace = tree.workspace();
    let mut request = json!({"pattern": "needle", "max_results": 3});
    request["cursor"] = answer(&workspace, "grep_search", request.clone()).records()["next_cursor"].clone();
    assert_eq!(request["cursor"].as_str().unwrap().len(), 16);
    std::fs::remove_file(tree.root().join("b.txt")).unwrap();
    assert_eq!(refusal(&workspace, "grep_search", request), UNKNOWN_CURSOR);
}

/// A file that is read in chunks has the same pages as a file that is read whole.
#[test]
fn pages_of_a_large_file_are_those_of_a_small_one() {
    let text: String =
        (0..40).map(|i| format!("{} {i}\n", if i % 7 < 2 { "needle" } else { "other" })).collect();
    let (small, large) = (Tree::new(), Tree::new());
    small.write("a.txt", &text);
    large.write("a.txt", text + &"filler line\n".repeat(800_000));
    for context in [0, 2, 5] {
        let request = json!({"pattern": "needle", "max_results": 3, "context_lines": context});
        let of = |tree: &Tree| pages(tree, &request).iter().map(lines).collect::<Vec<_>>();
        // Filler may follow the last match of the last page.
        let (mut small, mut large) = (of(&small), of(&large));
        for pages in [&mut small, &mut large] {
            pages.last_mut().unwrap().retain(|line| line.1 <= 40);
        }
        assert_eq!(large, small, "{context}");
    }
}

/// Whatever arguments a tool has or will have: the cursor of a call without an argument must not be valid for
/// a call with it.
#[test]
fn cursor_is_bound_to_all_query_arguments() {
    let tree = Tree::new();
    for file in 0..30 {
        tree.write(format!("src/{file:02}.rs"), "fn needle() { needle(); }\n");
    }
    // All of these files are untracked.
    for arguments in [&["init", "-q"][..], &["commit", "-q", "--allow-empty", "-m", "First"]] {
        assert!(forage_fuzz::peers::git(tree.root()).args(arguments).status().unwrap().success());
    }
    let workspace = tree.workspace();
    let requests = [
        ("grep_search", json!({"pattern": "needle", "max_results": 3})),
        ("Search", json!({"pattern": "needle", "max_results": 3})),
        ("search_index", json!({"query": "needle", "limit": 3})),
    ];
    for (tool, mut request) in requests {
        let first = answer(&workspace, tool, request.clone());
        request["cursor"] = first.records()["next_cursor"].clone();
        assert!(answer(&workspace, tool, request.clone()).found, "{tool}: the control");
        let schema = find(tool).unwrap().whole_schema();
        let mut changed = 0;
        for (name, property) in schema["properties"].as_object().unwrap() {
            let of_the_page = ["cursor", "limit", "max_results", "timeout_ms", "explain", "code_tokens"];
            // Similar code has no pages.
            if of_the_page.contains(&name.as_str()) || name == "like" {
                continue;
            }
            let value = match (name.as_str(), property["type"].as_str().unwrap()) {
                ("path", _) => json!("src"),
                ("changed", _) => json!("HEAD"),
                ("file_pattern", _) => json!("*.rs"),
                ("languages", _) => json!(["rust"]),
                ("case", _) => json!("insensitive"),
                ("output", _) => json!("uses"),
                ("syntax", _) => json!("rust"),
                (_, "string") => json!("needle()"),
                (_, "array") => json!(["*.rs"]),
                (_, "integer") => json!(1),
                (_, "boolean") => json!(true),
                other => panic!("{tool} {other:?}"),
            };
            let mut other = request.clone();
            other[name] = value;
            assert_eq!(refusal(&workspace, tool, other), UNKNOWN_CURSOR, "{tool} {name}");
            changed += 1;
        }
        assert!(changed >= 4, "{tool}");
    }
}

/// The answer does not mention a file after the page, nor the secrets in its name.
#[test]
fn name_after_the_page_is_not_redacted() {
    let tree = Tree::new();
    tree.write("a.txt", "needle\n");
    tree.write("b-ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd.txt", "needle\n");
    for output in ["files", "counts"] {
        let page = answer(
            &tree.workspace(),
            "grep_search",
            json!({"pattern": "needle", "max_results": 1, "output": output}),
        );
        assert!(!page.text.contains("hidden"), "{}", page.text);
        assert_eq!(page.records()["file_count"], 2);
    }
}
