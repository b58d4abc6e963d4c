//! `grep_search` with `syntax`: code patterns.

use forage_tools::Workspace;
use forage_tools::tools::GrepRequest;
use serde_json::{Value, json};

use crate::support::{Tree, answer, transcript};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write(
        "src/a.rs",
        "fn a() {\n    spawn(move || {\n        work();\n    });\n    // spawn(b)\n    x.spawn(c);\n    let d = \"spawn(e)\";\n}\n",
    );
    tree.write("src/b.py", "spawn(1)\nother.spawn(2)\n");
    tree.write("notes.txt", "spawn(text)\n");
    tree
}

fn lines(answer: &Value) -> Vec<String> {
    let files = answer["files"].as_array().unwrap().iter();
    let lines = |file: &Value| {
        let path = file["path"].as_str().unwrap().to_owned();
        let lines = file["lines"].as_array().unwrap().iter().filter(|line| line["type"] == "match");
        lines.map(|line| format!("{path}:{}", line["line_number"])).collect::<Vec<_>>()
    };
    files.flat_map(lines).collect()
}

#[test]
fn code_is_found_by_its_syntax() {
    let tree = tree();
    let workspace = tree.workspace();
    let found = |request: Value| lines(&answer(&workspace, "grep_search", request).records().clone());
    // This finds all lines that a match touches, but no comments, strings or methods.
    let rust = ["src/a.rs:2", "src/a.rs:3", "src/a.rs:4"];
    assert_eq!(found(json!({"pattern": "spawn($A)", "syntax": "rust"})), rust);
    assert_eq!(
        found(json!({"pattern": "spawn($A)", "syntax": "any"})),
        [&rust[..], &["src/b.py:1"]].concat()
    );
    assert_eq!(
        found(json!({"pattern": "$X.spawn($A)", "syntax": "rust, python"})),
        ["src/a.rs:6", "src/b.py:2"]
    );
    // All pages together have the same lines.
    let mut request = json!({"pattern": "spawn($A)", "syntax": "any", "max_results": 2});
    let first = answer(&workspace, "grep_search", request.clone()).records().clone();
    request["cursor"] = first["next_cursor"].clone();
    let second = answer(&workspace, "grep_search", request).records().clone();
    assert_eq!([lines(&first), lines(&second)].concat(), [&rust[..], &["src/b.py:1"]].concat());
    let requests = [
        json!({"pattern": "spawn($A)", "syntax": "any", "output": "counts"}),
        json!({"pattern": "spawn($A, $B)", "syntax": "any"}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "grep_search", requests));
}

/// An index knows only texts within lines, so it must not exclude this file.
#[test]
fn a_text_over_lines_in_a_pattern_is_found_with_an_index() {
    let tree = Tree::new();
    tree.write("a.lua", "f([[\nbar = 1\n]], 3)\n");
    tree.write("b.lua", "x = 1\n");
    let cache = tempfile::tempdir().unwrap();
    let place = forage_fs::PrivatePlace::below(cache.path()).join("indexes");
    let indexed = Workspace::open(tree.root()).unwrap().keep_indexes(place).unwrap();
    indexed.build_index().unwrap();
    for workspace in [&indexed, &Workspace::open(tree.root()).unwrap()] {
        let request = GrepRequest::new("f([[\nbar = 1\n]], $X)").syntax("lua");
        assert_eq!(workspace.grep(request).unwrap().response.match_count, 3);
    }
}

#[test]
fn invalid_code_pattern_is_refused() {
    let tree = tree();
    let requests = [
        json!({"pattern": "f($A)", "syntax": "klingon"}),
        json!({"pattern": "a(); b()", "syntax": "rust"}),
        json!({"pattern": "foo(", "syntax": "rust"}),
        json!({"pattern": "f($A)", "syntax": "rust", "ignore_case": true}),
    ];
    insta::assert_snapshot!(transcript(&tree.workspace(), "grep_search", requests));
}

/// An answer without matches says which files could not have any.
#[test]
fn files_in_other_languages_are_counted_if_nothing_matches() {
    let tree = tree();
    tree.write("src/c.vue", "<script>absent(1)</script>\n");
    let requests = [
        json!({"pattern": "absent($A)", "syntax": "any"}),
        json!({"pattern": "absent($A)", "syntax": "any", "file_pattern": "*.vue"}),
        json!({"pattern": "absent($A)", "syntax": "rust"}),
        json!({"pattern": "spawn($A)", "syntax": "any"}),
        json!({"pattern": "absent($A)", "syntax": "any", "path": "src/a.rs"}),
        json!({"pattern": "foo(", "syntax": "any", "path": "src/b.py"}),
    ];
    insta::assert_snapshot!(transcript(&tree.workspace(), "grep_search", requests));
}
