//! Lines of files in an answer: converts the engine's events to records, and to text within a byte budget.

use std::fmt::Write as _;

use forage_fs::display_foreign_path;
use forage_search::{EventKind, SearchEvent};

use crate::names::ToolNames;
use crate::notes::{notes_bytes, with_notes};
use crate::sanitize::{line_text, record_text};
use crate::shown::{Rendered, ShownFiles};
use crate::text::{count, grouped};

/// Names a kind of line as in records: `match` or `context`.
pub(crate) fn kind_name(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Match => "match",
        EventKind::Context | EventKind::Margin => "context",
    }
}

/// Converts a line to text for records, without its line feed. Also returns its bytes if the text does not
/// represent all of them.
pub(crate) fn event_text(event: &SearchEvent) -> (String, Option<String>) {
    record_text(event.bytes.strip_suffix(b"\n").unwrap_or(&event.bytes))
}

/// Returns true for zero, which we omit from records.
pub(crate) fn is_zero<N: Default + PartialEq>(n: &N) -> bool {
    *n == N::default()
}

/// Formats a line for text answers, with the number of bytes that were cut on each side.
pub(crate) fn shown_line(text: &str, cut_before: usize, cut_after: usize) -> String {
    let mut shown = String::new();
    if cut_before > 0 {
        let _ = write!(shown, "[{} bytes] …", grouped(cut_before as u64));
    }
    shown.push_str(&line_text(text.as_bytes()));
    if cut_after > 0 {
        let _ = write!(shown, "… [{} bytes more]", grouped(cut_after as u64));
    }
    shown
}

/// Levels of detail of a text, from most to least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextDetail {
    Context,
    Matches,
    Files,
    Directories,
}

/// A text within a budget, and its level of detail.
pub(crate) struct Fitted<D> {
    text: String,
    is_cut: bool,
    hides_results: bool,
    pub(crate) detail: D,
    /// True if even the lowest level did not fit, so that lines are missing at the end.
    is_shortened: bool,
}

impl<D> Fitted<D> {
    /// Adds the files that the text displays at its level of detail.
    pub(crate) fn showing(self, shown: ShownFiles) -> Rendered {
        let mut shown = shown.into_files();
        if self.is_shortened {
            shown.retain(|file| self.text.contains(&file.path));
        }
        Rendered { text: self.text, is_cut: self.is_cut, hides_results: self.hides_results, shown }
    }
}

/// Chooses the most detailed body that fits into the budget with its notes. `narrow` names the arguments that
/// reduce the results.
pub(crate) fn fit(
    body: impl Fn(ContextDetail) -> String,
    notes: Vec<String>,
    narrow: &str,
    names: &ToolNames,
    budget: usize,
) -> Fitted<ContextDetail> {
    let read = names.fill("[[read them with {read_file}, or ]]");
    let steps = [
        (
            ContextDetail::Matches,
            "context lines are left out; ask for fewer results or a narrower path".to_owned(),
        ),
        (ContextDetail::Files, format!("only files with counts are shown; {read}narrow {narrow}")),
        (ContextDetail::Directories, format!("only directories with counts are shown; narrow {narrow}")),
    ];
    let mut fitted = fit_steps(ContextDetail::Context, steps, body, notes, budget);
    // Lines of context are not results.
    fitted.hides_results &= fitted.detail != ContextDetail::Matches || fitted.is_shortened;
    fitted
}

/// Like [`fit`], but with a tool's own levels of detail, each with its note.
pub(crate) fn fit_steps<D: Copy, const N: usize>(
    whole: D,
    steps: [(D, String); N],
    body: impl Fn(D) -> String,
    mut notes: Vec<String>,
    budget: usize,
) -> Fitted<D> {
    let (mut text, mut detail) = (body(whole), whole);
    if text.len() + notes_bytes(&notes) <= budget {
        let text = with_notes(text, &notes);
        return Fitted { text, is_cut: false, hides_results: false, detail, is_shortened: false };
    }
    for (index, (less, note)) in steps.into_iter().enumerate() {
        notes.insert(0, format!("the answer was too long: {note}"));
        (text, detail) = (body(less), less);
        if text.len() + notes_bytes(&notes) <= budget || index + 1 == N {
            break;
        }
        notes.remove(0);
    }
    let room = budget.saturating_sub(notes_bytes(&notes));
    let is_shortened = text.len() > room;
    let text = with_notes(whole_lines(&text, room), &notes);
    Fitted { text, is_cut: true, hides_results: true, detail, is_shortened }
}

/// Lists the matches per file, or per directory. The files must be in path order.
pub(crate) fn summary<'a>(files: impl Iterator<Item = (&'a str, u64)>, by_directory: bool) -> String {
    let mut text = String::new();
    if !by_directory {
        for (path, matches) in files {
            let _ = write!(text, "\n{path}: {}", count(matches, "match"));
        }
        return text;
    }
    let mut directories: Vec<(String, u64, u64)> = Vec::new();
    for (path, matches) in files {
        let directory = directory_of(path);
        match directories.last_mut() {
            Some(last) if last.0 == directory => (last.1, last.2) = (last.1 + 1, last.2 + matches),
            _ => directories.push((directory, 1, matches)),
        }
    }
    for (directory, files, matches) in directories {
        let _ = writeln!(text, "\n{directory}/: {} in {}", count(matches, "match"), count(files, "file"));
    }
    text
}

/// Returns the directory of a displayed path. It is quoted only if its own name needs quotes.
pub(crate) fn directory_of(path: &str) -> String {
    let quoted = path.strip_prefix('"').and_then(|path| path.strip_suffix('"'));
    let directory = quoted.unwrap_or(path).rsplit_once('/').map_or(".", |(directory, _)| directory);
    match quoted {
        Some(_) => display_foreign_path(&format!("\"{directory}\"")).into_owned(),
        None => directory.to_owned(),
    }
}

/// Cuts a text after the last line that fits, and adds the number of lines cut.
fn whole_lines(text: &str, room: usize) -> String {
    if text.len() <= room {
        return text.to_owned();
    }
    // The line with the number of the other lines takes up to 40 bytes.
    let end = text.as_bytes()[..room.saturating_sub(40)]
        .iter()
        .rposition(|&b| b == b'\n')
        .map_or(0, |feed| feed + 1);
    format!("{}… and {} more lines\n", &text[..end], text[end..].lines().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_quoted_only_where_its_own_name_needs_it() {
        let cases = [
            ("a.rs", "."),
            ("src/a.rs", "src"),
            ("src/http/a.rs", "src/http"),
            ("\"docs/caf\\xe9.txt\"", "docs"),
            ("\"caf\\xe9/a.rs\"", "\"caf\\xe9\""),
            ("\"caf\\xe9.txt\"", "."),
            ("\"No matches/a.rs\"", "\"No matches\""),
            ("\"src/No matches\"", "src"),
        ];
        for (path, directory) in cases {
            assert_eq!(directory_of(path), directory, "{path}");
        }
    }
}
