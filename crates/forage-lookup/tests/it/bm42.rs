//! BM42: a small model of random weights against the formulas, word pieces, and recorded vectors.
#![expect(clippy::disallowed_methods, reason = "tests make the files of their own models")]
#![expect(clippy::panic, reason = "a test fails by panicking")]

mod hostile;
pub(crate) mod model;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use forage_lookup::{Bm42, Contract, Encoder, EncodingError, SparseVector};
use serde_json::{Value, json};

use self::model::{MINI_LM, PIECES, SMALL, Shape, Tensors, attention, tensors, write, write_vocabulary};

/// Names a directory with the vocabulary of all-MiniLM-L6-v2, and with its weights.
const MINILM: &str = "FORAGE_TEST_MINILM";

/// The test's vocabulary as the tokenizers library writes it.
pub(crate) fn tokenizer() -> Value {
    let vocabulary: BTreeMap<&str, usize> = PIECES.into_iter().zip(0..).collect();
    json!({
        "version": "1.0", "truncation": {"max_length": 128}, "padding": null,
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
            "lowercase": true,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    })
}

/// With a vocabulary of these pieces alone.
fn queries(pieces: &[&str]) -> Bm42 {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("vocab.txt"), pieces.join("\n")).unwrap();
    Bm42::open(directory.path()).unwrap()
}

/// FastEmbed's dimension of a stem.
fn dimension(stem: &str) -> u32 {
    (murmur3_32::Murmur3::hash(0, stem.as_bytes()) as i32).unsigned_abs()
}

fn ids(stems: &[&str]) -> Vec<u32> {
    stems.iter().map(|stem| dimension(stem)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Holds the weights of a text to the formulas: of each stem, by the tokens of its words.
fn check(
    encoder: &Bm42,
    (shape, tensors): (Shape, &Tensors),
    text: &str,
    tokens: &[&str],
    stems: &[(&str, Range<usize>)],
) {
    let attention = attention(shape, tensors, tokens);
    let mut expected: BTreeMap<u32, f64> = BTreeMap::new();
    for (stem, places) in stems {
        let weight = attention[places.clone()].iter().sum::<f64>().ln_1p().sqrt();
        let highest = expected.entry(dimension(stem)).or_default();
        *highest = highest.max(weight);
    }
    let document = encoder.document(text).unwrap();
    assert_eq!(document.ids(), expected.keys().copied().collect::<Vec<_>>(), "{text}");
    for (weight, expected) in document.weights().iter().zip(expected.values()) {
        assert!((f64::from(*weight) - expected).abs() < 2e-6, "{text}: {weight}, not {expected}");
    }
    assert_eq!(encoder.query(text).unwrap(), SparseVector::ones(expected.into_keys()), "{text}");
}

#[test]
fn weights_of_documents_are_those_of_the_formulas() {
    let directory = tempfile::tempdir().unwrap();
    let tensors = tensors(SMALL);
    write(directory.path(), SMALL, &tensors);
    let encoder = Bm42::open(directory.path()).unwrap();
    let model = (SMALL, &tensors);

    check(&encoder, model, "zebra", &["[CLS]", "zebra", "[SEP]"], &[("zebra", 1..2)]);
    check(
        &encoder,
        model,
        "Playing the players, play 变unseen。 qqq get_user",
        &[
            "[CLS]", "play", "##ing", "the", "play", "##er", "##s", "[UNK]", "play", "变", "un", "##see",
            "##n", "[UNK]", "[UNK]", "get", "_", "user", "[SEP]",
        ],
        &[
            ("play", 1..3),
            ("player", 4..7),
            ("play", 8..9),
            ("变", 9..10),
            ("unseen", 10..13),
            ("get", 15..16),
            ("user", 17..18),
        ],
    );
    // A text that is too long: the model sees 254 pieces, and of the last word the beginning.
    let mut tokens = vec!["the"; 256];
    (tokens[0], tokens[1], tokens[254], tokens[255]) = ("[CLS]", "zebra", "un", "[SEP]");
    let text = format!("zebra {}unseen user", "the ".repeat(252));
    check(&encoder, model, &text, &tokens, &[("zebra", 1..2), ("un", 254..255)]);
}

#[test]
fn without_a_configuration_a_model_has_the_shape_of_minilm() {
    let directory = tempfile::tempdir().unwrap();
    let tensors = tensors(MINI_LM);
    write(directory.path(), MINI_LM, &tensors);
    std::fs::remove_file(directory.path().join("config.json")).unwrap();
    let encoder = Bm42::open(directory.path()).unwrap();
    check(
        &encoder,
        (MINI_LM, &tensors),
        "get user name",
        &["[CLS]", "get", "user", "name", "[SEP]"],
        &[("get", 1..2), ("user", 2..3), ("name", 3..4)],
    );
}

#[test]
fn texts_without_a_word_that_counts_are_empty() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), SMALL, &tensors(SMALL));
    let encoder = Bm42::open(directory.path()).unwrap();
    for text in ["", " \t\r\n\u{3000}", "the", "The THE a i", "._[]", "[CLS] [MASK]", "qqq", "\0\u{200b}"] {
        assert!(encoder.document(text).unwrap().is_empty(), "{text:?}");
        assert!(encoder.query(text).unwrap().is_empty(), "{text:?}");
    }
}

#[test]
fn queries_need_no_weights_and_documents_do() {
    let directory = tempfile::tempdir().unwrap();
    write_vocabulary(directory.path());
    let encoder = Bm42::open(directory.path()).unwrap();
    assert_eq!(encoder.query("play").unwrap().weights(), [1.0]);
    let error = encoder.document("play").unwrap_err();
    assert!(matches!(error, EncodingError::QueriesOnly { encoder: Bm42::NAME, .. }));
    assert!(error.to_string().contains("model.safetensors"), "{error}");
}

#[test]
fn words_are_in_lower_case_without_accents_and_marks_that_are_not_seen() {
    let encoder = queries(&PIECES);
    for (text, stems) in [
        ("café CAFÉ cafe\u{301}", &["cafe"][..]),
        // No capital sigma becomes a final one, and no sharp s two letters.
        ("ΌΔΟΣ Straße", &["οδοσ", "straße"]),
        ("İ", &[]),
        ("get\u{200b}user", &[]),
        ("us\u{200b}er\u{7}", &["user"]),
        ("us\u{fffd}er", &["user"]),
        ("get\u{2028}user", &["get", "user"]),
        ("变量zebra", &["变", "量", "zebra"]),
        ("get_user.name", &["get", "user", "name"]),
        // Of punctuation, that of ASCII alone is left out.
        ("get—user", &["get", "—", "user"]),
        ("unseen seen", &["unseen", "seen"]),
        // One unknown piece makes the whole word unknown.
        ("unseenx getuser 12 13", &["12"]),
        ("[MASK] mask [mask]", &["mask"]),
        ("get[SEP]user", &["get", "user"]),
    ] {
        assert_eq!(encoder.query(text).unwrap().ids(), ids(stems), "{text:?}");
    }
}

#[test]
fn words_of_more_than_a_hundred_characters_are_unknown() {
    let encoder = queries(&PIECES);
    for (character, piece) in [("a", "a"), ("á", "a")] {
        let query = |count: usize| encoder.query(&format!("{} zebra", character.repeat(count))).unwrap();
        assert_eq!(query(100).ids(), ids(&[&piece.repeat(100), "zebra"]));
        assert_eq!(query(101).ids(), ids(&["zebra"]));
        assert_eq!(query(1 << 20).ids(), ids(&["zebra"]));
    }
}

#[test]
fn words_after_the_last_token_have_no_dimension() {
    let encoder = queries(&PIECES);
    let query = |before: usize, text: &str| encoder.query(&("the ".repeat(before) + text)).unwrap();
    assert_eq!(query(253, "zebra user").ids(), ids(&["zebra"]));
    assert_eq!(query(254, "zebra user").ids(), ids(&[]));
    assert_eq!(query(251, "unseen user").ids(), ids(&["unseen"]));
    assert_eq!(query(252, "unseen user").ids(), ids(&["unse"]));
    assert_eq!(query(253, "unseen user").ids(), ids(&["un"]));
    // What stands for itself and what is unknown take a place too.
    assert_eq!(query(252, "[MASK] zebra user").ids(), ids(&["zebra"]));
    assert_eq!(query(252, "[MASK] [MASK] zebra").ids(), ids(&[]));
    assert_eq!(query(252, "qqq zebra user").ids(), ids(&["zebra"]));
    assert_eq!(query(1 << 16, "[MASK]").ids(), ids(&[]));
}

#[test]
fn both_files_of_a_vocabulary_say_the_same() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("tokenizer.json"), tokenizer().to_string()).unwrap();
    let (one, other) = (Bm42::open(directory.path()).unwrap(), queries(&PIECES));
    for text in ["Playing the players", "变量 café—unseen", "[MASK] getuser aaa 12"] {
        assert_eq!(one.query(text), other.query(text));
        assert!(!one.query(text).unwrap().is_empty());
    }
    // Where both are there, it is `tokenizer.json` that counts: FastEmbed reads no other.
    std::fs::write(directory.path().join("vocab.txt"), "damaged").unwrap();
    Bm42::open(directory.path()).unwrap();
}

#[test]
fn queries_fit_collections_of_its_own_contract_and_of_docminds() {
    let encoder = queries(&PIECES);
    assert_eq!(encoder.contract().as_str(), "bm42/1 max_tokens=256 language=english doc=unpadded query=ones");
    assert!(encoder.reads(&encoder.contract()));
    assert!(encoder.reads(&Contract::of_collection("bm42:doc=embed;query=query_embed:v1")));
    for other in ["bm42:doc=embed;query=embed:v1", "bm42/1", "fastembed-bm25/1", ""] {
        assert!(!encoder.reads(&Contract::of_collection(other)), "{other}");
    }
    let other = forage_lookup::FastEmbedBm25::new();
    assert!(other.reads(&other.contract()) && !other.reads(&encoder.contract()));
}

/// A recorded encoding with all-MiniLM-L6-v2.
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

#[test]
fn queries_equal_recorded_ones_with_a_vocabulary_that_has_their_words() {
    let mut compared = 0;
    // Which words are unknown, and where a long text ends, only the real vocabulary says.
    for Case { text, query, .. } in oracle() {
        if !text.is_ascii() || text.len() >= 200 {
            continue;
        }
        let lower = text.to_lowercase();
        let words = lower.split(|character: char| !character.is_ascii_alphanumeric());
        let marks = lower.split("").filter(|mark| !mark.trim().is_empty());
        let pieces: Vec<&str> = ["[CLS]", "[SEP]", "[UNK]"].into_iter().chain(words).chain(marks).collect();
        assert_eq!(queries(&pieces).query(&text).unwrap().ids(), query, "{text}");
        compared += 1;
    }
    assert!(compared >= 30, "{compared}");
}

/// The real model; `None`, told on stderr, where none is named.
#[expect(clippy::disallowed_macros, reason = "a test says that it is skipped")]
fn minilm() -> Option<Bm42> {
    let Some(directory) = std::env::var_os(MINILM) else {
        eprintln!("skipped: {MINILM} does not name a directory of all-MiniLM-L6-v2");
        return None;
    };
    Some(Bm42::open(&PathBuf::from(directory)).unwrap())
}

#[test]
fn queries_equal_recorded_ones_with_the_real_vocabulary() {
    let Some(encoder) = minilm() else { return };
    for Case { text, query, .. } in oracle() {
        assert_eq!(encoder.query(&text).unwrap().ids(), query, "{text}");
    }
}

#[test]
#[expect(clippy::disallowed_macros, reason = "a test tells how near it came")]
fn documents_equal_recorded_ones_with_the_real_weights() {
    let Some(encoder) = minilm() else { return };
    let mut difference = 0f64;
    for Case { text, document: expected, .. } in oracle() {
        let document = encoder.document(&text).unwrap();
        assert!(document.ids().iter().eq(expected.iter().map(|(id, _)| id)), "{text}");
        for (weight, (_, expected)) in document.weights().iter().zip(expected) {
            difference = difference.max((f64::from(*weight) - expected).abs());
        }
    }
    eprintln!("weights differ from recorded ones by {difference:e} at most");
    assert!(difference < 1e-6, "{difference:e}");
}
