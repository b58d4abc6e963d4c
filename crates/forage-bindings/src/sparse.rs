//! Sparse vectors as FastEmbed's `Qdrant/bm25` makes them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use forage_lookup::{Encoder as _, EncodingError, FastEmbedBm25, Language, Prose, SparseVector};
use forage_tools::ErrorCode;

use crate::error::BindingError;

/// FastEmbed's BM25: the same numbers for the same text.
pub struct Bm25(FastEmbedBm25);

impl Bm25 {
    /// For texts of a language, whose words are left as they are where `stems` is false.
    ///
    /// # Errors
    /// FastEmbed does not have the language.
    pub fn open(language: &str, stems: bool) -> Result<Self, BindingError> {
        let Some(known) = Language::parse(language) else {
            let all: Vec<&str> = Language::ALL.iter().map(|language| language.name()).collect();
            let problem = format!("`language` is one of {}, not {language:?}", all.join(", "));
            return Err(BindingError::new(ErrorCode::Argument, problem));
        };
        Ok(Self(FastEmbedBm25::of(if stems { Prose::Of(known) } else { Prose::AsWritten })))
    }

    /// Returns the vectors of documents, in their order, made by so many threads; 0 for one for each processor.
    ///
    /// # Errors
    /// None that is known: the encoder has all that it needs.
    pub fn documents(&self, texts: &[String], threads: usize) -> Result<Vec<SparseVector>, BindingError> {
        /// Texts that a thread takes at a time.
        const BATCH: usize = 64;
        let most = thread::available_parallelism().map_or(1, usize::from);
        let threads =
            if threads == 0 { most } else { threads.min(most * 4) }.min(texts.len().div_ceil(BATCH));
        if threads <= 1 {
            return texts.iter().map(|text| self.0.document(text)).collect::<Result<_, _>>().map_err(failed);
        }
        let (batches, next) = (texts.chunks(BATCH).collect::<Vec<_>>(), AtomicUsize::new(0));
        let work = || {
            let mut done = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(batch) = batches.get(number) else { return Ok(done) };
                let vectors: Result<Vec<_>, _> = batch.iter().map(|text| self.0.document(text)).collect();
                done.push((number, vectors?));
            }
        };
        let mut all = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let joined = workers.into_iter().map(|worker| worker.join().unwrap_or_else(|_| Ok(Vec::new())));
            joined.collect::<Result<Vec<_>, EncodingError>>()
        })
        .map_err(failed)?
        .concat();
        all.sort_by_key(|(number, _)| *number);
        let vectors: Vec<_> = all.into_iter().flat_map(|(_, vectors)| vectors).collect();
        if vectors.len() == texts.len() { Ok(vectors) } else { Err(BindingError::panicked()) }
    }

    /// Returns the vector of a query.
    ///
    /// # Errors
    /// As of [`Self::documents`].
    pub fn query(&self, text: &str) -> Result<SparseVector, BindingError> {
        self.0.query(text).map_err(failed)
    }
}

fn failed(error: EncodingError) -> BindingError {
    BindingError::new(ErrorCode::Failed, error)
}
