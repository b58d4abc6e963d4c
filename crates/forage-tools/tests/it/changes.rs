//! Searches and listings that are limited to changed files.

use forage_fuzz::peers;
use forage_tools::{ErrorCode, Workspace};
use serde_json::{Value, json};

use super::support::{Tree, answer, call, line_with, transcript};

fn git(tree: &Tree, arguments: &[&str]) {
    let output = peers::git(tree.root()).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}");
}

/// Creates a repository with two commits, a branch that was created in between, and a changed working tree.
fn repository() -> Tree {
    let tree = Tree::new();
    git(&tree, &["init", "-q", "-b", "main"]);
    tree.write("src/one.rs", "fn one() {\n    needle();\n}\n\nfn old() {}\n");
    tree.write("src/two.rs", "fn two() {\n    needle();\n}\n");
    tree.write("gone.rs", "fn gone() {}\n");
    tree.write(".gitignore", "*.log\n");
    for number in 0..3 {
        tree.write("docs/one.md", format!("Needle {number}.\n"));
        tree.write("src/one.rs", format!("fn one() {{\n    needle({number});\n}}\n\nfn old() {{}}\n"));
        git(&tree, &["add", "-A"]);
        git(&tree, &["commit", "-q", "-m", "Change"]);
    }
    git(&tree, &["checkout", "-q", "-b", "feature"]);
    tree.write("src/two.rs", "fn two() {\n    needle(2);\n}\n");
    git(&tree, &["commit", "-q", "-a", "-m", "Feature"]);
    tree.write("src/one.rs", "fn one() {\n    needle(7);\n}\n\nfn new() {}\n");
    tree.write(".hidden/new.rs", "needle();\n");
    tree.write("debug.log", "needle\n");
    std::fs::remove_file(tree.root().join("gone.rs")).unwrap();
    tree
}

fn files(workspace: &Workspace, tool: &str, request: Value) -> Vec<String> {
    let records = answer(workspace, tool, request).records().clone();
    let files = records["files"].as_array().or(records["entries"].as_array()).unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn changed_files_are_the_scope_of_a_search() {
    let tree = repository();
    let workspace = tree.workspace();
    let grep =
        |changed: &str| files(&workspace, "grep_search", json!({ "pattern": "needle", "changed": changed }));
    for uncommitted in ["HEAD", "working tree", "feature"] {
        assert_eq!(grep(uncommitted), [".hidden/new.rs", "src/one.rs"], "{uncommitted}");
    }
    assert_eq!(grep("main..."), ["src/two.rs"]);
    assert_eq!(grep("main..feature"), ["src/two.rs"]);
    assert_eq!(grep("main"), [".hidden/new.rs", "src/one.rs", "src/two.rs"]);
    assert_eq!(grep(""), ["src/one.rs", "src/two.rs"]);
    let uses = json!({ "pattern": "needle", "output": "uses", "changed": "main..." });
    assert_eq!(files(&workspace, "grep_search", uses), ["src/two.rs"]);
    let below = json!({ "pattern": "needle", "path": "src", "file_pattern": "*.rs", "changed": "main" });
    assert_eq!(files(&workspace, "grep_search", below), ["src/one.rs", "src/two.rs"]);
    let ranked = json!({ "query": "needle", "changed": "main...", "code_tokens": 0 });
    assert_eq!(files(&workspace, "search_index", ranked), ["src/two.rs"]);
    let named = json!({ "name": "*.rs", "changed": "main" });
    assert_eq!(files(&workspace, "list_directory", named), [".hidden/new.rs", "src/one.rs", "src/two.rs"]);
}

#[test]
fn changed_files_are_searched_as_they_are_now() {
    let tree = repository();
    let workspace = tree.workspace();
    let grep = || {
        files(&workspace, "grep_search", json!({ "pattern": "needle", "output": "uses", "changed": "HEAD" }))
    };
    assert_eq!(grep(), [".hidden/new.rs", "src/one.rs"]);
    // A commit changes the scope without changing a file.
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "All"]);
    assert!(grep().is_empty());
    insta::assert_snapshot!(
        answer(&workspace, "grep_search", json!({ "pattern": "needle", "changed": "HEAD" })).text
    );
}

/// Regression test: files of a range that the working tree lacks were left out without a note.
#[test]
fn changed_files_that_are_not_there_are_counted() {
    let tree = repository();
    git(&tree, &["add", "-A"]);
    let module = format!("160000,{},module", "1".repeat(40));
    git(&tree, &["update-index", "--add", "--cacheinfo", &module]);
    git(&tree, &["commit", "-q", "-m", "Module"]);
    git(&tree, &["mv", "src/one.rs", "src/renamed.rs"]);
    git(&tree, &["commit", "-q", "-m", "Rename"]);
    let workspace = tree.workspace();
    let requests =
        ["HEAD~2..HEAD~1", "HEAD~1..HEAD"].map(|range| json!({ "pattern": "needle", "changed": range }));
    insta::assert_snapshot!(transcript(&workspace, "grep_search", requests));
}

#[test]
fn a_change_set_names_its_definitions_and_companions() {
    let tree = repository();
    let requests = [json!({ "changed": "HEAD" }), json!({ "path": "src", "changed": "main..." })];
    insta::assert_snapshot!(transcript(&tree.workspace(), "list_directory", requests));
}

/// Regression test: a file that was moved out of a directory was no change of it.
#[test]
fn files_moved_out_of_a_directory_have_changed_there() {
    let tree = repository();
    git(&tree, &["mv", "src/two.rs", "docs/two.rs"]);
    git(&tree, &["commit", "-q", "-m", "Move"]);
    let requests = ["src", "docs"].map(|path| json!({ "path": path, "changed": "HEAD~1..HEAD" }));
    insta::assert_snapshot!(transcript(&tree.workspace(), "list_directory", requests));
}

#[test]
fn ranges_that_name_nothing_are_refused() {
    let tree = repository();
    let requests = [
        json!({ "pattern": "x", "changed": "nowhere..." }),
        json!({ "pattern": "x", "changed": "HEAD", "path": "src/two.rs" }),
    ];
    for request in requests.clone() {
        let error = call(&tree.workspace(), "grep_search", request).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Argument);
    }
    let refused = transcript(&tree.workspace(), "grep_search", requests);
    let without = transcript(&Tree::new().workspace(), "list_directory", [json!({ "changed": "HEAD" })]);
    insta::assert_snapshot!([refused, without].join("\n"));
}

/// If a secret file has changed, we name it, but don't read any of it.
#[test]
fn changed_secret_files_are_not_opened() {
    let tree = repository();
    tree.write(".env", "PASSWORD=needle\n");
    let workspace = tree.workspace();
    let text = answer(&workspace, "grep_search", json!({ "pattern": "PASSWORD", "changed": "HEAD" })).text;
    insta::assert_snapshot!(text);
    let text = answer(&workspace, "list_directory", json!({ "changed": "HEAD" })).text;
    assert_eq!(line_with(&text, ".env"), "? .env");
}

fn output(tree: &Tree, arguments: &[&str]) -> String {
    String::from_utf8(peers::git(tree.root()).args(arguments).output().unwrap().stdout).unwrap()
}

#[test]
fn another_revision_is_searched_as_git_greps_it() {
    let tree = repository();
    git(&tree, &["gc", "-q"]);
    let workspace = tree.workspace();
    for (place, arguments) in [
        ("ref:main", &["main"][..]),
        ("HEAD~1:", &["HEAD~1"]),
        ("HEAD~3:src", &["HEAD~3", "--", "src"]),
        ("feature:src/two.rs", &["feature", "--", "src/two.rs"]),
        ("ref:HEAD~2:docs", &["HEAD~2", "--", "docs"]),
    ] {
        let request = json!({ "pattern": "eedle", "path": place, "context_lines": 0 });
        let records = answer(&workspace, "grep_search", request).records().clone();
        let mut lines = Vec::new();
        for file in records["files"].as_array().unwrap() {
            for line in file["lines"].as_array().unwrap() {
                let (path, text) = (file["path"].as_str().unwrap(), line["text"].as_str().unwrap());
                lines.push(format!("{path}:{}:{text}", line["line_number"]));
            }
        }
        lines.sort();
        let expected = output(&tree, &[&["grep", "-n", "eedle"][..], arguments].concat());
        let mut expected: Vec<&str> = expected.lines().collect();
        expected.sort();
        assert_eq!(lines, expected, "{place}");
        assert!(!lines.is_empty());
    }
    let globs = json!({ "pattern": "eedle", "path": "ref:main", "file_pattern": "*.md" });
    assert_eq!(files(&workspace, "grep_search", globs), ["main:docs/one.md"]);
    let first = json!({ "pattern": "eedle", "path": "ref:main", "max_results": 1 });
    let first = answer(&workspace, "grep_search", first).records().clone();
    assert_eq!((&first["match_count"], &first["files"][0]["path"]), (&json!(3), &json!("main:docs/one.md")));
    let next =
        json!({ "pattern": "eedle", "path": "ref:main", "max_results": 9, "cursor": first["next_cursor"] });
    assert_eq!(files(&workspace, "grep_search", next), ["main:src/one.rs", "main:src/two.rs"]);
}

#[test]
fn files_of_another_revision_are_read_and_listed() {
    let tree = repository();
    let workspace = tree.workspace();
    let read = answer(&workspace, "read_file", json!({ "path": "main~1:src/one.rs" }));
    let shown = output(&tree, &["show", "main~1:src/one.rs"]);
    assert_eq!(read.records()["lines"], json!(shown.lines().collect::<Vec<_>>()));
    let listed = files(&workspace, "list_directory", json!({ "path": "HEAD:", "name": "*.rs" }));
    assert_eq!(listed, ["HEAD:gone.rs", "HEAD:src/one.rs", "HEAD:src/two.rs"]);
    let replies = [
        ("read_file", json!({ "path": "HEAD:src/one.rs#old" })),
        ("read_file", json!({ "path": "HEAD:src/one.rs:5" })),
        ("read_file", json!({ "path": "HEAD:src/one.rs", "outline": true })),
        ("list_directory", json!({ "path": "ref:HEAD", "recursive": true })),
        ("read_file", json!({ "path": "HEAD:none.rs" })),
        ("read_file", json!({ "path": "ref:nowhere" })),
        ("search_index", json!({ "query": "needle", "path": "ref:HEAD" })),
        ("grep_search", json!({ "pattern": "x", "path": "ref:HEAD", "output": "uses" })),
        ("grep_search", json!({ "pattern": "x", "path": "ref:HEAD", "changed": "HEAD" })),
    ]
    .map(|(tool, request)| transcript(&workspace, tool, [request]));
    insta::assert_snapshot!(replies.join("\n"));
}

/// Regression test: `..` removed the revision with the directory after it, so the working tree was read.
#[test]
#[cfg(unix)]
fn revision_of_a_path_with_a_step_up_is_kept() {
    let tree = repository();
    let workspace = tree.workspace();
    tree.write("docs/one.md", "Not committed.\n");
    let read =
        |path: &str| answer(&workspace, "read_file", json!({ "path": path })).records()["lines"].clone();
    for path in ["HEAD:src/../docs/one.md", "ref:HEAD:src/../docs/one.md"] {
        assert_eq!(read(path), json!(["Needle 2."]), "{path}");
    }
    // This is a path of the working tree.
    tree.write("HEAD:src/a.md", "Here.\n");
    assert_eq!(read("HEAD:src/../docs/one.md"), json!(["Not committed."]));
}

/// Regression test: a revision that can't be resolved was reported as a path that does not exist.
#[test]
fn problem_of_a_revision_is_not_a_missing_path() {
    let tree = repository();
    git(&tree, &["branch", "v"]);
    let workspace = tree.workspace();
    let paths = [
        "HEAD~99:src/one.rs",
        "HEAD@{1}:src/one.rs",
        "0123456789012345678901234567890123456789:src/one.rs",
        "ref:",
        "ref::/Change",
        "nowhere:src/one.rs",
        "v:src/two.rs",
    ];
    insta::assert_snapshot!(transcript(&workspace, "read_file", paths.map(|path| json!({ "path": path }))));
}

/// Regression test: a listing left them out, and reading one spoke of a pipe, a socket or a device.
#[test]
#[cfg(unix)]
fn links_and_submodules_of_another_revision_are_named() {
    let tree = repository();
    tree.link("src", "linked");
    git(&tree, &["add", "-A"]);
    let module = format!("160000,{},module", "1".repeat(40));
    git(&tree, &["update-index", "--add", "--cacheinfo", &module]);
    git(&tree, &["commit", "-q", "-m", "Link and module"]);
    let workspace = tree.workspace();
    let text = answer(&workspace, "list_directory", json!({ "path": "ref:HEAD" })).text;
    let requests = ["HEAD:linked", "HEAD:module", "HEAD:module/src/a.rs"].map(|path| json!({ "path": path }));
    let history = answer(&workspace, "search_history", json!({ "path": "module/src/a.rs" })).text;
    let replies = [
        text,
        transcript(&workspace, "read_file", requests.clone()),
        transcript(&workspace, "list_directory", requests),
        line_with(&history, "is a submodule").to_owned(),
    ];
    insta::assert_snapshot!(replies.join("\n"));
}

/// Regression test: definitions of such a file were parsed without any limit at another revision.
#[test]
fn file_with_too_many_lines_is_refused_at_any_revision() {
    let tree = repository();
    tree.write("long.rs", format!("fn long() {{}}\n{}", "\n".repeat(1_000_001)));
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "Long"]);
    let workspace = tree.workspace();
    let requests = ["long.rs", "HEAD:long.rs"]
        .map(|path| [json!({ "path": path, "outline": true }), json!({ "path": path, "symbol": "long" })]);
    insta::assert_snapshot!(transcript(&workspace, "read_file", requests.concat()));
}

/// Regression test: every definition of such a file was reported as added.
#[test]
fn definitions_of_an_unreadable_version_are_not_compared() {
    let tree = repository();
    git(&tree, &["add", "-A"]);
    tree.write("large.rs", format!("fn large() {{}}\n{}", "// text\n".repeat(600_000)));
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "Large"]);
    tree.write("large.rs", "fn large() {}\n");
    insta::assert_snapshot!(answer(&tree.workspace(), "list_directory", json!({ "changed": "HEAD" })).text);
}

/// Regression test: another revision had an own search for names, and said `at least` of a complete list.
#[test]
fn names_are_found_alike_at_any_revision() {
    let tree = repository();
    for number in 0..250 {
        tree.write(format!("src/many/name{number}.txt"), "");
    }
    tree.write("src/[id].rs", "");
    std::fs::remove_dir_all(tree.root().join(".hidden")).unwrap();
    // The working tree is listed without hidden files.
    for hidden in ["debug.log", ".gitignore"] {
        std::fs::remove_file(tree.root().join(hidden)).unwrap();
    }
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "Many"]);
    let workspace = tree.workspace();
    for name in
        ["*.txt", "!*.txt", "name24", "oen.rs", "many", "src/one.rs", "[id].rs", "docs one", "nothing"]
    {
        for path in ["", "src"] {
            let now = answer(&workspace, "list_directory", json!({ "name": name, "path": path }));
            let request = json!({ "name": name, "path": format!("HEAD:{path}") });
            let stored = answer(&workspace, "list_directory", request);
            let of = |answer: &forage_tools::Answer, prefix: &str| {
                let records = answer.records();
                let entries = records["entries"].as_array().unwrap().iter();
                let paths = entries.map(|it| it["path"].as_str().unwrap().replace(prefix, ""));
                let counts = (records["entry_count"].clone(), records["truncated_by"].clone());
                (paths.collect::<Vec<_>>(), counts)
            };
            assert_eq!(of(&now, ""), of(&stored, "HEAD:"), "{name} below {path:?}");
        }
    }
    let text = answer(&workspace, "list_directory", json!({ "name": "*.txt", "path": "HEAD:" })).text;
    let head = "250 names fit `*.txt` in HEAD: (showing 200; narrow the name or the path):";
    assert_eq!(text.lines().next(), Some(head));
}

/// Secret files of another revision are as closed as those of the working tree.
#[test]
fn secret_files_of_another_revision_are_not_opened() {
    let tree = repository();
    tree.write(".env", "PASSWORD=needle\n");
    git(&tree, &["add", "-f", ".env"]);
    git(&tree, &["commit", "-q", "-m", "Secret"]);
    let workspace = tree.workspace();
    let searched =
        transcript(&workspace, "grep_search", [json!({ "pattern": "PASSWORD", "path": "ref:HEAD" })]);
    let read = transcript(&workspace, "read_file", [json!({ "path": "HEAD:.env" })]);
    insta::assert_snapshot!([searched, read].join("\n"));
}
