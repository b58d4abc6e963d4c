//! The interface of vector stores.
//!
//! Calls block, and each one ends when its [`Stop`] does. If a server has not answered a request by then, the
//! call returns [`StoreError::Timeout`], but the request may have been executed.

use std::collections::BTreeMap;
use std::time::Duration;

use forage_base::{Hint, Stop};
use serde_json::{Map, Value};

use crate::contract::Contract;
use crate::filter::PointFilter;
use crate::point_id::PointId;
use crate::vector::SparseVector;

/// Reads the points of one collection, in this process or on a server.
pub trait PointReader: Send + Sync {
    /// The name of the collection for messages, for example "collection `code` at http://…". It must never
    /// contain a key.
    fn place(&self) -> String;

    /// Prepares the collection for queries, for example by opening and checking files, so that queries do not
    /// spend time on this.
    ///
    /// # Errors
    ///
    /// Returns an error if the collection can't be queried.
    fn prepare(&self, _stop: &Stop) -> Result<(), StoreError> {
        Ok(())
    }

    /// Reads the properties of the collection. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the collection can't be queried.
    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError>;

    /// Finds the points with the best scores. The store decides about the order of equal scores, and which of
    /// them are cut.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer.
    fn query(&self, query: &PointQuery, stop: &Stop) -> Result<Vec<PointHit>, StoreError>;

    /// Finds the points with the best scores for each of the queries, without payloads, and with their
    /// vectors on request. This is the same as [`Self::query`] for each query, but in one request.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer.
    fn query_all(
        &self,
        queries: &[PointQuery],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError>;

    /// Lists points ordered by id, page by page.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer.
    fn scan(&self, scan: &PointScan, stop: &Stop) -> Result<PointPage, StoreError>;

    /// Counts the points that pass a filter. The number is exact.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no answer.
    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError>;
}

/// Writes the points of one collection.
pub trait PointStore: PointReader {
    /// Creates the collection, with one sparse vector that has the IDF modifier, and the contract in its
    /// metadata.
    ///
    /// # Errors
    ///
    /// Returns an error if the collection exists or can't be created.
    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError>;

    /// Indexes payload fields that have no index yet. A store that can only do this when it creates the
    /// collection does nothing.
    ///
    /// # Errors
    ///
    /// Returns an error if some fields may still have no index.
    fn index_fields(&self, _fields: &[String], _stop: &Stop) -> Result<(), StoreError> {
        Ok(())
    }

    /// Inserts points, and replaces those with the same ids. When this returns, reads through this store must
    /// see the new points.
    ///
    /// # Errors
    ///
    /// Returns an error if some or all points may not have been written.
    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError>;

    /// Removes points. Ids that do not exist are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if some or all points may still exist.
    fn remove(&self, ids: &[PointId], stop: &Stop) -> Result<(), StoreError>;

    /// Flushes and optimizes the collection. Callers should call this once after a bulk load.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    fn finish(&self, stop: &Stop) -> Result<(), StoreError>;

    /// Does the same as [`Self::finish`], and also erases removed points from the files of an embedded store.
    ///
    /// # Errors
    ///
    /// Returns an error if removed points may still be in the files. Calling this again continues.
    fn purge(&self, stop: &Stop) -> Result<(), StoreError> {
        self.finish(stop)
    }

    /// Removes the collection. Returns false if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the collection may still exist.
    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError>;
}

/// Selects all fields of a payload.
pub const ALL_FIELDS: &str = "*";

/// The properties of a collection.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collection {
    /// Its sparse vectors by name.
    pub sparse_vectors: BTreeMap<String, VectorFacts>,
    /// The contract of its encoding; `None` if it has none.
    pub contract: Option<Contract>,
    /// The approximate number of points.
    pub points: u64,
    /// The parts of the collection that count document frequencies separately.
    pub layout: ShardLayout,
}

/// The distribution of a collection over shards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShardLayout {
    /// One shard contains all points.
    #[default]
    Single,
    /// This many shards, with points distributed evenly at random.
    Hashed(u32),
    /// One shard per value of a field, with all points that have the value.
    Keyed,
}

/// The properties of a sparse vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorFacts {
    /// Whether the store weights dimensions by idf. Otherwise every word counts the same.
    pub has_idf: bool,
}

/// The settings for creating a collection.
#[derive(Clone, Debug)]
pub struct Creation {
    /// The name of the sparse vector.
    pub using: String,
    /// The contract of its encoding.
    pub contract: Contract,
    /// The payload fields that filters use.
    pub indexed_fields: Vec<String>,
    /// The sharding on a server; ignored by an embedded store.
    pub sharding: Sharding,
}

/// How a server distributes a collection. `None` means the server's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharding {
    /// Number of shards.
    pub shards: Option<u32>,
    /// Number of copies of each shard.
    pub replicas: Option<u32>,
    /// Number of copies that must confirm a write.
    pub write_consistency: Option<u32>,
    /// The payload field that determines the shard of a point (custom sharding). Points with the same value
    /// stay together.
    pub key_field: Option<String>,
    /// Whether to keep the inverted index on disk.
    pub is_on_disk: bool,
}

/// A point: an id, a vector and a payload.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The id.
    pub id: PointId,
    /// The vector.
    pub vector: SparseVector,
    /// The fields stored with it.
    pub payload: Map<String, Value>,
}

/// A query.
#[derive(Clone, Debug)]
pub struct PointQuery<'a> {
    /// The query vector.
    pub vector: &'a SparseVector,
    /// The name of the sparse vector.
    pub using: &'a str,
    /// Maximum number of points.
    pub limit: usize,
    /// The payload fields to return, [`ALL_FIELDS`] for all.
    pub fields: &'a [String],
    /// The filter of points.
    pub filter: &'a PointFilter,
}

/// A point that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct PointHit {
    /// The id.
    pub id: PointId,
    /// The score. Scores are comparable only within one collection.
    pub score: f32,
    /// The requested payload fields that the point has.
    pub payload: Map<String, Value>,
}

/// A point that was found, with its vector.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightedHit {
    /// The id.
    pub id: PointId,
    /// The score. Scores are comparable only within one shard.
    pub score: f32,
    /// The vector; empty if it was not requested.
    pub vector: SparseVector,
}

/// A request for a page of points.
#[derive(Clone, Debug)]
pub struct PointScan<'a> {
    /// The filter of points.
    pub filter: &'a PointFilter,
    /// The payload fields to return, [`ALL_FIELDS`] for all.
    pub fields: &'a [String],
    /// The first id of the page; `None` for the beginning.
    pub from: Option<PointId>,
    /// Maximum number of points.
    pub limit: usize,
}

/// A page of points ordered by id.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PointPage {
    /// Ids with the requested payload fields.
    pub points: Vec<(PointId, Map<String, Value>)>,
    /// The first id of the next page; `None` at the end.
    pub next: Option<PointId>,
}

/// Errors of a store. Their messages must contain neither keys nor vectors nor payloads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The store does not answer, or not at the moment.
    #[error("{0}")]
    Unavailable(String),
    /// Too many requests.
    #[error("{message}")]
    RateLimited {
        /// The server's message.
        message: String,
        /// The pause that the server requests, if any.
        retry_after: Option<Duration>,
    },
    /// There was no answer in time.
    #[error("{0}")]
    Timeout(String),
    /// The caller has cancelled.
    #[error("cancelled")]
    Cancelled,
    /// The key is missing or wrong.
    #[error("{0}")]
    Unauthorized(String),
    /// The collection does not exist.
    #[error("{0}")]
    NoCollection(String),
    /// The collection already exists.
    #[error("{0}")]
    Exists(String),
    /// Another process has locked the collection.
    #[error("{0}")]
    Locked(String),
    /// The store rejected the request, or its answer was invalid.
    #[error("{0}")]
    Invalid(String),
    /// The stored data is damaged.
    #[error("{0}")]
    Damaged(String),
}

impl StoreError {
    /// A one-word name for telemetry and records.
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

    /// Suggests a remedy other than a retry, if there is one.
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

    /// Returns true if the same request may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Unavailable(_) | Self::RateLimited { .. })
    }
}
