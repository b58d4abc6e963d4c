//! The notes at the end of a text answer.

use std::ops::RangeInclusive;

use crate::limits;
use crate::noise;
use crate::outcome::{Limit, ToolOutcome};
use crate::output_redactor;
use crate::sanitize::sanitize;
use crate::text::{clip, count};

/// Collects the notes about truncation, skipped files and problems. They must come last, and only we write
/// them.
pub(crate) fn notes<R>(outcome: &ToolOutcome<R>, searched: Option<u64>) -> Vec<String> {
    let ending = ending(outcome).into_iter();
    ending.chain(not_searched(outcome, searched)).chain(other_notes(outcome)).collect()
}

/// Collects the same notes in two groups: those about files that were not searched, and all others.
pub(crate) fn notes_in_groups<R>(outcome: &ToolOutcome<R>) -> (Vec<String>, Vec<String>) {
    (not_searched(outcome, None), ending(outcome).into_iter().chain(other_notes(outcome)).collect())
}

/// Builds the note about a call that ended early.
fn ending<R>(outcome: &ToolOutcome<R>) -> Option<String> {
    let why = match outcome.truncated_by? {
        Limit::Timeout => "stopped at the time limit",
        Limit::Engine => "the engine failed",
        Limit::Root => "a root could not be searched",
        Limit::Cancelled => "cancelled",
        _ => return None,
    };
    Some(format!("{why}: the results are partial"))
}

/// Builds the notes about the files that were searched and those that were not.
fn not_searched<R>(outcome: &ToolOutcome<R>, searched: Option<u64>) -> Vec<String> {
    let mut notes = Vec::new();
    if !outcome.skipped.is_empty() {
        let searched =
            searched.map(|files| format!("searched {}; ", count(files, "file"))).unwrap_or_default();
        notes.push(format!("{searched}not searched: {}", outcome.skipped));
    } else if let Some(files) = searched {
        notes.push(format!("searched {}", count(files, "file")));
    }
    let names = &outcome.names;
    let how = match outcome.included_by {
        Some(template) => names.fill(template),
        None => names.search_of_noise().map(|search| format!("{search} searches them")).unwrap_or_default(),
    };
    notes.extend(noise::note(&outcome.noise_directories, &how));
    notes
}

fn other_notes<R>(outcome: &ToolOutcome<R>) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(output_redactor::note(&outcome.hidden));
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
        notes.push(format!("{MORE}{}", outcome.names.continuation(cursor)));
    }
    notes
}

/// Finds the largest number of items that fits into an answer, or the start of the range if none does. If
/// `fits` is true for a number, it must be true for all smaller ones.
pub(crate) fn max_that_fits(counts: RangeInclusive<usize>, fits: impl Fn(usize) -> bool) -> usize {
    let (mut least, all) = counts.into_inner();
    if all <= least || fits(all) {
        return all;
    }
    let mut max = all - 1;
    while least < max {
        let middle = least + (max - least).div_ceil(2);
        if fits(middle) { least = middle } else { max = middle - 1 }
    }
    least
}

/// The prefix of the note about how to continue.
pub(crate) const MORE: &str = "more results: ";

/// Joins the body and its notes, with each note in brackets on its own line.
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

/// Formats a note as one line of limited length. We never cut a note with a cursor, because a truncated
/// cursor is useless.
fn note_text(note: &str) -> String {
    let text = sanitize(note).replace('\n', " ");
    if note.starts_with(MORE) { text } else { clip(&text, limits::NOTE_BYTES) }
}

/// Number of bytes that the notes will take.
pub(crate) fn notes_bytes(notes: &[String]) -> usize {
    // Each note has two brackets and a line feed. An empty line separates the notes from the body.
    notes.iter().map(|note| note_text(note).len() + 3).sum::<usize>() + 2
}
