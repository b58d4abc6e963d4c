//! The notes that end a text answer.

use crate::limits;
use crate::noise;
use crate::outcome::{Limit, ToolOutcome};
use crate::sanitize::sanitize;
use crate::text::{clip, count};

/// The notes that end an answer: what was cut, what was not searched, what went wrong. They come last and only we
/// write them.
pub(crate) fn notes<R>(outcome: &ToolOutcome<R>, searched: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    match outcome.truncated_by {
        Some(Limit::Timeout) => notes.push("stopped at the time limit: the results are partial".to_owned()),
        Some(Limit::Engine) => notes.push("the engine failed on the way: the results are partial".to_owned()),
        Some(Limit::Root) => notes.push("a root could not be looked at: the results are partial".to_owned()),
        Some(Limit::Cancelled) => notes.push("cancelled: the results are partial".to_owned()),
        _ => {}
    }
    if !outcome.skipped.is_empty() {
        let searched =
            searched.map(|files| format!("searched {}; ", count(files, "file"))).unwrap_or_default();
        notes.push(format!("{searched}not searched: {}", outcome.skipped));
    } else if let Some(files) = searched {
        notes.push(format!("searched {}", count(files, "file")));
    }
    notes.extend(noise::note(&outcome.noise_directories, &outcome.names.fill(outcome.included_by)));
    notes.extend(outcome.hidden.note());
    let shown = outcome.warnings.iter().take(limits::WARNINGS_SHOWN);
    notes.extend(shown.map(|warning| format!("warning: {warning}")));
    let more = outcome.warnings.len().saturating_sub(limits::WARNINGS_SHOWN);
    if more > 0 {
        notes.push(format!("{more} more warnings"));
    }
    if let Some((root, true)) = &outcome.root {
        notes.push(format!("root: {root}"));
    }
    if let Some(cursor) = &outcome.next_cursor {
        notes.push(format!("{MORE}{}", outcome.names.go_on(cursor)));
    }
    notes
}

/// How many of so many things an answer has room for, at least one: `fits` holds for fewer where it holds for some.
pub(crate) fn most_that_fits(all: usize, fits: impl Fn(usize) -> bool) -> usize {
    if all <= 1 || fits(all) {
        return all;
    }
    let (mut least, mut most) = (1, all - 1);
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if fits(middle) { least = middle } else { most = middle - 1 }
    }
    least
}

/// What stands in front of how to go on.
pub(crate) const MORE: &str = "more results: ";

/// Joins the body and its notes, each note in brackets on its own line.
pub(crate) fn with_notes(mut body: String, notes: &[String]) -> String {
    while body.ends_with('\n') {
        body.pop();
    }
    if !notes.is_empty() {
        body.push_str("\n\n");
        for note in notes {
            body.push('[');
            body.push_str(&note_text(note));
            body.push_str("]\n");
        }
        body.pop();
    }
    body.push('\n');
    body
}

/// A note in one line and within its bound, but for a cursor, which is worth nothing when it is cut.
fn note_text(note: &str) -> String {
    let text = sanitize(note).replace('\n', " ");
    if note.starts_with(MORE) { text } else { clip(&text, limits::NOTE_BYTES) }
}

/// Bytes that the notes will take.
pub(crate) fn notes_bytes(notes: &[String]) -> usize {
    notes.iter().map(|note| note_text(note).len() + 3).sum::<usize>() + 2
}
