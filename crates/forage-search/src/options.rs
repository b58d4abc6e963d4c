//! Options of a search.

use std::sync::Arc;

use forage_fs::RelPath;

use crate::index::Index;
use crate::limits;
use crate::stored::StoredTexts;

/// Options of a scan: which lines to keep of each file, and its limits.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// Lines of context before a match.
    pub before_context: usize,
    /// Lines of context after a match.
    pub after_context: usize,
    /// Maximum length of a line in bytes; longer ones are cut around the first match. `None` keeps them
    /// whole.
    pub line_bytes: Option<usize>,
    /// Maximum number of matching lines per file.
    pub max_file_matches: usize,
    /// Maximum size of a file in bytes; larger ones are skipped and counted. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// Find the lines that do not match.
    pub invert: bool,
    /// Only count matching lines; no events are kept.
    pub count_only: bool,
    /// For answers that will be redacted: report this many lines around the requested ones as
    /// [`EventKind::Margin`](crate::EventKind::Margin). A line alone may not show that it contains a secret.
    /// Events also report which of their bytes belong to a private key block. `None` disables both.
    pub margin: Option<usize>,
    /// Maximum number of matches kept per line.
    pub max_spans: usize,
    /// The position at which an earlier answer ended and this one continues.
    pub after: Option<ResumePoint>,
    /// An index that rules out files without reading them.
    pub index: Option<Arc<Index>>,
    /// Search these texts in place of the files of the tree.
    pub stored: Option<Arc<dyn StoredTexts>>,
    /// Whether all results are wanted. If so, it pays to wait for the index.
    pub exhaustive: bool,
}

/// The position at which an earlier answer ended: a file, and the lines of it that the answer contained.
#[derive(Clone, Debug)]
pub enum ResumePoint {
    /// All matching lines up to this number with their context; neither is repeated.
    Matches(RelPath, u64),
    /// All lines up to this number; the rest of the last match's context follows.
    Lines(RelPath, u64),
}

impl ScanOptions {
    /// Computes how many lines before and after a match become events.
    pub(crate) fn around(&self) -> (usize, usize) {
        let margin = self.margin.unwrap_or(0);
        (self.before_context.max(margin), self.after_context.max(margin))
    }

    /// The last matching line of a file that an earlier answer contained with its context; 0 if there is
    /// none.
    pub(crate) fn matches_delivered(&self, path: &RelPath) -> u64 {
        match &self.after {
            Some(ResumePoint::Matches(place, line)) if place == path => *line,
            _ => 0,
        }
    }

    /// The last line of a file that an earlier answer contained; 0 if there is none.
    pub(crate) fn lines_delivered(&self, path: &RelPath) -> u64 {
        match &self.after {
            Some(ResumePoint::Lines(place, line)) if place == path => *line,
            _ => 0,
        }
    }
}

impl Default for ScanOptions {
    fn default() -> Self {
        Self {
            before_context: 0,
            after_context: 0,
            line_bytes: None,
            max_file_matches: limits::FILE_MATCHES,
            max_file_bytes: None,
            invert: false,
            count_only: false,
            margin: None,
            max_spans: limits::LINE_SPANS,
            after: None,
            index: None,
            stored: None,
            exhaustive: false,
        }
    }
}
