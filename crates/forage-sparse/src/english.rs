//! What the encodings share: Python's notion of a word, English stop words and stems, and ids of words.

use std::collections::hash_map::Entry;
use std::sync::LazyLock;

use foldhash::{HashMap, HashMapExt as _, HashSet};
use rust_stemmers::{Algorithm, Stemmer};
use unicode_general_category::{GeneralCategory, get_general_category};

/// The 179 words of NLTK, which FastEmbed's `english.txt` has.
static STOP_WORDS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| include_str!("english_stop_words.txt").lines().collect());

/// Whether FastEmbed leaves the word out. Expects lower case.
pub(crate) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(word)
}

/// `\w` of Python's `re` on text: letters, numbers of any kind, `_`. Rust's `is_alphanumeric` is another set: it takes
/// combining marks for letters.
pub(crate) fn is_word_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric() || character == '_';
    }
    use GeneralCategory::{
        DecimalNumber, LetterNumber, LowercaseLetter, ModifierLetter, OtherLetter, OtherNumber,
        TitlecaseLetter, UppercaseLetter,
    };
    matches!(
        get_general_category(character),
        UppercaseLetter
            | LowercaseLetter
            | TitlecaseLetter
            | ModifierLetter
            | OtherLetter
            | DecimalNumber
            | LetterNumber
            | OtherNumber
    )
}

/// FastEmbed's dimension of a word: the absolute value of its 32-bit murmur3 hash, taken as signed.
pub(crate) fn dimension(word: &str) -> u32 {
    (murmur3_32::Murmur3::hash(0, word.as_bytes()) as i32).unsigned_abs()
}

/// Stems of Porter's second English algorithm. A text has its words more than once, and a stem costs more than
/// looking it up.
pub(crate) struct Stems {
    stemmer: Stemmer,
}

impl Stems {
    pub(crate) fn new() -> Self {
        Self { stemmer: Stemmer::create(Algorithm::English) }
    }

    /// Expects lower case.
    pub(crate) fn of<'a>(&self, word: &'a str) -> std::borrow::Cow<'a, str> {
        self.stemmer.stem(word)
    }
}

/// How often each word comes, of words with counts, in the order in which the words come first.
pub(crate) fn counts<'a>(words: impl Iterator<Item = (&'a str, u32)>) -> Vec<(&'a str, u32)> {
    let words_of_a_chunk = 256;
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(words_of_a_chunk);
    let mut counts: Vec<(&str, u32)> = Vec::with_capacity(words_of_a_chunk);
    for (word, count) in words {
        match places.entry(word) {
            Entry::Occupied(place) => counts[*place.get()].1 += count,
            Entry::Vacant(place) => {
                place.insert(counts.len());
                counts.push((word, count));
            }
        }
    }
    counts
}
