//! From a query to points in an order that is always the same.

use std::cmp::Reverse;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use forage_fs::Stop;

use crate::bm25::FastEmbedBm25;
use crate::encoder::{Encoder, EncodingError};
use crate::limits;
use crate::patience::again;
use crate::store::{Collection, Filter, Hit, Query, Store, StoreError};
use crate::superset::CodeSuperset;

/// Looks words up in one collection.
pub struct Retriever {
    /// Where the points are.
    pub store: Arc<dyn Store>,
    /// What makes vectors of queries, or why there is none; `None` for what the collection says of itself.
    pub encoder: Option<EncoderSource>,
    /// What telemetry calls the store.
    pub backend: &'static str,
    /// The name of the sparse vector.
    pub using: String,
    /// Payload fields that come with a point.
    pub fields: Vec<String>,
    /// Time for one lookup, with all waits.
    pub timeout: Duration,
}

/// An encoder that is made when it is needed: one may have files to read.
pub type EncoderSource = LazyLock<
    Result<Arc<dyn Encoder>, EncodingError>,
    Box<dyn FnOnce() -> Result<Arc<dyn Encoder>, EncodingError> + Send>,
>;

/// What became of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// The best first: by score, and by id where scores are the same to [`SCORE_STEP`].
    pub hits: Vec<Hit>,
    /// Why there are so many and no more.
    pub state: LookupState,
    /// More points than could be asked for score as the last one, so that which of them are returned is the store's
    /// choice.
    pub is_arbitrary: bool,
}

/// Why a lookup gave what it gave.
#[derive(Clone, Debug, PartialEq)]
pub enum LookupState {
    /// There are hits.
    Found,
    /// No point has any of the words.
    NoMatch,
    /// The query has no word that the encoder keeps, as one of stop words alone.
    NoWord,
    /// There is no encoder, so nothing was looked up.
    EncoderUnavailable(String),
    /// There is no answer of the store, so nothing is known.
    StoreUnavailable(StoreError),
}

/// Scores that differ by less are the same: sums of 32-bit numbers depend on the order in which a store adds them, from
/// the sixth digit on.
pub const SCORE_STEP: f32 = 1e-4;

/// Why a collection can't be asked. These are mistakes of the configuration, and no answer would be true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionError {
    /// There is none.
    #[error(
        "there is no {0}; fill it with `forage sparse index PATH --collection NAME`, or set `retrieval.collection`"
    )]
    Missing(String),
    /// It has no such sparse vector.
    #[error(
        "{place} has no sparse vector `{using}`, but {known}; set `retrieval.vector`, or index the documents with that \
         vector"
    )]
    NoVector {
        /// The collection.
        place: String,
        /// The name that was asked for.
        using: String,
        /// Those that there are, as a list.
        known: String,
    },
    /// The store doesn't weigh words by their rarity, so that every ranking would be wrong without a sign of it.
    #[error(
        "the sparse vector `{using}` of {place} has no IDF modifier, so that a common word would count as much as a rare \
         one; set it (Qdrant: update the collection with sparse_vectors.{using}.modifier = \"idf\")"
    )]
    NoIdf {
        /// The collection.
        place: String,
        /// The vector.
        using: String,
    },
    /// It was encoded with something else.
    #[error(
        "{place} was encoded with `{theirs}`, and this is `{ours}`: its numbers mean other words; set \
         `retrieval.encoder` to what it was encoded with, or index it anew under another name"
    )]
    Encoding {
        /// The collection.
        place: String,
        /// What the collection says.
        theirs: String,
        /// What the configuration says.
        ours: String,
    },
    /// Nobody knows what it was encoded with.
    #[error("{0} doesn't say what it was encoded with; set `retrieval.encoder` to what it was filled by")]
    Unsaid(String),
    /// It says what it was encoded with, and that is nothing that is known here.
    #[error(
        "{place} was encoded with `{theirs}`, which needs `retrieval.encoder` to be set to an encoder that reads it"
    )]
    Unknown {
        /// The collection.
        place: String,
        /// What the collection says.
        theirs: String,
    },
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a collection can be asked with these queries.
///
/// # Errors
/// What is the matter with it, and how to mend that.
pub(crate) fn check(
    collection: &Collection,
    encoder: &dyn Encoder,
    using: &str,
    place: &str,
) -> Result<(), CollectionError> {
    let place = place.to_owned();
    let Some(vector) = collection.sparse_vectors.get(using) else {
        let known: Vec<&str> = collection.sparse_vectors.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none at all".to_owned() } else { known.join(", ") };
        return Err(CollectionError::NoVector { place, using: using.to_owned(), known });
    };
    if !vector.has_idf {
        return Err(CollectionError::NoIdf { place, using: using.to_owned() });
    }
    match &collection.contract {
        Some(contract) if !encoder.reads(contract) => Err(CollectionError::Encoding {
            place,
            theirs: contract.to_string(),
            ours: encoder.contract().to_string(),
        }),
        // Who filled it hasn't said with what; the configuration has.
        None | Some(_) => Ok(()),
    }
}

impl Retriever {
    /// The points that have most of the words of `query`, rare words counting more. A store or an encoder that is away
    /// is a state of the answer.
    ///
    /// # Errors
    /// The collection can't be asked so, or whoever asked has gone.
    pub fn look_up(
        &self,
        query: &str,
        limit: usize,
        filter: &Filter,
        stop: &Stop,
    ) -> Result<Lookup, CollectionError> {
        let nothing = |state| Ok(Lookup { hits: Vec::new(), state, is_arbitrary: false });
        let encode = |encoder: &dyn Encoder| match encoder.query(query) {
            Ok(vector) if vector.is_empty() => Err(LookupState::NoWord),
            Ok(vector) => Ok(vector),
            Err(error) => Err(LookupState::EncoderUnavailable(error.to_string())),
        };
        // What can be told without the store needs no store.
        let encoded = match self.encoder.as_deref() {
            Some(Ok(encoder)) => match encode(&**encoder) {
                Ok(vector) => Some((Arc::clone(encoder), vector)),
                Err(state) => return nothing(state),
            },
            Some(Err(error)) => return nothing(LookupState::EncoderUnavailable(error.to_string())),
            None => None,
        };
        if let Err(error) = again(stop, || self.store.prepare(stop)) {
            return self.fails(error).and_then(nothing);
        }
        let (stop, place) = (stop.within(self.timeout), self.store.place());
        let collection = match again(&stop, || self.store.collection(&stop)) {
            Ok(Some(collection)) => collection,
            Ok(None) => return Err(CollectionError::Missing(place)),
            Err(error) => return self.fails(error).and_then(nothing),
        };
        let (encoder, vector) = match encoded {
            Some(encoded) => encoded,
            None => {
                let encoder = encoder_of(&collection, &place)?;
                match encode(&*encoder) {
                    Ok(vector) => (encoder, vector),
                    Err(state) => return nothing(state),
                }
            }
        };
        check(&collection, &*encoder, &self.using, &place)?;
        let query = Query { vector: &vector, using: &self.using, limit, fields: &self.fields, filter };
        match self.best(query, &stop) {
            Ok((hits, _)) if hits.is_empty() => nothing(LookupState::NoMatch),
            Ok((hits, is_arbitrary)) => Ok(Lookup { hits, state: LookupState::Found, is_arbitrary }),
            Err(error) => self.fails(error).and_then(nothing),
        }
    }

    /// What an error of the store is to whoever asked: a state of the answer, unless asking again is of no use.
    fn fails(&self, error: StoreError) -> Result<LookupState, CollectionError> {
        match error {
            StoreError::NoCollection(_) => Err(CollectionError::Missing(self.store.place())),
            StoreError::Cancelled | StoreError::Invalid(_) | StoreError::Exists(_) => Err(error.into()),
            error => Ok(LookupState::StoreUnavailable(error)),
        }
    }

    /// Stores order by score alone, and cut where scores are the same as they like: more is asked for than is wanted,
    /// until the cut falls between two scores. At first twice as many: with each comes its payload, which takes longer than
    /// finding it.
    fn best(&self, mut query: Query<'_>, stop: &Stop) -> Result<(Vec<Hit>, bool), StoreError> {
        let wanted = query.limit;
        query.limit = (2 * wanted).max(wanted + 1);
        loop {
            let mut hits = again(stop, || self.store.query(&query, stop))?;
            let is_all = hits.len() < query.limit;
            hits.sort_by_key(|hit| (Reverse(step(hit.score)), hit.id));
            // A difference of less than a step may lie on both sides of a step's edge.
            let is_tied = !is_all
                && hits
                    .get(wanted - 1)
                    .zip(hits.last())
                    .is_some_and(|(last, end)| step(last.score) - step(end.score) <= 1);
            if !is_tied || query.limit >= limits::HITS_ASKED {
                hits.truncate(wanted);
                return Ok((hits, is_tied));
            }
            query.limit = (4 * query.limit).min(limits::HITS_ASKED);
        }
    }
}

/// The number of a score's step.
fn step(score: f32) -> i64 {
    (f64::from(score) / f64::from(SCORE_STEP)).round() as i64
}

impl CollectionError {
    /// One word for telemetry and records.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Missing(_) => "no_collection",
            Self::NoVector { .. } => "no_vector",
            Self::NoIdf { .. } => "no_idf",
            Self::Encoding { .. } => "other_encoding",
            Self::Unsaid(_) | Self::Unknown { .. } => "unknown_encoding",
            Self::Store(error) => error.kind(),
        }
    }
}

/// The encoder that a collection names, of those that need no files.
fn encoder_of(collection: &Collection, place: &str) -> Result<Arc<dyn Encoder>, CollectionError> {
    let place = place.to_owned();
    let Some(contract) = &collection.contract else { return Err(CollectionError::Unsaid(place)) };
    let known: [Arc<dyn Encoder>; 2] = [Arc::new(CodeSuperset::new()), Arc::new(FastEmbedBm25::new())];
    let named = known.into_iter().find(|encoder| encoder.contract() == *contract);
    named.ok_or_else(|| CollectionError::Unknown { place, theirs: contract.to_string() })
}
