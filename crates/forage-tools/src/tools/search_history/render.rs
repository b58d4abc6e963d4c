//! Text rendering of `search_history`.

use std::fmt::Write as _;

use forage_fs::Root;

use super::{FoundChange, FoundCommit, HistoryResponse};
use crate::head::Counts;
use crate::multi_root::whole_path;
use crate::notes::{MORE, max_that_fits, notes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::sanitize::sanitize_line;
use crate::shown::Rendered;
use crate::text::{count, grouped, quoted};

/// Number of digits of an id in the text.
const ID_DIGITS: usize = 10;

/// Shortens an id.
pub(super) fn short(id: &str) -> &str {
    id.get(..ID_DIGITS).unwrap_or(id)
}

impl Render for HistoryResponse {
    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        // Subjects, paths and lines have already been redacted.
        redactor.text(&mut self.path);
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
        if response.suspects && response.commits.is_empty() {
            let text = with_notes(no_suspects(response), &notes);
            return Rendered::without_files(text, false);
        }
        if response.commits.is_empty() {
            return Rendered::without_files(with_notes(no_results(response), &notes), false);
        }
        let all = response.commits.iter().map(FoundCommit::pieces).sum();
        let part = |pieces: usize| match pieces < all {
            true => page(response, &cut_notes(outcome, &notes, pieces), pieces),
            false => page(response, &notes, all),
        };
        let fitting = max_that_fits(1..=all, |pieces| part(pieces).len() <= budget);
        let is_cut = fitting < all;
        Rendered { text: part(fitting), is_cut, hides_results: is_cut, shown: Vec::new() }
    }
}

/// Formats the first pieces of the commits, with their notes.
fn page(response: &HistoryResponse, notes: &[String], pieces: usize) -> String {
    let mut text = String::new();
    let mut shown = 0;
    for (commit, pieces) in within(response, pieces) {
        text.push('\n');
        text.push_str(&commit_text(commit, pieces));
        shown += 1;
    }
    if response.suspects {
        return with_notes(suspects_headline(response) + &text, notes);
    }
    let is_last = response.is_last && shown == response.commits.len();
    with_notes(headline(response, shown as u64, is_last) + &text, notes)
}

/// Returns the commits that these pieces belong to, each with their number.
fn within(response: &HistoryResponse, mut pieces: usize) -> impl Iterator<Item = (&FoundCommit, usize)> {
    response.commits.iter().map_while(move |commit| {
        let here = pieces.min(commit.pieces());
        pieces -= here;
        (here > 0).then_some((commit, here))
    })
}

/// Replaces the cursor in the notes of an answer with one that continues after the first pieces.
fn cut_notes(outcome: &ToolOutcome<HistoryResponse>, notes: &[String], pieces: usize) -> Vec<String> {
    let response = &outcome.response;
    let shown: Vec<_> = within(response, pieces).collect();
    if response.suspects {
        let all = response.commits.len() as u64;
        let cut = format!("cut to {} of {}", shown.len(), count(all, "commit"));
        return notes.iter().cloned().chain([cut]).collect();
    }
    let mut notes: Vec<String> = notes.iter().filter(|note| !note.starts_with(MORE)).cloned().collect();
    let Some(&(last, begun)) = shown.last() else { return notes };
    let cursor = match response.commits.get(shown.len()) {
        Some(next) if begun == last.pieces() => response.pages.cursor(next.looked, 0),
        _ => {
            notes.insert(0, format!("{} is cut: the next page has the rest of it", short(&last.id)));
            response.pages.cursor(last.looked, last.begun + begun)
        }
    };
    notes.push(format!("{MORE}{}", outcome.names.continuation(&cursor)));
    notes
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

fn headline(response: &HistoryResponse, shown: u64, is_last: bool) -> String {
    let commits = match (response.continued, shown) {
        (true, 1) => "1 more commit".to_owned(),
        (true, _) => format!("{} more commits", grouped(shown)),
        (false, _) => count(shown, "commit"),
    };
    let order = if is_last { "newest first" } else { "newest first, more follow" };
    format!("{commits} {} ({order}):\n", relation(response))
}

fn no_results(response: &HistoryResponse) -> String {
    let relation = relation(response);
    let looked = count(response.looked_at, "commit");
    let back = response.looked_back_to.as_ref().map(|date| format!(", back to {date}")).unwrap_or_default();
    let so_far = if response.is_last { "" } else { " so far" };
    let more = if response.continued { "No other commit" } else { "No commit" };
    format!("{more} {relation}{so_far} ({looked} looked at{back}).")
}

/// Describes the commits among which the suspects are.
fn looked_at(response: &HistoryResponse) -> String {
    let within = match response.path.as_str() {
        "." => String::new(),
        path => format!(" of {path}"),
    };
    let back = response.looked_back_to.as_ref().map(|date| format!(", looked back to {date}"));
    format!("{}{within}{}", count(response.looked_at, "commit"), back.unwrap_or_default())
}

fn suspects_headline(response: &HistoryResponse) -> String {
    format!("Most likely causes, best first, among {}:\n", looked_at(response))
}

fn no_suspects(response: &HistoryResponse) -> String {
    format!("Nothing ties a commit to this failure, among {}.", looked_at(response))
}

fn push_head(text: &mut String, commit: &FoundCommit) {
    let head = format!("{} {} {}", short(&commit.id), commit.date, sanitize_line(&commit.subject));
    text.push_str(head.trim_end());
    text.push('\n');
}

/// Formats a commit: its head, then its files with their lines, up to this number of pieces.
pub(super) fn commit_text(commit: &FoundCommit, mut pieces: usize) -> String {
    let mut text = String::new();
    push_head(&mut text, commit);
    if let Some(reason) = &commit.reason {
        let _ = writeln!(text, "  {}", sanitize_line(reason));
    }
    if commit.continued {
        text.push_str("  … continued\n");
    }
    let is_whole = pieces >= commit.pieces();
    for file in &commit.files {
        if pieces == 0 {
            break;
        }
        let here = pieces.min(file.pieces());
        pieces -= here;
        push_change(&mut text, file, here);
    }
    if is_whole && commit.files_more > 0 {
        let _ = writeln!(text, "  … {}", count(commit.files_more as u64, "more file"));
    }
    text
}

/// Formats a changed file with its first lines.
fn push_change(text: &mut String, file: &FoundChange, lines: usize) {
    let _ = match &file.old_path {
        Some(old) => writeln!(text, "  {} {} (was {old})", file.letter, file.path),
        None => writeln!(text, "  {} {}", file.letter, file.path),
    };
    for line in file.lines.iter().take(lines) {
        let sign = if line.change == "added" { '+' } else { '-' };
        let _ = writeln!(text, "    {sign}{}: {}", line.line_number, sanitize_line(&line.text));
    }
    let shown = (file.begun + file.lines.len()) as u64;
    let more = (file.removed + file.added).saturating_sub(shown);
    if lines >= file.pieces() && more > 0 {
        let _ = writeln!(text, "    … {}", count(more, "more line"));
    }
}
