//! Encoders, which convert texts to sparse vectors.

use crate::contract::Contract;
use crate::vector::SparseVector;

/// Converts texts to sparse vectors. Documents and queries are encoded differently. In a document, a weight
/// is the importance of the word in the text. It does not include the word's rarity, which the store adds
/// (its IDF modifier). In a query, most weights are 1.
pub trait Encoder: Send + Sync {
    /// The contract of the collections that this encoder fills.
    fn contract(&self) -> Contract;

    /// Returns true if the queries of this encoder are valid for collections with this contract.
    fn reads(&self, contract: &Contract) -> bool {
        self.contract() == *contract
    }

    /// Encodes a document. The vector is empty if the text has no words.
    ///
    /// # Errors
    ///
    /// Returns an error if the encoder supports only queries.
    fn document(&self, text: &str) -> Result<SparseVector, EncodingError>;

    /// Encodes a query. The vector is empty if the text has no words, for example if it has only stop words.
    ///
    /// # Errors
    ///
    /// Returns an error if this encoder requires something that is missing.
    fn query(&self, text: &str) -> Result<SparseVector, EncodingError>;

    /// Returns the words of each dimension of the text's vector, for display. A dimension may have several
    /// words.
    ///
    /// # Errors
    ///
    /// Returns the same errors as encoding the text.
    fn words(&self, text: &str, form: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError>;

    /// Returns dimensions that every document with `name` as a whole word, in any case, must have. A
    /// collection without one of them can't contain the name. The dimensions that are probably rarest come
    /// first. Returns nothing if this is not guaranteed.
    fn needed(&self, _name: &str) -> Vec<u32> {
        Vec::new()
    }
}

/// The two vectors of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodedForm {
    /// The vector that is stored.
    Document,
    /// The vector that is queried.
    Query,
}

/// The reasons why a text can't be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The encoder can't be used; the message names the cause and the next step. A lookup then returns a
    /// state instead of results. The encoders of this crate do not depend on anything that could be missing,
    /// but those of other programs may.
    #[error("{0}")]
    Unavailable(String),
    /// The encoder with this name can't encode documents.
    #[error("`{0}` encodes queries only: fill the collection with FastEmbed, or choose another encoder")]
    QueriesOnly(&'static str),
}
