//! BERT's WordPiece tokenizer: splits a text into words, and each word into the longest pieces of the
//! vocabulary from left to right.

use std::sync::LazyLock;

use foldhash::{HashSet, HashSetExt as _};

use super::characters::{is_punctuation, normalized};
use crate::limits;

/// The vocabulary of all-MiniLM-L6-v2, one piece per line. It is the `vocab.txt` of Google's
/// bert-base-uncased, under the Apache License 2.0.
const VOCABULARY: &str = include_str!("vocabulary.txt");

/// The prefix of pieces that continue a word.
const CONTINUATION: &str = "##";

/// Special tokens, which are kept unchanged and are not words.
const SPECIAL: [&str; 5] = ["[CLS]", "[SEP]", "[UNK]", "[PAD]", "[MASK]"];

static PIECES: LazyLock<Pieces> = LazyLock::new(Pieces::new);

/// The vocabulary as sets.
struct Pieces {
    /// Pieces that begin a word.
    begins: HashSet<&'static str>,
    /// Pieces that continue a word, without the prefix.
    continues: HashSet<&'static str>,
    /// The length in bytes of the longest piece.
    longest: usize,
}

impl Pieces {
    fn new() -> Self {
        let mut pieces = Self { begins: HashSet::new(), continues: HashSet::new(), longest: 0 };
        for line in VOCABULARY.lines() {
            match line.strip_prefix(CONTINUATION) {
                Some(rest) => pieces.continues.insert(rest),
                None => pieces.begins.insert(line),
            };
            pieces.longest = pieces.longest.max(line.len());
        }
        pieces
    }

    /// Computes the end of each piece of a word. Returns `None` if the vocabulary lacks a piece.
    fn ends(&self, word: &str) -> Option<Vec<usize>> {
        let mut ends = Vec::new();
        let mut start = 0;
        while start < word.len() {
            let vocabulary = if start == 0 { &self.begins } else { &self.continues };
            let mut longest_first = (start + 1..=word.len().min(start + self.longest)).rev();
            start = longest_first
                .find(|&end| word.is_char_boundary(end) && vocabulary.contains(&word[start..end]))?;
            ends.push(start);
        }
        Some(ends)
    }
}

/// Returns the words of a text, including punctuation, whose pieces are all in the vocabulary. They are in
/// lower case and without accents. The model reads a limited number of tokens, so later words are missing and
/// the last one may be cut.
pub(super) fn words(text: &str) -> Vec<String> {
    // The model adds one token before the text and one after it.
    let mut words = Words { found: Vec::new(), room: limits::BM42_TOKENS - 2 };
    let mut rest = text;
    while words.room > 0
        && let Some((plain, after)) = split_at_special(rest)
    {
        words.add_text(plain);
        words.room = words.room.saturating_sub(1);
        rest = after;
    }
    words.add_text(rest);
    words.found
}

/// Splits a text around its first special token.
fn split_at_special(text: &str) -> Option<(&str, &str)> {
    text.match_indices('[').find_map(|(at, _)| {
        let after = SPECIAL.iter().find_map(|name| text[at..].strip_prefix(name))?;
        Some((&text[..at], after))
    })
}

struct Words {
    found: Vec<String>,
    /// The number of tokens that the model can still read.
    room: usize,
}

impl Words {
    /// Adds the words of a text without special tokens.
    fn add_text(&mut self, text: &str) {
        let mut word = String::new();
        let mut characters = 0;
        for character in normalized(text) {
            if self.room == 0 {
                return;
            }
            let is_alone = is_punctuation(character);
            if is_alone || character == ' ' {
                self.add_word(&std::mem::take(&mut word), characters);
                characters = 0;
            }
            if is_alone {
                self.add_word(character.encode_utf8(&mut [0; 4]), 1);
            } else if character != ' ' {
                // A word longer than this is unknown, regardless of its characters.
                if characters < limits::PIECED_WORD_CHARACTERS {
                    word.push(character);
                }
                characters += 1;
            }
        }
        self.add_word(&word, characters);
    }

    fn add_word(&mut self, word: &str, characters: usize) {
        if word.is_empty() || self.room == 0 {
            return;
        }
        let is_short = characters <= limits::PIECED_WORD_CHARACTERS;
        match is_short.then(|| PIECES.ends(word)).flatten() {
            // An unknown word counts as one token.
            None => self.room -= 1,
            Some(mut ends) => {
                ends.truncate(self.room);
                self.room -= ends.len();
                self.found.extend(ends.last().map(|&end| word[..end].to_owned()));
            }
        }
    }
}
