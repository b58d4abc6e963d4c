//! Builds an index file. [`super::segment`] describes the format.

use std::io::{self, Write};

use forage_fs::FileState;

use super::numbers::posted;
use super::postings::{PostingList, Postings};
use super::segment::{Content, HEADER_BYTES, MAGIC, NO_LINES, PAGE_BYTES, PartEnd, VERSION};
use super::trigrams::Trigram;

/// A file to be indexed.
#[derive(Clone, Debug)]
pub struct IndexedFile<'a> {
    /// The path relative to the root.
    pub path: &'a [u8],
    /// The state in which the file was read.
    pub state: FileState,
    /// The kind of its content: indexed, or the reason why it is not.
    pub content: Content,
    /// The number of lines, if known.
    pub lines: Option<u32>,
    /// CRC-32 of the file's bytes; 0 if not all of them were read.
    pub checksum: u32,
    /// The parts, each of whole lines; empty unless the content is [`Content::Indexed`].
    pub parts: &'a [SegmentPart],
}

/// A part of a file to be indexed.
#[derive(Clone, Debug, Default)]
pub struct SegmentPart {
    /// The distinct trigrams.
    pub trigrams: Box<[Trigram]>,
    /// The end of the part in the file; the default if the file's text differs from its bytes.
    pub end: PartEnd,
}

/// Builds an index file.
#[derive(Default)]
pub struct SegmentBuilder {
    files: Vec<u8>,
    paths: Vec<u8>,
    part_ends: Vec<u8>,
    count: u32,
    parts: u32,
    postings: Postings,
}

impl SegmentBuilder {
    /// Adds a file. Files must be added in path order. Returns false if the index is full.
    pub fn add(&mut self, file: &IndexedFile<'_>) -> bool {
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
        self.files.extend(file.checksum.to_le_bytes());
        for (number, part) in (self.parts..).zip(file.parts) {
            self.part_ends.extend(part.end.bytes.to_le_bytes());
            self.part_ends.extend(part.end.feeds.to_le_bytes());
            self.postings.add(number, &part.trigrams);
        }
        (self.count, self.parts) = (next, parts);
        true
    }

    /// The number of files.
    pub fn len(&self) -> u32 {
        self.count
    }

    /// Returns true if no file was added.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Writes the index.
    ///
    /// # Errors
    ///
    /// Returns the errors of `writer`.
    pub fn write(mut self, writer: &mut impl Write) -> io::Result<()> {
        let (mut dictionary, mut starts) = (Vec::new(), Vec::new());
        let mut postings = 0_u64;
        self.postings.finish();
        for (number, posted) in self.postings.lists() {
            if dictionary.len().is_multiple_of(PAGE_BYTES) {
                starts.push(postings);
            }
            let list = self.stored(posted);
            dictionary.extend(number.to_le_bytes());
            dictionary.extend(posted.parts.to_le_bytes());
            dictionary.extend((list.len() as u32).to_le_bytes());
            dictionary.extend(crc32fast::hash(&list).to_le_bytes());
            postings += list.len() as u64;
        }
        let mut pages = Vec::new();
        for (page, start) in dictionary.chunks(PAGE_BYTES).zip(starts) {
            pages.extend_from_slice(&page[..4]);
            pages.extend(crc32fast::hash(page).to_le_bytes());
            pages.extend(start.to_le_bytes());
        }
        let mut header = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
        let mut offset = HEADER_BYTES as u64;
        for section in [&self.files, &self.paths, &dictionary, &pages, &self.part_ends] {
            header.extend(offset.to_le_bytes());
            header.extend((section.len() as u64).to_le_bytes());
            header.extend(crc32fast::hash(section).to_le_bytes());
            offset += section.len() as u64;
        }
        header.extend(offset.to_le_bytes());
        header.extend(postings.to_le_bytes());
        // Each posting list has its own checksum.
        header.extend(0_u32.to_le_bytes());
        header.extend(crc32fast::hash(&header).to_le_bytes());
        for section in [&header, &self.files, &self.paths, &dictionary, &pages, &self.part_ends] {
            writer.write_all(section)?;
        }
        // The dictionary had to come first. We encode each list a second time instead of holding all of them.
        for (_, posted) in self.postings.lists() {
            writer.write_all(&self.stored(posted))?;
        }
        Ok(())
    }

    /// Encodes a posting list in the shorter of its two forms.
    fn stored(&self, list: &PostingList) -> Vec<u8> {
        let bytes = self.postings.bytes_of(list);
        let bitmap_bytes = self.parts.div_ceil(8) as usize;
        if bytes.len() < bitmap_bytes {
            return bytes;
        }
        let mut bitmap = vec![0; bitmap_bytes];
        for part in posted(&bytes) {
            bitmap[part as usize / 8] |= 1_u8 << (part % 8);
        }
        bitmap
    }
}
