//! Text rendering of `search_history`.

use std::fmt::Write as _;

use forage_fs::Root;

use super::{FoundCommit, HistoryResponse};
use crate::border::Border;
use crate::head::Counts;
use crate::lines::fit_steps;
use crate::notes::{notes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::sanitize::sanitize_line;
use crate::several::whole_path;
use crate::shown::{Rendered, ShownFiles};
use crate::text::{count, grouped, quoted};

/// Number of digits of an id in the text.
const ID_DIGITS: usize = 10;

/// Levels of detail, from most to least.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HistoryDetail {
    Lines,
    Files,
    Commits,
}

/// Shortens an id.
pub(super) fn short(id: &str) -> &str {
    id.get(..ID_DIGITS).unwrap_or(id)
}

impl Render for HistoryResponse {
    fn redact(&mut self, border: &mut Border<'_>) {
        // Subjects, paths and lines have already been redacted.
        border.text(&mut self.path);
    }

    fn name_whole_paths(&mut self, root: &Root) {
        whole_path(root, &mut self.path);
        for file in self.commits.iter_mut().flat_map(|commit| &mut commit.files) {
            whole_path(root, &mut file.path);
            file.old_path.iter_mut().for_each(|path| whole_path(root, path));
        }
    }

    fn counts(&self) -> Counts<'_> {
        let results = self.commits.len() as u64;
        let files = self.commits.iter().map(|commit| commit.files.len() + commit.files_more).sum::<usize>();
        Counts { at_least: !self.complete, ..Counts::plain(results, "commits", files as u64) }
    }

    fn results(&self) -> u64 {
        self.commits.len() as u64
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        let notes = notes(outcome, None);
        if response.commits.is_empty() {
            return Rendered::without_files(with_notes(nothing(response), &notes), false);
        }
        let steps = [
            (HistoryDetail::Files, "only files are shown; ask for fewer commits".to_owned()),
            (HistoryDetail::Commits, "only commits are shown; ask for fewer".to_owned()),
        ];
        fit_steps(HistoryDetail::Lines, steps, |detail| body(response, detail), notes, budget)
            .showing(ShownFiles::default())
    }
}

fn body(response: &HistoryResponse, detail: HistoryDetail) -> String {
    let mut text = headline(response);
    for commit in &response.commits {
        text.push('\n');
        match detail {
            HistoryDetail::Commits => push_head(&mut text, commit),
            detail => text.push_str(&commit_text(commit, detail == HistoryDetail::Lines)),
        }
    }
    text
}

/// Describes the commits that are found: `changed X in PATH`.
fn relation(response: &HistoryResponse) -> String {
    let within = match response.path.as_str() {
        "." => String::new(),
        path => format!(" in {path}"),
    };
    match (&response.pattern, &response.symbol) {
        (Some(text), _) if response.is_plain_text => {
            format!("changed how often {} occurs{within}", quoted(text))
        }
        (Some(pattern), _) => format!("added or removed a line that matches {}{within}", quoted(pattern)),
        (None, Some(symbol)) => format!("changed {}{within}", quoted(symbol)),
        (None, None) if within.is_empty() => "in the history".to_owned(),
        (None, None) => format!("changed {}", response.path),
    }
}

fn headline(response: &HistoryResponse) -> String {
    let shown = response.commits.len() as u64;
    let commits = match (response.continued, shown) {
        (true, 1) => "1 more commit".to_owned(),
        (true, _) => format!("{} more commits", grouped(shown)),
        (false, _) => count(shown, "commit"),
    };
    let order = if response.complete { "newest first" } else { "newest first, more follow" };
    format!("{commits} {} ({order}):\n", relation(response))
}

fn nothing(response: &HistoryResponse) -> String {
    let relation = relation(response);
    let looked = count(response.looked_at, "commit");
    let back = response.looked_back_to.as_ref().map(|date| format!(", back to {date}")).unwrap_or_default();
    let so_far = if response.complete { "" } else { " so far" };
    let more = if response.continued { "No other commit" } else { "No commit" };
    format!("{more} {relation}{so_far} ({looked} looked at{back}).")
}

fn push_head(text: &mut String, commit: &FoundCommit) {
    let head = format!("{} {} {}", short(&commit.id), commit.date, sanitize_line(&commit.subject));
    text.push_str(head.trim_end());
    text.push('\n');
}

/// Formats a commit: its head, then its files with their lines.
pub(super) fn commit_text(commit: &FoundCommit, has_lines: bool) -> String {
    let mut text = String::new();
    push_head(&mut text, commit);
    for file in &commit.files {
        let _ = match &file.old_path {
            Some(old) => writeln!(text, "  {} {} (was {old})", file.letter, file.path),
            None => writeln!(text, "  {} {}", file.letter, file.path),
        };
        if !has_lines {
            continue;
        }
        for line in &file.lines {
            let sign = if line.change == "added" { '+' } else { '-' };
            let _ = writeln!(text, "    {sign}{}: {}", line.line_number, sanitize_line(&line.text));
        }
        let more = (file.removed + file.added).saturating_sub(file.lines.len() as u64);
        if more > 0 {
            let _ = writeln!(text, "    … {}", count(more, "more line"));
        }
    }
    if commit.files_more > 0 {
        let _ = writeln!(text, "  … {}", count(commit.files_more as u64, "more file"));
    }
    text
}
