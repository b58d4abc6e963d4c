//! What a call may use: roots, limits, models, deadline. There are no globals.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use forage_base::Stop;
use forage_fs::{Globs, RelPath, Root, Roots};
use forage_llm::Redactor;
use forage_lookup::Retriever;
use forage_rank::tree::{UpdateEffort, UpdateError, UpdateProgress};
use forage_search::external::Program;
use forage_search::index::Index;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer_cache::AnswerCache;
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
use crate::tools::GatheredUses;

/// The ways in which the relevant files of a `keyword_search` are chosen.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterMode {
    /// A model.
    #[default]
    Model,
    /// A deterministic ranking. Only ever chosen explicitly.
    Lexical,
}

/// The behaviour of a call for which every model failed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum OnModelFailure {
    /// The call fails.
    #[default]
    Error,
    /// The files come in lexical order, and the answer says so.
    Lexical,
}

/// The forms in which a model is shown the files that match.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum EvidenceForm {
    /// Every matching line with 10 lines of context, files in path order: what the requirement asks for.
    #[default]
    Requirement,
    /// The best few windows of each file, files in lexical order, within a budget.
    Compact,
}

/// The treatment of terms of a `keyword_search` that match more than there is room for.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterBreadth {
    /// A model is shown less of them, and a ranking takes them as they are.
    #[default]
    Adaptive,
    /// They are left out, by the requirement's rule.
    Requirement,
}

/// Where the files come from that a `keyword_search` chooses among.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum FilterCandidates {
    /// Those with lines that a term matches.
    #[default]
    Terms,
    /// Those, and the first that `search_index` ranks for the query and the terms.
    Union,
}

/// The forms of the answer that a model is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnswerForm {
    /// Lines `path: why`: what the requirement asks for.
    #[default]
    Paths,
    /// JSON that names files by the ids they were shown with, each with a grade. Only grades can be merged, so only
    /// this form can be asked for in shards.
    Ids {
        /// Parts that long evidence is split into at the most, asked at the same time. 1 to
        /// [`limits::FILTER_SHARDS_MAX`]; more counts as that.
        shards: usize,
    },
}

/// The settings by which `keyword_search` filters.
#[derive(Clone)]
pub struct FilterSettings {
    /// The way in which relevant files are chosen.
    pub mode: FilterMode,
    /// The behaviour when all models fail.
    pub on_model_failure: OnModelFailure,
    /// The models in order of preference.
    pub models: Models,
    /// For the error without models: where a model could have been named. Names, never values.
    pub looked_for: String,
    /// Takes secrets out of what is sent.
    pub redactor: Arc<Redactor>,
    /// Time for all models together.
    pub timeout: Duration,
    /// Where the files come from that are chosen among.
    pub candidates: FilterCandidates,
    /// The treatment of terms that match more than there is room for.
    pub breadth: FilterBreadth,
    /// Bytes of one term, and of all together, as ripgrep would print them; more is too broad.
    pub term_bytes: u64,
    /// See [`FilterSettings::term_bytes`].
    pub evidence_bytes: u64,
    /// Lines of context around a match.
    pub context_lines: u64,
    /// The form in which a model is shown the files.
    pub evidence: EvidenceForm,
    /// The form of the answer that a model is asked for.
    pub answer: AnswerForm,
    /// The system prompt in place of the one that belongs to the form of the answer.
    pub prompt: Option<Arc<str>>,
    /// Tokens of evidence in one request, at [`limits::BYTES_PER_TOKEN`]: compact evidence stays within it, and
    /// evidence of either form is split into shards beyond it. [`limits::EVIDENCE_TOKENS_MIN`] to
    /// [`limits::EVIDENCE_TOKENS_MAX`]; what lies outside counts as the nearer of the two.
    pub evidence_tokens: usize,
    /// Keeps answers for requests that come again; `None` for no such thing.
    pub cache: Option<Arc<dyn AnswerCache>>,
}

impl FilterSettings {
    /// For the error without models: where one could have been named, and why no provider has one.
    pub(crate) fn what_was_looked_for(&self) -> String {
        format!("{} {}", self.looked_for, self.models.passed_over()).trim_end().to_owned()
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

/// The name of whom a call waits for at this moment beside its own work, for whoever shows progress.
#[derive(Clone, Debug, Default)]
pub struct WaitingFor(Arc<Mutex<Option<String>>>);

impl WaitingFor {
    /// It waits for this, or for nobody any more.
    pub fn set(&self, whom: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = whom;
    }

    /// Returns whom it waits for; `None` for nobody.
    pub fn whom(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// How far a call has come, for whoever shows it. Clones tell of the same call.
#[derive(Clone, Debug, Default)]
pub struct CallProgress {
    /// Files that were visited.
    pub visited: Arc<AtomicU64>,
    /// Files that are read for the ranked index.
    pub ranked: Arc<UpdateProgress>,
    /// The model that the call waits for.
    pub waiting: WaitingFor,
}

impl CallProgress {
    /// Returns what is being done, and how much of it is done; `else_doing` is what a call does that neither waits nor reads
    /// files for the ranked index.
    pub fn said(&self, else_doing: &str) -> String {
        if let Some(model) = self.waiting.whom() {
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

/// The engine that answers a `Search`.
#[derive(Clone, Debug, Default)]
pub enum EngineSetting {
    /// Ours.
    #[default]
    Embedded,
    /// A program of the user's.
    External {
        /// Those that are there, in order of preference.
        programs: Vec<Program>,
        /// Why those that come before them, or all, are not, a sentence each.
        missing: Vec<String>,
    },
}

/// The settings of `Search`.
#[derive(Clone, Debug)]
pub struct SearchSettings {
    /// The engine.
    pub engine: EngineSetting,
    /// Time for a call that names none.
    pub timeout: Duration,
    /// Events of an answer when the call names no number.
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

/// The settings of `keyword_lookup`.
#[derive(Clone)]
pub struct LookupSettings {
    /// The retriever that looks words up, or the reason for which there is none and what to do about it.
    pub retriever: Result<Arc<Retriever>, String>,
    /// Results of an answer when the call names no number.
    pub limit: u64,
    /// The payload field with the text.
    pub text_field: String,
    /// Hands payloads to a program as they are stored: texts are not cut, and what hides text is not written out.
    pub as_stored: bool,
    /// Is told of each lookup by itself; one that [`telemetry::call`](crate::telemetry::call) makes is told of in its line.
    pub telemetry: Option<Arc<dyn Telemetry>>,
}

impl LookupSettings {
    /// Payload fields that are shown where the settings name none: those of collections that Forage fills, and of the requirement's.
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
    /// The payload field with the text, where the settings name none.
    pub const TEXT_FIELD: &str = "text";
    /// The name of the sparse vector, where the settings name none.
    pub const VECTOR: &str = "text-sparse";

    /// Those of a collection. The text of a point comes with it even where it is not among the fields.
    pub fn of(mut retriever: Retriever, limit: u64) -> Self {
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

/// Why there is no ranked index.
pub(crate) enum NotRanked {
    /// It is not as the tree yet: how many of how many files it lacked are in it, if that is known.
    NotYet(Option<(u64, u64)>),
    /// It can't be had.
    Never(ToolError),
}

/// The roots, limits and settings of a call, and the services that it may use.
#[derive(Clone)]
pub struct Context {
    /// The roots beneath which files may be read.
    pub roots: Roots,
    /// Directories below the root that no search enters, as they are asked by themselves: roots within a root.
    pub apart: Vec<RelPath>,
    /// Files that are left out of every search, over all other rules.
    pub excludes: Option<Globs>,
    /// Bytes of a text answer.
    pub text_bytes: usize,
    /// Bytes of a file; larger ones are not searched. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// Time for the search.
    pub timeout: Duration,
    /// Worker threads; 0 for one per processor.
    pub threads: usize,
    /// The settings by which `keyword_search` filters.
    pub filter: FilterSettings,
    /// The settings of `Search`.
    pub search: SearchSettings,
    /// The settings of `keyword_lookup`.
    pub lookup: LookupSettings,
    /// Tokens of code in an answer of `search_index` to a call that says nothing of it; 0 for files and lines alone.
    pub code_tokens: u64,
    /// Time for bringing a ranked index up to date. What is not done in it, the next call goes on with, and this one ranks
    /// what a search for the words finds. It is a part of [`Context::timeout`], unless it is longer: then somebody waits for
    /// the index, and the time for the search begins when it is there.
    pub indexing_time: Duration,
    /// Indexes of roots, which change nothing but the time that a search takes.
    pub indexes: Option<Arc<dyn Indexes>>,
    /// Remembers the code that the caller has been shown, who is not shown it again. `None` for one who may have forgotten it.
    pub shown_earlier: Option<Arc<ShownEarlier>>,
    /// Keeps the files with a name whose uses the caller goes through page by page. `None` for one that asks once.
    pub gathered_uses: Option<Arc<GatheredUses>>,
    /// Outlines of files that were parsed.
    pub outlines: Arc<OutlineCache>,
    /// Takes secrets out of answers: of lines, names and messages, in text and records. All rules unless it is changed,
    /// because whoever calls tools for an agent hands on what they answer; [`Redactor::off`] for a person, who sees files
    /// as they are. What goes to a filter model has a redactor of its own, in [`FilterSettings`].
    pub redactor: Arc<Redactor>,
    /// The receivers of reports of calls.
    pub observers: CallObservers,
    /// The names of the tools that answers and errors name.
    pub names: Arc<ToolNames>,
    /// Cancels the call.
    pub stop: Stop,
    /// Sentences about this call's roots that the caller must know; they stand in the answer.
    pub notices: Vec<String>,
    /// The text of the answer names the root, for a caller who has not been told of it. That of several roots always does.
    pub names_root: bool,
    /// How far the call has come.
    pub progress: CallProgress,
}

impl Context {
    /// A context with the default limits.
    pub fn new(roots: Roots) -> Self {
        Self {
            roots,
            apart: Vec::new(),
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

    /// A message that is no answer, such as that of an error, as whoever gets answers may read it.
    pub fn without_secrets(&self, message: &str) -> String {
        self.redactor.redact(message).as_str().to_owned()
    }

    /// The index of a root, if there is one.
    pub fn index(&self, root: &Arc<Root>) -> Option<Arc<Index>> {
        self.indexes.as_ref()?.of(root)
    }

    /// The ranked index of a root, as its tree is now, in a call that `call` ends.
    pub(crate) fn ranked(&self, root: &Arc<Root>, call: &Stop) -> Result<Ranked, NotRanked> {
        let within = match self.waits_for_ranking() {
            true => self.stop.within(self.indexing_time),
            false => call.within(self.indexing_time.min(self.timeout.mul_f64(limits::INDEXING_SHARE))),
        };
        self.ranked_within(root, &within)
    }

    /// What ends the search in ranked indexes that are there now.
    pub(crate) fn after_ranking(&self, call: &Stop) -> Stop {
        if self.waits_for_ranking() { self.stop.within(self.timeout) } else { call.clone() }
    }

    fn waits_for_ranking(&self) -> bool {
        self.indexing_time > self.timeout
    }

    fn ranked_within(&self, root: &Arc<Root>, stop: &Stop) -> Result<Ranked, NotRanked> {
        let effort = self.effort(stop);
        let kept = self.indexes.as_ref().and_then(|indexes| indexes.ranked(root, &effort));
        kept.unwrap_or_else(|| Ranked::in_memory(root, &effort)).map_err(|error| match error {
            UpdateError::Open(error) => NotRanked::Never(error.into()),
            UpdateError::Cancelled => NotRanked::Never(ToolError::Cancelled),
            UpdateError::Unfinished { done, all } => NotRanked::NotYet(Some((done, all))),
            UpdateError::NoTime | UpdateError::Busy => NotRanked::NotYet(None),
            error => NotRanked::Never(ToolError::index(&error, error.hint())),
        })
    }

    /// What may be spent on reading files for a ranking.
    pub(crate) fn effort(&self, stop: &Stop) -> UpdateEffort {
        UpdateEffort {
            threads: self.walk_options().thread_count(),
            stop: stop.clone(),
            progress: Arc::clone(&self.progress.ranked),
            ..UpdateEffort::default()
        }
    }

    /// The same walk of a root with the names that an index knows of it, if there is one.
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

    /// The walk that every search of this call starts from.
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
        assert_eq!(progress.said("searching"), "searching");
        progress.visited.store(2051, Ordering::Relaxed);
        assert_eq!(progress.said("searching"), "searching: 2,051 files visited");
        progress.ranked.all.store(3000, Ordering::Relaxed);
        progress.ranked.read.store(1200, Ordering::Relaxed);
        assert_eq!(progress.said("searching"), "reading files for the ranked index: 1,200 of 3,000");
        progress.waiting.set(Some("acme/small\u{1b}[2J".to_owned()));
        assert!(
            progress.said("searching").starts_with("waiting for acme/small")
                && !progress.said("").contains('\u{1b}')
        );
        progress.waiting.set(None);
        progress.ranked.read.store(3000, Ordering::Relaxed);
        assert_eq!(progress.said("searching"), "searching: 2,051 files visited");
    }
}
