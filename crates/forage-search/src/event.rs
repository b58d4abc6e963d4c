//! What a search finds: one stream of events, file by file, for all tools.

use std::ops::Range;

use forage_fs::RelPath;

use crate::shown_part::shown_part;

/// The role of a line in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It matches.
    Match,
    /// It stands near a line that does.
    Context,
    /// It was not asked for: a line beyond the context, with [`crate::ScanOptions::margin`].
    Margin,
}

/// A place in a line that the pattern matches, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its first byte.
    pub start: usize,
    /// The byte behind its last one.
    pub end: usize,
    /// Edits between its text and what the pattern describes; 0 unless the search is fuzzy.
    pub distance: u8,
}

/// Bytes taken off a long line, at each end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutLine {
    /// Bytes before the part that is kept.
    pub before: usize,
    /// Bytes after it.
    pub after: usize,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchEvent {
    /// Counted from 1.
    pub line_number: u64,
    /// Match or context.
    pub kind: EventKind,
    /// The line with its line feed, if it has one and was not cut; not always UTF-8.
    pub bytes: Vec<u8>,
    /// The places in `bytes` that the pattern matches; empty for context.
    pub spans: Vec<Span>,
    /// The bytes that a limit on line length took off.
    pub cut: CutLine,
    /// The parts of `bytes` that lie in a block of a private key, wherever in the file that begins; known with
    /// [`crate::ScanOptions::margin`].
    pub in_key: Vec<Range<usize>>,
}

impl SearchEvent {
    /// Returns the edits of the best match in the line.
    #[must_use]
    pub fn least_distance(&self) -> Option<u8> {
        self.spans.iter().map(|span| span.distance).min()
    }

    /// Cuts a line to a number of characters around its first match, or its best one.
    pub fn shorten(&mut self, most: usize) {
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let best = self.spans.iter().min_by_key(|span| (span.distance, span.start));
        let part = shown_part(line, most, best.map(|span| span.start..span.end).as_ref());
        if part.len() < line.len() {
            self.keep(part);
        }
    }

    /// Cuts a line to a part of its bytes.
    pub fn keep(&mut self, part: Range<usize>) {
        if part.len() == self.bytes.len() {
            return;
        }
        let length = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes).len();
        self.cut.before += part.start;
        self.cut.after += length.saturating_sub(part.end);
        let within = |start: &mut usize, end: &mut usize| {
            let is_within =
                *start < part.end && (*end > part.start || (start == end && *start >= part.start));
            *start = (*start).clamp(part.start, part.end) - part.start;
            *end = (*end).clamp(part.start, part.end) - part.start;
            is_within
        };
        self.spans.retain_mut(|span| within(&mut span.start, &mut span.end));
        self.in_key.retain_mut(|key| within(&mut key.start, &mut key.end));
        self.bytes = self.bytes[part.clone()].to_vec();
    }
}

/// The events of one file in line order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEvents {
    /// Path below the root.
    pub path: RelPath,
    /// Matching lines and their context.
    pub events: Vec<SearchEvent>,
    /// Matching lines in `events`.
    pub matches: u64,
    /// A limit per file cut the events short: there is at least one more matching line.
    pub more: bool,
    /// The reason for which the file is not searched by default, when hidden files were asked for with their reason.
    pub hidden_by: Option<std::sync::Arc<str>>,
    /// The encoding that was detected, unless the text is UTF-8 or has a byte-order mark.
    pub detected: Option<&'static str>,
    /// The file is a notebook, and some lines of its cells were searched as they are stored.
    pub is_stored_notebook: bool,
}

impl FileEvents {
    /// Bytes that this holds, about.
    pub(crate) fn weight(&self) -> usize {
        self.events.iter().map(|event| event.bytes.len() + size_of::<SearchEvent>()).sum::<usize>()
            + size_of::<Self>()
    }
}

/// Returns the bytes of the word that these begin with, in the characters that secrets are written in: where a line is cut, it
/// may be the half of one. Of a word that is too long for a secret it is `most`.
pub fn word_bytes<'b>(bytes: impl Iterator<Item = &'b u8>, most: usize) -> usize {
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=_-.~%".contains(byte);
    bytes.take(most).take_while(is_word).count()
}
