//! Reports the files that a search without hits skipped. You can't rely on zero hits without this
//! information.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, Root, SkipReason, Skipped, WalkOptions, WalkReport};
use forage_search::{FileEvents, Pattern, ScanOptions, search};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::call::Call;
use crate::limits;
use crate::output_redactor::OutputRedactor;
use crate::sanitize::sanitize_line;
use crate::text::{clip, count};

/// Describes the matches that a rule hides. The records have only the sentence.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct HiddenMatches {
    /// A sentence.
    pub text: String,
    /// True if the rule is a setting of the user, for example `search.exclude`. Options that include ignored
    /// files do not include these.
    #[serde(skip)]
    pub is_setting: bool,
}

impl HiddenMatches {
    /// Describes files that a setting excludes.
    pub(crate) fn by_setting(text: String) -> Self {
        Self { text, is_setting: true }
    }
}

impl From<String> for HiddenMatches {
    fn from(text: String) -> Self {
        Self { text, is_setting: false }
    }
}

/// Matches in files that a search excludes by default.
#[derive(Debug, Default)]
struct ExcludedMatches {
    matches: u64,
    files: u64,
    example: String,
}

/// The result of a check of the files that a search excludes by default.
#[derive(Debug, Default, JsonSchema, Serialize)]
pub struct CallVerdict {
    /// A sentence for each rule that hides matches.
    #[schemars(with = "Vec<String>")]
    pub hidden_matches: Vec<HiddenMatches>,
    /// True if all such files were searched. Without hidden matches, the pattern is then in no text file
    /// below the start, except in those that may hold secrets. False if the search found something or did not
    /// finish.
    pub complete: bool,
    /// A sentence for each variant of the pattern that matches: another case or spelling, plain text, one
    /// edit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_readings: Vec<String>,
    /// The best files of the ranking for the words of the pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranked_first: Vec<String>,
    /// Places in dependencies that define the name in the pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub in_dependencies: Vec<String>,
    /// Files that were not read, by reason.
    #[serde(skip_serializing_if = "Skipped::is_empty", serialize_with = "by_reason")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub unread: Skipped,
    /// True if a check was made but did not finish.
    #[serde(skip)]
    pub(crate) is_partial: bool,
}

fn by_reason<S: Serializer>(skipped: &Skipped, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(skipped.iter().map(|(reason, count)| (reason.name(), count)))
}

/// Counts the files that a complete search did not read, by reason.
fn unread(report: &WalkReport) -> Skipped {
    let mut unread = Skipped::default();
    for reason in [
        SkipReason::Denied,
        SkipReason::TooLarge,
        SkipReason::Unreadable,
        SkipReason::LineTooLong,
        SkipReason::TooSlow,
        SkipReason::NotebookOutputs,
    ] {
        unread.add_many(reason, report.skipped.get(reason));
    }
    unread
}

/// Returns true if these are only files that may contain secrets, which no search reads.
fn is_whole(unread: &Skipped) -> bool {
    unread.iter().all(|(reason, _)| reason == SkipReason::Denied)
}

impl CallVerdict {
    /// Returns the verdict if nothing was checked.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// Creates the verdict of a completed search in which no rule hides files.
    pub(crate) fn nothing_hidden(report: &WalkReport) -> Self {
        let unread = unread(report);
        Self { complete: is_whole(&unread), unread, ..Self::none() }
    }

    /// Redacts the sentences, because names of rules and files come from the repository.
    pub(crate) fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        self.hidden_matches.iter_mut().for_each(|line| redactor.text(&mut line.text));
    }

    /// Describes the verdict for an answer without hits, with `before` and `after` around the list. If the
    /// configuration excludes all these files, `excluded` replaces `before`, and nothing follows.
    pub(crate) fn describe(&self, before: &str, after: &str, excluded: &str) -> String {
        let mut text = String::new();
        if !self.hidden_matches.is_empty() {
            let are_settings = self.hidden_matches.iter().all(|line| line.is_setting);
            let (before, after) = match are_settings {
                true => (excluded, ""),
                false => (before, after),
            };
            text.push_str(before);
            self.hidden_matches.iter().for_each(|line| text.push_str(&format!("\n- {}", line.text)));
            text.push_str(after);
        }
        if self.is_partial {
            text.push_str("\nNot all ignored and hidden files could be checked for matches.");
        }
        if !self.unread.is_empty() {
            let _ = write!(text, "\nNot read, so they may contain matches: {}.", self.unread);
        }
        if !self.other_readings.is_empty() {
            text.push_str("\nThe pattern would match:");
            self.other_readings.iter().for_each(|line| text.push_str(&format!("\n- {line}")));
        }
        if !self.in_dependencies.is_empty() {
            let _ = write!(text, "\nDefined in a dependency: {}.", self.in_dependencies.join(", "));
        }
        if !self.ranked_first.is_empty() {
            let _ = write!(text, "\nRanked first for its words: {}.", self.ranked_first.join(", "));
        }
        text
    }
}

/// The sentence before the list of files that the configuration excludes.
pub(crate) const EXCLUDED: &str = " But there are matches in files that the configuration excludes:";

/// Like [`EXCLUDED`], for tools whose `path` can name these files.
pub(crate) const EXCLUDED_UNLESS_NAMED: &str =
    " But there are matches in files that the configuration excludes; a path that names them includes them:";

/// Describes matches in ignored or hidden files, for a search without hits. `report` is the report of that
/// search.
pub fn hidden_matches(
    call: &Call,
    root: &Arc<Root>,
    start: &RelPath,
    walk: &WalkOptions,
    pattern: &Pattern,
    report: &WalkReport,
) -> Vec<HiddenMatches> {
    let verdict = excluded_matches(call, root, start, walk, pattern, Some(report), &call.stop);
    let mut lines = verdict.hidden_matches;
    if verdict.is_partial {
        lines.push("not all ignored and hidden files could be checked for matches".to_owned().into());
    }
    lines
}

/// Searches the hidden files, within limits and the call's own deadline. `searched` is the report of a search
/// for the same pattern that found nothing in all other files. Without it, we search them again.
pub(crate) fn excluded_matches(
    call: &Call,
    root: &Arc<Root>,
    start: &RelPath,
    walk: &WalkOptions,
    pattern: &Pattern,
    searched: Option<&WalkReport>,
    stop: &Stop,
) -> CallVerdict {
    if let Some(searched) = searched
        && searched.hiding.is_empty()
    {
        return CallVerdict::nothing_hidden(searched);
    }
    let only_hidden = searched.map(|report| Arc::new(report.hiding.clone()));
    let walk = WalkOptions { label_hidden: true, only_hidden, ..walk.clone() };
    let scan = ScanOptions {
        count_only: true,
        max_file_bytes: call.limits.max_file_bytes,
        // Hidden files are not in any index.
        index: if searched.is_some() { None } else { call.workspace.index(root) },
        ..ScanOptions::default()
    };
    let stop = stop.within(limits::VERDICT_TIME);
    let mut by_rule: BTreeMap<Arc<str>, ExcludedMatches> = BTreeMap::new();
    let mut files = 0;
    let report = search(root, start, &walk, pattern, &scan, &stop, |file: FileEvents| {
        files += 1;
        let Some(rule) = file.hidden_by else { return ControlFlow::Continue(()) };
        let unseen = by_rule.entry(rule).or_default();
        unseen.matches += file.matches;
        unseen.files += 1;
        if unseen.example.is_empty() {
            unseen.example = file.path.display().into_owned();
        }
        if files < limits::VERDICT_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let cut = |report: &WalkReport| report.stopped.is_some() || report.broke_off || report.too_many_entries;
    let partial = report.as_ref().map_or(true, cut);
    let mut not_read = report.as_ref().map(unread).unwrap_or_default();
    if let Some(searched) = searched {
        not_read.merge(&unread(searched));
    }
    let describe = |(rule, unseen): (&Arc<str>, &ExcludedMatches)| {
        let matches = count(unseen.matches, "matching line");
        let at_least = if partial { "at least " } else { "" };
        let (shown, example) = (clip(rule, limits::QUOTED_BYTES), clip(&unseen.example, limits::NOTE_BYTES));
        let files = count(unseen.files, "file");
        let text = format!("{at_least}{matches} in {files} hidden by {shown}, such as {example}");
        // Rules of the repository are named after their ignore files.
        let is_setting = call.workspace.excludes.as_ref().is_some_and(|excludes| excludes.label() == rule);
        HiddenMatches { text: sanitize_line(&text).into_owned(), is_setting }
    };
    let mut lines: Vec<HiddenMatches> = by_rule.iter().take(limits::VERDICT_RULES).map(describe).collect();
    let more = by_rule.len().saturating_sub(limits::VERDICT_RULES);
    if more > 0 {
        lines.push(format!("and more, hidden by {}", count(more as u64, "other rule")).into());
    }
    CallVerdict {
        hidden_matches: lines,
        complete: !partial && is_whole(&not_read),
        unread: not_read,
        is_partial: partial,
        ..CallVerdict::none()
    }
}
