//! Compares vectors with those of FastEmbed's own classes, number by number. The expected vectors are written
//! by `golden/make.py`.

use forage_lookup::{CodeSuperset, Encoder, FastEmbedBm25, Language, Prose, SparseVector};
use serde_json::Value;

/// Texts chosen by `make.py`.
const TEXTS: &str = include_str!("../golden/bm25.jsonl");

/// Texts with their vectors from a third-party run of FastEmbed.
const ORACLE: &str = include_str!("../golden/bm25_oracle.json");

/// Texts in every language, and without a stemmer, chosen by `make_languages.py`.
const LANGUAGES: &str = include_str!("../golden/languages.jsonl");

/// The maximum difference of two equal weights.
const TOLERANCE: f64 = 1e-6;

struct Case {
    text: String,
    /// Sorted by id.
    document: Vec<(u32, f64)>,
    /// In ascending order.
    query: Vec<u32>,
}

impl Case {
    fn from_value(value: &Value, document: &str) -> Self {
        let id = |value: &Value| u32::try_from(value.as_u64().unwrap()).unwrap();
        let pairs = value[document].as_array().unwrap();
        Self {
            text: value["text"].as_str().unwrap().to_owned(),
            document: pairs.iter().map(|pair| (id(&pair[0]), pair[1].as_f64().unwrap())).collect(),
            query: value["query"].as_array().unwrap().iter().map(id).collect(),
        }
    }
}

fn texts() -> Vec<Case> {
    TEXTS.lines().map(|line| Case::from_value(&serde_json::from_str(line).unwrap(), "document")).collect()
}

fn oracle() -> Vec<Case> {
    let file: Value = serde_json::from_str(ORACLE).unwrap();
    file["cases"].as_array().unwrap().iter().map(|case| Case::from_value(case, "doc")).collect()
}

/// Finds the first difference between a vector and the expected one.
fn difference(expected: &[(u32, f64)], vector: &SparseVector) -> Option<String> {
    let ids: Vec<u32> = expected.iter().map(|&(id, _)| id).collect();
    if ids != vector.ids() {
        return Some(format!("ids {ids:?} expected, got {:?}", vector.ids()));
    }
    if ids.len() != vector.weights().len() {
        return Some(format!("{} ids have {} weights", ids.len(), vector.weights().len()));
    }
    expected.iter().zip(vector.weights()).find_map(|(&(id, weight), &got)| {
        let is_near = (weight - f64::from(got)).abs() <= TOLERANCE;
        (!is_near).then(|| format!("{id} should weigh {weight}, weighs {got}"))
    })
}

fn differences(cases: &[Case]) -> Vec<String> {
    differences_of(&FastEmbedBm25::new(), cases)
}

fn differences_of(encoder: &dyn Encoder, cases: &[Case]) -> Vec<String> {
    let mut found = Vec::new();
    for case in cases {
        let start: String = case.text.chars().take(80).collect();
        let ones: Vec<_> = case.query.iter().map(|&id| (id, 1.0)).collect();
        let document = difference(&case.document, &encoder.document(&case.text).unwrap());
        let query = difference(&ones, &encoder.query(&case.text).unwrap());
        found.extend(document.map(|difference| format!("document {start:?}: {difference}")));
        found.extend(query.map(|difference| format!("query {start:?}: {difference}")));
    }
    found
}

#[test]
fn documents_and_queries_equal_those_of_fastembed() {
    let cases = texts();
    assert!(cases.len() >= 260, "{} texts: run make.py", cases.len());
    assert_eq!(differences(&cases), [""; 0]);
}

#[test]
fn documents_and_queries_equal_those_of_the_oracle() {
    let cases = oracle();
    assert!(cases.len() >= 30, "{} texts", cases.len());
    assert_eq!(differences(&cases), [""; 0]);
}

/// Reads the cases of each language. `AsWritten` has those without a stemmer.
fn languages() -> Vec<(Prose, Vec<Case>)> {
    let lines: Vec<Value> = LANGUAGES.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |prose: Prose| {
        let is_of = |line: &&Value| match (line["language"].as_str(), prose) {
            (name, Prose::Stemmed(language)) => name == Some(language.name()),
            (name, Prose::AsWritten) => name.is_none(),
        };
        lines.iter().filter(is_of).map(|line| Case::from_value(line, "document")).collect()
    };
    Prose::all().map(|prose| (prose, of(prose))).collect()
}

#[test]
fn every_language_and_none_equal_those_of_fastembed() {
    let all = languages();
    assert_eq!(all.len(), 19);
    for (prose, cases) in &all {
        assert!(cases.len() >= 5, "{prose:?} has {} texts: run make_languages.py", cases.len());
        assert_eq!(differences_of(&FastEmbedBm25::with_prose(*prose), cases), [""; 0], "{prose:?}");
    }
    // The control: another language should give different vectors.
    for (prose, cases) in &all {
        let other =
            if *prose == Prose::Stemmed(Language::German) { Language::English } else { Language::German };
        assert!(
            !differences_of(&FastEmbedBm25::with_prose(Prose::Stemmed(other)), cases).is_empty(),
            "{prose:?}"
        );
    }
}

#[test]
fn a_contract_tells_languages_apart_and_who_reads_it() {
    assert_eq!(
        FastEmbedBm25::new().contract(),
        FastEmbedBm25::with_prose(Prose::Stemmed(Language::English)).contract()
    );
    // For English, collections of earlier versions have this contract.
    assert_eq!(
        FastEmbedBm25::new().contract().as_str(),
        "fastembed-bm25/1 k=1.2 b=0.75 avg_len=256 max_token=40 language=english"
    );
    for one in Prose::all() {
        for other in Prose::all() {
            let (ours, theirs) =
                (FastEmbedBm25::with_prose(one), FastEmbedBm25::with_prose(other).contract());
            assert_eq!(ours.reads(&theirs), one == other, "{one:?} {other:?}");
            let code = CodeSuperset::with_prose(other).contract();
            assert_eq!(ours.reads(&code), one == other, "{one:?} {other:?}");
            assert_eq!(CodeSuperset::with_prose(one).reads(&code), one == other, "{one:?} {other:?}");
        }
    }
}

#[test]
fn every_changed_id_and_weight_of_the_golden_vectors_is_noticed() {
    let encoder = FastEmbedBm25::new();
    let mut changed = 0;
    // We skip the long texts, which have thousands of pairs of the same kinds.
    for mut case in texts().into_iter().filter(|case| case.document.len() < 200) {
        let document = encoder.document(&case.text).unwrap();
        let ones: Vec<_> = case.query.iter().map(|&id| (id, 1.0)).collect();
        for place in 0..case.document.len() {
            let kept = case.document[place];
            for pair in [(kept.0 ^ 1, kept.1), (kept.0, kept.1 + 3e-6), (kept.0, kept.1 - 3e-6)] {
                case.document[place] = pair;
                assert!(difference(&case.document, &document).is_some(), "{pair:?} in {:?}", case.text);
                changed += 1;
            }
            case.document[place] = kept;
        }
        if let Some(last) = case.document.pop() {
            assert!(difference(&case.document, &document).is_some(), "a missing {last:?} in {:?}", case.text);
            assert!(difference(&ones, &document).is_some(), "a query for a document: {:?}", case.text);
            changed += 1;
        }
    }
    assert!(changed > 1000, "{changed} changes");
}
