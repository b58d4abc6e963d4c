//! `Search`.

use std::path::PathBuf;
use std::time::Duration;

use forage_tools::EngineSetting;
use serde_json::json;

use super::tree::shop;
use super::{Page, cancelled, excluding, slow, with};
use crate::engines::fake;
use crate::support::{Tree, with_engine};

pub(super) fn page() -> Page {
    let tree = shop();
    let workspace = tree.workspace();
    let mut page = Page::new("Search");

    page.chapter("Found");
    page.states(
        &workspace,
        [
            ("in path order", json!({"pattern": "retry"})),
            ("with lines of context", json!({"pattern": "twice|pay", "context": 1})),
            ("plain text", json!({"pattern": "retry(", "fixed_strings": true})),
            ("whole words", json!({"pattern": "cart", "word_regexp": true})),
            ("in the case that it is written in", json!({"pattern": "cart", "case": "sensitive"})),
            ("globs bring ignored files back", json!({"pattern": "retry", "glob": ["*.log"]})),
            ("hidden files", json!({"pattern": "only_in", "hidden": true})),
            ("ignored files", json!({"pattern": "only_in", "no_ignore": true})),
            ("links are followed", json!({"pattern": "twice", "follow": true})),
            ("with edits", json!({"pattern": "checkuot", "fuzzy": 2})),
            ("the fewest edits first", json!({"pattern": "with_retires", "fuzzy": 2, "best_first": true})),
            ("a secret is hidden", json!({"pattern": "token"})),
            ("a line that is too long", json!({"pattern": "retryLater"})),
            ("a name that is not UTF-8", json!({"pattern": "caf"})),
        ],
    );
    page.records("with its records", &workspace, json!({"pattern": "checkuot", "fuzzy": 2, "context": 1}));

    page.chapter("Nothing found");
    page.states(
        &workspace,
        [
            ("nowhere", json!({"pattern": "absent"})),
            ("in a directory", json!({"pattern": "absent", "path": "src"})),
            ("in ignored files alone", json!({"pattern": "only_in_build"})),
            ("in a hidden file alone", json!({"pattern": "only_in_hidden"})),
            ("everything was searched", json!({"pattern": "absent", "hidden": true, "no_ignore": true})),
            ("no file fits", json!({"pattern": "retry", "glob": ["*.java"]})),
        ],
    );
    let excluding = excluding(&workspace, "!web");
    page.state("in files that the configuration leaves out", &excluding, json!({"pattern": "checkout"}));

    page.chapter("How the request was read");
    page.states(
        &workspace,
        [
            (
                "numbers out of their ranges",
                json!({"pattern": "mug", "context": 99, "fuzzy": 9, "timeout_ms": 1}),
            ),
            ("best_first without fuzzy", json!({"pattern": "mug", "best_first": true})),
            ("a path with globs", json!({"pattern": "mug", "path": "docs/*.csv"})),
            (
                "names of other tools",
                json!({"query": "Mug", "-i": true, "exclude": "web", "isRegexp": false}),
            ),
        ],
    );

    page.chapter("Limits");
    let mut request = json!({"pattern": "backoff", "max_results": 1});
    let first = page.state("the first page", &workspace, request.clone());
    request["cursor"] = first.clone();
    page.state("the second", &workspace, request.clone());
    let best = json!({"pattern": "with_retires", "fuzzy": 2, "best_first": true, "max_results": 1});
    page.state("a page of the best", &workspace, best);
    std::fs::write(tree.root().join("src/retry.rs"), "fn nothing() {}\n").unwrap();
    page.state("nothing is left behind the cursor", &workspace, request);
    for (what, bytes) in [("no room for context", 1_350), ("for lines", 700), ("for files", 540)] {
        let few = with(&workspace, |workspace| workspace.limits.text_bytes = bytes);
        page.state(&format!("a long answer: {what}"), &few, json!({"pattern": "retry", "context": 1}));
    }
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time for anything", &no_time, json!({"pattern": "retry"}));
    let (_slow, workspace_of_slow, pattern) = slow();
    page.in_time("not enough time", &workspace_of_slow, json!({"pattern": pattern}), |text| {
        text.contains("time limit")
    });
    page.state("cancelled", &cancelled(&workspace), json!({"pattern": "retry"}));
    let large = Tree::new();
    large.write("rows.txt", format!("row\n{}", format!("{}\n", "x".repeat(3_000)).repeat(100)).repeat(60));
    let few = with(&large.workspace(), |workspace| workspace.limits.text_bytes = 2_000);
    page.state(
        "more lines of one file than are held",
        &few,
        json!({"pattern": "row", "context": 50, "max_results": 100_000}),
    );

    page.chapter("External engines");
    let engines = Tree::new();
    engines.write("a.txt", "open\nretry\nclose\n");
    let engine = |name: &str, script: &str| {
        let program: PathBuf = fake(&engines, name, script);
        with_engine(engines.workspace(), &[&program])
    };
    let fails = "echo 'out of memory' >&2; exit 2";
    page.state("it fails before anything was found", &engine("rg", fails), json!({"pattern": "retry"}));
    let begins = format!("echo 3:x; {fails}");
    page.state("it fails on the way", &engine("rg", &begins), json!({"pattern": "retry"}));
    page.state("it finds nothing", &engine("rg", "exit 1"), json!({"pattern": "absent"}));
    page.state(
        "it takes too long",
        &engine("rg", "sleep 1000"),
        json!({"pattern": "retry", "timeout_ms": 100}),
    );
    let missing = with(&workspace, |workspace| {
        let missing = vec!["ugrep is not installed".to_owned(), "rg is not installed".to_owned()];
        workspace.search.engine = EngineSetting::External { programs: Vec::new(), missing };
    });
    page.state("none is there", &missing, json!({"pattern": "retry"}));

    page.chapter("Errors");
    page.states(
        &workspace,
        [
            ("an empty pattern", json!({"pattern": ""})),
            ("a text in place of a pattern", json!({"pattern": "retry("})),
            ("no valid pattern", json!({"pattern": "(retry|again"})),
            ("look-around", json!({"pattern": "foo(?=bar)"})),
            ("a backreference", json!({"pattern": r"(a)\1"})),
            ("too many edits for so short a pattern", json!({"pattern": "ab", "fuzzy": 2})),
            ("too large for edits", json!({"pattern": "a".repeat(10_000), "fuzzy": 4})),
            ("a case that is none", json!({"pattern": "a", "case": "upper"})),
            ("nothing is there", json!({"pattern": "a", "path": "nowhere"})),
            ("outside of the root", json!({"pattern": "a", "path": "/etc"})),
            ("a glob that can't be read", json!({"pattern": "a", "glob": ["["]})),
            ("globs in path and beside it", json!({"pattern": "a", "path": "*.md", "glob": ["*.rs"]})),
            ("a path with globs that nothing fits", json!({"pattern": "a", "path": "docs/*.java"})),
            ("a cursor of another request", json!({"pattern": "a", "cursor": first})),
            ("no pattern", json!({})),
        ],
    );
    page
}
