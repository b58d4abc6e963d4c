//! Compares BM42 queries with recorded ones, and tests a collection that FastEmbed filled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use forage_base::Stop;
use forage_lookup::{
    Bm42, CollectionError, Contract, Encoder, EncodingError, FastEmbedBm25, Lookup, LookupState, Point,
    PointId, PointStore as _, Prose, Retriever, SparseVector,
};
use serde_json::{Map, Value, json};

use crate::memory::Memory;
use crate::qdrant::foreign::send;
use crate::retriever::{USING, described, ids as hit_ids, look_up, retriever};
use crate::support::{connected, peer};

/// The contract of collections that docmind filled.
const DOCMIND: &str = "bm42:doc=embed;query=query_embed:v1";

/// A text with its expected vectors, from FastEmbed's algorithm with the weights of all-MiniLM-L6-v2.
struct Case {
    text: String,
    document: Vec<(u32, f64)>,
    query: Vec<u32>,
}

fn oracle() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bm42_oracle.json");
    let file: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let id = |id: &Value| u32::try_from(id.as_u64().unwrap()).unwrap();
    let pair = |pair: &Value| (id(&pair[0]), pair[1].as_f64().unwrap());
    let case = |case: &Value| Case {
        text: case["text"].as_str().unwrap().to_owned(),
        document: case["doc"].as_array().unwrap().iter().map(pair).collect(),
        query: case["query"].as_array().unwrap().iter().map(id).collect(),
    };
    file["cases"].as_array().unwrap().iter().map(case).collect()
}

fn query(text: &str) -> SparseVector {
    Bm42::new().query(text).unwrap()
}

/// Computes FastEmbed's dimensions of stems.
fn dimensions(stems: &[&str]) -> Vec<u32> {
    let dimension = |stem: &&str| (murmur3_32::Murmur3::hash(0, stem.as_bytes()) as i32).unsigned_abs();
    stems.iter().map(dimension).collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
fn queries_equal_those_of_fastembed() {
    let cases = oracle();
    assert_eq!(cases.len(), 40);
    for Case { text, query: expected, .. } in cases {
        assert_eq!(query(&text), SparseVector::ones(expected), "{text}");
    }
}

#[test]
fn bm42_words_are_lowercased_without_accents() {
    for (text, stems) in [
        ("café CAFÉ cafe\u{301}", &["cafe"][..]),
        // A capital sigma must never become a final one.
        ("ΌΔΟΣ", &["οδοσ"]),
        ("get\u{200b}user", &["getus"]),
        ("us\u{200b}er\u{7}", &["user"]),
        ("us\u{fffd}er", &["user"]),
        ("get\u{2028}user", &["get", "user"]),
        ("水火zebra", &["水", "火", "zebra"]),
        ("get_user.name", &["get", "user", "name"]),
        // Only ASCII punctuation should be left out.
        ("get—user", &["get", "—", "user"]),
        // One unknown piece makes the whole word unknown.
        ("zebra☃ zebra 12", &["zebra", "12"]),
        ("zebra𓀀 12", &["12"]),
        ("[MASK] mask [mask]", &["mask"]),
        ("get[SEP]user", &["get", "user"]),
    ] {
        assert_eq!(query(text).ids(), dimensions(stems), "{text:?}");
    }
    for text in ["", " \t\r\n\u{3000}", "the", "The THE a i", "._[]", "[CLS] [MASK]", "𓀀", "\0\u{200b}"] {
        assert!(query(text).is_empty(), "{text:?}");
    }
}

#[test]
fn words_of_more_than_a_hundred_characters_are_unknown() {
    let text = |count: usize| format!("{} zebra", "á".repeat(count));
    assert_eq!(query(&text(100)).ids(), dimensions(&[&"a".repeat(100), "zebra"]));
    assert_eq!(query(&text(101)).ids(), dimensions(&["zebra"]));
    assert_eq!(query(&text(1 << 20)).ids(), dimensions(&["zebra"]));
}

#[test]
fn words_after_the_last_token_have_no_dimension() {
    let after = |count: usize, text: &str| query(&("the ".repeat(count) + text));
    assert_eq!(after(253, "zebra user").ids(), dimensions(&["zebra"]));
    assert!(after(254, "zebra user").is_empty());
    // If a word is cut, its first pieces count: getUserName consists of get, ##user and ##name.
    assert_eq!(after(251, "getUserName user").ids(), dimensions(&["getusernam"]));
    assert_eq!(after(252, "getUserName user").ids(), dimensions(&["getus"]));
    assert_eq!(after(253, "getUserName user").ids(), dimensions(&["get"]));
    // Special tokens and unknown words count too.
    assert_eq!(after(252, "[MASK] zebra user").ids(), dimensions(&["zebra"]));
    assert!(after(252, "[MASK] [MASK] zebra").is_empty());
    assert_eq!(after(252, "𓀀 zebra user").ids(), dimensions(&["zebra"]));
    assert!(query(&"[MASK]".repeat(1 << 16)).is_empty());
}

#[test]
fn documents_are_not_encoded() {
    let error = Bm42::new().document("play").unwrap_err();
    assert_eq!(error, EncodingError::QueriesOnly("bm42"));
    assert!(error.to_string().contains("FastEmbed"), "{error}");
}

/// Creates a collection with the documents of the oracle, whose ids start at 1.
fn filled_by_fastembed(contract: Option<&str>) -> Arc<Memory> {
    let memory = Memory::default();
    *memory.collection.lock().unwrap() = Some(described(contract.map(Contract::from_metadata)));
    let points = (1..).zip(oracle()).map(|(number, case)| Point {
        id: PointId::Number(number),
        vector: SparseVector::new(case.document),
        payload: Map::from_iter([("text".to_owned(), json!(case.text))]),
    });
    memory.upsert(points.collect(), USING, &Stop::never()).unwrap();
    Arc::new(memory)
}

/// Computes the expected hits with their scores. As in Qdrant, a score is the sum of weights times idf.
fn expected(text: &str, limit: usize) -> Vec<(String, f64)> {
    let (cases, query) = (oracle(), query(text));
    let documents: Vec<BTreeMap<u32, f64>> =
        cases.iter().map(|case| case.document.iter().copied().collect()).collect();
    let rarity = |id: &u32| {
        let with = documents.iter().filter(|document| document.contains_key(id)).count() as f64;
        ((documents.len() as f64 - with + 0.5) / (with + 0.5) + 1.0).ln()
    };
    let score = |document: &BTreeMap<u32, f64>| -> f64 {
        query.ids().iter().filter_map(|id| Some(document.get(id)? * rarity(id))).sum()
    };
    let mut hits: Vec<(String, f64)> = (1..)
        .zip(&documents)
        .map(|(number, document): (u64, _)| (number.to_string(), score(document)))
        .collect();
    hits.retain(|(_, score)| *score > 0.0);
    hits.sort_by(|one, other| other.1.total_cmp(&one.1));
    hits.truncate(limit);
    hits
}

fn bm42(store: &Arc<Memory>) -> Retriever {
    Retriever { encoder: Some(Arc::new(Bm42::new())), ..retriever(store) }
}

fn check(found: &Lookup, text: &str, limit: usize) {
    let expected = expected(text, limit);
    assert_eq!(hit_ids(found), expected.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), "{text}");
    for (hit, (_, score)) in found.hits.iter().zip(&expected) {
        assert!((f64::from(hit.score) - score).abs() < 1e-5, "{text}: {} and {score}", hit.score);
    }
}

#[test]
fn a_collection_that_fastembed_filled_with_bm42_is_queried() {
    // FastEmbed writes no contract, so the configuration must name the encoder.
    let store = filled_by_fastembed(None);
    for text in ["mismatched types error", "how do I study and sprint", "connection refused by the server"] {
        let found = look_up(&bm42(&store), text, 5).unwrap();
        assert_eq!(found.state, LookupState::Found, "{text}");
        check(&found, text, 5);
    }
    // The control: a text without any of the words should find nothing.
    assert_eq!(look_up(&bm42(&store), "rhinoceros", 5).unwrap().state, LookupState::NoMatch);
    // Without this setting, the lookup should ask for it.
    let without = Retriever { encoder: None, ..retriever(&store) };
    assert!(matches!(look_up(&without, "types", 5), Err(CollectionError::Unsaid(_))));
}

/// If FastEmbed filled a collection through the official client, it has no contract, and its texts are in
/// `document`.
#[test]
fn fastembed_bm42_collection_is_queried_over_rest() {
    let (_server, url) = peer();
    let idf = json!({USING: {"modifier": "idf"}});
    send(&url, "PUT", "/collections/code", &json!({"vectors": {}, "sparse_vectors": idf}));
    let point = |(number, case): (u64, Case)| {
        let (indices, values): (Vec<u32>, Vec<f64>) = case.document.into_iter().unzip();
        let vector = json!({USING: {"indices": indices, "values": values}});
        json!({"id": number, "vector": vector, "payload": {"document": case.text}})
    };
    let points: Vec<Value> = (1..).zip(oracle()).map(point).collect();
    send(&url, "PUT", "/collections/code/points?wait=true", &json!({"points": points}));
    let retriever = Retriever { store: connected(&url), ..bm42(&Arc::default()) };
    for text in ["mismatched types error", "how do I study and sprint", "connection refused by the server"] {
        let found = look_up(&retriever, text, 5).unwrap();
        check(&found, text, 5);
        assert!(found.hits.iter().all(|hit| hit.payload["text"].is_string()), "{text}");
    }
    assert_eq!(look_up(&retriever, "rhinoceros", 5).unwrap().state, LookupState::NoMatch);
}

#[test]
fn a_collection_of_docmind_names_bm42_itself() {
    let store = filled_by_fastembed(Some(DOCMIND));
    let by_itself = Retriever { encoder: None, ..retriever(&store) };
    check(&look_up(&by_itself, "mismatched types", 5).unwrap(), "mismatched types", 5);
    check(&look_up(&bm42(&store), "mismatched types", 5).unwrap(), "mismatched types", 5);
    // A language that BM42 does not support must be an error, and so must another encoder.
    let german = Prose::Stemmed(forage_lookup::Language::German);
    let error = look_up(&Retriever { prose: Some(german), ..by_itself }, "types", 5).unwrap_err();
    assert!(matches!(error, CollectionError::Unknown { .. }), "{error}");
    let error = look_up(&retriever(&store), "types", 5).unwrap_err();
    assert!(matches!(error, CollectionError::Encoding { .. }), "{error}");
    let encoder = Bm42::new();
    assert!(encoder.reads(&encoder.contract()) && !FastEmbedBm25::new().reads(&encoder.contract()));
    for other in ["bm42:doc=embed;query=embed:v1", "bm42/1", "fastembed-bm25/1", ""] {
        assert!(!encoder.reads(&Contract::from_metadata(other)), "{other}");
    }
}
