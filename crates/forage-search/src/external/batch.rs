//! The texts of many files as one, and the way back from its lines to the files.

use std::ops::Range;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{RelPath, SkipReason, Skipped, is_binary};

use super::ExternalError;
use super::engine::{ExternalEngine, Notes};
use super::process::ProcessHalt;
use crate::buffer::search_text;
use crate::event::{EventKind, FileEvents};
use crate::lines::{LineFinder, MatchingLines};
use crate::options::ScanOptions;

/// Texts of files, one after the other in path order.
#[derive(Debug, Default)]
pub(super) struct FileBatch {
    text: Vec<u8>,
    lines: u64,
    files: Vec<BatchPart>,
}

#[derive(Debug)]
struct BatchPart {
    path: RelPath,
    hidden_by: Option<Arc<str>>,
    /// Its text, without the line feed that was added to a last line that had none.
    text: Range<usize>,
    /// Lines before it.
    before: u64,
}

/// What was found in a batch, or in a file searched alone.
#[derive(Debug, Default)]
pub(super) struct BatchMatches {
    pub(super) files: Vec<FileEvents>,
    pub(super) skipped: Skipped,
    pub(super) notes: Notes,
    /// What lies behind the last line found was not searched.
    pub(super) cut: bool,
    /// Files that were searched to their end.
    pub(super) searched: u64,
}

pub(super) type BatchOutcome = Result<BatchMatches, ExternalError>;

impl BatchMatches {
    /// Adds the next batch in path order, except for its files, which are returned.
    pub(super) fn add(&mut self, next: Self) -> Vec<FileEvents> {
        self.searched += next.searched;
        self.skipped.merge(&next.skipped);
        self.notes.merge(next.notes);
        self.cut = next.cut;
        next.files
    }
}

impl FileBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    pub(super) fn push(&mut self, path: RelPath, hidden_by: Option<Arc<str>>, text: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        let end = self.text.len();
        // Else the next file's first line would be a part of this one's last.
        if text.last().is_some_and(|&byte| byte != b'\n') {
            self.text.push(b'\n');
        }
        let before = self.lines;
        self.lines += memchr::memchr_iter(b'\n', &self.text[start..]).count() as u64;
        self.files.push(BatchPart { path, hidden_by, text: start..end, before });
    }

    pub(super) fn search(
        &self,
        engine: &ExternalEngine<'_>,
        finder: Option<&LineFinder<'_>>,
        options: &ScanOptions,
        halt: ProcessHalt<'_>,
    ) -> BatchOutcome {
        let mut found = BatchMatches::default();
        let mut lines = Vec::new();
        found.cut = self.lines_of(0..self.files.len(), engine, halt, &mut lines, &mut found.notes)?;
        let mut lines = lines.as_slice();
        // Before the last line that it wrote there is nothing that it had not come by.
        let last = if found.cut { lines.last().copied() } else { Some(u64::MAX) };
        let is_behind = |last: u64| self.files.partition_point(|part| part.before < last);
        let searched = last.map_or(0, |last| is_behind(last) - usize::from(found.cut));
        found.searched = searched as u64;
        for (index, part) in self.files.iter().enumerate() {
            let end = self.files.get(index + 1).map_or(self.lines, |next| next.before);
            let here = lines.partition_point(|&line| line <= end);
            let (mine, rest) = lines.split_at(here);
            lines = rest;
            if mine.is_empty() {
                continue;
            }
            let text = &self.text[part.text.clone()];
            let given = GivenLines { before: part.before, numbers: mine };
            if finder.is_some_and(LineFinder::is_cut) {
                break;
            }
            // The lines are known: what is left is little, and a deadline that has passed must not cost them.
            let events = search_text(&given, finder, &part.path, text, options, &Stop::never());
            let Some(mut file) = events else { continue };
            if found.cut && lines.is_empty() {
                // Lines behind the last known match may match too: as context they would be called what they are not.
                let last = file.events.iter().rposition(|event| event.kind == EventKind::Match);
                file.events.truncate(last.map_or(0, |last| last + 1));
            }
            // As the embedded engine: looked for only where something was found.
            if is_binary(text) {
                found.skipped.add(SkipReason::Binary);
                continue;
            }
            file.hidden_by = part.hidden_by.clone();
            found.files.push(file);
        }
        found.cut |= finder.is_some_and(LineFinder::is_cut);
        Ok(found)
    }

    /// The matching lines of a run of files; whether the search had to end within it. Where the engine gives up, the
    /// files are searched by halves, so that only the one that it can't cope with is the poorer for it.
    fn lines_of(
        &self,
        files: Range<usize>,
        engine: &ExternalEngine<'_>,
        halt: ProcessHalt<'_>,
        lines: &mut Vec<u64>,
        notes: &mut Notes,
    ) -> Result<bool, ExternalError> {
        let Some(first) = self.files.get(files.start) else { return Ok(false) };
        let end = self.files.get(files.end).map_or(self.text.len(), |next| next.text.start);
        let searched = engine.search(&self.text[first.text.start..end], halt, notes)?;
        if searched.gave_up && files.len() > 1 {
            let middle = files.start + files.len() / 2;
            return Ok(self.lines_of(files.start..middle, engine, halt, lines, notes)?
                || self.lines_of(middle..files.end, engine, halt, lines, notes)?);
        }
        if searched.gave_up {
            engine.give_up(&first.path.display(), notes)?;
        }
        lines.extend(searched.lines.into_iter().map(|line| first.before + line));
        Ok(searched.halted)
    }
}

/// Lines that are known by their numbers.
pub(super) struct GivenLines<'a> {
    /// Lines of the batch before this file.
    pub(super) before: u64,
    pub(super) numbers: &'a [u64],
}

impl MatchingLines for GivenLines<'_> {
    fn each(&self, text: &[u8], stop: &Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        let (mut position, mut at) = (0, 1);
        for &number in self.numbers {
            let number = number - self.before;
            while at < number {
                let Some(feed) = memchr::memchr(b'\n', &text[position..]) else { return };
                (position, at) = (position + feed + 1, at + 1);
            }
            if position >= text.len() || stop.check().is_some() {
                return;
            }
            let end = memchr::memchr(b'\n', &text[position..]).map_or(text.len(), |feed| position + feed);
            if !found(position..end) {
                return;
            }
        }
    }
}
