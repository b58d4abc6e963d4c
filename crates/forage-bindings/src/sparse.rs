//! Sparse vectors that are equal to those of FastEmbed's `Qdrant/bm25`.

use std::thread;

use forage_base::map_in_threads;
use forage_lookup::{Encoder as _, EncodingError, FastEmbedBm25, Language, Prose, SparseVector};
use forage_tools::ErrorCode;

use crate::error::BindingError;
use crate::workers::guarded;

/// A BM25 encoder with the same weights as FastEmbed's.
pub struct Bm25(FastEmbedBm25);

impl Bm25 {
    /// Creates an encoder for a language. If `stems` is false, words are not stemmed, but the language must
    /// still be valid.
    ///
    /// # Errors
    ///
    /// Fails if FastEmbed does not support the language.
    pub fn open(language: &str, stems: bool) -> Result<Self, BindingError> {
        let Some(known) = Language::parse(language) else {
            let all: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
            let problem = format!("`language` must be one of {}, not {language:?}", all.join(", "));
            return Err(BindingError::new(ErrorCode::Argument, problem));
        };
        Ok(Self(FastEmbedBm25::with_prose(if stems { Prose::Stemmed(known) } else { Prose::AsWritten })))
    }

    /// Encodes `texts` in order on up to `threads` threads. 0 means one per processor, and more than four per
    /// processor are never used.
    ///
    /// # Errors
    ///
    /// Fails if a text can't be encoded.
    pub fn documents(&self, texts: &[String], threads: usize) -> Result<Vec<SparseVector>, BindingError> {
        /// Texts per batch.
        const BATCH: usize = 64;
        let max = thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { max } else { threads.min(max * 4) }.min(texts.len().div_ceil(BATCH));
        let encode =
            |batch: &[String]| batch.iter().map(|text| self.0.document(text)).collect::<Result<Vec<_>, _>>();
        let batches = guarded(|| Ok(map_in_threads(texts.chunks(BATCH), threads, encode)))?;
        let vectors: Vec<_> = batches.into_iter().collect::<Result<_, _>>().map_err(failed)?;
        Ok(vectors.into_iter().flatten().collect())
    }

    /// Encodes a query.
    ///
    /// # Errors
    ///
    /// Fails with the same errors as [`Self::documents`].
    pub fn query(&self, text: &str) -> Result<SparseVector, BindingError> {
        self.0.query(text).map_err(failed)
    }
}

fn failed(error: EncodingError) -> BindingError {
    BindingError::new(ErrorCode::Failed, error)
}
