//! The records of `keyword_lookup`.

use forage_lookup::{Lookup, LookupState, NameFacts, NameMatch, UnfilteredCounts};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The records that `keyword_lookup` returns.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupResponse {
    /// The query, as the caller wrote it.
    pub query: String,
    /// The collection; empty if none is configured.
    pub collection: String,
    /// How the lookup ended.
    pub status: LookupStatus,
    /// Why nothing was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The conditions of the filter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// If the query is one identifier or code: the result for it as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<LookupName>,
    /// If nothing was found with the filter: the result without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_filter: Option<LookupWithoutFilter>,
    /// Omitted results, which score less than a hundredth of the best.
    pub cut: usize,
    /// Best first, and by id for equal scores. If the query is a name, chunks that contain it as a whole come first.
    pub hits: Vec<LookupHit>,
}

/// The result for a name.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupName {
    /// The name, as in the query.
    pub name: String,
    /// Whether the name occurs in the filtered collection.
    pub presence: Presence,
    /// Compared chunks that contain it exactly.
    pub whole: usize,
    /// Chunks that contain it only in another case.
    pub other_case: usize,
    /// Compared chunks.
    pub compared: usize,
    /// Chunks without a text to compare.
    pub without_text: usize,
    /// True if all chunks that can contain it were compared.
    pub complete: bool,
    /// If no chunk with this filter contains it: the number of chunks that contain it without the filter,
    /// in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_filter: Option<usize>,
}

/// Presence of a name in a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// In the same case.
    Present,
    /// Only in another case.
    OtherCase,
    /// Proved to be absent.
    Absent,
    /// No compared chunk contains it; others may.
    Unknown,
}

impl LookupName {
    pub(super) fn from_facts(facts: NameFacts) -> Self {
        let presence = match () {
            () if facts.whole > 0 => Presence::Present,
            () if facts.other_case > 0 => Presence::OtherCase,
            () if facts.is_absent() => Presence::Absent,
            () => Presence::Unknown,
        };
        let NameFacts { name, whole, other_case, compared, without_text, is_complete, beyond } = facts;
        let without_filter = beyond;
        Self {
            name,
            presence,
            whole,
            other_case,
            compared,
            without_text,
            complete: is_complete,
            without_filter,
        }
    }
}

/// The result without the filter.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupWithoutFilter {
    /// Chunks that contain any of the words.
    pub chunks: usize,
    /// The number is a lower bound.
    pub at_least: bool,
    /// Chunks that pass the filter, with any words.
    pub under_filter: u64,
}

impl LookupWithoutFilter {
    pub(super) fn from_counts(
        UnfilteredCounts { points, is_at_least, under_filter }: UnfilteredCounts,
    ) -> Self {
        Self { chunks: points, at_least: is_at_least, under_filter }
    }
}

/// The result of the lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookupStatus {
    /// There are results.
    Found,
    /// The query is a name that no chunk contains; the results contain parts of it.
    PartsOnly,
    /// No chunk contains any of the words.
    NoMatch,
    /// No chunk that passes the filter contains any of the words; other chunks do.
    NoMatchUnderFilter,
    /// The query has no word that can be looked up, for example only stop words.
    NoUsableWord,
    /// Queries can't be encoded, so nothing was looked up.
    EncoderUnavailable,
    /// The store does not answer, so nothing was looked up.
    StoreUnavailable,
}

impl LookupStatus {
    /// Returns true if the answer describes the collection.
    pub(super) fn was_looked_up(self) -> bool {
        !matches!(self, Self::EncoderUnavailable | Self::StoreUnavailable)
    }

    /// Names the status as in records and telemetry.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::PartsOnly => "parts_only",
            Self::NoMatch => "no_match",
            Self::NoMatchUnderFilter => "no_match_under_filter",
            Self::NoUsableWord => "no_usable_word",
            Self::EncoderUnavailable => "encoder_unavailable",
            Self::StoreUnavailable => "store_unavailable",
        }
    }
}

/// A chunk of the collection.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupHit {
    /// Id of its point.
    pub id: String,
    /// Comparable within one answer.
    pub score: f32,
    /// If the query is a name: the kind of match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Has>,
    /// The payload fields of the configuration; texts are cut to 4,000 bytes, except in Python and Node.
    pub payload: Map<String, Value>,
    /// The lines of the text with the most words.
    pub lines: Vec<LookupLine>,
}

/// Match of a text with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Has {
    /// The whole name, in the same case.
    Whole,
    /// The whole name, in another case.
    OtherCase,
    /// The whole name in another spelling, such as `openSession` for `open_session`.
    OtherSpelling,
    /// Within a longer name.
    Inside,
    /// Only words of the name.
    Parts,
    /// There is no text to compare.
    Unknown,
}

impl From<NameMatch> for Has {
    fn from(held: NameMatch) -> Self {
        match held {
            NameMatch::Whole => Self::Whole,
            NameMatch::OtherCase => Self::OtherCase,
            NameMatch::OtherSpelling => Self::OtherSpelling,
            NameMatch::Inside => Self::Inside,
            NameMatch::Parts => Self::Parts,
            NameMatch::Unknown => Self::Unknown,
        }
    }
}

/// A line of a chunk.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupLine {
    /// Present if the chunk has line numbers.
    pub line_number: Option<u64>,
    /// The line.
    pub text: String,
}

/// Determines the status of a lookup.
pub(super) fn status(lookup: &Lookup) -> LookupStatus {
    let is_absent = lookup.name.as_ref().is_some_and(NameFacts::is_absent);
    match &lookup.state {
        LookupState::Found if is_absent && !lookup.held.iter().any(|held| held.is_same()) => {
            LookupStatus::PartsOnly
        }
        LookupState::Found => LookupStatus::Found,
        LookupState::NoMatch if lookup.beyond.is_some_and(|beyond| beyond.points > 0) => {
            LookupStatus::NoMatchUnderFilter
        }
        LookupState::NoMatch => LookupStatus::NoMatch,
        LookupState::NoWord => LookupStatus::NoUsableWord,
        LookupState::EncoderUnavailable(_) => LookupStatus::EncoderUnavailable,
        LookupState::StoreUnavailable(_) => LookupStatus::StoreUnavailable,
    }
}
