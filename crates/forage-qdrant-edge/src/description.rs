//! `collection.json`: what a collection says of itself that the engine doesn't keep. It is written last when a collection
//! is made, so that there is a collection where this is.

use std::path::{Path, PathBuf};

use forage_lookup::{Contract, StoreError};
use serde::{Deserialize, Serialize};

use crate::directory;
use crate::failure::of_file;

/// The version of the layout of a collection's directory.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Description {
    format: u32,
    /// What wrote the shard; for people.
    engine: String,
    /// The name of its sparse vector.
    pub(crate) vector: String,
    #[serde(rename = "sparse_encoding_contract")]
    contract: String,
}

/// Read before the rest, which another format may lack.
#[derive(Deserialize)]
struct DescriptionFormat {
    format: u32,
}

impl Description {
    pub(crate) fn new(vector: &str, contract: &Contract) -> Self {
        Self {
            format: FORMAT,
            engine: "qdrant-edge 0.7.1".to_owned(),
            vector: vector.to_owned(),
            contract: contract.as_str().to_owned(),
        }
    }

    pub(crate) fn path(collection: &Path) -> PathBuf {
        collection.join("collection.json")
    }

    pub(crate) fn contract(&self) -> Contract {
        Contract::of_collection(&self.contract)
    }

    /// `None` if there is no collection, or one that was never finished being made.
    pub(crate) fn read(collection: &Path) -> Result<Option<Self>, StoreError> {
        let path = Self::path(collection);
        let Some(bytes) = directory::read(&path).map_err(of_file(&path))? else {
            return Ok(None);
        };
        Self::parse(&bytes, &path).map(Some)
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self, StoreError> {
        let damaged = |error| StoreError::Damaged(format!("{} is damaged ({error})", path.display()));
        let DescriptionFormat { format } = serde_json::from_slice(bytes).map_err(damaged)?;
        if format != FORMAT {
            return Err(StoreError::Damaged(format!(
                "{} is of format {format}, and this version knows {FORMAT} alone: use the version that made it",
                path.display()
            )));
        }
        serde_json::from_slice(bytes).map_err(damaged)
    }

    pub(crate) fn write(&self, collection: &Path) -> Result<(), StoreError> {
        let path = Self::path(collection);
        let text = serde_json::to_vec_pretty(self).map_err(|error| StoreError::Invalid(error.to_string()))?;
        directory::replace(&path, &text).map_err(of_file(&path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_any_bytes_are_a_description_of_this_format_or_an_error_of_one_line() {
        let description = Description::new("text", &Contract::new("bm25/1", "k=1.2"));
        let text = serde_json::to_vec_pretty(&description).unwrap();
        forage_fuzz::target!(&forage_fuzz::seeds([text]), |input| {
            match Description::parse(input, Path::new("code/collection.json")) {
                Ok(description) => assert_eq!(description.format, FORMAT),
                Err(error) => assert_eq!(error.to_string().lines().count(), 1, "{error}"),
            }
        });
    }
}
