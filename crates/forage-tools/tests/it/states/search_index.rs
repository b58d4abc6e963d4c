//! `search_index`.

use std::sync::Arc;
use std::time::Duration;

use forage_fs::Root;
use forage_rank::tree::{UpdateEffort, UpdateError};
use forage_search::index::Index;
use forage_tools::{Indexes, Ranked, Workspace};
use serde_json::json;

use super::tree::shop;
use super::{Page, cancelled, excluding, with};
use crate::support::Tree;

/// Indexes that are never available. This error is the reason.
struct Without<F>(F);

impl<F: Fn() -> UpdateError + Send + Sync> Indexes for Without<F> {
    fn open(&self, _: &Arc<Root>) -> Option<Arc<Index>> {
        None
    }

    fn ranked(&self, _: &Arc<Root>, _: &UpdateEffort) -> Option<Result<Ranked, UpdateError>> {
        Some(Err((self.0)()))
    }

    fn take_warnings(&self) -> Vec<String> {
        vec!["the index of this root can't be read".to_owned()]
    }
}

/// Creates a workspace whose ranked index is not available.
fn without_index(workspace: &Workspace, why: impl Fn() -> UpdateError + Send + Sync + 'static) -> Workspace {
    with(workspace, |workspace| workspace.indexes = Some(Arc::new(Without(why))))
}

pub(super) fn page() -> Page {
    let tree = shop();
    (0..30).for_each(|index| {
        drop(tree.write(format!("many/{index:02}.rs"), format!("fn helper_{index}() {{ common(); }}\n")))
    });
    let workspace = tree.workspace();
    let mut page = Page::new("search_index");

    page.chapter("Found");
    page.states(
        &workspace,
        [
            ("a question", json!({"query": "how long does a request wait before it is retried"})),
            ("a name", json!({"query": "with_retries"})),
            ("in a directory", json!({"query": "retries", "path": "docs"})),
            ("files of a kind", json!({"query": "cart", "file_pattern": "*.py"})),
            ("a language", json!({"query": "cart", "languages": ["typescript"]})),
            ("filters in the query", json!({"query": "\"twice as long\" path:docs -klingon"})),
            ("what looks like a filter", json!({"query": "retry lang:klingon"})),
            ("a word that no file has", json!({"query": "retries xyzzy"})),
            ("little of what is asked for", json!({"query": "cart quantum entanglement photon laser"})),
            ("a secret is hidden", json!({"query": "token host settings"})),
        ],
    );
    page.records("with its records", &workspace, json!({"query": "Cart checkout", "path": "web"}));

    page.chapter("Files and lines alone");
    let question = json!({"query": "how long does a request wait before it is retried", "code_tokens": 0});
    page.states(
        &workspace,
        [
            ("a question", question),
            ("the rules that ranked", json!({"query": "backoff", "explain": true, "limit": 1})),
            ("files in place of a query", json!({"query": "path:docs"})),
        ],
    );
    let of_files = json!({"query": "Cart checkout", "path": "web", "code_tokens": 0});
    page.records("with its records", &workspace, of_files);

    page.chapter("Within so many tokens of code");
    page.states(
        &workspace,
        [
            ("the definitions of the best files", json!({"query": "backoff", "code_tokens": 600})),
            (
                "of one directory",
                json!({"query": "cart checkout", "path": "web", "code_tokens": 500, "limit": 2}),
            ),
            ("too few tokens for any code", json!({"query": "backoff", "code_tokens": 1, "limit": 1})),
            ("nothing found", json!({"query": "xyzzy", "code_tokens": 600})),
        ],
    );
    page.records("with its records", &workspace, json!({"query": "Cart", "path": "web", "code_tokens": 500}));
    let remembering = with(&workspace, |workspace| workspace.shown_earlier = Some(Arc::default()));
    page.state("to who remembers", &remembering, json!({"query": "backoff", "limit": 2, "code_tokens": 600}));
    page.state("once more", &remembering, json!({"query": "backoff", "limit": 2, "code_tokens": 600}));
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 620);
    page.state("no room for code", &few, json!({"query": "retries", "code_tokens": 600}));

    page.chapter("Nothing found");
    page.states(
        &workspace,
        [
            ("nowhere", json!({"query": "xyzzy frobnicate"})),
            ("in an ignored directory", json!({"query": "retry", "path": "build"})),
            ("no file fits", json!({"query": "retry", "file_pattern": "*.java"})),
            ("no file of the language", json!({"query": "common", "path": "many", "languages": ["python"]})),
            ("in an ignored file alone, of which nothing is said", json!({"query": "only_in_build"})),
            ("a query of common words", json!({"query": "the of and"})),
        ],
    );
    let excluding = excluding(&workspace, "!web");
    page.state("in files that the configuration leaves out", &excluding, json!({"query": "checkout"}));
    page.state("and not in those either", &excluding, json!({"query": "xyzzy"}));

    page.chapter("How the request was read");
    page.states(
        &workspace,
        [
            ("a number out of its range", json!({"query": "backoff", "limit": 1_000})),
            ("a path with globs", json!({"query": "retries", "path": "docs/*.md"})),
            (
                "names of other tools",
                json!({"question": "backoff", "top_k": 1, "target_directories": ["src"]}),
            ),
        ],
    );

    page.chapter("Limits");
    let mut request = json!({"query": "common helper", "limit": 2, "path": "many"});
    request["cursor"] = page.state("the first page", &workspace, request.clone());
    page.state("the second", &workspace, request.clone());
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 900);
    page.state("no room for lines", &few, json!({"query": "retries", "code_tokens": 0}));
    let few = with(&workspace, |workspace| workspace.limits.text_bytes = 620);
    page.state("no room for ranges", &few, json!({"query": "retries", "code_tokens": 0}));
    let small = with(&workspace, |workspace| workspace.limits.max_file_bytes = Some(100));
    page.state("files over the configured size", &small, json!({"query": "backoff"}));
    let large = Tree::new();
    large.write("rows.txt", format!("retry\n{}", "row row row\n".repeat(100_000)));
    page.state("of a large file a part", &large.workspace(), json!({"query": "retry"}));

    page.chapter("While the index is built");
    // Note that the search that replaces the index has its own deadline.
    let whole = |text: &str| text.contains("with most of the words") && !text.contains("in time");
    let building = without_index(&workspace, || UpdateError::Unfinished { done: 3, all: 48 });
    page.in_time("some files are in it", &building, json!({"query": "backoff"}), whole);
    page.in_time("nothing is found by then", &building, json!({"query": "xyzzy"}), whole);
    page.state("a page of it", &building, request.clone());
    let busy = without_index(&workspace, || UpdateError::Busy);
    page.in_time("another call is at it", &busy, json!({"query": "backoff"}), whole);

    page.chapter("Errors");
    let cursor = &request["cursor"];
    page.states(
        &workspace,
        [
            ("an empty query", json!({"query": " "})),
            ("no query", json!({})),
            ("a language that is none", json!({"query": "a", "languages": ["klingon"]})),
            ("nothing is there", json!({"query": "a", "path": "nowhere"})),
            ("outside of the root", json!({"query": "a", "path": ".."})),
            ("a secrets file", json!({"query": "a", "path": ".env"})),
            ("a path with globs that nothing fits", json!({"query": "a", "path": "docs/*.java"})),
            ("globs in path and beside it", json!({"query": "a", "path": "*.md", "file_pattern": "*.rs"})),
            ("a cursor that is none", json!({"query": "a", "cursor": "next"})),
            ("a cursor of another request", json!({"query": "a", "cursor": cursor})),
        ],
    );
    let locked = without_index(&workspace, || UpdateError::Locked("the index can't be locked".to_owned()));
    page.state("the index can't be had", &locked, json!({"query": "retry"}));
    let faulty = without_index(&workspace, || panic!("a fault of this test"));
    page.state("a fault of the program", &faulty, json!({"query": "retry"}));
    let no_time = with(&workspace, |workspace| workspace.limits.timeout = Duration::ZERO);
    page.state("no time", &no_time, json!({"query": "retry"}));
    page.state("cancelled", &cancelled(&workspace), json!({"query": "retry"}));
    page
}
