//! The narrow interface of what keeps vectors.
//!
//! Calls block. Each ends by its [`Stop`]; what is sent to a server and not answered by then is an error of kind
//! [`StoreError::Timeout`], and may have been done.

use std::collections::BTreeMap;
use std::time::Duration;

use forage_base::{Hint, Stop};
use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::filter::PointFilter;
use crate::point_id::PointId;
use crate::vector::SparseVector;

/// Answers questions about the points of one collection, in this process or on a server.
pub trait PointReader: Send + Sync {
    /// What a message calls it: "collection `code` at http://…". Never holds a key.
    fn place(&self) -> String;

    /// Gets ready for questions, by opening files or checking them; what that takes is no time of a question's.
    ///
    /// # Errors
    /// It can't be asked.
    fn prepare(&self, _stop: &Stop) -> Result<(), StoreError> {
        Ok(())
    }

    /// What the collection says of itself; `None` if there is no such collection.
    ///
    /// # Errors
    /// It can't be asked.
    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError>;

    /// The points that score best. Which of those that score the same come first, and which are cut, is the store's.
    ///
    /// # Errors
    /// There is no answer.
    fn query(&self, query: &PointQuery, stop: &Stop) -> Result<Vec<PointHit>, StoreError>;

    /// The points that score best for each of the queries, without payloads, and with their vectors if those are wanted: what
    /// [`Self::query`] gives, asked for at once.
    ///
    /// # Errors
    /// There is no answer.
    fn query_all(
        &self,
        queries: &[PointQuery],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError>;

    /// Points in the order of their ids, page by page.
    ///
    /// # Errors
    /// There is no answer.
    fn scan(&self, scan: &PointScan, stop: &Stop) -> Result<PointPage, StoreError>;

    /// How many points a filter chooses, exactly.
    ///
    /// # Errors
    /// There is no answer.
    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError>;
}

/// Keeps the points of one collection.
pub trait PointStore: PointReader {
    /// Makes the collection: one sparse vector with the IDF modifier, and the contract in its metadata.
    ///
    /// # Errors
    /// It is there already, or can't be made.
    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError>;

    /// Indexes payload fields that have no index yet. A store that can only do that when it makes the collection does
    /// nothing.
    ///
    /// # Errors
    /// Some may have none.
    fn index_fields(&self, _fields: &[String], _stop: &Stop) -> Result<(), StoreError> {
        Ok(())
    }

    /// Writes points over those with the same ids. They are there when this returns.
    ///
    /// # Errors
    /// Some or all may not have been written.
    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError>;

    /// Removes points; ids that aren't there are no error.
    ///
    /// # Errors
    /// Some or all may still be there.
    fn remove(&self, ids: &[PointId], stop: &Stop) -> Result<(), StoreError>;

    /// Writes through to the disk and puts in order what was written; the last call of whoever fills a collection.
    ///
    /// # Errors
    /// It can't be written.
    fn finish(&self, stop: &Stop) -> Result<(), StoreError>;

    /// Does what [`Self::finish`] does, and erases removed points from the files of an embedded store.
    ///
    /// # Errors
    /// They may still be there. Calling again goes on.
    fn purge(&self, stop: &Stop) -> Result<(), StoreError> {
        self.finish(stop)
    }

    /// Removes the collection; `false` if there is none.
    ///
    /// # Errors
    /// It may still be there.
    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError>;
}

/// Stands for all fields of a payload.
pub const ALL_FIELDS: &str = "*";

/// The facts that a collection tells of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collection {
    /// Its sparse vectors by name.
    pub sparse_vectors: BTreeMap<String, VectorFacts>,
    /// The contract of its encoding; `None` where nobody has named one.
    pub contract: Option<Contract>,
    /// About how many points it has.
    pub points: u64,
    /// The parts of it that count by themselves how rare a dimension is.
    pub layout: ShardLayout,
}

/// The way in which a collection is spread over shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShardLayout {
    /// One has all points.
    #[default]
    Single,
    /// So many, with as many points each, by chance.
    Hashed(u32),
    /// By a value of the points, each with as many as have that.
    Keyed,
}

/// The facts that a collection tells of one sparse vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorFacts {
    /// Whether the store weighs dimensions by their rarity. Without that every word counts the same.
    pub has_idf: bool,
}

/// The settings with which a collection is made.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The name of the sparse vector.
    pub using: String,
    /// The contract of its encoding.
    pub contract: Contract,
    /// Payload fields that filters name.
    pub indexed_fields: Vec<String>,
    /// For a server; an embedded store is one machine.
    pub sharding: Sharding,
}

/// The way in which a server spreads a collection. `None` for the server's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// Shards.
    pub shards: Option<u32>,
    /// Copies of each shard.
    pub replicas: Option<u32>,
    /// Copies that must have taken a write before it counts.
    pub write_consistency: Option<u32>,
    /// The payload field that names the shard of a point (custom sharding): points with one value stay together.
    pub key_field: Option<String>,
    /// Whether the inverted index stays on the disk.
    pub is_on_disk: bool,
}

/// A vector, what it is of, and its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Its name.
    pub id: PointId,
    /// Its vector.
    pub vector: SparseVector,
    /// The fields that are stored with it.
    pub payload: Map<String, Value>,
}

/// A query.
#[derive(Clone, Debug)]
pub struct PointQuery<'a> {
    /// The vector that is looked for.
    pub vector: &'a SparseVector,
    /// The name of the sparse vector.
    pub using: &'a str,
    /// Points at the most.
    pub limit: usize,
    /// Payload fields that are wanted, [`ALL_FIELDS`] for all.
    pub fields: &'a [String],
    /// The filter of the points that are looked at.
    pub filter: &'a PointFilter,
}

/// A point that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct PointHit {
    /// Its name.
    pub id: PointId,
    /// Comparable within one collection.
    pub score: f32,
    /// The payload fields that it has of those that are wanted.
    pub payload: Map<String, Value>,
}

/// A point that was found, with what it has of each dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedHit {
    /// Its name.
    pub id: PointId,
    /// Comparable within one shard.
    pub score: f32,
    /// Its vector; empty where it was not wanted.
    pub vector: SparseVector,
}

/// A page of all points.
#[derive(Clone, Debug)]
pub struct PointScan<'a> {
    /// The filter of the points.
    pub filter: &'a PointFilter,
    /// Payload fields that are wanted, [`ALL_FIELDS`] for all.
    pub fields: &'a [String],
    /// The first id of the page; `None` for the beginning.
    pub from: Option<PointId>,
    /// Points at the most.
    pub limit: usize,
}

/// Points in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointPage {
    /// Ids, and the payload fields that were wanted.
    pub points: Vec<(PointId, Map<String, Value>)>,
    /// The id with which the next page begins; `None` at the end.
    pub next: Option<PointId>,
}

/// A store did not do what it was asked. Messages hold neither keys nor vectors nor payloads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Nobody answers, or not now.
    #[error("{0}")]
    Unavailable(String),
    /// Too many requests.
    #[error("{message}")]
    RateLimited {
        /// What the server says.
        message: String,
        /// How long to wait, if the server says so.
        retry_after: Option<Duration>,
    },
    /// No answer in time.
    #[error("{0}")]
    Timeout(String),
    /// Whoever asked has gone.
    #[error("cancelled")]
    Cancelled,
    /// The key is missing or wrong.
    #[error("{0}")]
    Unauthorized(String),
    /// There is no such collection.
    #[error("{0}")]
    NoCollection(String),
    /// There is one already.
    #[error("{0}")]
    Exists(String),
    /// Another process has it open.
    #[error("{0}")]
    Locked(String),
    /// The request makes no sense to the store, or its answer none to us.
    #[error("{0}")]
    Invalid(String),
    /// What is stored can't be used any more.
    #[error("{0}")]
    Damaged(String),
}

impl StoreError {
    /// One word for telemetry and records.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "unavailable",
            Self::RateLimited { .. } => "rate_limited",
            Self::Timeout(_) => "timeout",
            Self::Cancelled => "cancelled",
            Self::Unauthorized(_) => "unauthorized",
            Self::NoCollection(_) => "no_collection",
            Self::Exists(_) => "exists",
            Self::Locked(_) => "locked",
            Self::Invalid(_) | Self::Damaged(_) => "invalid",
        }
    }

    /// Returns what can be done about it beside trying again, if anything.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::NoCollection(_) => Some(Hint::FillCollection),
            Self::Damaged(_) => Some(Hint::RefillCollection),
            Self::Unavailable(_)
            | Self::RateLimited { .. }
            | Self::Timeout(_)
            | Self::Cancelled
            | Self::Unauthorized(_)
            | Self::Exists(_)
            | Self::Locked(_)
            | Self::Invalid(_) => None,
        }
    }

    /// Returns whether the same request may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::RateLimited { .. })
    }
}
