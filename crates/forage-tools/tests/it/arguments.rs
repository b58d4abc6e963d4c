//! Invalid requests: every message must name the argument and say what to write instead. The usual cases are
//! in `snapshots/`. These are the unusual ones.

use forage_tools::FilterBreadth;
use serde_json::{Value, json};

use crate::support::{
    INVALID_CURSOR, NEEDLE, Tree, UNKNOWN_CURSOR, answer, line_with, notes, refusal, transcript,
};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("a.txt", format!("{NEEDLE} one\ntwo\nthree\n"));
    tree.write("empty.txt", "");
    tree.write("sub/b.txt", "x\n");
    tree
}

/// Calls a tool with each request. Returns the requests and their errors.
fn refused<const N: usize>(tool: &str, requests: [Value; N]) -> String {
    let tree = tree();
    let refused = transcript(&tree.workspace(), tool, requests);
    assert_eq!(refused.matches("\nERROR: ").count(), N, "{refused}");
    refused
}

#[test]
fn every_tool_refuses_what_it_does_not_know() {
    for (tool, good) in [
        ("grep_search", json!({"pattern": "x"})),
        ("list_directory", json!({})),
        ("read_file", json!({"path": "a.txt"})),
        ("keyword_search", json!({"query": "q", "search_terms": ["x"]})),
    ] {
        let tree = tree();
        let workspace = tree.workspace();
        answer(&workspace, tool, good.clone());
        let first = match good.as_object().unwrap().keys().next() {
            Some(name) => name.clone(),
            None => "path".to_owned(),
        };
        let mut unknown = good.clone();
        unknown["no_such_filter"] = json!(1);
        let with = |wrong: Value| {
            let mut request = good.clone();
            request[&first] = wrong;
            request
        };
        let requests = [
            unknown,
            with(json!({"x": 1})),
            with(json!([{"y": 1}])),
            with(json!(true)),
            json!([1]),
            json!(7),
            json!("not json"),
            json!(true),
        ];
        insta::assert_snapshot!(format!("unknown-arguments-{tool}"), refused(tool, requests));
    }
    let error = forage_tools::registry::find("no\u{1b}tool").err().unwrap().to_string();
    insta::assert_snapshot!("unknown-tool", error);
}

#[test]
fn grep_search_refuses() {
    let requests = [
        json!({"pattern": null}),
        json!({"pattern": "[z-a]"}),
        json!({"pattern": "a\nb"}),
        json!({"pattern": "(".repeat(1_000) + &")".repeat(1_000)}),
        json!({"pattern": "x", "max_results": 1.5}),
        json!({"pattern": "x", "ignore_case": "maybe"}),
        json!({"pattern": "x", "path": "a\0b"}),
        json!({"pattern": "x", "path": "\"a"}),
        json!({"pattern": "x", "path": "\"\\q\""}),
        json!({"pattern": "x", "offset": 50}),
        json!({"pattern": "x", "output": "all"}),
        json!({"pattern": "x", "max_age": 3, "since": "2020"}),
        json!({"pattern": "x", "path": "{a,b"}),
        json!({"pattern": "x", "file_pattern": "{a,b"}),
    ];
    insta::assert_snapshot!(refused("grep_search", requests));
    // The rest of this message comes from the system.
    let long = json!({"pattern": "x", "path": "n".repeat(1_000)});
    assert!(refusal(&tree().workspace(), "grep_search", long).starts_with("`path`: "));
}

#[test]
fn read_file_refuses() {
    let requests = [
        json!({"path": "."}),
        json!({"path": ""}),
        json!({"path": "a.txt\0"}),
        json!({"path": "a.txt", "start_line": "two"}),
    ];
    insta::assert_snapshot!(refused("read_file", requests));
}

#[test]
fn list_directory_refuses() {
    let requests = [json!({"path": "a\0"}), json!({"recursive": 7})];
    insta::assert_snapshot!(refused("list_directory", requests));
}

#[test]
fn keyword_search_refuses() {
    let requests = [
        json!({"search_terms": ["x"]}),
        json!({"query": " \n", "search_terms": ["x"]}),
        json!({"query": "q", "search_terms": [["x", "y"]]}),
        json!({"query": "q", "search_terms": ["(", "[z", ""]}),
        json!({"query": "q", "search_terms": ["x(?=y)"]}),
    ];
    insta::assert_snapshot!(refused("keyword_search", requests));
}

/// Terms come in order of importance, so it is safe to drop the last ones.
#[test]
fn terms_beyond_the_limit_are_named_and_not_searched() {
    let terms = |n: usize| (0..n).map(|i| format!("term{i}")).collect::<Vec<_>>();
    let notes = [64, 66].map(|count| {
        let request = json!({"query": "q", "search_terms": terms(count)});
        let found = answer(&tree().workspace(), "keyword_search", request);
        assert_eq!(found.records()["terms"].as_array().unwrap().len(), 64);
        format!("{count} terms:\n{}", notes(&found.text))
    });
    insta::assert_snapshot!(notes.join("\n\n"));
}

/// The error must contain the requirement's sentence and each term with its size.
#[test]
fn terms_that_are_all_too_broad_are_an_error_that_names_each() {
    let tree = Tree::new();
    tree.write("broad.txt", "common words everywhere\n".repeat(10_000));
    let mut workspace = tree.workspace();
    workspace.filter.breadth = FilterBreadth::Requirement;
    let request = json!({"query": "q", "search_terms": ["common", "w.rds", "("]});
    let refused = transcript(&workspace, "keyword_search", [request.clone()]);
    // A single specific term among them is enough.
    tree.write("rare.txt", format!("{NEEDLE}\n"));
    let terms = json!({"query": "q", "search_terms": ["common", NEEDLE]});
    // If a specific term has no matches, this must not look as if no term had any.
    let absent = json!({"query": "q", "search_terms": ["common", "absent"]});
    let found = answer(&workspace, "keyword_search", absent.clone());
    assert!(!found.found && found.records()["terms"][0]["fate"] == "too_broad", "{}", found.text);
    let found = transcript(&workspace, "keyword_search", [terms.clone(), absent]);
    // By default, we reject nothing if no model is used.
    let by_default = transcript(&tree.workspace(), "keyword_search", [request, terms]);
    insta::assert_snapshot!([refused, found, by_default].join("\n"));
}

#[test]
fn cursors_that_do_not_fit_are_refused() {
    let tree = tree();
    let workspace = tree.workspace();
    tree.write("many.txt", format!("{NEEDLE}\n").repeat(9));
    let page = answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "max_results": 2}));
    let cursor = page.records()["next_cursor"].as_str().unwrap().to_owned();
    // Positive control: with its own request, the cursor continues the answer.
    let next =
        answer(&workspace, "grep_search", json!({"pattern": NEEDLE, "max_results": 3, "cursor": cursor}));
    assert_eq!(next.records()["files"][0]["lines"][0]["line_number"], 2);
    for other in [
        json!({"pattern": "needl"}),
        json!({"pattern": NEEDLE, "path": "many.txt"}),
        json!({"pattern": NEEDLE, "ignore_case": true}),
        json!({"pattern": NEEDLE, "include_ignored": true}),
        json!({"pattern": NEEDLE, "context_lines": 1}),
        json!({"pattern": NEEDLE, "file_pattern": "*.txt"}),
    ] {
        let mut request = other.clone();
        request["cursor"] = json!(cursor);
        assert_eq!(refusal(&workspace, "grep_search", request), UNKNOWN_CURSOR, "{other}");
    }
    for cursor in ["x", "1", "é", "AAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAA=", "AAAA AAAAAAAAAAA", &cursor[1..]] {
        let error = refusal(&workspace, "grep_search", json!({"pattern": NEEDLE, "cursor": cursor}));
        assert!([UNKNOWN_CURSOR, INVALID_CURSOR].contains(&error.as_str()), "{cursor}: {error}");
    }
}

/// Every tool that has cursors, with a request that is truncated and whose next page has results.
const CUT: [(&str, &str); 4] = [
    ("grep_search", r#"{"pattern": "needle", "max_results": 2}"#),
    ("Search", r#"{"pattern": "needle", "max_results": 2}"#),
    ("Search", r#"{"pattern": "needle", "max_results": 2, "fuzzy": 1, "best_first": true}"#),
    ("search_index", r#"{"query": "needle", "limit": 2}"#),
];

/// A page from elsewhere or an empty page must not pass for the next one.
#[test]
fn no_cursor_is_taken_but_for_its_own_place() {
    let tree = tree();
    for name in ["b", "c", "d"] {
        tree.write(format!("{name}.txt"), "needle one\nneedle two\nneedle three\n");
    }
    let workspace = tree.workspace();
    let mut cursors = Vec::new();
    for (tool, request) in CUT {
        let request: Value = serde_json::from_str(request).unwrap();
        let with = |cursor: &str| {
            let mut request = request.clone();
            request["cursor"] = json!(cursor);
            request
        };
        let page = answer(&workspace, tool, request.clone());
        let cursor = page.records()["next_cursor"].as_str().unwrap().to_owned();
        assert_eq!(
            answer(&workspace, tool, request.clone()).records()["next_cursor"],
            json!(cursor),
            "{tool}"
        );
        // Positive control: an unchanged cursor continues the answer.
        assert_eq!(answer(&workspace, tool, with(&cursor)).records()["continued"], json!(true), "{tool}");
        let refused = |altered: &str| {
            let error = refusal(&workspace, tool, with(altered));
            assert!([UNKNOWN_CURSOR, INVALID_CURSOR].contains(&error.as_str()), "{tool} {altered}: {error}");
        };
        for (at, old) in cursor.char_indices() {
            for new in ['0', '7', 'a', 'F', '.', '+', ' '].into_iter().filter(|new| *new != old) {
                refused(&format!("{}{new}{}", &cursor[..at], &cursor[at + 1..]));
            }
        }
        cursors.push((tool, request, cursor));
    }
    // A cursor is not valid for another request.
    for (at, (tool, request, _)) in cursors.iter().enumerate() {
        for (_, _, cursor) in cursors.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, all)| all)
        {
            let mut request = request.clone();
            request["cursor"] = json!(cursor);
            assert_eq!(refusal(&workspace, tool, request), UNKNOWN_CURSOR, "{tool} {cursor}");
        }
    }
}

/// If the remaining files are deleted, the answer must not look like a search without matches.
#[test]
fn a_page_behind_which_all_has_gone_says_that_it_goes_on() {
    let mut rests = Vec::new();
    for (tool, request) in CUT {
        let tree = tree();
        for name in ["x", "y", "z"] {
            tree.write(format!("{name}.txt"), "needle needle\n");
        }
        let mut request: Value = serde_json::from_str(request).unwrap();
        let page = answer(&tree.workspace(), tool, request.clone());
        request["cursor"] = page.records()["next_cursor"].clone();
        assert!(request["cursor"].is_string(), "{tool}");
        let left = |name: &str| !page.text.contains(name);
        for name in ["a.txt", "x.txt", "y.txt", "z.txt"].into_iter().filter(|name| left(name)) {
            std::fs::remove_file(tree.root().join(name)).unwrap();
        }
        let rest = answer(&tree.workspace(), tool, request);
        rests.push(rest.text);
    }
    insta::assert_snapshot!(rests.join("\n"));
}

/// Calls a tool. Returns the text of the answer and its records.
fn found(tool: &str, request: Value) -> (String, Value) {
    let tree = tree();
    tree.write("sub/c.rs", format!("// {NEEDLE}\nfn a(b) {{}}\n"));
    let workspace = tree.workspace();
    let answer = answer(&workspace, tool, request);
    (answer.text.clone(), answer.records().clone())
}

#[test]
fn arguments_of_other_tools_are_understood() {
    let grep = |more: Value| {
        let mut request = json!({"pattern": NEEDLE});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (text, records) = found("grep_search", request);
        let files = records["files"].as_array().unwrap();
        let paths: Vec<String> = files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect();
        (paths.join(" "), text)
    };
    for (more, paths) in [
        (json!({}), "a.txt sub/c.rs"),
        (json!({"path": "", "file_pattern": "", "cursor": "", "max_results": null}), "a.txt sub/c.rs"),
        (json!({"glob": "*.rs"}), "sub/c.rs"),
        (json!({"file_pattern": "*.rs,*.md"}), "sub/c.rs"),
        (json!({"file_pattern": ["*.rs", "*.txt"]}), "a.txt sub/c.rs"),
        (json!({"file_pattern": "!*.rs"}), "a.txt"),
        (json!({"type": "rust"}), "sub/c.rs"),
        (json!({"exclude": "sub"}), "a.txt"),
        (json!({"exclude": ["sub/"]}), "a.txt"),
        (json!({"exclude": "*.rs, *.md"}), "a.txt"),
        (json!({"include": "*.rs", "excludes": ["c.*"]}), ""),
        (json!({"path": "sub/*.rs"}), "sub/c.rs"),
        (json!({"path": "**/*.txt"}), "a.txt"),
        (json!({"path": "su*"}), "sub/c.rs"),
        (json!({"path": "@sub/c.rs"}), "sub/c.rs"),
        (json!({"path": "./sub/c.rs:2"}), "sub/c.rs"),
        (json!({"path": "/sub"}), "sub/c.rs"),
        (json!({"path": "`sub\\c.rs`"}), "sub/c.rs"),
        (json!({"-i": true, "-A": 1, "-n": true, "output_mode": "content", "offset": 0}), "a.txt sub/c.rs"),
        (json!({"whole_word": true, "literal": true}), "a.txt sub/c.rs"),
        (json!({"multiline": false, "case_sensitive": true}), "a.txt sub/c.rs"),
        (json!({"max_results": 0}), "a.txt"),
        (json!({"head_limit": 0}), "a.txt sub/c.rs"),
        (json!({"output": "Files"}), "a.txt sub/c.rs"),
        (json!({"output": ["LINES"]}), "a.txt sub/c.rs"),
    ] {
        let (found, text) = grep(more.clone());
        assert_eq!(found, paths, "{more}: {text}");
    }
    let (found, text) = grep(json!({"wait_for_previous": true, "context_lines": 999}));
    assert_eq!(found, "a.txt sub/c.rs");
    insta::assert_snapshot!(text);
    let (_, records) = found_lines("a(b)");
    assert_eq!(records["match_count"], 1, "{records}");
    let (_, records) = self::found("read_file", json!({"path": "sub/c.rs:2"}));
    assert_eq!(records["lines"], json!(["fn a(b) {}"]));
}

/// Globs as people and agents write them, in every tool that accepts them. An index, and a walk from a part
/// of the tree, select the same files.
#[test]
fn globs_mean_what_callers_mean_by_them() {
    let tree = Tree::new();
    for path in [
        "app/a.ts",
        "app/[slug]/page.tsx",
        "app/sub/b.tsx",
        "eek/c.txt",
        "ook/d.txt",
        "ook/deep/e.ts",
        "f.py",
    ] {
        tree.write(path, "needle\n");
    }
    let workspace = tree.workspace();
    let absolute = format!("{}/ook/**", workspace.roots.main().path().display());
    let all = "app/[slug]/page.tsx app/a.ts app/sub/b.tsx eek/c.txt f.py ook/d.txt ook/deep/e.ts";
    for (glob, expected) in [
        ("!ook", "app/[slug]/page.tsx app/a.ts app/sub/b.tsx eek/c.txt f.py"),
        ("!ook/", "app/[slug]/page.tsx app/a.ts app/sub/b.tsx eek/c.txt f.py"),
        ("!/app", "eek/c.txt f.py ook/d.txt ook/deep/e.ts"),
        ("!app/*", "eek/c.txt f.py ook/d.txt ook/deep/e.ts"),
        ("!./app/**", "eek/c.txt f.py ook/d.txt ook/deep/e.ts"),
        ("!**/deep/**", "app/[slug]/page.tsx app/a.ts app/sub/b.tsx eek/c.txt f.py ook/d.txt"),
        ("*.ts,!ook", "app/a.ts"),
        ("./app/**/*.tsx", "app/[slug]/page.tsx app/sub/b.tsx"),
        ("*.ts|*.tsx", "app/[slug]/page.tsx app/a.ts app/sub/b.tsx ook/deep/e.ts"),
        ("*.ts *.tsx", "app/[slug]/page.tsx app/a.ts app/sub/b.tsx ook/deep/e.ts"),
        ("!ook/ !app/", "eek/c.txt f.py"),
        ("*.ts !ook/", "app/a.ts"),
        ("ook/", "ook/d.txt ook/deep/e.ts"),
        (".tsx", "app/[slug]/page.tsx app/sub/b.tsx"),
        ("app/[slug]/*.tsx", "app/[slug]/page.tsx"),
        ("app\\**\\*.tsx", "app/[slug]/page.tsx app/sub/b.tsx"),
        (&absolute, "ook/d.txt ook/deep/e.ts"),
        ("**", all),
    ] {
        let grep = answer(&workspace, "grep_search", json!({"pattern": "needle", "file_pattern": glob}));
        let paths = |files: &Value| {
            let paths =
                files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap().to_owned());
            let mut paths: Vec<String> = paths.collect();
            paths.sort();
            paths.join(" ")
        };
        assert_eq!(paths(&grep.records()["files"]), expected, "grep_search {glob}");
        let ranked = json!({"query": "needle", "file_pattern": glob, "limit": 20, "code_tokens": 0});
        let ranked = answer(&workspace, "search_index", ranked);
        assert_eq!(paths(&ranked.records()["files"]), expected, "search_index {glob}");
        if !glob.contains(',') {
            let search = answer(&workspace, "Search", json!({"pattern": "needle", "glob": [glob]}));
            let mut found: Vec<String> = search.records()["matches"]
                .as_array()
                .unwrap()
                .iter()
                .map(|record| record["data"]["path"]["text"].as_str().unwrap().to_owned())
                .collect();
            found.sort();
            assert_eq!(found.join(" "), expected, "Search {glob}");
        }
    }
    let listed = answer(&workspace, "list_directory", json!({"name": "*,!ook/"}));
    insta::assert_snapshot!(listed.text);
    // This also holds for a part of the tree.
    let within = json!({"pattern": "needle", "path": "app", "file_pattern": "./sub/**"});
    let within = answer(&workspace, "grep_search", within);
    assert_eq!(within.records()["files"][0]["path"], "app/sub/b.tsx");
}

fn found_lines(literal: &str) -> (String, Value) {
    found("grep_search", json!({"pattern": literal, "fixed_strings": true}))
}

#[test]
fn lines_are_read_however_they_are_asked_for() {
    for (more, lines) in [
        (json!({"offset": 2}), "2-3"),
        (json!({"offset": 2, "limit": 1}), "2-2"),
        (json!({"offset": 0, "limit": 2}), "1-2"),
        (json!({"limit": "2"}), "1-2"),
        (json!({"view_range": [2, -1]}), "2-3"),
        (json!({"view_range": [2, 3]}), "2-3"),
        (json!({"lines": "2-2"}), "2-2"),
        (json!({"start_line_one_indexed": 2, "should_read_entire_file": false}), "2-3"),
        (json!({"startLine": 1, "endLine": 1}), "1-1"),
        // The number of lines counts from the first line, however that is given.
        (json!({"start_line": "2", "limit": 1}), "2-2"),
        (json!({"line": 2, "limit": 1}), "2-2"),
        (json!({"start_line": 2, "end_line": -1}), "2-3"),
        (json!({"start_line": 2, "end": "-1"}), "2-3"),
        // A line of the path counts where no argument replaces it.
        (json!({"file_path": "a.txt:2", "end_line": 2}), "2-2"),
        (json!({"file_path": "a.txt:2-2", "end_line": 3}), "2-3"),
        (json!({"file_path": "a.txt:1-2", "start_line": 3}), "3-3"),
    ] {
        let mut request = json!({"file_path": "a.txt"});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let (text, records) = found("read_file", request);
        let read = format!("{}-{}", records["start_line"], records["end_line"]);
        assert_eq!(read, lines, "{more}: {text}");
    }
    for (more, lines) in [(json!({"offset": -2}), 3), (json!({"offset": -2, "limit": 2}), 2)] {
        let mut request = more.clone();
        request["path"] = json!("a.txt");
        let (text, records) = found("read_file", request);
        assert_eq!((&records["start_line"], &records["end_line"]), (&json!(1), &json!(lines)), "{more}");
        let warning = "[warning: `start_line`: -2 is less than 1; 1 was used]";
        assert_eq!(line_with(&text, "was used"), warning, "{more}");
    }
    for path in ["a.txt:2-2", "a.txt#L2-L2", "a.txt:2-2:1"] {
        let (text, records) = found("read_file", json!({"path": path}));
        assert_eq!((&records["start_line"], &records["end_line"]), (&json!(2), &json!(2)), "{text}");
        assert_eq!(notes(&text), "[lines 2 to 2 of 3 lines]");
    }
}
