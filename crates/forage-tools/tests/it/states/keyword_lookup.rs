//! `keyword_lookup`, with a collection in memory and without one.

use std::sync::Arc;

use forage_lookup::{Retriever, StoreError};
use serde_json::json;

use super::tree::shop;
use super::{Page, cancelled, with};
use crate::lookup::{code, fixture, retriever};
use crate::memory::NoEncoder;

pub(super) fn page() -> Page {
    let mut page = Page::new("keyword_lookup");
    let texts = [
        ("src/db.rs", "fn open() {\n    // ORA-00942: no table\n    connect();\n}\n"),
        ("src/retry.rs", "fn backoff() {}\nfn retry_now() {}\n"),
        ("src/codes.rs", "RETRY-5 of 99999\n"),
        ("src/lower.rs", "ora-00942 in lower case\n"),
        ("src/longer.rs", "ORA-00942-B is another one\n"),
        ("src/parts.rs", "ORA alone and 00942 alone\n"),
        ("src/case.rs", "fn openSession() {}\n"),
        ("src/secret.rs", "quokka ghp_R4nd0mT0kenF0rTh1sTest1234567890abcd\n"),
    ];
    let collection = fixture(&texts.map(|(path, text)| code(path, text)));
    let workspace = &collection.workspace;

    page.chapter("Found");
    page.states(
        workspace,
        [
            ("a name", json!({"query": "ORA-00942"})),
            ("words", json!({"query": "backoff connect"})),
            ("under a filter", json!({"query": "ORA-00942", "repo": "shop", "path": "src/db.rs"})),
            ("a name in another case alone", json!({"query": "OPENSESSION"})),
            ("a name in another spelling alone", json!({"query": "open_session"})),
            ("parts of a name alone", json!({"query": "RETRY-99999"})),
            ("a name elsewhere than under the filter", json!({"query": "ORA-00942", "path": "src/parts.rs"})),
            ("a secret is hidden", json!({"query": "quokka"})),
        ],
    );
    page.records("with its records", workspace, json!({"query": "ORA-00942", "limit": 2}));
    let without_text = fixture(&[code("src/db.rs", "E0308 here\n")]);
    for point in without_text.store.points.lock().unwrap().values_mut() {
        point.payload.remove("text");
    }
    page.state("no text to compare a name with", &without_text.workspace, json!({"query": "E0308"}));

    page.chapter("Nothing found");
    page.states(
        workspace,
        [
            ("nowhere", json!({"query": "absent"})),
            ("with and without the filter", json!({"query": "absent", "path": "src/db.rs"})),
            (
                "not under the filter, which lets something through",
                json!({"query": "backoff", "path": "src/db.rs"}),
            ),
            ("not under the filter, which lets nothing through", json!({"query": "backoff", "repo": "bank"})),
            ("no word that can be looked up", json!({"query": "-- !"})),
        ],
    );

    page.chapter("How the request was read");
    page.states(
        workspace,
        [
            ("a number out of its range", json!({"query": "backoff", "limit": 0})),
            (
                "names of other tools",
                json!({"keyword": "backoff", "top_k": 1, "where": {"path": "src/retry.rs"}}),
            ),
        ],
    );

    page.chapter("Limits");
    let few = with(workspace, |workspace| workspace.limits.text_bytes = 420);
    page.state("no room for lines", &few, json!({"query": "ORA-00942"}));
    *collection.store.failures.lock().unwrap() = vec![StoreError::Unauthorized("wrong key".to_owned())];
    page.state("the store does not answer", workspace, json!({"query": "backoff"}));
    let no_encoder = with(workspace, |workspace| {
        workspace.lookup.retriever =
            Ok(Arc::new(Retriever { encoder: Some(Arc::new(NoEncoder)), ..retriever(&collection.store) }));
    });
    page.state("queries can't be encoded", &no_encoder, json!({"query": "backoff"}));

    page.chapter("Errors");
    page.states(
        workspace,
        [
            ("an empty query", json!({"query": " "})),
            ("a query that is too long", json!({"query": "a ".repeat(5_000)})),
            ("a condition that is none", json!({"query": "a", "filter": ["repo"]})),
            ("a field that can't be filtered by", json!({"query": "a", "filter": ["owner=me"]})),
            ("a number that is none", json!({"query": "a", "filter": ["lines.start>soon"]})),
            ("too many conditions", json!({"query": "a", "filter": vec!["repo=shop"; 17]})),
            ("no query", json!({})),
        ],
    );
    page.state("cancelled", &cancelled(workspace), json!({"query": "backoff"}));
    *collection.store.collection.lock().unwrap() = None;
    let anew = with(workspace, |workspace| {
        workspace.lookup.retriever = Ok(Arc::new(retriever(&collection.store)));
    });
    page.state("the collection is not there", &anew, json!({"query": "backoff"}));
    page.state("no collection is configured", &shop().workspace(), json!({"query": "backoff"}));
    page
}
