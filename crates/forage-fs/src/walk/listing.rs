//! What a walk came by, in the order in which it did, so that it can be gone through again without the directories
//! being read.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use super::frontier::{self, Frontier};
use super::list::{Entry, Found, reason_of_link, visit_all};
use super::tree::{Kept, Part};
use super::{EntryKind, Step, WalkOptions, WalkReport};
use crate::file::FileState;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::skipped::{SkipReason, Skipped};
use crate::stop::Stop;

/// The files of a tree as a walk from its root comes by them, numbered in that order, with what the walk counts on the
/// way.
#[derive(Debug)]
pub struct Listing {
    root: Arc<Root>,
    pieces: Vec<Piece>,
    /// The pieces of each directory and of what lies below it, in path order.
    directories: Vec<Range<usize>>,
    /// Links, and what was counted for them: that depends on what lies elsewhere.
    links: Vec<(RelPath, SkipReason)>,
    files: u32,
}

/// What one task of a walk does.
#[derive(Debug)]
struct Piece {
    directory: Arc<Kept>,
    /// The number of a part, the files of which are visited; otherwise the directory is listed.
    batch: Option<usize>,
    /// The number of its first file.
    first: u32,
    /// What is counted when the directory is listed.
    skipped: Skipped,
}

impl Piece {
    fn files(&self) -> &[super::tree::KeptFile] {
        match self.batch.map(|part| &self.directory.parts[part]) {
            Some(Part::Files(files)) => files,
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

/// Which files of a listing are visited, and why others need not be: sets of their numbers as bits, 64 to a word.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Those that are visited.
    pub visited: Vec<u64>,
    /// Those, not visited, that are to be counted as left out. No file is in two of these sets.
    pub skipped: Vec<(SkipReason, Vec<u64>)>,
}

impl Listing {
    pub(super) fn new(root: &Arc<Root>, top: &Arc<Kept>) -> Self {
        let mut listing = Self {
            root: Arc::clone(root),
            pieces: Vec::new(),
            directories: Vec::new(),
            links: Vec::new(),
            files: 0,
        };
        listing.add(top);
        listing
    }

    fn add(&mut self, directory: &Arc<Kept>) {
        let mut skipped = directory.skipped;
        for link in &directory.links {
            let reason = reason_of_link(&self.root, link);
            skipped.add(reason);
            self.links.push((link.clone(), reason));
        }
        let (number, start) = (self.directories.len(), self.pieces.len());
        self.directories.push(start..start);
        let piece = |batch, first, skipped| Piece { directory: Arc::clone(directory), batch, first, skipped };
        self.pieces.push(piece(None, self.files, skipped));
        for (index, part) in directory.parts.iter().enumerate() {
            match part {
                Part::Files(files) => {
                    self.pieces.push(piece(Some(index), self.files, Skipped::default()));
                    self.files += files.len() as u32;
                }
                Part::Directory(below) => self.add(below),
            }
        }
        self.directories[number].end = self.pieces.len();
    }

    /// Whether links lead where they led.
    pub(super) fn links_are_the_same(&self) -> bool {
        self.links.iter().all(|(link, reason)| reason_of_link(&self.root, link) == *reason)
    }

    /// How many files there are.
    pub fn files(&self) -> u32 {
        self.files
    }

    /// Gives every file in order, with its path, its state, if that is known, and whether a walk without
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

    /// The directories in which a file is no longer in the state in which it was listed.
    pub(super) fn outdated(&self, stop: &Stop) -> Vec<RelPath> {
        let mut outdated: Vec<RelPath> = Vec::new();
        for piece in self.pieces.iter().filter(|piece| piece.batch.is_some()) {
            if stop.check().is_some() {
                break;
            }
            let directory = &piece.directory.path;
            if outdated.last() != Some(directory) && !piece.directory.is_as_listed(&self.root, piece.files())
            {
                outdated.push(directory.clone());
            }
        }
        outdated
    }

    /// The part of a walk that begins at `start`; `None` when it is no directory that was listed, or if a walk that
    /// begins there finds something else.
    pub fn below(&self, start: &RelPath) -> Option<Below<'_>> {
        let directory = |pieces: &Range<usize>| &self.pieces[pieces.start].directory;
        let found = self.directories.binary_search_by(|pieces| directory(pieces).path.cmp(start)).ok()?;
        let pieces = self.directories[found].clone();
        directory(&pieces).is_start().then_some(Below { listing: self, pieces })
    }
}

/// A directory of a listing and all below it.
#[derive(Clone, Debug)]
pub struct Below<'a> {
    listing: &'a Listing,
    pieces: Range<usize>,
}

impl Below<'_> {
    /// As [`super::walk`] from there with the options of the listing, but that only the chosen files are visited.
    /// Threads and progress are as in `options`.
    pub fn walk<W, T: Send>(
        &self,
        options: &WalkOptions,
        chosen: &Chosen,
        stop: &Stop,
        worker: impl Fn() -> W + Sync,
        visit: impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> Step<T> + Sync,
        receive: impl FnMut(T) -> ControlFlow<()> + Send,
    ) -> WalkReport {
        let run = |state: &mut W, task: frontier::Task<Range<usize>>| {
            self.run(task.work, options, chosen, stop, |entry, skipped| visit(state, entry, skipped))
        };
        Frontier::new(self.stretches(chosen), receive).run(options.threads(), stop, worker, run)
    }

    /// Pieces up to and with one of which files are visited, and at last those behind.
    fn stretches(&self, chosen: &Chosen) -> Vec<frontier::Task<Range<usize>>> {
        let mut stretches = Vec::new();
        let mut start = self.pieces.start;
        for number in self.pieces.clone() {
            let piece = &self.listing.pieces[number];
            if number + 1 == self.pieces.end || any(&chosen.visited, &numbers(piece)) {
                stretches.push(frontier::Task { key: piece.key(), work: start..number + 1 });
                start = number + 1;
            }
        }
        stretches
    }

    fn run<T>(
        &self,
        stretch: Range<usize>,
        options: &WalkOptions,
        chosen: &Chosen,
        stop: &Stop,
        visit: impl FnMut(&Entry<'_>, &mut Skipped) -> Step<T>,
    ) -> frontier::Done<T, Range<usize>> {
        let mut done = frontier::Done::default();
        let pieces = &self.listing.pieces[stretch];
        let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return done };
        for piece in pieces.iter().filter(|piece| piece.batch.is_none()) {
            done.skipped.merge(&piece.skipped);
            done.pruned.extend(piece.directory.pruned.iter().cloned());
        }
        let all = first.first..numbers(last).end;
        for (reason, files) in &chosen.skipped {
            done.skipped.add_many(*reason, count(files, &all));
        }
        options.report_progress(all.len());
        // Those that are visited count themselves.
        done.visited = u64::from(all.end - all.start) - count(&chosen.visited, &all);
        let directory = &last.directory;
        let wanted = numbers(last)
            .zip(last.files())
            .filter(|(number, _)| is_in(&chosen.visited, *number))
            .map(|(_, file)| Found {
                path: directory.path.join(&file.name),
                kind: EntryKind::File,
                real: None,
                hidden_by: file.hidden_by.clone(),
            });
        visit_all(&self.listing.root, wanted, None, stop, &mut done, visit);
        done
    }
}

fn numbers(piece: &Piece) -> Range<u32> {
    piece.first..piece.first + piece.files().len() as u32
}

fn is_in(set: &[u64], number: u32) -> bool {
    set.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
}

/// The words of a set that hold these numbers, without the bits of others.
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

fn any(set: &[u64], numbers: &Range<u32>) -> bool {
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
        fn bits_are_counted_within_their_range(set in prop::collection::vec(any::<u64>(), 0..4), a in 0..300_u32, b in 0..300_u32) {
            let numbers = a.min(b)..a.max(b);
            let naive = numbers.clone().filter(|number| is_in(&set, *number)).count() as u64;
            prop_assert_eq!(count(&set, &numbers), naive);
            prop_assert_eq!(super::any(&set, &numbers), naive > 0);
        }
    }
}
