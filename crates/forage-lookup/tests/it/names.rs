//! Tests queries for names: the order of results, the facts about a name, filters that nothing passes, and
//! results that are cut.

use std::sync::Arc;

use forage_base::Stop;
use forage_lookup::{
    CodeSuperset, Condition, Encoder, FastEmbedBm25, Language, Lookup, LookupState, NameMatch, Point,
    PointFilter, PointStore as _, Prose, Retriever, StoreError, UnfilteredCounts, limits,
};
use proptest::prelude::*;
use serde_json::json;

use crate::memory::Memory;
use crate::retriever::{ids, look_up, retriever, store};

fn filtered(retriever: &Retriever, query: &str, conditions: &[&str]) -> Lookup {
    let conditions = conditions.iter().map(|text| Condition::parse(text).unwrap()).collect();
    retriever.look_up(query, 10, &PointFilter { conditions, ids: None }, &Stop::never()).unwrap()
}

/// Sets the repository of each point by its id.
fn with_repos(store: &Arc<Memory>, repo: impl Fn(usize) -> &'static str) {
    for (index, point) in store.points.lock().unwrap().values_mut().enumerate() {
        point.payload.insert("repo".to_owned(), json!(repo(index)));
    }
}

#[test]
fn absent_name_reports_partial_matches() {
    let store = store(&["retry now", "RETRY-5 and 99999", "nothing", "RETRY-999990"]);
    let found = look_up(&retriever(&store), "RETRY-99999", 10).unwrap();
    let name = found.name.clone().unwrap();
    assert!(name.is_absent() && name.name == "RETRY-99999", "{name:?}");
    assert_eq!(found.held.len(), found.hits.len());
    assert!(
        found.held.iter().all(|held| *held == NameMatch::Parts || *held == NameMatch::Inside),
        "{found:?}"
    );
    // The control: if a point has the name, it should be found and come first.
    let with = self::store(&["retry now", "RETRY-5 and 99999", "RETRY-99999", "retry retry 99999 99999"]);
    let found = look_up(&retriever(&with), "RETRY-99999", 10).unwrap();
    let name = found.name.clone().unwrap();
    assert!(!name.is_absent() && (name.whole, name.other_case) == (1, 0) && name.is_complete, "{name:?}");
    assert_eq!((ids(&found)[0].as_str(), found.held[0]), ("3", NameMatch::Whole));
    // A plain word is not a name: it has no parts that could match instead.
    assert_eq!(look_up(&retriever(&with), "retry", 10).unwrap().name, None);
}

#[test]
fn exact_name_ranks_first_regardless_of_score() {
    let filler = (0..400).map(|number| format!("word{number} ")).collect::<String>();
    let (whole, other) = (format!("{filler} foo::bar"), format!("{filler} FOO::Bar"));
    let mut texts = vec!["foo foo bar bar"; 30];
    texts.extend([other.as_str(), whole.as_str()]);
    let store = store(&texts);
    let found = look_up(&retriever(&store), "foo::bar", 3).unwrap();
    assert_eq!(ids(&found), ["32", "31", "1"]);
    assert_eq!(found.held, [NameMatch::Whole, NameMatch::OtherCase, NameMatch::Parts]);
    assert!(found.hits[0].score < found.hits[2].score, "it scores less: {found:?}");
    let name = found.name.unwrap();
    assert_eq!((name.whole, name.other_case), (1, 1));
    // The control: in a query of words, the others should come first.
    assert_eq!(ids(&look_up(&retriever(&store), "foo bar", 3).unwrap()), ["1", "2", "3"]);
}

#[test]
fn where_not_all_can_be_compared_nothing_is_absent() {
    let mut texts = vec!["foo bar"; limits::NAMES_COMPARED + 5];
    let store = store(&texts);
    let name = look_up(&retriever(&store), "foo::bar", 10).unwrap().name.unwrap();
    assert!(!name.is_absent() && !name.is_complete && name.whole == 0, "{name:?}");
    assert!(name.compared >= limits::NAMES_COMPARED, "{name:?}");
    // A single word that is rare enough should be sufficient as a proof.
    texts.push("rare::bar");
    let store = self::store(&texts);
    let name = look_up(&retriever(&store), "rare::foo", 10).unwrap().name.unwrap();
    assert!(name.is_absent(), "{name:?}");
}

#[test]
fn a_point_without_its_text_may_have_the_name() {
    let store = store(&["E0308 here", "E0308 there"]);
    store.points.lock().unwrap().values_mut().for_each(|point| drop(point.payload.remove("text")));
    let found = look_up(&retriever(&store), "E0308", 10).unwrap();
    let name = found.name.unwrap();
    assert!(!name.is_absent() && (name.without_text, name.compared) == (2, 0), "{name:?}");
    assert_eq!(found.held, [NameMatch::Unknown; 2]);
    // If no point has the word at all, we need no text for the proof.
    let name = look_up(&retriever(&store), "E0308-X1", 10).unwrap().name.unwrap();
    assert!(name.is_absent(), "{name:?}");
}

#[test]
fn a_comparison_that_fails_is_no_proof() {
    let store = store(&["retry now"]);
    let found = look_up(&retriever(&store), "RETRY-1", 10).unwrap();
    assert!(found.name.unwrap().is_absent());
    // The store answers the first two requests, for the collection and for the words, and then fails.
    let failure = StoreError::Unauthorized("no more".to_owned());
    *store.fails_after.lock().unwrap() = Some((2, failure));
    let found = look_up(&retriever(&store), "RETRY-1", 10).unwrap();
    let name = found.name.unwrap();
    assert!(!name.is_absent() && name.compared == 1 && found.hits.len() == 1, "{name:?}");
}

#[test]
fn no_filtered_match_is_distinguished_from_no_match() {
    let store = store(&["backoff one", "backoff two", "other"]);
    with_repos(&store, |index| if index < 2 { "shop" } else { "bank" });
    let retriever = retriever(&store);
    for (conditions, under_filter) in [(["repo=nope"], 0), (["repo=bank"], 1)] {
        let found = filtered(&retriever, "backoff", &conditions);
        assert_eq!(found.state, LookupState::NoMatch);
        assert_eq!(found.beyond, Some(UnfilteredCounts { points: 2, is_at_least: false, under_filter }));
    }
    assert_eq!(filtered(&retriever, "absent", &["repo=nope"]).beyond.unwrap().points, 0);
    assert_eq!(look_up(&retriever, "absent", 10).unwrap().beyond, None);
    assert_eq!(ids(&filtered(&retriever, "backoff", &["repo=shop|bank"])), ["1", "2"]);
}

#[test]
fn name_absent_under_a_filter_may_exist_without_it() {
    let store = store(&["retry_after", "RETRY-1 retry", "RETRY-9 retry"]);
    with_repos(&store, |index| if index == 2 { "bank" } else { "shop" });
    let found = filtered(&retriever(&store), "RETRY-9", &["repo=shop"]);
    let name = found.name.unwrap();
    assert!(name.is_absent() && name.beyond == Some(1), "{name:?}");
    let name = filtered(&retriever(&store), "RETRY-7", &["repo=shop"]).name.unwrap();
    assert!(name.is_absent() && name.beyond == Some(0), "{name:?}");
}

#[test]
fn hits_below_one_percent_of_the_best_are_cut() {
    let mut texts = vec!["common"; 300];
    texts.push("common rareword");
    let found = look_up(&retriever(&store(&texts)), "common rareword", 10).unwrap();
    assert_eq!((ids(&found), found.cut), (vec!["301".to_owned()], 9));
    // The control: without the rare word, all points should have the same score.
    let found = look_up(&retriever(&store(&texts)), "common", 10).unwrap();
    assert_eq!((found.hits.len(), found.cut), (10, 0));
}

#[test]
fn a_filter_is_of_texts_numbers_and_flags() {
    let store = store(&["word a", "word b", "word c"]);
    let payloads = [
        json!({"year": 2020, "draft": true, "doc": "7"}),
        json!({"year": 2021.5, "draft": false, "doc": 7}),
        json!({"year": "2022", "lines": {"start": 17}}),
    ];
    for (point, payload) in store.points.lock().unwrap().values_mut().zip(payloads) {
        point.payload.extend(payload.as_object().unwrap().clone());
    }
    let retriever = retriever(&store);
    for (condition, expected) in [
        ("year=2020", &["1"][..]),
        ("year=2022", &["3"]),
        ("year=2021.5|2022", &["2", "3"]),
        ("year>=2020", &["1", "2"]),
        ("year>2020", &["2"]),
        ("draft=true", &["1"]),
        ("doc=7", &["1", "2"]),
        ("doc=\"7\"", &["1"]),
        ("lines.start<=17", &["3"]),
    ] {
        assert_eq!(ids(&filtered(&retriever, "word", &[condition])), expected, "{condition}");
    }
    assert_eq!(ids(&filtered(&retriever, "word", &["year>=2020", "year<2021"])), ["1"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Tests what the proof is based on: a text with the name must have every dimension that the name needs.
    #[test]
    fn a_text_with_the_name_has_all_that_it_needs(
        before in "[ aB1_:.-]{0,6}",
        name in "[aAbB1_]{1,4}([:.-]{1,2}[aAbB1_]{1,4}){0,2}",
        behind in "[ aB1_:.-]{0,6}",
        is_upper in any::<bool>(),
        language in 0..Language::ALL.len(),
    ) {
        let written = if is_upper { name.to_uppercase() } else { name.clone() };
        let text = format!("the {before}{written}{behind} end");
        let prose = [Prose::Stemmed(Language::ALL[language]), Prose::AsWritten];
        for prose in prose {
            for encoder in [&FastEmbedBm25::with_prose(prose) as &dyn Encoder, &CodeSuperset::with_prose(prose)] {
                let document = encoder.document(&text).unwrap();
                let has_all = encoder.needed(&name).iter().all(|id| document.ids().contains(id));
                // Texts that contain the name only as a part of a longer one need not have all dimensions.
                if held(&text, &name).is_whole() {
                    prop_assert!(has_all, "{name:?} in {text:?}");
                }
            }
        }
    }
}

/// Compares the text with the name as the retriever does.
fn held(text: &str, name: &str) -> NameMatch {
    let (memory, encoder) = (Memory::default(), CodeSuperset::new());
    let described = self::store(&[]).collection.lock().unwrap().clone().unwrap();
    let contract = Some(encoder.contract());
    *memory.collection.lock().unwrap() = Some(forage_lookup::Collection { contract, ..described });
    let payload = json!({ "text": text }).as_object().unwrap().clone();
    let point =
        Point { id: forage_lookup::PointId::Number(1), vector: encoder.document(text).unwrap(), payload };
    memory.upsert(vec![point], "text-sparse", &Stop::never()).unwrap();
    let retriever = Retriever { encoder: None, ..retriever(&Arc::new(memory)) };
    let found = look_up(&retriever, name, 1).unwrap();
    found.held.first().copied().unwrap_or(NameMatch::Unknown)
}
