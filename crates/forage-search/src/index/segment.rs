//! One index file: written once, read at random.
//!
//! ```text
//! header      magic, version, offset, length and checksum of each section, checksum of all this
//! files       a record of 52 bytes per file, in path order; its last two numbers are the number of parts up
//!             to its end and the checksum of its bytes, 0 if not all of them were read
//! paths       the paths of all files, concatenated
//! dictionary  a record of 16 bytes per trigram, in ascending order: number, parts, length and checksum of
//!             its posting list
//! pages       a record of 16 bytes per 128 trigrams of the dictionary: number of the first, checksum, and
//!             the offset of its first posting list
//! parts       a record of 8 bytes per part: the end of the part in its file in bytes, and the line feeds
//!             before it; 0 if text and bytes differ
//! postings    the posting lists, concatenated
//! ```
//!
//! All numbers are little-endian. A posting list contains the differences of ascending part numbers, or a
//! bitmap of all parts if this is shorter. The dictionary and the posting lists are read and checked on
//! demand, one page and one list at a time; everything else is checked on opening. We therefore detect damage
//! by a disk or a crash before it can change an answer.

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
use super::plan::{TrigramQuery, can_be_destroyed};
use super::trigrams::Trigram;

pub(super) const MAGIC: [u8; 8] = *b"FORAGEIX";
/// The format version. This must be increased when the format or the meaning of its content changes. Files of
/// other versions are rebuilt.
pub(super) const VERSION: u32 = 5;
pub(super) const SECTIONS: usize = 6;
/// Magic, version, sections, checksum.
pub(super) const HEADER_BYTES: usize = 8 + 4 + SECTIONS * 20 + 4;
const FILE_BYTES: usize = 52;
const TRIGRAM_BYTES: usize = 16;
/// The size of a dictionary page.
pub(super) const PAGE_BYTES: usize = 128 * TRIGRAM_BYTES;
const PAGE_RECORD_BYTES: usize = 16;
const PART_END_BYTES: usize = 8;

/// The content of a file as an index knows it: its trigrams, or the reason why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// The trigrams of the file are in the index.
    Indexed,
    /// The file is binary, judging by its beginning.
    Binary,
    /// The file is too large or has too many trigrams for the index to be selective.
    Large,
    /// The file had just been changed, so its state would not reveal another change.
    Young,
    /// The file system does not write back changes through a memory mapping, so the state does not reveal
    /// them.
    Unreliable,
}

impl Content {
    const ALL: [Self; 5] = [Self::Indexed, Self::Binary, Self::Large, Self::Young, Self::Unreliable];
}

/// The end of a part, counted from the start of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartEnd {
    /// Bytes of the file before the end.
    pub bytes: u32,
    /// Line feeds before the end.
    pub feeds: u32,
}

/// A run of adjacent parts of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePart {
    /// The byte range.
    pub(crate) bytes: Range<u64>,
    /// Line feeds of the file before it.
    pub(crate) feeds: u64,
}

/// Marks an unknown number of lines.
pub(super) const NO_LINES: u32 = u32::MAX;

/// Bytes that support random access.
pub trait ReadAt {
    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    ///
    /// Returns an error if they can't be read or there are fewer bytes.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Reads the bytes of an existing range.
    ///
    /// # Errors
    ///
    /// Returns an error if they can't be read.
    fn bytes(&self, range: Range<u64>) -> io::Result<Bytes> {
        let mut buffer = vec![0; (range.end - range.start) as usize];
        self.read_exact_at(&mut buffer, range.start)?;
        Ok(buffer.into())
    }

    /// Determines the total number of bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if it can't be determined.
    fn byte_len(&self) -> io::Result<u64>;
}

/// Reasons why an index can't be used. A caller should then scan instead, and build a new index.
#[derive(Debug, Error)]
pub enum TrigramIndexError {
    /// The index can't be read.
    #[error("the index can't be read: {0}")]
    Io(#[from] io::Error),
    /// The file has another format version or is not an index.
    #[error("the index has a different format")]
    Format,
    /// The content does not match its checksums.
    #[error("the index is damaged")]
    Damaged,
}

/// An index file that is open for queries.
pub struct Segment {
    reader: Box<dyn ReadAt + Send + Sync>,
    files: Bytes,
    paths: Bytes,
    /// The range of the dictionary, and the pages read so far.
    dictionary: Range<u64>,
    pages_read: Vec<OnceLock<Box<[u8]>>>,
    pages: Bytes,
    part_ends: Bytes,
    /// The range of the posting lists.
    postings: Range<u64>,
    /// Number of parts of all files.
    part_count: u32,
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment of {} files", self.len())
    }
}

impl Segment {
    /// Opens an index and checks everything except the dictionary and the posting lists.
    ///
    /// # Errors
    ///
    /// Returns a [`TrigramIndexError`] if the file can't be read, has another format, or is damaged.
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
            // We check against the file's length first, so that a damaged length can't cause a huge
            // allocation.
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
            // The writer counts up and respects the limit, so any other number is damage.
            if end < part_count || end > MAX_PARTS {
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

    /// The number of files.
    pub fn len(&self) -> u32 {
        (self.files.len() / FILE_BYTES) as u32
    }

    /// Returns true if the index has no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The number of parts of all files.
    pub(super) fn part_count(&self) -> u32 {
        self.part_count
    }

    /// Looks up the path of a file.
    pub fn path(&self, file: u32) -> Option<&[u8]> {
        let end_of = |file: u32| Some(u32_at(self.record(file)?, 32) as usize);
        let start = match file.checked_sub(1) {
            Some(before) => end_of(before)?,
            None => 0,
        };
        self.paths.get(start..end_of(file)?)
    }

    /// Looks up the state in which a file was indexed, and the kind of its content.
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

    /// Looks up the number of lines of a file, if known.
    pub fn lines(&self, file: u32) -> Option<u32> {
        Some(u32_at(self.record(file)?, 40)).filter(|lines| *lines != NO_LINES)
    }

    /// Looks up the CRC-32 of a file's bytes; 0 if not all of them were read.
    pub(super) fn checksum(&self, file: u32) -> Option<u32> {
        Some(u32_at(self.record(file)?, 48))
    }

    /// Finds the file with this path. The search starts at `near` and the file before it.
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

    /// Finds the files that may have a match. Files with unknown content are not included.
    ///
    /// # Errors
    ///
    /// Returns an error if a posting list is damaged or can't be read.
    pub fn candidates(&self, query: &TrigramQuery) -> Result<NumberSet, TrigramIndexError> {
        Ok(self.files_of(&self.parts(query, &Stop::never())?))
    }

    /// Finds the files that have one of these parts.
    pub(super) fn files_of(&self, parts: &NumberSet) -> NumberSet {
        let mut files = NumberSet::none(self.len());
        let ends_before = |file: u32, part| self.parts_up_to(file).is_some_and(|end| end <= part);
        let mut file = 0;
        parts.for_each(|part| {
            // This is a galloping search: with many parts the next file is near, with few there is time.
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

    /// Counts the parts of all files up to and including this one.
    fn parts_up_to(&self, file: u32) -> Option<u32> {
        Some(u32_at(self.record(file)?, 44))
    }

    /// The part numbers of a file.
    pub(super) fn parts_of(&self, file: u32) -> Option<Range<u32>> {
        let first = match file.checked_sub(1) {
            Some(before) => self.parts_up_to(before)?,
            None => 0,
        };
        Some(first..self.parts_up_to(file)?)
    }

    /// Looks up the end of a part.
    pub(super) fn part_end(&self, part: u32) -> Option<PartEnd> {
        let at = part as usize * PART_END_BYTES;
        let record = self.part_ends.get(at..at + PART_END_BYTES)?;
        Some(PartEnd { bytes: u32_at(record, 0), feeds: u32_at(record, 4) })
    }

    /// Merges these parts of a file into ranges. Returns `None` if the ranges are unknown.
    pub(super) fn ranges(&self, file: u32, parts: &NumberSet) -> Option<Vec<FilePart>> {
        let mut stretches: Vec<FilePart> = Vec::new();
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
                    _ => stretches.push(FilePart { bytes, feeds: u64::from(start.feeds) }),
                }
            }
            start = end;
        }
        Some(stretches)
    }

    /// Finds the parts that may have a match. A match is within a line, and so within one part. If the call
    /// must end, the result may contain more parts.
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
            TrigramQuery::Within(..) if self.part_count > MAX_FUZZY_PARTS => {
                Ok(NumberSet::all(self.part_count))
            }
            TrigramQuery::Within(edits, text) => {
                let (places, all) = text.places();
                let mut missing = vec![all; self.part_count as usize];
                for (trigram, places) in places {
                    self.parts_with(trigram)?.for_each(|part| missing[part as usize] &= !places);
                }
                let mut parts = NumberSet::none(self.part_count);
                let harmed = (0..).zip(&missing).filter(|(_, missing)| can_be_destroyed(**missing, *edits));
                harmed.for_each(|(part, _)| parts.insert(part));
                Ok(parts)
            }
            TrigramQuery::All(queries) => {
                let mut queries: Vec<&TrigramQuery> = queries.iter().collect();
                // We process the rarest first, which makes the others hardly worth reading.
                queries.sort_by_cached_key(|query| self.estimate(query));
                let mut parts: Option<NumberSet> = None;
                for query in queries {
                    match &mut parts {
                        None => parts = Some(self.parts(query, stop)?),
                        // At this point we stop: reading a few files takes less time than reading a long
                        // list.
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

    /// Estimates an upper bound for the number of parts that fulfill the query.
    fn estimate(&self, query: &TrigramQuery) -> u32 {
        match query {
            TrigramQuery::Any => self.part_count,
            TrigramQuery::Nothing => 0,
            // If the list can't be read, we will report this when we read it.
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
                // Each matching part must contain at least this many of them.
                let least = u64::from(all.count_ones()).saturating_sub(3 * *edits as u64).max(1);
                let max = places.iter().map(has).sum::<u64>() / least;
                u32::try_from(max).unwrap_or(u32::MAX).min(self.part_count)
            }
            TrigramQuery::All(parts) => {
                parts.iter().map(|part| self.estimate(part)).min().unwrap_or(self.part_count)
            }
        }
    }

    /// Checks everything that [`Segment::open`] does not check.
    ///
    /// # Errors
    ///
    /// Returns an error if some of it is damaged or can't be read.
    pub fn check(&self) -> Result<(), TrigramIndexError> {
        self.for_each_list(|_, _| {})
    }

    /// Calls `give` with each trigram and the parts that contain it, both in ascending order.
    pub(super) fn for_each_list(
        &self,
        mut give: impl FnMut(u32, &mut dyn Iterator<Item = u32>),
    ) -> Result<(), TrigramIndexError> {
        let mut start = self.postings.start;
        for page in 0..self.pages_read.len() {
            for record in self.page(page)?.chunks_exact(TRIGRAM_BYTES) {
                let list = List::from_record(record, start);
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

    /// Returns true if a posting list is stored as a bitmap of all parts. The builder stores differences only
    /// if they take fewer bytes, so the length decides.
    fn is_bitmap(&self, list: &[u8]) -> bool {
        list.len() == self.part_count.div_ceil(8) as usize
    }

    /// Returns a page of the dictionary, which we read and check only once.
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

    /// Looks up the posting list of a trigram. Returns `None` if no part contains it.
    fn list(&self, trigram: Trigram) -> Result<Option<List>, TrigramIndexError> {
        let begins_before = |page| u32_at(&self.pages, page * PAGE_RECORD_BYTES) <= trigram.number();
        let after = partition(self.pages_read.len(), begins_before);
        let Some(page) = after.checked_sub(1) else { return Ok(None) };
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
        Ok(Some(List::from_record(record, start)))
    }

    fn read_list(&self, list: &List) -> Result<Vec<u8>, TrigramIndexError> {
        // As in `open`, a damaged length must not cause a huge allocation.
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

/// The location of a posting list.
struct List {
    /// Number of parts in it.
    parts: u32,
    start: u64,
    bytes: u32,
    checksum: u32,
}

impl List {
    /// Parses a record of the dictionary.
    fn from_record(record: &[u8], start: u64) -> Self {
        Self { parts: u32_at(record, 4), start, bytes: u32_at(record, 8), checksum: u32_at(record, 12) }
    }
}

/// Finds the first index for which `is_before` is false, or `count` if there is none. `is_before` must be
/// false for all later indices.
fn partition(count: usize, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low.midpoint(high);
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Number of posting list entries that take as long to read as one candidate file.
const PARTS_PER_CANDIDATE: u64 = 256;

/// Maximum number of parts for which we track the missing trigrams, 8 bytes each: 32 MiB.
const MAX_FUZZY_PARTS: u32 = 4 << 20;

/// Maximum number of parts: a thousand times those of the Linux kernel.
const MAX_PARTS: u32 = 100 << 20;

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
