//! `search_history` beyond its page: equality with git, pages, secrets and confinement.

use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use forage_fuzz::peers;
use forage_tools::Workspace;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{Tree, answer, call, refusal, transcript, workspace_at, workspace_of};

fn subjects(records: &Value) -> Vec<String> {
    let commits = records["commits"].as_array().unwrap();
    commits.iter().map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect()
}

fn repository() -> Tree {
    repository_of(30)
}

fn repository_of(commits: usize) -> Tree {
    let tree = Tree::new();
    for number in 0..commits {
        let function = |name: &str, body: usize| format!("fn {name}() {{\n    call({body});\n}}\n\n");
        let text = [function("first", number / 3), function("second", number / 4), function("third", number)];
        tree.write("src/a.rs", text.concat());
        tree.write("docs/b.md", format!("call({})\n", number / 5));
        tree.commit(&format!("Change {number}"));
    }
    tree
}

/// The subjects of `git log`, one per line.
fn log(tree: &Tree, arguments: &[&str]) -> Vec<String> {
    let log = ["log", "--format=%s", "--no-patch"];
    let output = peers::git(tree.root()).args(log).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn history_pages_equal_git_log() {
    let tree = repository();
    let workspace = tree.workspace();
    for (request, arguments) in [
        (json!({"pattern": "call\\([0-9]\\)"}), &["-Gcall\\([0-9]\\)"][..]),
        (json!({"pattern": "call(3)", "fixed_strings": true}), &["-Scall(3)"]),
        (json!({"pattern": "call", "path": "docs"}), &["-Gcall", "--", "docs"]),
        (json!({"path": "docs"}), &["--", "docs"]),
        (json!({"symbol": "first", "path": "src/a.rs"}), &["-L1,3:src/a.rs"]),
        (json!({"symbol": "second", "path": "src/a.rs"}), &["-L5,7:src/a.rs"]),
        (json!({"pattern": "call", "path": "HEAD~9:docs"}), &["-Gcall", "HEAD~9", "--", "docs"]),
    ] {
        let expected = log(&tree, arguments);
        assert!(expected.len() > 1, "{arguments:?}");
        for size in [1, 4, 500] {
            let mut request = request.clone();
            request["max_results"] = json!(size);
            let mut found = Vec::new();
            loop {
                let records = answer(&workspace, "search_history", request.clone()).records().clone();
                found.extend(subjects(&records));
                assert_eq!(records["truncated"], !records["next_cursor"].is_null(), "{records}");
                assert_eq!(records["complete"], records["next_cursor"].is_null(), "{records}");
                match records["next_cursor"].as_str() {
                    Some(cursor) => request["cursor"] = json!(cursor),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{request}");
        }
    }
}

/// A repository with commits of many lines, of many files and of none, with secrets and long lines.
fn varied_repository() -> Tree {
    let tree = Tree::new();
    let body = |lines: usize| (0..lines).map(|line| format!("    call({line});\n")).collect::<String>();
    tree.write("a.rs", format!("fn first() {{\n{}}}\n", body(230)));
    tree.commit("Import");
    tree.commit(
        "Nothing, but a subject that is as long as it can be, because somebody had much to say about it",
    );
    for number in 0..16 {
        tree.write(format!("many/file{number}.txt"), format!("call(1) {}\n", "long ".repeat(50)));
    }
    tree.commit("Many files");
    tree.write("many/file3.txt", "token = \"ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\" # call(2)\n");
    tree.write("b.txt", body(12));
    tree.commit("A secret");
    tree.git(&["mv", "a.rs", "c.rs"]);
    tree.write("c.rs", format!("fn first() {{\n{}    last();\n}}\n", body(229)));
    tree.commit("Rename");
    tree.write("b.txt", body(3));
    tree.commit("Fewer lines");
    tree
}

/// A name may be ambiguous in an old version of a file only. Its history must not end there.
#[test]
fn history_of_an_ambiguous_name_has_all_definitions() {
    let tree = Tree::new();
    let method = |of: &str, lines: usize| {
        format!("impl {of} {{\n    fn merge(self) {{\n{}    }}\n}}\n", "        step();\n".repeat(lines))
    };
    tree.write("a.rs", method("One", 10));
    tree.commit("First");
    tree.write("a.rs", [method("One", 400), method("Other", 300)].concat());
    tree.commit("Long");
    tree.write("a.rs", [method("One", 3), method("Other", 3)].concat());
    tree.commit("Short");
    let of = |symbol: &str| {
        let request = json!({"symbol": symbol, "path": "a.rs"});
        subjects(answer(&tree.workspace(), "search_history", request).records())
    };
    assert_eq!(of("merge"), ["Short", "Long", "First"]);
    assert_eq!(of("Other::merge"), ["Short", "Long"]);
}

/// Where a line of an answer belongs: a commit, a file of it, a line of that.
type Piece = [String; 3];

/// Collects the pieces of a text.
fn pieces_of_text(text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let (mut commit, mut file) = ("", "");
    for line in text.lines().skip(2).take_while(|line| !line.starts_with('[')) {
        if let Some(line) = line.strip_prefix("    ") {
            pieces.push([commit, file, line].map(str::to_owned));
        } else if let Some(line) = line.strip_prefix("  ") {
            file = line;
            if file != "… continued" {
                pieces.push([commit, file, ""].map(str::to_owned));
            }
        } else if !line.is_empty() {
            commit = line;
            pieces.push([commit, "", ""].map(str::to_owned));
        }
    }
    pieces
}

/// Collects the pieces of records.
fn pieces_of_records(records: &Value) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for commit in records["commits"].as_array().unwrap() {
        let id = commit["id"].to_string();
        pieces.push([id.clone(), String::new(), String::new()]);
        for file in commit["files"].as_array().unwrap() {
            let path = file["path"].to_string();
            pieces.push([id.clone(), path.clone(), String::new()]);
            let lines = file["lines"].as_array().into_iter().flatten();
            pieces.extend(lines.map(|line| [id.clone(), path.clone(), line.to_string()]));
        }
    }
    pieces
}

/// Removes the heads of commits and files that continue on another page.
fn without_repeated(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut seen = std::collections::HashSet::new();
    let is_head = |piece: &Piece| piece[2].is_empty();
    pieces.into_iter().filter(|piece| !is_head(piece) || seen.insert(piece.clone())).collect()
}

/// Collects the pieces of all pages, in the text and in the records.
fn walked(workspace: &Workspace, request: &Value) -> [Vec<Piece>; 2] {
    let [mut of_text, mut of_records] = [Vec::new(), Vec::new()];
    let mut next = request.clone();
    for number in 0.. {
        let page = answer(workspace, "search_history", next.clone());
        let pieces = pieces_of_text(&page.text);
        let leaves = without_repeated(pieces.clone()).iter().filter(|piece| !piece[2].is_empty()).count();
        assert!(page.text.len() <= workspace.limits.text_bytes || leaves <= 2, "{}", page.text);
        of_text.extend(pieces);
        let Some((_, cursor)) = page.text.split_once("cursor=\"") else { break };
        next["cursor"] = json!(cursor.split('"').next().unwrap());
        assert!(number < 1_000, "the pages don't end: {}", page.text);
    }
    next = request.clone();
    loop {
        let records = answer(workspace, "search_history", next.clone()).records().clone();
        of_records.extend(pieces_of_records(&records));
        match records["next_cursor"].as_str() {
            Some(cursor) => next["cursor"] = json!(cursor),
            None => break,
        }
    }
    [of_text, of_records].map(without_repeated)
}

/// Whatever the budget is, all pages together are the whole answer: nothing is lost, nothing comes twice.
#[test]
fn history_pages_of_any_budget_are_the_whole_answer() {
    let tree = varied_repository();
    let requests = [
        json!({}),
        json!({"pattern": "call"}),
        json!({"pattern": "call(1)", "fixed_strings": true}),
        json!({"symbol": "first", "path": "c.rs"}),
        json!({"pattern": "call", "path": "many"}),
        json!({"path": "HEAD~1:b.txt"}),
    ];
    let whole = requests.each_ref().map(|request| {
        let mut workspace = tree.workspace();
        workspace.limits.text_bytes = 1_000_000;
        let page = answer(&workspace, "search_history", request.clone());
        assert!(!page.text.contains("more results"), "{}", page.text);
        [pieces_of_text(&page.text), pieces_of_records(page.records())]
    });
    assert!(whole[1][0].len() > 50 && whole[3][0].len() > 200, "{whole:?}");
    let config = ProptestConfig { cases: 40, ..ProptestConfig::default() };
    proptest!(config, |(number in 0..requests.len(), bytes in 200..3_000_usize, max in 1..9)| {
        let mut workspace = tree.workspace();
    workspace.limits.text_bytes = bytes;
        let mut request = requests[number].clone();
        request["max_results"] = json!(max);
        prop_assert_eq!(&walked(&workspace, &request), &whole[number], "{} in {} bytes", request, bytes);
    });
}

/// A page that ended within a commit goes on there even if a call in between had no time.
#[test]
fn history_without_time_keeps_its_place() {
    let tree = varied_repository();
    let mut workspace = tree.workspace();
    workspace.limits.text_bytes = 400;
    let page = answer(&workspace, "search_history", json!({"symbol": "first", "path": "c.rs"}));
    assert!(page.text.contains(" is cut: the next page has the rest of it]"), "{}", page.text);
    let cursor_of =
        |text: &str| text.split("cursor=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let cursor = cursor_of(&page.text);
    let next = json!({"symbol": "first", "path": "c.rs", "cursor": cursor});
    let mut no_time = tree.workspace();
    no_time.limits.timeout = Duration::ZERO;
    let text = answer(&no_time, "search_history", next).text;
    assert_eq!(cursor_of(&text), cursor, "{text}");
}

/// Commits that are added between two pages belong to neither.
#[test]
fn history_pages_go_on_after_new_commits() {
    let tree = repository_of(12);
    let workspace = tree.workspace();
    for (request, first) in [
        (json!({"path": "docs", "max_results": 2}), ["Change 10", "Change 5"]),
        (json!({"symbol": "third", "path": "src/a.rs", "max_results": 2}), ["Change 11", "Change 10"]),
        (json!({"pattern": "call", "path": "main:docs", "max_results": 2}), ["Change 10", "Change 5"]),
    ] {
        let page = answer(&workspace, "search_history", request.clone()).records().clone();
        assert_eq!(subjects(&page), first);
        let mut next = request.clone();
        next["cursor"] = page["next_cursor"].clone();
        let expected = answer(&workspace, "search_history", next.clone()).records().clone();
        tree.write("docs/b.md", "call(77)\n");
        tree.write("src/a.rs", "fn third() {}\n");
        tree.commit("New");
        assert_eq!(
            subjects(answer(&workspace, "search_history", next.clone()).records()),
            subjects(&expected)
        );
        // Even if the branch no longer has the commit.
        tree.git(&["reset", "-q", "--hard", "HEAD~9"]);
        assert_eq!(
            subjects(answer(&workspace, "search_history", next.clone()).records()),
            subjects(&expected)
        );
        tree.git(&["reset", "-q", "--hard", "HEAD@{2}"]);
        // The cursor is still that of one request.
        for (name, other) in [("path", json!("src")), ("path", json!("HEAD~1:docs")), ("pattern", json!("x"))]
        {
            next[name] = other;
            let refused = refusal(&workspace, "search_history", next.clone());
            assert!(refused.contains("`cursor`") || refused.contains("not both"), "{refused}");
        }
    }
}

/// Regression test: a directory that is gone and has the name of the project was read as the whole project.
#[test]
fn history_of_a_gone_path_called_like_the_project() {
    let tree = Tree::new();
    tree.write("root/a.rs", "fn a() {}\n");
    tree.commit("First");
    std::fs::remove_dir_all(tree.root().join("root")).unwrap();
    tree.write("a.rs", "fn a() {}\n");
    tree.commit("Move");
    tree.write("a.rs", "fn a() {\n    b();\n}\n");
    tree.write("src/c.rs", "fn c() {}\n");
    tree.commit("Edit");
    let workspace = tree.workspace();
    for path in ["root", "root/a.rs"] {
        let mut request = json!({"path": path, "max_results": 1});
        let first = answer(&workspace, "search_history", request.clone()).records().clone();
        assert_eq!(subjects(&first), ["Move"], "{path}");
        request["cursor"] = first["next_cursor"].clone();
        let next = answer(&workspace, "search_history", request).records().clone();
        assert_eq!(
            (subjects(&next), &next["next_cursor"]),
            (vec!["First".to_owned()], &Value::Null),
            "{path}"
        );
    }
    // No commit has these paths, so they begin with the name of the project.
    for request in [json!({"path": "root/src/c.rs"}), json!({"path": "root/a.rs", "symbol": "a"})] {
        let found = answer(&workspace, "search_history", request);
        assert_eq!(subjects(found.records())[0], "Edit");
        assert!(found.text.contains("the path was read as "), "{}", found.text);
    }
}

/// A history that ends at a commit that can't be read has no further page. A cursor would lead back to it for
/// ever.
#[test]
fn history_of_a_damaged_repository_has_a_last_page() {
    let tree = repository_of(6);
    let id = log(&tree, &["-1", "--format=%H", "HEAD~3"]).remove(0);
    std::fs::remove_file(tree.root().join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let mut request = json!({"path": "src", "max_results": 1});
    let first = answer(&tree.workspace(), "search_history", request.clone());
    assert_eq!(subjects(first.records()), ["Change 5"]);
    request["cursor"] = first.records()["next_cursor"].clone();
    let last = answer(&tree.workspace(), "search_history", request);
    assert_eq!(subjects(last.records()), ["Change 4"]);
    assert_eq!((&last.records()["next_cursor"], &last.records()["complete"]), (&Value::Null, &json!(false)));
    insta::assert_snapshot!(last.text);
}

#[test]
fn history_shows_the_line_of_a_submodule() {
    let tree = Tree::new();
    tree.write("a.txt", "a\n");
    tree.commit("First");
    for id in ["1", "2"] {
        let entry = format!("160000,{},module", id.repeat(40));
        tree.git(&["update-index", "--add", "--cacheinfo", &entry]);
        tree.git(&["commit", "-q", "-m", id]);
    }
    let found = answer(&tree.workspace(), "search_history", json!({"pattern": "Subproject"})).text;
    insta::assert_snapshot!(found);
}

/// One of several roots may have no repository. It takes nothing from the others.
#[test]
fn history_of_roots_without_a_repository() {
    let (tree, bare) = (repository(), Tree::new());
    bare.write("a.txt", "a\n");
    let workspace = workspace_of(&[&bare, &tree]);
    let request = json!({"pattern": "call\\(5\\)"});
    let found = answer(&workspace, "search_history", request.clone());
    assert!(found.found && found.text.contains(" Change 25\n"), "{}", found.text);
    assert!(found.text.contains("root has no git repository at its top]"), "{}", found.text);
    assert_eq!(found.truncated_by, Some(forage_tools::Limit::Root));
    // The message names no argument, because none is wrong.
    let refused = refusal(&bare.workspace(), "search_history", request);
    assert!(
        refused.ends_with("root has no git repository at its top") && !refused.contains('`'),
        "{refused}"
    );
}

/// A path that begins with an unknown revision must not look like one that no commit has changed.
#[test]
fn history_refuses_unknown_revisions() {
    let tree = repository();
    let workspace = tree.workspace();
    let requests = [
        json!({"path": "v9:docs"}),
        json!({"path": "HEAD~99:docs"}),
        json!({"path": "v9:src/a.rs", "symbol": "third"}),
        json!({"path": "ref:v9"}),
        json!({"path": "nowhere"}),
        json!({"path": "docs/none.md:12"}),
    ];
    insta::assert_snapshot!(transcript(&workspace, "search_history", requests));
}

/// Definitions that have moved are shown with the file that they come from.
#[test]
fn history_of_a_symbol_names_the_file_before_a_move() {
    let tree = Tree::new();
    let body = "fn moved() {\n    first();\n    second();\n}\n";
    tree.write("a.rs", format!("fn other() {{}}\n\n{body}"));
    tree.commit("First");
    tree.write("a.rs", "fn other() {}\n");
    tree.commit("Remove");
    tree.write("a.rs", format!("fn other() {{}}\n\n{body}"));
    tree.commit("Restore");
    tree.write("a.rs", "fn other() {}\n");
    tree.write("b.rs", format!("//! B\n\n{body}"));
    tree.commit("Move");
    let found = answer(&tree.workspace(), "search_history", json!({"symbol": "moved", "path": "b.rs"}));
    assert_eq!(subjects(found.records()), ["Move", "Restore", "Remove", "First"]);
    insta::assert_snapshot!(found.text);
}

/// Old versions are as closed as files: by name, and line by line.
#[test]
fn secrets_of_the_history_are_not_shown() {
    let tree = Tree::new();
    tree.write(".env", "PASSWORD=hunter2secret\n");
    let key: String = (0..20)
        .map(|number| format!("MIIEowIBAAKCAQEA{}{number:02}Zm9vYmFyYmF6cXV4\n", "Q".repeat(30)))
        .collect();
    let (begin, end) = ("-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----\n");
    tree.write("notes.txt", format!("{begin}{key}{end}"));
    tree.write("open.txt", "token = \"ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\"\n");
    tree.git(&["init", "-q", "-b", "main"]);
    tree.git(&["add", "-f", ".env"]);
    tree.commit("First");
    for name in [".env", "notes.txt", "open.txt"] {
        tree.write(name, "nothing\n");
    }
    tree.commit("Second");
    let workspace = tree.workspace();
    let text = |pattern: &str| answer(&workspace, "search_history", json!({"pattern": pattern})).text;
    insta::assert_snapshot!(text("PASSWORD"));
    // We match the text as it is, but show it without secrets.
    for (pattern, secret) in [("MIIEow", "Zm9vYmFy"), ("token", "ghp_R4nd0m")] {
        let found = text(pattern);
        assert!(
            found.starts_with("2 commits") && found.contains("[redacted:") && !found.contains(secret),
            "{found}"
        );
    }
}

/// The repository of a linked worktree is outside of the root, and so is a path that leads out.
#[test]
fn history_stays_below_the_root() {
    let tree = Tree::new();
    tree.write("a.txt", "needle\n");
    tree.commit("First");
    let worktree = Tree::new();
    let at = worktree.root().join("linked");
    tree.git(&["worktree", "add", "-q", at.to_str().unwrap(), "-b", "other"]);
    let workspace = workspace_at(&at, forage_fs::SecretPolicy::standard(&[]));
    let refused = call(&workspace, "search_history", json!({"pattern": "needle"})).unwrap_err().to_string();
    assert!(refused.contains("outside of the root"), "{refused}");
    // A link to objects that are outside gives nothing of them.
    let objects = tree.root().join(".git/objects");
    let linked = Tree::new();
    linked.git(&["init", "-q", "-b", "main"]);
    std::fs::copy(tree.root().join(".git/refs/heads/main"), linked.root().join(".git/refs/heads/main"))
        .unwrap();
    let found = || call(&linked.workspace(), "search_history", json!({"pattern": "needle"}));
    std::fs::remove_dir_all(linked.root().join(".git/objects")).unwrap();
    linked.link(&objects, ".git/objects");
    assert!(found().is_err(), "{:?}", found());
    // Positive control: without the link, they are found.
    std::fs::remove_file(linked.root().join(".git/objects")).unwrap();
    std::fs::rename(&objects, linked.root().join(".git/objects")).unwrap();
    assert!(found().unwrap().found);
    std::fs::rename(linked.root().join(".git/objects"), &objects).unwrap();
    let refused =
        call(&tree.workspace(), "search_history", json!({"path": "../outside"})).unwrap_err().to_string();
    assert!(refused.contains("outside of the root"), "{refused}");
}

/// A repository in which the second commit breaks `purge_idle`.
fn broken_repository() -> Tree {
    let tree = Tree::new();
    let pool =
        |limit: &str| format!("fn purge_idle(pool: &mut Pool) {{\n    pool.idle.drain(..{limit});\n}}\n");
    tree.write("src/pool.rs", pool("0"));
    tree.write("src/agent.rs", "fn run() {}\n");
    tree.commit("Import");
    tree.git(&["tag", "good"]);
    tree.write("src/pool.rs", pool("pool.max"));
    tree.commit("Purge more connections\n\nReported-by: Jane Doe <jane@x.io>");
    tree.write("docs/pool.md", "The pool drains idle connections.\n");
    tree.commit("docs: describe the pool");
    tree.write("src/agent.rs", "fn run() { send() }\n");
    tree.commit("agent: send");
    tree
}

const TRACE: &str =
    "thread 'main' panicked at src/pool.rs:2:\nrange end index out of range\n   1: purge_idle";

#[test]
fn suspects_of_a_trace() {
    let tree = broken_repository();
    let workspace = tree.workspace();
    let of = |request: Value| answer(&workspace, "search_history", request);
    let found = of(json!({"suspects": TRACE, "since": "good"}));
    let records = found.records();
    assert_eq!(
        subjects(records),
        ["Purge more connections", "agent: send", "docs: describe the pool"],
        "{}",
        found.text
    );
    assert_eq!(
        records["commits"][0]["reason"],
        "changes src/pool.rs, which the failure names; adds `pool`, `idle` at src/pool.rs:2; its subject has `purge`"
    );
    assert_eq!(records["commits"][1]["reason"], "its paths or its message have `src`");
    assert_eq!(
        records["commits"][2]["reason"],
        "adds `pool`, `idle` at docs/pool.md:1; its subject has `pool`"
    );
    assert_eq!((&records["looked_at"], &records["complete"]), (&json!(3), &json!(true)));
    assert_eq!(records["looked_back_to"], "2026-01-03");
    assert_eq!(
        found.text.lines().next(),
        Some("Most likely causes, best first, among 3 commits, looked back to 2026-01-03:")
    );
    assert_eq!(subjects(of(json!({"suspects": TRACE, "since": "good..HEAD~1"})).records()).len(), 2);
    let first = of(json!({"suspects": TRACE, "max_results": 1, "path": "src"}));
    assert_eq!(subjects(first.records()), ["Purge more connections"], "{}", first.text);
    assert!(!found.text.contains("jane"), "{}", found.text);
}

#[test]
fn suspects_without_evidence() {
    let tree = broken_repository();
    let workspace = tree.workspace();
    let found =
        answer(&workspace, "search_history", json!({"suspects": "segmentation fault", "since": "good"}));
    assert_eq!(subjects(found.records()), [""; 0]);
    let text = "Nothing ties a commit to this failure, among 3 commits, looked back to 2026-01-03.";
    assert_eq!(found.text.lines().next(), Some(text));
}

/// If the range is cut, the answer says so.
#[test]
fn suspects_say_where_they_end() {
    let tree = Tree::new();
    tree.git(&["init", "-q", "-b", "main"]);
    let stream: String = (0..305)
        .map(|number| {
            let text = format!("fn drain_pool() {{ step({number}) }}\n");
            let time = 1_700_000_000 + number;
            format!(
                "commit refs/heads/main\ncommitter A B <a@b> {time} +0000\ndata 4\nStep\n\
                 M 100644 inline a.rs\ndata {}\n{text}\n",
                text.len()
            )
        })
        .collect();
    let import = ["fast-import", "--quiet"];
    let mut import = peers::git(tree.root()).args(import).stdin(Stdio::piped()).spawn().unwrap();
    import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(import.wait().unwrap().success());
    let request = json!({"suspects": "drain_pool failed"});
    let found = answer(&tree.workspace(), "search_history", request.clone());
    let records = found.records();
    assert_eq!((&records["looked_at"], &records["complete"]), (&json!(300), &json!(false)));
    assert!(found.text.contains("only the newest 300 commits; `since` sets another range"), "{}", found.text);
    let mut workspace = tree.workspace();
    workspace.limits.timeout = Duration::ZERO;
    let found = answer(&workspace, "search_history", request);
    assert!(found.text.contains("stopped at the time limit"), "{}", found.text);
    assert_eq!(found.records()["complete"], false);
}

#[test]
fn suspects_leave_out_commits_of_the_good_side() {
    let tree = broken_repository();
    tree.git(&["checkout", "-q", "-b", "side", "good"]);
    tree.write("src/pool.rs", "fn purge_idle() {}\n");
    tree.commit("Purge nothing");
    tree.git(&["checkout", "-q", "main"]);
    tree.git(&["merge", "-q", "-s", "ours", "-m", "Merge", "side"]);
    let of = |since: &str| {
        let request = json!({"suspects": TRACE, "since": since});
        subjects(answer(&tree.workspace(), "search_history", request).records())
    };
    assert!(of("good").contains(&"Purge nothing".to_owned()));
    assert_eq!(of("side"), ["Purge more connections", "agent: send", "docs: describe the pool"]);
    assert_eq!(of("HEAD~1"), ["Purge nothing"]);
}

#[test]
fn suspects_refuse_other_arguments() {
    let tree = broken_repository();
    let workspace = tree.workspace();
    for (request, part) in [
        (json!({"suspects": "a trace", "pattern": "a"}), "not several of them"),
        (json!({"since": "good"}), "belongs to `suspects`"),
        (json!({"suspects": "at of"}), "no word to look for"),
        (json!({"suspects": TRACE, "since": "HEAD"}), "no commit is in this range"),
        (json!({"suspects": TRACE, "since": "nowhere"}), "nowhere"),
    ] {
        let text = refusal(&workspace, "search_history", request);
        assert!(text.contains(part), "{text}");
    }
}
