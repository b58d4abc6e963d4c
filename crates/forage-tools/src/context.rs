//! Context of a call: roots, limits, models, deadline. There are no globals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{Globs, RelPath, Root, Roots};
use forage_lookup::Retriever;
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress};
use forage_redact::Redactor;
use forage_search::external::Program;
use forage_search::index::Index;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer_cache::AnswerCache;
use crate::dependencies::{DependencyPlace, DependencyStores};
use crate::error::ToolError;
use crate::indexes::{Indexes, Ranked};
use crate::limits;
use crate::models::Models;
use crate::names::ToolNames;
use crate::outlines::OutlineCache;
use crate::sanitize::sanitize_line;
use crate::shown_earlier::ShownEarlier;
use crate::telemetry::{CallObservers, Telemetry};
use crate::text::{count, grouped};
use crate::tools::UsesCache;

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

/// The remote party that this call is waiting for, for progress displays.
#[derive(Clone, Debug, Default)]
pub struct WaitingFor(Arc<Mutex<Option<String>>>);

impl WaitingFor {
    /// Sets the party that the call waits for, or `None` if it no longer waits.
    pub fn set(&self, whom: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = whom;
    }

    /// Returns the party that the call waits for.
    pub fn party(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Progress of a call, for displays. Clones share this state.
#[derive(Clone, Debug, Default)]
pub struct CallProgress {
    /// Number of files visited so far.
    pub visited: Arc<AtomicU64>,
    /// Progress of reading files for the ranked index.
    pub ranked: Arc<UpdateProgress>,
    /// The model that the call waits for.
    pub waiting: WaitingFor,
}

impl CallProgress {
    /// Describes the current activity and its progress. `else_doing` is the description of a call that
    /// neither waits nor reads files for the ranked index.
    pub fn describe(&self, else_doing: &str) -> String {
        if let Some(model) = self.waiting.party() {
            return format!("waiting for {}", sanitize_line(&model));
        }
        let (read, all) = (&self.ranked.read, &self.ranked.all);
        match (read.load(Ordering::Relaxed), all.load(Ordering::Relaxed)) {
            (read, all) if read < all => {
                format!("reading files for the ranked index: {} of {}", grouped(read), grouped(all))
            }
            _ => match self.visited.load(Ordering::Relaxed) {
                0 => else_doing.to_owned(),
                visited => format!("{else_doing}: {} visited", count(visited, "file")),
            },
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
    /// The retriever for lookups. If there is none, this is the reason and how to fix it.
    pub retriever: Result<Arc<Retriever>, String>,
    /// Maximum number of results in an answer, for a call that does not set its own.
    pub limit: u64,
    /// The payload field with the text.
    pub text_field: String,
    /// Whether a program should get payloads as stored: we neither cut texts nor escape characters that hide
    /// text.
    pub as_stored: bool,
    /// Receives a separate event for each lookup. Note that a lookup made by
    /// [`telemetry::call`](crate::telemetry::call) is reported in the event of that call instead.
    pub telemetry: Option<Arc<dyn Telemetry>>,
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
        Self { retriever: Ok(Arc::new(retriever)), limit, text_field, as_stored: false, telemetry: None }
    }
}

impl Default for LookupSettings {
    fn default() -> Self {
        Self {
            retriever: Err("no collection is configured".to_owned()),
            limit: limits::LOOKUP_HITS,
            text_field: Self::TEXT_FIELD.to_owned(),
            as_stored: false,
            telemetry: None,
        }
    }
}

/// Reasons why there is no ranked index.
pub(crate) enum RankUnavailable {
    /// It is not up to date with the tree yet. Contains the number of missing files that are indexed by now
    /// and their total, if known.
    NotYet(Option<(u64, u64)>),
    /// It is not available at all.
    Never(ToolError),
}

/// The roots, limits and settings of a call, and the services that it may use.
#[derive(Clone)]
pub struct Context {
    /// The roots below which files may be read.
    pub roots: Roots,
    /// Directories below the root that searches must not enter because they are searched separately: roots
    /// within a root.
    pub apart: Vec<RelPath>,
    /// Where `dep:NAME` may read the sources of dependencies outside of the roots. `None` if it may not be
    /// used.
    pub dependencies: Option<Arc<DependencyStores>>,
    /// The dependencies that this call names; see [`Context::with_dependency`].
    pub named_dependencies: Vec<DependencyPlace>,
    /// Files to exclude from every search; this overrides all other rules.
    pub excludes: Option<Globs>,
    /// Maximum bytes of a text answer.
    pub text_bytes: usize,
    /// Maximum bytes of a file; larger ones are not searched. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// Time limit for the search.
    pub timeout: Duration,
    /// Worker threads; 0 for one per processor.
    pub threads: usize,
    /// The relevance filter settings of `keyword_search`.
    pub filter: FilterSettings,
    /// The settings of `Search`.
    pub search: SearchSettings,
    /// The settings of `keyword_lookup`.
    pub lookup: LookupSettings,
    /// Tokens of code in an answer of `search_index` if the call does not set it; 0 for only files and lines.
    pub code_tokens: u64,
    /// Time limit for updating a ranked index. The next call continues unfinished work, and this one ranks
    /// the results of a line search instead. The limit is a part of [`Context::timeout`] unless it is longer.
    /// In that case the caller waits for the index, and the time for the search starts when the index is
    /// ready.
    pub indexing_time: Duration,
    /// Indexes of roots. They affect only the duration of a search.
    pub indexes: Option<Arc<dyn Indexes>>,
    /// Remembers the code that the caller has seen, so that we do not show it again. `None` for a caller that
    /// may have forgotten it.
    pub shown_earlier: Option<Arc<ShownEarlier>>,
    /// Caches the files that mention a name while the caller pages through its uses. `None` for a caller that
    /// asks once.
    pub gathered_uses: Option<Arc<UsesCache>>,
    /// Cached outlines of parsed files.
    pub outlines: Arc<OutlineCache>,
    /// Removes secrets from answers: from lines, names and messages, in text and records. All rules are on by
    /// default, because a caller that works for an agent passes answers on. Use [`Redactor::off`] for a
    /// person, who should see files as they are. Text for a filter model has its own redactor, in
    /// [`FilterSettings`].
    pub redactor: Arc<Redactor>,
    /// The observers of calls.
    pub observers: CallObservers,
    /// The tool names to use in answers and errors.
    pub names: Arc<ToolNames>,
    /// Cancels the call.
    pub stop: Stop,
    /// Sentences about this call's roots that the caller must know; they are included in the answer.
    pub notices: Vec<String>,
    /// Whether the answer's text names the root, for a caller that does not know it. An answer about several
    /// roots always names them.
    pub names_root: bool,
    /// Progress of the call.
    pub progress: CallProgress,
}

impl Context {
    /// Creates a context with the default limits.
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            apart: Vec::new(),
            dependencies: None,
            named_dependencies: Vec::new(),
            excludes: None,
            text_bytes: limits::TEXT_BYTES,
            max_file_bytes: None,
            timeout: limits::TIMEOUT,
            threads: 0,
            filter: FilterSettings::default(),
            search: SearchSettings::default(),
            lookup: LookupSettings::default(),
            code_tokens: limits::CODE_TOKENS,
            indexing_time: limits::INDEXING_TIME,
            indexes: None,
            shown_earlier: None,
            gathered_uses: None,
            outlines: Arc::default(),
            redactor: Arc::new(Redactor::standard()),
            observers: CallObservers::default(),
            names: ToolNames::own(),
            stop: Stop::never(),
            notices: Vec::new(),
            names_root: false,
            progress: CallProgress::default(),
        }
    }

    /// Redacts a message that is not an answer, for example an error.
    pub fn without_secrets(&self, message: &str) -> String {
        self.redactor.redact(message).as_str().to_owned()
    }

    /// Returns the index of a root, if there is one.
    pub fn index(&self, root: &Arc<Root>) -> Option<Arc<Index>> {
        self.indexes.as_ref()?.open(root)
    }

    /// Updates the ranked index of a root to match its tree. `call` is the stop signal of the call.
    pub(crate) fn ranked(&self, root: &Arc<Root>, call: &Stop) -> Result<Ranked, RankUnavailable> {
        let within = match self.waits_for_ranking() {
            // The deadline of `call` would end this wait too early.
            true => self.stop.within(self.indexing_time),
            false => call.within(self.indexing_time.min(self.timeout.mul_f64(limits::INDEXING_SHARE))),
        };
        self.ranked_within(root, &within)
    }

    /// Returns the stop signal for the search in ranked indexes, which starts now.
    pub(crate) fn after_ranking(&self, call: &Stop) -> Stop {
        if self.waits_for_ranking() { self.stop.within(self.timeout) } else { call.clone() }
    }

    fn waits_for_ranking(&self) -> bool {
        self.indexing_time > self.timeout
    }

    fn ranked_within(&self, root: &Arc<Root>, stop: &Stop) -> Result<Ranked, RankUnavailable> {
        let effort = self.effort(stop);
        let kept = self.indexes.as_ref().and_then(|indexes| indexes.ranked(root, &effort));
        kept.unwrap_or_else(|| Ranked::in_memory(root, &effort)).map_err(|error| match error {
            UpdateError::Open(error) => RankUnavailable::Never(error.into()),
            UpdateError::Cancelled => RankUnavailable::Never(ToolError::Cancelled),
            UpdateError::Unfinished { done, all } => RankUnavailable::NotYet(Some((done, all))),
            UpdateError::NoTime | UpdateError::Busy => RankUnavailable::NotYet(None),
            error => RankUnavailable::Never(ToolError::index(&error, error.hint())),
        })
    }

    /// Returns the limits for reading files for a ranking.
    pub(crate) fn effort(&self, stop: &Stop) -> UpdateEffort {
        UpdateEffort {
            threads: self.walk_options().thread_count(),
            stop: stop.clone(),
            progress: Arc::clone(&self.progress.ranked),
            ..UpdateEffort::default()
        }
    }

    /// Adds the directories that the index of a root knows, if there is one. A walk then does not list those
    /// that are unchanged.
    pub(crate) fn known_to_index(
        &self,
        root: &Arc<Root>,
        options: forage_fs::WalkOptions,
    ) -> forage_fs::WalkOptions {
        match self.index(root) {
            Some(index) => index.walk_options(&options),
            None => options,
        }
    }

    /// Returns the walk options that every search of this call starts from.
    pub fn walk_options(&self) -> forage_fs::WalkOptions {
        forage_fs::WalkOptions {
            excludes: self.excludes.clone(),
            apart: self.apart.clone(),
            noise: forage_fs::NOISE,
            threads: self.threads,
            progress: Some(Arc::clone(&self.progress.visited)),
            ..forage_fs::WalkOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_says_what_is_done_and_of_how_much() {
        let progress = CallProgress::default();
        assert_eq!(progress.describe("searching"), "searching");
        progress.visited.store(2051, Ordering::Relaxed);
        assert_eq!(progress.describe("searching"), "searching: 2,051 files visited");
        progress.ranked.all.store(3000, Ordering::Relaxed);
        progress.ranked.read.store(1200, Ordering::Relaxed);
        assert_eq!(progress.describe("searching"), "reading files for the ranked index: 1,200 of 3,000");
        progress.waiting.set(Some("acme/small\u{1b}[2J".to_owned()));
        assert!(
            progress.describe("searching").starts_with("waiting for acme/small")
                && !progress.describe("").contains('\u{1b}')
        );
        progress.waiting.set(None);
        progress.ranked.read.store(3000, Ordering::Relaxed);
        assert_eq!(progress.describe("searching"), "searching: 2,051 files visited");
    }
}
