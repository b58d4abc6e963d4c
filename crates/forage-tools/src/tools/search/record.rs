//! The records of `Search`. Requirement FR-LS-04 demands the format of `rg --json`.

use forage_search::{SearchEvent, Span};
use schemars::JsonSchema;
use serde::Serialize;

use super::super::line_search::FoundFile;
use crate::lines::{event_text, is_zero, kind_name};

/// A matching line, or a context line.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SearchRecord {
    /// `match` or `context`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The line.
    pub data: SearchData,
}

/// Like `data` of `rg --json`.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SearchData {
    /// The file, below the root.
    pub path: SearchText,
    /// From 1.
    pub line_number: u64,
    /// The line without its line feed.
    pub lines: SearchText,
    /// Byte ranges of the matches in the line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub submatches: Vec<Submatch>,
    /// Edits of the best match in the line; fuzzy searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
    /// Number of bytes cut from the start of the line.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_before: usize,
    /// Bytes that were cut after the line.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_after: usize,
}

/// A text that may not be UTF-8.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct SearchText {
    /// As UTF-8.
    pub text: String,
    /// The bytes in base64, if `text` differs from them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
}

/// A match within a line.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub struct Submatch {
    /// The first byte of the match in the line.
    pub start: usize,
    /// The byte after the match.
    pub end: usize,
    /// Edits of this match; fuzzy searches only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<u8>,
}

impl SearchRecord {
    pub(super) fn from_file(file: &FoundFile, is_fuzzy: bool) -> Vec<Self> {
        let path = SearchText { text: file.path.clone(), bytes: file.path_bytes.clone() };
        file.events.iter().map(|event| Self::new(&path, event, is_fuzzy)).collect()
    }

    fn new(path: &SearchText, event: &SearchEvent, is_fuzzy: bool) -> Self {
        let (text, bytes) = event_text(event);
        let submatch = |span: &Span| Submatch {
            start: span.start,
            end: span.end,
            distance: is_fuzzy.then_some(span.distance),
        };
        let data = SearchData {
            path: path.clone(),
            line_number: event.line_number,
            lines: SearchText { text, bytes },
            submatches: event.spans.iter().map(submatch).collect(),
            distance: event.least_distance().filter(|_| is_fuzzy),
            cut_before: event.cut.before,
            cut_after: event.cut.after,
        };
        Self { kind: kind_name(event.kind), data }
    }

    pub(super) fn is_match(&self) -> bool {
        self.kind == "match"
    }
}
