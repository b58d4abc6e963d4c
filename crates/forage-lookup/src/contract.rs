//! What a collection was encoded with.

use std::fmt;

/// The name and the parameters of an encoding in one line, such as `fastembed-bm25/1 k=1.2 b=0.75 …`. Vectors of two
/// contracts must never meet: their numbers mean different things, and nothing but the results would show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contract(String);

impl Contract {
    /// The key of a collection's metadata under which its contract stands.
    pub const KEY: &str = "sparse_encoding_contract";

    /// `name` ends with the version of the encoding; parameters are those that change a number.
    pub fn new(name: &str, parameters: &str) -> Self {
        Self(format!("{name} {parameters}"))
    }

    /// Reads the contract from a collection's metadata.
    pub fn from_metadata(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
