//! Tests of the latent vectors of words and texts.

use super::*;
use crate::tokens::stem;

fn text(kind: TextKind, words: &str) -> LatentText {
    let mut text = LatentText::default();
    words.split(' ').for_each(|word| text.push(&stem(word), kind, 1.0));
    text
}

fn file(words: &str) -> LatentVector {
    text(TextKind::File, words).place()
}

#[test]
fn the_table_is_whole() {
    let words = learned().unwrap();
    assert!(words.len() > 5_000, "{}", words.len());
    // The vocabulary must use the same stems as the index. Words with other stems would never be found.
    let stems = ["configur", "delet", "pars", "password", "serial"];
    assert!(stems.iter().all(|stem| words.contains_key(stem)));
    assert!(words.values().all(|word| word.place.iter().any(|part| *part != 0)));
}

#[test]
fn a_question_is_nearest_to_what_it_is_about_in_other_words() {
    let files = [
        file("login session password credentials token user"),
        file("image pixel color width height canvas"),
        file("thread mutex lock atomic spawn queue"),
        file("socket listen connect port packet address"),
    ];
    let mut all = LatentSum::default();
    files.iter().for_each(|place| all.push(place));
    let nearest = |question: &str| {
        let query = LatentQuery::new(&text(TextKind::Question, question), &all);
        let near = files.map(|place| query.similarity(&place));
        (0..files.len()).max_by(|&left, &right| near[left].total_cmp(&near[right])).unwrap()
    };
    assert_eq!(nearest("authentication secret"), 0);
    assert_eq!(nearest("picture rgb bitmap"), 1);
    assert_eq!(nearest("concurrent race deadlock"), 2);
    assert_eq!(nearest("tcp udp network host"), 3);
}

#[test]
fn places_are_kept_as_they_are_and_summed_in_any_order() {
    let places = [file("login password"), file("image color"), file("thread lock queue")];
    for place in places {
        assert_eq!(LatentVector::from_columns(place.to_columns()), place);
    }
    let sum = |order: [usize; 3]| {
        let mut sum = LatentSum::default();
        order.iter().for_each(|&index| sum.push(&places[index]));
        sum
    };
    let (mut joined, mut rest) = (LatentSum::default(), LatentSum::default());
    joined.push(&places[2]);
    places[..2].iter().for_each(|place| rest.push(place));
    joined.join(&rest);
    assert_eq!((sum([0, 1, 2]), sum([2, 0, 1])), (joined, joined));
}

#[test]
fn text_without_known_words_has_no_vector() {
    let nowhere = file("xyzzy frobnicate");
    assert!(nowhere.is_nowhere());
    let mut all = LatentSum::default();
    all.push(&nowhere);
    assert_eq!(all, LatentSum::default());
    let query = LatentQuery::new(&text(TextKind::Question, "image"), &all);
    assert_eq!((query.similarity(&nowhere), query.similarity(&file("image color")) > 0.0), (0.0, true));
    let nothing = LatentQuery::new(&text(TextKind::Question, "xyzzy"), &all);
    assert_eq!(nothing.similarity(&file("image color")), 0.0);
}
