//! Fuzz tests with texts of arbitrary bytes.

use forage_fuzz::target;
use forage_lookup::{Bm42, CodeSuperset, Encoder, FastEmbedBm25};

#[test]
fn any_text_is_encoded_in_finite_weights() {
    let (prose, all, bm42) = (FastEmbedBm25::new(), CodeSuperset::new(), Bm42::new());
    let seeds = forage_fuzz::seeds([
        "fn get_user_name(running: Users) -> for the Error in E0308 { naïve() }",
        "Playing the players, play 变unseen。 qqq get_user [MASK] zebra",
        "parseHTTPHeader ORA-00942 IPv4Addr ÜberGröße __init__ sha256Sum\u{301} İI ſ",
    ]);
    target!(&seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let documents = [&prose as &dyn Encoder, &all].map(|encoder| encoder.document(&text));
        let queries = [&prose as &dyn Encoder, &all, &bm42].map(|encoder| encoder.query(&text));
        for vector in documents.into_iter().chain(queries).map(Result::unwrap) {
            assert_eq!(vector.ids().len(), vector.weights().len());
            assert!(vector.ids().is_sorted_by(|a, b| a < b));
            assert!(vector.weights().iter().all(|weight| weight.is_finite()));
        }
    });
}
