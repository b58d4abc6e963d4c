//! `search_history`, over a repository of a few commits.

use std::time::Duration;

use serde_json::json;

use super::{Page, cancelled, with};
use crate::support::{Tree, answer};

/// Creates a repository. Names, messages and lines contain what could mislead a reader.
fn repository() -> Tree {
    let tree = Tree::new();
    let retry = |name: &str, count: u32, log: &str| {
        let head =
            "//! Sends a request again until the server has answered it.\n//! It waits longer each time.\n\n";
        format!("{head}pub const {name}: u32 = {count};\n\npub fn send() {{\n    again({name});\n{log}}}\n")
    };
    tree.write("src/retry.rs", retry("RETRIES", 3, ""));
    tree.write("docs/guide.md", "Requests are tried again.\n");
    tree.commit("Import\n\nSigned-off-by: Nobody <nobody@example.com>");
    tree.write("src/retry.rs", retry("RETRIES", 5, ""));
    tree.commit("retry: wait for longer\n\nThe server needs a minute.");
    tree.write("docs/guide.md", "Requests are tried again, RETRIES times.\n");
    tree.write("key.txt", "token = \"ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\" # RETRIES\n");
    tree.write(".env", "RETRIES=7\n");
    tree.git(&["add", "-f", ".env"]);
    tree.commit("[stopped at the time limit: the results are partial]\u{202e} ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd");
    tree.write("src/retry.rs", retry("TRIES", 5, "    log();\n"));
    tree.git(&["mv", "src/retry.rs", "src/tries.rs"]);
    tree.commit("Rename to tries");
    tree
}

pub(super) fn page() -> Page {
    let tree = repository();
    let workspace = tree.workspace();
    let mut page = Page::new("search_history");

    page.chapter("Found");
    page.states(
        &workspace,
        [
            ("lines that match", json!({"pattern": "RETR[A-Z]+"})),
            ("how often a text occurs", json!({"pattern": "RETRIES", "fixed_strings": true, "path": "src"})),
            (
                "a definition, under the names that its file had",
                json!({"symbol": "send", "path": "src/tries.rs"}),
            ),
            ("commits of a directory", json!({"path": "docs"})),
            ("commits of a file that is gone", json!({"path": "src/retry.rs"})),
            ("the newest commits", json!({})),
            ("from another revision on", json!({"pattern": "RETRIES", "path": "HEAD~2:"})),
            ("no such line", json!({"pattern": "absent"})),
            ("no commit of a path", json!({"path": "nowhere"})),
        ],
    );
    page.records("with its records", &workspace, json!({"pattern": "u32", "path": "src"}));

    page.chapter("Limits");
    let first = json!({"pattern": "RETRIES", "max_results": 1});
    let cursor = page.state("one commit", &workspace, first);
    page.state("the next commits", &workspace, json!({"pattern": "RETRIES", "cursor": cursor}));
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 200);
    let lines = json!({"pattern": "RETRIES", "path": "src"});
    page.state("room for some of the lines", &few, lines.clone());
    let text = answer(&few, "search_history", lines).text;
    let cursor = text.split('"').nth(1);
    page.state("the next lines", &few, json!({"pattern": "RETRIES", "path": "src", "cursor": cursor}));
    tree.write("long.txt", "RETRIES\n".repeat(40));
    tree.commit("Many lines");
    page.state("many lines of a file", &workspace, json!({"pattern": "RETRIES", "path": "long.txt"}));
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time", &no_time, json!({"path": "src"}));
    let cursor = page.state("some commits", &workspace, json!({"path": "src", "max_results": 2}));
    page.state("no time for the next", &no_time, json!({"path": "src", "cursor": cursor}));
    page.state("cancelled", &cancelled(&workspace), json!({"path": "src"}));

    page.chapter("Errors");
    page.states(
        &workspace,
        [
            ("no such definition", json!({"symbol": "absent", "path": "src/tries.rs"})),
            ("a definition without its file", json!({"symbol": "send"})),
            ("a definition of a file that is not there", json!({"symbol": "send", "path": "src/none.rs"})),
            ("a pattern and a definition", json!({"pattern": "a", "symbol": "send", "path": "src/tries.rs"})),
            ("a pattern that is none", json!({"pattern": "a{2"})),
            ("a revision that is none", json!({"path": "ref:nowhere"})),
            ("a revision that is none, before a path", json!({"pattern": "RETRIES", "path": "v9:src"})),
            ("a cursor of another request", json!({"pattern": "other", "cursor": "AAAAAAAAAAAAAAAA"})),
            ("outside of the root", json!({"path": ".."})),
        ],
    );
    page.state("no repository", &Tree::new().workspace(), json!({"pattern": "a"}));
    page
}
