//! Reads a tree to build an index.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{
    Contents, DecodedText, Encoding, Entry, FileState, OpenError, OpenedFile, ReadBuffer, RelPath, Root,
    Skipped, StateReliability, WalkOptions, WalkReport, WalkStep, count_lines, decode_head, is_binary, walk,
};

use super::builder::{IndexedFile, SegmentBuilder, SegmentPart};
use super::segment::{Content, PartEnd, Segment};
use super::trigrams::Trigrams;
use crate::limits;

/// An index that was built from the files below a root and has not been written yet.
pub struct Built {
    /// The index.
    pub builder: SegmentBuilder,
    /// Number of files of the base index that are unchanged.
    pub unchanged: u64,
    /// The report of the walk. If the walk ended early, the index is correct but less useful.
    pub report: WalkReport,
}

/// Reads the files below a root that a search can visit, i.e. all that ignore rules do not hide. With a base
/// index `below`, this only reads files that it does not have in their current state.
///
/// # Errors
///
/// Returns an error if the root can't be walked.
pub fn build(
    root: &Arc<Root>,
    below: Option<&Segment>,
    walk_options: &WalkOptions,
    stop: &Stop,
) -> Result<Built, OpenError> {
    let options = WalkOptions { hidden: true, ..walk_options.clone() };
    let mut builder = SegmentBuilder::default();
    let mut unchanged = 0;
    let worker = || BuildWorker { reader: TextReader::default(), below, near: 0 };
    let report = walk(
        root,
        &RelPath::root(),
        &options,
        stop,
        worker,
        BuildWorker::read,
        |file: Option<FileContent>| {
            let Some(file) = file else {
                unchanged += 1;
                return ControlFlow::Continue(());
            };
            let entry = IndexedFile {
                path: file.path.as_bytes(),
                state: file.state,
                content: file.text.content,
                lines: file.text.lines,
                checksum: file.text.checksum,
                parts: &file.text.parts,
            };
            if builder.add(&entry) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    )?;
    Ok(Built { builder, unchanged, report })
}

struct FileContent {
    path: RelPath,
    state: FileState,
    text: BuildText,
}

struct BuildWorker<'a> {
    reader: TextReader,
    below: Option<&'a Segment>,
    /// The position at which to look for the next file first, because files arrive in path order.
    near: u32,
}

impl BuildWorker<'_> {
    /// Reads a file. Returns [`WalkStep::Nothing`] if it can't be read or has no state, and an item without
    /// content if it is unchanged in the base index.
    fn read(&mut self, entry: &Entry<'_>, _: &mut Skipped) -> WalkStep<Option<FileContent>> {
        if self.is_below(entry) {
            return WalkStep::Item(None, 0);
        }
        // We do not count skipped files here, because every search opens and counts them itself.
        let Some(mut file) = entry.state().and_then(|_| entry.open(&mut Skipped::default())) else {
            return WalkStep::Nothing;
        };
        let Some((state, reliability)) = settled(&file) else { return WalkStep::Nothing };
        let text = match reliability {
            StateReliability::NotYet => Ok(BuildText::unread(Content::Young)),
            StateReliability::Never => Ok(BuildText::unread(Content::Unreliable)),
            StateReliability::All => self.reader.read(&mut file),
        };
        let Ok(mut text) = text else { return WalkStep::Nothing };
        // The file changed while we read it.
        if file.state_now() != Some(state) {
            text = BuildText::unread(Content::Young);
        }
        let bytes: usize =
            text.parts.iter().map(|part| size_of_val(&*part.trigrams) + size_of::<SegmentPart>()).sum();
        let weight = size_of::<FileContent>() + entry.path.as_bytes().len() + bytes;
        WalkStep::Item(Some(FileContent { path: entry.path.clone(), state, text }), weight)
    }

    fn is_below(&mut self, entry: &Entry<'_>) -> bool {
        let Some(below) = self.below else { return false };
        let Some(file) = below.find(entry.path.as_bytes(), self.near) else { return false };
        self.near = file + 1;
        below
            .state(file)
            .is_some_and(|(seen, content)| content != Content::Young && entry.state() == Some(seen))
    }
}

/// Returns the state of a file before we read it, and how reliably this state reflects changes.
fn settled(file: &OpenedFile) -> Option<(FileState, StateReliability)> {
    if file.size() > limits::LARGE_FILE_BYTES {
        // Every search reads such a file, so we need not wait for its pages to be written back.
        return file.state().map(|state| (state, StateReliability::All));
    }
    file.stable_state()
}

/// The indexed data of one text.
#[derive(Debug)]
pub(super) struct BuildText {
    pub(super) content: Content,
    /// The number of lines, if known.
    pub(super) lines: Option<u32>,
    /// Empty unless the content is [`Content::Indexed`].
    pub(super) parts: Vec<SegmentPart>,
    /// CRC-32 of the file's bytes; 0 if not all of them were read.
    pub(super) checksum: u32,
}

impl BuildText {
    fn unread(content: Content) -> Self {
        Self { content, lines: None, parts: Vec::new(), checksum: 0 }
    }
}

/// Extracts the indexed data from files.
#[derive(Default)]
pub(super) struct TextReader {
    trigrams: Trigrams,
    buffer: ReadBuffer,
}

impl TextReader {
    /// Reads a file that was just opened.
    pub(super) fn read(&mut self, file: &mut OpenedFile) -> io::Result<BuildText> {
        let (mut content, mut lines, mut checksum) = (Content::Large, None, 0);
        let (mut parts, mut ends_are_known) = (BuildParts::default(), false);
        match file.read_into(&mut self.buffer, limits::WHOLE_FILE_BYTES)? {
            Contents::TooLarge => {
                if let Some((count, of_bytes)) = self.read_pieces(file, &mut parts) {
                    (content, lines, checksum) = (Content::Indexed, u32::try_from(count).ok(), of_bytes);
                }
            }
            Contents::Whole => {
                checksum = crc32fast::hash(&self.buffer);
                match decode_head(&self.buffer) {
                    DecodedText::Binary => content = Content::Binary,
                    DecodedText::Text { bytes, encoding } => {
                        if parts.add(&mut self.trigrams, &bytes) {
                            content = Content::Indexed;
                        }
                        let is_binary = is_binary(&bytes);
                        lines = u32::try_from(count_lines(&bytes)).ok().filter(|_| !is_binary);
                        ends_are_known = encoding == Encoding::Utf8 && !is_binary;
                    }
                }
            }
        }
        let mut parts = if content == Content::Indexed { parts.parts } else { Vec::new() };
        if !ends_are_known {
            parts.iter_mut().for_each(|part| part.end = PartEnd::default());
        }
        Ok(BuildText { content, lines, parts, checksum })
    }

    /// Adds the trigrams of a large file whose beginning is already in the buffer. Returns its number of
    /// lines and the checksum of its bytes.
    ///
    /// Returns `None` if every search must read the file anyway, for example to report a long line or a NUL
    /// byte. Also returns `None` if the trigrams would not exclude anything.
    fn read_pieces(&mut self, file: &mut OpenedFile, parts: &mut BuildParts) -> Option<(u64, u32)> {
        if file.size() > limits::LARGE_FILE_BYTES {
            return None;
        }
        // A piecewise search decodes other encodings, so their bytes don't have the trigrams of the text.
        if !matches!(Encoding::detect(&self.buffer), Encoding::Utf8 | Encoding::Utf8Bom) {
            return None;
        }
        let mut lines = 0;
        let mut checksum = crc32fast::Hasher::new();
        loop {
            // Without a line feed, all of the buffer is one line, which is too long.
            let end = memchr::memrchr(b'\n', &self.buffer).map_or(self.buffer.len(), |feed| feed + 1);
            let whole = &self.buffer[..end];
            let is_long =
                whole.split(|&byte| byte == b'\n').any(|line| line.len() > limits::LARGE_LINE_BYTES);
            if is_long || is_binary(whole) || !parts.add(&mut self.trigrams, whole) {
                return None;
            }
            lines += count_lines(whole);
            checksum.update(whole);
            self.buffer.remove_first(end);
            let kept = self.buffer.len();
            self.buffer.read_more(file.reader(), limits::BYTES_PER_CHECK).ok()?;
            if self.buffer.len() == kept {
                let is_known = kept <= limits::LARGE_LINE_BYTES
                    && !is_binary(&self.buffer)
                    && parts.add(&mut self.trigrams, &self.buffer);
                checksum.update(&self.buffer);
                return is_known.then(|| (lines + count_lines(&self.buffer), checksum.finalize()));
            }
        }
    }
}

/// The parts of a file, with the number of their bytes, line feeds and trigrams.
#[derive(Default)]
struct BuildParts {
    parts: Vec<SegmentPart>,
    bytes: usize,
    feeds: usize,
    found: usize,
}

impl BuildParts {
    /// Adds whole lines. Returns false if there are more trigrams than text usually has.
    fn add(&mut self, trigrams: &mut Trigrams, mut text: &[u8]) -> bool {
        loop {
            let is_last = text.len() <= limits::LAST_PART_BYTES;
            let feed = || memchr::memchr(b'\n', &text[limits::PART_BYTES..]);
            let end = if is_last {
                text.len()
            } else {
                feed().map_or(text.len(), |feed| limits::PART_BYTES + feed + 1)
            };
            let found = trigrams.distinct(&text[..end]);
            self.found += found.len();
            self.bytes += end;
            self.feeds += memchr::memchr_iter(b'\n', &text[..end]).count();
            // Zero means unknown. We don't read a file part by part if it exceeds these numbers.
            let end_of = |count: usize| u32::try_from(count).unwrap_or(0);
            let part_end = PartEnd { bytes: end_of(self.bytes), feeds: end_of(self.feeds) };
            self.parts.push(SegmentPart { trigrams: found.into(), end: part_end });
            text = &text[end..];
            if self.found > limits::FILE_TRIGRAMS.max(self.bytes / limits::BYTES_PER_TRIGRAM) {
                return false;
            }
            if text.is_empty() {
                return true;
            }
        }
    }
}
