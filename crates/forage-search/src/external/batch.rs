//! Concatenates the texts of many files and maps matching lines back to the files.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
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

/// Texts of several files, concatenated in path order.
#[derive(Debug, Default)]
pub(super) struct FileBatch {
    text: Vec<u8>,
    files: Vec<BatchPart>,
}

#[derive(Debug)]
struct BatchPart {
    path: RelPath,
    hidden_by: Option<Arc<str>>,
    detected: Option<&'static str>,
    is_stored_notebook: bool,
    /// The range of the file's text, without the line feed that is appended to an unterminated last line.
    text: Range<usize>,
}

/// Results for a batch, or for one file that was searched alone.
#[derive(Debug, Default)]
pub(super) struct BatchMatches {
    pub(super) files: Vec<FileEvents>,
    pub(super) skipped: Skipped,
    pub(super) notes: Notes,
    /// True if the text after the last line found was not searched.
    pub(super) cut: bool,
    /// Files that were searched to their end.
    pub(super) searched: u64,
}

pub(super) type BatchOutcome = Result<BatchMatches, ExternalError>;

impl BatchMatches {
    /// Adds the counts and notes of the next batch in path order. Returns its files instead of storing them.
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

    pub(super) fn push(
        &mut self,
        path: RelPath,
        (hidden_by, detected, is_stored_notebook): (Option<Arc<str>>, Option<&'static str>, bool),
        text: &[u8],
    ) {
        let start = self.text.len();
        self.text.extend_from_slice(text);
        let end = self.text.len();
        // Without this line feed we would join the first line of the next file to the last line of this one.
        if text.last().is_some_and(|&byte| byte != b'\n') {
            self.text.push(b'\n');
        }
        self.files.push(BatchPart { path, hidden_by, detected, is_stored_notebook, text: start..end });
    }

    pub(super) fn search(
        &self,
        engine: &ExternalEngine<'_>,
        finder: Option<&LineFinder<'_>>,
        options: &ScanOptions,
        halt: ProcessHalt<'_>,
    ) -> BatchOutcome {
        let mut found = BatchMatches::default();
        let mut starts = VecDeque::new();
        found.cut = self.lines_of(0..self.files.len(), engine, halt, &mut starts, &mut found.notes)?;
        // Everything before the last reported line was searched.
        let last = if found.cut { starts.back().copied() } else { Some(u64::MAX) };
        let is_behind = |last: u64| self.files.partition_point(|part| part.text.start as u64 <= last);
        let searched = last.map_or(0, |last| is_behind(last) - usize::from(found.cut));
        found.searched = searched as u64;
        let lines = KnownLines { starts: starts.into(), ..KnownLines::default() };
        for part in &self.files {
            if !lines.seek(&part.text) {
                continue;
            }
            if finder.is_some_and(LineFinder::is_cut) {
                break;
            }
            let text = &self.text[part.text.clone()];
            // The matching lines are known and little work is left, so we must not discard them if the
            // deadline passes now.
            let events = search_text(&lines, finder, &part.path, text, options, &Stop::never());
            let Some(mut file) = events else { continue };
            if last.is_some_and(|last| last < part.text.end as u64) {
                // Lines after the last known match may match too, so we must not report them as context.
                let last = file.events.iter().rposition(|event| event.kind == EventKind::Match);
                file.events.truncate(last.map_or(0, |last| last + 1));
            }
            // Like the embedded engine, we check for NUL bytes only in files with matches.
            if is_binary(text) {
                found.skipped.add(SkipReason::Binary);
                continue;
            }
            (file.hidden_by, file.detected) = (part.hidden_by.clone(), part.detected);
            file.is_stored_notebook = part.is_stored_notebook;
            found.files.push(file);
        }
        found.cut |= finder.is_some_and(LineFinder::is_cut);
        Ok(found)
    }

    /// Finds the matching lines of a run of files. Returns true if the search had to end within it. If the
    /// engine gives up, we search the files by halves so that only the problematic file loses results.
    fn lines_of(
        &self,
        files: Range<usize>,
        engine: &ExternalEngine<'_>,
        halt: ProcessHalt<'_>,
        starts: &mut VecDeque<u64>,
        notes: &mut Notes,
    ) -> Result<bool, ExternalError> {
        let Some(first) = self.files.get(files.start) else { return Ok(false) };
        let end = self.files.get(files.end).map_or(self.text.len(), |next| next.text.start);
        let searched = engine.search(&self.text[first.text.start..end], halt, notes)?;
        if searched.gave_up && files.len() > 1 {
            let middle = files.start + files.len() / 2;
            return Ok(self.lines_of(files.start..middle, engine, halt, starts, notes)?
                || self.lines_of(middle..files.end, engine, halt, starts, notes)?);
        }
        if searched.gave_up {
            engine.give_up(&first.path.display(), notes)?;
        }
        starts.extend(searched.starts.into_iter().map(|start| first.text.start as u64 + start));
        Ok(searched.halted)
    }
}

/// Known matching lines of a text. Each part of the text is requested once, in order.
#[derive(Default)]
pub(super) struct KnownLines {
    /// The offset in the text at which each line begins.
    pub(super) starts: RefCell<VecDeque<u64>>,
    /// The start of the next part.
    position: Cell<u64>,
}

impl KnownLines {
    /// Advances to a part of the text. Returns true if it contains a known line.
    fn seek(&self, stretch: &Range<usize>) -> bool {
        let mut starts = self.starts.borrow_mut();
        while starts.pop_front_if(|start| *start < stretch.start as u64).is_some() {}
        self.position.set(stretch.start as u64);
        starts.front().is_some_and(|start| *start < stretch.end as u64)
    }
}

impl MatchingLines for KnownLines {
    fn each(&self, text: &[u8], _: &Stop, mut found: impl FnMut(Range<usize>) -> bool) {
        let position = self.position.get();
        let mut end = text.len();
        let is_in_text = |start: &mut u64| *start < position + text.len() as u64;
        while let Some(start) = self.starts.borrow_mut().pop_front_if(is_in_text) {
            let start = (start - position) as usize;
            let line = start..memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |feed| start + feed);
            let next = text.len().min(line.end + 1);
            if !found(line) {
                end = next;
                break;
            }
        }
        self.position.set(position + end as u64);
    }
}
