//! Exact keyword lookup with sparse vectors.
//!
//! An [`Encoder`] converts a text to a sparse vector. The [`Contract`] of a collection identifies its
//! encoder; without it the numbers have no meaning. A [`PointStore`] stores vectors, for example a
//! [`ServerStore`] on a Qdrant server or cluster, and a [`Retriever`] looks them up.
//!
//! ```
//! use forage_lookup::{CodeSuperset, Encoder};
//!
//! let encoder = CodeSuperset::new();
//! let document = encoder.document("fn parse_header(line: &str) -> Result<Header, E0042>")?;
//! let query = encoder.query("parse_header")?;
//! // The document contains the name because it has every dimension of the query.
//! assert!(!query.is_empty() && query.ids().iter().all(|id| document.ids().contains(id)));
//! # Ok::<(), forage_lookup::EncodingError>(())
//! ```

mod bm25;
mod bm42;
mod chunk;
mod contract;
mod embedded;
mod encoder;
mod fill;
mod filter;
mod language;
#[doc(hidden)]
pub mod limits;
mod name;
mod payload;
mod point_id;
mod qdrant;
mod retriever;
mod retry;
mod store;
mod superset;
mod vector;

pub use bm25::FastEmbedBm25;
pub use bm42::Bm42;
pub use contract::Contract;
pub use embedded::EmbeddedStore;
pub use encoder::{EncodedForm, Encoder, EncodingError};
pub use fill::{FillError, FillOutcome, Filling, Redact, count_chunks, remove_repository, repositories};
pub use filter::{BoundSide, Condition, FilterError, PointFilter, Readings, Test, WantedValue};
pub use forage_base::{ApiKey, KeyError};
pub use language::{Language, Prose};
pub use name::NameMatch;
pub use point_id::PointId;
pub use qdrant::{ServerSettings, ServerStore};
pub use retriever::{
    Adaptation, CollectionError, FrequencyCache, Idf, Lookup, LookupState, NameFacts, Question, Retriever,
    SCORE_STEP, Unanswered, UnfilteredCounts, encoder_named,
};
pub use store::{
    ALL_FIELDS, Collection, Creation, Point, PointHit, PointPage, PointQuery, PointReader, PointScan,
    PointStore, ShardLayout, Sharding, StoreError, VectorFacts, WeightedHit,
};
pub use superset::CodeSuperset;
pub use vector::SparseVector;
