//! Tests collections of LlamaIndex, LangChain and FastEmbed: we can query them, and report how they differ.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use forage_base::Stop;
use forage_lookup::{
    Adaptation, CollectionError, Encoder as _, FastEmbedBm25, FillError, Idf, Lookup, PointFilter, PointId,
    PointStore, Retriever, Sharding,
};
use serde_json::{Value, json};

use crate::support::{connected, peer};

/// Every text has a common word.
const TEXTS: [&str; 5] = [
    "error in parser, error in lexer, error in error",
    "error E0308 in a long sentence about types that do not match",
    "error again",
    "error of retries",
    "an error",
];

/// Sends a request and returns its result.
pub(crate) fn send(url: &str, method: &str, path: &str, body: &Value) -> Value {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).unwrap();
    let (body, mut answer) = (body.to_string(), String::new());
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<Value>(body).unwrap()["result"].take()
}

/// Creates a collection with these sparse vectors, and stores the texts in the first of them.
fn collection(url: &str, vectors: &Value, payload: impl Fn(&str) -> Value) {
    let dense = json!({"text-dense": {"size": 3, "distance": "Cosine"}});
    send(url, "PUT", "/collections/code", &json!({"vectors": dense, "sparse_vectors": vectors}));
    let name = vectors.as_object().unwrap().keys().next().unwrap();
    let encoder = FastEmbedBm25::new();
    let points = (1_u64..).zip(TEXTS).map(|(id, text)| {
        let vector = encoder.document(text).unwrap();
        let sparse = json!({"indices": vector.ids(), "values": vector.weights()});
        json!({"id": id, "vector": {name: sparse, "text-dense": [0.1, 0.2, 0.3]}, "payload": payload(text)})
    });
    let points = json!({"points": points.collect::<Vec<_>>()});
    send(url, "PUT", "/collections/code/points?wait=true", &points);
}

fn retriever(url: &str) -> Retriever {
    Retriever {
        store: connected(url),
        encoder: Some(Arc::new(FastEmbedBm25::new())),
        prose: None,
        backend: "qdrant",
        using: "text-sparse".to_owned(),
        idf: Idf::Auto,
        fields: ["text", "source"].map(str::to_owned).to_vec(),
        text_field: Some("text".to_owned()),
        timeout: std::time::Duration::from_secs(30),
        rarity: Arc::default(),
    }
}

fn look_up(retriever: &Retriever, query: &str) -> Result<Lookup, CollectionError> {
    retriever.look_up(query, 10, &PointFilter::default(), &Stop::never())
}

fn ids(lookup: &Lookup) -> Vec<PointId> {
    lookup.hits.iter().map(|hit| hit.id).collect()
}

fn vector(used: &str) -> Adaptation {
    Adaptation::Vector { asked: "text-sparse".to_owned(), used: used.to_owned() }
}

fn text(used: &str) -> Adaptation {
    Adaptation::Text { asked: "text".to_owned(), used: used.to_owned() }
}

#[test]
fn a_collection_of_llama_index_is_searched_as_it_is() {
    let (_server, url) = peer();
    collection(&url, &json!({"text-sparse-new": {}}), |text| {
        let node = json!({"id_": "n", "metadata": {}, "text": text, "class_name": "TextNode"});
        json!({"_node_content": node.to_string(), "_node_type": "TextNode", "source": "a.md"})
    });
    let retriever = retriever(&url);
    let found = look_up(&retriever, "error E0308").unwrap();
    assert_eq!(found.hits[0].id, PointId::Number(2), "the rare word counts more");
    assert_eq!(Value::Object(found.hits[0].payload.clone()), json!({"source": "a.md", "text": TEXTS[1]}));
    let weighed = Adaptation::NoIdf { vector: "text-sparse-new".to_owned(), is_weighed: true, common: 0 };
    assert_eq!(found.adapted, [weighed, vector("text-sparse-new"), text("_node_content")]);
    // The results should equal those with the modifier, to the last digit of a step.
    let (_server, url) = peer();
    collection(&url, &json!({"text-sparse": {"modifier": "idf"}}), |text| json!({"text": text}));
    let with_idf = look_up(&self::retriever(&url), "error E0308").unwrap();
    assert_eq!((ids(&with_idf), with_idf.adapted), (ids(&found), Vec::new()));
    for (one, two) in with_idf.hits.iter().zip(&found.hits) {
        assert!((one.score - two.score).abs() < 1e-4, "{one:?} {two:?}");
    }
    // The name should be compared with the text inside the node.
    let name = look_up(&retriever, "E0308").unwrap().name.unwrap();
    assert_eq!((name.whole, name.without_text, name.is_complete), (1, 0, true));
}

#[test]
fn scores_as_they_are_stored_are_a_choice() {
    let (_server, url) = peer();
    collection(&url, &json!({"text-sparse": {"modifier": "none"}}), |text| json!({"text": text}));
    let stored = Retriever { idf: Idf::Stored, ..retriever(&url) };
    let found = look_up(&stored, "error E0308").unwrap();
    assert_eq!(
        found.adapted,
        [Adaptation::NoIdf { vector: "text-sparse".to_owned(), is_weighed: false, common: 0 }]
    );
    let weighed = look_up(&retriever(&url), "error E0308").unwrap();
    let share = |lookup: &Lookup| lookup.hits[1].score / lookup.hits[0].score;
    assert!(share(&weighed) < 0.3 && share(&found) > 0.5, "{found:?} {weighed:?}");
}

#[test]
fn texts_of_lang_chain_and_fast_embed_are_found() {
    for field in ["page_content", "document"] {
        let (_server, url) = peer();
        collection(&url, &json!({"text-sparse": {"modifier": "idf"}}), |text| json!({field: text}));
        let found = look_up(&retriever(&url), "E0308").unwrap();
        assert_eq!(
            (&found.hits[0].payload["text"], &found.adapted[..]),
            (&json!(TEXTS[1]), &[text(field)][..])
        );
        assert_eq!(found.hits[0].payload.len(), 1);
        // If the settings name this field, there should be nothing to report.
        let fields = vec![field.to_owned()];
        let named = Retriever { text_field: Some(field.to_owned()), fields, ..retriever(&url) };
        assert_eq!(look_up(&named, "E0308").unwrap().adapted, []);
    }
}

#[test]
fn ambiguous_vector_name_is_refused() {
    let (_server, url) = peer();
    collection(&url, &json!({"one": {}, "two": {}}), |text| json!({"text": text}));
    let error = look_up(&retriever(&url), "error").unwrap_err();
    assert!(error.to_string().contains("no sparse vector `text-sparse`; it has: one, two"), "{error}");
    let named = Retriever { using: "one".to_owned(), ..retriever(&url) };
    assert_eq!(look_up(&named, "E0308").unwrap().hits.len(), 1);
    // A filling must not add points to a collection that would rank them wrongly.
    let (_server, url) = peer();
    collection(&url, &json!({"text-sparse": {}}), |text| json!({"text": text}));
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("a.rs"), "fn a() {}\n").unwrap();
    let store: Arc<dyn PointStore> = connected(&url);
    let filled =
        super::fillings::fill_spread(&*store, "repo", tree.path(), Sharding::default(), &Arc::default());
    let Err(FillError::Collection(error)) = filled else { panic!("{filled:?}") };
    assert_eq!(error.kind(), "no_idf", "{error}");
}

/// If a filling was stopped while it created a collection, the next one should index the missing payload
/// fields.
#[test]
fn a_filling_indexes_the_payload_fields_that_have_no_index() {
    let (_server, url) = peer();
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("a.rs"), "fn a() {}\n").unwrap();
    let fill = || {
        let store = connected(&url);
        super::fillings::fill_spread(&*store, "repo", tree.path(), Sharding::default(), &Arc::default())
    };
    send(&url, "POST", "/fault", &json!({"on": "/index", "reply": 400, "times": 1}));
    fill().unwrap_err();
    let indexed = || {
        let mut information = send(&url, "GET", "/collections/code", &Value::Null);
        let Value::Object(fields) = information["payload_schema"].take() else { panic!("{information}") };
        fields.into_iter().map(|(field, _)| field).collect::<BTreeSet<_>>()
    };
    assert_eq!(indexed(), BTreeSet::new(), "the control: the collection was made without");
    fill().unwrap();
    assert_eq!(indexed(), ["repo", "path", "language", "seen"].map(str::to_owned).into());
}
