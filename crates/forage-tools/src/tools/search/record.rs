//! The records of `Search`, in the shape of the requirement (FR-LS-04), which is that of `rg --json`.

use forage_fs::RelPath;
use forage_search::{SearchEvent, Span};
use schemars::JsonSchema;
use serde::Serialize;

use crate::border::Border;
use crate::lines::{event_text, is_zero, kind_name};

/// A line that matches, or one of its context.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SearchRecord {
    /// `match` or `context`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The line.
    pub data: SearchData,
}

/// What `rg --json` has as `data`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SearchData {
    /// The file, below the root.
    pub path: SearchText,
    /// From 1.
    pub line_number: u64,
    /// The line without its line feed.
    pub lines: SearchText,
    /// Where in the line's bytes the matches are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submatches: Vec<Submatch>,
    /// Edits of the best match in the line; fuzzy searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
    /// Bytes that are left out in front of the line.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_before: usize,
    /// Bytes that are left out behind it.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_after: usize,
}

/// A text that may not be UTF-8.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SearchText {
    /// As UTF-8.
    pub text: String,
    /// In base64, where `text` is not all of it: it quotes, writes out or has U+FFFD for what is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
}

/// A match within a line.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Submatch {
    /// The first byte of the match in the line.
    pub start: usize,
    /// The byte behind it.
    pub end: usize,
    /// Edits of this match; fuzzy searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
}

impl SearchText {
    /// A path.
    pub(super) fn of(path: &RelPath, border: &mut Border<'_>) -> Self {
        let (text, bytes) = border.path(path);
        Self { text, bytes }
    }
}

impl SearchRecord {
    /// A line of the file with this path.
    pub(super) fn new(path: &SearchText, event: &SearchEvent, fuzzy: bool) -> Self {
        let (text, bytes) = event_text(event);
        let submatch = |span: &Span| Submatch {
            start: span.start,
            end: span.end,
            distance: fuzzy.then_some(span.distance),
        };
        let data = SearchData {
            path: path.clone(),
            line_number: event.line_number,
            lines: SearchText { text, bytes },
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
pub(super) fn least_distance(event: &SearchEvent) -> Option<u8> {
    event.spans.iter().map(|span| span.distance).min()
}
