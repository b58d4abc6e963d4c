//! Builds events with context from the matching lines of a buffer.

use std::ops::Range;

use forage_base::Stop;
use forage_fs::RelPath;
use forage_redact::KeyBlocks;

use crate::event::{CutLine, EventKind, FileEvents, SearchEvent};
use crate::limits;
use crate::lines::{LineFinder, MatchingLines};
use crate::options::ScanOptions;

/// Counts lines incrementally, starting from the last requested position.
#[derive(Debug, Default)]
pub(crate) struct LineCounter {
    position: usize,
    feeds: u64,
}

impl LineCounter {
    /// Computes the 1-based number of the line that begins at `start`, which must not be smaller than in the
    /// previous call.
    pub(crate) fn number(&mut self, text: &[u8], start: usize) -> u64 {
        self.feeds += memchr::memchr_iter(b'\n', &text[self.position..start]).count() as u64;
        self.position = start;
        self.feeds + 1
    }
}

/// Finds the start of the line `count` lines before the one at `start`, but not before `floor`. Also returns
/// the number of lines skipped.
pub(crate) fn lines_before(text: &[u8], start: usize, count: usize, floor: usize) -> (usize, u64) {
    let (mut at, mut up) = (start, 0);
    while at > floor && (up as usize) < count {
        at = memchr::memrchr(b'\n', &text[floor..at - 1]).map_or(floor, |feed| floor + feed + 1);
        up += 1;
    }
    (at, up)
}

/// Extends a line's range by its line feed.
pub(crate) fn with_feed(text: &[u8], line: &Range<usize>) -> Range<usize> {
    line.start..(line.end + 1).min(text.len())
}

/// Builds events from the matching lines of one decoded text. Returns `None` if no line matches. `finder`
/// should locate the matches within a line, if an engine can do this.
pub(crate) fn search_text(
    lines: &impl MatchingLines,
    finder: Option<&LineFinder<'_>>,
    path: &RelPath,
    text: &[u8],
    options: &ScanOptions,
    stop: &Stop,
) -> Option<FileEvents> {
    let mut builder = EventBuilder::new(finder, path, options);
    let (before_context, after_context) = options.around();
    let mut counter = LineCounter::default();
    // The start of the first line without an event yet, its number, and the number of context lines that are
    // still due.
    let (mut next, mut number, mut after) = (0, 1, 0);
    let delivered = options.matches_delivered(path);
    lines.each(text, stop, |line| {
        if delivered > 0 {
            let number = counter.number(text, line.start);
            if number <= delivered {
                // The context of the next match begins after this line at the earliest, but its margin may
                // begin before it.
                let end = with_feed(text, &line).end;
                (next, after) = (lines_before(text, end, options.margin.unwrap_or(0), 0).0, 0);
                return true;
            }
        }
        while after > 0 && next < line.start {
            let context = next..memchr::memchr(b'\n', &text[next..]).map_or(text.len(), |feed| next + feed);
            next = builder.push(number, EventKind::Context, text, &context);
            (number, after) = (number + 1, after - 1);
        }
        // We check this only at the next match, because `more` promises that there is one.
        if builder.is_full() {
            builder.file.more = true;
            return false;
        }
        let line_number = counter.number(text, line.start);
        let (mut start, up) = lines_before(text, line.start, before_context, next);
        number = line_number - up;
        while start < line.start {
            let context =
                start..memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |feed| start + feed);
            start = builder.push(number, EventKind::Context, text, &context);
            number += 1;
        }
        next = builder.push(line_number, EventKind::Match, text, &line);
        (number, after) = (line_number + 1, after_context);
        true
    });
    // After an interrupted search, later lines may match too, so we must not report them as context.
    let complete = after == 0 || stop.check().is_none();
    while complete && after > 0 && next < text.len() && !builder.file.more {
        let context = next..memchr::memchr(b'\n', &text[next..]).map_or(text.len(), |feed| next + feed);
        next = builder.push(number, EventKind::Context, text, &context);
        (number, after) = (number + 1, after - 1);
    }
    let keys = match options.margin {
        Some(_) if !builder.file.events.is_empty() => KeyBlocks::from_text(text),
        _ => KeyBlocks::default(),
    };
    builder.finish(&keys)
}

/// Like [`search_text`], for a search without context and a text whose matching lines are all in `passages`.
/// Each passage consists of whole lines and carries the number of line feeds before it.
pub(crate) fn search_passages<'t>(
    finder: &LineFinder<'_>,
    path: &RelPath,
    passages: impl Iterator<Item = (&'t [u8], u64)>,
    options: &ScanOptions,
    stop: &Stop,
) -> Option<FileEvents> {
    let mut builder = EventBuilder::new(Some(finder), path, options);
    for (text, feeds) in passages {
        let mut counter = LineCounter { position: 0, feeds };
        finder.each(text, stop, |line| {
            if builder.is_full() {
                builder.file.more = true;
                return false;
            }
            let number = counter.number(text, line.start);
            builder.push(number, EventKind::Match, text, &line);
            true
        });
        if builder.file.more || stop.check().is_some() {
            break;
        }
    }
    builder.finish(&KeyBlocks::default())
}

/// Collects the events of one file under the limits of a search.
pub(crate) struct EventBuilder<'a> {
    finder: Option<&'a LineFinder<'a>>,
    options: &'a ScanOptions,
    /// The last line that an earlier answer contained.
    delivered: u64,
    /// The last matching line that an earlier answer contained, if known.
    delivered_match: u64,
    /// The offset in the text at which each event's line begins; filled only with a margin.
    starts: Vec<u64>,
    bytes: usize,
    spans: usize,
    pub(crate) file: FileEvents,
}

impl<'a> EventBuilder<'a> {
    pub(crate) fn new(finder: Option<&'a LineFinder<'a>>, path: &RelPath, options: &'a ScanOptions) -> Self {
        let file = FileEvents {
            path: path.clone(),
            events: Vec::new(),
            matches: 0,
            more: false,
            hidden_by: None,
            detected: None,
            is_stored_notebook: false,
        };
        let delivered = options.lines_delivered(path);
        Self { finder, options, delivered, delivered_match: 0, starts: Vec::new(), bytes: 0, spans: 0, file }
    }

    /// Returns true if another matching line would exceed a limit.
    pub(crate) fn is_full(&self) -> bool {
        self.file.matches as usize >= self.options.max_file_matches
            || self.bytes >= limits::FILE_EVENT_BYTES
            || self.spans >= limits::FILE_SPANS
    }

    /// Adds a line and returns the start of the next one.
    fn push(&mut self, line_number: u64, kind: EventKind, text: &[u8], line: &Range<usize>) -> usize {
        let whole = with_feed(text, line);
        let next = whole.end;
        self.push_line(line_number, line.start as u64, kind, &text[whole], line.len());
        next
    }

    /// Adds a line, including its line feed if it has one, that begins at offset `start` of the file's text.
    pub(crate) fn push_whole(&mut self, line_number: u64, start: u64, kind: EventKind, line: &[u8]) {
        let length = line.strip_suffix(b"\n").unwrap_or(line).len();
        self.push_line(line_number, start, kind, line, length);
    }

    /// Adds a line whose text without line feed is `line[..length]`.
    fn push_line(&mut self, line_number: u64, start: u64, kind: EventKind, line: &[u8], length: usize) {
        // If some matches of a line are unknown, we must not add later lines.
        if self.finder.is_some_and(LineFinder::is_cut) {
            return;
        }
        let mut kind = kind;
        if line_number <= self.delivered {
            if kind == EventKind::Match {
                self.delivered_match = line_number;
            }
            if self.options.margin.is_none_or(|margin| line_number + margin as u64 <= self.delivered) {
                return;
            }
            kind = EventKind::Margin;
        }
        let is_match = kind == EventKind::Match;
        if self.options.count_only {
            self.file.matches += u64::from(is_match);
            return;
        }
        let text = &line[..length];
        let kept = match self.options.line_bytes {
            Some(limit) if length > limit => {
                let first = self.finder.filter(|_| is_match).and_then(|finder| finder.first_span(text));
                keep(text, limit, first.as_ref())
            }
            _ => 0..line.len(),
        };
        let cut = match kept.len() == line.len() {
            true => CutLine::default(),
            false => CutLine { before: kept.start, after: length - kept.end },
        };
        let mut spans = match self.finder {
            Some(finder) if is_match => {
                finder.spans(text, &(kept.start..kept.end.min(length)), self.options.max_spans)
            }
            _ => Vec::new(),
        };
        // A long line keeps the matches found so far. We leave a short one to the next request, which will
        // find all of them.
        if is_match && self.finder.is_some_and(|finder| finder.is_cut() && !finder.may_take_long(length)) {
            return;
        }
        self.file.matches += u64::from(is_match);
        // Like ripgrep, we report an empty match after the last character only before a line feed.
        if line.len() == length {
            spans.retain(|span| span.start < kept.len());
        }
        self.bytes += kept.len() + size_of::<SearchEvent>();
        self.spans += spans.len();
        let bytes = line[kept].to_vec();
        self.file.events.push(SearchEvent { line_number, kind, bytes, spans, cut, in_key: Vec::new() });
        if self.options.margin.is_some() {
            self.starts.push(start);
        }
    }

    /// Removes the context of the next match, which is not kept.
    pub(crate) fn drop_context_of_next(&mut self) {
        let events = &mut self.file.events;
        if let Some(last) = events.iter().rposition(|event| event.kind == EventKind::Match) {
            let end = events[last].line_number.saturating_add(self.options.around().1 as u64);
            let kept = last + events[last..].partition_point(|event| event.line_number <= end);
            events.truncate(kept);
        }
    }

    /// Completes the file's events. Returns `None` if it has none. `keys` is only used with a margin.
    pub(crate) fn finish(mut self, keys: &KeyBlocks) -> Option<FileEvents> {
        if self.options.margin.is_some() {
            self.mark_margin();
            if !keys.is_empty() {
                self.mark_keys(keys);
            }
            if self.file.events.iter().all(|event| event.kind == EventKind::Margin) && self.file.matches == 0
            {
                return None;
            }
        }
        // An earlier answer may have ended with a match whose remaining context belongs to this answer.
        (self.file.matches > 0 || !self.file.events.is_empty()).then_some(self.file)
    }
}

impl EventBuilder<'_> {
    /// Marks lines beyond the requested context as margin. We can only do this once the position of the next
    /// match is known.
    fn mark_margin(&mut self) {
        let (before, after) = (self.options.before_context as u64, self.options.after_context as u64);
        let delivered = self.delivered.max(self.options.matches_delivered(&self.file.path));
        let mut last = (self.delivered_match > 0).then_some(self.delivered_match);
        for event in &mut self.file.events {
            match event.kind {
                EventKind::Match => last = Some(event.line_number),
                EventKind::Context if last.is_some_and(|last| event.line_number - last <= after) => {}
                EventKind::Context => event.kind = EventKind::Margin,
                EventKind::Margin => {}
            }
        }
        let mut next = None;
        for event in self.file.events.iter_mut().rev() {
            let number = event.line_number;
            match event.kind {
                EventKind::Match => next = Some(number),
                EventKind::Margin
                    if number > delivered && next.is_some_and(|next| next - number <= before) =>
                {
                    event.kind = EventKind::Context;
                }
                EventKind::Context if number <= delivered => event.kind = EventKind::Margin,
                _ => {}
            }
        }
    }

    fn mark_keys(&mut self, keys: &KeyBlocks) {
        for (event, start) in self.file.events.iter_mut().zip(&self.starts) {
            let line = event.bytes.strip_suffix(b"\n").unwrap_or(&event.bytes);
            event.in_key = keys.within(start + event.cut.before as u64, line);
        }
    }
}

/// Chooses the part of a long line to keep: `limit` bytes around its first match, on character boundaries.
fn keep(line: &[u8], limit: usize, span: Option<&Range<usize>>) -> Range<usize> {
    let middle = span.map_or(limit / 2, |span| span.start + span.len().min(limit) / 2);
    let start = middle.saturating_sub(limit / 2).min(line.len() - limit);
    let is_border = |at: usize| line.get(at).is_none_or(|b| b & 0xc0 != 0x80);
    let border = |at: usize| (at..line.len().min(at + 4)).find(|&at| is_border(at)).unwrap_or(at);
    let start = border(start);
    let end = (start..=(start + limit).min(line.len())).rev().find(|&at| is_border(at)).unwrap_or(start);
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_match_of_a_long_line() {
        let line = format!("{}needle{}", "é".repeat(300), "x".repeat(300));
        let span = 600..606;
        let kept = keep(line.as_bytes(), 100, Some(&span));
        assert!(kept.start < 600 && kept.end > 606 && kept.len() <= 100);
        assert!(std::str::from_utf8(&line.as_bytes()[kept]).is_ok());
        assert_eq!(keep(b"abcdef", 4, None), 0..4);
        assert_eq!(keep(b"abcdef", 4, Some(&(5..6))), 2..6);
    }
}
