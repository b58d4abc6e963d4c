//! What makes vectors of texts.

use crate::contract::Contract;
use crate::vector::SparseVector;

/// Makes vectors of texts. Documents and queries are encoded differently: a document's weights say how much of it a
/// word is, and how rare the word is the store knows (its IDF modifier); a query's say 1.
pub trait Encoder: Send + Sync {
    /// What a collection that it fills says of itself.
    fn contract(&self) -> Contract;

    /// Whether its queries mean something in a collection of that contract.
    fn reads(&self, contract: &Contract) -> bool {
        self.contract() == *contract
    }

    /// The vector of a document; empty if it has no word.
    ///
    /// # Errors
    /// It can encode queries alone.
    fn document(&self, text: &str) -> Result<SparseVector, EncodingError>;

    /// The vector of a query; empty if it has no word, as of stop words alone.
    ///
    /// # Errors
    /// What it needs is not there.
    fn query(&self, text: &str) -> Result<SparseVector, EncodingError>;

    /// What the dimensions of the text's vector stand for, for people: a dimension may have several words.
    ///
    /// # Errors
    /// As those of the vector.
    fn words(&self, text: &str, form: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError>;

    /// Dimensions of which every document has each that has `name` in it as a whole, in any case of its letters; first
    /// those of which there are probably fewer. So a collection without one of them doesn't have the name. Nothing
    /// where that can't be said.
    fn needed(&self, _name: &str) -> Vec<u32> {
        Vec::new()
    }
}

/// The two vectors that a text has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodedForm {
    /// As it is stored.
    Document,
    /// As it is asked.
    Query,
}

/// A text can't be encoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodingError {
    /// The encoder can't be used; names the cause and the next step. The encoders of this crate need nothing that can
    /// be missing. One that a program brings itself may, and a lookup with it is then an answer without results.
    #[error("{0}")]
    Unavailable(String),
    /// The encoder of this name can't encode documents.
    #[error("`{0}` encodes queries only: fill the collection with FastEmbed, or choose another encoder")]
    QueriesOnly(&'static str),
}
