//! Finds renames exactly as git does (`diffcore-rename.c`): first files with equal content, then edited files
//! that keep a unique name. Finally, it pairs the remaining files by similarity, unless there are too many.

use std::cmp::Reverse;
use std::rc::Rc;

use forage_base::Stop;
use hashbrown::HashMap;

use crate::id::ObjectId;
use crate::limits;
use crate::tree::FileMode;

/// The highest similarity, in git's units.
const MAX_SCORE: f64 = 60_000.0;

/// The minimum similarity of a rename: 50 %.
const MIN_SCORE: u32 = 30_000;

/// Number of sources that we consider for a new file.
const SOURCES_PER_FILE: usize = 4;

/// Number of files with the same content that we consider.
const SAME_CONTENT: usize = 100;

/// The modulus of line hashes: a prime number, the same as in git.
const HASH_BASE: u32 = 107_927;

/// A file that was added or deleted.
#[derive(Clone, Debug)]
pub(crate) struct RenameSide<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) mode: FileMode,
    /// `None` if the content can't be read.
    pub(crate) id: Option<ObjectId>,
}

impl RenameSide<'_> {
    fn name(&self) -> &[u8] {
        &self.path[self.path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1)..]
    }
}

/// A deleted and an added file that are the same, given by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundRename {
    pub(crate) before: usize,
    pub(crate) after: usize,
    /// In percent.
    pub(crate) similarity: u8,
}

/// Reads the content of a file by its number. The flag is true for an added file, and false for a deleted
/// one.
pub(crate) type ReadSide<'a> = dyn FnMut(bool, usize) -> Option<Rc<[u8]>> + 'a;

/// A search for renames among deleted and added files.
pub(crate) struct RenameSearch<'a> {
    deleted: &'a [RenameSide<'a>],
    added: &'a [RenameSide<'a>],
    read: &'a mut ReadSide<'a>,
    stop: &'a Stop,
    is_used: Vec<bool>,
    is_renamed: Vec<bool>,
    /// The line hashes of the files that were read. Keys have the same meaning as in [`ReadSide`].
    hashes: HashMap<(bool, usize), Option<Rc<LineHashes>>>,
    cached: usize,
    found: Vec<FoundRename>,
    /// False if edited files were not all compared.
    is_whole: bool,
}

impl<'a> RenameSearch<'a> {
    pub(crate) fn new(
        deleted: &'a [RenameSide<'a>],
        added: &'a [RenameSide<'a>],
        read: &'a mut ReadSide<'a>,
        stop: &'a Stop,
    ) -> Self {
        Self {
            deleted,
            added,
            read,
            stop,
            is_used: vec![false; deleted.len()],
            is_renamed: vec![false; added.len()],
            hashes: HashMap::new(),
            cached: 0,
            found: Vec::new(),
            is_whole: true,
        }
    }

    /// Runs the search. The second value is false if edited files were not all compared.
    pub(crate) fn run(mut self) -> (Vec<FoundRename>, bool) {
        self.find_same_content();
        self.find_same_names();
        self.find_similar();
        (self.found, self.is_whole)
    }

    fn record(&mut self, before: usize, after: usize, score: u32) {
        self.is_used[before] = true;
        self.is_renamed[after] = true;
        let similarity = (f64::from(score) * 100.0 / MAX_SCORE) as u8;
        self.found.push(FoundRename { before, after, similarity });
    }

    fn find_same_content(&mut self) {
        let mut sources: HashMap<ObjectId, Vec<usize>> = HashMap::new();
        for (number, side) in self.deleted.iter().enumerate() {
            if let Some(id) = side.id {
                sources.entry(id).or_default().push(number);
            }
        }
        for (after, side) in self.added.iter().enumerate() {
            let Some(same) = side.id.and_then(|id| sources.get(&id)) else { continue };
            let mut best: Option<(usize, bool)> = None;
            for &before in same.iter().take(SAME_CONTENT) {
                let source = &self.deleted[before];
                let is_regular = source.mode.is_regular() && side.mode.is_regular();
                if self.is_used[before] || !is_regular && source.mode != side.mode {
                    continue;
                }
                let has_name = source.name() == side.name();
                if best.is_none_or(|(_, best)| has_name && !best) {
                    best = Some((before, has_name));
                }
                if has_name {
                    break;
                }
            }
            if let Some((before, _)) = best {
                self.record(before, after, MAX_SCORE as u32);
            }
        }
    }

    /// Compares edited files whose name occurs once among deleted and once among added files.
    fn find_same_names(&mut self) {
        let unique = |sides: &'a [RenameSide<'a>], is_over: &[bool]| {
            let mut names: HashMap<&'a [u8], Option<usize>> = HashMap::new();
            for (number, side) in sides.iter().enumerate().filter(|(number, _)| !is_over[*number]) {
                names.entry(side.name()).and_modify(|number| *number = None).or_insert(Some(number));
            }
            names
        };
        let sources = unique(self.deleted, &self.is_used);
        let files = unique(self.added, &self.is_renamed);
        for (before, side) in self.deleted.iter().enumerate() {
            if self.is_used[before] || sources.get(side.name()) != Some(&Some(before)) {
                continue;
            }
            let Some(Some(after)) = files.get(side.name()).copied() else { continue };
            if self.is_renamed[after] || !self.has_time() {
                continue;
            }
            let score = self.similarity(before, after);
            if score >= MIN_SCORE {
                self.record(before, after, score);
            }
        }
    }

    fn find_similar(&mut self) {
        let left = |is_over: &[bool]| -> Vec<usize> {
            is_over.iter().enumerate().filter(|(_, is_over)| !**is_over).map(|(number, _)| number).collect()
        };
        let (sources, files) = (left(&self.is_used), left(&self.is_renamed));
        if sources.is_empty() || files.is_empty() {
            return;
        }
        if sources.len().saturating_mul(files.len()) > limits::RENAME_LIMIT * limits::RENAME_LIMIT {
            self.is_whole = false;
            return;
        }
        /// A pair: its score, whether both have the same name, and its numbers.
        type Pair = (u32, bool, usize, usize);
        let rank = |pair: &Pair| Reverse((pair.0, pair.1));
        let mut pairs: Vec<Pair> = Vec::new();
        for after in files {
            let mut best: Vec<Option<Pair>> = vec![None; SOURCES_PER_FILE];
            for &before in &sources {
                if !self.has_time() {
                    return;
                }
                let score = self.similarity(before, after);
                let has_name = self.deleted[before].name() == self.added[after].name();
                let pair = (score, has_name, before, after);
                // The pair must replace the worst one if it is better. An empty slot is the worst of all.
                let mut worst = 0;
                for place in 1..SOURCES_PER_FILE {
                    let is_worse = match (&best[place], &best[worst]) {
                        (None, worst) => worst.is_some(),
                        (Some(_), None) => false,
                        (Some(one), Some(worst)) => rank(one) > rank(worst),
                    };
                    if is_worse {
                        worst = place;
                    }
                }
                if best[worst].as_ref().is_none_or(|worst| rank(worst) > rank(&pair)) {
                    best[worst] = Some(pair);
                }
            }
            pairs.extend(best.into_iter().flatten());
            // No later pair needs the hashes of this file.
            self.forget((true, after));
        }
        pairs.sort_by_key(rank);
        for (score, _, before, after) in pairs {
            if score < MIN_SCORE {
                break;
            }
            if !self.is_renamed[after] && !self.is_used[before] {
                self.record(before, after, score);
            }
        }
    }

    fn has_time(&mut self) -> bool {
        self.is_whole &= self.stop.check().is_none();
        self.is_whole
    }

    /// Computes the similarity of two files in git's units.
    fn similarity(&mut self, before: usize, after: usize) -> u32 {
        if !self.deleted[before].mode.is_regular() || !self.added[after].mode.is_regular() {
            return 0;
        }
        let (Some(one), Some(other)) = (self.hashes_of((false, before)), self.hashes_of((true, after)))
        else {
            return 0;
        };
        let (max, least) = (one.size.max(other.size), one.size.min(other.size));
        // We do not compare files whose sizes differ too much.
        if (max as f64) * (MAX_SCORE - f64::from(MIN_SCORE)) < (max - least) as f64 * MAX_SCORE {
            return 0;
        }
        if other.size == 0 {
            return 0;
        }
        (one.shared(&other) as f64 * MAX_SCORE / max as f64) as u32
    }

    fn hashes_of(&mut self, key: (bool, usize)) -> Option<Rc<LineHashes>> {
        if let Some(known) = self.hashes.get(&key) {
            return known.clone();
        }
        if self.cached > limits::RENAME_HASHES {
            self.is_whole = false;
            return None;
        }
        let hashes = (self.read)(key.0, key.1).map(|bytes| Rc::new(LineHashes::new(&bytes)));
        self.cached += hashes.as_ref().map_or(0, |hashes| hashes.counts.len());
        self.hashes.insert(key, hashes.clone());
        hashes
    }

    fn forget(&mut self, key: (bool, usize)) {
        if let Some(Some(hashes)) = self.hashes.remove(&key) {
            self.cached -= hashes.counts.len();
        }
    }
}

/// The hashes of the lines of a file, or of pieces of 64 bytes, each with the number of its bytes.
struct LineHashes {
    counts: Vec<(u32, u32)>,
    size: usize,
}

impl LineHashes {
    fn new(bytes: &[u8]) -> Self {
        let is_text = !is_binary(bytes);
        let mut pieces: Vec<(u32, u32)> = Vec::new();
        let (mut length, mut one, mut two) = (0_u32, 0_u32, 0_u32);
        let hash = |one: u32, two: u32| one.wrapping_add(two.wrapping_mul(0x61)) % HASH_BASE;
        for (at, &byte) in bytes.iter().enumerate() {
            // As in git, a line has the same hash with both kinds of line end.
            if is_text && byte == b'\r' && bytes.get(at + 1) == Some(&b'\n') {
                continue;
            }
            let before = one;
            one = (one << 7) ^ (two >> 25);
            two = (two << 7) ^ (before >> 25);
            one = one.wrapping_add(u32::from(byte));
            length += 1;
            if length < 64 && byte != b'\n' {
                continue;
            }
            pieces.push((hash(one, two), length));
            (length, one, two) = (0, 0, 0);
        }
        if length > 0 {
            pieces.push((hash(one, two), length));
        }
        pieces.sort_unstable();
        let mut counts: Vec<(u32, u32)> = Vec::new();
        for (hash, length) in pieces {
            match counts.last_mut() {
                Some(last) if last.0 == hash => last.1 += length,
                _ => counts.push((hash, length)),
            }
        }
        counts.shrink_to_fit();
        Self { counts, size: bytes.len() }
    }

    /// Counts the bytes that another file has too.
    fn shared(&self, other: &Self) -> u64 {
        let mut theirs = other.counts.iter().peekable();
        let mut shared = 0;
        for (hash, count) in &self.counts {
            while theirs.next_if(|their| their.0 < *hash).is_some() {}
            if let Some(their) = theirs.next_if(|their| their.0 == *hash) {
                shared += u64::from(their.1.min(*count));
            }
        }
        shared
    }
}

/// Returns true for a file that git considers binary.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    memchr::memchr(0, &bytes[..bytes.len().min(8_000)]).is_some()
}
