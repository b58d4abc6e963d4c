//! Searches texts that are not files of a tree, for example those of another revision.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::{Stop, map_in_threads};
use forage_fs::{DecodedText, RelPath, SkipReason, Skipped, WalkOptions, WalkReport, decode_head_as};

use crate::event::FileEvents;
use crate::limits;
use crate::lines::LineFinder;
use crate::notebook::is_notebook;
use crate::options::ScanOptions;
use crate::pattern::Pattern;
use crate::scan::{TextSearch as _, search_decoded};

/// Reads a stored text by its number, or returns the reason why it can't be read.
pub type ReadStored<'a> = Box<dyn FnMut(usize) -> Result<Vec<u8>, SkipReason> + 'a>;

/// Texts to search in place of the files of a tree.
pub trait StoredTexts: fmt::Debug + Send + Sync {
    /// The paths of the texts, in path order.
    fn paths(&self) -> &[RelPath];

    /// Creates a reader for one thread.
    fn reader(&self, stop: &Stop) -> ReadStored<'_>;
}

/// Searches stored texts as [`search`](crate::search) searches files. Of the walk options, only `from`,
/// `only`, `globs`, `excludes` and the number of threads apply.
pub(crate) fn search_stored(
    texts: &Arc<dyn StoredTexts>,
    start: &RelPath,
    walk: &WalkOptions,
    pattern: &Pattern,
    options: &ScanOptions,
    stop: &Stop,
    mut receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
) -> WalkReport {
    let is_chosen = |path: &RelPath| {
        let is_after = walk.from.as_ref().is_none_or(|from| path >= from);
        is_after
            && path.starts_with(start)
            && walk.only.as_ref().is_none_or(|only| only.choose(path))
            && walk.globs.as_ref().is_none_or(|globs| globs.choose(path))
            && !walk.excludes.as_ref().is_some_and(|excludes| excludes.leave_out(path))
    };
    let paths = texts.paths();
    let chosen: Vec<usize> = (0..paths.len()).filter(|&number| is_chosen(&paths[number])).collect();
    let mut report = WalkReport::default();
    let threads = pattern.threads(walk.thread_count());
    // We start with small pieces: a caller may soon have enough.
    let mut size = limits::STORED_PIECE / 16;
    let mut rest = chosen.as_slice();
    while !rest.is_empty() {
        let (piece, later) = rest.split_at(rest.len().min(size * threads));
        (rest, size) = (later, (size * 2).min(limits::STORED_PIECE));
        let search = |numbers: &[usize]| {
            let mut read = texts.reader(stop);
            let finder = LineFinder::new(pattern, stop).inverted(options.invert);
            let mut skipped = Skipped::default();
            let found: Vec<Option<FileEvents>> = numbers
                .iter()
                .map_while(|&number| {
                    let found =
                        search_one(&mut read, &finder, (number, &paths[number]), options, stop, &mut skipped);
                    // If the call was stopped, this text was not searched to its end.
                    (stop.check().is_none() || found.is_some()).then_some(found)
                })
                .collect();
            (found, skipped)
        };
        let parts = map_in_threads(piece.chunks(piece.len().div_ceil(threads)), threads, search);
        for (found, skipped) in parts {
            report.skipped.merge(&skipped);
            report.visited_unreadable += skipped.get(SkipReason::Unreadable);
            for found in found {
                report.visited += 1;
                if found.is_some_and(|found| receive(found).is_break()) {
                    report.broke_off = true;
                    return report;
                }
            }
        }
        report.stopped = stop.check();
        if report.stopped.is_some() {
            break;
        }
    }
    report
}

fn search_one(
    read: &mut ReadStored<'_>,
    finder: &LineFinder<'_>,
    (number, path): (usize, &RelPath),
    options: &ScanOptions,
    stop: &Stop,
    skipped: &mut Skipped,
) -> Option<FileEvents> {
    if !finder.begin(path) {
        return None;
    }
    let bytes = match read(number) {
        Ok(bytes) => bytes,
        Err(reason) => {
            skipped.add(reason);
            return None;
        }
    };
    if options.max_file_bytes.is_some_and(|max| bytes.len() as u64 > max) {
        skipped.add(SkipReason::TooLarge);
        return None;
    }
    if !is_notebook(path.as_bytes()) && finder.rules_out(&bytes) {
        return None;
    }
    let encoding = finder.encoding(&bytes);
    let DecodedText::Text { bytes: text, .. } = decode_head_as(&bytes, encoding) else {
        skipped.add(SkipReason::Binary);
        return None;
    };
    search_decoded(finder, path, (&text, encoding), options, stop, skipped)
}
