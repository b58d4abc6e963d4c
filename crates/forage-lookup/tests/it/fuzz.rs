//! Files of a model that go from hand to hand, with any bytes.

use std::fs;
use std::path::Path;

use forage_fuzz::target;
use forage_lookup::{Bm42, CodeSuperset, Encoder, FastEmbedBm25};

use crate::bm42::model::{PIECES, SMALL, tensors, write};
use crate::bm42::tokenizer;

const TEXT: &str = "Playing the players, play 变unseen。 qqq get_user [MASK] zebra";

/// What opens works; what it says is bounded by the text, and made of numbers.
fn use_model(directory: &Path) {
    let Ok(encoder) = Bm42::open(directory) else { return };
    let query = encoder.query(TEXT).unwrap();
    assert!(query.ids().len() <= TEXT.len());
    if let Ok(document) = encoder.document(TEXT) {
        assert!(document.weights().iter().all(|weight| weight.is_finite() && *weight >= 0.0), "{document:?}");
    }
}

#[test]
fn any_tokenizer_and_any_vocabulary_is_refused_or_cuts() {
    let directory = tempfile::tempdir().unwrap();
    let files = ["tokenizer.json", "vocab.txt"].map(|name| directory.path().join(name));
    let seeds = forage_fuzz::seeds([tokenizer().to_string(), PIECES.join("\n")]);
    target!(&seeds, |input| {
        let place = usize::from(!input.starts_with(b"{"));
        fs::write(&files[place], input).unwrap();
        let _ = fs::remove_file(&files[1 - place]);
        use_model(directory.path());
    });
}

#[test]
fn any_weights_and_any_configuration_are_refused_or_give_numbers() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), SMALL, &tensors(SMALL));
    let files = ["model.safetensors", "config.json"].map(|name| directory.path().join(name));
    let right = files.each_ref().map(|file| fs::read(file).unwrap());
    assert!(Bm42::open(directory.path()).unwrap().document(TEXT).is_ok());
    target!(&right, |input| {
        // Each beside the other as it should be.
        let place = usize::from(input.starts_with(b"{"));
        fs::write(&files[place], input).unwrap();
        fs::write(&files[1 - place], &right[1 - place]).unwrap();
        use_model(directory.path());
    });
}

#[test]
fn any_text_is_encoded_in_finite_weights() {
    let (prose, all) = (FastEmbedBm25::new(), CodeSuperset::new());
    let seeds = forage_fuzz::seeds([
        "fn get_user_name(running: Users) -> for the Error in E0308 { naïve() }",
        "parseHTTPHeader ORA-00942 IPv4Addr ÜberGröße __init__ sha256Sum\u{301} İI ſ",
    ]);
    target!(&seeds, |input| {
        let text = String::from_utf8_lossy(input);
        for encoder in [&prose as &dyn Encoder, &all] {
            for vector in [encoder.document(&text).unwrap(), encoder.query(&text).unwrap()] {
                assert_eq!(vector.ids().len(), vector.weights().len());
                assert!(vector.ids().is_sorted_by(|a, b| a < b));
                assert!(vector.weights().iter().all(|weight| weight.is_finite()));
            }
        }
    });
}
