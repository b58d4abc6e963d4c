//! Chooses the directories and definitions that describe a tree best within a budget of tokens.
//!
//! Everything comes from the index, so no file is read or parsed. [`RankIndex::map`] orders its choice by
//! importance, so a larger map begins with the parts of a smaller one. Each prefix has the same balance of
//! directories and definitions.
//!
//! 1. Directories: the next one is the one that places most files per token. A file counts fully if its own
//!    directory is named, half if only the parent of that is, and so on. Files count by the square root of
//!    their words, so a directory of a few long files is worth naming too.
//! 2. Definitions of the named directories, by the number of files that use the name without defining it,
//!    relative to the number of files that define it. Each further definition of a directory counts less.

mod definitions;

use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap, HashSet};
use std::ops::Range;

use forage_fs::RelPath;
use tantivy::DocId;

use crate::error::IndexError;
use crate::index::{IndexState, RankIndex};
use crate::languages::DefinitionKind;
use crate::limits;
use crate::model_tokens::model_tokens;
use crate::stop_checker::{PATH_STEPS, SearchError, StopChecker};

use definitions::DefinitionFinder;

/// A request for a map.
#[derive(Clone, Copy)]
pub struct MapRequest<'a> {
    /// The directory to map.
    pub below: &'a RelPath,
    /// Decides whether a file may be in the map.
    pub allow: &'a (dyn Fn(&RelPath) -> bool + Sync),
    /// The tokens for which to choose parts. The parts take more, because their text is only estimated.
    pub tokens: usize,
    /// False for a map of directories only.
    pub definitions: bool,
    /// Returns true once the map is no longer wanted.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// The most important parts of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectMap {
    /// The parts, most important first.
    pub pieces: Vec<MapPiece>,
    /// Files that the map is about.
    pub files: usize,
    /// Files of the start directory itself, among these.
    pub own_files: usize,
    /// Directories below the start that contain such files themselves.
    pub directories: usize,
    /// Text files that the map leaves out: tests, examples, documentation, data, generated and third-party
    /// files. If there are no other files, the map is about these.
    pub other_files: usize,
}

/// A part of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapPiece {
    /// A directory.
    Directory(MapDirectory),
    /// A definition, or the file in which the program starts.
    Definition(MapDefinition),
}

/// A directory of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDirectory {
    /// Its path.
    pub path: RelPath,
    /// Files in the directory itself.
    pub own_files: usize,
    /// Files in it, at any depth.
    pub files: usize,
}

/// A definition of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDefinition {
    /// The path of its file.
    pub path: RelPath,
    /// Its name. `None` stands for the file as a whole.
    pub name: Option<String>,
    /// Its kind.
    pub kind: DefinitionKind,
    /// Its line, 1-based.
    pub line: u32,
    /// Number of files that contain the name and do not define it.
    pub used_by: u32,
}

/// A file of the map.
struct MappedFile {
    path: RelPath,
    segment: usize,
    document: DocId,
    words: u32,
}

impl MappedFile {
    fn weight(&self) -> f64 {
        f64::from(self.words + 1).sqrt()
    }
}

/// A directory below the start, or the start.
struct MappedDirectory {
    path: RelPath,
    depth: usize,
    /// The index after the last directory below it.
    end: usize,
    /// The files in the directory itself, as a range of the files in order.
    files: Range<usize>,
    /// The number of files in it, at any depth.
    files_below: usize,
    /// The sum of the weights of its own files.
    weight: f64,
    /// The share of its own files' weight that the directories named so far are worth.
    covered: f64,
}

impl RankIndex {
    /// Maps a directory. Returns `None` if this was stopped.
    ///
    /// # Errors
    ///
    /// Returns an error if the index can't be read.
    pub fn map(&self, request: &MapRequest<'_>) -> Result<Option<ProjectMap>, IndexError> {
        let pace = StopChecker::new(request.stop);
        self.using(|| match choose(self, request, &pace) {
            Ok(map) => Ok(Some(map)),
            Err(SearchError::Stopped) => Ok(None),
            Err(SearchError::Failed(error)) => Err(error),
        })
    }
}

fn choose(
    index: &RankIndex,
    request: &MapRequest<'_>,
    pace: &StopChecker<'_>,
) -> Result<ProjectMap, SearchError> {
    pace.check()?;
    let state = index.state();
    let (files, other_files) = mapped_files(index, &state, request, pace)?;
    let directories = directories(&files, request.below);
    let has_files = |directory: &&MappedDirectory| !directory.files.is_empty();
    let mut map = ProjectMap {
        pieces: Vec::new(),
        files: files.len(),
        own_files: directories[0].files.len(),
        directories: directories[1..].iter().filter(has_files).count(),
        other_files,
    };
    let finder = DefinitionFinder::new(index, &state, pace)?;
    MapChoice::new(request, &files, directories, finder).fill(&mut map)?;
    Ok(map)
}

/// Collects the files that the map is about, directory by directory, and counts those left out.
fn mapped_files(
    index: &RankIndex,
    state: &IndexState,
    request: &MapRequest<'_>,
    pace: &StopChecker<'_>,
) -> Result<(Vec<MappedFile>, usize), SearchError> {
    let (mut files, mut aside) = (Vec::new(), Vec::new());
    for (position, segment) in state.segments.iter().enumerate() {
        let is_aside = index.secondary(segment);
        let is_wordless: HashSet<DocId> = segment.wordless().collect();
        let norms = segment.reader.get_fieldnorms_reader(index.fields().body)?;
        for (document, shown, _) in segment.living() {
            pace.step(PATH_STEPS)?;
            let Ok(path) = RelPath::parse(shown, &RelPath::root()) else { continue };
            let is_mapped = path.starts_with(request.below) && !is_wordless.contains(&document);
            if !is_mapped || !(request.allow)(&path) {
                continue;
            }
            let words = norms.fieldnorm(document);
            let list = if is_aside.contains(&document) { &mut aside } else { &mut files };
            list.push(MappedFile { path, segment: position, document, words });
        }
    }
    if files.is_empty() {
        files = std::mem::take(&mut aside);
    }
    files.sort_by_cached_key(|file| (file.path.parent(), file.path.clone()));
    Ok((files, aside.len()))
}

/// Groups files by their directories. The result begins with the start and is in path order, so all that is
/// below a directory follows it.
fn directories(files: &[MappedFile], start: &RelPath) -> Vec<MappedDirectory> {
    let mut ranges: BTreeMap<RelPath, Range<usize>> = BTreeMap::from([(start.clone(), 0..0)]);
    let mut at = 0;
    for of_one in files.chunk_by(|a, b| a.path.parent() == b.path.parent()) {
        let range = at..at + of_one.len();
        at = range.end;
        let Some(parent) = of_one[0].path.parent() else { continue };
        let mut above = parent.parent();
        while let Some(directory) = above.filter(|above| above.depth() > start.depth()) {
            above = directory.parent();
            ranges.entry(directory).or_insert(0..0);
        }
        ranges.insert(parent, range);
    }
    let directory = |(path, range): (RelPath, Range<usize>)| MappedDirectory {
        depth: path.depth(),
        end: 0,
        files_below: range.len(),
        weight: files[range.clone()].iter().map(MappedFile::weight).sum(),
        covered: 0.0,
        files: range,
        path,
    };
    let mut directories: Vec<MappedDirectory> = ranges.into_iter().map(directory).collect();
    for index in (0..directories.len()).rev() {
        let mut end = index + 1;
        while directories.get(end).is_some_and(|other| other.depth > directories[index].depth) {
            directories[index].files_below += directories[end].files_below;
            end = directories[end].end;
        }
        directories[index].end = end;
    }
    directories
}

/// An item of a heap with its value. Among equal values, the lower rank comes first.
struct Valued<T> {
    value: f64,
    rank: usize,
    item: T,
}

impl<T> Ord for Valued<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.total_cmp(&other.value).then(other.rank.cmp(&self.rank))
    }
}

impl<T> PartialOrd for Valued<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Valued<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Valued<T> {}

/// A choice of the parts of a map.
struct MapChoice<'a> {
    request: &'a MapRequest<'a>,
    files: &'a [MappedFile],
    directories: Vec<MappedDirectory>,
    finder: DefinitionFinder<'a>,
    /// The weight of all files.
    total: f64,
    /// The directories that are not named yet, by their value per token.
    open: BinaryHeap<Valued<()>>,
    named: HashSet<RelPath>,
    /// The definitions of the named directories that are not named yet.
    definitions: BinaryHeap<Valued<MapDefinition>>,
    /// The files with a named definition.
    opened_files: HashSet<RelPath>,
}

impl<'a> MapChoice<'a> {
    fn new(
        request: &'a MapRequest<'a>,
        files: &'a [MappedFile],
        directories: Vec<MappedDirectory>,
        finder: DefinitionFinder<'a>,
    ) -> Self {
        Self {
            request,
            files,
            finder,
            total: directories.iter().map(|directory| directory.weight).sum::<f64>().max(1.0),
            directories,
            open: BinaryHeap::new(),
            named: HashSet::from([request.below.clone()]),
            definitions: BinaryHeap::new(),
            opened_files: HashSet::new(),
        }
    }

    /// Adds the parts in the order of their importance, with a fixed share of the tokens for directories.
    fn fill(mut self, map: &mut ProjectMap) -> Result<(), SearchError> {
        for index in 1..self.directories.len() {
            self.open.push(Valued { value: self.value(index), rank: index, item: () });
        }
        self.cover(0);
        self.find_definitions(0)?;
        let budget = self.request.tokens * limits::MAP_RESERVE / 100;
        let (mut of_directories, mut of_definitions) = (0, 0);
        while of_directories + of_definitions < budget {
            let (share, of) = limits::MAP_DIRECTORIES_SHARE;
            let is_turn = of_directories * of <= (of_directories + of_definitions) * share;
            let directory = if is_turn || self.definitions.is_empty() { self.next_directory() } else { None };
            if let Some(index) = directory {
                of_directories += self.tokens(index);
                self.cover(index);
                let MappedDirectory { path, files, files_below, .. } = &self.directories[index];
                self.named.insert(path.clone());
                let (path, own_files, files) = (path.clone(), files.len(), *files_below);
                map.pieces.push(MapPiece::Directory(MapDirectory { path, own_files, files }));
                self.find_definitions(index)?;
            } else if let Some(Valued { item, .. }) = self.definitions.pop() {
                let file = match self.opened_files.insert(item.path.clone()) {
                    true => model_tokens(&String::from_utf8_lossy(item.path.file_name())),
                    false => 0,
                };
                let name = item.name.as_deref().map_or(0, model_tokens);
                of_definitions += file + name + limits::MAP_DEFINITION_TOKENS;
                map.pieces.push(MapPiece::Definition(item));
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Finds the directory with the highest value per token.
    fn next_directory(&mut self) -> Option<usize> {
        loop {
            let Valued { value, rank, .. } = self.open.pop()?;
            // Directories named since then may have lowered the value.
            let now = self.value(rank);
            if now < value && self.open.peek().is_some_and(|next| next.value > now) {
                self.open.push(Valued { value: now, rank, item: () });
            } else if now > 0.0 {
                return Some(rank);
            }
        }
    }

    /// Computes the value per token of naming a directory.
    fn value(&self, index: usize) -> f64 {
        let below = &self.directories[index..self.directories[index].end];
        let gain = |it: &MappedDirectory| it.weight * (self.share(index, it) - it.covered).max(0.0);
        below.iter().map(gain).sum::<f64>() / self.tokens(index) as f64
    }

    /// Returns how much naming a directory helps to find the files of one at or below it.
    fn share(&self, index: usize, below: &MappedDirectory) -> f64 {
        let levels = below.depth - self.directories[index].depth;
        0.5_f64.powi(i32::try_from(levels).unwrap_or(i32::MAX))
    }

    /// Records that a directory is named.
    fn cover(&mut self, index: usize) {
        for below in index..self.directories[index].end {
            let share = self.share(index, &self.directories[below]);
            let it = &mut self.directories[below];
            it.covered = it.covered.max(share);
        }
    }

    /// Estimates the tokens of a directory's line, which has the path below the nearest named directory.
    fn tokens(&self, index: usize) -> usize {
        let path = &self.directories[index].path;
        let named = std::iter::successors(path.parent(), RelPath::parent);
        let above = named.into_iter().find(|above| self.named.contains(above));
        let below = above.as_ref().map_or(path.as_bytes(), |above| path.below(above));
        model_tokens(&String::from_utf8_lossy(below)) + limits::MAP_DIRECTORY_TOKENS
    }

    /// Finds the most used definitions in the files of a directory itself.
    fn find_definitions(&mut self, index: usize) -> Result<(), SearchError> {
        if !self.request.definitions {
            return Ok(());
        }
        let MappedDirectory { files, weight, .. } = &self.directories[index];
        // A directory with most of the project should have most of the definitions.
        let share = weight / self.total * limits::MAP_ALL_FILES;
        let max = limits::MAP_FILES.max(share as usize);
        let found = self.finder.find(&self.files[files.clone()], max)?;
        for (rank, (uses, item)) in found.into_iter().enumerate() {
            let value = weight.sqrt() * (1.0 + uses).ln() / (rank + 1) as f64;
            // Ties must not depend on the order in which directories were named.
            self.definitions.push(Valued { value, rank: index, item });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
