//! Looks up points for a query, in a deterministic order.

mod foreign;
mod idf;
mod named;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use forage_base::{Hint, Stop};
pub use idf::FrequencyCache;
use idf::GlobalIdf;

use crate::bm25::FastEmbedBm25;
use crate::bm42::Bm42;
use crate::encoder::Encoder;
use crate::fill::count_chunks;
use crate::filter::PointFilter;
use crate::language::Prose;
use crate::limits;
use crate::name::{NameMatch, name_of};
use crate::retry::with_retries;
use crate::store::{Collection, PointHit, PointQuery, PointReader, ShardLayout, StoreError};
use crate::superset::CodeSuperset;

/// Looks up words in one collection.
#[derive(Clone)]
pub struct Retriever {
    /// The store with the points.
    pub store: Arc<dyn PointReader>,
    /// The encoder of queries; `None` for the one that the collection names.
    pub encoder: Option<Arc<dyn Encoder>>,
    /// The required treatment of words, if the collection names its own encoder; `None` for any.
    pub prose: Option<Prose>,
    /// The name of the store in telemetry.
    pub backend: &'static str,
    /// The name of the sparse vector. If the collection has only one vector, under another name, we use that
    /// one.
    pub using: String,
    /// How words are weighted by rarity if the store does not do it.
    pub idf: Idf,
    /// The payload fields to return with each point.
    pub fields: Vec<String>,
    /// The payload field with the text, which we compare with names; `None` for points without one. In a
    /// collection without a contract, the text may be in a field that other programs use.
    pub text_field: Option<String>,
    /// The timeout of a lookup, including all pauses.
    pub timeout: Duration,
    /// A cache of document frequencies, shared by all retrievers of the same collection.
    pub rarity: Arc<FrequencyCache>,
}

/// How to weight words in a collection whose sparse vector has no IDF modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idf {
    /// Weight each word of a query by its document frequency, which we request from the store.
    #[default]
    Auto,
    /// Use the store's scores, in which a common word counts as much as a rare one.
    Stored,
}

/// A difference between a collection and the settings that did not prevent the search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adaptation {
    /// It has no sparse vector with the requested name, so we searched the only one that it has.
    Vector {
        /// The requested name.
        asked: String,
        /// The name of the vector that was searched.
        used: String,
    },
    /// Texts are not in the payload field of the settings.
    Text {
        /// The field of the settings.
        asked: String,
        /// The field that contains them.
        used: String,
    },
    /// The sparse vector has no IDF modifier.
    NoIdf {
        /// The name of the vector.
        vector: String,
        /// Whether words were weighted by rarity nevertheless.
        is_weighed: bool,
        /// Number of dimensions of the query with at least [`limits::HITS_ASKED`] points, which is as far as
        /// we count.
        common: usize,
    },
}

/// The result of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// The hits, best first: by score, and by id if scores differ by less than [`SCORE_STEP`]. If the query
    /// is a name, points that contain it as a whole come before all others.
    pub hits: Vec<PointHit>,
    /// How each hit contains the name. This is empty if the query is not a name.
    pub held: Vec<NameMatch>,
    /// The state of the lookup, which says why there are hits or none.
    pub state: LookupState,
    /// The known facts about the name, if the query is a name.
    pub name: Option<NameFacts>,
    /// Number of results left out because their score is less than [`limits::SCORE_SHARE`] of the best.
    pub cut: usize,
    /// The number of results without the filter, if nothing passed it.
    pub beyond: Option<UnfilteredCounts>,
    /// True if more points than we could request have the same score as the last one, so that the store chose
    /// among them arbitrarily.
    pub is_arbitrary: bool,
    /// Further questions that the store did not answer. The hits are valid nevertheless.
    pub unanswered: Vec<Unanswered>,
    /// The differences between the collection and the settings.
    pub adapted: Vec<Adaptation>,
}

/// A question of a lookup that the store did not answer, and the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered {
    /// The question.
    pub question: Question,
    /// The error.
    pub error: StoreError,
}

/// The questions of a lookup to a store, in addition to the query itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The document frequencies across all shards, if each shard counts separately.
    Rarity,
    /// Which points with the same score as the last one come first by id.
    Ties,
    /// Which points contain the name as a whole.
    Name,
    /// The results without the filter.
    Beyond,
}

/// The known facts about a name in a collection, with the filter applied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFacts {
    /// The name.
    pub name: String,
    /// Number of points that contain it as a whole, as written.
    pub whole: usize,
    /// Number of points that contain it only in another case.
    pub other_case: usize,
    /// Number of points that we compared with it.
    pub compared: usize,
    /// Number of points that may contain it but have no text to compare.
    pub without_text: usize,
    /// True if we compared all points that can contain the name. If none of them does, the collection does
    /// not contain it.
    pub is_complete: bool,
    /// Number of points that contain the name in any case without the filter, if none does with the filter.
    pub beyond: Option<usize>,
}

impl NameFacts {
    /// Returns true if the collection is known not to contain the name.
    pub fn is_absent(&self) -> bool {
        self.is_complete && self.without_text == 0 && self.whole + self.other_case == 0
    }
}

/// The number of results without a filter, if nothing passed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnfilteredCounts {
    /// Number of points with any of the words.
    pub points: usize,
    /// Whether there may be more of them.
    pub is_at_least: bool,
    /// Number of points that pass the filter, regardless of their words.
    pub under_filter: u64,
}

impl Lookup {
    fn empty(state: LookupState) -> Self {
        Self {
            hits: Vec::new(),
            held: Vec::new(),
            state,
            name: None,
            cut: 0,
            beyond: None,
            is_arbitrary: false,
            unanswered: Vec::new(),
            adapted: Vec::new(),
        }
    }

    /// Records that a question has no answer and continues, unless the caller has cancelled the lookup.
    fn without(&mut self, question: Question, error: StoreError) -> Result<(), StoreError> {
        match error {
            StoreError::Cancelled => Err(error),
            error => {
                self.unanswered.push(Unanswered { question, error });
                Ok(())
            }
        }
    }

    /// Removes hits with a negligible score compared to the best one. Hits that contain the whole name in any
    /// spelling are kept.
    fn cut(&mut self) {
        let best = self.hits.iter().map(|hit| hit.score).fold(0.0, f32::max);
        let before = self.hits.len();
        let mut held = std::mem::take(&mut self.held).into_iter();
        let kept = std::mem::take(&mut self.hits).into_iter().map(|hit| (hit, held.next()));
        let is_kept = |(hit, held): &(PointHit, Option<NameMatch>)| {
            hit.score >= best * limits::SCORE_SHARE || held.is_some_and(NameMatch::is_same)
        };
        for (hit, held) in kept.filter(is_kept) {
            self.hits.push(hit);
            self.held.extend(held);
        }
        self.cut = before - self.hits.len();
    }
}

/// The final state of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub enum LookupState {
    /// There are hits.
    Found,
    /// No point that passes the filter has any of the words.
    NoMatch,
    /// The query has no word that the encoder keeps, for example because all of them are stop words.
    NoWord,
    /// The encoder can't be used, so nothing was looked up.
    EncoderUnavailable(String),
    /// The store did not answer, so nothing is known.
    StoreUnavailable(StoreError),
}

/// Scores that differ by less than this count as equal. Stores add 32-bit numbers in different orders, and
/// the order affects a sum from the sixth digit on.
pub const SCORE_STEP: f32 = 1e-4;

/// The reasons why a collection can't be queried. These are configuration errors: any answer would be wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionError {
    /// The collection does not exist.
    #[error("there is no {0}")]
    Missing(String),
    /// The collection does not have this sparse vector.
    #[error("{place} has no sparse vector `{using}`; it has: {known}")]
    NoVector {
        /// The collection.
        place: String,
        /// The requested name.
        using: String,
        /// A list of the existing vectors.
        known: String,
    },
    /// The store does not weight words by rarity. Every ranking would be wrong, and nothing would show it.
    #[error(
        "the sparse vector `{using}` of {place} has no IDF modifier, so common words would count as much as \
         rare ones; set it (Qdrant: update the collection with sparse_vectors.{using}.modifier = \"idf\")"
    )]
    NoIdf {
        /// The collection.
        place: String,
        /// The vector.
        using: String,
    },
    /// The collection was encoded with another encoder.
    #[error("{place} was encoded with `{theirs}`, but the settings use `{ours}`; the two are incompatible")]
    Encoding {
        /// The collection.
        place: String,
        /// The contract of the collection.
        theirs: String,
        /// The contract of the configured encoder.
        ours: String,
    },
    /// The collection has no contract.
    #[error("{0} does not name its encoder")]
    Unsaid(String),
    /// The collection has a contract that no encoder here supports.
    #[error("{place} was encoded with `{theirs}`, which is not supported")]
    Unknown {
        /// The collection.
        place: String,
        /// The contract of the collection.
        theirs: String,
    },
    /// An error of the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl CollectionError {
    fn no_vector(collection: &Collection, using: &str, place: &str) -> Self {
        let known: Vec<&str> = collection.sparse_vectors.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Self::NoVector { place: place.to_owned(), using: using.to_owned(), known }
    }

    /// Suggests a remedy, if there is one.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Missing(_) => Some(Hint::FillCollection),
            Self::NoVector { .. } => Some(Hint::ChooseVector),
            Self::Encoding { .. } => Some(Hint::MatchEncoding),
            Self::Unsaid(_) => Some(Hint::NameEncoder),
            Self::Unknown { .. } => Some(Hint::SetEncoder),
            Self::Store(error) => error.hint(),
            // The message itself already explains how to set a modifier, since this depends on the store.
            Self::NoIdf { .. } => None,
        }
    }
}

/// Checks that points of this encoder may be added to a collection.
///
/// # Errors
///
/// Returns the problem and how to fix it.
pub(crate) fn check(
    collection: &Collection,
    encoder: &dyn Encoder,
    using: &str,
    place: &str,
) -> Result<(), CollectionError> {
    let Some(vector) = collection.sparse_vectors.get(using) else {
        return Err(CollectionError::no_vector(collection, using, place));
    };
    check_encoding(collection, encoder, place)?;
    match vector.has_idf {
        true => Ok(()),
        false => Err(CollectionError::NoIdf { place: place.to_owned(), using: using.to_owned() }),
    }
}

/// Checks that queries of this encoder are valid for the collection.
fn check_encoding(
    collection: &Collection,
    encoder: &dyn Encoder,
    place: &str,
) -> Result<(), CollectionError> {
    match &collection.contract {
        Some(contract) if !encoder.reads(contract) => Err(CollectionError::Encoding {
            place: place.to_owned(),
            theirs: contract.to_string(),
            ours: encoder.contract().to_string(),
        }),
        // Without a contract, the configuration decides.
        None | Some(_) => Ok(()),
    }
}

impl Retriever {
    /// Finds the points that match `query` best. Rare words count more than common ones. An unavailable store
    /// or encoder is reported as a state of the result.
    ///
    /// # Errors
    ///
    /// Returns an error if the collection can't be queried with these settings, or if the caller has
    /// cancelled.
    pub fn look_up(
        &self,
        query: &str,
        limit: usize,
        filter: &PointFilter,
        stop: &Stop,
    ) -> Result<Lookup, CollectionError> {
        let nothing = |state| Ok(Lookup::empty(state));
        let encode = |encoder: Arc<dyn Encoder>| match encoder.query(query) {
            Ok(vector) if vector.is_empty() => Err(LookupState::NoWord),
            Ok(vector) => Ok((encoder, vector)),
            Err(error) => Err(LookupState::EncoderUnavailable(error.to_string())),
        };
        // A query without words needs no request, so we encode it first if we already know the encoder.
        let encoded = match self.encoder.clone().map(encode).transpose() {
            Ok(encoded) => encoded,
            Err(state) => return nothing(state),
        };
        // The timeout starts after this: opening and checking the files of a large collection may take
        // longer.
        if let Err(error) = with_retries(stop, || self.store.prepare(stop)) {
            return self.fails(error).and_then(nothing);
        }
        let (stop, place) = (stop.within(self.timeout), self.store.place());
        let collection = match with_retries(&stop, || self.store.collection(&stop)) {
            Ok(Some(collection)) => collection,
            Ok(None) => return Err(CollectionError::Missing(place)),
            Err(error) => return self.fails(error).and_then(nothing),
        };
        let encoded = match encoded {
            Some(encoded) => Ok(encoded),
            None => encode(encoder_of(&collection, self.prose, &place)?),
        };
        let (encoder, vector) = match encoded {
            Ok(encoded) => encoded,
            Err(state) => return nothing(state),
        };
        check_encoding(&collection, &*encoder, &place)?;
        let using = foreign::vector(&collection, &self.using, &place)?;
        let texts = foreign::TextStore::new(self, &collection);
        let mut asker = Self { using: using.to_owned(), ..self.clone() };
        if let Some(texts) = &texts {
            asker.store = Arc::clone(texts) as _;
        }
        let asked = PointQuery { vector: &vector, using, limit, fields: &self.fields, filter };
        let has_idf = collection.sparse_vectors.get(using).is_some_and(|vector| vector.has_idf);
        let found = match (has_idf, self.idf) {
            (true, _) => asker.found(query, &asked, &*encoder, collection.layout, &stop),
            (false, idf) => asker.found_without_idf(query, &asked, &*encoder, idf, &stop),
        };
        let mut lookup = match found {
            Ok(lookup) => lookup,
            Err(error) => return self.fails(error).and_then(nothing),
        };
        if using != self.using {
            lookup.adapted.push(Adaptation::Vector { asked: self.using.clone(), used: using.to_owned() });
        }
        lookup.adapted.extend(texts.and_then(|texts| texts.adapted()));
        Ok(lookup)
    }

    /// Looks up in a collection whose store does not weight words by rarity. We weight the query instead.
    fn found_without_idf(
        &self,
        query: &str,
        asked: &PointQuery<'_>,
        encoder: &dyn Encoder,
        idf: Idf,
        stop: &Stop,
    ) -> Result<Lookup, StoreError> {
        // Counting must leave enough time for the lookup itself.
        let weighed = match idf {
            Idf::Stored => Ok(None),
            Idf::Auto => idf::weighed(self, asked.vector, &stop.within(self.timeout / 2)),
        };
        let (weighed, failed) = weighed.map_or_else(|error| (None, Some(error)), |weighed| (weighed, None));
        let is_weighed = weighed.is_some();
        let (weighed, common) = weighed.unzip();
        let vector = weighed.as_ref().unwrap_or(asked.vector);
        let asked = PointQuery { vector, ..asked.clone() };
        // These scores do not depend on the shard of a point, so we need no idf across shards.
        let mut lookup = self.found(query, &asked, encoder, ShardLayout::Single, stop)?;
        let (vector, common) = (self.using.clone(), common.unwrap_or_default());
        lookup.adapted.push(Adaptation::NoIdf { vector, is_weighed, common });
        match failed {
            Some(error) => lookup.without(Question::Rarity, error).map(|()| lookup),
            None => Ok(lookup),
        }
    }

    fn found(
        &self,
        query: &str,
        asked: &PointQuery<'_>,
        encoder: &dyn Encoder,
        layout: ShardLayout,
        stop: &Stop,
    ) -> Result<Lookup, StoreError> {
        let mut lookup = Lookup::empty(LookupState::Found);
        let rarity = match layout {
            ShardLayout::Single => None,
            // This must leave enough time for the lookup itself.
            layout => GlobalIdf::ask(self, asked.vector, layout, &stop.within(self.timeout / 2))
                .or_else(|error| lookup.without(Question::Rarity, error).map(|()| None))?,
        };
        lookup.hits = self.best(asked.clone(), rarity.as_ref(), stop, &mut lookup)?;
        if lookup.hits.is_empty() {
            lookup.state = LookupState::NoMatch;
            if !asked.filter.is_empty() {
                match self.beyond(asked, stop) {
                    Ok(beyond) => lookup.beyond = Some(beyond),
                    Err(error) => lookup.without(Question::Beyond, error)?,
                }
            }
            return Ok(lookup);
        }
        if let Some((name, field)) = name_of(query).zip(self.text_field.as_deref()) {
            let named = named::NameLookup {
                retriever: self,
                name,
                field,
                encoder,
                asked,
                rarity: rarity.as_ref(),
                stop,
            };
            named.put_first(&mut lookup)?;
        }
        lookup.cut();
        Ok(lookup)
    }

    /// Counts the results of a query without its filter.
    fn beyond(&self, asked: &PointQuery<'_>, stop: &Stop) -> Result<UnfilteredCounts, StoreError> {
        let (limit, everything) = (limits::NAMES_COMPARED, PointFilter::default());
        let query = PointQuery { limit, fields: &[], filter: &everything, ..*asked };
        let points = with_retries(stop, || self.store.query(&query, stop))?.len();
        let under_filter = count_chunks(&*self.store, asked.filter, stop)?;
        Ok(UnfilteredCounts { points, is_at_least: points >= limit, under_filter })
    }

    /// Converts an error of the store to a state of the result. Errors for which a retry would be useless
    /// stay errors.
    fn fails(&self, error: StoreError) -> Result<LookupState, CollectionError> {
        match error {
            StoreError::NoCollection(_) => Err(CollectionError::Missing(self.store.place())),
            StoreError::Cancelled
            | StoreError::Invalid(_)
            | StoreError::Damaged(_)
            | StoreError::Exists(_) => Err(error.into()),
            error => Ok(LookupState::StoreUnavailable(error)),
        }
    }

    /// Finds the best points in a deterministic order. Stores order points only by score, and choose
    /// arbitrarily among equal scores at the limit. We therefore request more points than wanted, until the
    /// last one has a lower score than the last wanted one. At first we request only twice as many, because
    /// returning payloads takes longer than finding the points.
    fn best(
        &self,
        mut query: PointQuery<'_>,
        rarity: Option<&GlobalIdf>,
        stop: &Stop,
        lookup: &mut Lookup,
    ) -> Result<Vec<PointHit>, StoreError> {
        if let Some(rarity) = rarity {
            return rarity.best(self, &query, stop, lookup);
        }
        let wanted = query.limit;
        query.limit = (2 * wanted).max(wanted + 1);
        let mut hits = with_retries(stop, || self.store.query(&query, stop))?;
        loop {
            let is_all = hits.len() < query.limit;
            hits.sort_by_key(|hit| (Reverse(step(hit.score)), hit.id));
            // Scores that differ by less than a step may round to two adjacent steps.
            let is_tied = !is_all
                && hits
                    .get(wanted.saturating_sub(1))
                    .zip(hits.last())
                    .is_some_and(|(last, end)| step(last.score) - step(end.score) <= 1);
            if !is_tied || query.limit >= limits::HITS_ASKED {
                lookup.is_arbitrary |= is_tied;
                break;
            }
            query.limit = (4 * query.limit).min(limits::HITS_ASKED);
            match with_retries(stop, || self.store.query(&query, stop)) {
                Ok(more) => hits = more,
                Err(error) => {
                    lookup.without(Question::Ties, error)?;
                    break;
                }
            }
        }
        hits.truncate(wanted);
        Ok(hits)
    }
}

/// Rounds a score to the number of its step ([`SCORE_STEP`]).
fn step(score: f32) -> i64 {
    (f64::from(score) / f64::from(SCORE_STEP)).round() as i64
}

impl CollectionError {
    /// A one-word name for telemetry and records.
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

/// Creates the encoder with this name. Note that BM42 supports only English, regardless of `prose`.
pub fn encoder_named(name: &str, prose: Prose) -> Option<Arc<dyn Encoder>> {
    match name {
        CodeSuperset::NAME => Some(Arc::new(CodeSuperset::with_prose(prose))),
        FastEmbedBm25::NAME => Some(Arc::new(FastEmbedBm25::with_prose(prose))),
        Bm42::NAME => Some(Arc::new(Bm42::new())),
        _ => None,
    }
}

/// Creates the encoder that a collection names.
fn encoder_of(
    collection: &Collection,
    wanted: Option<Prose>,
    place: &str,
) -> Result<Arc<dyn Encoder>, CollectionError> {
    let place = place.to_owned();
    let Some(contract) = &collection.contract else { return Err(CollectionError::Unsaid(place)) };
    let bm42 = Bm42::new();
    if bm42.reads(contract) && wanted.is_none_or(|wanted| wanted == Prose::default()) {
        return Ok(Arc::new(bm42));
    }
    // A contract is only a text, so we compare it with those of all encoders in all languages.
    type Make = fn(Prose) -> Arc<dyn Encoder>;
    let known: [Make; 2] = [
        |prose| Arc::new(CodeSuperset::with_prose(prose)),
        |prose| Arc::new(FastEmbedBm25::with_prose(prose)),
    ];
    let named = Prose::all().flat_map(|prose| known.map(|make| (prose, make)));
    let named = named.map(|(prose, make)| (prose, make, make(prose)));
    let Some((prose, make, encoder)) =
        named.into_iter().find(|(_, _, encoder)| encoder.contract() == *contract)
    else {
        return Err(CollectionError::Unknown { place, theirs: contract.to_string() });
    };
    match wanted.filter(|wanted| *wanted != prose) {
        Some(wanted) => Err(CollectionError::Encoding {
            place,
            theirs: contract.to_string(),
            ours: make(wanted).contract().to_string(),
        }),
        None => Ok(encoder),
    }
}
