//! Pieces of text answers that all tools share.

use std::ops::Range;

use forage_fs::{RelPath, Root, display_path};
use forage_search::shown_part;

use crate::limits;
use crate::noise;
use crate::outcome::{Limit, ToolOutcome};
use crate::sanitize::{path_bytes, sanitize, sanitize_line};

/// `1 file`, `2 files`.
pub(crate) fn count(n: u64, singular: &str) -> String {
    let n_of = grouped(n);
    match singular {
        _ if n == 1 => format!("{n_of} {singular}"),
        _ if singular.ends_with("match") => format!("{n_of} {singular}es"),
        "entry" => format!("{n_of} entries"),
        "directory" => format!("{n_of} directories"),
        _ => format!("{n_of} {singular}s"),
    }
}

/// `12,345`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The absolute path of a file, in the form that reads back to the same file.
pub(crate) fn absolute(root: &Root, path: &RelPath) -> String {
    let mut bytes = root.path().as_os_str().as_encoded_bytes().to_vec();
    if !path.is_root() {
        if bytes.last() != Some(&b'/') {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(path.as_bytes());
    }
    display_path(&bytes).into_owned()
}

/// The bytes of the path below the root in base64, where [`absolute`] quotes them.
pub(crate) fn absolute_bytes(root: &Root, path: &RelPath) -> Option<String> {
    (absolute(root, path).starts_with('"')).then(|| path_bytes(path)).flatten()
}

/// A term or pattern that the caller sent, quoted in an answer.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", sanitize_line(&clip(text, limits::QUOTED_BYTES)))
}

/// The notes that end an answer: what was cut, what was not searched, what went wrong. They come last and only we
/// write them.
pub(crate) fn notes<R>(outcome: &ToolOutcome<R>, searched: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    match outcome.truncated_by {
        Some(Limit::Timeout) => notes.push("stopped at the time limit: the results are partial".to_owned()),
        Some(Limit::Engine) => notes.push("the engine failed on the way: the results are partial".to_owned()),
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
        notes.push(format!("{MORE}{cursor}\""));
    }
    notes
}

/// What stands in front of a cursor.
pub(crate) const MORE: &str = "more results: repeat the call with cursor=\"";

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
    if note.contains("cursor=") { text } else { clip(&text, limits::NOTE_BYTES) }
}

/// Bytes that the notes will take.
pub(crate) fn notes_bytes(notes: &[String]) -> usize {
    notes.iter().map(|note| note_text(note).len() + 3).sum::<usize>() + 2
}

/// The beginning of a line of at most `most` characters as a reader sees them, with a mark where it is cut.
pub(crate) fn clip_line(line: &str, most: usize) -> String {
    around_place(line, most, None)
}

/// The part of a line around a place in it, likewise.
pub(crate) fn around_place(line: &str, most: usize, place: Option<&Range<usize>>) -> String {
    let part = shown_part(line.as_bytes(), most, place);
    let mark = |is_cut: bool| if is_cut { "…" } else { "" };
    format!("{}{}{}", mark(part.start > 0), &line[part.clone()], mark(part.end < line.len()))
}

/// Cuts text to at most `limit` bytes on a character border, with a mark.
pub fn clip(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{}…", &text[..end])
}
