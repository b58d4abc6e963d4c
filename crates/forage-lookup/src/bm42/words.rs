//! Which words of a text count, and as what.

use std::ops::Range;

use super::word_pieces::TextWord;
use crate::language::{Language, Stems};

/// The stem and the tokens of every word that is neither a stop word nor ASCII punctuation; FastEmbed keeps other
/// punctuation.
pub(super) fn stems<'a>(
    words: &'a [TextWord],
    stems: &'a Stems,
) -> impl Iterator<Item = (std::borrow::Cow<'a, str>, Range<usize>)> {
    words.iter().filter(|word| is_kept(&word.text)).map(|word| (stems.of(&word.text), word.places.clone()))
}

fn is_kept(word: &str) -> bool {
    let is_punctuation = matches!(word.as_bytes(), [byte] if byte.is_ascii_punctuation());
    !is_punctuation && !Language::English.is_stop_word(word)
}
