//! What a search keeps of each file.

use std::sync::Arc;

use forage_fs::RelPath;

use crate::index::Index;
use crate::limits;

/// The options of a scan: what it keeps of each file, and its limits.
#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// Lines of context before a match.
    pub before_context: usize,
    /// Lines of context after a match.
    pub after_context: usize,
    /// Bytes of a line; longer ones are cut around the first match. `None` keeps them whole.
    pub line_bytes: Option<usize>,
    /// Matching lines of one file.
    pub max_file_matches: usize,
    /// Bytes of a file; larger ones are counted and left out. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// Look for the lines that do not match.
    pub invert: bool,
    /// Count matching lines only; no events are kept.
    pub count_only: bool,
    /// For answers out of which secrets are taken: this many lines around what is asked for come as
    /// [`EventKind::Margin`](crate::EventKind::Margin), since a line alone may not show that it has one, and events tell what of them lies in a
    /// private key of the file. `None` for neither.
    pub margin: Option<usize>,
    /// Places of matches kept per line.
    pub max_spans: usize,
    /// The place where an earlier answer ended, behind which this one begins.
    pub after: Option<Delivered>,
    /// Tells files that can't match without reading them.
    pub index: Option<Arc<Index>>,
    /// Whether all there is is looked for, so that the index is worth being waited for.
    pub exhaustive: bool,
}

/// The place where an earlier answer ended: the file, and the lines of it that the answer had.
#[derive(Clone, Debug)]
pub enum Delivered {
    /// All matching lines up to this number, with their context: neither comes again.
    Matches(RelPath, u64),
    /// All lines up to this number: the rest of the last one's context comes.
    Lines(RelPath, u64),
}

impl ScanOptions {
    /// Lines before and after a match that events are made of.
    pub(crate) fn around(&self) -> (usize, usize) {
        let margin = self.margin.unwrap_or(0);
        (self.before_context.max(margin), self.after_context.max(margin))
    }

    /// The last matching line of a file that an earlier answer had with its context; 0 for none.
    pub(crate) fn matches_delivered(&self, path: &RelPath) -> u64 {
        match &self.after {
            Some(Delivered::Matches(place, line)) if place == path => *line,
            _ => 0,
        }
    }

    /// The last line of a file that an earlier answer had; 0 for none.
    pub(crate) fn lines_delivered(&self, path: &RelPath) -> u64 {
        match &self.after {
            Some(Delivered::Lines(place, line)) if place == path => *line,
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
            exhaustive: false,
        }
    }
}
