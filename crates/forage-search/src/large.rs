//! Files too large to be read whole: `grep-searcher` over the confined handle, in bounded pieces.

use std::io::{self, Read};

use forage_fs::{SkipReason, Skipped, Stop};
use grep_matcher::Matcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use crate::event::EventKind;
use crate::limits;

/// Receives the lines of a large file: number from 1, kind, bytes with line feed. False ends the search.
pub(crate) trait LineSink {
    fn line(&mut self, number: u64, kind: EventKind, line: &[u8]) -> bool;
}

/// Searches `reader`. False when a NUL byte was met: the file is counted as binary, and what was found before is to
/// be forgotten, as in a file that is read whole. What was found before a line longer than a piece stays found, and
/// the file is counted with that reason.
#[must_use]
pub(crate) fn search_reader(
    matcher: &impl Matcher,
    reader: impl Read,
    context: (usize, usize),
    stop: &Stop,
    skipped: &mut Skipped,
    sink: &mut impl LineSink,
) -> bool {
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .before_context(context.0)
        .after_context(context.1)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(limits::PIECE_BYTES))
        .build();
    let mut adapter = Adapter { sink, binary: false };
    let result = searcher.search_reader(matcher, Stoppable { reader, stop }, &mut adapter);
    if adapter.binary {
        skipped.add(SkipReason::Binary);
        return false;
    }
    if let Err(error) = result
        && stop.check().is_none()
    {
        let too_long = error.to_string().contains("allocation limit");
        skipped.add(if too_long { SkipReason::LineTooLong } else { SkipReason::Unreadable });
    }
    true
}

struct Stoppable<'a, R> {
    reader: R,
    stop: &'a Stop,
}

impl<R: Read> Read for Stoppable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.stop.check() {
            // Not `Interrupted`, which callers take for a reason to try again.
            Some(_) => Err(io::Error::other("stopped")),
            None => self.reader.read(buffer),
        }
    }
}

struct Adapter<'a, S> {
    sink: &'a mut S,
    binary: bool,
}

impl<S: LineSink> Sink for Adapter<'_, S> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        Ok(self.sink.line(found.line_number().unwrap_or(0), EventKind::Match, found.bytes()))
    }

    fn context(&mut self, _: &Searcher, line: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.sink.line(line.line_number().unwrap_or(0), EventKind::Context, line.bytes()))
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> io::Result<()> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
