//! An answer without hits should suggest other readings of the request.

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
fn check(tool: &str, request: Value, reported: &[&str]) {
    let found = answer(&tree().workspace(), tool, request);
    assert!(!found.found && found.text.len() < 1_200, "{}", found.text);
    for reported in reported {
        assert!(found.text.contains(reported), "{reported:?} is not in {}", found.text);
    }
}

#[test]
fn other_spellings_are_counted() {
    let reported =
        ["in another case or spelling: 3 lines in 1 file, such as src/retry.rs:1", "`RETRY_LIMIT` (1)"];
    check("grep_search", json!({"pattern": "RetryLimit"}), &reported);
    check("Search", json!({"pattern": "RetryLimit", "case": "sensitive"}), &reported);
    check("grep_search", json!({"pattern": "RetryLimit", "output": "uses"}), &reported);
    check(
        "grep_search",
        json!({"pattern": "USETHING"}),
        &["in another case: 1 line in 1 file, such as src/app.ts:2"],
    );
    check(
        "grep_search",
        json!({"pattern": "useThnig"}),
        &["within 2 edits: 1 line in 1 file", "`useThing` (1)"],
    );
    // A token that no file contains may be part of a longer one.
    check("grep_search", json!({"pattern": "saxpy", "output": "uses"}), &["as part of longer words: 1 line"]);
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
    for pattern in [r"(?s)func.*return", r"func[\s\S]*return"] {
        check(
            "grep_search",
            json!({"pattern": pattern}),
            &["across lines, with `multiline`: 2 lines in 1 file"],
        );
    }
}

/// On macOS, names and texts often use decomposed letters, so we try both forms.
#[test]
fn the_other_form_of_letters_is_counted() {
    for (form, other) in [
        ("\u{d559}\u{c810}", "\u{1112}\u{1161}\u{11a8}\u{110c}\u{1165}\u{11b7}"),
        ("cafe\u{301}s", "caf\u{e9}s"),
    ] {
        let tree = Tree::new();
        tree.write("a.txt", format!("{other}\n"));
        for tool in ["grep_search", "Search"] {
            let found = answer(&tree.workspace(), tool, json!({"pattern": form}));
            let reported = "with composed or decomposed letters: 1 line in 1 file, such as a.txt:1";
            assert!(!found.found && found.text.contains(reported), "{}", found.text);
        }
    }
}

#[test]
fn names_are_found_in_either_form_of_letters() {
    let tree = Tree::new();
    tree.write("caf\u{e9}_a.txt", "caf\u{e9} needle\n");
    tree.write("cafe\u{301}_b.txt", "cafe\u{301} needle\n");
    let workspace = tree.workspace();
    for form in ["caf\u{e9}", "cafe\u{301}"] {
        for name in [form.to_owned(), format!("*{form}*")] {
            let listed = answer(&workspace, "list_directory", json!({"name": name}));
            assert_eq!(listed.records()["entry_count"], 2, "{name}: {}", listed.text);
        }
        let pattern = json!({"pattern": "needle", "file_pattern": format!("{form}*.txt")});
        assert_eq!(answer(&workspace, "grep_search", pattern).records()["match_count"], 2, "{form}");
        let ranked = answer(&workspace, "search_index", json!({"query": form})).records().clone();
        assert_eq!(ranked["files"].as_array().unwrap().len(), 2, "{form}: {ranked}");
    }
}

#[test]
fn lines_that_end_with_cr_lf_end_before_it() {
    let tree = tree();
    for (tool, pattern) in [
        ("grep_search", "needle$"),
        ("grep_search", "^(?:needle|nothing)$"),
        ("grep_search", "needle(?!x)$"),
        ("Search", "needle$"),
        ("Search", r"ne+dle\r$"),
    ] {
        let found = answer(&tree.workspace(), tool, json!({"pattern": pattern}));
        assert_eq!(found.records()["match_count"], 1, "{tool} {pattern}: {}", found.text);
    }
    let absent = answer(&tree.workspace(), "grep_search", json!({"pattern": "needl$"}));
    assert!(!absent.found, "{}", absent.text);
}

#[test]
fn dissimilar_names_are_not_suggested() {
    let found = answer(&tree().workspace(), "grep_search", json!({"pattern": "zyxwvut"}));
    assert!(!found.text.contains("The pattern would match"), "{}", found.text);
    let hits = answer(&tree().workspace(), "grep_search", json!({"pattern": "Start"}));
    assert!(!hits.text.contains("The pattern would match"), "{}", hits.text);
}
