//! An answer without hits should suggest other readings of the request.

use serde_json::{Value, json};

use crate::support::{Tree, answer, line_with, transcript};

fn tree() -> Tree {
    let tree = Tree::new();
    tree.write("src/retry.rs", "const RETRY_LIMIT: u8 = 3;\nfn retryLimit() {}\nfn retry_limit() {}\n");
    tree.write("src/app.ts", "Start();\nuseThing();\nlet a = m[\"key\"];\n$(user)\n");
    tree.write("src/main.go", "func main() {\n\treturn\n}\n");
    tree.write("windows.txt", "needle\r\nother\r\n");
    tree.write("kernel.cu", "void saxpy_kernel() {}\n");
    tree
}

/// Searches for something that is not there. Returns the requests and the answers.
fn without_hits<const N: usize>(tool: &str, requests: [Value; N]) -> String {
    let tree = tree();
    let workspace = tree.workspace();
    for request in &requests {
        let found = answer(&workspace, tool, request.clone());
        assert!(!found.found && found.text.len() < 1_200, "{}", found.text);
    }
    transcript(&workspace, tool, requests)
}

#[test]
fn other_spellings_are_counted() {
    let requests = [
        json!({"pattern": "RetryLimit"}),
        json!({"pattern": "RetryLimit", "output": "uses"}),
        json!({"pattern": "USETHING"}),
        json!({"pattern": "useThnig"}),
        // A token that no file contains may be part of a longer one.
        json!({"pattern": "saxpy", "output": "uses"}),
    ];
    let grep = without_hits("grep_search", requests);
    let search = without_hits("Search", [json!({"pattern": "RetryLimit", "case": "sensitive"})]);
    insta::assert_snapshot!([grep, search].join("\n"));
}

#[test]
fn what_is_written_as_no_regex_is_read_so() {
    let patterns = [r"Start\|useThing", "$(user)", "m[\"key\"]", r"(?s)func.*return", r"func[\s\S]*return"];
    insta::assert_snapshot!(without_hits("grep_search", patterns.map(|pattern| json!({"pattern": pattern}))));
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
            assert!(!found.found, "{}", found.text);
            let line = line_with(&found.text, "composed");
            assert_eq!(line, "- with composed or decomposed letters: 1 line in 1 file, such as a.txt:1");
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
