//! The settings of the tools, and the limits of a call.

use std::sync::Arc;
use std::time::Duration;

use forage_lookup::Retriever;
use forage_redact::Redactor;
use forage_search::external::Program;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer_cache::AnswerCache;
use crate::limits;
use crate::models::Models;

/// The limits of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallLimits {
    /// Maximum bytes of a text answer.
    pub text_bytes: usize,
    /// Maximum bytes of a file; larger ones are not searched. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// Time limit for the search.
    pub timeout: Duration,
    /// Worker threads; 0 for one per processor.
    pub threads: usize,
    /// Tokens of code in an answer of `search_index` if the call does not set it; 0 for only files and lines.
    pub code_tokens: u64,
    /// Time limit for updating a ranked index. The next call continues unfinished work, and this one ranks
    /// the results of a line search instead. The limit is a part of [`CallLimits::timeout`] unless it is
    /// longer. In that case the caller waits for the index, and the time for the search starts when the index
    /// is ready.
    pub indexing_time: Duration,
}

impl Default for CallLimits {
    fn default() -> Self {
        Self {
            text_bytes: limits::TEXT_BYTES,
            max_file_bytes: None,
            timeout: limits::TIMEOUT,
            threads: 0,
            code_tokens: limits::CODE_TOKENS,
            indexing_time: limits::INDEXING_TIME,
        }
    }
}

/// How `keyword_search` chooses the relevant files.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterMode {
    /// A model.
    #[default]
    Model,
    /// A deterministic ranking, without a model. It must be chosen explicitly.
    Lexical,
}

/// What to do if every model fails.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OnModelFailure {
    /// The call fails.
    #[default]
    Error,
    /// The files are returned in lexical order, and the answer says so.
    Lexical,
}

/// How the model is shown matching files.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceForm {
    /// Every matching line with 10 lines of context, files in path order, as the requirement specifies.
    #[default]
    Requirement,
    /// The best few windows of each file, files in lexical order, within a budget.
    Compact,
}

/// How `keyword_search` handles terms that match too much.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterBreadth {
    /// A model is shown less of them, and a ranking uses them completely.
    #[default]
    Adaptive,
    /// They are left out, as the requirement specifies.
    Requirement,
}

/// The source of the candidate files of `keyword_search`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterCandidates {
    /// Files with lines that match a term.
    #[default]
    Terms,
    /// These files, and the best of the `search_index` ranking for the query and the terms.
    Union,
}

/// Answer formats that we can request from a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// Lines of the form `path: why`, as the requirement asks.
    #[default]
    Paths,
    /// JSON that identifies files by the ids they were shown with, and grades each of them. Since only grades
    /// can be merged, only this format supports shards.
    Ids {
        /// Maximum number of shards that we split long evidence into. They are requested in parallel. 1 to
        /// [`limits::FILTER_SHARDS_MAX`]; larger values are clamped.
        shards: usize,
    },
}

/// Settings of the relevance filter of `keyword_search`.
#[derive(Clone)]
pub struct FilterSettings {
    /// How to choose the relevant files.
    pub mode: FilterMode,
    /// What to do if all models fail.
    pub on_model_failure: OnModelFailure,
    /// The models in order of preference.
    pub models: Models,
    /// The places where a model could have been configured, for the error without models. This must contain
    /// only names, never values. Empty if the models are named.
    pub looked_for: String,
    /// Removes secrets from text before we send it.
    pub redactor: Arc<Redactor>,
    /// Time limit for all models together.
    pub timeout: Duration,
    /// The source of the candidate files.
    pub candidates: FilterCandidates,
    /// How to handle terms that match too much.
    pub breadth: FilterBreadth,
    /// Maximum bytes of one term, and of all together, as ripgrep would print them. More is too broad.
    pub term_bytes: u64,
    /// See [`FilterSettings::term_bytes`].
    pub evidence_bytes: u64,
    /// Lines of context around a match.
    pub context_lines: u64,
    /// The form in which files are shown to the model.
    pub evidence: EvidenceForm,
    /// The answer format that we request from a model.
    pub answer: AnswerForm,
    /// Replaces the system prompt that belongs to the answer format.
    pub prompt: Option<Arc<str>>,
    /// Maximum tokens of evidence in one request, counted at [`limits::BYTES_PER_TOKEN`]. Compact evidence
    /// must fit into this budget, and evidence of either form that exceeds it is split into shards. Clamped
    /// to [`limits::EVIDENCE_TOKENS_MIN`] to [`limits::EVIDENCE_TOKENS_MAX`].
    pub evidence_tokens: usize,
    /// Caches the answers to repeated requests. `None` disables caching.
    pub cache: Option<Arc<dyn AnswerCache>>,
}

impl FilterSettings {
    /// Returns true if the configuration names models, whether or not they can be used.
    pub(crate) fn names_models(&self) -> bool {
        self.looked_for.is_empty() && !self.models.passed_over().is_empty()
    }

    /// Describes where a model could have been configured and why no provider has one, for the error without
    /// models.
    pub(crate) fn describe_discovery(&self) -> String {
        format!("{} {}", self.looked_for, self.models.passed_over()).trim().to_owned()
    }
}

impl Default for FilterSettings {
    fn default() -> Self {
        Self {
            mode: FilterMode::default(),
            on_model_failure: OnModelFailure::default(),
            models: Models::default(),
            looked_for: String::new(),
            redactor: Arc::new(Redactor::standard()),
            timeout: limits::MODEL_TIMEOUT,
            candidates: FilterCandidates::default(),
            breadth: FilterBreadth::default(),
            term_bytes: forage_search::limits::TERM_BYTES,
            evidence_bytes: forage_search::limits::EVIDENCE_BYTES,
            context_lines: forage_search::limits::EVIDENCE_CONTEXT,
            evidence: EvidenceForm::default(),
            answer: AnswerForm::default(),
            prompt: None,
            evidence_tokens: limits::EVIDENCE_TOKENS,
            cache: None,
        }
    }
}

/// Engine that answers a `Search`.
#[derive(Clone, Debug, Default)]
pub enum EngineSetting {
    /// The embedded engine.
    #[default]
    Embedded,
    /// An external program that the user has chosen.
    External {
        /// The programs that were found, in order of preference.
        programs: Vec<Program>,
        /// One sentence for each preferred program that is missing, with the reason.
        missing: Vec<String>,
    },
}

/// Settings of `Search`.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// The engine.
    pub engine: EngineSetting,
    /// Time limit for a call that does not set its own.
    pub timeout: Duration,
    /// Maximum number of events in an answer, for a call that does not set its own.
    pub max_results: u64,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self {
            engine: EngineSetting::default(),
            timeout: limits::TIMEOUT,
            max_results: limits::SEARCH_RESULTS,
        }
    }
}

/// Settings of `keyword_lookup`.
#[derive(Clone)]
pub struct LookupSettings {
    /// The retriever for lookups, or the reason why it is missing and how to fix that.
    pub retriever: Result<Arc<Retriever>, String>,
    /// Maximum number of results in an answer, for a call that does not set its own.
    pub limit: u64,
    /// The payload field with the text.
    pub text_field: String,
    /// Whether a program should get payloads as stored: we neither cut texts nor escape characters that hide
    /// text.
    pub as_stored: bool,
}

impl LookupSettings {
    /// Default payload fields to show: the fields of collections that Forage fills, and those of the
    /// requirement.
    pub const PAYLOAD: [&str; 10] = [
        "repo",
        "path",
        "language",
        "lines",
        "text",
        "doc_id",
        "page_id",
        "chunk_id",
        "modality",
        "image_path",
    ];
    /// The default payload field with the text.
    pub const TEXT_FIELD: &str = "text";
    /// The default name of the sparse vector.
    pub const VECTOR: &str = "text-sparse";

    /// Creates the settings for a collection. The text of a point is always fetched, even if it is not among
    /// the fields to show.
    pub fn new(mut retriever: Retriever, limit: u64) -> Self {
        let text_field = retriever.text_field.clone().unwrap_or_else(|| Self::TEXT_FIELD.to_owned());
        if !retriever.fields.contains(&text_field) {
            retriever.fields.push(text_field.clone());
        }
        Self { retriever: Ok(Arc::new(retriever)), limit, text_field, as_stored: false }
    }
}

impl Default for LookupSettings {
    fn default() -> Self {
        Self {
            retriever: Err("no collection is configured".to_owned()),
            limit: limits::LOOKUP_HITS,
            text_field: Self::TEXT_FIELD.to_owned(),
            as_stored: false,
        }
    }
}
