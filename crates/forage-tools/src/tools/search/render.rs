//! Text rendering of `Search`. Its lines have the form `path:line:text`, as in grep.

use crate::head::Counts;
use crate::multi_root::whole_path;
use forage_fs::Root;
use std::fmt::Write as _;

use super::super::line_search::NoMatches;
use super::SearchResponse;
use super::record::SearchRecord;
use crate::lines::{ContextDetail, fit, shown_line, summary};
use crate::notes::{notes, with_notes};
use crate::outcome::{Render, ToolOutcome};
use crate::output_redactor::OutputRedactor;
use crate::shown::{Rendered, ShownFiles};
use crate::text::count;

impl Render for SearchResponse {
    const CONTENT_IN_RECORDS: bool = true;

    fn redact(&mut self, redactor: &mut OutputRedactor<'_>) {
        self.not_searched.redact(redactor);
        self.stderr.iter_mut().for_each(|text| redactor.text(text));
    }

    fn name_whole_paths(&mut self, root: &Root) {
        whole_path(root, &mut self.path);
        self.matches.iter_mut().for_each(|record| whole_path(root, &mut record.data.path.text));
    }

    fn counts(&self) -> Counts<'_> {
        Counts {
            searched: Some(self.files_searched),
            verdict: Some(&self.not_searched),
            ..Counts::plain(self.match_count, "matches", files(self))
        }
    }

    fn results(&self) -> u64 {
        self.count
    }

    fn render(outcome: &ToolOutcome<Self>, budget: usize) -> Rendered {
        let response = &outcome.response;
        let mut notes = notes(outcome, Some(response.files_searched));
        if let Some(stderr) = &response.stderr {
            notes.push(format!("{} wrote: {stderr}", response.engine));
        }
        if response.count == 0 {
            return Rendered::without_files(with_notes(no_matches(outcome), &notes), false);
        }
        let narrow = outcome.names.fill("`{Search.path}`, `{Search.glob}` or `{Search.pattern}`");
        let fitted = fit(|detail| body(outcome, detail), notes, &narrow, &outcome.names, budget);
        let shown = shown(response, fitted.detail);
        fitted.showing(shown)
    }
}

/// Records the lines that [`body`] displays.
fn shown(response: &SearchResponse, detail: ContextDetail) -> ShownFiles {
    let mut shown = ShownFiles::default();
    for record in &response.matches {
        match detail {
            ContextDetail::Context => shown.line(path(record), record.data.line_number, record.is_match()),
            _ if !record.is_match() => {}
            ContextDetail::Matches => shown.line(path(record), record.data.line_number, true),
            ContextDetail::Files => shown.named(path(record), 1),
            ContextDetail::Directories => {}
        }
    }
    shown
}

fn no_matches(outcome: &ToolOutcome<SearchResponse>) -> String {
    let response = &outcome.response;
    let is_cut = outcome.truncated_by.is_some();
    NoMatches {
        pattern: &response.pattern,
        path: &response.path,
        continued: response.continued,
        globs: response.no_file_chosen.then_some("{Search.glob}"),
        is_cut,
        nothing_searched: response.files_searched == 0 && !response.no_file_chosen && !is_cut,
        not_searched: &response.not_searched,
        include: "{Search.hidden} or {Search.no_ignore}",
    }
    .text(&outcome.names)
}

fn headline(outcome: &ToolOutcome<SearchResponse>, has_context: bool) -> String {
    let response = &outcome.response;
    let at_least = if outcome.truncated_by.is_some() { "at least " } else { "" };
    let further = if response.continued { "further " } else { "" };
    let matches = count(response.match_count, &format!("{further}match"));
    let files = count(files(response), "file");
    let lines = match response.count - response.match_count {
        call if has_context => format!(", with {} of context", count(call, "line")),
        _ => String::new(),
    };
    // A stream has already passed on its records, so we don't repeat them here.
    let end = if response.matches.is_empty() { "." } else { ":\n\n" };
    format!("Found {at_least}{matches} in {files}{lines}{end}")
}

/// Counts the files with matches.
fn files(response: &SearchResponse) -> u64 {
    if response.matches.is_empty() {
        return response.files;
    }
    let mut files: Vec<&str> = response.matches.iter().filter(|record| record.is_match()).map(path).collect();
    files.sort_unstable();
    files.dedup();
    files.len() as u64
}

fn path(record: &SearchRecord) -> &str {
    &record.data.path.text
}

fn body(outcome: &ToolOutcome<SearchResponse>, detail: ContextDetail) -> String {
    let has_context =
        detail == ContextDetail::Context && outcome.response.count > outcome.response.match_count;
    let mut text = headline(outcome, has_context);
    let records = &outcome.response.matches;
    if matches!(detail, ContextDetail::Files | ContextDetail::Directories) {
        let mut files: Vec<(&str, u64)> = Vec::new();
        let mut paths: Vec<&str> = records.iter().filter(|record| record.is_match()).map(path).collect();
        // In best-first order, the lines of a file may be far apart.
        paths.sort_unstable();
        for path in paths {
            match files.last_mut() {
                Some((last, matches)) if *last == path => *matches += 1,
                _ => files.push((path, 1)),
            }
        }
        // The summary begins with a line feed.
        text.pop();
        text.push_str(&summary(files.into_iter(), detail == ContextDetail::Directories));
        return text;
    }
    let mut previous: Option<&SearchRecord> = None;
    for record in records.iter().filter(|record| detail == ContextDetail::Context || record.is_match()) {
        let follows = |previous: &SearchRecord| {
            path(previous) == path(record) && previous.data.line_number + 1 == record.data.line_number
        };
        if has_context && previous.is_some_and(|previous| !follows(previous)) {
            text.push_str("--\n");
        }
        previous = Some(record);
        line(record, &mut text);
    }
    text
}

/// Formats one record as a line of text.
pub(super) fn line(record: &SearchRecord, text: &mut String) {
    let data = &record.data;
    let mark = if record.is_match() { ':' } else { '-' };
    let shown = shown_line(&data.lines.text, data.cut_before, data.cut_after);
    let edits = match data.distance {
        None | Some(0) => String::new(),
        Some(edits) => format!("  [{}]", count(edits.into(), "edit")),
    };
    let _ = writeln!(text, "{}{mark}{}{mark}{shown}{edits}", data.path.text, data.line_number);
}
