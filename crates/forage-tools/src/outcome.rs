//! The outcome of a call: the response, and the facts that you need to judge how complete it is.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use forage_base::Stopped;
use forage_fs::{Root, Skipped, WalkReport};
use forage_redact::RedactionReport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::ErrorCode;
use crate::head::{AnswerHead, Counts};
use crate::limits;
use crate::multi_root::{self, OtherRoot};
use crate::names::ToolNames;
use crate::noise::noise_of;
use crate::output_redactor::OutputRedactor;
use crate::records::records;
use crate::search_facts::walk_warnings;
use crate::shown::Rendered;
use crate::text::clip;

/// The limit that cut an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `max_results` was reached, and there was at least one more match.
    MaxResults,
    /// The byte limit for the lines of one file.
    FileBytes,
    /// The byte budget of the text; the records are complete.
    TextBytes,
    /// The deadline.
    Timeout,
    /// Cancelled by the caller.
    Cancelled,
    /// A limit on the number of entries in a directory tree.
    Entries,
    /// An external engine failed, so matches may be missing.
    Engine,
    /// One of several roots could not be searched.
    Root,
    /// The store or the encoder did not answer, so nothing was looked up.
    Unavailable,
}

impl Limit {
    /// Returns true if there is at least one more result. After a search that was stopped, we can't know
    /// this.
    pub(crate) fn is_overrun(self) -> bool {
        matches!(self, Self::MaxResults | Self::FileBytes | Self::TextBytes | Self::Entries)
    }

    /// Returns true if the call did not run to completion.
    pub(crate) fn ends_early(self) -> bool {
        matches!(self, Self::Timeout | Self::Cancelled | Self::Engine | Self::Root | Self::Unavailable)
    }
}

impl From<Stopped> for Limit {
    fn from(stopped: Stopped) -> Self {
        match stopped {
            Stopped::Deadline => Self::Timeout,
            Stopped::Cancelled => Self::Cancelled,
        }
    }
}

/// A response and the facts about it.
#[derive(Debug)]
pub struct ToolOutcome<R> {
    /// The tool's response.
    pub response: R,
    /// Whether anything was found. This determines the exit status of the command line.
    pub found: bool,
    /// Counts of skipped files by reason.
    pub skipped: Skipped,
    /// Names of skipped directories of dependencies and caches.
    pub noise_directories: Vec<String>,
    /// How to include these directories, as a template for [`ToolNames::fill`]. `None` if the tool can't.
    pub included_by: Option<&'static str>,
    /// Warnings about problems that did not end the call.
    pub warnings: Vec<String>,
    /// The limit that cut the answer, if one did.
    pub truncated_by: Option<Limit>,
    /// Position to pass as `cursor` in a call that should continue where this one ended.
    pub next_cursor: Option<String>,
    /// The root that relative paths of the answer are below, and whether the text should name it.
    pub root: Option<(String, bool)>,
    /// Counts of the secrets that were removed.
    pub hidden: RedactionReport,
    /// The tool names used in the text.
    pub names: Arc<ToolNames>,
    /// Wall time of the call.
    pub elapsed: Duration,
    /// The outcomes of the other roots, for a call about several roots.
    pub others: Vec<OtherRoot<R>>,
}

impl<R> ToolOutcome<R> {
    /// Creates a complete outcome.
    pub(crate) fn new(response: R, found: bool) -> Self {
        Self {
            response,
            found,
            skipped: Skipped::default(),
            noise_directories: Vec::new(),
            included_by: None,
            warnings: Vec::new(),
            truncated_by: None,
            next_cursor: None,
            root: None,
            hidden: RedactionReport::default(),
            names: ToolNames::own(),
            elapsed: Duration::ZERO,
            others: Vec::new(),
        }
    }

    /// Adds the counts and warnings of a walk.
    pub(crate) fn add_report(&mut self, report: &WalkReport) {
        self.skipped.merge(&report.skipped);
        self.noise_directories.extend(noise_of(&report.pruned).cloned());
        self.warnings.extend(walk_warnings(report));
        self.warnings.extend_from_slice(&report.unreadable);
        if report.too_many_entries {
            self.truncated_by.get_or_insert(Limit::Entries);
        }
        if let Some(stopped) = report.stopped {
            self.truncated_by = Some(stopped.into());
        }
    }
}

/// Renders a response as text.
pub(crate) trait Render: Sized {
    /// Removes secrets from every string that comes from files or their names. A string that was redacted
    /// when it was read needs no second pass.
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>);

    /// Makes all paths absolute. This is required if they are not below the first root.
    fn name_whole_paths(&mut self, root: &Root);

    /// Returns the totals of the response.
    fn counts(&self) -> Counts<'_>;

    /// Returns the number of results that count towards the requested maximum.
    fn results(&self) -> u64 {
        0
    }

    /// Renders the text within about `budget` bytes, including notes. Text that exceeds the budget must be
    /// cut in the tool's own steps, never in the middle of a line.
    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered;

    /// Whether the records also contain the text, as `content`.
    const CONTENT_IN_RECORDS: bool = false;
}

type MakeRecords = Box<dyn FnOnce() -> Value + Send>;

/// Why a call found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallProblem {
    /// The message for people.
    pub text: String,
    /// The code for programs.
    pub code: ErrorCode,
}

/// An outcome as text, and as records on request.
#[derive(Debug)]
pub struct Answer {
    /// The text for people and models.
    pub text: String,
    records: LazyLock<Value, MakeRecords>,
    /// Whether anything was found.
    pub found: bool,
    /// The limit that cut the answer, if one did.
    pub truncated_by: Option<Limit>,
    /// Why the call found nothing, if it also did not run to completion. Records contain this as `error`.
    pub problem: Option<CallProblem>,
    /// Counts of the secrets that were removed from text and records.
    pub hidden: RedactionReport,
    /// Summary of the answer, without any text of files.
    pub head: Arc<AnswerHead>,
}

impl Answer {
    /// Creates the answer of a tool that has only text and no records.
    pub fn from_text(text: impl Into<String>) -> Self {
        Self::with_records(text, Value::Null)
    }

    /// Creates the answer of a tool whose records already exist.
    pub fn with_records(text: impl Into<String>, records: Value) -> Self {
        let records = LazyLock::new(Box::new(move || records) as MakeRecords);
        let hidden = RedactionReport::default();
        let head = Arc::default();
        Self { text: text.into(), records, found: true, truncated_by: None, problem: None, hidden, head }
    }

    /// Returns the records for programs. We create them on first use.
    pub fn records(&self) -> &Value {
        &self.records
    }

    /// Returns true if the call ended before it was complete, e.g. at its deadline.
    pub fn partial(&self) -> bool {
        self.truncated_by.is_some_and(Limit::ends_early)
    }

    /// Renders an outcome, which must already be redacted.
    pub(crate) fn from_outcome<R: Serialize + Render + Send + 'static>(
        outcome: ToolOutcome<R>,
        budget: usize,
    ) -> Self {
        let Rendered { mut text, is_cut: mut cut, mut hides_results, shown } = match outcome.others.is_empty()
        {
            true => R::render(&outcome, budget),
            false => multi_root::render(&outcome, budget),
        };
        // Every renderer should stay within its budget. This is a hard limit in case a repository contains
        // something unexpected.
        if text.len() > limits::TEXT_BYTES_MAX {
            text =
                clip(&text, limits::TEXT_BYTES_MAX - 100) + "\n[the answer was too long; the rest is cut]\n";
            (cut, hides_results) = (true, true);
        }
        let others = || outcome.others.iter().filter_map(|other| other.outcome.as_ref().ok());
        let found = outcome.found || others().any(|other| other.found);
        let cuts = || std::iter::once(&outcome).chain(others()).filter_map(|outcome| outcome.truncated_by);
        // That a search ended early matters more than that its results were cut.
        let truncated_by = cuts().find(|limit| limit.ends_early()).or_else(|| cuts().next());
        let mut hidden = outcome.hidden.clone();
        others().for_each(|other| hidden.add_all(&other.hidden));
        let problem = truncated_by.filter(|limit| !found && limit.ends_early()).map(|limit| {
            let (text, code) = match limit {
                Limit::Engine => ("the engine failed before anything was found", ErrorCode::Engine),
                Limit::Root => {
                    ("not all roots could be searched, and the others had no results", ErrorCode::Path)
                }
                Limit::Cancelled => {
                    ("the search was cancelled before anything was found", ErrorCode::Cancelled)
                }
                Limit::Unavailable => ("nothing was looked up; the answer says why", ErrorCode::Collection),
                _ => ("the search ended before anything was found; give it more time", ErrorCode::Unfinished),
            };
            CallProblem { text: text.to_owned(), code }
        });
        let head = Arc::new(AnswerHead::from_outcome(&outcome, hides_results, shown));
        let content = R::CONTENT_IN_RECORDS.then(|| text.clone());
        let message = problem.clone();
        let records =
            LazyLock::new(Box::new(move || records(&outcome, cut, content, message)) as MakeRecords);
        Self { text, records, found, truncated_by, problem, hidden, head }
    }
}
