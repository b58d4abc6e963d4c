//! The documentation page with a complete session must match a real session.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use super::wire::Pipes;
use super::{call, initialize, project, request};

const REVISION: &str = "2025-11-25";

/// Runs the session and compares it with the page. `INSTA_UPDATE=always` updates the page.
#[test]
fn the_page_shows_the_session_as_it_is() {
    let project = project();
    let mut pipes = Pipes::start_with(&project, &[], &[("FORAGE_FILTER", "lexical")]);
    let mut page = String::from(
        "# A session\n\n<!-- Written by a test (`mcp::page`) from what the server says; don't edit. -->\n\n\
         This page shows the messages between a client and `forage mcp`, in a small project. \
         `keyword_search` ranks without a model here (`FORAGE_FILTER=lexical`).\n",
    );
    let mut step = |title: &str, message: Value| {
        let answer = match title {
            "Handshake" => pipes.handshake(message.clone()),
            _ => pipes.ask(&message),
        };
        let _ = write!(page, "\n## {title}\n\n```json\n{message:#}\n```\n\n```json\n{answer:#}\n```\n");
        // Show texts in readable form too.
        if let Some(text) = answer["result"]["content"][0]["text"].as_str() {
            let _ = write!(page, "\nThe text:\n\n```text\n{}\n```\n", text.trim_end());
        }
    };
    step("Handshake", initialize(REVISION, 0));
    step("The tools", request(REVISION, 1, "tools/list", json!({})));
    step("What there is", call(REVISION, 2, "list_directory", json!({ "recursive": true })));
    let concept =
        json!({ "query": "how are failures tried again?", "search_terms": ["retry", "again", "times"] });
    step("By concept", call(REVISION, 3, "keyword_search", concept));
    step("By pattern", call(REVISION, 4, "grep_search", json!({ "pattern": "fn \\w+", "context_lines": 1 })));
    step(
        "By question, ranked",
        call(REVISION, 10, "search_index", json!({ "query": "how often is it tried again" })),
    );
    step("A file", call(REVISION, 5, "read_file", json!({ "path": "src/retry.rs", "start_line": 2 })));
    step("Nothing found", call(REVISION, 6, "grep_search", json!({ "pattern": "no such text" })));
    step("A call that can't be made", call(REVISION, 7, "grep_search", json!({ "query": "retry(" })));
    step("A path that is not the client's", call(REVISION, 8, "read_file", json!({ "path": "/etc/passwd" })));
    step("A tool that there is not", call(REVISION, 9, "write_file", json!({})));
    let page = page.replace(project.root.to_str().unwrap(), "/project");

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp-session.md");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(written, page, "run the test with INSTA_UPDATE=always and read what changes");
}
