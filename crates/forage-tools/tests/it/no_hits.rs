//! What an answer without hits says that the caller may have meant.

use serde_json::{Value, json};

use crate::support::{Tree, answer};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("src/retry.rs", "const RETRY_LIMIT: u8 = 3;\nfn retryLimit() {}\nfn retry_limit() {}\n");
    tree.write("src/app.ts", "Start();\nuseThing();\nlet a = m[\"key\"];\n$(user)\n");
    tree.write("src/main.go", "func main() {\n\treturn\n}\n");
    tree.write("windows.txt", "needle\r\nother\r\n");
    tree.write("kernel.cu", "void saxpy_kernel() {}\n");
    tree
}

#[track_caller]
fn check(tool: &str, request: Value, told: &[&str]) {
    let found = answer(&tree().context(), tool, request);
    assert!(!found.found && found.text.len() < 1_200, "{}", found.text);
    for told in told {
        assert!(found.text.contains(told), "{told:?} is not in {}", found.text);
    }
}

#[test]
fn other_spellings_are_counted() {
    let told = ["in other case or spelling: 3 lines in 1 file, such as src/retry.rs:1", "`RETRY_LIMIT` (1)"];
    check("grep_search", json!({"pattern": "RetryLimit"}), &told);
    check("Search", json!({"pattern": "RetryLimit", "case": "sensitive"}), &told);
    check("grep_search", json!({"pattern": "RetryLimit", "output": "uses"}), &told);
    check(
        "grep_search",
        json!({"pattern": "USETHING"}),
        &["in other case: 1 line in 1 file, such as src/app.ts:2"],
    );
    check(
        "grep_search",
        json!({"pattern": "useThnig"}),
        &["within 2 edits: 1 line in 1 file", "`useThing` (1)"],
    );
    // A token that no file has may be a part of another.
    check(
        "grep_search",
        json!({"pattern": "saxpy", "output": "uses"}),
        &["as a part of longer words: 1 line"],
    );
}

#[test]
fn what_is_written_as_no_regex_is_read_so() {
    check(
        "grep_search",
        json!({"pattern": r"Start\|useThing"}),
        &[r"with `|` in place of `\|`: 2 lines in 1 file"],
    );
    check(
        "grep_search",
        json!({"pattern": "$(user)"}),
        &["as plain text: 1 line in 1 file, such as src/app.ts:4"],
    );
    check("grep_search", json!({"pattern": "m[\"key\"]"}), &["as plain text: 1 line in 1 file"]);
    check(
        "grep_search",
        json!({"pattern": "needle$"}),
        &["before CR LF: 1 line in 1 file, such as windows.txt:1"],
    );
    for pattern in [r"(?s)func.*return", r"func[\s\S]*return"] {
        check(
            "grep_search",
            json!({"pattern": pattern}),
            &["across lines, with `multiline`: 2 lines in 1 file"],
        );
    }
}

#[test]
fn what_nothing_comes_near_is_not_there() {
    let found = answer(&tree().context(), "grep_search", json!({"pattern": "zyxwvut"}));
    assert!(!found.text.contains("finds something"), "{}", found.text);
    let hits = answer(&tree().context(), "grep_search", json!({"pattern": "Start"}));
    assert!(!hits.text.contains("finds something"), "{}", hits.text);
}
