//! Tests collections whose shards count document frequencies separately. Lookups must order points as if
//! there were one shard.

use std::sync::Arc;

use forage_base::Stop;
use forage_lookup::{
    Adaptation, CodeSuperset, Encoder as _, Lookup, LookupState, Point, PointFilter, PointId,
    PointStore as _, Question, ShardLayout, StoreError, Unanswered, VectorFacts,
};
use serde_json::json;

use crate::memory::Memory;
use crate::retriever::{self, USING, described, ids, retriever, store};

const CHUNKS: u64 = 3_000;

/// A deterministic generator of pseudo-random numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Generates a word. A few words are frequent, most are rare.
    fn word(&mut self) -> String {
        let end = 1 + self.below(3_000);
        format!("word{}", self.below(end))
    }
}

fn filled(layout: ShardLayout) -> Arc<Memory> {
    let (memory, encoder, mut numbers) = (Memory::default(), CodeSuperset::new(), Numbers(7));
    let mut collection = described(Some(encoder.contract()));
    collection.layout = layout;
    *memory.collection.lock().unwrap() = Some(collection);
    let points = (1..=CHUNKS).map(|number| {
        let mut words: Vec<String> = (0..4 + numbers.below(60)).map(|_| numbers.word()).collect();
        if numbers.below(2) == 0 {
            words.push("everywhere".to_owned());
        }
        let text = words.join(" ");
        // One of the repositories gets half of all points.
        let repository = numbers.below(10).saturating_sub(4);
        Point {
            id: PointId::Number(number),
            vector: encoder.document(&text).unwrap(),
            payload: json!({"text": text, "repo": format!("r{repository}")}).as_object().unwrap().clone(),
        }
    });
    memory.upsert(points.collect(), USING, &Stop::never()).unwrap();
    Arc::new(memory)
}

fn look_up(store: &Arc<Memory>, query: &str, filter: &PointFilter) -> Lookup {
    let mut retriever = retriever(store);
    retriever.encoder = None;
    retriever.look_up(query, 10, filter, &Stop::never()).unwrap()
}

/// Counts the queries with the same hits in the same order as in one shard. Scores may differ by up to
/// `difference`.
fn same(layout: ShardLayout, difference: f32) -> usize {
    let (one, spread, mut numbers) = (filled(ShardLayout::Single), filled(layout), Numbers(99));
    let queries = (0..QUERIES).map(|index| {
        let mut words: Vec<String> = (0..1 + numbers.below(4)).map(|_| numbers.word()).collect();
        if index % 4 == 0 {
            words.push("everywhere".to_owned());
        }
        words.join(" ")
    });
    let is_same = |query: &String| {
        [PointFilter::default(), PointFilter::any_of("repo", ["r1"])].iter().all(|filter| {
            let (wanted, found) = (look_up(&one, query, filter), look_up(&spread, query, filter));
            assert!(found.unanswered.is_empty());
            assert_eq!(wanted.state, found.state, "{query}");
            let scores = wanted.hits.iter().zip(&found.hits);
            assert!(
                scores.clone().all(|(one, other)| (one.score - other.score).abs() < difference),
                "{query}"
            );
            assert!(
                scores
                    .filter(|(one, other)| one.id == other.id)
                    .all(|(one, other)| one.payload == other.payload)
            );
            ids(&wanted) == ids(&found)
        })
    };
    queries.filter(is_same).count()
}

const QUERIES: usize = 40;

#[test]
fn lookups_of_six_shards_order_as_those_of_one() {
    // The idf of words in more than 1,000 chunks is estimated, with an accuracy of two digits.
    let same = same(ShardLayout::Hashed(6), 0.1);
    assert!(same >= QUERIES - 2, "{same} of {QUERIES}");
}

#[test]
fn lookups_of_a_shard_for_each_repository_order_as_those_of_one() {
    let same = same(ShardLayout::Keyed, 0.3);
    assert!(same >= QUERIES - 6, "{same} of {QUERIES}");
}

#[test]
fn shard_idf_orders_without_global_idf() {
    let store = filled(ShardLayout::Hashed(6));
    let failure = StoreError::Invalid("not asked so".to_owned());
    *store.refuses.lock().unwrap() = Some(("query_all", failure.clone()));
    let found = look_up(&store, "word1 word2", &PointFilter::default());
    assert_eq!((found.state, found.hits.len()), (LookupState::Found, 10));
    let unanswered: Vec<_> = found.unanswered.iter().map(|it| (it.question, &it.error)).collect();
    assert_eq!(unanswered, [(Question::Rarity, &failure)]);
}

#[test]
fn new_word_is_found_despite_cached_frequencies() {
    let store = filled(ShardLayout::Hashed(6));
    let mut retriever = retriever(&store);
    retriever.encoder = None;
    let look_up = || retriever.look_up("newcomer", 10, &PointFilter::default(), &Stop::never()).unwrap();
    assert_eq!(look_up().state, LookupState::NoMatch);
    let (encoder, id) = (CodeSuperset::new(), PointId::Number(CHUNKS + 1));
    let payload = json!({"text": "newcomer", "repo": "r1"}).as_object().unwrap().clone();
    let point = Point { id, vector: encoder.document("newcomer").unwrap(), payload };
    store.upsert(vec![point], USING, &Stop::never()).unwrap();
    let found = look_up();
    assert_eq!((found.state, found.hits.len()), (LookupState::Found, 1));
    assert!(found.hits[0].score > 1.0, "{:?}", found.hits);
}

#[test]
fn how_rare_a_word_is_is_asked_once_in_a_while() {
    let store = filled(ShardLayout::Hashed(6));
    let mut retriever = retriever(&store);
    retriever.encoder = None;
    let requests = |query: &str| {
        store.asked.lock().unwrap().clear();
        retriever.look_up(query, 10, &PointFilter::default(), &Stop::never()).unwrap();
        store.asked.lock().unwrap().len()
    };
    let (first, second) = (requests("word1 everywhere"), requests("word1 everywhere"));
    // The first lookup also counts all points, counts each word, and samples frequent words.
    assert!(first >= second + 3, "{first} {second}");
}

/// Creates a store without the IDF modifier, with one point per text.
fn unweighed(texts: &[&str]) -> Arc<Memory> {
    let store = store(texts);
    let vectors = [(USING.to_owned(), VectorFacts { has_idf: false })].into();
    store.collection.lock().unwrap().as_mut().unwrap().sparse_vectors = vectors;
    store
}

fn adapted(is_weighed: bool, common: usize) -> Vec<Adaptation> {
    vec![Adaptation::NoIdf { vector: USING.to_owned(), is_weighed, common }]
}

#[test]
fn document_frequencies_are_counted_in_batches() {
    let store = unweighed(&["word0 word1", "word1"]);
    let retriever = retriever(&store);
    let query: Vec<String> = (0..20).map(|number| format!("word{number}")).collect();
    let counted = || {
        store.asked.lock().unwrap().clear();
        let found = retriever::look_up(&retriever, &query.join(" "), 10).unwrap();
        let asked = store.asked.lock().unwrap();
        let counted = asked.iter().filter(|it| it.starts_with("query_all")).cloned().collect::<Vec<_>>();
        (found, counted)
    };
    let slow = StoreError::Timeout("no answer".to_owned());
    *store.refuses.lock().unwrap() = Some(("query_all 4", slow.clone()));
    let (found, asked) = counted();
    assert_eq!((found.hits.len(), found.adapted), (2, adapted(false, 0)));
    assert_eq!(found.unanswered, [Unanswered { question: Question::Rarity, error: slow }]);
    assert_eq!(asked, ["query_all 8 false", "query_all 8 false", "query_all 4 false"]);
    *store.refuses.lock().unwrap() = None;
    let (found, asked) = counted();
    assert_eq!((found.adapted, found.unanswered), (adapted(true, 0), Vec::new()));
    assert_eq!(asked, ["query_all 4 false"]);
}

#[test]
fn word_in_too_many_points_to_count_is_reported() {
    let mut texts = vec!["error"; forage_lookup::limits::HITS_ASKED + 5];
    texts.push("error E0308");
    let store = unweighed(&texts);
    let retriever = retriever(&store);
    // The second round uses the cache, and should give the same result.
    for _ in 0..2 {
        let found = retriever::look_up(&retriever, "error E0308", 3).unwrap();
        assert_eq!(found.adapted, adapted(true, 1));
    }
}
