//! Search results: one stream of events, ordered by file, that all tools share.

use std::ops::Range;

use forage_fs::RelPath;

use crate::shown_part::shown_part;

/// The role of a line in a search result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The line matches.
    Match,
    /// The line is context of a matching line.
    Context,
    /// The line is beyond the requested context; see [`crate::ScanOptions::margin`].
    Margin,
}

/// A match within a line, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: usize,
    /// The offset after the last byte.
    pub end: usize,
    /// The edit distance between the text and the pattern; 0 unless the search is fuzzy.
    pub distance: u8,
}

/// The number of bytes removed from each end of a long line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutLine {
    /// Bytes removed before the part that is kept.
    pub before: usize,
    /// Bytes removed after the part that is kept.
    pub after: usize,
}

/// One line of a search result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchEvent {
    /// The line number, counted from 1.
    pub line_number: u64,
    /// The role of the line.
    pub kind: EventKind,
    /// The line, including its line feed if it has one and was not cut; not always UTF-8.
    pub bytes: Vec<u8>,
    /// The matches within `bytes`; empty for context.
    pub spans: Vec<Span>,
    /// The bytes removed by a limit on line length.
    pub cut: CutLine,
    /// The ranges of `bytes` that belong to a private key block, even if the block begins on another line;
    /// filled only with [`crate::ScanOptions::margin`].
    pub in_key: Vec<Range<usize>>,
}

impl SearchEvent {
    /// The edit distance of the best match in the line.
    #[must_use]
    pub fn least_distance(&self) -> Option<u8> {
        self.spans.iter().map(|span| span.distance).min()
    }

    /// Estimates the memory size in bytes.
    pub(crate) fn weight(&self) -> usize {
        // The allocator adds up to sixteen bytes to each of these two lists. We don't count `in_key`, which
        // is nearly always empty.
        let spans = self.spans.capacity() * size_of::<Span>();
        size_of::<Self>() + self.bytes.capacity() + spans + 32
    }

    /// Cuts the line to `max` characters around its first match, or its best match if the search is fuzzy.
    pub fn shorten(&mut self, max: usize) {
        let line = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        let best = self.spans.iter().min_by_key(|span| (span.distance, span.start));
        let part = shown_part(line, max, best.map(|span| span.start..span.end).as_ref());
        if part.len() < line.len() {
            self.keep(part);
        }
    }

    /// Cuts the line to a range of its bytes.
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

/// The events of one file, in line order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEvents {
    /// The path relative to the root.
    pub path: RelPath,
    /// The matching lines and their context.
    pub events: Vec<SearchEvent>,
    /// The number of matching lines in `events`. A search that only counts has this number but no events.
    pub matches: u64,
    /// True if a per-file limit cut the events. In this case there is at least one more matching line.
    pub more: bool,
    /// The reason why the file is not searched by default. This is only set if hidden files were requested
    /// together with their reasons.
    pub hidden_by: Option<std::sync::Arc<str>>,
    /// The detected encoding, unless the text is UTF-8 or has a byte-order mark.
    pub detected: Option<&'static str>,
    /// True if the file is a notebook and some lines of its cells were searched in their stored form.
    pub is_stored_notebook: bool,
}

impl FileEvents {
    /// Estimates the memory size in bytes.
    pub(crate) fn weight(&self) -> usize {
        self.events.iter().map(SearchEvent::weight).sum::<usize>() + size_of::<Self>()
    }
}

/// Counts the bytes of the word that `bytes` begins with, where a word consists of characters that occur in
/// secrets. For example, a cut line may begin with half of such a word. If the word is longer than `max`, it
/// is too long for a secret, and this returns `max`.
pub fn word_bytes<'b>(bytes: impl Iterator<Item = &'b u8>, max: usize) -> usize {
    let is_word = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+/=_-.~%".contains(byte);
    bytes.take(max).take_while(is_word).count()
}
