//! The records of an answer.

use forage_lookup::{Beyond, Lookup, LookupState, NameFacts, NameMatch};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The records of `keyword_lookup`.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupResponse {
    /// The query, as the caller wrote it.
    pub query: String,
    /// Where was looked; empty where none is configured.
    pub collection: String,
    /// How the lookup ended.
    pub status: LookupStatus,
    /// Why nothing was looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What results had to be beside having the words, a condition each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filter: Vec<String>,
    /// Where the query is one identifier or code: what is known of it as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<LookupName>,
    /// Where nothing was found under the filter: what there is without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_filter: Option<LookupWithoutFilter>,
    /// Results that are left out because they score less than a hundredth of the best.
    pub cut: usize,
    /// Best first; those that score the same by id. Where the query is a name, those that have it as a whole come first.
    pub hits: Vec<LookupHit>,
}

/// What is known of a name.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupName {
    /// The name as the query has it.
    pub name: String,
    /// Whether the collection has it, under the filter.
    pub presence: Presence,
    /// Chunks that have it as it is written, as far as they were compared.
    pub whole: usize,
    /// Chunks that have it in another case alone.
    pub other_case: usize,
    /// Chunks whose texts were compared with it.
    pub compared: usize,
    /// Chunks that may have it and have no text to compare.
    pub without_text: usize,
    /// Whether all chunks that can have it were compared.
    pub complete: bool,
    /// Where none has it under the filter: how many have it without the filter, in any case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without_filter: Option<usize>,
}

/// Whether a collection has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// As it is written.
    Present,
    /// In another case alone.
    OtherCase,
    /// For certain.
    Absent,
    /// None of those that were compared has it.
    Unknown,
}

impl LookupName {
    pub(super) fn of(facts: NameFacts) -> Self {
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

/// What there is without the filter.
#[derive(Debug, JsonSchema, Serialize)]
pub struct LookupWithoutFilter {
    /// Chunks that have any of the words.
    pub chunks: usize,
    /// There may be more of them.
    pub at_least: bool,
    /// Chunks that the filter lets through, whatever words they have.
    pub under_filter: u64,
}

impl LookupWithoutFilter {
    pub(super) fn of(Beyond { points, is_at_least, under_filter }: Beyond) -> Self {
        Self { chunks: points, at_least: is_at_least, under_filter }
    }
}

/// What became of the lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LookupStatus {
    /// There are results.
    Found,
    /// The query is a name that nothing has; the results have parts of it.
    PartsOnly,
    /// Nothing has any of the words.
    NoMatch,
    /// Nothing that the filter lets through has any of the words; other chunks have.
    NoMatchUnderFilter,
    /// The query has no word that can be looked up, as one of stop words alone.
    NoUsableWord,
    /// Nothing was looked up: queries can't be encoded.
    EncoderUnavailable,
    /// Nothing was looked up: the store doesn't answer.
    StoreUnavailable,
}

impl LookupStatus {
    /// Returns true if the answer describes the collection.
    pub(super) fn was_looked_up(self) -> bool {
        !matches!(self, Self::EncoderUnavailable | Self::StoreUnavailable)
    }

    /// Returns the name in records and telemetry.
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
    /// Of its point.
    pub id: String,
    /// Comparable within one answer.
    pub score: f32,
    /// Where the query is a name: what the text has of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub has: Option<Has>,
    /// The payload fields that the configuration asks for; a text to its first 4,000 bytes, whole in Python and Node.
    pub payload: Map<String, Value>,
    /// The lines of the text that have most of the words.
    pub lines: Vec<LookupLine>,
}

/// What a text has of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Has {
    /// All of it, as it is written.
    Whole,
    /// All of it in another case.
    OtherCase,
    /// All of it in another spelling, such as `openSession` for `open_session`.
    OtherSpelling,
    /// Within a longer name.
    Inside,
    /// Words of it alone.
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
    /// Where the text says where it begins.
    pub line_number: Option<u64>,
    /// The line.
    pub text: String,
}

/// Returns the status of a lookup.
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
