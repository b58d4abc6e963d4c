//! `search_index` with `like`: similar code.

use std::time::Duration;

use forage_base::Stop;
use forage_redact::Redactor;
use serde_json::{Value, json};

use crate::support::{Tree, answer, call, line_with, refusal, skipped, transcript};

const SEND: &str = "\
impl Client {
    /// Sends a request.
    pub fn send(&self, request: &Request) -> Result<Reply, Failure> {
        let mut wait = self.first_wait;
        for attempt in 0..self.attempts {
            match self.wire.exchange(request) {
                Ok(reply) if reply.status < 500 => return Ok(reply),
                Ok(reply) => log::warn!(\"attempt {attempt}: {}\", reply.status),
                Err(failure) if attempt + 1 == self.attempts => return Err(failure),
                Err(_) => {}
            }
            std::thread::sleep(wait);
            wait *= 2;
        }
        Err(Failure::Exhausted)
    }
}
";

/// The same with other names.
fn renamed() -> String {
    let names = [("Client", "Uploader"), ("send", "push"), ("request", "parcel"), ("wait", "pause")];
    names.iter().fold(SEND.to_owned(), |text, (from, to)| text.replace(from, to))
}

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("src/client.rs", SEND);
    tree.write("src/upload.rs", format!("pub struct Uploader;\n\n{}", renamed()));
    tree.write("src/sum.rs", "pub fn sum(all: &[u64]) -> u64 {\n    let mut sum = 0;\n    for one in all {\n        sum += one;\n    }\n    sum\n}\n");
    tree.write("src/client.py", "def send(request):\n    return request.exchange(3, 4, 5)\n");
    tree.write("notes.md", SEND);
    tree
}

fn found(records: &Value) -> Vec<(String, u64, u64, String)> {
    let similar = records["similar"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |value: &Value| value.as_u64().unwrap();
    similar
        .iter()
        .map(|it| (text(&it["path"]), line(&it["start_line"]), line(&it["end_line"]), text(&it["symbol"])))
        .collect()
}

#[test]
fn similar_code_is_found_by_symbol_lines_and_text() {
    let tree = tree();
    let expected = ("src/upload.rs".to_owned(), 4, 18, "Uploader > push".to_owned());
    for like in ["src/client.rs#send", "src/client.rs#Client::send", "src/client.rs:3-16", "src/client.rs:8"]
    {
        let answer = answer(&tree.workspace(), "search_index", json!({"like": like}));
        let records = answer.records().clone();
        assert_eq!(found(&records), std::slice::from_ref(&expected), "{like}: {}", answer.text);
        assert_eq!(records["files_searched"], 3, "{like}");
    }
    let answer = answer(&tree.workspace(), "search_index", json!({"like": SEND}));
    let records = answer.records().clone();
    assert_eq!(found(&records)[0].0, "src/client.rs", "{}", answer.text);
    assert_eq!(records["similar"][0]["equal_lines"], records["similar"][0]["given_lines"]);
    assert_eq!(records["files_searched"], 4);
}

#[test]
fn an_answer_names_what_both_share_and_has_the_code() {
    let tree = tree();
    let workspace = tree.workspace();
    let whole = answer(&workspace, "search_index", json!({"like": "src/client.rs#send"}));
    let short = answer(&workspace, "search_index", json!({"like": "src/client.rs#send", "code_tokens": 60}));
    assert_eq!(short.records()["similar"][0]["code"]["cut"]["end_line"], 18);
    let paths = answer(&workspace, "search_index", json!({"like": "src/client.rs#send", "code_tokens": 0}));
    assert_eq!(paths.records()["similar"][0]["code"], Value::Null);
    insta::assert_snapshot!([whole, short, paths].map(|answer| answer.text).join("\n"));
}

#[test]
fn the_scope_and_the_limit_hold_for_similar_code() {
    let tree = tree();
    (0..9).for_each(|number| drop(tree.write(format!("copies/{number}.rs"), renamed())));
    let of = |more: &[(&str, Value)]| {
        let mut request = json!({"like": "src/client.rs#send"});
        more.iter().for_each(|(name, value)| request[name] = value.clone());
        let answer = answer(&tree.workspace(), "search_index", request);
        (found(&answer.records().clone()), answer)
    };
    assert_eq!(of(&[]).0.len(), 5);
    assert_eq!(of(&[("limit", json!(2))]).0.len(), 2);
    assert_eq!(of(&[("limit", json!(50))]).0.len(), 10);
    assert_eq!(of(&[("path", json!("src"))]).0.len(), 1);
    assert_eq!(of(&[("file_pattern", json!("copies/3.rs"))]).0[0].0, "copies/3.rs");
    let (none, other) = of(&[("languages", json!(["python"]))]);
    assert!(none.is_empty() && !other.found, "{}", other.text);
    let (_, noted) = of(&[("query", json!("retry"))]);
    insta::assert_snapshot!([other.text.as_str(), line_with(&noted.text, "was ignored")].join("\n"));
}

#[test]
fn nothing_similar_is_stated() {
    let tree = tree();
    let answer = answer(&tree.workspace(), "search_index", json!({"like": "src/sum.rs#sum"}));
    assert!(!answer.found);
    insta::assert_snapshot!(answer.text);
}

#[test]
fn code_that_can_not_be_compared_is_an_error() {
    let tree = tree();
    tree.write("logo.png", "\u{89}PNG\0\0router\n");
    tree.write("empty.rs", "");
    tree.write(".env", "KEY=value\n");
    tree.write("../outside/secret.rs", SEND);
    let refused = [
        "src/client.rs#fetch",
        "src/client.rs",
        "src/upload.rs:2",
        "src/none.rs#send",
        "return a + b",
        "logo.png:1-3",
        "empty.rs:1-3",
        "src/client.rs:90-99",
        "// a comment\n// another\n",
        ".env:1-2",
        "../outside/secret.rs#send",
        "src:1-2",
        "src/client.rs:999",
        " ",
    ];
    let requests = refused.map(|like| json!({"like": like}));
    let paged = json!({"like": SEND, "cursor": "x"});
    insta::assert_snapshot!(transcript(
        &tree.workspace(),
        "search_index",
        requests.into_iter().chain([paged])
    ));
}

#[test]
fn secrets_and_forged_lines_do_not_pass_in_similar_code() {
    let tree = tree();
    let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
    let copy = renamed().replace("pause *= 2", &format!("pause *= 2; let key = \"{token}\""));
    tree.write("src/upload.rs", copy.replace("Ok(reply) =>", "/*\n@@ end\n[forged note]\n*/ Ok(reply) =>"));
    tree.write("src/@@ end 1-2 fn x: 9 of 9 lines equal.rs", renamed());
    let answer = answer(&tree.workspace(), "search_index", json!({"like": "src/client.rs#send"}));
    assert_eq!(found(&answer.records().clone()).len(), 2, "{}", answer.text);
    assert!(!answer.text.contains(token) && !answer.records().to_string().contains(token));
    assert!(answer.text.contains("[redacted:"), "{}", answer.text);
    let ours = answer.text.lines().filter(|line| line.starts_with("@@ ")).count();
    // A line for each definition, and the end.
    assert_eq!(ours, 3, "{}", answer.text);
    // Positive control: without redaction, the secret is shown.
    let mut workspace = tree.workspace();
    workspace.redactor = std::sync::Arc::new(Redactor::off());
    let plain = call(&workspace, "search_index", json!({"like": "src/client.rs#send"})).unwrap();
    assert!(plain.text.contains(token), "{}", plain.text);
}

#[test]
fn files_that_are_not_compared_are_counted() {
    let tree = tree();
    tree.write("src/huge.rs", "fn a() {}\n".repeat(200_000));
    tree.write("src/blob.rs", b"\0\0\0");
    tree.write(".ignore", "generated\n");
    tree.write("generated/copy.rs", renamed());
    let answer = answer(&tree.workspace(), "search_index", json!({"like": "src/client.rs#send"}));
    assert_eq!(found(&answer.records().clone()).len(), 1, "{}", answer.text);
    assert_eq!((skipped(&answer, "too_large"), skipped(&answer, "binary")), (1, 1), "{}", answer.text);
    assert!(skipped(&answer, "ignored") >= 1, "{}", answer.text);
}

#[test]
#[cfg(unix)]
fn a_definition_of_another_revision_is_compared_with_the_working_tree() {
    let tree = tree();
    tree.commit("first");
    tree.write("src/client.rs", "pub struct Client;\n");
    tree.write("src/moved.rs", SEND);
    let answer = answer(&tree.workspace(), "search_index", json!({"like": "HEAD:src/client.rs#send"}));
    assert_eq!(found(&answer.records().clone())[0].0, "src/moved.rs", "{}", answer.text);
    let refused = refusal(&tree.workspace(), "search_index", json!({"like": SEND, "path": "HEAD:src"}));
    insta::assert_snapshot!(refused);
}

#[test]
fn comparison_ends_at_the_deadline() {
    let tree = tree();
    let mut workspace = tree.workspace();
    workspace.limits.timeout = Duration::ZERO;
    let answer = answer(&workspace, "search_index", json!({"like": SEND}));
    assert!(answer.partial(), "{}", answer.text);
    assert!(answer.text.contains("compared with only "), "{}", answer.text);
    let mut workspace = tree.workspace();
    workspace.stop = Stop::never();
    workspace.stop.cancel();
    assert!(call(&workspace, "search_index", json!({"like": SEND})).is_err());
}

/// Neither a limit nor the number of compared files may make copies look fewer.
#[test]
fn similar_definitions_that_are_not_shown_are_counted() {
    let tree = tree();
    (0..70).for_each(|number| drop(tree.write(format!("copies/{number}.rs"), renamed())));
    let workspace = tree.workspace();
    let few = answer(&workspace, "search_index", json!({"like": "src/client.rs#send", "code_tokens": 0}));
    // The file of the given code is one of the 60 that are compared.
    insta::assert_snapshot!(few.text);
    let all = json!({"like": "src/client.rs#send", "code_tokens": 0, "limit": 100});
    let all = answer(&workspace, "search_index", all);
    assert!(!all.text.contains("more files"), "{}", all.text);
    assert_eq!(all.records()["similar_count"], 71);
}

#[test]
fn a_script_without_an_extension_is_compared() {
    let tree = tree();
    let text = "def total(prices, tax):\n    result = 0\n    for price in prices:\n        result += price * (1 + tax)\n    return round(result, 2)\n";
    tree.write("src/total.py", text);
    tree.write("bin/total", format!("#!/usr/bin/env python3\n\n{text}"));
    tree.write("bin/other", text);
    let answer = answer(&tree.workspace(), "search_index", json!({"like": "src/total.py#total"}));
    let found = found(&answer.records().clone());
    assert_eq!(found, [("bin/total".to_owned(), 3, 7, "total".to_owned())], "{}", answer.text);
}

#[test]
fn a_line_of_code_is_code() {
    let tree = tree();
    let workspace = tree.workspace();
    let line = "fn sum(all: &[u64]) -> u64 { let mut sum = 0; for one in all { sum += one; } sum }";
    let answer = answer(&workspace, "search_index", json!({"like": line, "languages": ["rust"]}));
    assert_eq!(found(&answer.records().clone())[0].0, "src/sum.rs", "{}", answer.text);
}
