//! From a query to points in an order that is always the same.

mod foreign;
mod named;
mod rarity;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use forage_base::{Hint, Stop};
pub use rarity::KnownRarity;
use rarity::WholeRarity;

use crate::bm25::FastEmbedBm25;
use crate::bm42::Bm42;
use crate::encoder::Encoder;
use crate::fill::count_chunks;
use crate::filter::PointFilter;
use crate::language::Prose;
use crate::limits;
use crate::name::{NameMatch, name_of};
use crate::patience::again;
use crate::store::{Collection, PointHit, PointQuery, PointReader, ShardLayout, StoreError};
use crate::superset::CodeSuperset;

/// Looks words up in one collection.
#[derive(Clone)]
pub struct Retriever {
    /// The store with the points.
    pub store: Arc<dyn PointReader>,
    /// The encoder of queries; `None` for the one that the collection names itself.
    pub encoder: Option<Arc<dyn Encoder>>,
    /// The treatment of words that a collection must have which names its encoder itself; `None` for any.
    pub prose: Option<Prose>,
    /// The name of the store in telemetry.
    pub backend: &'static str,
    /// The name of the sparse vector. Where the collection has another one alone, that is searched.
    pub using: String,
    /// The rarity of words, where the store does not weigh them by it.
    pub idf: Idf,
    /// Payload fields that come with a point.
    pub fields: Vec<String>,
    /// The payload field with the text, in which names are looked for as a whole; `None` for points without one. In a
    /// collection that does not say what it was encoded with, the text may be where others keep it.
    pub text_field: Option<String>,
    /// Time for one lookup, with all waits.
    pub timeout: Duration,
    /// What is known of the rarity of words, for those who ask the same collection.
    pub rarity: Arc<KnownRarity>,
}

/// Scores of a collection whose sparse vector has no IDF modifier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idf {
    /// Each word of a query weighs by how many points have it, which the store is asked for.
    #[default]
    Auto,
    /// As the store has them: a common word counts as much as a rare one.
    Stored,
}

/// A way in which a collection is not as it was expected, and was searched all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// It has no sparse vector of the name that was asked for, and its only one was searched.
    Vector {
        /// The name that was asked for.
        asked: String,
        /// The one that was searched.
        used: String,
    },
    /// Texts are not in the payload field of the settings.
    Text {
        /// The field of the settings.
        asked: String,
        /// The field in which they are.
        used: String,
    },
    /// The sparse vector has no IDF modifier.
    NoIdf {
        /// Its name.
        vector: String,
        /// Whether words were weighed by their rarity all the same.
        is_weighed: bool,
        /// Dimensions of the query that are in more points than were counted, [`limits::HITS_ASKED`].
        common: usize,
    },
}

/// The outcome of a lookup.
#[derive(Clone, Debug, PartialEq)]
pub struct Lookup {
    /// The best first: by score, and by id where scores are the same to [`SCORE_STEP`]. Where the query is a name, those
    /// that have it as a whole come before all others.
    pub hits: Vec<PointHit>,
    /// The extent to which each of the hits has the name that the query is; empty if it is none.
    pub held: Vec<NameMatch>,
    /// The state of the lookup, which says why there are hits or none.
    pub state: LookupState,
    /// The facts that are known of the name that the query is.
    pub name: Option<NameFacts>,
    /// Results that were left out because they score less than [`limits::SCORE_SHARE`] of the best.
    pub cut: usize,
    /// Counts of what there is without the filter, where nothing was found under one.
    pub beyond: Option<Beyond>,
    /// More points than could be asked for score as the last one, so that which of them are returned is the store's
    /// choice.
    pub is_arbitrary: bool,
    /// The questions that the store did not answer beside that for the hits: they are an answer without that.
    pub unanswered: Vec<Unanswered>,
    /// The ways in which the collection is another one than was expected.
    pub adapted: Vec<Adapted>,
}

/// A question of a lookup that the store gave no answer to, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Unanswered {
    /// The question.
    pub question: Question,
    /// The error that came in place of an answer.
    pub error: StoreError,
}

/// The questions that a lookup asks a store beside that for the best points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// How rare the words are in all shards together, where each counts by itself.
    Rarity,
    /// Which of the points that score as the last one come first by id.
    Ties,
    /// Which points have the name as a whole.
    Name,
    /// What there is without the filter.
    Beyond,
}

/// The facts that are known of a name in a collection, under the filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameFacts {
    /// The name.
    pub name: String,
    /// Points that have it as a whole, as it is written.
    pub whole: usize,
    /// Points that have it in another case alone.
    pub other_case: usize,
    /// Points whose texts were compared with it.
    pub compared: usize,
    /// Points that could have it, and have no text to compare.
    pub without_text: usize,
    /// All points that can have it are among those: what none of them has, the collection doesn't have.
    pub is_complete: bool,
    /// The number of points that have it without the filter, in any case, where none has it under the filter.
    pub beyond: Option<usize>,
}

impl NameFacts {
    /// Returns whether the collection doesn't have it, for certain.
    pub fn is_absent(&self) -> bool {
        self.is_complete && self.without_text == 0 && self.whole + self.other_case == 0
    }
}

/// Counts of what there is without a filter under which nothing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// Points with any of the words.
    pub points: usize,
    /// There may be more of them.
    pub is_at_least: bool,
    /// Points that the filter lets through, whatever words they have.
    pub under_filter: u64,
}

impl Lookup {
    fn nothing(state: LookupState) -> Self {
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

    /// Goes on without an answer to that. Only whoever asked ends a lookup that has found something.
    fn without(&mut self, question: Question, error: StoreError) -> Result<(), StoreError> {
        match error {
            StoreError::Cancelled => Err(error),
            error => {
                self.unanswered.push(Unanswered { question, error });
                Ok(())
            }
        }
    }

    /// Leaves out what scores next to nothing beside the best, but nothing that has the name as a whole.
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

/// The states in which a lookup ends.
#[derive(Clone, Debug, PartialEq)]
pub enum LookupState {
    /// There are hits.
    Found,
    /// No point has any of the words, of those that the filter lets through.
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

/// The reasons for which a collection can't be asked. These are mistakes of the configuration, and no answer would be
/// true.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CollectionError {
    /// There is none.
    #[error("there is no {0}")]
    Missing(String),
    /// It has no such sparse vector.
    #[error("{place} has no sparse vector `{using}`, but {known}")]
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
    #[error("{place} was encoded with `{theirs}`, and this is `{ours}`: its numbers mean other words")]
    Encoding {
        /// The collection.
        place: String,
        /// What the collection says.
        theirs: String,
        /// What the configuration says.
        ours: String,
    },
    /// Nobody knows what it was encoded with.
    #[error("{0} doesn't say what it was encoded with")]
    Unsaid(String),
    /// It says what it was encoded with, and that is nothing that is known here.
    #[error("{place} was encoded with `{theirs}`, which no encoder here reads by itself")]
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

impl CollectionError {
    fn no_vector(collection: &Collection, using: &str, place: &str) -> Self {
        let known: Vec<&str> = collection.sparse_vectors.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none at all".to_owned() } else { known.join(", ") };
        Self::NoVector { place: place.to_owned(), using: using.to_owned(), known }
    }

    /// Returns what can be done about it, if anything.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Missing(_) => Some(Hint::FillCollection),
            Self::NoVector { .. } => Some(Hint::ChooseVector),
            Self::Encoding { .. } => Some(Hint::MatchEncoding),
            Self::Unsaid(_) => Some(Hint::NameEncoder),
            Self::Unknown { .. } => Some(Hint::SetEncoder),
            Self::Store(error) => error.hint(),
            // How a modifier is set is the store's business, and said above.
            Self::NoIdf { .. } => None,
        }
    }
}

/// Whether points of this encoder can be added to a collection.
///
/// # Errors
/// What is the matter with it, and how to mend that.
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

/// Whether queries of this encoder mean what a collection's numbers do.
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
        filter: &PointFilter,
        stop: &Stop,
    ) -> Result<Lookup, CollectionError> {
        let nothing = |state| Ok(Lookup::nothing(state));
        let encode = |encoder: Arc<dyn Encoder>| match encoder.query(query) {
            Ok(vector) if vector.is_empty() => Err(LookupState::NoWord),
            Ok(vector) => Ok((encoder, vector)),
            Err(error) => Err(LookupState::EncoderUnavailable(error.to_string())),
        };
        // What can be told without the store needs no store.
        let encoded = match self.encoder.clone().map(encode).transpose() {
            Ok(encoded) => encoded,
            Err(state) => return nothing(state),
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
            lookup.adapted.push(Adapted::Vector { asked: self.using.clone(), used: using.to_owned() });
        }
        lookup.adapted.extend(texts.and_then(|texts| texts.adapted()));
        Ok(lookup)
    }

    /// Looks up in a collection whose store does not weigh words: weighed here, they need no more of it.
    fn found_without_idf(
        &self,
        query: &str,
        asked: &PointQuery<'_>,
        encoder: &dyn Encoder,
        idf: Idf,
        stop: &Stop,
    ) -> Result<Lookup, StoreError> {
        let weighed = match idf {
            Idf::Stored => Ok(None),
            Idf::Auto => rarity::weighed(self, asked.vector, &stop.within(self.timeout / 2)),
        };
        let (weighed, failed) = weighed.map_or_else(|error| (None, Some(error)), |weighed| (weighed, None));
        let is_weighed = weighed.is_some();
        let (weighed, common) = weighed.unzip();
        let vector = weighed.as_ref().unwrap_or(asked.vector);
        let asked = PointQuery { vector, ..asked.clone() };
        let mut lookup = self.found(query, &asked, encoder, ShardLayout::Single, stop)?;
        let (vector, common) = (self.using.clone(), common.unwrap_or_default());
        lookup.adapted.push(Adapted::NoIdf { vector, is_weighed, common });
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
        let mut lookup = Lookup::nothing(LookupState::Found);
        let rarity = match layout {
            ShardLayout::Single => None,
            // The lookup itself needs its time, whatever becomes of this.
            layout => WholeRarity::ask(self, asked.vector, layout, &stop.within(self.timeout / 2))
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

    /// What a query finds without its filter.
    fn beyond(&self, asked: &PointQuery<'_>, stop: &Stop) -> Result<Beyond, StoreError> {
        let (limit, everything) = (limits::NAMES_COMPARED, PointFilter::default());
        let query = PointQuery { limit, fields: &[], filter: &everything, ..*asked };
        let points = again(stop, || self.store.query(&query, stop))?.len();
        let under_filter = count_chunks(&*self.store, asked.filter, stop)?;
        Ok(Beyond { points, is_at_least: points >= limit, under_filter })
    }

    /// What an error of the store is to whoever asked: a state of the answer, unless asking again is of no use.
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

    /// Stores order by score alone, and cut where scores are the same as they like: more is asked for than is wanted,
    /// until the cut falls between two scores. At first twice as many: with each comes its payload, which takes longer than
    /// finding it.
    fn best(
        &self,
        mut query: PointQuery<'_>,
        rarity: Option<&WholeRarity>,
        stop: &Stop,
        lookup: &mut Lookup,
    ) -> Result<Vec<PointHit>, StoreError> {
        if let Some(rarity) = rarity {
            return rarity.best(self, &query, stop, lookup);
        }
        let wanted = query.limit;
        query.limit = (2 * wanted).max(wanted + 1);
        let mut hits = again(stop, || self.store.query(&query, stop))?;
        loop {
            let is_all = hits.len() < query.limit;
            hits.sort_by_key(|hit| (Reverse(step(hit.score)), hit.id));
            // A difference of less than a step may lie on both sides of a step's edge.
            let is_tied = !is_all
                && hits
                    .get(wanted - 1)
                    .zip(hits.last())
                    .is_some_and(|(last, end)| step(last.score) - step(end.score) <= 1);
            if !is_tied || query.limit >= limits::HITS_ASKED {
                lookup.is_arbitrary |= is_tied;
                break;
            }
            query.limit = (4 * query.limit).min(limits::HITS_ASKED);
            match again(stop, || self.store.query(&query, stop)) {
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

/// Returns the encoder with that name. BM42 knows English only, whatever `prose` is.
pub fn encoder_named(name: &str, prose: Prose) -> Option<Arc<dyn Encoder>> {
    match name {
        CodeSuperset::NAME => Some(Arc::new(CodeSuperset::with_prose(prose))),
        FastEmbedBm25::NAME => Some(Arc::new(FastEmbedBm25::with_prose(prose))),
        Bm42::NAME => Some(Arc::new(Bm42::new())),
        _ => None,
    }
}

/// The encoder that a collection names.
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
