//! Files too large to be read whole: decoded and numbered by the same reader as in the embedded engine, and given to
//! the external one in pieces of whole lines.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::Arc;

use forage_fs::{RelPath, SkipReason, Skipped};

use super::ExternalError;
use super::batch::BatchMatches;
use super::engine::{ExternalEngine, Notes};
use super::process::ProcessHalt;
use crate::buffer::EventBuilder;
use crate::event::{EventKind, FileEvents};
use crate::key_blocks::KeyBlocks;
use crate::large::{LineSink, search_reader};
use crate::limits;
use crate::lines::LineFinder;
use crate::options::ScanOptions;
use crate::pattern::Pattern;

/// A large file.
pub(super) struct LargeFile<'a> {
    pub(super) path: &'a RelPath,
    pub(super) hidden_by: Option<Arc<str>>,
    /// Matches each line, which makes the reader deliver them all.
    pub(super) every_line: &'a Pattern,
}

impl LargeFile<'_> {
    pub(super) fn search(
        self,
        engine: &ExternalEngine<'_>,
        finder: Option<&LineFinder<'_>>,
        reader: impl Read,
        options: &ScanOptions,
        halt: ProcessHalt<'_>,
        skipped: &mut Skipped,
    ) -> Result<BatchMatches, ExternalError> {
        let mut pieces = LargePieces {
            engine,
            path: self.path,
            options,
            halt,
            piece: Vec::new(),
            first: 1,
            start: 0,
            keys: KeyBlocks::default(),
            before: VecDeque::new(),
            before_bytes: 0,
            after: 0,
            delivered: options.matches_delivered(self.path),
            builder: EventBuilder::new(finder, self.path, options),
            notes: Notes::default(),
            state: State::Reading,
        };
        let is_text =
            search_reader(&self.every_line.matcher(), reader, (0, 0), halt.stop, skipped, &mut pieces, None);
        if is_text && matches!(pieces.state, State::Reading) {
            pieces.flush();
        }
        let cut = match pieces.state {
            State::Failed(error) => return Err(error),
            State::ContextTooLong => {
                skipped.add(SkipReason::LineTooLong);
                false
            }
            State::Halted => true,
            State::Reading | State::Full => halt.stop.check().is_some(),
        };
        pieces.keys.end();
        let file = pieces.builder.finish(&pieces.keys).filter(|_| is_text);
        let files =
            file.into_iter().map(|file| FileEvents { hidden_by: self.hidden_by.clone(), ..file }).collect();
        let searched = u64::from(!cut);
        Ok(BatchMatches { files, skipped: Skipped::default(), notes: pieces.notes, cut, searched })
    }
}

enum State {
    Reading,
    /// A limit on the file is reached.
    Full,
    Halted,
    /// The lines that may become context need more than a piece.
    ContextTooLong,
    Failed(ExternalError),
}

struct LargePieces<'a, 'e> {
    engine: &'a ExternalEngine<'e>,
    path: &'a RelPath,
    options: &'a ScanOptions,
    halt: ProcessHalt<'a>,
    piece: Vec<u8>,
    /// The number of the piece's first line.
    first: u64,
    /// Where it begins in the text.
    start: u64,
    keys: KeyBlocks,
    /// The last lines that are no events yet, with their numbers and places: context of a match that may come.
    before: VecDeque<(u64, u64, Vec<u8>)>,
    before_bytes: usize,
    /// Lines of context that the last match still asks for.
    after: usize,
    /// The last line that an earlier answer had.
    delivered: u64,
    builder: EventBuilder<'a>,
    notes: Notes,
    state: State,
}

impl LineSink for LargePieces<'_, '_> {
    fn line(&mut self, number: u64, start: u64, _: EventKind, line: &[u8]) -> bool {
        if !self.piece.is_empty() && self.piece.len() + line.len() > limits::EXTERNAL_BATCH_BYTES {
            self.flush();
        }
        if self.piece.is_empty() {
            (self.first, self.start) = (number, start);
        }
        if self.options.margin.is_some() {
            self.keys.feed(line);
        }
        self.piece.extend_from_slice(line);
        matches!(self.state, State::Reading)
    }
}

impl LargePieces<'_, '_> {
    /// Searches the piece and makes events of its lines.
    fn flush(&mut self) {
        if self.piece.is_empty() {
            return;
        }
        let mut piece = std::mem::take(&mut self.piece);
        let whole = piece.last() == Some(&b'\n');
        if !whole {
            piece.push(b'\n');
        }
        let searched = match self.engine.search(&piece, self.halt, &mut self.notes) {
            Ok(searched) => searched,
            Err(error) => {
                self.state = State::Failed(error);
                return;
            }
        };
        if searched.gave_up
            && let Err(error) = self.engine.give_up(&self.path.display(), &mut self.notes)
        {
            self.state = State::Failed(error);
            return;
        }
        if !whole {
            piece.pop();
        }
        let last_known = if searched.halted { searched.lines.last().copied().unwrap_or(0) } else { u64::MAX };
        let mut matches = searched.lines.iter().copied().peekable();
        let mut start = self.start;
        for (index, line) in piece.split_inclusive(|&byte| byte == b'\n').enumerate() {
            let index = index as u64 + 1;
            if index > last_known {
                break;
            }
            let is_match = matches.next_if_eq(&index).is_some();
            if !self.take(self.first + index - 1, start, is_match, line) {
                break;
            }
            start += line.len() as u64;
        }
        if searched.halted {
            self.state = State::Halted;
        }
        piece.clear();
        self.piece = piece;
    }

    /// Takes the next line of the file; whether to go on.
    fn take(&mut self, number: u64, start: u64, is_match: bool, line: &[u8]) -> bool {
        if number <= self.delivered {
            return true;
        }
        if is_match {
            if self.builder.is_full() {
                self.builder.file.more = true;
                self.state = State::Full;
                return false;
            }
            for (number, start, line) in self.before.drain(..) {
                self.builder.push_whole(number, start, EventKind::Context, &line);
            }
            self.before_bytes = 0;
            self.builder.push_whole(number, start, EventKind::Match, line);
            self.after = self.options.around().1;
        } else if self.after > 0 {
            self.after -= 1;
            self.builder.push_whole(number, start, EventKind::Context, line);
        } else if self.options.around().0 > 0 {
            if self.before.len() == self.options.around().0
                && let Some((_, _, oldest)) = self.before.pop_front()
            {
                self.before_bytes -= oldest.len();
            }
            self.before_bytes += line.len();
            self.before.push_back((number, start, line.to_vec()));
            if self.before_bytes > limits::PIECE_BYTES {
                self.state = State::ContextTooLong;
                return false;
            }
        }
        true
    }
}
