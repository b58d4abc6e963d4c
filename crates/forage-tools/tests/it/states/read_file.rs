//! `read_file`.

use std::time::Duration;

use serde_json::json;

use super::tree::shop;
use super::{Page, cancelled, with};

pub(super) fn page() -> Page {
    let tree = shop();
    let workspace = tree.workspace();
    let mut page = Page::new("read_file");

    page.chapter("Found");
    page.states(
        &workspace,
        [
            ("a file", json!({"path": "web/cart.ts"})),
            ("some of its lines", json!({"path": "src/retry.rs", "start_line": 5, "end_line": 6})),
            ("from a line on", json!({"path": "src/retry.rs", "start_line": 18})),
            ("an empty file", json!({"path": "docs/empty.md"})),
            ("a secret is hidden", json!({"path": "config/settings.yaml"})),
            ("lines that end with CR LF", json!({"path": "docs/windows.txt"})),
            ("UTF-16", json!({"path": "docs/export.csv"})),
            ("neither its name nor its text is UTF-8", json!({"path": r#""docs/caf\xe9.txt""#})),
            ("an ignored file", json!({"path": "build/retry.rs"})),
            ("a link", json!({"path": "docs/latest.md", "end_line": 1})),
            ("a line that is too long", json!({"path": "web/data.json"})),
        ],
    );
    page.records("with its records", &workspace, json!({"path": "config/settings.yaml"}));

    page.chapter("How the request was read");
    page.states(
        &workspace,
        [
            ("a path with lines", json!({"path": "src/retry.rs:5-6"})),
            ("a path of the client's project", json!({"path": "/docs/windows.txt"})),
            ("lines behind the end", json!({"path": "docs/windows.txt", "start_line": 9, "end_line": 12})),
            ("an end behind the end", json!({"path": "docs/windows.txt", "end_line": 12})),
            (
                "numbers below 1, and an end before the start",
                json!({"path": "docs/windows.txt", "start_line": -1, "end_line": -1}),
            ),
            ("names of other tools", json!({"file_path": "src/retry.rs", "offset": 5, "limit": 2})),
            ("a range", json!({"path": "src/retry.rs", "view_range": [5, 6]})),
        ],
    );

    page.chapter("Limits");
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 1_150);
    page.state("room for a part of the lines", &few, json!({"path": "src/retry.rs"}));
    page.state("of a range", &few, json!({"path": "src/retry.rs", "start_line": 3, "end_line": 17}));
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time", &no_time, json!({"path": "docs/windows.txt"}));
    page.state("cancelled", &cancelled(&workspace), json!({"path": "docs/windows.txt"}));

    page.chapter("Errors");
    page.states(
        &workspace,
        [
            ("nothing is there", json!({"path": "nowhere.rs"})),
            ("nothing is there, and files have that name", json!({"path": "lib/retry.rs"})),
            ("a directory", json!({"path": "src"})),
            ("below a file", json!({"path": "README.md/a"})),
            ("a secrets file", json!({"path": ".env"})),
            ("a binary file", json!({"path": "assets/logo.png"})),
            ("a pipe", json!({"path": "pipe"})),
            ("outside of the root", json!({"path": "../outside/secret.txt"})),
            ("a link that leads out", json!({"path": "away"})),
            ("globs", json!({"path": "src/*.rs"})),
            ("two paths", json!({"path": ["README.md", "Cargo.toml"]})),
            ("no path", json!({})),
            ("a range that is none", json!({"path": "README.md", "view_range": "all"})),
        ],
    );
    page
}
