//! `search_history` beyond its page: equality with git, pages, secrets and confinement.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Tree, answer, call};

fn subjects(records: &Value) -> Vec<String> {
    let commits = records["commits"].as_array().unwrap();
    commits.iter().map(|commit| commit["subject"].as_str().unwrap().to_owned()).collect()
}

fn repository() -> Tree {
    let tree = Tree::new();
    for number in 0..30 {
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
    let mut command = Command::new("git");
    command.current_dir(tree.root()).args(["log", "--format=%s", "--no-patch"]).args(arguments);
    let output = command.env_clear().env("PATH", std::env::var("PATH").unwrap()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn history_pages_equal_git_log() {
    let tree = repository();
    let context = tree.context();
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
                let records = answer(&context, "search_history", request.clone()).records().clone();
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
    let context = tree.context();
    let text = |pattern: &str| answer(&context, "search_history", json!({"pattern": pattern})).text;
    let found = text("PASSWORD");
    assert!(
        found.starts_with("No commit") && found.contains("not searched, because they may hold secrets: .env"),
        "{found}"
    );
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
    let context = crate::support::context_at(&at, forage_fs::SecretPolicy::standard(&[]));
    let refused = call(&context, "search_history", json!({"pattern": "needle"})).unwrap_err().to_string();
    assert!(refused.contains("outside of the root"), "{refused}");
    let refused =
        call(&tree.context(), "search_history", json!({"path": "../outside"})).unwrap_err().to_string();
    assert!(refused.contains("outside of the root"), "{refused}");
}
