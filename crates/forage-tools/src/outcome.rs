//! What a call gives: the response, and what must be known to trust it.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use forage_base::Stopped;
use forage_fs::{Root, Skipped, WalkReport};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::border::{Border, Hidden};
use crate::error::ErrorCode;
use crate::head::{AnswerHead, Counts};
use crate::limits;
use crate::names::ToolNames;
use crate::noise::noise_of;
use crate::records::records;
use crate::several::{self, OtherRoot};
use crate::shown::Rendered;
use crate::text::clip;

/// The limit that cut an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// `max_results` matches, and there was at least one more.
    MaxResults,
    /// The bytes of lines that are kept of one file.
    FileBytes,
    /// The byte budget of the text; the records are whole.
    TextBytes,
    /// The deadline.
    Timeout,
    /// Cancelled by the caller.
    Cancelled,
    /// A bound on the entries of a directory tree.
    Entries,
    /// An external engine failed on the way: matches may be missing.
    Engine,
    /// One of several roots could not be looked at: what it has is missing.
    Root,
    /// What has to be asked does not answer, and nothing was looked up.
    Unavailable,
}

impl Limit {
    /// Whether there is at least one more result. A search that was stopped does not know.
    pub(crate) fn is_overrun(self) -> bool {
        matches!(self, Self::MaxResults | Self::FileBytes | Self::TextBytes | Self::Entries)
    }

    /// Whether the call did not come to its end.
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
    /// The tool's own answer.
    pub response: R,
    /// Whether anything was found: decides the exit status of the command line.
    pub found: bool,
    /// Counts of what was not searched, by reason.
    pub skipped: Skipped,
    /// Names of directories of dependencies and caches that were not entered.
    pub noise_directories: Vec<String>,
    /// The way to include them, in words for the caller: a template for [`ToolNames::fill`].
    pub included_by: &'static str,
    /// Warnings of what went wrong without ending the call.
    pub warnings: Vec<String>,
    /// The limit that cut the answer, if one did.
    pub truncated_by: Option<Limit>,
    /// Passed back as `cursor`, the call goes on where this one ended.
    pub next_cursor: Option<String>,
    /// The root that relative paths of the answer are below, and whether the text names it.
    pub root: Option<(String, bool)>,
    /// Secrets that were taken out.
    pub hidden: Hidden,
    /// The names of the tools that the text names.
    pub names: Arc<ToolNames>,
    /// Wall time of the call.
    pub elapsed: Duration,
    /// What the other roots have, of a call that is about several.
    pub others: Vec<OtherRoot<R>>,
}

impl<R> ToolOutcome<R> {
    /// A complete outcome.
    pub(crate) fn new(response: R, found: bool) -> Self {
        Self {
            response,
            found,
            skipped: Skipped::default(),
            noise_directories: Vec::new(),
            included_by: "",
            warnings: Vec::new(),
            truncated_by: None,
            next_cursor: None,
            root: None,
            hidden: Hidden::default(),
            names: ToolNames::own(),
            elapsed: Duration::ZERO,
            others: Vec::new(),
        }
    }

    /// Takes over what a walk reports.
    pub(crate) fn add_report(&mut self, report: &WalkReport) {
        self.skipped.merge(&report.skipped);
        self.noise_directories.extend(noise_of(&report.pruned).cloned());
        self.warnings.extend(report.warnings.iter().chain(&report.unreadable).cloned());
        if report.more_warnings > 0 {
            self.warnings.push(format!("{} more warnings of this kind", report.more_warnings));
        }
        if report.too_many_entries {
            self.warnings
                .push("the tree has more entries than one search looks at; name a directory".to_owned());
            self.truncated_by.get_or_insert(Limit::Entries);
        }
        if let Some(stopped) = report.stopped {
            self.truncated_by = Some(stopped.into());
        }
    }
}

/// How a response becomes text.
pub(crate) trait Render: Sized {
    /// Takes secrets out of every string that comes from files or their names, unless that was done when it was taken.
    fn redact(&mut self, border: &mut Border<'_>);

    /// Names files as they are named where another root is the first: by whole paths.
    fn name_whole_paths(&mut self, root: &Root);

    /// What it amounts to, in numbers.
    fn counts(&self) -> Counts<'_>;

    /// How many of its results it has, of those that a request bounds.
    fn results(&self) -> u64 {
        0
    }

    /// The text within about `budget` bytes, notes included; more is cut in the tool's own steps, never in the
    /// middle of a line.
    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered;

    /// Whether the records hold the text too, as `content`.
    const CONTENT_IN_RECORDS: bool = false;
}

type MakeRecords = Box<dyn FnOnce() -> Value + Send>;

/// What kept a call from finding anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallProblem {
    /// In words.
    pub text: String,
    /// For programs.
    pub code: ErrorCode,
}

/// An outcome as text, and as records for who asks for them.
#[derive(Debug)]
pub struct Answer {
    /// For people and models.
    pub text: String,
    records: LazyLock<Value, MakeRecords>,
    /// Whether anything was found.
    pub found: bool,
    /// The limit that cut it, if one did.
    pub truncated_by: Option<Limit>,
    /// Of a call that did not come to its end and found nothing, what kept it from that; it stands in the records as
    /// `error`.
    pub problem: Option<CallProblem>,
    /// Secrets that were taken out of text and records.
    pub hidden: Hidden,
    /// What it amounts to, without any text of files.
    pub head: Arc<AnswerHead>,
}

impl Answer {
    /// That of a tool that has a text alone, and no records.
    pub fn of_text(text: impl Into<String>) -> Self {
        Self::with_records(text, Value::Null)
    }

    /// That of a tool whose records are there already.
    pub fn with_records(text: impl Into<String>, records: Value) -> Self {
        let records = LazyLock::new(Box::new(move || records) as MakeRecords);
        let hidden = Hidden::default();
        let head = Arc::default();
        Self { text: text.into(), records, found: true, truncated_by: None, problem: None, hidden, head }
    }

    /// Returns the records, for programs: made when they are asked for first.
    pub fn records(&self) -> &Value {
        &self.records
    }

    /// Returns whether the answer is cut by its deadline or by cancellation.
    pub fn partial(&self) -> bool {
        self.truncated_by.is_some_and(Limit::ends_early)
    }

    /// Of an outcome that has passed the border.
    pub(crate) fn of<R: Serialize + Render + Send + 'static>(outcome: ToolOutcome<R>, budget: usize) -> Self {
        let Rendered { mut text, is_cut: mut cut, shown } = match outcome.others.is_empty() {
            true => R::render(&outcome, budget),
            false => several::render(&outcome, budget),
        };
        // Every rendering keeps to its budget by itself; this bound holds whatever a repository comes up with.
        if text.len() > limits::TEXT_BYTES_MAX {
            text =
                clip(&text, limits::TEXT_BYTES_MAX - 100) + "\n[the answer was too long and is cut here]\n";
            cut = true;
        }
        let others = || outcome.others.iter().filter_map(|other| other.outcome.as_ref().ok());
        let found = outcome.found || others().any(|other| other.found);
        let cuts = || std::iter::once(&outcome).chain(others()).filter_map(|outcome| outcome.truncated_by);
        let truncated_by = cuts().find(|limit| limit.ends_early()).or_else(|| cuts().next());
        let mut hidden = outcome.hidden.clone();
        others().for_each(|other| hidden.add_all(&other.hidden));
        let problem = truncated_by.filter(|limit| !found && limit.ends_early()).map(|limit| {
            let (text, code) = match limit {
                Limit::Engine => ("the engine failed before anything was found", ErrorCode::Engine),
                Limit::Root => {
                    ("not all roots could be looked at, and nothing was found in the others", ErrorCode::Path)
                }
                Limit::Cancelled => {
                    ("the search was cancelled before anything was found", ErrorCode::Cancelled)
                }
                Limit::Unavailable => ("nothing was looked up; the answer says why", ErrorCode::Collection),
                _ => ("the search ended before anything was found; give it more time", ErrorCode::Unfinished),
            };
            CallProblem { text: text.to_owned(), code }
        });
        let head = Arc::new(AnswerHead::of(&outcome, cut, shown));
        let content = R::CONTENT_IN_RECORDS.then(|| text.clone());
        let told = problem.clone();
        let records = LazyLock::new(Box::new(move || records(&outcome, cut, content, told)) as MakeRecords);
        Self { text, records, found, truncated_by, problem, hidden, head }
    }
}
