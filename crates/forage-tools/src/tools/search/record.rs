//! The records of `Search`, in the shape of the requirement (FR-LS-04), which is that of `rg --json`.

use forage_fs::RelPath;
use forage_search::{Event, Span};
use schemars::JsonSchema;
use serde::Serialize;

use crate::border::Border;
use crate::lines::{event_text, is_zero, kind_name};

/// A line that matches, or one of its context.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Record {
    #[serde(rename = "type")]
    pub(super) kind: &'static str,
    pub(super) data: Data,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct Data {
    pub(super) path: Text,
    pub(super) line_number: u64,
    pub(super) lines: Text,
    /// Where in the line's bytes the matches are.
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

#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct Text {
    pub(super) text: String,
    /// In base64, where `text` is not all of it: it quotes, writes out or has U+FFFD for what is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

#[derive(Clone, Debug, JsonSchema, Serialize)]
struct Submatch {
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<u8>,
}

impl Text {
    /// A path.
    pub(super) fn of(path: &RelPath, border: &mut Border<'_>) -> Self {
        let (text, bytes) = border.path(path);
        Self { text, bytes }
    }
}

impl Record {
    /// A line of the file with this path.
    pub(super) fn new(path: &Text, event: &Event, fuzzy: bool) -> Self {
        let (text, bytes) = event_text(event);
        let submatch = |span: &Span| Submatch {
            start: span.start,
            end: span.end,
            distance: fuzzy.then_some(span.distance),
        };
        let data = Data {
            path: path.clone(),
            line_number: event.line_number,
            lines: Text { text, bytes },
            submatches: event.spans.iter().map(submatch).collect(),
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
