//! Searches files that are too large to be read whole. This is the embedded engine's piecewise search with
//! the external engine's lines. The engine must search each block of whole lines before the next block is
//! read.

use std::io::{self, Read};

use forage_base::Stop;
use forage_fs::{Entry, RelPath, Skipped};

use super::ExternalError;
use super::batch::{BatchMatches, BatchOutcome, KnownLines};
use super::engine::{ExternalEngine, Notes};
use super::process::ProcessHalt;
use crate::limits;
use crate::lines::LineFinder;
use crate::options::ScanOptions;
use crate::scan::search_pieces;

/// Searches a large file whose text comes from `reader`.
pub(super) fn search_large(
    engine: &ExternalEngine<'_>,
    finder: Option<&LineFinder<'_>>,
    entry: &Entry<'_>,
    reader: &mut dyn Read,
    options: &ScanOptions,
    halt: ProcessHalt<'_>,
    skipped: &mut Skipped,
) -> BatchOutcome {
    let lines = KnownLines::default();
    let mut blocks = BlockReader {
        engine,
        path: &entry.path,
        halt,
        reader,
        lines: &lines,
        start: 0,
        block: Vec::new(),
        served: 0,
        known: 0,
        notes: Notes::default(),
        halted: false,
        error: None,
    };
    // The deadline ends the text after the last known line; the lines before it are part of the answer.
    let never = Stop::never();
    let file = search_pieces(&lines, finder, &mut blocks, &entry.path, options, &never, skipped);
    if let Some(error) = blocks.error {
        return Err(error);
    }
    let cut = blocks.halted || finder.is_some_and(LineFinder::is_cut);
    let mut files = Vec::from_iter(file);
    files.iter_mut().for_each(|file| file.hidden_by = entry.hidden_by.clone());
    let skipped = Skipped::default();
    Ok(BatchMatches { files, skipped, notes: blocks.notes, cut, searched: u64::from(!cut) })
}

/// Reads a text block by block and searches each block before passing on its bytes.
struct BlockReader<'a, 'e, R> {
    engine: &'a ExternalEngine<'e>,
    path: &'a RelPath,
    halt: ProcessHalt<'a>,
    reader: R,
    lines: &'a KnownLines,
    /// The offset of the block in the whole text.
    start: u64,
    /// The block, followed by the beginning of the next line.
    block: Vec<u8>,
    /// Bytes of the block that were passed on.
    served: usize,
    /// Bytes of the block whose matching lines are known.
    known: usize,
    notes: Notes,
    halted: bool,
    error: Option<ExternalError>,
}

impl<R: Read> Read for BlockReader<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.served == self.known && !self.halted && self.error.is_none() {
            let end = self.fill()?;
            self.error = self.search(end).err();
        }
        let read = (&self.block[self.served..self.known]).read(buffer)?;
        self.served += read;
        Ok(read)
    }
}

impl<R: Read> BlockReader<'_, '_, R> {
    /// Reads the next block and returns its end. The block ends after a line or at the end of the text. It
    /// may also end within a line that is too long for a piecewise search, which then ends there.
    fn fill(&mut self) -> io::Result<usize> {
        self.block.drain(..self.known);
        self.start += self.known as u64;
        (self.served, self.known) = (0, 0);
        let mut limit = limits::EXTERNAL_BATCH_BYTES;
        loop {
            let room = limit.saturating_sub(self.block.len()) as u64;
            self.reader.by_ref().take(room).read_to_end(&mut self.block)?;
            let feed = memchr::memrchr(b'\n', &self.block);
            match feed {
                _ if self.block.len() < limit => return Ok(self.block.len()),
                Some(feed) => return Ok(feed + 1),
                None if limit >= limits::PIECE_BYTES => return Ok(self.block.len()),
                None => limit = limits::PIECE_BYTES,
            }
        }
    }

    /// Searches the block, which ends at `end`.
    fn search(&mut self, end: usize) -> Result<(), ExternalError> {
        if end == 0 {
            return Ok(());
        }
        let has_feed = self.block[end - 1] == b'\n';
        if !has_feed {
            self.block.push(b'\n');
        }
        let text = &self.block[..end + usize::from(!has_feed)];
        let searched = self.engine.search(text, self.halt, &mut self.notes)?;
        if searched.gave_up {
            self.engine.give_up(&self.path.display(), &mut self.notes)?;
        }
        // After a halt, we pass on the text only up to the last line found, because later lines are unknown.
        self.known = if searched.halted { 0 } else { end };
        for start in searched.starts {
            let line = start as usize;
            let feed = memchr::memchr(b'\n', &text[line..]).map_or(end, |feed| line + feed + 1);
            self.known = self.known.max(end.min(feed));
            self.lines.starts.borrow_mut().push_back(self.start + start);
        }
        // A block without a final line feed extends to the end of the buffer, so ours is the last byte.
        self.block.truncate(self.block.len() - usize::from(!has_feed));
        self.halted = searched.halted;
        Ok(())
    }
}
