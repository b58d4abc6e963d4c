//! Tests lookups: their order, states, and requests to the store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forage_base::{Hint, Stop};
use forage_lookup::{
    CodeSuperset, Collection, CollectionError, Condition, Contract, Encoder, FastEmbedBm25, Idf, Language,
    Lookup, LookupState, Point, PointFilter, PointId, PointReader as _, PointStore as _, Prose, Question,
    Retriever, SparseVector, StoreError, VectorFacts,
};
use serde_json::{Map, json};

use crate::fill::requests;
use crate::memory::{Memory, NoEncoder};

pub(crate) const USING: &str = "text-sparse";

pub(crate) fn described(contract: Option<Contract>) -> Collection {
    let vectors = BTreeMap::from([(USING.to_owned(), VectorFacts { has_idf: true })]);
    Collection { sparse_vectors: vectors, contract, ..Collection::default() }
}

/// Creates a store with these texts. Their ids start at 1.
pub(crate) fn store(texts: &[&str]) -> Arc<Memory> {
    let (memory, encoder) = (Memory::default(), FastEmbedBm25::new());
    *memory.collection.lock().unwrap() = Some(described(Some(encoder.contract())));
    let points = (1..).zip(texts).map(|(number, text)| Point {
        id: PointId::Number(number),
        vector: encoder.document(text).unwrap(),
        payload: Map::from_iter([("text".to_owned(), json!(text))]),
    });
    memory.upsert(points.collect(), USING, &Stop::never()).unwrap();
    memory.asked.lock().unwrap().clear();
    Arc::new(memory)
}

pub(crate) fn retriever(store: &Arc<Memory>) -> Retriever {
    Retriever {
        store: Arc::clone(store) as _,
        encoder: Some(Arc::new(FastEmbedBm25::new())),
        prose: None,
        backend: "memory",
        using: USING.to_owned(),
        idf: Idf::Auto,
        fields: vec!["text".to_owned()],
        text_field: Some("text".to_owned()),
        timeout: Duration::from_secs(30),
        rarity: Arc::default(),
    }
}

pub(crate) fn look_up(retriever: &Retriever, query: &str, limit: usize) -> Result<Lookup, CollectionError> {
    retriever.look_up(query, limit, &PointFilter::default(), &Stop::never())
}

pub(crate) fn ids(lookup: &Lookup) -> Vec<String> {
    lookup.hits.iter().map(|hit| hit.id.to_string()).collect()
}

fn refused(retriever: &Retriever) -> String {
    look_up(retriever, "error", 10).unwrap_err().to_string()
}

#[test]
fn what_has_more_of_rare_words_comes_first() {
    let store = store(&["error E0308 in parser", "error again", "error E0308 twice E0308", "nothing of it"]);
    let found = look_up(&retriever(&store), "E0308 error", 10).unwrap();
    assert_eq!(found.state, LookupState::Found);
    assert_eq!(ids(&found), ["3", "1", "2"]);
    assert_eq!(found.hits[0].payload["text"], "error E0308 twice E0308");
    // Requests to the store must name the vector and the fields.
    assert!(
        store
            .asked
            .lock()
            .unwrap()
            .iter()
            .any(|it| it.starts_with("query text-sparse ") && it.ends_with(" text"))
    );
}

#[test]
fn those_that_score_the_same_come_by_id_also_at_the_cut() {
    // The store returns 300 equal points, last id first, so the first ten ids are far beyond the first
    // request.
    let texts = vec!["the same error"; 300];
    let store = store(&texts);
    for limit in [1, 2, 10, 100] {
        let found = look_up(&retriever(&store), "error", limit).unwrap();
        assert_eq!(ids(&found), (1..=limit).map(|id| id.to_string()).collect::<Vec<_>>());
        assert!(!found.is_arbitrary);
    }
    // The control: the store alone should return other points.
    let vector = FastEmbedBm25::new().query("error").unwrap();
    let query = forage_lookup::PointQuery {
        vector: &vector,
        using: USING,
        limit: 10,
        fields: &[],
        filter: &PointFilter::default(),
    };
    assert_eq!(store.query(&query, &Stop::never()).unwrap()[0].id, PointId::Number(300));
}

#[test]
fn numbers_come_in_the_order_of_numbers_and_before_uuids() {
    let mut ids = [
        PointId::parse("00000000-0000-0000-0000-000000000001").unwrap(),
        PointId::parse("10").unwrap(),
        PointId::parse("9").unwrap(),
        PointId::parse("0000000000000000000000000000000A").unwrap(),
    ];
    ids.sort_unstable();
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    let uuid = |last| format!("00000000-0000-0000-0000-00000000000{last}");
    assert_eq!(texts, ["9", "10", &uuid("1"), &uuid("a")]);
    assert_eq!([PointId::parse("x"), PointId::parse("-1"), PointId::parse("")], [None; 3]);
}

#[test]
fn ties_beyond_the_limit_are_reported_as_arbitrary() {
    let texts = vec!["error"; forage_lookup::limits::HITS_ASKED + 5];
    let found = look_up(&retriever(&store(&texts)), "error", 3).unwrap();
    assert!(found.is_arbitrary && found.hits.len() == 3);
}

#[test]
fn stop_word_query_is_distinguished_from_no_match() {
    let store = store(&["error E0308"]);
    assert_eq!(look_up(&retriever(&store), "the of and", 10).unwrap().state, LookupState::NoWord);
    assert_eq!(look_up(&retriever(&store), " -- ", 10).unwrap().state, LookupState::NoWord);
    assert!(store.asked.lock().unwrap().is_empty(), "the store need not be asked");
    assert_eq!(look_up(&retriever(&store), "absent", 10).unwrap().state, LookupState::NoMatch);
}

#[test]
fn without_an_encoder_there_is_an_empty_answer_with_its_reason() {
    let store = store(&["error"]);
    let retriever = Retriever { encoder: Some(Arc::new(NoEncoder)), ..retriever(&store) };
    let found = look_up(&retriever, "error", 10).unwrap();
    assert_eq!(found.state, LookupState::EncoderUnavailable("no tokenizer".to_owned()));
    assert!(found.hits.is_empty() && store.asked.lock().unwrap().is_empty());
}

#[test]
fn unavailable_store_is_reported_and_recovers() {
    let store = store(&["error"]);
    let away = || StoreError::Unavailable("nobody listens".to_owned());
    *store.failures.lock().unwrap() = vec![away()];
    assert_eq!(look_up(&retriever(&store), "error", 10).unwrap().state, LookupState::Found);
    *store.failures.lock().unwrap() = vec![away(), away(), away()];
    assert_eq!(
        look_up(&retriever(&store), "error", 10).unwrap().state,
        LookupState::StoreUnavailable(away())
    );
    assert_eq!(store.failures.lock().unwrap().len(), 0, "it was asked three times");
    // A retry could not fix these errors.
    let unauthorized = StoreError::Unauthorized("wrong key".to_owned());
    *store.failures.lock().unwrap() = vec![unauthorized.clone()];
    store.asked.lock().unwrap().clear();
    assert_eq!(
        look_up(&retriever(&store), "error", 10).unwrap().state,
        LookupState::StoreUnavailable(unauthorized)
    );
    assert_eq!(store.asked.lock().unwrap().len(), 1);
}

#[test]
fn retry_after_is_honored_within_the_deadline() {
    let store = store(&["error"]);
    let limited = |wait: u64| StoreError::RateLimited {
        message: "too many requests".to_owned(),
        retry_after: Some(Duration::from_millis(wait)),
    };
    *store.failures.lock().unwrap() = vec![limited(120)];
    let began = Instant::now();
    assert_eq!(look_up(&retriever(&store), "error", 10).unwrap().state, LookupState::Found);
    assert!(began.elapsed() >= Duration::from_millis(120));
    // An hour is longer than the 30 seconds that we have, so we should not even start to wait.
    *store.failures.lock().unwrap() = vec![limited(3_600_000)];
    let began = Instant::now();
    let state = look_up(&retriever(&store), "error", 10).unwrap().state;
    assert_eq!(state, LookupState::StoreUnavailable(limited(3_600_000)));
    assert!(began.elapsed() < Duration::from_secs(5));
}

/// If the store does not answer some of the additional questions, the hits should still be returned.
#[test]
fn hits_are_returned_when_the_store_falls_silent() {
    let mut same = vec!["the same error"; 300];
    same.push("RETRY-99999 once");
    let store = store(&same);
    let retriever = retriever(&store);
    let nothing = PointFilter::any_of("repo", ["nope"]);
    let cases = [
        ("error", PointFilter::default(), vec![Question::Ties]),
        ("RETRY-99999", PointFilter::default(), vec![Question::Name]),
        (
            "RETRY-99999",
            PointFilter { conditions: vec![Condition::parse("repo=a").unwrap()], ids: None },
            vec![],
        ),
        ("error", nothing, vec![Question::Beyond]),
    ];
    store.points.lock().unwrap().values_mut().for_each(|point| {
        point.payload.insert("repo".to_owned(), json!("a"));
    });
    for (query, filter, wanted) in cases {
        let look_up = || retriever.look_up(query, 10, &filter, &Stop::never()).unwrap();
        store.asked.lock().unwrap().clear();
        let (whole, requests) = (look_up(), store.asked.lock().unwrap().len());
        assert!(whole.unanswered.is_empty() && requests > 2, "{query}: {requests}");
        let mut questions = Vec::new();
        for answered in 0..=requests {
            let failure = StoreError::Timeout("it took too long".to_owned());
            *store.fails_after.lock().unwrap() = Some((answered, failure.clone()));
            let found = look_up();
            if answered < 2 {
                assert_eq!(found.state, LookupState::StoreUnavailable(failure), "{query}");
                continue;
            }
            assert_eq!(
                (&found.state, found.hits.len()),
                (&whole.state, whole.hits.len()),
                "{query} {answered}"
            );
            assert_eq!(found.unanswered.is_empty(), answered == requests, "{query} {answered}: {found:?}");
            assert!(found.unanswered.iter().all(|it| it.error == failure));
            questions.extend(found.unanswered.iter().map(|it| it.question));
        }
        *store.fails_after.lock().unwrap() = None;
        assert!(wanted.iter().all(|question| questions.contains(question)), "{query}: {questions:?}");
    }
    // A caller that has cancelled should not get a partial result.
    *store.fails_after.lock().unwrap() = Some((2, StoreError::Cancelled));
    let gone = retriever.look_up("error", 10, &PointFilter::default(), &Stop::never());
    assert_eq!(gone.unwrap_err(), CollectionError::Store(StoreError::Cancelled));
}

#[test]
fn who_has_gone_is_not_waited_for() {
    let store = store(&["error"]);
    let wait = Some(Duration::from_secs(20));
    *store.failures.lock().unwrap() =
        vec![StoreError::RateLimited { message: String::new(), retry_after: wait }];
    let stop = Stop::never();
    stop.cancel();
    let began = Instant::now();
    let result = retriever(&store).look_up("error", 10, &PointFilter::default(), &stop);
    assert_eq!(result.unwrap_err(), CollectionError::Store(StoreError::Cancelled));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[test]
fn unusable_collection_error_says_how_to_fix_it() {
    let store = store(&["error"]);
    let describe = |collection: Option<Collection>| *store.collection.lock().unwrap() = collection;
    describe(None);
    let hint = |retriever: &Retriever| look_up(retriever, "error", 10).unwrap_err().hint();
    assert_eq!(hint(&retriever(&store)), Some(Hint::FillCollection));
    let mut other = described(None);
    let facts = VectorFacts { has_idf: true };
    other.sparse_vectors = ["sparse", "title"].map(|name| (name.to_owned(), facts)).into();
    describe(Some(other));
    let message = refused(&retriever(&store));
    assert!(message.ends_with("no sparse vector `text-sparse`; it has: sparse, title"), "{message}");
    assert_eq!(hint(&retriever(&store)), Some(Hint::ChooseVector));
    describe(Some(described(Some(Contract::from_metadata("bm42:doc=embed;query=query_embed:v1")))));
    let message = refused(&retriever(&store));
    assert!(message.contains("bm42:doc=embed") && message.contains("fastembed-bm25/1"), "{message}");
    assert_eq!(hint(&retriever(&store)), Some(Hint::MatchEncoding));
    // None of these lookups should have sent a query.
    assert_eq!(requests(&store, "query"), 0);
}

#[test]
fn without_a_configured_encoder_the_collection_says_which() {
    let store = store(&["error"]);
    let retriever = Retriever { encoder: None, ..retriever(&store) };
    assert_eq!(look_up(&retriever, "error", 10).unwrap().state, LookupState::Found);
    *store.collection.lock().unwrap() = Some(described(None));
    assert_eq!(look_up(&retriever, "error", 10).unwrap_err().hint(), Some(Hint::NameEncoder));
    *store.collection.lock().unwrap() = Some(described(Some(Contract::from_metadata("bm99/7"))));
    assert!(refused(&retriever).contains("bm99/7"));
}

#[test]
fn collection_of_another_language_is_refused() {
    let store = store(&["fehler"]);
    for theirs in Prose::all() {
        for encoder in [&FastEmbedBm25::with_prose(theirs) as &dyn Encoder, &CodeSuperset::with_prose(theirs)]
        {
            *store.collection.lock().unwrap() = Some(described(Some(encoder.contract())));
            // Without a configured encoder, it should be queried in its own language.
            let retriever = Retriever { encoder: None, ..retriever(&store) };
            assert!(look_up(&retriever, "fehler", 10).is_ok(), "{theirs:?}");
            for wanted in [Prose::Stemmed(Language::German), Prose::AsWritten] {
                let retriever = Retriever { prose: Some(wanted), encoder: None, ..self::retriever(&store) };
                let answer = look_up(&retriever, "fehler", 10);
                if wanted == theirs {
                    assert!(answer.is_ok(), "{theirs:?}")
                } else {
                    let error = answer.unwrap_err();
                    assert!(error.to_string().contains(encoder.contract().as_str()), "{error}");
                    assert_eq!(error.hint(), Some(Hint::MatchEncoding));
                }
            }
        }
    }
}

#[test]
fn fastembed_reads_code_collections_but_not_vice_versa() {
    let (plain, code) = (FastEmbedBm25::new(), CodeSuperset::new());
    assert!(plain.reads(&code.contract()) && plain.reads(&plain.contract()) && code.reads(&code.contract()));
    assert!(!code.reads(&plain.contract()));
}

#[test]
fn vectors_are_sorted_and_have_each_dimension_once() {
    let vector = SparseVector::new([(7, 0.5), (3, 1.0), (7, 2.0)]);
    assert_eq!((vector.ids(), vector.weights()), (&[3, 7][..], &[1.0, 2.0][..]));
}
