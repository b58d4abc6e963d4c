//! Files that are damaged, or made to do harm.

use std::path::Path;

use forage_lookup::{Bm42, Encoder, EncodingError, limits};
use serde_json::{Value, json};

use super::model::{self, PIECES, SMALL, configuration, file, safetensors, tensors, write};

/// What is said of the directory; it must name the file and say what to do.
fn refusal(directory: &Path, name: &str) -> String {
    let Some(EncodingError::Unavailable(message)) = Bm42::open(directory).err() else {
        panic!("{name} was taken");
    };
    assert!(message.contains(name), "{message}");
    assert!(message.len() < 600, "{message}");
    message
}

/// A directory with a small model, and its header and numbers.
fn small() -> (tempfile::TempDir, Value, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let tensors = tensors(SMALL);
    write(directory.path(), SMALL, &tensors);
    let (header, data) = safetensors(&tensors);
    (directory, header, data)
}

fn put(directory: &Path, name: &str, contents: impl AsRef<[u8]>) {
    std::fs::write(directory.join(name), contents).unwrap();
}

const WEIGHTS: &str = "model.safetensors";
const TABLE: &str = "embeddings.word_embeddings.weight";

#[test]
fn weights_that_end_too_early_are_refused_wherever_they_end() {
    let (directory, header, data) = small();
    let whole = file(&header, &data);
    let header = whole.len() - data.len();
    Bm42::open(directory.path()).unwrap();
    let ends = (0..24).chain(header - 20..header + 20).chain((header..whole.len()).step_by(1009));
    for end in ends.chain([whole.len() - 4, whole.len() - 1]) {
        put(directory.path(), WEIGHTS, &whole[..end]);
        refusal(directory.path(), WEIGHTS);
    }
}

#[test]
fn headers_that_promise_too_much_are_refused() {
    let (directory, header, data) = small();
    let text = header.to_string();
    for length in [u64::MAX, u64::MAX - 7, 1 << 63, 1 << 40, limits::WEIGHTS_HEADER_BYTES + 1, 0, 1] {
        put(directory.path(), WEIGHTS, [&length.to_le_bytes(), text.as_bytes(), &data].concat());
        refusal(directory.path(), WEIGHTS);
    }
    let deep = "[".repeat(1 << 19);
    let long = format!("{{\"{}\":1}}", "a".repeat(limits::WEIGHTS_HEADER_BYTES as usize));
    for text in ["[]", "null", "7", "{}", "\u{fffd}", &deep, &long] {
        let length = text.len() as u64;
        put(directory.path(), WEIGHTS, [&length.to_le_bytes(), text.as_bytes(), &data].concat());
        refusal(directory.path(), WEIGHTS);
    }
}

#[test]
fn tensors_that_are_not_where_the_header_says_are_refused() {
    let (directory, header, data) = small();
    let end = data.len();
    let bytes = 4 * SMALL.width * PIECES.len();
    let places = [
        json!([end, end + bytes]),
        json!([end - bytes + 1, end + 1]),
        json!([u64::MAX - 3, u64::MAX]),
        json!([u64::MAX, bytes - 1]),
        json!([bytes, 0]),
        json!([0, bytes - 4]),
        json!([0, bytes + 4]),
        json!([-4, bytes]),
        json!([0.0, bytes]),
        json!([0]),
        json!({"0": 0, "1": bytes}),
        Value::Null,
    ];
    for place in places {
        let mut header = header.clone();
        header[TABLE]["data_offsets"] = place;
        put(directory.path(), WEIGHTS, file(&header, &data));
        let message = refusal(directory.path(), WEIGHTS);
        assert!(message.contains(TABLE), "{message}");
    }
}

#[test]
fn a_file_whose_tensors_share_their_bytes_is_refused() {
    let (directory, mut header, data) = small();
    for tensor in header.as_object_mut().unwrap().values_mut() {
        let Some(place) = tensor.get_mut("data_offsets") else { continue };
        *place = json!([0, place[1].as_u64().unwrap() - place[0].as_u64().unwrap()]);
    }
    // Where there are as many bytes as the tensors have together, nothing is gained by sharing.
    put(directory.path(), WEIGHTS, file(&header, &data));
    Bm42::open(directory.path()).unwrap();
    put(directory.path(), WEIGHTS, file(&header, &data[..data.len() / 2]));
    assert!(refusal(directory.path(), WEIGHTS).contains("can't be at"));
}

#[test]
fn tensors_of_another_shape_or_type_are_refused() {
    let (directory, header, data) = small();
    let count = PIECES.len();
    let shapes = [
        json!([count, SMALL.width + 1]),
        json!([SMALL.width, count]),
        json!([count * SMALL.width]),
        json!([1u64 << 62, SMALL.width]),
        json!([u64::MAX, u64::MAX]),
        json!([count as f64, SMALL.width]),
        json!([-1, SMALL.width]),
        json!([]),
        Value::Null,
    ];
    for shape in shapes {
        let mut header = header.clone();
        header[TABLE]["shape"] = shape;
        put(directory.path(), WEIGHTS, file(&header, &data));
        assert!(refusal(directory.path(), WEIGHTS).contains(TABLE));
    }
    for name in header.as_object().unwrap().keys().filter(|name| *name != "__metadata__") {
        let mut turned = header.clone();
        turned[name]["dtype"] = json!("BF16");
        let mut bent = header.clone();
        bent[name]["shape"].as_array_mut().unwrap().push(json!(1));
        let mut lacking = header.clone();
        lacking.as_object_mut().unwrap().remove(name);
        let mut empty = header.clone();
        empty[name] = json!({});
        for changed in [turned, bent, lacking, empty] {
            put(directory.path(), WEIGHTS, file(&changed, &data));
            // Of the last layer no more is needed than what gives attention.
            let is_needed = !name.starts_with("encoder.layer.2.")
                || name.contains("self.query") && !name.contains("value")
                || name.contains("self.key");
            if is_needed {
                assert!(refusal(directory.path(), WEIGHTS).contains(name));
            } else {
                Bm42::open(directory.path()).unwrap();
            }
        }
    }
}

#[test]
fn files_over_their_limits_are_refused_unread() {
    let (directory, ..) = small();
    for (name, limit) in [
        (WEIGHTS, limits::WEIGHTS_BYTES),
        ("config.json", limits::MODEL_CONFIGURATION_BYTES),
        ("vocab.txt", limits::VOCABULARY_BYTES),
    ] {
        let path = directory.path().join(name);
        let old = std::fs::read(&path).unwrap();
        std::fs::File::options().write(true).open(&path).unwrap().set_len(limit + 1).unwrap();
        assert!(refusal(directory.path(), name).contains(&limit.to_string()));
        std::fs::write(&path, old).unwrap();
        Bm42::open(directory.path()).unwrap();
    }
}

#[test]
fn weights_that_are_no_numbers_give_an_error_and_no_vector() {
    let (directory, ..) = small();
    for value in [f32::NAN, f32::INFINITY, f32::MAX] {
        let mut tensors = tensors(SMALL);
        tensors.get_mut("encoder.layer.1.output.dense.weight").unwrap().1.fill(value);
        write(directory.path(), SMALL, &tensors);
        let encoder = Bm42::open(directory.path()).unwrap();
        let Err(EncodingError::Unavailable(message)) = encoder.document("play the zebra") else {
            panic!("a vector of {value}");
        };
        assert!(message.contains(WEIGHTS), "{message}");
        assert_eq!(encoder.query("play the zebra").unwrap().ids().len(), 2);
    }
}

#[test]
fn a_vocabulary_larger_than_the_models_is_refused() {
    let (directory, ..) = small();
    put(directory.path(), "vocab.txt", PIECES.join("\n") + "\nmore\n");
    assert!(refusal(directory.path(), WEIGHTS).contains("vocab.txt"));
    put(directory.path(), "vocab.txt", PIECES[..PIECES.len() - 1].join("\n"));
    Bm42::open(directory.path()).unwrap();
}

#[test]
fn configurations_of_no_possible_model_are_refused() {
    let (directory, ..) = small();
    let changes = [
        ("num_attention_heads", json!(0)),
        ("num_attention_heads", json!(4)),
        ("num_attention_heads", json!("3")),
        ("num_hidden_layers", json!(0)),
        ("num_hidden_layers", json!(u64::MAX)),
        ("num_hidden_layers", json!(limits::MODEL_LAYERS + 1)),
        ("hidden_size", json!(0)),
        ("hidden_size", json!(1u64 << 40)),
        ("intermediate_size", json!(-1)),
        ("hidden_act", json!("relu")),
        ("model_type", json!("distilbert")),
        ("position_embedding_type", json!("relative_key")),
    ];
    for (name, value) in changes {
        let mut configuration = configuration(SMALL);
        configuration[name] = value;
        put(directory.path(), "config.json", configuration.to_string());
        refusal(directory.path(), "config.json");
    }
    for text in ["", "{", "\u{0}"] {
        put(directory.path(), "config.json", text);
        refusal(directory.path(), "config.json");
    }
    // One that is of another model than the weights: they don't fit.
    let mut other = configuration(SMALL);
    other["num_hidden_layers"] = json!(SMALL.layers + 1);
    put(directory.path(), "config.json", other.to_string());
    refusal(directory.path(), WEIGHTS);
    std::fs::remove_file(directory.path().join("config.json")).unwrap();
    refusal(directory.path(), WEIGHTS);
}

#[test]
fn a_directory_without_a_vocabulary_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for path in [directory.path().to_owned(), directory.path().join("not-there")] {
        let message = refusal(&path, &path.display().to_string());
        assert!(message.contains("tokenizer.json") && message.contains("vocab.txt"), "{message}");
    }
    std::fs::create_dir(directory.path().join("vocab.txt")).unwrap();
    assert!(refusal(directory.path(), "vocab.txt").contains("is no file"));
    std::fs::remove_dir(directory.path().join("vocab.txt")).unwrap();
    for text in ["", "\n\n", "play\n##ing\n", "[CLS]\n[SEP]\n"] {
        put(directory.path(), "vocab.txt", text);
        assert!(refusal(directory.path(), "vocab.txt").contains("it lacks ["));
    }
    put(directory.path(), "vocab.txt", b"[CLS]\n[SEP]\n\xff\n");
    refusal(directory.path(), "vocab.txt");
    // A vocabulary is no reason to leave damaged weights out.
    model::write_vocabulary(directory.path());
    Bm42::open(directory.path()).unwrap();
    put(directory.path(), WEIGHTS, "");
    refusal(directory.path(), WEIGHTS);
}

#[test]
fn a_tokenizer_that_cuts_in_another_way_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let tokenizer = super::tokenizer();
    put(directory.path(), "tokenizer.json", tokenizer.to_string());
    Bm42::open(directory.path()).unwrap();
    let changes = [
        ("/model/type", json!("BPE")),
        ("/model/type", Value::Null),
        ("/model/unk_token", json!("<unk>")),
        ("/model/continuing_subword_prefix", json!("▁")),
        ("/model/max_input_chars_per_word", json!(u64::MAX)),
        ("/normalizer/type", json!("NFC")),
        ("/normalizer/lowercase", json!(false)),
        ("/normalizer/strip_accents", json!(false)),
        ("/normalizer/clean_text", json!("a".repeat(5000))),
        ("/normalizer", Value::Null),
        ("/pre_tokenizer/type", json!("Whitespace")),
        ("/model/vocab", json!([])),
        ("/model/vocab/play", json!(-1)),
        ("/model/vocab/play", json!(1u64 << 32)),
    ];
    for (pointer, value) in changes {
        let mut changed = tokenizer.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        put(directory.path(), "tokenizer.json", changed.to_string());
        refusal(directory.path(), "tokenizer.json");
    }
    for text in ["", "{}", "[", &"[".repeat(1 << 20)] {
        put(directory.path(), "tokenizer.json", text);
        refusal(directory.path(), "tokenizer.json");
    }
}
