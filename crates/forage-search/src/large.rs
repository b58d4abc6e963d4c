//! Searches files that are too large to be read whole: `grep-searcher` reads the confined handle in bounded
//! pieces.

use std::io::{self, Read};
use std::ops::Range;

use forage_base::Stop;
use forage_fs::{SkipReason, Skipped};
use forage_redact::KeyBlocks;
use grep_matcher::{LineMatchKind, LineTerminator, Match, Matcher, NoCaptures, NoError};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::event::EventKind;
use crate::limits;
use crate::lines::MatchingLines;

/// Receives the lines of a large file: 1-based number, offset, kind, and bytes with line feed. Returning
/// false ends the search.
pub(crate) trait LineSink {
    fn line(&mut self, number: u64, start: u64, kind: EventKind, line: &[u8]) -> bool;
}

/// Searches the decoded `text`. Returns false if it contains a NUL byte. The file is then counted as binary,
/// and the caller must discard its results, as for a file that is read whole.
///
/// Note that a line longer than a piece ends the search. We keep the results before it and count the file
/// with this reason. Private key blocks in the part that was read are added to `keys`.
#[must_use]
pub(crate) fn search_reader(
    matcher: &impl Matcher,
    text: impl Read,
    context: (usize, usize),
    stop: &Stop,
    skipped: &mut Skipped,
    sink: &mut impl LineSink,
    mut keys: Option<&mut KeyBlocks>,
) -> bool {
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(context.0)
        .after_context(context.1)
        .binary_detection(BinaryDetection::quit(0))
        // The text is already decoded.
        .bom_sniffing(false)
        .heap_limit(Some(limits::PIECE_BYTES))
        .build();
    let mut adapter = Adapter { sink, binary: false };
    let watched = InterruptibleText { text, stop, keys: keys.as_deref_mut() };
    let result = searcher.search_reader(matcher, watched, &mut adapter);
    keys.into_iter().for_each(KeyBlocks::end);
    if adapter.binary {
        skipped.add(SkipReason::Binary);
        return false;
    }
    if let Err(error) = result
        && stop.check().is_none()
    {
        // `grep-searcher` reports a line beyond its heap limit by this message only, without an error kind.
        let too_long = error.to_string().contains("allocation limit");
        skipped.add(if too_long { SkipReason::LineTooLong } else { SkipReason::Unreadable });
    }
    true
}

/// Adapts our own line search to `grep-searcher`; each match is a whole line. This search has prefilters that
/// a plain matcher lacks, and large files are where they save the most.
#[derive(Debug)]
pub(crate) struct LineMatcher<'a, L>(pub(crate) &'a L, pub(crate) &'a Stop);

impl<L: MatchingLines> LineMatcher<'_, L> {
    /// Returns the first matching line at or after `at`, which must be the start of a line.
    pub(crate) fn next_line(&self, text: &[u8], at: usize) -> Option<Range<usize>> {
        // We search in growing steps. Each search restarts after the previous match, and looks for characters
        // that rule out the prefilter. Doing this in all of the remaining text each time would waste work.
        let (mut start, mut step) = (at, 1 << 12);
        let mut line = None;
        // If the call is stopped, the reader stops too, so an interrupted text is not mistaken for one
        // without a match.
        while line.is_none() && start < text.len() && self.1.check().is_none() {
            let least = text.len().min(start + step);
            let end = memchr::memchr(b'\n', &text[least..]).map_or(text.len(), |feed| least + feed + 1);
            self.0.each(&text[start..end], self.1, |found| {
                line = Some(start + found.start..start + found.end);
                false
            });
            (start, step) = (end, limits::BYTES_PER_CHECK.min(2 * step));
        }
        line
    }
}

impl<L: MatchingLines> Matcher for LineMatcher<'_, L> {
    type Captures = NoCaptures;
    type Error = NoError;

    fn find_at(&self, text: &[u8], at: usize) -> Result<Option<Match>, NoError> {
        Ok(self.next_line(text, at).map(|line| Match::new(line.start, line.end)))
    }

    fn new_captures(&self) -> Result<NoCaptures, NoError> {
        Ok(NoCaptures::new())
    }

    fn line_terminator(&self) -> Option<LineTerminator> {
        Some(LineTerminator::byte(b'\n'))
    }

    fn find_candidate_line(&self, text: &[u8]) -> Result<Option<LineMatchKind>, NoError> {
        Ok(self.next_line(text, 0).map(|line| LineMatchKind::Confirmed(line.start)))
    }
}

/// A reader that returns an error when the call must stop, and that looks for private keys in the text.
struct InterruptibleText<'a, R> {
    text: R,
    stop: &'a Stop,
    keys: Option<&'a mut KeyBlocks>,
}

impl<R: Read> Read for InterruptibleText<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.check().is_some() {
            // We can't use `Interrupted`, because callers retry after that.
            return Err(io::Error::other("stopped"));
        }
        let read = self.text.read(buffer)?;
        if let Some(keys) = &mut self.keys {
            keys.feed(&buffer[..read]);
        }
        Ok(read)
    }
}

struct Adapter<'a, S> {
    sink: &'a mut S,
    binary: bool,
}

impl<S: LineSink> Sink for Adapter<'_, S> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(self.sink.line(
            found.line_number().unwrap_or(0),
            found.absolute_byte_offset(),
            EventKind::Match,
            found.bytes(),
        ))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.sink.line(
            line.line_number().unwrap_or(0),
            line.absolute_byte_offset(),
            EventKind::Context,
            line.bytes(),
        ))
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
