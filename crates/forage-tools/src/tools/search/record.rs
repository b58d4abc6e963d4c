//! The records of `Search`, in the shape of the requirement (FR-LS-04), which is that of `rg --json`.

use forage_fs::RelPath;
use forage_search::Event;
use serde::Serialize;

use crate::lines::{is_zero, kind_name, text_and_spans};

/// A line that matches, or one of its context.
#[derive(Clone, Debug, Serialize)]
pub struct Record {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) data: Data,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Data {
    pub(super) path: Text,
    pub(super) line_number: u64,
    pub(super) lines: Text,
    /// Where in the text the matches are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    submatches: Vec<Submatch>,
    /// Edits of the best match in the line; fuzzy searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) distance: Option<u8>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cut_before: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cut_after: usize,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Text {
    pub(super) text: String,
}

#[derive(Clone, Debug, Serialize)]
struct Submatch {
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<u8>,
}

impl Record {
    pub(super) fn new(path: &RelPath, event: &Event, fuzzy: bool) -> Self {
        let (text, spans) = text_and_spans(event);
        let distances = event.spans.iter().map(|span| fuzzy.then_some(span.distance));
        let submatch = |((start, end), distance)| Submatch { start, end, distance };
        let data = Data {
            path: Text { text: path.display().into_owned() },
            line_number: event.line_number,
            lines: Text { text },
            submatches: spans.into_iter().zip(distances).map(submatch).collect(),
            distance: least_distance(event).filter(|_| fuzzy),
            cut_before: event.cut.before,
            cut_after: event.cut.after,
        };
        Self { kind: kind_name(event.kind), data }
    }

    pub(super) fn is_match(&self) -> bool {
        self.kind == "match"
    }
}

/// Edits of the best match in a line.
pub(super) fn least_distance(event: &Event) -> Option<u8> {
    event.spans.iter().map(|span| span.distance).min()
}
