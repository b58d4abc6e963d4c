//! `Search`, checked against each of its requirements. The test names begin with the ids of these
//! (`crates/forage/tests/requirements/search.md`).

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

use forage_tools::registry::{TOOLS, ToolSelection, advertised, find};
use forage_tools::tools::SearchRequest;
use forage_tools::tools::search::each;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Tree, UNKNOWN_CURSOR, answer, line_with, refusal, transcript};

/// Creates a tree with known numbers of everything.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("src/retry.rs", "fn retry() {\n    backoff();\n}\n\nfn Retry_all() { retry(); }\n");
    tree.write("src/main.c", "int main(void) {\n    return retry(3);\n}\n");
    tree.write("notes/2026-01-08-notes.md", "a:3:x retry\nbackoff - retry\n");
    tree.write(".hidden", "retry in a hidden file\n");
    tree.write(".ignore", "out\n");
    tree.write("out/log.txt", "retry in an ignored file\n");
    tree
}

fn search(tree: &Tree, request: Value) -> Value {
    answer(&tree.workspace(), "Search", request).records().clone()
}

/// Path, line number, true for a match, text.
type Line = (String, u64, bool, String);

fn lines(records: &Value) -> Vec<Line> {
    records["matches"].as_array().unwrap().iter().map(line).collect()
}

fn line(record: &Value) -> Line {
    let data = &record["data"];
    let text = |field: &str| data[field]["text"].as_str().unwrap().to_owned();
    (text("path"), data["line_number"].as_u64().unwrap(), record["type"] == "match", text("lines"))
}

fn places(records: &Value) -> Vec<(String, u64)> {
    lines(records).into_iter().map(|(path, number, _, _)| (path, number)).collect()
}

#[test]
fn fr_ls_01_the_name_and_its_aliases() {
    for name in ["Search", "search", "rg", "ripgrep", "ugrep", "ug"] {
        assert_eq!(find(name).unwrap().name(), "Search", "{name}");
        assert_eq!(answer(&tree().workspace(), name, json!({"pattern": "backoff"})).records()["count"], 2);
    }
    // By default, the tool is not advertised. Its aliases never are.
    let names = |choice: &ToolSelection| {
        advertised(choice).unwrap().iter().map(|tool| tool.name()).collect::<Vec<_>>()
    };
    let on = ToolSelection { on: vec!["Search"], ..ToolSelection::default() };
    assert!(!names(&ToolSelection::default()).contains(&"Search") && names(&on).contains(&"Search"));
    assert_eq!(names(&ToolSelection::all()).len(), TOOLS.len());
}

#[test]
fn fr_ls_02_the_fields_of_a_request() {
    let schema = find("Search").unwrap().input_schema();
    let fields = [
        ("pattern", "string"),
        ("path", "string"),
        ("case", "string"),
        ("fixed_strings", "boolean"),
        ("word_regexp", "boolean"),
        ("glob", "array"),
        ("hidden", "boolean"),
        ("follow", "boolean"),
        ("no_ignore", "boolean"),
        ("context", "integer"),
        ("max_results", "integer"),
        ("timeout_ms", "integer"),
        ("fuzzy", "integer"),
    ];
    for (field, kind) in fields {
        assert_eq!(schema["properties"][field]["type"], kind, "{field}");
    }
    assert_eq!(schema["properties"]["glob"]["items"]["type"], "string");
    assert_eq!(schema["properties"]["case"]["enum"], json!(["smart", "sensitive", "insensitive"]));
    assert_eq!(schema["required"], json!(["pattern"]));
}

#[test]
fn fr_ls_02_each_field_does_what_it_says() {
    let tree = tree();
    let found = |request: Value| places(&search(&tree, request));
    let place = |path: &str, number: u64| (path.to_owned(), number);
    let (notes, main, retry) = ("notes/2026-01-08-notes.md", "src/main.c", "src/retry.rs");
    let sensitive = vec![place(notes, 1), place(notes, 2), place(main, 2), place(retry, 1), place(retry, 5)];
    // Smart case: a pattern without capitals matches both cases, and a pattern with capitals is
    // case-sensitive.
    assert_eq!(found(json!({"pattern": "retry"})), sensitive);
    assert_eq!(found(json!({"pattern": "Retry"})), [place(retry, 5)]);
    assert_eq!(found(json!({"pattern": "Retry", "case": "smart"})), [place(retry, 5)]);
    assert_eq!(found(json!({"pattern": "RETRY", "case": "insensitive"})), sensitive);
    assert_eq!(found(json!({"pattern": "retry_all", "case": "sensitive"})), []);
    assert_eq!(found(json!({"pattern": "retry(3)", "fixed_strings": true})), [place(main, 2)]);
    assert_eq!(found(json!({"pattern": r"retry\(\d"})), [place(main, 2)]);
    assert_eq!(found(json!({"pattern": "Retry", "word_regexp": true})), []);
    assert_eq!(found(json!({"pattern": "Retry_all", "word_regexp": true})), [place(retry, 5)]);
    assert_eq!(found(json!({"pattern": "retry", "path": "src/main.c"})), [place(main, 2)]);
    assert_eq!(found(json!({"pattern": "retry", "glob": ["*.c", "*.md", "!2026*"]})), [place(main, 2)]);
    assert_eq!(found(json!({"pattern": "retry", "glob": "src/*.c"})), [place(main, 2)]);
    assert_eq!(found(json!({"pattern": "retry in"})), []);
    assert_eq!(found(json!({"pattern": "retry in", "hidden": true})), [place(".hidden", 1)]);
    assert_eq!(found(json!({"pattern": "retry in", "no_ignore": true})), [place("out/log.txt", 1)]);
    assert_eq!(
        found(json!({"pattern": "return", "context": 1})),
        [place(main, 1), place(main, 2), place(main, 3)]
    );
    tree.link("src/main.c", "link.c");
    assert_eq!(found(json!({"pattern": "return"})), [place(main, 2)]);
    assert_eq!(found(json!({"pattern": "return", "follow": true})), [place("link.c", 2), place(main, 2)]);
}

#[test]
fn fr_ls_02_defaults_and_clamps() {
    let tree = Tree::new();
    tree.write("many.txt", "needle\n".repeat(11_000));
    let found = search(&tree, json!({"pattern": "needle"}));
    assert_eq!((&found["count"], &found["truncated"]), (&json!(200), &json!(true)));
    assert_eq!(found["warnings"], json!([]));
    for (request, count, warning) in [
        (json!({"max_results": 0}), 1, "`max_results`: 0 is not between 1 and 10000; 1 was used"),
        (json!({"max_results": -3}), 1, "`max_results`: -3 is not between 1 and 10000; 1 was used"),
        (
            json!({"max_results": 20_000}),
            10_000,
            "`max_results`: 20000 is not between 1 and 10000; 10000 was used",
        ),
        (json!({"context": 99}), 200, "`context`: 99 is not between 0 and 50; 50 was used"),
        (json!({"timeout_ms": 1}), 200, "`timeout_ms`: 1 is not between 100 and 300000; 100 was used"),
        (
            json!({"timeout_ms": 9_000_000}),
            200,
            "`timeout_ms`: 9000000 is not between 100 and 300000; 300000 was used",
        ),
        (json!({"fuzzy": 9}), 200, "`fuzzy`: 9 is not between 0 and 4; 4 was used"),
        (json!({"fuzzy": -1}), 200, "`fuzzy`: -1 is not between 0 and 4; 0 was used"),
    ] {
        let mut request = request;
        request["pattern"] = json!("needle");
        let found = search(&tree, request.clone());
        // A busy machine may not finish within this minimum time.
        assert!(found["count"] == count || found["timed_out"] == true, "{request}: {found}");
        assert_eq!(found["warnings"][0], warning, "{request}");
    }
    // Zero edits mean an exact search, however the request says it.
    assert_eq!(search(&tree, json!({"pattern": "nedle", "fuzzy": 0}))["count"], 0);
    insta::assert_snapshot!(refusal(
        &tree.workspace(),
        "Search",
        json!({"pattern": "x", "nonsense_type": 1})
    ));
}

#[test]
fn fr_ls_04_the_shape_of_a_record() {
    let found = search(&tree(), json!({"pattern": "return", "context": 1}));
    assert_eq!(
        found["matches"],
        json!([
            {"type": "context", "data": {
                "path": {"text": "src/main.c"}, "line_number": 1, "lines": {"text": "int main(void) {"}}},
            {"type": "match", "data": {
                "path": {"text": "src/main.c"}, "line_number": 2, "lines": {"text": "    return retry(3);"},
                "submatches": [{"start": 4, "end": 10}]}},
            {"type": "context", "data": {
                "path": {"text": "src/main.c"}, "line_number": 3, "lines": {"text": "}"}}},
        ])
    );
}

#[test]
fn fr_ls_05_the_fields_of_an_answer() {
    let found = search(&tree(), json!({"pattern": "return", "path": "src", "context": 1}));
    let expected = [
        ("pattern", json!("return")),
        ("path", json!("src")),
        ("count", json!(3)),
        ("match_count", json!(1)),
        ("truncated", json!(false)),
        ("timed_out", json!(false)),
        ("engine", json!("embedded")),
        ("truncated_by", json!(null)),
        ("next_cursor", json!(null)),
    ];
    for (field, value) in expected {
        assert_eq!(found[field], value, "{field}");
    }
    assert_eq!(found["matches"].as_array().unwrap().len(), 3);
    // These fields belong to external engines only.
    assert!(found.get("exit_code").is_none() && found.get("stderr").is_none());
    assert_eq!(
        found["content"],
        "Found 1 match in 1 file, with 2 lines of context:\n\nsrc/main.c-1-int main(void) {\n\
         src/main.c:2:    return retry(3);\nsrc/main.c-3-}\n\n[searched 2 files]\n"
    );
    let everything = search(&tree(), json!({"pattern": "return"}));
    assert_eq!(everything["skipped"], json!({"ignored": 1, "hidden": 2}));
}

/// This also covers T-LS-LIM-01.
#[test]
fn fr_ls_06_truncated_only_if_one_more_event_exists() {
    let tree = tree();
    for context in [0, 1] {
        let all = search(&tree, json!({"pattern": "retry", "context": context}));
        let total = all["count"].as_u64().unwrap();
        assert_eq!(total, if context == 0 { 5 } else { 9 });
        for limit in 1..=total + 1 {
            let found = search(&tree, json!({"pattern": "retry", "context": context, "max_results": limit}));
            assert_eq!(found["count"], limit.min(total), "{limit}");
            assert_eq!(found["truncated"], limit < total, "{limit}");
            assert_eq!(found["truncated_by"], if limit < total { json!("max_results") } else { json!(null) });
            assert_eq!(found["next_cursor"].is_string(), limit < total, "{limit}");
            // A smaller limit gives us the first matches of a larger one.
            assert_eq!(lines(&found)[..], lines(&all)[..usize::try_from(limit.min(total)).unwrap()]);
        }
    }
}

/// IT-LS-E2E-01: calls through the registry, with files that need care.
#[test]
fn it_ls_e2e_01_expected_matches() {
    let tree = tree();
    tree.write("a:1:b.txt", "crlf retry\r\nno final line feed retry");
    tree.write("nl\nfake.rs:1:retry", "retry\n");
    tree.write(std::ffi::OsStr::new("latin.txt"), b"caf\xe9 retry\n");
    let found = search(&tree, json!({"pattern": "retry", "glob": ["a:1*", "nl*", "latin*"]}));
    let line = |path: &str, number, text: &str| (path.to_owned(), number, true, text.to_owned());
    assert_eq!(
        lines(&found),
        [
            line("\"a:1:b.txt\"", 1, "crlf retry\r"),
            line("\"a:1:b.txt\"", 2, "no final line feed retry"),
            line("latin.txt", 1, "café retry"),
            line("\"nl\\nfake.rs:1:retry\"", 1, "retry"),
        ]
    );
    insta::assert_snapshot!(found["content"].as_str().unwrap());
}

/// NFR-LS-PERF-01: the first record must arrive long before the last file is read.
#[test]
fn nfr_ls_perf_01_records_come_as_they_are_found() {
    let tree = Tree::new();
    for i in 0..3_000 {
        tree.write(format!("{i:04}.txt"), if i % 1_000 == 0 { "needle\n" } else { "other\n" });
    }
    let mut workspace = tree.workspace();
    workspace.limits.threads = 1;
    let (mut visited, mut seen) = (Vec::new(), Vec::new());
    let call = workspace.start_call();
    let ended = each(&call, SearchRequest::new("needle"), |records| {
        visited.push(call.progress.visited.load(Ordering::Relaxed));
        seen.extend(records.iter().map(|record| json!(record)));
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(ended.response.match_count == 3 && ended.truncated_by.is_none());
    assert!(visited[0] < 200 && visited[1] < 1_200 && visited[2] < 2_200, "{visited:?}");
    // The streamed records are the same as those of a call.
    let whole = search(&tree, json!({"pattern": "needle"}));
    assert_eq!(json!(seen), whole["matches"]);
}

/// If the reader has enough, the search ends.
#[test]
fn nfr_ls_perf_01_a_reader_that_leaves_ends_the_search() {
    let tree = Tree::new();
    for i in 0..3_000 {
        tree.write(format!("{i:04}.txt"), "needle\n");
    }
    let mut workspace = tree.workspace();
    workspace.limits.threads = 1;
    let (call, mut written) = (workspace.start_call(), 0);
    each(&call, SearchRequest::new("needle"), |_| {
        written += 1;
        ControlFlow::Break(())
    })
    .unwrap();
    assert_eq!(written, 1);
    assert!(call.progress.visited.load(Ordering::Relaxed) < 500);
}

/// IT-LS-FZ-01.
#[test]
fn it_ls_fz_01_approximate_matches() {
    let tree = Tree::new();
    tree.write("a.txt", "retry_count\nretry_cuont\nretri_count\nnothing\nretr_cont\n");
    let numbers = |fuzzy: u64| -> Vec<(u64, u64)> {
        let found = search(&tree, json!({"pattern": "retry_count", "fuzzy": fuzzy, "fixed_strings": true}));
        let records = found["matches"].as_array().unwrap().iter();
        records
            .map(|record| {
                (
                    record["data"]["line_number"].as_u64().unwrap(),
                    record["data"]["distance"].as_u64().unwrap(),
                )
            })
            .collect()
    };
    assert_eq!(numbers(1), [(1, 0), (3, 1)]);
    assert_eq!(numbers(2), [(1, 0), (2, 2), (3, 1), (5, 2)]);
    let best = search(&tree, json!({"pattern": "retry_count", "fuzzy": 2, "best_first": true}));
    let order: Vec<u64> = places(&best).into_iter().map(|(_, number)| number).collect();
    assert_eq!(order, [1, 3, 2, 5]);
    let record = &best["matches"][1];
    assert_eq!(record["data"]["submatches"], json!([{"start": 0, "end": 11, "distance": 1}]));
    let line = line_with(best["content"].as_str().unwrap(), "retri_count");
    assert_eq!(line, "a.txt:3:retri_count  [1 edit]");
    // We reject a pattern that is similar to nearly everything.
    let requests = [json!({"pattern": "abc", "fuzzy": 3}), json!({"pattern": "a|abcdef", "fuzzy": 1})];
    insta::assert_snapshot!(transcript(&tree.workspace(), "Search", requests));
}

/// Collects the lines of all pages of a request.
fn pages(tree: &Tree, mut request: Value) -> Vec<Line> {
    let mut all = Vec::new();
    for _ in 0..500 {
        let page = search(tree, request.clone());
        all.extend(lines(&page));
        match page["next_cursor"].as_str() {
            Some(cursor) => request["cursor"] = json!(cursor),
            None => return all,
        }
    }
    panic!("the pages don't end")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// Wherever the pages are cut, even in the middle of a match's context, together they must be the whole
    /// answer.
    #[test]
    fn pages_together_are_the_whole_answer(
        files in prop::collection::btree_map("[ab](/[cd]|-x)?\\.txt", "[mn.]{0,20}", 0..6),
        limit in 1..9u64, context in 0..4u64, best in any::<bool>(),
    ) {
        let files: BTreeMap<String, String> = files;
        let tree = Tree::new();
        for (path, marks) in &files {
            let text = |mark| match mark { 'm' => "needle", 'n' => "neddle", _ => "other" };
            tree.write(path, marks.chars().enumerate().map(|(i, mark)| format!("{} {i}\n", text(mark))).collect::<String>());
        }
        let request = json!({"pattern": "needle", "context": context, "max_results": 10_000, "fuzzy": 1, "best_first": best});
        let whole = lines(&search(&tree, request.clone()));
        let expected = files.values().flat_map(|marks| marks.chars()).filter(|mark| *mark != '.').count();
        prop_assert_eq!(whole.iter().filter(|line| line.2).count(), expected);
        let mut request = request;
        request["max_results"] = json!(limit);
        prop_assert_eq!(pages(&tree, request), whole);
    }
}

/// The best results found in time may not be the best overall. Therefore the answer has no cursor, and says
/// that it is partial.
#[test]
fn best_first_at_a_deadline_claims_nothing() {
    let tree = Tree::new();
    tree.write("a.txt", "abcdefabcdefabcdefabcdeX\n".repeat(3));
    // One non-ASCII word of several megabytes needs the slow method, which will reach the deadline.
    tree.write("b.txt", format!("é{}", "abcdef".repeat(1_300_000)));
    tree.write("c.txt", "abcdefabcdefabcdefabcdef\n");
    let request = json!({
        "pattern": "abcdefabcdefabcdefabcdef", "fuzzy": 4, "word_regexp": true, "best_first": true, "max_results": 2
    });
    let mut workspace = tree.workspace();
    workspace.limits.threads = 1;
    // This is enough time to compile the pattern, however busy the machine is, but far less than the search
    // takes.
    let (mut short, mut long) = (request.clone(), request);
    long["path"] = json!("c.txt");
    let began = std::time::Instant::now();
    answer(&workspace, "Search", long);
    short["timeout_ms"] = json!((2 * began.elapsed().as_millis() as u64).max(200));
    let cut = answer(&workspace, "Search", short);
    assert!(cut.partial(), "{}", cut.text);
    let (timed_out, by) = (&cut.records()["timed_out"], &cut.records()["truncated_by"]);
    assert_eq!((timed_out, by), (&json!(true), &json!("timeout")), "{}", cut.text);
    assert_eq!((&cut.records()["truncated"], &cut.records()["next_cursor"]), (&json!(false), &json!(null)));
}

/// If a line has more matches than we report, we keep the best ones.
#[test]
fn the_best_match_of_a_line_is_never_cut_off() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{}needle\n", "nedle ".repeat(60)));
    tree.write("b.txt", format!("{}needle\n", "a1 ".repeat(150)));
    tree.write("c.txt", "nedle\n");
    let found = search(&tree, json!({"pattern": "needle", "fuzzy": 2, "best_first": true}));
    let distances: Vec<_> = found["matches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| record["data"]["distance"].as_u64())
        .collect();
    assert_eq!(distances, [Some(0), Some(0), Some(1)]);
    let tree = Tree::new();
    tree.write("a.txt", format!("{}ab\n", "a ".repeat(110)));
    let record = &search(&tree, json!({"pattern": "ab", "fuzzy": 1}))["matches"][0]["data"];
    assert_eq!((record["distance"].as_u64(), record["submatches"].as_array().unwrap().len()), (Some(0), 100));
}

/// We limit the lines that are kept of one file, but not the printed ones.
#[test]
fn everything_is_everything_however_large_a_file_is() {
    let tree = Tree::new();
    let line = format!("needle {}\n", "x".repeat(390));
    tree.write("a.txt", line.repeat(60_000));
    tree.write("b.txt", "needle\n");
    for context_lines in [0, 1] {
        let mut lines = 0;
        let request = SearchRequest::new("needle").context(context_lines);
        let mut workspace = tree.workspace();
        workspace.search.timeout = std::time::Duration::from_secs(300);
        let ended = workspace
            .search_each(request, |records| {
                lines += records.iter().filter(|record| record.kind == "match").count();
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!((lines, ended.response.count), (60_001, 60_001));
        // The search continued within the file, so it may have read neighbouring files twice.
        assert!(ended.response.files_searched >= 2 && ended.truncated_by.is_none());
    }
}

/// In another tree, the cursor would skip the files before its position.
#[test]
fn a_cursor_fits_one_root() {
    let (one, other) = (tree(), tree());
    for (tool, request) in [
        ("Search", json!({"pattern": "retry", "max_results": 1})),
        ("grep_search", json!({"pattern": "retry", "max_results": 1})),
    ] {
        let mut next = request.clone();
        next["cursor"] = answer(&one.workspace(), tool, request).records()["next_cursor"].clone();
        assert_eq!(refusal(&other.workspace(), tool, next), UNKNOWN_CURSOR, "{tool}");
    }
}

/// The rest of a match's context from the previous page counts as an answer.
#[test]
fn a_page_of_context_alone_is_found() {
    let tree = Tree::new();
    tree.write("a.txt", "needle\nafter\n");
    let mut request = json!({"pattern": "needle", "max_results": 1, "context": 1});
    let first = answer(&tree.workspace(), "Search", request.clone());
    request["cursor"] = first.records()["next_cursor"].clone();
    let second = answer(&tree.workspace(), "Search", request);
    assert_eq!((second.found, &second.records()["count"]), (true, &json!(1)), "{}", second.text);
}
