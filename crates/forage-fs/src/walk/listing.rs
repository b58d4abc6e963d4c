//! The result of a walk in its order, which can be traversed again without reading the directories.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Mutex, PoisonError};

use super::cached_listing::{CachedFile, CachedListing, ListingPart};
use super::entry::{Entry, FoundEntry, visit_all};
use super::frontier::{self, WalkFrontier};
use super::list::{reason_of_link, reason_of_link_by};
use super::{EntryKind, WalkOptions, WalkReport, WalkStep};
use crate::limits;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::skipped::{SkipReason, Skipped};
use crate::state::FileState;
use forage_base::Stop;

/// The files of a tree, numbered in the order in which a walk from its root visits them, with the counts of
/// that walk.
#[derive(Debug)]
pub struct FileListing {
    root: Arc<Root>,
    pieces: Vec<ListingPiece>,
    /// The number of the first file of each piece, followed by the total.
    firsts: Vec<u32>,
    /// The pieces that list a directory and count something.
    counted: Vec<(usize, Skipped)>,
    /// The range of pieces of each directory and its descendants, in path order.
    directories: Vec<Range<usize>>,
    /// Links that depend on directories outside of the listing, with the reason under which they are counted.
    links: Vec<(RelPath, SkipReason)>,
}

/// The part of a listing that corresponds to one task of a walk.
#[derive(Debug)]
struct ListingPiece {
    directory: Arc<CachedListing>,
    /// The index of the part whose files are visited; `None` if the directory is listed.
    batch: Option<usize>,
}

impl ListingPiece {
    fn files(&self) -> &[CachedFile] {
        match self.batch.map(|part| &self.directory.parts[part]) {
            Some(ListingPart::Files(files)) => files,
            _ => &[],
        }
    }

    fn key(&self) -> frontier::Key {
        match self.files().first() {
            Some(file) => (self.directory.path.join(&file.name), false),
            None => (self.directory.path.clone(), true),
        }
    }
}

/// A selection of the files of a listing. Each set is a bitmap of file numbers, 64 bits per word.
#[derive(Clone, Debug, Default)]
pub struct ListingFilter {
    /// Files to visit.
    pub visited: Vec<u64>,
    /// Files to count as left out instead. No file may be in two of these sets.
    pub skipped: Vec<(SkipReason, Vec<u64>)>,
}

impl FileListing {
    /// Numbers the files below `top`. Returns `None` if resolving all links would take too long.
    pub(super) fn new(root: &Arc<Root>, top: &Arc<CachedListing>) -> Option<Self> {
        let mut listing = Self {
            root: Arc::clone(root),
            pieces: Vec::new(),
            firsts: vec![0],
            counted: Vec::new(),
            directories: Vec::new(),
            links: Vec::new(),
        };
        listing.add(top);
        listing.count().then_some(listing)
    }

    fn add(&mut self, directory: &Arc<CachedListing>) {
        let (number, start) = (self.directories.len(), self.pieces.len());
        self.directories.push(start..start);
        self.add_piece(directory, None);
        for (index, part) in directory.parts.iter().enumerate() {
            match part {
                ListingPart::Files(_) => self.add_piece(directory, Some(index)),
                ListingPart::Directory(below) => self.add(below),
            }
        }
        self.directories[number].end = self.pieces.len();
    }

    fn add_piece(&mut self, directory: &Arc<CachedListing>, batch: Option<usize>) {
        let piece = ListingPiece { directory: Arc::clone(directory), batch };
        self.firsts.push(self.files() + piece.files().len() as u32);
        self.pieces.push(piece);
    }

    /// Fills in the counts of the listed directories. Returns false if resolving all links would take too
    /// long.
    fn count(&mut self) -> bool {
        let mut names = 0;
        for pieces in &self.directories {
            let directory = &self.pieces[pieces.start].directory;
            let mut skipped = directory.skipped;
            for link in &directory.links {
                let mut is_told = true;
                let mut consulted = |path: &RelPath| {
                    is_told &= self.directory(path).is_some();
                    names += 1;
                };
                let reason = reason_of_link_by(&self.root, link, &mut consulted);
                skipped.add(reason);
                if names > limits::LISTED_LINK_NAMES {
                    return false;
                }
                if !is_told {
                    self.links.push((link.clone(), reason));
                }
            }
            if !skipped.is_empty() {
                self.counted.push((pieces.start, skipped));
            }
        }
        true
    }

    /// Finds the pieces of a directory and its descendants.
    fn directory(&self, path: &RelPath) -> Option<Range<usize>> {
        let directory = |pieces: &Range<usize>| &self.pieces[pieces.start].directory.path;
        let found = self.directories.binary_search_by(|pieces| directory(pieces).cmp(path)).ok()?;
        Some(self.directories[found].clone())
    }

    /// Returns true if the links still lead to the same places. We must check this because there are no
    /// notifications from directories outside of the listing.
    pub(super) fn links_are_the_same(&self) -> bool {
        self.links.iter().all(|(link, reason)| reason_of_link(&self.root, link) == *reason)
    }

    /// Returns the number of files.
    pub fn files(&self) -> u32 {
        self.firsts.last().copied().unwrap_or(0)
    }

    /// Returns the numbers of the files of a piece.
    fn numbers(&self, piece: usize) -> Range<u32> {
        self.firsts[piece]..self.firsts[piece + 1]
    }

    /// Calls `give` for every file in order, with its path, its state if known, and true if a walk without
    /// [`WalkOptions::label_hidden`] leaves it out.
    pub fn for_each(&self, mut give: impl FnMut(&[u8], Option<FileState>, bool)) {
        let mut path = Vec::new();
        for piece in &self.pieces {
            path.clear();
            path.extend(piece.directory.path.as_bytes());
            if !path.is_empty() {
                path.push(b'/');
            }
            let directory = path.len();
            for file in piece.files() {
                path.truncate(directory);
                path.extend(&*file.name);
                give(&path, file.state, file.hidden_by.is_some());
            }
        }
    }

    /// Returns the number of directories and files whose states are compared.
    pub(super) fn entries(&self) -> usize {
        self.directories.len() + self.files() as usize
    }

    /// Finds the directories that have changed since they were listed. The flag is true if their rules may
    /// have changed too.
    pub(super) fn outdated(&self, threads: usize, stop: &Stop) -> Vec<(RelPath, bool)> {
        let of_some = |directories: &[Range<usize>]| {
            let directories = directories.iter().map(|pieces| &self.pieces[pieces.start].directory);
            directories
                .take_while(|_| stop.check().is_none())
                .filter_map(|directory| Some((directory.path.clone(), directory.outdated(&self.root)?)))
                .collect::<Vec<_>>()
        };
        if threads < 2 || self.entries() <= limits::COMPARED_ALWAYS {
            return of_some(&self.directories);
        }
        // More pieces than threads, because some take much longer than others.
        let at_once = self.directories.len().div_ceil(threads * limits::COMPARED_PIECES).max(1);
        let pieces = Mutex::new(self.directories.chunks(at_once));
        let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
        let compare = || std::iter::from_fn(next).flat_map(of_some).collect::<Vec<_>>();
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(compare)).collect();
            let mut outdated = compare();
            for other in others {
                // A panicked thread has not reported its part.
                outdated.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            outdated
        })
    }

    /// Selects the part of the listing that begins at `start`. Returns `None` if this is not a listed
    /// directory, or if a walk from there would give another result.
    pub fn below(&self, start: &RelPath) -> Option<Subtree<'_>> {
        let pieces = self.directory(start)?;
        self.pieces[pieces.start].directory.is_start().then_some(Subtree { listing: self, pieces })
    }
}

/// Number of tasks created at once.
const TASKS_AT_ONCE: usize = 64;

/// The work of a task that traverses a listing.
#[derive(Debug)]
enum ListingWork {
    /// Process these pieces. Only the last one has files to visit, or it is the end of the listing.
    Stretch(Range<usize>),
    /// Visit the files of a piece from this number on. The results of the earlier ones weigh too much for one
    /// task.
    Files(usize, u32),
    /// Create the next tasks, starting with this piece.
    Rest(usize),
}

/// A directory of a listing and everything below it.
#[derive(Clone, Debug)]
pub struct Subtree<'a> {
    listing: &'a FileListing,
    pieces: Range<usize>,
}

impl Subtree<'_> {
    /// Walks like [`super::walk`] with the options of the listing, but visits only the files in `chosen`.
    /// Only threads and progress are taken from `options`.
    pub fn walk<W, T: Send>(
        &self,
        options: &WalkOptions,
        chosen: &ListingFilter,
        stop: &Stop,
        worker: impl Fn() -> W + Sync,
        visit: impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> WalkStep<T> + Sync,
        receive: impl FnMut(T) -> ControlFlow<()> + Send,
    ) -> WalkReport {
        let run = |state: &mut W, task: frontier::WalkTask<ListingWork>| match task.work {
            ListingWork::Rest(start) => frontier::TaskOutput {
                tasks: self.next_tasks(start, chosen),
                ..frontier::TaskOutput::default()
            },
            ListingWork::Stretch(pieces) => {
                self.run(pieces, options, chosen, stop, |entry, skipped| visit(state, entry, skipped))
            }
            ListingWork::Files(piece, from) => {
                let (mut done, visit) =
                    (frontier::TaskOutput::default(), |entry: &Entry<'_>, skipped: &mut Skipped| {
                        visit(state, entry, skipped)
                    });
                self.visit(piece, from, chosen, stop, &mut done, visit);
                done
            }
        };
        let first = self.rest(self.pieces.start);
        WalkFrontier::new(first.into_iter().collect(), receive).run(options.thread_count(), stop, worker, run)
    }

    /// Creates a task that will create the remaining tasks when they are needed, because some searches end
    /// after a few.
    fn rest(&self, start: usize) -> Option<frontier::WalkTask<ListingWork>> {
        let key = || self.listing.pieces[start].key();
        (start < self.pieces.end).then(|| frontier::WalkTask { key: key(), work: ListingWork::Rest(start) })
    }

    fn next_tasks(&self, start: usize, chosen: &ListingFilter) -> Vec<frontier::WalkTask<ListingWork>> {
        let mut tasks = Vec::new();
        let mut after = start;
        for piece in start..self.pieces.end {
            // Pieces without chosen files join the next stretch, so they need no task of their own.
            if piece + 1 == self.pieces.end || has_any(&chosen.visited, &self.listing.numbers(piece)) {
                let key = self.listing.pieces[piece].key();
                tasks.push(frontier::WalkTask { key, work: ListingWork::Stretch(after..piece + 1) });
                after = piece + 1;
            }
            if tasks.len() >= TASKS_AT_ONCE {
                break;
            }
        }
        tasks.extend(self.rest(after));
        tasks
    }

    fn run<T>(
        &self,
        stretch: Range<usize>,
        options: &WalkOptions,
        chosen: &ListingFilter,
        stop: &Stop,
        visit: impl FnMut(&Entry<'_>, &mut Skipped) -> WalkStep<T>,
    ) -> frontier::TaskOutput<T, ListingWork> {
        let mut done = frontier::TaskOutput::default();
        let FileListing { pieces, counted, .. } = self.listing;
        let first = counted.partition_point(|(piece, _)| *piece < stretch.start);
        for (piece, skipped) in counted[first..].iter().take_while(|(piece, _)| *piece < stretch.end) {
            done.skipped.merge(skipped);
            done.hiding.note(&pieces[*piece].directory.path, skipped);
            done.pruned.extend(pieces[*piece].directory.pruned.iter().cloned());
        }
        let numbers = self.listing.numbers(stretch.end - 1);
        let all = self.listing.firsts[stretch.start]..numbers.end;
        for (reason, files) in &chosen.skipped {
            done.skipped.add_many(*reason, count(files, &all));
        }
        options.report_progress(all.len());
        // Visited files are counted when they are visited.
        done.visited = u64::from(all.end - all.start) - count(&chosen.visited, &all);
        self.visit(stretch.end - 1, numbers.start, chosen, stop, &mut done, visit);
        done
    }

    /// Visits the chosen files of a piece from a number on. The last task is for the rest, if any.
    fn visit<T>(
        &self,
        piece: usize,
        from: u32,
        chosen: &ListingFilter,
        stop: &Stop,
        done: &mut frontier::TaskOutput<T, ListingWork>,
        visit: impl FnMut(&Entry<'_>, &mut Skipped) -> WalkStep<T>,
    ) {
        let files = self.listing.pieces[piece].files();
        let directory = &self.listing.pieces[piece].directory;
        let is_wanted = |number: &u32| *number >= from && is_in(&chosen.visited, *number);
        let mut wanted = self.listing.numbers(piece).zip(files).filter(|(number, _)| is_wanted(number)).map(
            |(number, file)| FoundEntry {
                path: directory.path.join(&file.name),
                kind: EntryKind::File,
                real: None,
                hidden_by: file.hidden_by.clone(),
                number: Some(number),
            },
        );
        visit_all(&self.listing.root, &mut wanted, stop, done, visit);
        if done.stopped.is_none()
            && let Some(FoundEntry { path, number: Some(number), .. }) = wanted.next()
        {
            let work = ListingWork::Files(piece, number);
            done.tasks.push(frontier::WalkTask { key: (path, false), work });
        }
    }
}

fn is_in(set: &[u64], number: u32) -> bool {
    set.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
}

/// Iterates over the words of a set with these numbers, with all other bits cleared.
fn words<'a>(set: &'a [u64], numbers: &Range<u32>) -> impl Iterator<Item = u64> + 'a {
    let (start, end) = (numbers.start as usize, numbers.end as usize);
    let first = start / 64;
    let last = end.div_ceil(64).min(set.len()).max(first.min(set.len()));
    set[first.min(set.len())..last].iter().enumerate().map(move |(index, word)| {
        let at = (first + index) * 64;
        let from = if at < start { u64::MAX << (start - at) } else { u64::MAX };
        let to = if at + 64 > end { u64::MAX >> (at + 64 - end) } else { u64::MAX };
        word & from & to
    })
}

fn has_any(set: &[u64], numbers: &Range<u32>) -> bool {
    !numbers.is_empty() && words(set, numbers).any(|word| word != 0)
}

fn count(set: &[u64], numbers: &Range<u32>) -> u64 {
    if numbers.is_empty() {
        return 0;
    }
    words(set, numbers).map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn counts_bits_within_range(set in prop::collection::vec(any::<u64>(), 0..4), a in 0..300_u32, b in 0..300_u32) {
            let numbers = a.min(b)..a.max(b);
            let naive = numbers.clone().filter(|number| is_in(&set, *number)).count() as u64;
            prop_assert_eq!(count(&set, &numbers), naive);
            prop_assert_eq!(has_any(&set, &numbers), naive > 0);
        }
    }
}
