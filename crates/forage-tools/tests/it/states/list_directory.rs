//! `list_directory`.

use std::time::Duration;

use serde_json::json;

use super::tree::shop;
use super::{Page, cancelled, excluding, with};
use crate::support::Tree;

pub(super) fn page() -> Page {
    let tree = shop();
    let workspace = tree.workspace();
    let mut page = Page::new("list_directory");

    page.chapter("Found");
    page.states(
        &workspace,
        [
            ("the root", json!({})),
            ("a directory, with a name that is not UTF-8, a link and UTF-16", json!({"path": "docs"})),
            ("an empty directory", json!({"path": "empty"})),
            ("two levels", json!({"recursive": true})),
            ("one level of a deeper tree", json!({"path": "src", "max_depth": 0})),
            ("ignored and hidden entries too", json!({"include_ignored": true, "max_depth": 3})),
            ("a directory that no search enters", json!({"path": "node_modules/pad"})),
            ("an ignored directory", json!({"path": "build"})),
        ],
    );
    page.states(
        &workspace,
        [
            ("what files define", json!({"path": "src", "recursive": true, "symbols": true})),
            ("files of a kind", json!({"name": "*.rs"})),
            ("files by path", json!({"name": "src/**/*.rs,!*main*"})),
            ("a name with a typing error", json!({"name": "clinet"})),
            ("a part of a name", json!({"name": "ret"})),
            ("words of a path", json!({"name": "http client"})),
            ("no such name", json!({"name": "absent"})),
            ("an ignored name", json!({"name": "server.log"})),
            ("a kind of which there is none", json!({"name": "*.java"})),
            ("a map", json!({"tokens": 400})),
            ("a map of directories alone", json!({"tokens": 400, "symbols": false})),
        ],
    );
    page.records("files by name with their records", &workspace, json!({"name": "retries"}));
    page.state("what the configuration leaves out", &excluding(&workspace, "!docs"), json!({}));
    page.records("with its records", &workspace, json!({"path": "src", "recursive": true}));
    let bare = Tree::new();
    bare.write("a/.hidden", "");
    page.state("a directory with nothing to list", &bare.workspace(), json!({"recursive": true}));

    page.chapter("How the request was read");
    page.states(
        &workspace,
        [
            ("more levels than there can be", json!({"path": "src", "max_depth": 99})),
            ("a path with quotes", json!({"path": "`src`"})),
            ("names of other tools", json!({"target_directory": "src", "respect_git_ignore": false})),
        ],
    );

    page.chapter("Limits");
    let wide = Tree::new();
    (0..60).for_each(|index| drop(wide.write(format!("d{}/file-{index:02}.txt", index % 2), "x\n")));
    let few = with(&wide.workspace(), |workspace| workspace.limits.text_bytes = 600);
    page.state("room for a part of the entries", &few, json!({"recursive": true}));
    page.state("room for a part of the names", &few, json!({"name": "*.txt"}));
    page.state("more names than are shown", &wide.workspace(), json!({"name": "file"}));
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time", &no_time, json!({}));
    page.state("no time for names", &no_time, json!({"name": "*.rs"}));
    page.state("cancelled", &cancelled(&workspace), json!({}));
    wide.write("large.txt", "x\n".repeat(9 << 20));
    page.state("a file too large to be counted", &wide.workspace(), json!({}));

    page.chapter("Errors");
    page.states(
        &workspace,
        [
            ("a file", json!({"path": "README.md"})),
            ("a pipe", json!({"path": "pipe"})),
            ("nothing is there", json!({"path": "nowhere"})),
            ("nothing is there, and something is called nearly so", json!({"path": "source/http"})),
            ("a glob that can't be read", json!({"name": "[a"})),
            ("a map of names", json!({"tokens": 400, "name": "*.rs"})),
            ("a map in too few tokens", json!({"tokens": 10})),
            ("outside of the root", json!({"path": ".."})),
            ("a link that leads out", json!({"path": "away"})),
            ("globs", json!({"path": "src/*"})),
            ("a pattern", json!({"pattern": "*.rs"})),
            ("an argument that would narrow the question", json!({"extension": "rs"})),
            ("a flag that is none", json!({"recursive": "maybe"})),
        ],
    );
    page
}
