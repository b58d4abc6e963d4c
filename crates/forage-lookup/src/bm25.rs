//! An exact implementation of FastEmbed's `Qdrant/bm25` (fastembed 0.9.1, `sparse/bm25.py`).

use crate::contract::Contract;
use crate::encoder::{EncodedForm, Encoder, EncodingError};
use crate::language::{Prose, Stems, counts, dimension, is_word_character};
use crate::limits;
use crate::vector::SparseVector;

/// Saturation of term counts (BM25's k1).
const K: f64 = 1.2;

/// Influence of the text length (BM25's b).
const B: f64 = 0.75;

/// The assumed average text length in words. This is a constant because FastEmbed sees only one text at a
/// time.
const AVERAGE_LENGTH: f64 = 256.0;

/// The assumed average number of code parts in a chunk.
pub(crate) const CODE_AVERAGE_LENGTH: f64 = 256.0;

/// An encoder with the same ids and weights as FastEmbed's `Qdrant/bm25`. One of them can fill a collection
/// and the other can query it.
pub struct FastEmbedBm25 {
    prose: Prose,
    stems: Stems,
}

impl FastEmbedBm25 {
    /// The name in the configuration.
    pub const NAME: &str = "fastembed-bm25";

    /// Creates an encoder for English with FastEmbed's parameters.
    pub fn new() -> Self {
        Self::with_prose(Prose::default())
    }

    /// Creates an encoder with FastEmbed's parameters, except for `language` and `disable_stemmer`.
    pub fn with_prose(prose: Prose) -> Self {
        Self { prose, stems: prose.stems() }
    }

    /// How this encoder treats words.
    pub(crate) fn prose(&self) -> Prose {
        self.prose
    }

    /// Formats the parameters that affect the weights, for the contract.
    pub(crate) fn parameters(&self) -> String {
        let (max, prose) = (limits::WORD_CHARACTERS, self.prose.parameters());
        format!("k={K} b={B} avg_len={AVERAGE_LENGTH} max_token={max} {prose}")
    }

    /// Computes the weights of a document.
    pub(crate) fn weights(&self, text: &str) -> Vec<(u32, f64)> {
        self.weighed(text, |stem, weight| (dimension(stem), weight))
    }

    /// Stems the words of a text, with the dimension of each stem.
    pub(crate) fn stems(&self, text: &str) -> Vec<(u32, String)> {
        self.weighed(text, |stem, _| (dimension(stem), stem.to_owned()))
    }

    /// Returns the contract of [`CodeSuperset`](crate::CodeSuperset) for the same words. Its vectors contain
    /// all of these dimensions, so queries of this encoder should find the words there too.
    pub(crate) fn contract_with_code(&self) -> Contract {
        let max = limits::IDENTIFIER_BYTES;
        Contract::new(
            "code-superset/2",
            &format!(
                "{} code_avg_len={} max_identifier={max} pairs={}",
                self.parameters(),
                CODE_AVERAGE_LENGTH,
                limits::PAIRED_PARTS
            ),
        )
    }

    fn weighed<T>(&self, text: &str, make: impl Fn(&str, f64) -> T) -> Vec<T> {
        let words = words(text);
        // Words often occur more than once in a text, so we check and stem each one only once.
        let words = counts(words.split(' ').filter(|word| !word.is_empty()).map(|word| (word, 1)));
        let kept = words.into_iter().filter(|(word, _)| self.is_kept(word));
        let stems: Vec<_> = kept.map(|(word, count)| (self.stems.stem(word), count)).collect();
        let stems = stems.iter().map(|(stem, count)| (stem.as_ref(), *count));
        let stems = counts(stems.filter(|(stem, _)| !stem.is_empty()));
        let length = stems.iter().map(|&(_, count)| count as usize).sum();
        stems.into_iter().map(|(stem, count)| make(stem, weight(count, length, AVERAGE_LENGTH))).collect()
    }

    /// Returns true for words that are neither stop words nor longer than FastEmbed's maximum. Note that
    /// FastEmbed treats a lone `_` as punctuation.
    fn is_kept(&self, word: &str) -> bool {
        let max = limits::WORD_CHARACTERS;
        // A word has at most as many characters as bytes, so we rarely need to count them.
        let is_short = word.len() <= max || word.chars().count() <= max;
        word != "_" && is_short && !self.prose.is_stop_word(word)
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
        *contract == self.contract() || *contract == self.contract_with_code()
    }

    fn words(&self, text: &str, _: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError> {
        Ok(self.stems(text))
    }

    fn needed(&self, name: &str) -> Vec<u32> {
        // For other letters we can't know the stem: their lower case may depend on adjacent characters.
        let mut stems = if name.is_ascii() { self.stems(name) } else { Vec::new() };
        // Longer words are usually rarer.
        stems.sort_by_key(|(_, stem)| std::cmp::Reverse(stem.len()));
        stems.into_iter().map(|(id, _)| id).collect()
    }
}

/// Computes the BM25 weight, without idf, of a word that occurs `count` times among `length` words.
pub(crate) fn weight(count: u32, length: usize, average: f64) -> f64 {
    let count = f64::from(count);
    count * (K + 1.0) / (count + K * (1.0 - B + B * length as f64 / average))
}

/// Converts a text to lower case, and replaces everything that is not part of a word with a space. We must
/// convert the text as a whole because the form of a final sigma depends on adjacent characters.
fn words(text: &str) -> String {
    // For ASCII, the general rules below come to this, and it takes much less time.
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
    // The lower case of a letter may contain a combining mark, which is not a letter (e.g. that of `İ`).
    lower.chars().map(spaced).collect()
}
