//! The contract of a collection, which identifies its encoding.

use std::fmt;

/// The name and parameters of an encoding in one line, for example `fastembed-bm25/1 k=1.2 b=0.75 …`. Vectors
/// with different contracts must never be mixed: their numbers have different meanings, and this would only
/// show in wrong results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract(String);

impl Contract {
    /// The metadata key under which a collection stores its contract.
    pub const KEY: &str = "sparse_encoding_contract";

    /// Creates a contract. `name` must end with the version of the encoding. `parameters` must contain
    /// everything else that affects the numbers.
    pub fn new(name: &str, parameters: &str) -> Self {
        Self(format!("{name} {parameters}"))
    }

    /// Reads the contract from a collection's metadata.
    pub fn from_metadata(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The contract as a line of text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
