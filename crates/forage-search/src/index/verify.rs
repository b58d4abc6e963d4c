//! Verifies an index against the text of its files.

use std::collections::BTreeSet;

use forage_base::Stop;
use forage_fs::{OpenedFile, ReadBuffer, RelPath, Root};

use super::build::TextReader;
use super::numbers::NumberSet;
use super::segment::{Content, PartEnd, Segment, TrigramIndexError};
use crate::limits;

/// The result of comparing an index with the text of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// Number of files that were read and compared.
    pub compared: u64,
    /// Number of bytes of these files.
    pub bytes: u64,
    /// Number of files that have changed since they were indexed or can't be read. Every search will read or
    /// report them.
    pub changed: u64,
    /// Number of files whose text differs from the index although their state is unchanged.
    pub different: u64,
    /// The first of the different files.
    pub named: BTreeSet<RelPath>,
}

impl Verification {
    fn name(&mut self, path: RelPath) {
        self.different += 1;
        if self.named.len() < limits::DIFFERENT_FILES_NAMED {
            self.named.insert(path);
        }
    }

    /// Adds the result for another layer of the same index.
    pub fn add(&mut self, other: Self) {
        self.compared += other.compared;
        self.bytes += other.bytes;
        self.changed += other.changed;
        self.different += other.different;
        self.named.extend(other.named);
        while self.named.len() > limits::DIFFERENT_FILES_NAMED {
            self.named.pop_last();
        }
    }
}

/// Recomputes all data of unchanged files from their text, including every posting list, and compares it with
/// the index.
///
/// This uses [`limits::VERIFIED_AT_ONCE`] pairs of memory, and reads the posting lists once for each batch of
/// that size.
///
/// # Errors
///
/// Returns an error if the index is damaged or can't be read.
pub fn verify(root: &Root, index: &Segment, stop: &Stop) -> Result<Verification, TrigramIndexError> {
    let mut done = Verification::default();
    let mut reader = TextReader::default();
    let mut batch = VerifyBatch::new(index);
    for file in 0..index.len() {
        if stop.check().is_some() {
            break;
        }
        match compare(root, index, file, &mut reader, &mut batch) {
            Compared::Changed => done.changed += 1,
            Compared::Skipped => {}
            Compared::Read { bytes, is_same } => {
                done.compared += 1;
                done.bytes += bytes;
                if !is_same {
                    batch.different.insert(file);
                }
            }
        }
        if batch.found.len() >= limits::VERIFIED_AT_ONCE {
            batch.compare(index)?;
        }
    }
    batch.compare(index)?;
    let path = |file| index.path(file).and_then(|path| RelPath::from_bytes(path, &RelPath::root()).ok());
    batch.different.iter().filter_map(|file| path(*file)).for_each(|path| done.name(path));
    Ok(done)
}

enum Compared {
    /// The index has no data of this file that could be wrong.
    Skipped,
    Changed,
    /// `is_same` is true if everything except the posting lists agrees.
    Read {
        bytes: u64,
        is_same: bool,
    },
}

fn compare(
    root: &Root,
    index: &Segment,
    file: u32,
    reader: &mut TextReader,
    batch: &mut VerifyBatch,
) -> Compared {
    let Some((mut opened, content)) = trusted(root, index, file) else { return Compared::Changed };
    if !matches!(content, Content::Indexed | Content::Binary) {
        return Compared::Skipped;
    }
    let (bytes, state) = (opened.size(), opened.state());
    let Ok(text) = reader.read(&mut opened) else { return Compared::Changed };
    if opened.state_now() != state {
        return Compared::Changed;
    }
    let parts = index.parts_of(file).unwrap_or_default();
    let ends_are_same = parts.clone().zip(&text.parts).all(|(part, of_text)| {
        // A default end carries no information.
        index.part_end(part).is_some_and(|end| end == PartEnd::default() || end == of_text.end)
    });
    let is_same = content == text.content
        && index.checksum(file) == Some(text.checksum)
        && index.lines(file) == text.lines
        && parts.len() == text.parts.len()
        && ends_are_same;
    if is_same {
        for (part, of_text) in parts.zip(&text.parts) {
            batch.parts.insert(part);
            batch.found.extend(of_text.trigrams.iter().map(|trigram| (trigram.number(), part)));
        }
    }
    Compared::Read { bytes, is_same }
}

/// Opens a file of the index, and returns it with its indexed content. Returns `None` if the file can't be
/// opened or its state has changed.
fn trusted(root: &Root, index: &Segment, file: u32) -> Option<(OpenedFile, Content)> {
    let (state, content) = index.state(file)?;
    let path = RelPath::from_bytes(index.path(file)?, &RelPath::root()).ok()?;
    let opened = root.open_file(&path).ok()?;
    (opened.state() == Some(state)).then_some((opened, content))
}

/// A batch of parts with the trigrams of their text.
struct VerifyBatch {
    parts: NumberSet,
    /// Pairs of trigram and part.
    found: Vec<(u32, u32)>,
    /// Files that differ from the index.
    different: BTreeSet<u32>,
}

impl VerifyBatch {
    fn new(index: &Segment) -> Self {
        Self { parts: NumberSet::none(index.part_count()), found: Vec::new(), different: BTreeSet::new() }
    }

    /// Compares the batch with the posting lists and empties it.
    fn compare(&mut self, index: &Segment) -> Result<(), TrigramIndexError> {
        let mut unlike = NumberSet::none(index.part_count());
        self.found.sort_unstable();
        let mut found = self.found.iter().copied().peekable();
        index.for_each_list(|trigram, posted| {
            for posted in posted.filter(|part| self.parts.contains(*part)).map(|part| (trigram, part)) {
                // These pairs are in the text but in no list.
                while let Some((_, part)) = found.next_if(|found| *found < posted) {
                    unlike.insert(part);
                }
                if found.next_if_eq(&posted).is_none() {
                    unlike.insert(posted.1);
                }
            }
        })?;
        found.for_each(|(_, part)| unlike.insert(part));
        index.files_of(&unlike).for_each(|file| {
            self.different.insert(file);
        });
        self.parts = NumberSet::none(index.part_count());
        self.found.clear();
        Ok(())
    }
}

/// The result of scrubbing one file of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubOutcome {
    /// Searches do not trust the index for this file, or its state has changed, so they will read it anyway.
    Unused,
    /// The file has the indexed bytes, this many of them.
    Same(u64),
    /// The file has other bytes although its state is unchanged.
    Different,
}

/// Reads a file of an index again, to detect changes that its state does not reveal.
pub fn scrub_file(root: &Root, index: &Segment, file: u32, buffer: &mut ReadBuffer) -> ScrubOutcome {
    let mut read = || {
        let (mut opened, content) = trusted(root, index, file)?;
        let known = matches!(content, Content::Indexed | Content::Binary);
        let expected = index.checksum(file).filter(|_| known)?;
        let state = opened.state();
        let mut checksum = crc32fast::Hasher::new();
        let mut read = opened.read_into(buffer, limits::SCRUB_BYTES).ok()?;
        checksum.update(buffer);
        let mut bytes = buffer.len() as u64;
        while read == forage_fs::Contents::TooLarge {
            buffer.clear();
            if buffer.read_more(opened.reader(), limits::SCRUB_BYTES).ok()? == 0 {
                read = forage_fs::Contents::Whole;
            }
            checksum.update(buffer);
            bytes += buffer.len() as u64;
        }
        // If the state differs, the file is being changed, and searches will notice this.
        (opened.state_now() == state).then(|| match checksum.finalize() == expected {
            true => ScrubOutcome::Same(bytes),
            false => ScrubOutcome::Different,
        })
    };
    read().unwrap_or(ScrubOutcome::Unused)
}
