//! One index file: written once, read at random.
//!
//! ```text
//! header      magic, version, offset, length and checksum of each section, checksum of all that
//! files       a record of 48 bytes per file, in path order; its last number is that of the parts up to its end
//! paths       the paths of all files, one behind the other
//! dictionary  a record of 16 bytes per trigram, in order of their numbers: number, parts, length and checksum of its
//!             posting list
//! parts       a record of 8 bytes per part: the bytes of its file up to its end, and the line feeds in them; 0 where text
//!             and bytes are not the same
//! postings    the posting lists, one behind the other
//! ```
//!
//! All numbers are little-endian. A posting list holds the differences of ascending numbers of parts, or a bitmap of all
//! parts where that is shorter. All but the posting lists are read and checked when it is opened, a posting list when it is
//! needed: whatever a disk or a crash made of the file is found out before it can change an answer.

use std::cmp::Ordering;
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use forage_fs::{FileState, compare_paths};
use thiserror::Error;

use super::files::{FileSet, posted};
use super::plan::Query;
use super::postings::{PostingList, Postings};
use super::trigrams::Trigram;

const MAGIC: [u8; 8] = *b"FORAGEIX";
/// Raised when the format, or what stands in it, changes; files of another version are built anew.
const VERSION: u32 = 3;
const SECTIONS: usize = 5;
/// Magic, version, sections, checksum.
const HEADER_BYTES: usize = 8 + 4 + SECTIONS * 20 + 4;
const FILE_BYTES: usize = 48;
const TRIGRAM_BYTES: usize = 16;
const PART_END_BYTES: usize = 8;

/// What an index knows of a file.
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
}

impl Content {
    const ALL: [Self; 4] = [Self::Indexed, Self::Binary, Self::Large, Self::Young];
}

/// A file for an index.
#[derive(Clone, Debug)]
pub struct FileEntry<'a> {
    /// Its path below the root.
    pub path: &'a [u8],
    /// The state in which it was read.
    pub state: FileState,
    /// What it holds.
    pub content: Content,
    /// Its lines, where they are known.
    pub lines: Option<u32>,
    /// Its parts, which are whole lines; none unless it is [`Content::Indexed`].
    pub parts: &'a [Part],
}

/// A part of a file for an index.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Its distinct trigrams.
    pub trigrams: Box<[Trigram]>,
    /// Where it ends; the default where the text of the file is not its bytes.
    pub end: PartEnd,
}

/// Where a part of a file ends.
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
const NO_LINES: u32 = u32::MAX;

/// An index that is being made.
#[derive(Default)]
pub struct Builder {
    files: Vec<u8>,
    paths: Vec<u8>,
    part_ends: Vec<u8>,
    count: u32,
    parts: u32,
    postings: Postings,
}

impl Builder {
    /// Adds a file behind those before it in path order. False when it holds as much as it can.
    pub fn add(&mut self, file: &FileEntry<'_>) -> bool {
        if self.postings.is_full() {
            return false;
        }
        let Ok(end) = u32::try_from(self.paths.len() + file.path.len()) else { return false };
        let Some(next) = self.count.checked_add(1) else { return false };
        let parts = u32::try_from(file.parts.len()).ok().and_then(|parts| self.parts.checked_add(parts));
        let Some(parts) = parts else { return false };
        self.paths.extend_from_slice(file.path);
        self.files.extend(file.state.size.to_le_bytes());
        self.files.extend(file.state.modified.to_le_bytes());
        self.files.extend(file.state.changed.to_le_bytes());
        self.files.extend(file.state.inode.to_le_bytes());
        self.files.extend(end.to_le_bytes());
        self.files.extend((file.content as u32).to_le_bytes());
        self.files.extend(file.lines.unwrap_or(NO_LINES).to_le_bytes());
        self.files.extend(parts.to_le_bytes());
        for (number, part) in (self.parts..).zip(file.parts) {
            self.part_ends.extend(part.end.bytes.to_le_bytes());
            self.part_ends.extend(part.end.feeds.to_le_bytes());
            self.postings.add(number, &part.trigrams);
        }
        (self.count, self.parts) = (next, parts);
        true
    }

    /// Files in it.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Whether no file is in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes the index.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn write(mut self, writer: &mut impl Write) -> io::Result<()> {
        let mut dictionary = Vec::new();
        let (mut postings, mut checksum) = (0_u64, crc32fast::Hasher::new());
        self.postings.finish();
        for (number, posted) in self.postings.lists() {
            let list = self.stored(posted);
            dictionary.extend(number.to_le_bytes());
            dictionary.extend(posted.parts.to_le_bytes());
            dictionary.extend((list.len() as u32).to_le_bytes());
            dictionary.extend(crc32fast::hash(&list).to_le_bytes());
            postings += list.len() as u64;
        }
        let mut header = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
        let mut offset = HEADER_BYTES as u64;
        for section in [&self.files, &self.paths, &dictionary, &self.part_ends] {
            header.extend(offset.to_le_bytes());
            header.extend((section.len() as u64).to_le_bytes());
            header.extend(crc32fast::hash(section).to_le_bytes());
            offset += section.len() as u64;
        }
        header.extend(offset.to_le_bytes());
        header.extend(postings.to_le_bytes());
        // Each posting list has its own.
        header.extend(0_u32.to_le_bytes());
        checksum.update(&header);
        header.extend(checksum.finalize().to_le_bytes());
        for section in [&header, &self.files, &self.paths, &dictionary, &self.part_ends] {
            writer.write_all(section)?;
        }
        for (_, posted) in self.postings.lists() {
            writer.write_all(&self.stored(posted))?;
        }
        Ok(())
    }

    /// A posting list in the shorter of its two forms.
    fn stored<'a>(&self, list: &'a PostingList) -> std::borrow::Cow<'a, [u8]> {
        let bitmap_bytes = self.parts.div_ceil(8) as usize;
        if list.bytes.len() < bitmap_bytes {
            return list.bytes.as_slice().into();
        }
        let mut bitmap = vec![0; bitmap_bytes];
        for part in posted(&list.bytes) {
            bitmap[part as usize / 8] |= 1_u8 << (part % 8);
        }
        bitmap.into()
    }
}

/// Bytes that can be read anywhere.
pub trait ReadAt {
    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// # Errors
    /// They can't be read, or there are not so many.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// How many bytes there are.
    ///
    /// # Errors
    /// That can't be told.
    fn byte_len(&self) -> io::Result<u64>;
}

/// Why an index can't be used. Whoever sees one scans instead, and builds a new index.
#[derive(Debug, Error)]
pub enum IndexError {
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
    files: Vec<u8>,
    paths: Vec<u8>,
    dictionary: Vec<u8>,
    part_ends: Vec<u8>,
    /// Where the posting list of each trigram of the dictionary begins.
    starts: Vec<u64>,
    /// The file of each part.
    file_of: Vec<u32>,
}

impl fmt::Debug for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Segment of {} files", self.len())
    }
}

impl Segment {
    /// Opens an index and checks all of it but the posting lists.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn open(reader: impl ReadAt + Send + Sync + 'static) -> Result<Self, IndexError> {
        let mut header = [0; HEADER_BYTES];
        let length = reader.byte_len()?;
        if length < HEADER_BYTES as u64 {
            return Err(IndexError::Damaged);
        }
        reader.read_exact_at(&mut header, 0)?;
        let (said, checksum) = header.split_at(HEADER_BYTES - 4);
        if said[..8] != MAGIC || u32_at(said, 8) != VERSION {
            return Err(IndexError::Format);
        }
        if crc32fast::hash(said) != u32_at(checksum, 0) {
            return Err(IndexError::Damaged);
        }
        let section = |index: usize| {
            let at = 12 + index * 20;
            (u64_at(said, at), u64_at(said, at + 8), u32_at(said, at + 16))
        };
        let read = |index: usize| {
            let (offset, bytes, checksum) = section(index);
            // A length that the file does not have would be asked of memory first.
            if offset.checked_add(bytes).is_none_or(|end| end > length) {
                return Err(IndexError::Damaged);
            }
            let mut buffer = vec![0; bytes as usize];
            reader.read_exact_at(&mut buffer, offset)?;
            match crc32fast::hash(&buffer) == checksum {
                true => Ok(buffer),
                false => Err(IndexError::Damaged),
            }
        };
        let (files, paths, dictionary, part_ends) = (read(0)?, read(1)?, read(2)?, read(3)?);
        let (mut start, postings, _) = section(4);
        let end = start.checked_add(postings).filter(|end| *end == length).ok_or(IndexError::Damaged)?;
        let mut starts = Vec::with_capacity(dictionary.len() / TRIGRAM_BYTES);
        for record in dictionary.chunks_exact(TRIGRAM_BYTES) {
            starts.push(start);
            start += u64::from(u32_at(record, 8));
        }
        let whole = files.len().is_multiple_of(FILE_BYTES) && dictionary.len().is_multiple_of(TRIGRAM_BYTES);
        if !whole || start != end {
            return Err(IndexError::Damaged);
        }
        let mut file_of = Vec::new();
        for (file, record) in files.chunks_exact(FILE_BYTES).enumerate() {
            let end = u32_at(record, 44) as usize;
            // Whoever wrote it counted up, and not beyond what can be held.
            if end < file_of.len() || end > MOST_PARTS {
                return Err(IndexError::Damaged);
            }
            file_of.resize(end, file as u32);
        }
        if part_ends.len() != file_of.len() * PART_END_BYTES {
            return Err(IndexError::Damaged);
        }
        Ok(Self { reader: Box::new(reader), files, paths, dictionary, part_ends, starts, file_of })
    }

    /// Files in it.
    pub fn len(&self) -> u32 {
        (self.files.len() / FILE_BYTES) as u32
    }

    /// Whether no file is in it.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
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

    /// The file with this path; `near`, and what is before it, is where it is looked for first.
    pub fn find(&self, path: &[u8], near: u32) -> Option<u32> {
        for near in [near, near.wrapping_sub(1)] {
            if self.path(near) == Some(path) {
                return Some(near);
            }
        }
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match compare_paths(self.path(middle)?, path) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(middle),
            }
        }
        None
    }

    fn record(&self, file: u32) -> Option<&[u8]> {
        let start = file as usize * FILE_BYTES;
        self.files.get(start..start + FILE_BYTES)
    }

    /// The files that may have a match. Files whose content is not known are not among them.
    ///
    /// # Errors
    /// A posting list is damaged or can't be read.
    pub fn candidates(&self, query: &Query) -> Result<FileSet, IndexError> {
        Ok(self.files_of(&self.parts(query)?))
    }

    /// The files with one of these parts.
    pub(super) fn files_of(&self, parts: &FileSet) -> FileSet {
        let mut files = FileSet::none(self.len());
        parts.for_each(|part| files.insert(self.file_of[part as usize]));
        files
    }

    /// The stretches of a file that are made of these parts; `None` where that can't be told.
    pub(super) fn stretches(&self, file: u32, parts: &FileSet) -> Option<Vec<Stretch>> {
        let parts_up_to = |file: u32| Some(u32_at(self.record(file)?, 44));
        let first = match file.checked_sub(1) {
            Some(before) => parts_up_to(before)?,
            None => 0,
        };
        let mut stretches: Vec<Stretch> = Vec::new();
        let mut start = PartEnd::default();
        for part in first..parts_up_to(file)? {
            let record = self.part_ends.get(part as usize * PART_END_BYTES..)?;
            let end = PartEnd { bytes: u32_at(record, 0), feeds: u32_at(record, 4) };
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

    /// The parts of files that may have a match. What matches lies in a line, and so in one part.
    pub(super) fn parts(&self, query: &Query) -> Result<FileSet, IndexError> {
        match query {
            Query::Any => Ok(FileSet::all(self.part_count())),
            Query::Nothing => Ok(FileSet::none(self.part_count())),
            Query::Has(trigram) => self.parts_with(*trigram),
            Query::OneOf(queries) => {
                let mut parts = FileSet::none(self.part_count());
                for query in queries {
                    parts.unite(&self.parts(query)?);
                }
                Ok(parts)
            }
            Query::AtLeast(least, trigrams) => {
                let mut counts = vec![0_u8; self.file_of.len()];
                for trigram in trigrams {
                    self.parts_with(*trigram)?.for_each(|part| {
                        let count = &mut counts[part as usize];
                        *count = count.saturating_add(1);
                    });
                }
                let mut parts = FileSet::none(self.part_count());
                let enough = (0..).zip(&counts).filter(|(_, count)| usize::from(**count) >= *least);
                enough.for_each(|(part, _)| parts.insert(part));
                Ok(parts)
            }
            Query::All(queries) => {
                let mut queries: Vec<&Query> = queries.iter().collect();
                // The rarest first: the others are then hardly worth reading.
                queries.sort_by_key(|query| self.estimate(query));
                let mut parts: Option<FileSet> = None;
                for query in queries {
                    match &mut parts {
                        None => parts = Some(self.parts(query)?),
                        // To read a few files takes less time than to read a long list.
                        Some(parts)
                            if u64::from(parts.len()) * PARTS_PER_CANDIDATE
                                < u64::from(self.estimate(query)) =>
                        {
                            break;
                        }
                        Some(parts) => parts.intersect(&self.parts(query)?),
                    }
                }
                Ok(parts.unwrap_or_else(|| FileSet::all(self.part_count())))
            }
        }
    }

    fn part_count(&self) -> u32 {
        self.file_of.len() as u32
    }

    /// At most so many parts fulfil the query.
    fn estimate(&self, query: &Query) -> u32 {
        match query {
            Query::Any => self.part_count(),
            Query::Nothing => 0,
            Query::Has(trigram) => self.entry(*trigram).map_or(0, |(_, entry)| u32_at(entry, 4)),
            Query::OneOf(parts) => parts
                .iter()
                .fold(0, |sum, part| u32::saturating_add(sum, self.estimate(part)))
                .min(self.part_count()),
            Query::AtLeast(least, trigrams) => {
                let has = |trigram: &Trigram| u64::from(self.estimate(&Query::Has(*trigram)));
                let most = trigrams.iter().map(has).sum::<u64>() / (*least as u64).max(1);
                u32::try_from(most).unwrap_or(u32::MAX).min(self.part_count())
            }
            Query::All(parts) => {
                parts.iter().map(|part| self.estimate(part)).min().unwrap_or(self.part_count())
            }
        }
    }

    fn entry(&self, trigram: Trigram) -> Option<(usize, &[u8])> {
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = low.midpoint(high);
            let entry = &self.dictionary[middle * TRIGRAM_BYTES..][..TRIGRAM_BYTES];
            match u32_at(entry, 0).cmp(&trigram.number()) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some((middle, entry)),
            }
        }
        None
    }

    fn parts_with(&self, trigram: Trigram) -> Result<FileSet, IndexError> {
        let mut parts = FileSet::none(self.part_count());
        let Some((index, entry)) = self.entry(trigram) else { return Ok(parts) };
        let mut list = vec![0; u32_at(entry, 8) as usize];
        self.reader.read_exact_at(&mut list, self.starts[index])?;
        if crc32fast::hash(&list) != u32_at(entry, 12) {
            return Err(IndexError::Damaged);
        }
        match list.len() == self.part_count().div_ceil(8) as usize {
            true => parts.insert_bitmap(&list),
            false => posted(&list).for_each(|part| parts.insert(part)),
        }
        Ok(parts)
    }
}

/// Parts in a posting list whose reading takes as long as reading one candidate.
const PARTS_PER_CANDIDATE: u64 = 256;

/// Parts of all files: a thousand times those of the Linux kernel.
const MOST_PARTS: usize = 100 << 20;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::Trigrams;
    use crate::pattern::{Pattern, PatternOptions};

    fn state(number: usize) -> FileState {
        FileState { size: number as u64, modified: -5, changed: i64::MAX, inode: u64::MAX - number as u64 }
    }

    fn index_of(texts: &[String]) -> Vec<u8> {
        let (mut builder, mut trigrams) = (Builder::default(), Trigrams::default());
        for (number, text) in texts.iter().enumerate() {
            let path = format!("dir/{number:03}");
            assert!(
                builder.add(&FileEntry {
                    path: path.as_bytes(),
                    state: state(number),
                    content: Content::Indexed,
                    lines: Some(number as u32),
                    parts: &text
                        .split_inclusive('\n')
                        .map(|part| Part {
                            trigrams: trigrams.of(part.as_bytes()).into(),
                            end: PartEnd::default(),
                        })
                        .collect::<Vec<_>>(),
                })
            );
        }
        let mut bytes = Vec::new();
        builder.write(&mut bytes).unwrap();
        bytes
    }

    fn texts() -> impl Strategy<Value = Vec<String>> {
        let word =
            prop::sample::select(vec!["retry", "Retries", "walk", "foo", "bar", " ", "\n", "ab", "éa", "x9"]);
        let text = prop::collection::vec(word, 0..12).prop_map(|words| words.concat());
        prop::collection::vec(text, 0..40)
    }

    const PATTERNS: [&str; 8] =
        ["retr", "(?i)RETRY|walk", "foo.*bar", "ab", "nothere", "r[ei]t", "fo+b", "éa"];

    proptest! {
        #[test]
        fn candidates_are_the_files_that_fulfil_the_query(texts in texts()) {
            let segment = Segment::open(index_of(&texts)).unwrap();
            prop_assert_eq!(segment.len() as usize, texts.len());
            for source in PATTERNS {
                let query = Query::of(&Pattern::new(source, &PatternOptions::default()).unwrap());
                let candidates = segment.candidates(&query).unwrap();
                let mut trigrams = Trigrams::default();
                for (number, text) in texts.iter().enumerate() {
                    let fulfils = text.split_inclusive('\n').any(|part| {
                        let found = trigrams.of(part.as_bytes());
                        query.is_met(&|trigram| found.contains(&trigram))
                    });
                    // A list that is not worth reading lets more pass, never fewer.
                    prop_assert!(candidates.contains(number as u32) || !fulfils, "{} {:?}", source, text);
                }
            }
            for number in 0..texts.len() {
                let path = format!("dir/{number:03}");
                prop_assert_eq!(segment.path(number as u32), Some(path.as_bytes()));
                prop_assert_eq!(segment.state(number as u32), Some((state(number), Content::Indexed)));
                prop_assert_eq!(segment.lines(number as u32), Some(number as u32));
                for near in [0, number as u32, number as u32 + 1, u32::MAX] {
                    prop_assert_eq!(segment.find(path.as_bytes(), near), Some(number as u32));
                }
            }
            prop_assert_eq!(segment.path(texts.len() as u32), None);
            prop_assert_eq!(segment.find(b"dir/none", 0), None);
        }

        /// A file that is cut short or has another byte somewhere is found out, or answers as before.
        #[test]
        fn damage_changes_no_answer(texts in texts(), at in any::<prop::sample::Index>(), flip in 1..=255_u8, cut in any::<bool>()) {
            let whole = index_of(&texts);
            let mut damaged = whole.clone();
            let at = at.index(whole.len());
            if cut {
                damaged.truncate(at);
            } else {
                damaged[at] ^= flip;
            }
            let (whole, Ok(damaged)) = (Segment::open(whole).unwrap(), Segment::open(damaged)) else { return Ok(()) };
            for source in PATTERNS {
                let query = Query::of(&Pattern::new(source, &PatternOptions::default()).unwrap());
                if let Ok(candidates) = damaged.candidates(&query) {
                    prop_assert_eq!(candidates, whole.candidates(&query).unwrap(), "{}", source);
                }
            }
        }
    }

    #[test]
    fn rare_trigrams_leave_few_candidates() {
        let texts: Vec<String> = (0..3_000).map(|number| format!("common text {number:05}x")).collect();
        let segment = Segment::open(index_of(&texts)).unwrap();
        let candidates = |source: &str| {
            let query = Query::of(&Pattern::new(source, &PatternOptions::default()).unwrap());
            segment.candidates(&query).unwrap().len()
        };
        assert_eq!(candidates("common"), 3_000);
        assert_eq!(candidates("text 02999x"), 1);
        assert_eq!(candidates("no such text"), 0);
    }
}
