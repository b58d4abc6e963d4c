//! Reading a tree for an index.

use std::io::Read as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use forage_fs::{
    Contents, Decoded, Entry, FileState, OpenError, OpenedFile, RelPath, Root, Skipped, Step, Stop, WalkOptions,
    WalkReport, count_lines, decode_head, is_binary, walk,
};

use super::segment::{Builder, Content, FileEntry, Segment};
use super::trigrams::{Trigram, Trigrams};
use crate::limits;

/// What was read for an index.
pub struct Built {
    /// The index.
    pub builder: Builder,
    /// Files of the index below it that are as they were.
    pub unchanged: u64,
    /// How the walk went. An index of a walk that ended early is right, and of less use.
    pub report: WalkReport,
}

/// Reads the files below a root that a search can come to: all but those that ignore rules hide. With the index
/// `below`, only those that are not in it as they are now.
///
/// # Errors
/// The root can't be walked.
pub fn build(
    root: &Arc<Root>,
    below: Option<&Segment>,
    walk_options: &WalkOptions,
    stop: &Stop,
) -> Result<Built, OpenError> {
    let options = WalkOptions { hidden: true, ..walk_options.clone() };
    let mut builder = Builder::default();
    let mut unchanged = 0;
    let worker = || Worker { trigrams: Trigrams::default(), buffer: Vec::new(), below, near: 0 };
    let report =
        walk(root, &RelPath::root(), &options, stop, worker, Worker::read, |file: Option<ReadFile>| {
            let Some(file) = file else {
                unchanged += 1;
                return ControlFlow::Continue(());
            };
            let entry = FileEntry {
                path: file.path.as_bytes(),
                state: file.state,
                content: file.content,
                lines: file.lines,
                trigrams: &file.trigrams,
            };
            match builder.add(&entry) {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
    Ok(Built { builder, unchanged, report })
}

struct ReadFile {
    path: RelPath,
    state: FileState,
    content: Content,
    lines: Option<u32>,
    trigrams: Box<[Trigram]>,
}

struct Worker<'a> {
    trigrams: Trigrams,
    buffer: Vec<u8>,
    below: Option<&'a Segment>,
    near: u32,
}

impl Worker<'_> {
    /// Nothing for what can't be read or has no state; no file for one that is in the index below as it is.
    fn read(&mut self, entry: &Entry<'_>, _: &mut Skipped) -> Step<Option<ReadFile>> {
        if self.is_below(entry) {
            return Step::Item(None, 0);
        }
        let now = nanoseconds_now();
        // Whether it may be read is asked there; what can't be is counted by every search.
        let Some((file, state)) = entry
            .state()
            .and_then(|_| entry.open(&mut Skipped::default()))
            .and_then(|file| file.state().map(|state| (file, state)))
        else {
            return Step::Nothing;
        };
        let (mut file, mut content, mut lines) = (file, Content::Young, None);
        let mut trigrams: &[Trigram] = &[];
        match file.read_into(&mut self.buffer, limits::WHOLE_FILE_BYTES) {
            Err(_) => return Step::Nothing,
            // It is being changed.
            Ok(_) if file.state_now() != Some(state) || state.may_hide_a_change(now) => {}
            Ok(Contents::TooLarge) => {
                content = Content::Large;
                if let Some(count) = self.read_pieces(&mut file)
                    && file.state_now() == Some(state)
                {
                    (content, lines) = (Content::Indexed, u32::try_from(count).ok());
                    trigrams = self.trigrams.found();
                }
            }
            Ok(Contents::Whole) => match decode_head(&self.buffer) {
                Decoded::Binary => content = Content::Binary,
                Decoded::Text { bytes, .. } => {
                    trigrams = self.trigrams.of(&bytes);
                    content = Content::Indexed;
                    if trigrams.len() > limits::FILE_TRIGRAMS {
                        (content, trigrams) = (Content::Large, &[]);
                    }
                    lines = u32::try_from(count_lines(&bytes)).ok().filter(|_| !is_binary(&bytes));
                }
            },
        }
        let trigrams = Box::from(trigrams);
        let weight = size_of::<ReadFile>() + entry.path.as_bytes().len() + size_of_val(&*trigrams);
        Step::Item(Some(ReadFile { path: entry.path.clone(), state, content, lines, trigrams }), weight)
    }

    /// Takes in the trigrams of a file of which the beginning is read. The number of its lines, if the search in pieces
    /// has nothing to say of it that must be said whatever is looked for, and if its trigrams say something.
    fn read_pieces(&mut self, file: &mut OpenedFile) -> Option<u64> {
        if file.size() > limits::LARGE_FILE_BYTES {
            return None;
        }
        // Another encoding, which that search decodes.
        if self.buffer.starts_with(b"\xff\xfe") || self.buffer.starts_with(b"\xfe\xff") {
            return None;
        }
        self.trigrams.clear();
        let mut lines = 0;
        loop {
            let end = memchr::memrchr(b'\n', &self.buffer).map_or(self.buffer.len(), |feed| feed + 1);
            let whole = &self.buffer[..end];
            let is_long = whole.split(|&byte| byte == b'\n').any(|line| line.len() > limits::LARGE_LINE_BYTES);
            self.trigrams.add(whole);
            if is_long || is_binary(whole) || self.trigrams.found().len() > limits::FILE_TRIGRAMS {
                return None;
            }
            lines += count_lines(whole);
            self.buffer.drain(..end);
            let kept = self.buffer.len();
            file.reader().take(limits::BYTES_PER_CHECK as u64).read_to_end(&mut self.buffer).ok()?;
            if self.buffer.len() == kept {
                self.trigrams.add(&self.buffer);
                return (kept <= limits::LARGE_LINE_BYTES && !is_binary(&self.buffer))
                    .then(|| lines + count_lines(&self.buffer));
            }
        }
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

/// The time, as in the state of a file.
fn nanoseconds_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}
