//! `grep_search`.

use std::time::Duration;

use serde_json::json;

use super::tree::shop;
use super::{Page, cancelled, cancelled_later, excluding, slow, with, with_another_root};
use crate::support::Tree;

pub(super) fn page() -> Page {
    let tree = shop();
    let workspace = tree.workspace();
    let mut page = Page::new("grep_search");

    page.chapter("Found");
    page.states(
        &workspace,
        [
            ("in two files, with lines of context", json!({"pattern": "with_retries"})),
            ("without lines of context", json!({"pattern": "with_retries", "context_lines": 0})),
            ("in a directory", json!({"pattern": "retry", "path": "web"})),
            ("in a file", json!({"pattern": "sleep", "path": "src/retry.rs"})),
            ("in files of a kind", json!({"pattern": "retry", "file_pattern": "*.{md,ts}"})),
            ("without regard to case", json!({"pattern": "CARTVIEW", "ignore_case": true})),
            ("more than ten matches, which come without context", json!({"pattern": "retr"})),
            ("ignored and hidden files too", json!({"pattern": "only_in", "include_ignored": true})),
            ("a secret is hidden", json!({"pattern": "host"})),
            ("a line that is too long", json!({"pattern": "retryLater"})),
            (
                "a name that is not UTF-8, by which it is read again",
                json!({"pattern": "caf", "path": "docs"}),
            ),
            ("UTF-16", json!({"pattern": "mug"})),
            ("a link in the path", json!({"pattern": "twice", "path": "docs/latest.md"})),
        ],
    );
    page.records("with its records", &workspace, json!({"pattern": "backoff", "context_lines": 0}));
    page.states(
        &workspace,
        [
            ("files", json!({"pattern": "retry", "output": "files"})),
            ("counts, on two pages", json!({"pattern": "retry", "output": "counts", "max_results": 2})),
            ("uses of a name", json!({"pattern": "with_retries", "output": "uses"})),
            ("code", json!({"pattern": "with_retries($A)", "syntax": "rust", "context_lines": 0})),
            ("code that is no pattern", json!({"pattern": "a(); b()", "syntax": "rust"})),
            ("code of a language without patterns", json!({"pattern": "a($B)", "syntax": "cobol"})),
            (
                "uses of a name behind another",
                json!({"pattern": "retry::backoff", "output": "uses", "-C": 1}),
            ),
            ("uses of a name that is defined nowhere", json!({"pattern": "println", "output": "uses"})),
        ],
    );
    page.records("uses with their records", &workspace, json!({"pattern": "backoff", "output": "uses"}));

    page.chapter("Nothing found");
    page.states(
        &workspace,
        [
            ("nowhere", json!({"pattern": "absent"})),
            ("no file", json!({"pattern": "absent", "output": "files"})),
            ("no use", json!({"pattern": "absent", "output": "uses"})),
            ("no use but in ignored files", json!({"pattern": "only_in_build", "output": "uses"})),
            ("in a directory", json!({"pattern": "absent", "path": "src"})),
            ("in ignored files alone", json!({"pattern": "only_in_(build|log)"})),
            ("in a hidden file alone", json!({"pattern": "only_in_hidden"})),
            ("in a directory of dependencies alone", json!({"pattern": "only_in_modules"})),
            ("in a secrets file alone, of which nothing is said", json!({"pattern": "only_in_env"})),
            ("everything was searched", json!({"pattern": "absent", "include_ignored": true})),
            ("no file fits", json!({"pattern": "retry", "file_pattern": "*.java"})),
            (
                "no file fits one of several globs",
                json!({"pattern": "absent", "file_pattern": "*.java,*.ts"}),
            ),
            ("in an empty directory", json!({"pattern": "retry", "path": "empty"})),
        ],
    );
    let notebooks = Tree::new();
    let cell = r#"{"cell_type": "code", "source": ["retry(\"größer\")\n"],"#;
    let output = r#""outputs": [{"text": ["only in an output"]}]}"#;
    notebooks.write("a.ipynb", format!("{{\"cells\": [\n{cell}\n{output}\n]}}\n"));
    notebooks.write("one_line.ipynb", format!("{{\"cells\": [{cell} {output}, {cell} {output}]}}\n"));
    notebooks.write("broken.ipynb", "{\"cells\": [\n\"retry later\"\n");
    let of_notebooks = notebooks.workspace();
    page.state("in outputs of a notebook alone", &of_notebooks, {
        json!({"pattern": "^only|in an output$", "file_pattern": "a.ipynb"})
    });
    let excluding = excluding(&workspace, "!web");
    page.state("in files that the configuration leaves out", &excluding, json!({"pattern": "checkout"}));
    let as_told = json!({"pattern": "checkout", "include_ignored": true});
    page.state("and what that answer says to do", &excluding, as_told);
    page.records("with its records", &workspace, json!({"pattern": "only_in_build"}));

    page.chapter("How the request was read");
    page.states(
        &workspace,
        [
            ("numbers out of their ranges", json!({"pattern": "mug", "context_lines": 99, "max_results": 0})),
            ("a path with a line", json!({"pattern": "mug", "path": "docs/export.csv:2"})),
            ("a path with globs", json!({"pattern": "mug", "path": "docs/*.csv"})),
            ("a path with globs that nothing fits", json!({"pattern": "mug", "path": "docs/*.java"})),
            (
                "a path with globs beside file_pattern",
                json!({"pattern": "mug", "path": "*", "file_pattern": "*.md"}),
            ),
            ("names of other tools", json!({"query": "CHECKOUT", "-i": true, "-C": 0, "glob": "*.ts"})),
            (
                "a type of files, and what to leave out",
                json!({"pattern": "retry(", "fixed_strings": true, "type": "ts", "exclude": "docs"}),
            ),
            (
                "an argument that says nothing of the question",
                json!({"pattern": "mug", "explanation": "why"}),
            ),
        ],
    );

    page.chapter("Limits");
    let mut request = json!({"pattern": "retry", "max_results": 5, "context_lines": 0});
    let mut first = json!(null);
    for what in ["the first page", "the second", "the third"] {
        request["cursor"] = page.state(what, &workspace, request.clone());
        first = if first.is_null() { request["cursor"].clone() } else { first };
    }
    let mut last = json!({"pattern": "backoff", "max_results": 1, "context_lines": 0});
    last["cursor"] = page.state("the page before the last", &workspace, last.clone());
    page.state("the last page", &workspace, last.clone());
    std::fs::write(tree.root().join("src/retry.rs"), "fn nothing() {}\n").unwrap();
    page.state("nothing is left behind the cursor", &workspace, last);
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 700);
    page.state("room for a part of the text", &few, json!({"pattern": "retr"}));
    let uses = json!({"pattern": "retry", "output": "uses"});
    page.state("room for a part of the uses", &few, uses.clone());
    page.state(
        "room for a part of the files",
        &with(&workspace, |workspace| workspace.limits.text_bytes = 330),
        json!({"pattern": "retry", "output": "files"}),
    );
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 390);
    page.state("no room for context", &few, json!({"pattern": "only_in|pay", "context_lines": 5}));
    let small = with(&workspace, |workspace| workspace.limits.max_file_bytes = Some(100));
    page.state("files over the configured size", &small, json!({"pattern": "mug"}));
    page.state("what is asked for is in them alone", &small, json!({"pattern": "fn backoff"}));
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time for anything", &no_time, json!({"pattern": "retry"}));
    let (_slow, workspace_of_slow, pattern) = slow();
    page.in_time("not enough time", &workspace_of_slow, json!({"pattern": pattern}), |text| {
        text.contains("time limit")
    });
    page.state("cancelled", &cancelled(&workspace), json!({"pattern": "retry"}));
    page.state("cancelled on the way", &cancelled_later(&workspace), json!({"pattern": "retry"}));
    let large = Tree::new();
    large.write("rows.txt", format!("row\n{}", format!("{}\n", "x".repeat(3_000)).repeat(100)).repeat(60));
    let few = with(&large.workspace(), |workspace| workspace.limits.text_bytes = 2_000);
    page.state(
        "more lines of one file than are held",
        &few,
        json!({"pattern": "row", "context_lines": 50, "max_results": 10_000}),
    );
    large.write("rows.txt", "x".repeat(18 << 20));
    page.state("a line that fills a file", &large.workspace(), json!({"pattern": "retry"}));
    let repeated = Tree::new();
    repeated.write("a.txt", "a".repeat(60));
    page.state("too many steps", &repeated.workspace(), json!({"pattern": r"^(?:(a+)+\1)+c$"}));
    let both = with_another_root(&workspace, &large);
    page.state("one root of two", &both, json!({"pattern": "mug"}));

    page.chapter("Warnings");
    page.state("notebooks", &of_notebooks, json!({"pattern": "retry", "context_lines": 0}));
    page.state("one of several globs that no file fits", &workspace, {
        json!({"pattern": "mug", "file_pattern": "*.java,*.csv,!*.md", "output": "files"})
    });
    page.state("look-around", &workspace, json!({"pattern": r"fn (?!retry)\w+", "path": "src"}));
    let warned = Tree::new();
    warned.write(".ignore", "{a\n");
    warned.write("a.txt", "retry\n");
    page.state("an ignore file that can't be understood", &warned.workspace(), json!({"pattern": "retry"}));
    let noticed = with(&workspace, |workspace| workspace.notices = vec!["the root is a guess".to_owned()]);
    page.state("a notice of the caller", &noticed, json!({"pattern": "mug"}));

    page.chapter("Errors");
    page.states(
        &workspace,
        [
            ("an empty pattern", json!({"pattern": ""})),
            ("uses of what is no name", json!({"pattern": "a.*b", "output": "uses"})),
            ("a pattern that is too long", json!({"pattern": "a".repeat(20_000)})),
            ("a line feed", json!({"pattern": r"a\nb"})),
            ("a text in place of a pattern", json!({"pattern": "retry("})),
            ("no valid pattern", json!({"pattern": "(retry|again"})),
            ("a glob in place of a pattern", json!({"pattern": "*.rs"})),
            ("a pattern too large once compiled", json!({"pattern": r"\w{1000}{10}"})),
            ("too many classes", json!({"pattern": r"(?i)\p{L}".repeat(1_500)})),
            ("nothing is there", json!({"pattern": "a", "path": "nowhere"})),
            ("below a file", json!({"pattern": "a", "path": "README.md/a"})),
            ("outside of the root", json!({"pattern": "a", "path": "../outside"})),
            ("a link that leads out", json!({"pattern": "a", "path": "away"})),
            ("a secrets file", json!({"pattern": "a", "path": ".env"})),
            ("a pipe", json!({"pattern": "a", "path": "pipe"})),
            ("a binary file, which is no error", json!({"pattern": "a", "path": "assets/logo.png"})),
            ("a glob that can't be read", json!({"pattern": "a", "file_pattern": "["})),
            ("a cursor that is none", json!({"pattern": "a", "cursor": "next"})),
            ("a cursor of another request", json!({"pattern": "a", "cursor": first})),
            ("no pattern", json!({})),
            ("no object", json!(["retry"])),
            ("a number that is none", json!({"pattern": "a", "max_results": "many"})),
            ("an argument of other tools without a counterpart", json!({"pattern": "a", "offset": 5})),
            ("an argument that would narrow the question", json!({"pattern": "a", "branch": "main"})),
            ("one argument by two names", json!({"pattern": "a", "path": "src", "directory": "web"})),
            ("a type of files that nobody knows", json!({"pattern": "a", "type": "klingon"})),
        ],
    );
    page
}
