//! The on-disk format of a history.
//!
//! ```text
//! file    = MAGIC state whole unread packs words paths commits hash
//! state   = id length, 0 for no history; else also the checked-out commit, a hash of the history's ends
//! texts   = count; per text: bytes shared with the previous text, number of further bytes, these bytes
//! commits = count; per commit: id, time, parents, files, words
//! parents = count; per parent: its 1-based index among the commits, or 0 and its id
//! files   = count; per file: its number minus the previous one
//! words   = count; per word: its number minus the previous one, number of occurrences
//! hash    = xxh3 of everything before it, eight bytes
//! ```
//!
//! Numbers are written in groups of seven bits, the lowest first.

use forage_git::{HistoryState, ObjectId};
use hashbrown::HashMap;
use xxhash_rust::xxh3::xxh3_64;

use super::{History, KnownCommit, SortedTexts};
use crate::limits;

/// This must be incremented if we take other data from a commit: other words, another choice of files, or
/// other numbers of them.
const MAGIC: &[u8] = b"forage history 2\n";

const HASH_BYTES: usize = 8;

impl History {
    /// Serialises this history. A result of more than [`limits::HISTORY_BYTES`] must not be stored, because
    /// it could not be read.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        match &self.state {
            Some(HistoryState { head, ends }) => {
                put(&mut bytes, head.as_bytes().len() as u64);
                bytes.extend_from_slice(head.as_bytes());
                put(&mut bytes, *ends);
            }
            None => put(&mut bytes, 0),
        }
        put(&mut bytes, u64::from(self.is_whole));
        put(&mut bytes, u64::from(self.unread));
        put(&mut bytes, self.packs);
        put_texts(&mut bytes, &self.words);
        put_texts(&mut bytes, &self.paths);
        put(&mut bytes, self.commits.len() as u64);
        let places = self.commits.iter().enumerate().map(|(index, commit)| (commit.id, index as u64 + 1));
        let places: HashMap<ObjectId, u64> = places.collect();
        for commit in &self.commits {
            bytes.extend_from_slice(commit.id.as_bytes());
            put(&mut bytes, commit.time.cast_unsigned());
            put(&mut bytes, commit.parents.len() as u64);
            for parent in &commit.parents {
                let place = places.get(parent).copied().unwrap_or(0);
                put(&mut bytes, place);
                if place == 0 {
                    bytes.extend_from_slice(parent.as_bytes());
                }
            }
            let mut before = 0;
            put(&mut bytes, commit.files.len() as u64);
            for &file in &self.files[commit.files.clone()] {
                put(&mut bytes, u64::from(file - before));
                before = file;
            }
            before = 0;
            put(&mut bytes, commit.counts.len() as u64);
            for &(word, count) in &self.counts[commit.counts.clone()] {
                put(&mut bytes, u64::from(word - before));
                put(&mut bytes, u64::from(count));
                before = word;
            }
        }
        let hash = xxh3_64(&bytes);
        bytes.extend_from_slice(&hash.to_le_bytes());
        bytes
    }

    /// Parses a stored history. `None` if it is damaged, or of another version.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH_BYTES)?)?;
        if xxh3_64(content).to_le_bytes() != hash {
            return None;
        }
        Self::from_content(content)
    }

    /// Like `from_bytes`, but for content without its hash. We fuzz this function, since the hash would
    /// reject all data that we didn't write.
    pub(super) fn from_content(content: &[u8]) -> Option<Self> {
        let mut reader = HistoryReader { rest: content.strip_prefix(MAGIC)? };
        let id_bytes = reader.count(32)?;
        let state = match id_bytes {
            0 => None,
            _ => Some(HistoryState { head: reader.id(id_bytes)?, ends: reader.number()? }),
        };
        let is_whole = reader.number()? != 0;
        let unread = u32::try_from(reader.number()?).ok()?;
        let packs = reader.number()?;
        let (words, paths) = (reader.texts()?, reader.texts()?);
        let mut history = Self { state, is_whole, unread, packs, words, paths, ..Self::default() };
        // An interrupted walk also keeps as many commits of the previous history.
        let commits = reader.count(2 * limits::WALKED_COMMITS)?;
        // Each parent is either an index or an id.
        let mut parents: Vec<Vec<(usize, Option<ObjectId>)>> = Vec::new();
        for _ in 0..commits {
            let id = reader.id(id_bytes)?;
            let time = reader.number()?.cast_signed();
            let count = reader.count(forage_git::limits::PARENTS)?;
            let of_commit = (0..count).map(|_| match reader.count(commits)? {
                0 => Some((0, Some(reader.id(id_bytes)?))),
                place => Some((place - 1, None)),
            });
            parents.push(of_commit.collect::<Option<_>>()?);
            let first_file = history.files.len();
            let mut before = 0;
            for _ in 0..reader.count(limits::COMMIT_FILES)? {
                before = reader.below(before, history.paths.len())?;
                history.files.push(before);
            }
            let first_count = history.counts.len();
            before = 0;
            for _ in 0..reader.count(history.words.len())? {
                before = reader.below(before, history.words.len())?;
                history.counts.push((before, u16::try_from(reader.number()?).ok()?));
            }
            let (files, counts) = (first_file..history.files.len(), first_count..history.counts.len());
            history.commits.push(KnownCommit { id, time, parents: Vec::new(), files, counts });
        }
        // Parents usually come after their children, so we can look up their ids only now.
        for (index, of_commit) in parents.into_iter().enumerate() {
            let id = |(place, id): (usize, Option<ObjectId>)| id.unwrap_or(history.commits[place].id);
            history.commits[index].parents = of_commit.into_iter().map(id).collect();
        }
        reader.rest.is_empty().then_some(history)
    }
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn put_texts(bytes: &mut Vec<u8>, texts: &SortedTexts) {
    put(bytes, texts.len() as u64);
    let mut before = "";
    for index in 0..texts.len() as u32 {
        let text = texts.get(index);
        let common = before.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
        // The reader parses the further bytes as UTF-8 on their own.
        let shared = text.floor_char_boundary(common);
        put(bytes, shared as u64);
        put(bytes, (text.len() - shared) as u64);
        bytes.extend_from_slice(&text.as_bytes()[shared..]);
        before = text;
    }
}

struct HistoryReader<'a> {
    rest: &'a [u8],
}

impl<'a> HistoryReader<'a> {
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
            shift += 7;
            if shift > 63 {
                return None;
            }
        }
    }

    /// Reads a number that must not exceed `max`.
    fn count(&mut self, max: usize) -> Option<usize> {
        usize::try_from(self.number()?).ok().filter(|count| *count <= max)
    }

    /// Reads a number stored as the difference to `before`; the result must be below `end`.
    fn below(&mut self, before: u32, end: usize) -> Option<u32> {
        let number = u64::from(before).checked_add(self.number()?)?;
        u32::try_from(number).ok().filter(|number| (*number as usize) < end)
    }

    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(bytes)
    }

    fn id(&mut self, id_bytes: usize) -> Option<ObjectId> {
        ObjectId::from_bytes(self.bytes(id_bytes)?)
    }

    fn texts(&mut self) -> Option<SortedTexts> {
        let mut texts = SortedTexts::default();
        let count = self.count(self.rest.len())?;
        let mut text = String::new();
        for _ in 0..count {
            let shared = self.count(text.len())?;
            let more = self.count(self.rest.len())?;
            let more = std::str::from_utf8(self.bytes(more)?).ok()?;
            // Shared prefixes could expand a small file to any size.
            if !text.is_char_boundary(shared)
                || texts.text.len() + shared + more.len() > limits::HISTORY_BYTES as usize
            {
                return None;
            }
            let before = (texts.len() > 0).then(|| text.clone());
            text.truncate(shared);
            text.push_str(more);
            // `SortedTexts::find` relies on this order.
            if before.is_some_and(|before| before >= text) {
                return None;
            }
            texts.push(&text);
        }
        Some(texts)
    }
}
