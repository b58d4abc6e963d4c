//! FastEmbed's `Qdrant/bm25`, number by number (fastembed 0.9.1, `sparse/bm25.py`).

use crate::contract::Contract;
use crate::encoder::{Encoder, EncodingError};
use crate::english::{Stems, counts, dimension, is_stop_word, is_word_character};
use crate::limits;
use crate::superset::CodeSuperset;
use crate::vector::SparseVector;

/// Saturation of term counts.
const K: f64 = 1.2;

/// How much the length of a text counts.
const B: f64 = 0.75;

/// Words of a text of average length. A constant, whatever the collection: FastEmbed knows one text at a time.
const AVERAGE_LENGTH: f64 = 256.0;

/// Equal to FastEmbed's `Qdrant/bm25` for English in ids and weights, so that a collection may be filled by one and
/// asked by the other.
pub struct FastEmbedBm25 {
    stems: Stems,
}

impl FastEmbedBm25 {
    /// The name in the configuration.
    pub const NAME: &str = "fastembed-bm25";

    /// For English, with FastEmbed's parameters.
    pub fn new() -> Self {
        Self { stems: Stems::new() }
    }

    /// What changes a number.
    pub(crate) fn parameters(&self) -> String {
        format!("k={K} b={B} avg_len={AVERAGE_LENGTH} max_token={} language=english", limits::WORD_CHARACTERS)
    }

    /// The weights of a document.
    pub(crate) fn weights(&self, text: &str) -> Vec<(u32, f64)> {
        let words = words(text);
        // A text has its words more than once: each is judged and stemmed once.
        let words = counts(words.split(' ').filter(|word| !word.is_empty()).map(|word| (word, 1)));
        let kept = words.into_iter().filter(|(word, _)| is_kept(word));
        let stems: Vec<_> = kept.map(|(word, count)| (self.stems.of(word), count)).collect();
        let stems = stems.iter().map(|(stem, count)| (stem.as_ref(), *count));
        let stems = counts(stems.filter(|(stem, _)| !stem.is_empty()));
        let length = stems.iter().map(|&(_, count)| count as usize).sum();
        stems
            .into_iter()
            .map(|(stem, count)| (dimension(stem), weight(count, length, AVERAGE_LENGTH)))
            .collect()
    }
}

impl Default for FastEmbedBm25 {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder for FastEmbedBm25 {
    fn contract(&self) -> Contract {
        Contract::new("fastembed-bm25/1", &self.parameters())
    }

    fn document(&self, text: &str) -> Result<SparseVector, EncodingError> {
        Ok(SparseVector::new(self.weights(text)))
    }

    fn query(&self, text: &str) -> Result<SparseVector, EncodingError> {
        Ok(SparseVector::ones(self.weights(text).into_iter().map(|(id, _)| id)))
    }

    fn reads(&self, contract: &Contract) -> bool {
        *contract == self.contract() || *contract == CodeSuperset::new().contract()
    }
}

/// BM25's weight of a word that comes `count` times among `length` words, without its rarity.
pub(crate) fn weight(count: u32, length: usize, average: f64) -> f64 {
    let count = f64::from(count);
    count * (K + 1.0) / (count + K * (1.0 - B + B * length as f64 / average))
}

/// The text in lower case with a space for everything that is no part of a word. Lower-cased as a whole, because the
/// form of a final sigma depends on what stands beside it.
fn words(text: &str) -> String {
    if text.is_ascii() {
        let mut bytes = text.as_bytes().to_vec();
        for byte in &mut bytes {
            *byte =
                if byte.is_ascii_alphanumeric() || *byte == b'_' { byte.to_ascii_lowercase() } else { b' ' };
        }
        return String::from_utf8(bytes).unwrap_or_default();
    }
    let spaced = |character| if is_word_character(character) { character } else { ' ' };
    let lower = text.chars().map(spaced).collect::<String>().to_lowercase();
    // The lower case of a letter may hold a mark, which is no letter: `İ`.
    lower.chars().map(spaced).collect()
}

/// Neither a stop word nor longer than FastEmbed takes. It takes `_` alone for punctuation.
fn is_kept(word: &str) -> bool {
    let is_short = word.len() <= limits::WORD_CHARACTERS || word.chars().count() <= limits::WORD_CHARACTERS;
    word != "_" && is_short && !is_stop_word(word)
}
