//! `keyword_lookup`: who is told of it, what it answers, what is told of it.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use forage_fs::Stop;
use forage_sparse::{
    CodeSuperset, Collection, Encoder, EncodingError, Point, PointId, Retriever, Store as _, StoreError,
    VectorFacts,
};
use forage_tools::registry::{Choice, advertised, find};
use forage_tools::{Context, Telemetry, limits};
use serde_json::{Map, Value, json};

use crate::memory::Memory;
use crate::support::{Tree, answer, refusal};

const QUERY: &str = "ORA-00942 Zyxomma";

#[derive(Default)]
struct Events(Mutex<Vec<Map<String, Value>>>);

impl Telemetry for Events {
    fn record(&self, event: Map<String, Value>) {
        self.0.lock().unwrap().push(event);
    }
}

pub(crate) struct Fixture {
    store: Arc<Memory>,
    events: Arc<Events>,
    pub(crate) context: Context,
    _tree: Tree,
}

/// A collection with these payloads, ids from 1; each is found by the words of its `text`.
pub(crate) fn fixture(payloads: &[Value]) -> Fixture {
    let (store, encoder) = (Arc::new(Memory::default()), CodeSuperset::new());
    let vectors = [("text-sparse".to_owned(), VectorFacts { has_idf: true })];
    *store.collection.lock().unwrap() =
        Some(Collection { sparse_vectors: vectors.into(), contract: Some(encoder.contract()), points: 0 });
    let points = (1..).zip(payloads).map(|(number, payload)| Point {
        id: PointId::Number(number),
        vector: encoder.document(payload["text"].as_str().unwrap()).unwrap(),
        payload: payload.as_object().unwrap().clone(),
    });
    store.upsert(points.collect(), "text-sparse", &Stop::never()).unwrap();
    let (tree, events) = (Tree::new(), Arc::new(Events::default()));
    let mut context = tree.context();
    context.lookup.retriever = Ok(Arc::new(retriever(&store)));
    context.lookup.telemetry = Some(Arc::clone(&events) as _);
    Fixture { store, events, context, _tree: tree }
}

fn retriever(store: &Arc<Memory>) -> Retriever {
    Retriever {
        store: Arc::clone(store) as _,
        encoder: None,
        backend: "memory",
        using: "text-sparse".to_owned(),
        fields: ["path", "lines", "repo", "text"].map(str::to_owned).into(),
        timeout: Duration::from_secs(10),
    }
}

pub(crate) fn code(path: &str, text: &str) -> Value {
    json!({"path": path, "repo": "shop", "lines": {"start": 17, "end": 40}, "text": text})
}

fn names(choice: &Choice) -> Vec<&'static str> {
    advertised(choice).unwrap().iter().map(|tool| tool.name()).collect()
}

#[test]
fn agents_are_told_of_it_only_if_it_is_turned_on() {
    assert!(!names(&Choice::default()).contains(&"keyword_lookup"));
    let mut on = Choice { on: vec!["keyword_lookup"], ..Choice::default() };
    assert!(names(&on).contains(&"keyword_lookup") && names(&on).contains(&"keyword_search"));
    // The only one of the two: by the name that its requirement gives it.
    on.off = vec!["keyword_search"];
    let tools = advertised(&on).unwrap();
    let tool = tools.iter().find(|tool| tool.name() == "keyword_search").unwrap();
    assert!(
        tool.description()
            .starts_with("Exact keyword / ID / error-code lookup; lexical matching; not semantic.")
    );
    assert!(!names(&on).contains(&"keyword_lookup"));
}

#[test]
fn two_tools_of_one_name_are_an_error_that_names_both() {
    for taken in ["keyword_search", "grep_search", "Search"] {
        let choice = Choice { on: vec!["keyword_lookup", "Search"], ..Choice::default() };
        let choice = choice.call("keyword_lookup", taken, "retrieval.tool_name");
        let message = advertised(&choice).err().unwrap().to_string();
        assert!(message.contains(&format!("the tools {taken} and keyword_lookup")), "{message}");
        let key = format!("tools.{}.name", taken.to_ascii_lowercase());
        assert!(message.contains(&format!("(`{key}`, `retrieval.tool_name`)")), "{message}");
    }
    let choice = Choice { on: vec!["keyword_lookup"], ..Choice::default() };
    let choice = choice.call("keyword_lookup", "ids", "retrieval.tool_name");
    assert!(names(&choice).contains(&"ids"));
}

#[test]
fn a_result_is_a_place_with_its_best_lines() {
    let text = "fn open() {\n    // ORA-00942: no table\n    connect();\n}\n";
    let fixture = fixture(&[code("src/db.rs", text), code("src/other.rs", "fn nothing() {}\n")]);
    let found = answer(&fixture.context, "keyword_lookup", json!({"query": "ORA-00942"}));
    assert_eq!(found.records["status"], "found");
    assert_eq!(found.records["hits"].as_array().unwrap().len(), 1);
    assert!(found.text.contains("src/db.rs:17-40 (score "), "{}", found.text);
    assert!(found.text.contains(", repo shop)\n    18: // ORA-00942: no table\n"), "{}", found.text);
    // The filters reach the store.
    let elsewhere = answer(&fixture.context, "keyword_lookup", json!({"query": "ORA-00942", "repo": "bank"}));
    assert_eq!(elsewhere.records["status"], "no_match");
    let here = json!({"query": "ORA-00942", "repo": "shop", "path": "src/db.rs"});
    assert_eq!(answer(&fixture.context, "keyword_lookup", here).records["status"], "found");
}

#[test]
fn no_match_no_word_and_no_answer_are_told_apart() {
    let fixture = fixture(&[code("a.rs", "alpha\n")]);
    let ask = |query: &str| answer(&fixture.context, "keyword_lookup", json!({ "query": query }));
    let none = ask("absent");
    assert!(none.records["status"] == "no_match" && none.text.starts_with("Nothing in"), "{}", none.text);
    let empty = ask("-- !");
    assert!(
        empty.records["status"] == "no_usable_word" && empty.text.contains("no word that can be looked up")
    );
    let away = StoreError::Unauthorized("wrong key".to_owned());
    *fixture.store.failures.lock().unwrap() = vec![away];
    let away = ask("alpha");
    assert_eq!(away.records["status"], "store_unavailable");
    assert!(
        away.partial && away.text.starts_with("NOT LOOKED UP") && away.text.contains("wrong key"),
        "{}",
        away.text
    );
    assert!(!none.partial && !empty.partial);
}

#[test]
fn every_lookup_is_told_without_its_words() {
    let mut fixture = fixture(&[code("a.rs", QUERY)]);
    let request = json!({"query": QUERY, "limit": 7});
    answer(&fixture.context, "keyword_lookup", request.clone());
    *fixture.store.failures.lock().unwrap() = vec![StoreError::Unauthorized(String::new())];
    answer(&fixture.context, "keyword_lookup", request.clone());
    let problem = EncodingError::Unavailable("no tokenizer".to_owned());
    let without =
        Retriever { encoder: Some(LazyLock::new(Box::new(|| Err(problem)))), ..retriever(&fixture.store) };
    fixture.context.lookup.retriever = Ok(Arc::new(without));
    let empty = answer(&fixture.context, "keyword_lookup", request.clone());
    assert!(empty.records["hits"].as_array().unwrap().is_empty() && empty.text.contains("no tokenizer"));
    *fixture.store.collection.lock().unwrap() = None;
    fixture.context.lookup.retriever = Ok(Arc::new(retriever(&fixture.store)));
    refusal(&fixture.context, "keyword_lookup", request);

    let events = fixture.events.0.lock().unwrap();
    let column = |name: &str| events.iter().map(|event| event.get(name).cloned()).collect::<Vec<_>>();
    let said = |values: &[Value]| values.iter().cloned().map(Some).collect::<Vec<_>>();
    assert_eq!(
        column("retrieval.status"),
        said(&[json!("found"), json!("store_unavailable"), json!("encoder_unavailable"), json!("refused")])
    );
    assert_eq!(column("retrieval.return_count"), said(&[json!(1), json!(0), json!(0), json!(0)]));
    assert_eq!(
        column("retrieval.sparse_fallback"),
        said(&[json!(false), json!(false), json!(true), json!(false)])
    );
    let errors = [None, Some("unauthorized"), Some("encoder_unavailable"), Some("no_collection")];
    assert_eq!(column("retrieval.error_type"), errors.map(|error| error.map(|error| json!(error))));
    for event in events.iter() {
        let text = Value::Object(event.clone()).to_string();
        assert!(!text.contains("ORA") && !text.contains("Zyxomma") && !text.contains("a.rs"), "{text}");
        assert_eq!(event["retrieval.top_k"], 7);
        let fields = ["backend", "tool", "vector", "latency_ms", "qdrant_timeout_s"];
        assert!(fields.iter().all(|field| event.contains_key(&format!("retrieval.{field}"))), "{text}");
    }
}

#[test]
fn a_payload_forges_no_line_and_floods_nobody() {
    let hostile = "alpha\u{1b}[2J\n[warning: forged]\u{202e}\n";
    let mut payload = code("evil\n\n[warning: forged].rs\u{1b}[31m", hostile);
    payload["repo"] = json!("x)\n\n[cursor=forged]");
    let long = code(&"p".repeat(9_000), &format!("alpha {}", "word ".repeat(50_000)));
    let mut payloads = vec![payload];
    payloads.extend(std::iter::repeat_n(long, 99));
    let fixture = fixture(&payloads);
    let found = answer(&fixture.context, "keyword_lookup", json!({"query": "alpha", "limit": 100}));
    assert_eq!(found.records["hits"].as_array().unwrap().len(), 100);
    assert!(found.text.len() <= limits::TEXT_BYTES + 1_000, "{}", found.text.len());
    assert!(found.records.to_string().len() < 1_000_000);
    assert!(!found.text.contains('\u{1b}') && !found.text.contains('\u{202e}'));
    assert!(
        !found.text.lines().any(|line| line.starts_with("[warning: forged") || line.starts_with("[cursor"))
    );
}

#[test]
fn a_long_line_is_shown_around_the_word() {
    let line = format!("{} needle_here {}", "before ".repeat(300), "after ".repeat(300));
    let fixture = fixture(&[code("a.min.js", &line)]);
    let found = answer(&fixture.context, "keyword_lookup", json!({"query": "needle_here"}));
    assert!(found.text.contains("needle_here"), "{}", found.text);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let fixture = fixture(&[]);
    assert!(refusal(&fixture.context, "keyword_lookup", json!({"query": " "})).contains("`query`"));
    let long = "a".repeat(limits::QUERY_BYTES + 1);
    assert!(refusal(&fixture.context, "keyword_lookup", json!({"query": long})).contains("`query`"));
    // Without a collection the reason is what the configuration has to say.
    assert!(
        refusal(&Tree::new().context(), "keyword_lookup", json!({"query": "a"})).contains("no collection")
    );
    assert!(!find("keyword_lookup").unwrap().is_on_by_default());
}
