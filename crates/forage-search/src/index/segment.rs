//! One index file: written once, read at random.
//!
//! ```text
//! header      magic, version, offset, length and checksum of each section, checksum of all that
//! files       a record of 52 bytes per file, in path order; its last two numbers are that of the parts up to its end and
//!             the checksum of its bytes, 0 where not all of them were read
//! paths       the paths of all files, one behind the other
//! dictionary  a record of 16 bytes per trigram, in order of their numbers: number, parts, length and checksum of its
//!             posting list
//! pages       a record of 16 bytes per 128 trigrams of the dictionary: number of the first, checksum, and where in the
//!             posting lists its own begins
//! parts       a record of 8 bytes per part: the bytes of its file up to its end, and the line feeds in them; 0 where text
//!             and bytes are not the same
//! postings    the posting lists, one behind the other
//! ```
//!
//! All numbers are little-endian. A posting list holds the differences of ascending numbers of parts, or a bitmap of all
//! parts where that is shorter. Dictionary and posting lists are read and checked when they are needed, a page and a list at
//! a time, all else when it is opened: whatever a disk or a crash made of the file is found out before it can change an answer.

use std::cmp::Ordering;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use bytes::Bytes;
use forage_base::Stop;
use forage_fs::{FileState, compare_paths};
use thiserror::Error;

use super::numbers::{NumberSet, in_bitmap, posted};
use super::plan::{TrigramQuery, are_harmed};
use super::trigrams::Trigram;

pub(super) const MAGIC: [u8; 8] = *b"FORAGEIX";
/// Raised when the format, or what stands in it, changes; files of another version are built anew.
pub(super) const VERSION: u32 = 5;
pub(super) const SECTIONS: usize = 6;
/// Magic, version, sections, checksum.
pub(super) const HEADER_BYTES: usize = 8 + 4 + SECTIONS * 20 + 4;
const FILE_BYTES: usize = 52;
const TRIGRAM_BYTES: usize = 16;
/// A page of the dictionary.
pub(super) const PAGE_BYTES: usize = 128 * TRIGRAM_BYTES;
const PAGE_RECORD_BYTES: usize = 16;
const PART_END_BYTES: usize = 8;

/// The content of a file as an index knows it: its trigrams, or the reason for which it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Its trigrams.
    Indexed,
    /// It is binary, by its beginning.
    Binary,
    /// It is too large, or has too many trigrams, for them to say much.
    Large,
    /// It had just been changed, so that its state would not tell whether it was changed again.
    Young,
    /// Its file system does not write back what is changed through a mapping, so that its state does not tell of that.
    Untold,
}

impl Content {
    const ALL: [Self; 5] = [Self::Indexed, Self::Binary, Self::Large, Self::Young, Self::Untold];
}

/// The end of a part of a file, counted from the beginning of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartEnd {
    /// Bytes of the file up to there.
    pub bytes: u32,
    /// Line feeds in them.
    pub feeds: u32,
}

/// Parts of a file that lie side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Their bytes.
    pub(crate) bytes: Range<u64>,
    /// Line feeds of the file before them.
    pub(crate) feeds: u64,
}

/// Stands for a number of lines that is not known.
pub(super) const NO_LINES: u32 = u32::MAX;

/// Bytes that can be read anywhere.
pub trait ReadAt {
    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// They can't be read, or there are not so many.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// The bytes in a range that is there.
    ///
    /// # Errors
    /// They can't be read.
    fn bytes(&self, range: Range<u64>) -> io::Result<Bytes> {
        let mut buffer = vec![0; (range.end - range.start) as usize];
        self.read_exact_at(&mut buffer, range.start)?;
        Ok(buffer.into())
    }

    /// How many bytes there are.
    ///
    /// # Errors
    /// That can't be told.
    fn byte_len(&self) -> io::Result<u64>;
}

/// The reasons for which an index can't be used. Whoever sees one scans instead, and builds a new index.
#[derive(Debug, Error)]
pub enum TrigramIndexError {
    /// It can't be read.
    #[error("the index can't be read: {0}")]
    Io(#[from] io::Error),
    /// It is of another version, or no index.
    #[error("the index has another format")]
    Format,
    /// It is not what was written.
    #[error("the index is damaged")]
    Damaged,
}

/// An index that can be asked.
pub struct Segment {
    reader: Box<dyn ReadAt + Send + Sync>,
    files: Bytes,
    paths: Bytes,
    /// Where the dictionary is, and its pages that were needed.
    dictionary: Range<u64>,
    pages_read: Vec<OnceLock<Box<[u8]>>>,
    pages: Bytes,
    part_ends: Bytes,
    /// Where the posting lists are.
    postings: Range<u64>,
    /// Parts of all files.
    part_count: u32,
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment of {} files", self.len())
    }
}

impl Segment {
    /// Opens an index and checks all of it but the dictionary and the posting lists.
    ///
    /// # Errors
    /// [`TrigramIndexError`].
    pub fn open(reader: impl ReadAt + Send + Sync + 'static) -> Result<Self, TrigramIndexError> {
        let mut header = [0; HEADER_BYTES];
        let length = reader.byte_len()?;
        if length < HEADER_BYTES as u64 {
            return Err(TrigramIndexError::Damaged);
        }
        reader.read_exact_at(&mut header, 0)?;
        let (said, checksum) = header.split_at(HEADER_BYTES - 4);
        if said[..8] != MAGIC || u32_at(said, 8) != VERSION {
            return Err(TrigramIndexError::Format);
        }
        if crc32fast::hash(said) != u32_at(checksum, 0) {
            return Err(TrigramIndexError::Damaged);
        }
        let section = |index: usize| {
            let at = 12 + index * 20;
            (u64_at(said, at), u64_at(said, at + 8), u32_at(said, at + 16))
        };
        let read = |index: usize| {
            let (offset, bytes, checksum) = section(index);
            // A length that the file does not have would be asked of memory first.
            let range = offset..offset.saturating_add(bytes);
            if range.end > length {
                return Err(TrigramIndexError::Damaged);
            }
            let bytes = reader.bytes(range)?;
            if crc32fast::hash(&bytes) == checksum { Ok(bytes) } else { Err(TrigramIndexError::Damaged) }
        };
        let (files, paths, pages, part_ends) = (read(0)?, read(1)?, read(3)?, read(4)?);
        let range = |index: usize| {
            let (start, bytes, _) = section(index);
            start.checked_add(bytes).map(|end| start..end).ok_or(TrigramIndexError::Damaged)
        };
        let (dictionary, postings) = (range(2)?, range(5)?);
        let bytes = dictionary.end - dictionary.start;
        let whole = files.len().is_multiple_of(FILE_BYTES)
            && bytes.is_multiple_of(TRIGRAM_BYTES as u64)
            && pages.len() as u64 == bytes.div_ceil(PAGE_BYTES as u64) * PAGE_RECORD_BYTES as u64;
        if !whole || postings.end != length {
            return Err(TrigramIndexError::Damaged);
        }
        let pages_read =
            std::iter::repeat_with(OnceLock::new).take(pages.len() / PAGE_RECORD_BYTES).collect();
        let mut part_count = 0;
        for record in files.chunks_exact(FILE_BYTES) {
            let end = u32_at(record, 44);
            // Whoever wrote it counted up, and not beyond what can be held.
            if end < part_count || end > MOST_PARTS {
                return Err(TrigramIndexError::Damaged);
            }
            part_count = end;
        }
        if part_ends.len() != part_count as usize * PART_END_BYTES {
            return Err(TrigramIndexError::Damaged);
        }
        let reader = Box::new(reader);
        Ok(Self { reader, files, paths, dictionary, pages_read, pages, part_ends, postings, part_count })
    }

    /// Files in it.
    pub fn len(&self) -> u32 {
        (self.files.len() / FILE_BYTES) as u32
    }

    /// Returns whether no file is in it.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Parts of all files.
    pub(super) fn part_count(&self) -> u32 {
        self.part_count
    }

    /// The path of a file.
    pub fn path(&self, file: u32) -> Option<&[u8]> {
        let end_of = |file: u32| Some(u32_at(self.record(file)?, 32) as usize);
        let start = match file.checked_sub(1) {
            Some(before) => end_of(before)?,
            None => 0,
        };
        self.paths.get(start..end_of(file)?)
    }

    /// In which state the index has seen a file, and what it knows of it.
    pub fn state(&self, file: u32) -> Option<(FileState, Content)> {
        let record = self.record(file)?;
        let time = |at: usize| u64_at(record, at).cast_signed();
        let state = FileState {
            size: u64_at(record, 0),
            modified: time(8),
            changed: time(16),
            inode: u64_at(record, 24),
        };
        Some((state, *Content::ALL.get(u32_at(record, 36) as usize)?))
    }

    /// The lines of a file, where they are known.
    pub fn lines(&self, file: u32) -> Option<u32> {
        Some(u32_at(self.record(file)?, 40)).filter(|lines| *lines != NO_LINES)
    }

    /// The CRC-32 of the bytes of a file; 0 where not all of them were read.
    pub(super) fn checksum(&self, file: u32) -> Option<u32> {
        Some(u32_at(self.record(file)?, 48))
    }

    /// The file with this path; `near`, and what is before it, is where it is looked for first.
    pub fn find(&self, path: &[u8], near: u32) -> Option<u32> {
        for near in [near, near.wrapping_sub(1)] {
            if self.path(near) == Some(path) {
                return Some(near);
            }
        }
        let is_before = |file: usize| {
            self.path(file as u32).is_some_and(|other| compare_paths(other, path) == Ordering::Less)
        };
        let found = partition(self.len() as usize, is_before) as u32;
        (self.path(found) == Some(path)).then_some(found)
    }

    fn record(&self, file: u32) -> Option<&[u8]> {
        let start = file as usize * FILE_BYTES;
        self.files.get(start..start + FILE_BYTES)
    }

    /// The files that may have a match. Files whose content is not known are not among them.
    ///
    /// # Errors
    /// A posting list is damaged or can't be read.
    pub fn candidates(&self, query: &TrigramQuery) -> Result<NumberSet, TrigramIndexError> {
        Ok(self.files_of(&self.parts(query, &Stop::never())?))
    }

    /// The files with one of these parts.
    pub(super) fn files_of(&self, parts: &NumberSet) -> NumberSet {
        let mut files = NumberSet::none(self.len());
        let ends_before = |file: u32, part| self.parts_up_to(file).is_some_and(|end| end <= part);
        let mut file = 0;
        parts.for_each(|part| {
            // The next one is near if there are many, and if there are few there is time.
            let mut step = 1;
            while ends_before(file + step - 1, part) {
                file += step;
                step *= 2;
            }
            file += partition(step as usize - 1, |near| ends_before(file + near as u32, part)) as u32;
            files.insert(file);
        });
        files
    }

    /// The parts of the files up to this one, and of it.
    fn parts_up_to(&self, file: u32) -> Option<u32> {
        Some(u32_at(self.record(file)?, 44))
    }

    /// The numbers of the parts of a file.
    pub(super) fn parts_of(&self, file: u32) -> Option<Range<u32>> {
        let first = match file.checked_sub(1) {
            Some(before) => self.parts_up_to(before)?,
            None => 0,
        };
        Some(first..self.parts_up_to(file)?)
    }

    /// Where a part ends.
    pub(super) fn part_end(&self, part: u32) -> Option<PartEnd> {
        let at = part as usize * PART_END_BYTES;
        let record = self.part_ends.get(at..at + PART_END_BYTES)?;
        Some(PartEnd { bytes: u32_at(record, 0), feeds: u32_at(record, 4) })
    }

    /// The stretches of a file that are made of these parts; `None` where that can't be told.
    pub(super) fn stretches(&self, file: u32, parts: &NumberSet) -> Option<Vec<Stretch>> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut start = PartEnd::default();
        for part in self.parts_of(file)? {
            let end = self.part_end(part)?;
            if end.bytes <= start.bytes {
                return None;
            }
            if parts.contains(part) {
                let bytes = u64::from(start.bytes)..u64::from(end.bytes);
                match stretches.last_mut() {
                    Some(last) if last.bytes.end == bytes.start => last.bytes.end = bytes.end,
                    _ => stretches.push(Stretch { bytes, feeds: u64::from(start.feeds) }),
                }
            }
            start = end;
        }
        Some(stretches)
    }

    /// The parts of files that may have a match. What matches lies in a line, and so in one part. For a call that must end
    /// they are more.
    pub(super) fn parts(&self, query: &TrigramQuery, stop: &Stop) -> Result<NumberSet, TrigramIndexError> {
        if stop.check().is_some() {
            return Ok(NumberSet::all(self.part_count));
        }
        match query {
            TrigramQuery::Any => Ok(NumberSet::all(self.part_count)),
            TrigramQuery::Nothing => Ok(NumberSet::none(self.part_count)),
            TrigramQuery::Has(trigram) => self.parts_with(*trigram),
            TrigramQuery::OneOf(queries) => {
                let mut parts = NumberSet::none(self.part_count);
                for query in queries {
                    parts.unite(&self.parts(query, stop)?);
                }
                Ok(parts)
            }
            TrigramQuery::Within(..) if self.part_count > MOST_DISTORTED_PARTS => {
                Ok(NumberSet::all(self.part_count))
            }
            TrigramQuery::Within(edits, text) => {
                let (places, all) = text.places();
                let mut missing = vec![all; self.part_count as usize];
                for (trigram, places) in places {
                    self.parts_with(trigram)?.for_each(|part| missing[part as usize] &= !places);
                }
                let mut parts = NumberSet::none(self.part_count);
                let harmed = (0..).zip(&missing).filter(|(_, missing)| are_harmed(**missing, *edits));
                harmed.for_each(|(part, _)| parts.insert(part));
                Ok(parts)
            }
            TrigramQuery::All(queries) => {
                let mut queries: Vec<&TrigramQuery> = queries.iter().collect();
                // The rarest first: the others are then hardly worth reading.
                queries.sort_by_cached_key(|query| self.estimate(query));
                let mut parts: Option<NumberSet> = None;
                for query in queries {
                    match &mut parts {
                        None => parts = Some(self.parts(query, stop)?),
                        // To read a few files takes less time than to read a long list.
                        Some(parts)
                            if u64::from(parts.len()) * PARTS_PER_CANDIDATE
                                < u64::from(self.estimate(query)) =>
                        {
                            break;
                        }
                        Some(parts) => parts.intersect(&self.parts(query, stop)?),
                    }
                }
                Ok(parts.unwrap_or_else(|| NumberSet::all(self.part_count)))
            }
        }
    }

    /// At most so many parts fulfil the query.
    fn estimate(&self, query: &TrigramQuery) -> u32 {
        match query {
            TrigramQuery::Any => self.part_count,
            TrigramQuery::Nothing => 0,
            // What can't be told is found out by whoever reads the list.
            TrigramQuery::Has(trigram) => {
                self.list(*trigram).map_or(self.part_count, |list| list.map_or(0, |list| list.parts))
            }
            TrigramQuery::OneOf(parts) => parts
                .iter()
                .fold(0, |sum, part| u32::saturating_add(sum, self.estimate(part)))
                .min(self.part_count),
            TrigramQuery::Within(edits, text) => {
                let (places, all) = text.places();
                let has = |(trigram, places): (&Trigram, &u64)| {
                    u64::from(self.estimate(&TrigramQuery::Has(*trigram))) * u64::from(places.count_ones())
                };
                // Each of them has so many.
                let least = u64::from(all.count_ones()).saturating_sub(3 * *edits as u64).max(1);
                let most = places.iter().map(has).sum::<u64>() / least;
                u32::try_from(most).unwrap_or(u32::MAX).min(self.part_count)
            }
            TrigramQuery::All(parts) => {
                parts.iter().map(|part| self.estimate(part)).min().unwrap_or(self.part_count)
            }
        }
    }

    /// Checks what opening it does not.
    ///
    /// # Errors
    /// Some of it is damaged or can't be read.
    pub fn check(&self) -> Result<(), TrigramIndexError> {
        self.for_each_list(|_, _| {})
    }

    /// Gives each trigram with the parts that have it, in the order of the numbers of trigrams and of parts.
    pub(super) fn for_each_list(
        &self,
        mut give: impl FnMut(u32, &mut dyn Iterator<Item = u32>),
    ) -> Result<(), TrigramIndexError> {
        let mut start = self.postings.start;
        for page in 0..self.pages_read.len() {
            for record in self.page(page)?.chunks_exact(TRIGRAM_BYTES) {
                let list = List::of(record, start);
                let bytes = self.read_list(&list)?;
                match self.is_bitmap(&bytes) {
                    true => give(u32_at(record, 0), &mut in_bitmap(&bytes)),
                    false => give(u32_at(record, 0), &mut posted(&bytes)),
                }
                start = start.saturating_add(u64::from(list.bytes));
            }
        }
        Ok(())
    }

    /// Whether a posting list is a bitmap of all parts.
    fn is_bitmap(&self, list: &[u8]) -> bool {
        list.len() == self.part_count.div_ceil(8) as usize
    }

    /// A page of the dictionary.
    fn page(&self, page: usize) -> Result<&[u8], TrigramIndexError> {
        let kept = &self.pages_read[page];
        if let Some(page) = kept.get() {
            return Ok(page);
        }
        let start = self.dictionary.start + (page * PAGE_BYTES) as u64;
        let bytes = (self.dictionary.end - start).min(PAGE_BYTES as u64);
        let mut buffer = vec![0; bytes as usize].into_boxed_slice();
        self.reader.read_exact_at(&mut buffer, start)?;
        let checksum = u32_at(&self.pages, page * PAGE_RECORD_BYTES + 4);
        match crc32fast::hash(&buffer) == checksum {
            true => Ok(kept.get_or_init(|| buffer)),
            false => Err(TrigramIndexError::Damaged),
        }
    }

    /// The posting list of a trigram; none if no part has it.
    fn list(&self, trigram: Trigram) -> Result<Option<List>, TrigramIndexError> {
        let begins_before = |page| u32_at(&self.pages, page * PAGE_RECORD_BYTES) <= trigram.number();
        let behind = partition(self.pages_read.len(), begins_before);
        let Some(page) = behind.checked_sub(1) else { return Ok(None) };
        let records = self.page(page)?;
        let number = |record: usize| u32_at(records, record * TRIGRAM_BYTES);
        let count = records.len() / TRIGRAM_BYTES;
        let found = partition(count, |record| number(record) < trigram.number());
        if found == count || number(found) != trigram.number() {
            return Ok(None);
        }
        let (before, record) = records.split_at(found * TRIGRAM_BYTES);
        let lengths = before.chunks_exact(TRIGRAM_BYTES).map(|record| u64::from(u32_at(record, 8)));
        let start = u64_at(&self.pages, page * PAGE_RECORD_BYTES + 8);
        let start = self.postings.start.saturating_add(start).saturating_add(lengths.sum());
        Ok(Some(List::of(record, start)))
    }

    fn read_list(&self, list: &List) -> Result<Vec<u8>, TrigramIndexError> {
        // What is not there would be asked of memory first.
        if list.start.saturating_add(u64::from(list.bytes)) > self.postings.end {
            return Err(TrigramIndexError::Damaged);
        }
        let mut bytes = vec![0; list.bytes as usize];
        self.reader.read_exact_at(&mut bytes, list.start)?;
        if crc32fast::hash(&bytes) == list.checksum { Ok(bytes) } else { Err(TrigramIndexError::Damaged) }
    }

    fn parts_with(&self, trigram: Trigram) -> Result<NumberSet, TrigramIndexError> {
        let mut parts = NumberSet::none(self.part_count);
        let Some(list) = self.list(trigram)? else { return Ok(parts) };
        let bytes = self.read_list(&list)?;
        match self.is_bitmap(&bytes) {
            true => parts.insert_bitmap(&bytes),
            false => posted(&bytes).for_each(|part| parts.insert(part)),
        }
        Ok(parts)
    }
}

/// A posting list.
struct List {
    /// Parts in it.
    parts: u32,
    start: u64,
    bytes: u32,
    checksum: u32,
}

impl List {
    /// Of its record in the dictionary.
    fn of(record: &[u8], start: u64) -> Self {
        Self { parts: u32_at(record, 4), start, bytes: u32_at(record, 8), checksum: u32_at(record, 12) }
    }
}

/// The first of so many for which `is_before` is false; it is so for all behind.
fn partition(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Parts in a posting list whose reading takes as long as reading one candidate.
const PARTS_PER_CANDIDATE: u64 = 256;

/// Parts up to which it is told which trigrams each of them lacks, in eight bytes: 32 MiB.
const MOST_DISTORTED_PARTS: u32 = 4 << 20;

/// Parts of all files: a thousand times those of the Linux kernel.
const MOST_PARTS: u32 = 100 << 20;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;
