//! Queries for collections of FastEmbed's `Qdrant/bm42-all-minilm-l6-v2-attentions` (fastembed 0.9.1,
//! `sparse/bm42.py`).
//!
//! In a document, each word is weighted by the attention of a small language model. A query contains the same
//! words with weight 1, so it needs only the model's vocabulary.

mod characters;
mod word_pieces;

use self::word_pieces::words;
use crate::contract::Contract;
use crate::encoder::{EncodedForm, Encoder, EncodingError};
use crate::language::{Language, Prose, Stems, dimension};
use crate::limits;
use crate::vector::SparseVector;

/// Contracts of other programs that fill collections with FastEmbed's BM42.
const FILLED_BY_FASTEMBED: [&str; 1] = ["bm42:doc=embed;query=query_embed:v1"];

/// The BM42 encoder for English, which supports only queries.
pub struct Bm42 {
    stems: Stems,
}

impl Bm42 {
    /// The name in the configuration.
    pub const NAME: &str = "bm42";

    /// Creates the encoder.
    pub fn new() -> Self {
        Self { stems: Prose::default().stems() }
    }

    /// Returns the dimension and stem of every word that is neither a stop word nor ASCII punctuation. Note
    /// that FastEmbed keeps other punctuation.
    fn stems(&self, text: &str) -> Vec<(u32, String)> {
        let is_punctuation = |word: &str| matches!(word.as_bytes(), [byte] if byte.is_ascii_punctuation());
        let words = words(text).into_iter();
        let words = words.filter(|word| !is_punctuation(word) && !Language::English.is_stop_word(word));
        words.map(|word| self.stems.stem(&word).into_owned()).map(|stem| (dimension(&stem), stem)).collect()
    }
}

impl Default for Bm42 {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder for Bm42 {
    fn contract(&self) -> Contract {
        Contract::new("bm42/1", &format!("max_tokens={} language=english", limits::BM42_TOKENS))
    }

    fn reads(&self, contract: &Contract) -> bool {
        self.contract() == *contract || FILLED_BY_FASTEMBED.contains(&contract.as_str())
    }

    fn document(&self, _: &str) -> Result<SparseVector, EncodingError> {
        Err(EncodingError::QueriesOnly(Self::NAME))
    }

    fn query(&self, text: &str) -> Result<SparseVector, EncodingError> {
        Ok(SparseVector::ones(self.stems(text).into_iter().map(|(id, _)| id)))
    }

    fn words(&self, text: &str, _: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError> {
        Ok(self.stems(text))
    }
}
