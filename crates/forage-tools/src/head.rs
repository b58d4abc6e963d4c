//! Summary of an answer without any text of files: counts, skipped files, and displayed lines.

use std::collections::BTreeMap;

use forage_fs::{SkipReason, Skipped};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::{Limit, Render, ToolOutcome};
use crate::shown::ShownFile;
use crate::verdict::CallVerdict;

/// The counts of a response.
pub(crate) struct Counts<'a> {
    /// Number of results, displayed or not.
    pub(crate) results: u64,
    /// What a result is called, in the plural.
    pub(crate) of: &'static str,
    /// True if there may be more.
    pub(crate) at_least: bool,
    /// Number of files that have results.
    pub(crate) files: u64,
    /// Number of files whose text was searched. `None` if the tool is not a search.
    pub(crate) searched: Option<u64>,
    /// Information about files that were not searched. `None` if the tool is not a search.
    pub(crate) verdict: Option<&'a CallVerdict>,
    /// True if the text omits lines that an earlier answer of the same session displayed.
    pub(crate) depends_on_session: bool,
    /// The roots, for a tool that handles several roots together.
    pub(crate) roots: &'a [String],
}

impl Counts<'_> {
    /// Creates the counts of a tool that is not a search.
    pub(crate) fn plain(results: u64, of: &'static str, files: u64) -> Self {
        Self {
            results,
            of,
            files,
            at_least: false,
            searched: None,
            verdict: None,
            depends_on_session: false,
            roots: &[],
        }
    }
}

/// Files at one step of a search.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct FunnelStep {
    /// `visited`, `searched`, `matched` or `shown`.
    pub step: String,
    /// Files left at this step.
    pub files: u64,
}

/// Summary of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct AnswerHead {
    /// The roots of the call.
    pub roots: Vec<String>,
    /// Number of results, shown or not.
    pub results: u64,
    /// The kind of the results: `matches`, `files`, `lines`, `entries` or `hits`.
    pub results_of: String,
    /// True if there may be more results than were counted.
    pub at_least: bool,
    /// Number of files with results.
    pub files: u64,
    /// Files at each step of a search, from the files of the root to the shown files.
    pub funnel: Vec<FunnelStep>,
    /// Files that were not searched, counted by reason.
    pub skipped: BTreeMap<String, u64>,
    /// Names of directories of dependencies and caches that were not entered.
    pub not_entered: Vec<String>,
    /// For a search without results: one sentence for each rule that hides matches.
    pub hidden_matches: Vec<String>,
    /// For a search without results: true if the text occurs nowhere; null if this is unknown, or if there
    /// are results.
    pub absent: Option<bool>,
    /// The limit that cut the answer.
    pub truncated_by: Option<Limit>,
    /// True if the text omits results because of its byte limit.
    pub text_cut: bool,
    /// True if a cursor continues the results.
    pub has_more: bool,
    /// Number of redacted secrets.
    pub redacted: u64,
    /// The files that the text shows or names, in the order of the text.
    pub shown: Vec<ShownFile>,
    /// True if the text depends on what earlier answers have shown.
    pub depends_on_session: bool,
}

impl AnswerHead {
    /// Summarizes an outcome and its text.
    pub(crate) fn from_outcome<R: Render>(
        outcome: &ToolOutcome<R>,
        text_cut: bool,
        shown: Vec<ShownFile>,
    ) -> Self {
        let mut head = Self { text_cut, shown, ..Self::default() };
        let (mut searched, mut absent) = (None, Vec::new());
        absent.push(head.add(outcome, &mut searched));
        for other in &outcome.others {
            absent.push(match &other.outcome {
                Ok(outcome) => head.add(outcome, &mut searched),
                Err(_) => {
                    head.roots.push(other.root.clone());
                    None
                }
            });
        }
        if head.results > 0 {
            // One root may hide matches while another one has results.
            head.hidden_matches.clear();
        } else if absent.contains(&Some(false)) {
            head.absent = Some(false);
        } else if absent.iter().all(|it| *it == Some(true)) {
            head.absent = Some(true);
        }
        if let Some(searched) = searched {
            let unread: u64 =
                SkipReason::UNREAD.iter().filter_map(|reason| head.skipped.get(reason.name())).sum();
            let shown = head.shown.len() as u64;
            let steps = [
                ("visited", searched + unread),
                ("searched", searched),
                ("matched", head.files),
                ("shown", shown),
            ];
            head.funnel = steps.map(|(step, files)| FunnelStep { step: step.to_owned(), files }).into();
        }
        head.place();
        head
    }

    /// Adds the outcome of one root. Returns true if the searched text is certainly absent from this root,
    /// and `None` if we can't know.
    fn add<R: Render>(&mut self, outcome: &ToolOutcome<R>, searched: &mut Option<u64>) -> Option<bool> {
        let counts = outcome.response.counts();
        let own = outcome.root.iter().map(|(root, _)| root);
        for root in own.chain(counts.roots) {
            if !self.roots.contains(root) {
                self.roots.push(root.clone());
            }
        }
        self.results += counts.results;
        counts.of.clone_into(&mut self.results_of);
        self.at_least |= counts.at_least || outcome.truncated_by.is_some_and(Limit::ends_early);
        self.files += counts.files;
        self.depends_on_session |= counts.depends_on_session;
        if let Some(more) = counts.searched {
            *searched = Some(searched.unwrap_or_default() + more);
        }
        self.add_skipped(&outcome.skipped);
        self.not_entered.extend(outcome.noise_directories.iter().cloned());
        self.truncated_by = self.truncated_by.or(outcome.truncated_by);
        self.has_more |= outcome.next_cursor.is_some();
        self.redacted += outcome.hidden.total() as u64;
        let verdict = counts.verdict.filter(|_| counts.results == 0)?;
        self.hidden_matches.extend(verdict.hidden_matches.iter().map(|line| line.text.clone()));
        match (verdict.hidden_matches.is_empty(), verdict.complete) {
            // The check is about excluded files, so the search itself must be complete, too.
            (true, true) if outcome.truncated_by.is_none() => Some(true),
            (true, _) => None,
            (false, _) => Some(false),
        }
    }

    fn add_skipped(&mut self, skipped: &Skipped) {
        for (reason, count) in skipped.iter() {
            *self.skipped.entry(reason.name().to_owned()).or_default() += count;
        }
    }

    /// Makes each path relative to its own root. Files of roots other than the first are displayed with
    /// absolute paths.
    fn place(&mut self) {
        let Self { roots, shown, .. } = self;
        for file in shown {
            let below = |root: &String| {
                let (root, quoted) = (root.trim_end_matches('/'), file.path.strip_prefix('"'));
                match quoted {
                    Some(quoted) => Some(format!("\"{}", quoted.strip_prefix(root)?.strip_prefix('/')?)),
                    None => Some(file.path.strip_prefix(root)?.strip_prefix('/')?.to_owned()),
                }
            };
            // If roots are nested, we choose the innermost one.
            let found = roots.iter().enumerate().filter_map(|(index, root)| Some((index, below(root)?)));
            if let Some((root, path)) = found.min_by_key(|(_, path)| path.len()) {
                (file.root, file.path) = (root, path);
            }
        }
    }
}
