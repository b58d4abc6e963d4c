//! Reads chosen files a second time to collect lines that were only counted before.

use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_base::{Stop, in_threads};
use forage_fs::{Contents, DecodedText, Encoding, OpenedFile, ReadBuffer, RelPath, Root, decode_head};

use super::account::FileEvidence;
use super::file::{CollectLimits, LineSelection, TermFinder};
use crate::limits;
use crate::pattern::Pattern;

/// The parameters of reading files again.
pub(super) struct SecondPass<'a> {
    pub(super) root: &'a Arc<Root>,
    pub(super) start: &'a RelPath,
    pub(super) patterns: &'a [Option<Pattern>],
    pub(super) gathering: CollectLimits,
    pub(super) max_file_bytes: Option<u64>,
    pub(super) threads: usize,
    pub(super) stop: &'a Stop,
}

impl SecondPass<'_> {
    /// Reads the best lines for `terms` of several files, in their order. `selection` must return the
    /// selection for the file at an index. We leave out files that are gone or no longer match, and
    /// everything after the deadline. Returns `None` if time ran out before any file was read.
    pub(super) fn read<'w>(
        &self,
        paths: &[RelPath],
        terms: u64,
        selection: impl Fn(usize) -> LineSelection<'w> + Sync,
    ) -> Option<Vec<FileEvidence>> {
        let next = AtomicUsize::new(0);
        let work = || {
            let mut finder = TermFinder::new(self.patterns, terms, self.start, self.gathering, self.stop);
            let (mut buffer, mut read) = (ReadBuffer::default(), Vec::new());
            while self.stop.check().is_none() {
                let places = next_places(&next, paths.len());
                if places.is_empty() {
                    break;
                }
                for place in places {
                    let file = self.one(&mut finder, &mut buffer, &paths[place], &selection(place));
                    read.extend(file.map(|file| (place, file)));
                }
            }
            read
        };
        let threads = self.threads.min(paths.len().div_ceil(FILES_AT_ONCE)).max(1);
        let mut read: Vec<(usize, FileEvidence)> = in_threads(threads, work).into_iter().flatten().collect();
        read.sort_by_key(|(place, _)| *place);
        let is_over = read.is_empty() && !paths.is_empty() && self.stop.check().is_some();
        (!is_over).then(|| read.into_iter().map(|(_, file)| file).collect())
    }

    fn one(
        &self,
        finder: &mut TermFinder<'_>,
        buffer: &mut ReadBuffer,
        path: &RelPath,
        selection: &LineSelection<'_>,
    ) -> Option<FileEvidence> {
        let (mut file, contents) = reopen(self.root, path, self.max_file_bytes, buffer)?;
        match contents {
            Contents::Whole => match decode_head(buffer) {
                DecodedText::Binary => None,
                DecodedText::Text { bytes, .. } => finder.best(path, &bytes, selection, self.stop),
            },
            Contents::TooLarge => {
                let raw = Read::chain(&buffer[..], file.reader());
                let mut reader = Encoding::detect(buffer).reader(raw);
                finder.best_of_pieces(path, &mut reader, selection, self.stop)
            }
        }
    }
}

/// Opens a chosen file and reads as much as may be held in memory. Returns `None` if this file is gone or
/// exceeds the limit.
pub(super) fn reopen(
    root: &Root,
    path: &RelPath,
    max_file_bytes: Option<u64>,
    buffer: &mut ReadBuffer,
) -> Option<(OpenedFile, Contents)> {
    let mut file = root.open_file(path).ok()?;
    if max_file_bytes.is_some_and(|limit| file.size() > limit) {
        return None;
    }
    let contents = file.read_into(buffer, limits::WHOLE_FILE_BYTES).ok()?;
    Some((file, contents))
}

/// Number of files that a thread takes at once.
const FILES_AT_ONCE: usize = 16;

fn next_places(next: &AtomicUsize, all: usize) -> Range<usize> {
    let first = next.fetch_add(FILES_AT_ONCE, Ordering::Relaxed).min(all);
    first..(first + FILES_AT_ONCE).min(all)
}
