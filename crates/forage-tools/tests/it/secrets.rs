//! T9, T10: files whose names suggest secrets must stay closed, whatever leads to them.

use std::fs;

use forage_base::Hint;
use forage_fs::{RelPath, SecretPolicy};
use serde_json::json;

use crate::support::{CANARY, NEEDLE, Tree, answer, assert_sealed, leaking, refusal, secret_text, skipped};

fn denied(name: &[u8]) -> bool {
    let path = RelPath::from_bytes(name, &RelPath::root()).unwrap();
    SecretPolicy::standard(&[]).denies(&path).is_some()
}

/// T9 (CVE-2025-59944): spellings that some file system takes for the same file.
#[test]
fn no_spelling_of_a_secret_name_is_open() {
    for name in [
        ".env",
        ".ENV",
        ".Env",
        ".env.",
        ".env..",
        ".env ",
        ".ENV. .",
        ".env.local",
        ".env-prod",
        ".ENV.Production.",
        "id_rsa",
        "ID_RSA",
        "Id_Rsa.",
        "deep/down/id_ed25519 ",
        "server.pem",
        "Server.PEM.",
        "x.P12 ",
        "tls.Key",
        ".NPMRC",
        ".NetRC.",
        ".ssh/config",
        ".SSH/x",
        ".ssh./x",
        ".Aws/Credentials",
        ".aws /credentials.",
        "a/.kube/config",
        ".Docker/Config.JSON",
        ".GnuPG/a/b/c",
        "prod.TFSTATE",
        "prod.tfstate.backup",
    ] {
        assert!(denied(name.as_bytes()), "{name} is open");
    }
    assert!(denied(b"\xff/.env") && denied(b"caf\xe9/id_rsa") && denied(b".env.\xff"));
    for name in
        [".env.example", "environment", "pem.rs", "keys.txt", "id_rsa.pub", ".envoy", "a.env.rs", "..."]
    {
        assert!(!denied(name.as_bytes()), "{name} is closed");
    }
}

/// T9 (CVE-2014-9390): letters that fold to ASCII ones, and characters that HFS+ ignores.
#[test]
fn no_letter_that_folds_to_ascii_opens_a_secret_name() {
    for name in
        [".\u{17f}sh/x", "id_r\u{17f}a", "server.\u{212a}ey", ".e\u{200c}nv", "\u{feff}.env", ".en\u{200d}v"]
    {
        assert!(denied(name.as_bytes()), "{} is open", name.escape_unicode());
    }
}

/// T10 (CVE-2026-25724): every tool, and every way to the file.
#[test]
fn secrets_are_closed_to_every_tool() {
    let tree = Tree::new();
    let names = [
        ".env",
        "config/.env.production",
        "keys/id_rsa",
        ".ssh/known",
        "deep/er/server.pem",
        "SUB/.ENV.Local",
    ];
    for name in names {
        tree.write(name, secret_text());
    }
    tree.write("notes.md", format!("{NEEDLE} in the open\n"));
    tree.link(".env", "notes.txt");
    tree.link(tree.root().join("keys/id_rsa"), "absolute.txt");
    tree.link("notes.txt", "chain.txt");
    tree.link(".ssh", "harmless");
    tree.link("keys", "more");
    let root = tree.root().to_str().unwrap().to_owned();
    let mut paths: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    paths.extend(
        ["notes.txt", "absolute.txt", "chain.txt", "harmless/known", "more/id_rsa"].map(str::to_owned),
    );
    paths.extend([format!("{root}/.env"), "./keys/../.env".to_owned(), "\"\\x2eenv\"".to_owned()]);
    let (closed, open) = (tree.workspace(), tree.workspace_with(SecretPolicy::off()));
    for path in &paths {
        // Positive control: without the policy, the same calls show the file.
        let tools = leaking(&open, path);
        assert!(tools.contains(&"read_file") && tools.contains(&"grep_search"), "{path}: {tools:?}");
        for one in assert_sealed(&closed, path) {
            if ["read_file", "grep_search", "Search"].contains(&one.tool) {
                let error = one.result.unwrap_err();
                assert!(error.to_string().contains("looks like a secrets file"), "{path}: {error}");
                assert_eq!(error.hint(), Some(Hint::AllowSecret), "{path}: {error}");
            }
        }
    }
    for directory in [".", "config", "keys", ".ssh", "deep", "SUB", "harmless", "more"] {
        assert!(leaking(&open, directory).contains(&"grep_search"), "{directory}");
        assert_sealed(&closed, directory);
    }
    let walked = answer(&closed, "grep_search", json!({"pattern": NEEDLE, "include_ignored": true}));
    assert_eq!((skipped(&walked, "denied"), walked.records()["match_count"].as_u64()), (6, Some(1)));
    insta::assert_snapshot!(walked.text);
    // A name with a capital letter is not hidden here, so even a plain search comes across these two.
    let keyword = answer(&closed, "keyword_search", json!({"query": "q", "search_terms": [NEEDLE]}));
    assert_eq!(skipped(&keyword, "denied"), 2);
    let listed = answer(&closed, "list_directory", json!({"max_depth": 5, "include_ignored": true}));
    assert_eq!(listed.text.matches("not read: may hold secrets").count(), 6, "{}", listed.text);
}

/// The rules apply to a file's current name, and the user can add exceptions.
#[test]
fn the_user_opens_a_file_by_name() {
    let tree = Tree::new();
    tree.write("tests/ca.pem", secret_text());
    tree.write("web/ca.pem", secret_text());
    let workspace = tree.workspace_with(SecretPolicy::standard(&["tests/ca.pem".to_owned()]));
    let read =
        |path: &str| answer(&workspace, "read_file", json!({"path": path})).records()["lines"][1].clone();
    assert_eq!(read("tests/ca.pem"), format!("{NEEDLE} {CANARY}"));
    insta::assert_snapshot!(refusal(&workspace, "read_file", json!({"path": "web/ca.pem"})));
    fs::rename(tree.root().join("web/ca.pem"), tree.root().join("web/ca.txt")).unwrap();
    assert_eq!(read("web/ca.txt"), format!("{NEEDLE} {CANARY}"));
}
