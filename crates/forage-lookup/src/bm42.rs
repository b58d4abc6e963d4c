//! FastEmbed's `Qdrant/bm42-all-minilm-l6-v2-attentions` (fastembed 0.9.1, `sparse/bm42.py`).
//!
//! A word weighs as much as a small language model attends to it. That takes weights, for documents alone: a query has
//! the same words and weighs each 1, so that a vocabulary is enough for it.

mod characters;
mod files;
mod matrix;
mod model;
mod weights;
mod word_pieces;
mod words;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use self::files::unavailable;
use self::model::Model;
use self::word_pieces::{CutText, WordPieces};
use self::words::stems;
use crate::contract::Contract;
use crate::encoder::{EncodedForm, Encoder, EncodingError};
use crate::language::{Prose, Stems, dimension};
use crate::limits;
use crate::vector::SparseVector;

/// Contracts of others whose collections its queries fit: ids are the same, and a query has nothing else.
///
/// Weights of documents may differ. The model as FastEmbed has it lets words attend to the padding that makes texts of
/// one batch equally long, so that a weight depends on what else was in the batch; here a text is encoded alone.
const SAME_QUERIES: [&str; 1] = ["bm42:doc=embed;query=query_embed:v1"];

/// BM42 for English, with files of all-MiniLM-L6-v2 that the user has.
pub struct Bm42 {
    pieces: WordPieces,
    model: Option<Model>,
    stems: Stems,
    directory: PathBuf,
}

impl Bm42 {
    /// The name in the configuration.
    pub const NAME: &str = "bm42";

    /// From a directory with `tokenizer.json` or `vocab.txt`, and, for documents, `model.safetensors`. A `config.json`
    /// is read where there is one; else the model has the shape of all-MiniLM-L6-v2.
    ///
    /// # Errors
    /// [`EncodingError::Unavailable`] if there is no vocabulary, or a file is damaged or of another kind of model.
    pub fn open(directory: &Path) -> Result<Self, EncodingError> {
        let pieces = WordPieces::open(directory)?;
        let model = Model::open(directory, &pieces)?;
        Ok(Self { pieces, model, stems: Prose::default().stems(), directory: directory.to_owned() })
    }

    fn cut(&self, text: &str) -> CutText {
        self.pieces.cut(text, limits::BM42_TOKENS)
    }
}

impl Encoder for Bm42 {
    fn contract(&self) -> Contract {
        let parameters =
            format!("max_tokens={} language=english doc=unpadded query=ones", limits::BM42_TOKENS);
        Contract::new("bm42/1", &parameters)
    }

    fn reads(&self, contract: &Contract) -> bool {
        self.contract() == *contract || SAME_QUERIES.contains(&contract.as_str())
    }

    fn document(&self, text: &str) -> Result<SparseVector, EncodingError> {
        let Some(model) = &self.model else {
            let advice = "put `model.safetensors` of all-MiniLM-L6-v2 beside the vocabulary";
            return Err(EncodingError::QueriesOnly { encoder: Self::NAME, advice });
        };
        let cut = self.cut(text);
        let mut stems = stems(&cut.words, &self.stems).peekable();
        if stems.peek().is_none() {
            return Ok(SparseVector::default());
        }
        let attention = model.attention(&cut.tokens);
        if !attention.iter().all(|share| share.is_finite()) {
            return Err(unavailable(
                &self.directory,
                "holds weights that give no numbers; use model.safetensors of all-MiniLM-L6-v2, whole",
            ));
        }
        // In the order in which stems come first: of two with one id, the later counts.
        let mut places = HashMap::new();
        let mut weights: Vec<(u32, f64)> = Vec::new();
        for (stem, tokens) in stems {
            let attention = f64::from(attention[tokens].iter().sum::<f32>());
            let id = dimension(&stem);
            let place = *places.entry(stem).or_insert(weights.len());
            match weights.get_mut(place) {
                Some((_, highest)) => *highest = highest.max(attention),
                None => weights.push((id, attention)),
            }
        }
        Ok(SparseVector::new(weights.into_iter().map(|(id, attention)| (id, attention.ln_1p().sqrt()))))
    }

    fn query(&self, text: &str) -> Result<SparseVector, EncodingError> {
        let cut = self.cut(text);
        Ok(SparseVector::ones(stems(&cut.words, &self.stems).map(|(stem, _)| dimension(&stem))))
    }

    fn words(&self, text: &str, _: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError> {
        let cut = self.cut(text);
        Ok(stems(&cut.words, &self.stems).map(|(stem, _)| (dimension(&stem), stem.into_owned())).collect())
    }
}
