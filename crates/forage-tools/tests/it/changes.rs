//! Searches and listings that are limited to changed files.

use forage_fuzz::peers;
use forage_tools::{ErrorCode, Workspace};
use serde_json::{Value, json};

use super::support::{Tree, answer, call};

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
    let text = answer(&workspace, "grep_search", json!({ "pattern": "needle", "changed": "HEAD" })).text;
    assert!(text.contains("no file has changed (`HEAD`)"), "{text}");
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
    let text = |request: Value| answer(&workspace, "grep_search", request).text;
    let absent = "1 changed file is not in the working tree, so it was not searched";
    let module = "not searched, because it is another repository: 1 changed submodule";
    let found = text(json!({ "pattern": "needle", "changed": "HEAD~2..HEAD~1" }));
    assert!(found.contains(absent) && found.contains(module) && !found.contains("renamed.rs"), "{found}");
    let found = text(json!({ "pattern": "needle", "changed": "HEAD~1..HEAD" }));
    assert!(!found.contains(absent) && !found.contains(module) && found.contains("renamed.rs"), "{found}");
}

#[test]
fn a_change_set_names_its_definitions_and_companions() {
    let tree = repository();
    let text = answer(&tree.workspace(), "list_directory", json!({ "changed": "HEAD" })).text;
    let expected = "3 files changed (`HEAD`):\n\
        D gone.rs\n    removed: fn gone 1\n\
        M src/one.rs\n    added: fn new 5\n    changed: fn one 1-3\n    removed: fn old 5\n\
        ? .hidden/new.rs\n\
        Not changed, though commits usually change them too:\n  docs/one.md (in 3 of 3 commits of src/one.rs)\n";
    assert!(text.starts_with(expected), "{text}");
    let below =
        answer(&tree.workspace(), "list_directory", json!({ "path": "src", "changed": "main..." })).text;
    assert!(
        below.starts_with("1 file changed in src (`main...`):\nM src/two.rs\n    changed: fn two 1-3\n"),
        "{below}"
    );
}

/// Regression test: a file that was moved out of a directory was no change of it.
#[test]
fn files_moved_out_of_a_directory_have_changed_there() {
    let tree = repository();
    git(&tree, &["mv", "src/two.rs", "docs/two.rs"]);
    git(&tree, &["commit", "-q", "-m", "Move"]);
    let workspace = tree.workspace();
    for path in ["src", "docs"] {
        let request = json!({ "path": path, "changed": "HEAD~1..HEAD" });
        let text = answer(&workspace, "list_directory", request).text;
        let expected =
            format!("1 file changed in {path} (`HEAD~1..HEAD`):\nR docs/two.rs (was src/two.rs)\n");
        assert!(text.starts_with(&expected), "{text}");
    }
}

#[test]
fn ranges_that_name_nothing_are_refused() {
    let tree = repository();
    for (request, expected) in [
        (json!({ "pattern": "x", "changed": "nowhere..." }), "there is no branch, tag or commit `nowhere`"),
        (json!({ "pattern": "x", "changed": "HEAD", "path": "src/two.rs" }), "src/two.rs has not changed"),
    ] {
        let error = call(&tree.workspace(), "grep_search", request).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Argument);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let without = Tree::new();
    let error = call(&without.workspace(), "list_directory", json!({ "changed": "HEAD" })).unwrap_err();
    assert!(error.to_string().contains("has no git repository at its top"), "{error}");
}

/// If a secret file has changed, we name it, but don't read any of it.
#[test]
fn changed_secret_files_are_not_opened() {
    let tree = repository();
    tree.write(".env", "PASSWORD=needle\n");
    let workspace = tree.workspace();
    let text = answer(&workspace, "grep_search", json!({ "pattern": "PASSWORD", "changed": "HEAD" })).text;
    assert!(!text.contains("PASSWORD=") && text.contains("that may hold secrets"), "{text}");
    let text = answer(&workspace, "list_directory", json!({ "changed": "HEAD" })).text;
    assert!(text.contains("? .env\n"), "{text}");
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
    let read = |request: Value| answer(&workspace, "read_file", request).text;
    let text = read(json!({ "path": "main~1:src/one.rs" }));
    for line in output(&tree, &["show", "main~1:src/one.rs"]).lines() {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(read(json!({ "path": "HEAD:src/one.rs#old" })).contains("fn old() {}"));
    let text = read(json!({ "path": "HEAD:src/one.rs:5" }));
    assert!(text.contains("fn old() {}") && !text.contains("needle"), "{text}");
    assert!(read(json!({ "path": "HEAD:src/one.rs", "outline": true })).contains("fn old"));
    let listed = files(&workspace, "list_directory", json!({ "path": "HEAD:", "name": "*.rs" }));
    assert_eq!(listed, ["HEAD:gone.rs", "HEAD:src/one.rs", "HEAD:src/two.rs"]);
    let tree_text =
        answer(&workspace, "list_directory", json!({ "path": "ref:HEAD", "recursive": true })).text;
    assert!(tree_text.contains("gone.rs (1 line)") && tree_text.contains("src/\n"), "{tree_text}");
    for (tool, request, expected) in [
        ("read_file", json!({ "path": "HEAD:none.rs" }), "HEAD:none.rs does not exist"),
        ("read_file", json!({ "path": "ref:nowhere" }), "there is no branch, tag or commit `nowhere`"),
        ("search_index", json!({ "query": "needle", "path": "ref:HEAD" }), "only the working tree is ranked"),
        (
            "grep_search",
            json!({ "pattern": "x", "path": "ref:HEAD", "output": "uses" }),
            "uses are found only in the working tree",
        ),
        (
            "grep_search",
            json!({ "pattern": "x", "path": "ref:HEAD", "changed": "HEAD" }),
            "at another revision",
        ),
    ] {
        let error = call(&workspace, tool, request).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// Regression test: `..` removed the revision with the directory after it, so the working tree was read.
#[test]
#[cfg(unix)]
fn revision_of_a_path_with_a_step_up_is_kept() {
    let tree = repository();
    let workspace = tree.workspace();
    tree.write("docs/one.md", "Not committed.\n");
    for path in ["HEAD:src/../docs/one.md", "ref:HEAD:src/../docs/one.md"] {
        let text = answer(&workspace, "read_file", json!({ "path": path })).text;
        assert!(text.contains("Needle 2.") && !text.contains("Not committed."), "{text}");
    }
    // This is a path of the working tree.
    tree.write("HEAD:src/a.md", "Here.\n");
    let text = answer(&workspace, "read_file", json!({ "path": "HEAD:src/../docs/one.md" })).text;
    assert!(text.contains("Not committed."), "{text}");
}

/// Regression test: a revision that can't be resolved was reported as a path that does not exist.
#[test]
fn problem_of_a_revision_is_not_a_missing_path() {
    let tree = repository();
    git(&tree, &["branch", "v"]);
    let workspace = tree.workspace();
    for (path, expected) in [
        ("HEAD~99:src/one.rs", "there is no branch, tag or commit `HEAD~99`"),
        ("HEAD@{1}:src/one.rs", "`HEAD@{1}` has a form that is not supported"),
        ("0123456789012345678901234567890123456789:src/one.rs", "does not have the object 0123"),
        ("ref:", "`ref:` has no revision; give one, as in `ref:main`"),
        ("ref::/Change", "`ref:` has no revision"),
        ("nowhere:src/one.rs", "nowhere:src/one.rs does not exist"),
    ] {
        let error = call(&workspace, "read_file", json!({ "path": path })).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    if cfg!(unix) {
        let text = answer(&workspace, "read_file", json!({ "path": "v:src/two.rs" })).text;
        assert!(text.contains("needle(2)"), "{text}");
    }
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
    assert!(text.contains("linked -> src\n") && text.contains("module/ (a submodule)\n"), "{text}");
    for (path, expected) in [
        ("HEAD:linked", "HEAD:linked is a symbolic link to src; name the file that it leads to"),
        ("HEAD:module", "HEAD:module is a submodule, so its files are in another repository"),
        ("HEAD:module/src/a.rs", "HEAD:module is a submodule, so its files are in another repository"),
    ] {
        for tool in ["read_file", "list_directory"] {
            let error = call(&workspace, tool, json!({ "path": path })).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
    let text = answer(&workspace, "search_history", json!({ "path": "module/src/a.rs" })).text;
    let expected =
        "no commit has module/src/a.rs; module is a submodule, so its history is in another repository";
    assert!(text.contains(expected), "{text}");
}

/// Regression test: definitions of such a file were parsed without any limit at another revision.
#[test]
fn file_with_too_many_lines_is_refused_at_any_revision() {
    let tree = repository();
    tree.write("long.rs", format!("fn long() {{}}\n{}", "\n".repeat(1_000_001)));
    git(&tree, &["add", "-A"]);
    git(&tree, &["commit", "-q", "-m", "Long"]);
    let workspace = tree.workspace();
    let refused = |request: Value| call(&workspace, "read_file", request).unwrap_err().to_string();
    let expected = "it has 1,000,002 lines, over the limit of 1,000,000 for finding definitions";
    for path in ["long.rs", "HEAD:long.rs"] {
        for error in [
            refused(json!({ "path": path, "outline": true })),
            refused(json!({ "path": path, "symbol": "long" })),
        ] {
            assert!(error.contains(expected), "{path}: {error}");
        }
    }
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
    let text = answer(&tree.workspace(), "list_directory", json!({ "changed": "HEAD" })).text;
    assert!(text.contains("M large.rs\n") && !text.contains("fn large"), "{text}");
    assert!(text.contains("the definitions of 1 file were not compared"), "{text}");
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
    assert!(
        text.starts_with("250 names fit `*.txt` in HEAD: (showing 200; narrow the name or the path):\n"),
        "{text}"
    );
}

/// Secret files of another revision are as closed as those of the working tree.
#[test]
fn secret_files_of_another_revision_are_not_opened() {
    let tree = repository();
    tree.write(".env", "PASSWORD=needle\n");
    git(&tree, &["add", "-f", ".env"]);
    git(&tree, &["commit", "-q", "-m", "Secret"]);
    let workspace = tree.workspace();
    let text = answer(&workspace, "grep_search", json!({ "pattern": "PASSWORD", "path": "ref:HEAD" })).text;
    assert!(!text.contains("PASSWORD=") && text.contains("that may hold secrets"), "{text}");
    let error = call(&workspace, "read_file", json!({ "path": "HEAD:.env" })).unwrap_err().to_string();
    assert!(error.contains("secret"), "{error}");
}
