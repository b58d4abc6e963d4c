//! What a search without hits has not seen: zero hits are an answer only with it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_fs::{RelPath, Root, WalkOptions};
use forage_search::{FileEvents, Pattern, ScanOptions, search};

use crate::context::Context;
use crate::limits;
use crate::sanitize::sanitize_line;
use crate::text::{clip, count};

/// Matches in files that a search leaves out by default.
#[derive(Debug, Default)]
struct Unseen {
    matches: u64,
    files: u64,
    example: String,
}

/// Searches what the rules hide, within bounds, and says in a sentence each what is there. An empty list means that
/// nothing is: the pattern is absent from every text file under the start.
pub(crate) fn unseen_matches(
    context: &Context,
    root: &Arc<Root>,
    start: &RelPath,
    walk: &WalkOptions,
    pattern: &Pattern,
) -> Vec<String> {
    let walk = WalkOptions { label_hidden: true, ..walk.clone() };
    let scan =
        ScanOptions { count_only: true, max_file_bytes: context.max_file_bytes, ..ScanOptions::default() };
    let stop = context.stop.within(limits::VERDICT_TIME);
    let mut by_rule: BTreeMap<Arc<str>, Unseen> = BTreeMap::new();
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
    let partial = report.is_ok_and(|report| report.stopped.is_some() || report.broke_off);
    let describe = |(rule, unseen): (&Arc<str>, &Unseen)| {
        let matches = count(unseen.matches, "matching line");
        let at_least = if partial { "at least " } else { "" };
        let (rule, example) = (clip(rule, limits::QUOTED_BYTES), clip(&unseen.example, limits::NOTE_BYTES));
        let files = count(unseen.files, "file");
        sanitize_line(&format!("{at_least}{matches} in {files} hidden by {rule}, such as {example}"))
            .into_owned()
    };
    let mut lines: Vec<String> = by_rule.iter().take(limits::VERDICT_RULES).map(describe).collect();
    let more = by_rule.len().saturating_sub(limits::VERDICT_RULES);
    if more > 0 {
        lines.push(format!("and more, hidden by {}", count(more as u64, "other rule")));
    }
    lines
}
