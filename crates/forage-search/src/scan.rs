//! Searches a tree for one pattern.

use std::borrow::Cow;
use std::io::Read;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{
    Contents, DecodedText, Encoding, Entry, OpenError, OpenedFile, PendingFile, ReadBuffer, RelPath, Root,
    SkipReason, Skipped, VisitDecision, Walk, WalkOptions, WalkReport, WalkStep, decode_head_as, is_binary,
};
use forage_redact::KeyBlocks;

use crate::buffer::{EventBuilder, search_passages, search_text};
use crate::event::{EventKind, FileEvents};
use crate::index::{FilePart, Index, ListedFiles, LookupCursor, TrigramQuery, UnreadFile};
use crate::large::{LineMatcher, LineSink, search_reader};
use crate::limits;
use crate::lines::{LineFinder, MatchingLines};
use crate::notebook::{SearchedNotebook, is_notebook};
use crate::options::ScanOptions;
use crate::pattern::Pattern;
use crate::stored::search_stored;

/// Per-thread state reused across files.
pub(crate) struct ScanWorker<'a, S> {
    buffer: ReadBuffer,
    index: Option<LookupCursor<'a>>,
    choice: Option<&'a ListedFiles>,
    pub(crate) state: S,
}

impl<S> ScanWorker<'_, S> {
    pub(crate) fn new(state: S) -> Self {
        Self { buffer: ReadBuffer::default(), index: None, choice: None, state }
    }

    /// Returns the reason why a file need not be read, if there is one. Only queries with a bit in `wanted`
    /// count.
    fn unread(&mut self, entry: &Entry<'_>, wanted: u64, max_file_bytes: Option<u64>) -> Option<UnreadFile> {
        match self.choice.and_then(|choice| choice.may_match(entry, wanted)) {
            Some(true) => None,
            Some(false) => Some(UnreadFile::NoMatch),
            None => self.index.as_mut()?.unread(entry, wanted, max_file_bytes),
        }
    }

    /// Reads only those parts of a file that can contain a match. Returns the range of each passage in the
    /// buffer with the number of line feeds before it. Returns `None` if the parts are unknown or are the
    /// whole file.
    fn read_passages(
        &mut self,
        entry: &Entry<'_>,
        file: &mut OpenedFile,
    ) -> Option<Vec<(Range<usize>, u64)>> {
        if file.size() <= limits::LAST_PART_BYTES as u64 {
            return None;
        }
        let state = file.state()?;
        let stretches = self.index.as_ref()?.ranges(entry, self.choice, state)?;
        let bytes: u64 = stretches.iter().map(|stretch| stretch.bytes.end - stretch.bytes.start).sum();
        // We also compare the state of the entry, which takes into account that some file systems have
        // unreliable states.
        if bytes >= file.size() || entry.state() != Some(state) {
            return None;
        }
        self.buffer.clear();
        let mut passages = Vec::with_capacity(stretches.len());
        for FilePart { bytes, feeds } in stretches {
            let start = self.buffer.len();
            file.read_range(&mut self.buffer, bytes).ok()?;
            passages.push((start..self.buffer.len(), feeds));
        }
        // If the file changed while we read it, the passages could be from different states.
        (file.state_now() == Some(state)).then_some(passages)
    }
}

/// The decoded text of a file, with its encoding.
pub(crate) enum ScanText<'a> {
    /// The whole text.
    Whole(&'a [u8], Encoding),
    /// A large file, from its beginning.
    Pieces(&'a mut dyn Read, Encoding),
}

/// A search, as seen by the code that reads files.
pub(crate) trait TextSearch {
    /// Returns true if these bytes of a file rule out a match in any encoding. If so, we need not detect the
    /// encoding.
    fn rules_out(&self, _raw: &[u8]) -> bool {
        false
    }

    /// Determines the encoding of a file that begins with these bytes.
    fn encoding(&self, head: &[u8]) -> Encoding {
        Encoding::detect(head)
    }
}

/// Opens, reads and decodes an entry and passes its text to `search`, unless the index rules out a match of
/// all `wanted` queries. Files that can't be searched are counted. Note that `search` must check for NUL
/// bytes after the beginning of the text.
pub(crate) fn with_text<S: TextSearch, T>(
    worker: &mut ScanWorker<'_, S>,
    entry: &Entry<'_>,
    wanted: u64,
    max_file_bytes: Option<u64>,
    skipped: &mut Skipped,
    search: impl FnOnce(&mut S, ScanText<'_>, &mut Skipped) -> Option<T>,
) -> Option<T> {
    let file = open(worker, entry, wanted, max_file_bytes, skipped)?;
    read(worker, file, false, skipped, search)
}

/// Opens the file: the first half of [`with_text`].
fn open<S>(
    worker: &mut ScanWorker<'_, S>,
    entry: &Entry<'_>,
    wanted: u64,
    max_file_bytes: Option<u64>,
    skipped: &mut Skipped,
) -> Option<OpenedFile> {
    match worker.unread(entry, wanted, max_file_bytes) {
        None => {}
        Some(UnreadFile::NoMatch) => return None,
        Some(UnreadFile::Skipped(reason)) => {
            skipped.add(reason);
            return None;
        }
    }
    let file = entry.open(skipped)?;
    if max_file_bytes.is_some_and(|limit| file.size() > limit) {
        skipped.add(SkipReason::TooLarge);
        return None;
    }
    Some(file)
}

/// Reads and decodes the file: the second half of [`with_text`]. Note that the stored bytes of a notebook
/// never rule out a match.
fn read<S: TextSearch, T>(
    worker: &mut ScanWorker<'_, S>,
    mut file: OpenedFile,
    is_notebook: bool,
    skipped: &mut Skipped,
    search: impl FnOnce(&mut S, ScanText<'_>, &mut Skipped) -> Option<T>,
) -> Option<T> {
    match file.read_into(&mut worker.buffer, limits::WHOLE_FILE_BYTES) {
        Err(_) => {
            skipped.add(SkipReason::Unreadable);
            None
        }
        Ok(Contents::Whole) if !is_notebook && worker.state.rules_out(&worker.buffer) => None,
        Ok(Contents::Whole) => {
            let encoding = worker.state.encoding(&worker.buffer);
            match decode_head_as(&worker.buffer, encoding) {
                DecodedText::Binary => {
                    skipped.add(SkipReason::Binary);
                    None
                }
                DecodedText::Text { bytes, .. } => {
                    search(&mut worker.state, ScanText::Whole(&bytes, encoding), skipped)
                }
            }
        }
        Ok(Contents::TooLarge) => {
            let encoding = worker.state.encoding(&worker.buffer);
            let mut reader = encoding.reader(Read::chain(&worker.buffer[..], file.reader()));
            search(&mut worker.state, ScanText::Pieces(&mut reader, encoding), skipped)
        }
    }
}

/// The files to search.
pub(crate) struct ScanScope<'a> {
    pub(crate) root: &'a Arc<Root>,
    pub(crate) start: &'a RelPath,
    pub(crate) walk_options: &'a WalkOptions,
    pub(crate) index: Option<&'a Arc<Index>>,
    /// See [`ScanOptions`].
    pub(crate) exhaustive: bool,
    pub(crate) max_file_bytes: Option<u64>,
    pub(crate) stop: &'a Stop,
}

impl ScanScope<'_> {
    /// Walks the files like [`Walk`], but skips those that the index rules out for all queries. `wanted` must
    /// return a bit for each query that still matters.
    pub(crate) fn search<S, T: Send>(
        &self,
        queries: impl FnOnce() -> Vec<TrigramQuery>,
        wanted: impl Fn() -> u64 + Sync,
        state: impl Fn() -> S + Sync,
        visit: impl Fn(&mut ScanWorker<'_, S>, &Entry<'_>, &mut Skipped) -> WalkStep<T> + Sync,
        mut receive: impl FnMut(T) -> ControlFlow<()> + Send,
    ) -> Result<WalkReport, OpenError> {
        let Self { root, start, walk_options, index, exhaustive, max_file_bytes, stop } = *self;
        if exhaustive && let Some(index) = index {
            index.wait_until_open(stop);
        }
        let selection = index.and_then(|index| index.select(queries(), stop));
        // If we find nothing in a watched tree and it turns out to have changed without a notification, we
        // search it once more.
        for attempt in 0..2 {
            let began = Instant::now();
            let choose = |index: &Arc<Index>| index.choose(selection.as_ref(), walk_options, max_file_bytes);
            let Some(choice) = index.and_then(choose) else { break };
            let Some(below) = choice.listing().below(start) else { break };
            let worker = || ScanWorker {
                index: selection.as_ref().map(|selection| selection.cursor(walk_options)),
                choice: Some(&choice),
                ..ScanWorker::new(state())
            };
            let mut has_any = false;
            let receive = |item| {
                has_any = true;
                receive(item)
            };
            let mut report = below.walk(walk_options, &choice.chosen, stop, worker, &visit, receive);
            let is_final = has_any || report.stopped.is_some() || report.broke_off || attempt > 0;
            if is_final {
                return Ok(report);
            }
            let has_changed =
                index.is_some_and(|index| index.detect_unreported_changes(walk_options, began, stop));
            // If the call was stopped, we can't conclude from this that there is no match.
            report.stopped = stop.check();
            if !has_changed || report.stopped.is_some() {
                return Ok(report);
            }
        }
        let worker = || ScanWorker {
            index: selection.as_ref().map(|selection| selection.cursor(walk_options)),
            ..ScanWorker::new(state())
        };
        let with_snapshot = index.map(|index| index.walk_options(walk_options));
        let options = with_snapshot.as_ref().unwrap_or(walk_options);
        let dismiss = |worker: &mut ScanWorker<'_, S>, file: &PendingFile<'_>| match wanted() {
            // No query matters any more, so nothing is searched or counted.
            0 => VisitDecision::Skip(None),
            wanted => {
                let index = worker.index.as_mut();
                match index.and_then(|index| index.dismisses(file, wanted, max_file_bytes)) {
                    None => VisitDecision::Visit,
                    Some(UnreadFile::NoMatch) => VisitDecision::Skip(None),
                    Some(UnreadFile::Skipped(reason)) => VisitDecision::Skip(Some(reason)),
                }
            }
        };
        let receive = |item| {
            index.into_iter().for_each(|index| index.record_hit());
            receive(item)
        };
        Walk { root, start, options, stop }.dismissing(worker, dismiss, visit, receive)
    }
}

/// Searches the files below `start` for `pattern`.
///
/// `receive` gets the files in path order, and can end the search by returning a break.
///
/// # Errors
///
/// Returns an error if `start` can't be opened.
pub fn search(
    root: &Arc<Root>,
    start: &RelPath,
    walk_options: &WalkOptions,
    pattern: &Pattern,
    options: &ScanOptions,
    stop: &Stop,
    receive: impl FnMut(FileEvents) -> ControlFlow<()> + Send,
) -> Result<WalkReport, OpenError> {
    if let Some(texts) = &options.stored {
        return Ok(search_stored(texts, start, walk_options, pattern, options, stop, receive));
    }
    let threads = pattern.threads(walk_options.thread_count());
    let walk_options = &WalkOptions { threads, ..walk_options.clone() };
    // With context we read the whole text: context lines may be outside of the passages, and continuing an
    // earlier answer needs the lines before them.
    let by_passages = options.before_context == 0
        && options.after_context == 0
        && options.after.is_none()
        && !options.invert;
    let scan = LineScan { spans_lines: pattern.spans_lines(), by_passages, options, stop };
    let visit =
        |worker: &mut ScanWorker<'_, LineFinder<'_>>, entry: &Entry<'_>, skipped: &mut Skipped| match scan
            .find(worker, entry, skipped)
        {
            None => WalkStep::Nothing,
            Some(mut file) => {
                file.hidden_by = entry.hidden_by.clone();
                let weight = file.weight();
                WalkStep::Item(file, weight)
            }
        };
    let ScanOptions { exhaustive, max_file_bytes, .. } = *options;
    let index = options.index.as_ref();
    ScanScope { root, start, walk_options, index, exhaustive, max_file_bytes, stop }.search(
        || vec![if options.invert { TrigramQuery::Any } else { TrigramQuery::from_pattern(pattern) }],
        || 1,
        || LineFinder::new(pattern, stop).inverted(options.invert),
        visit,
        receive,
    )
}

/// A search for the lines that match a pattern.
struct LineScan<'a> {
    /// True if a match can span several lines.
    spans_lines: bool,
    /// True if only the parts of a file that can contain a match are read.
    by_passages: bool,
    options: &'a ScanOptions,
    stop: &'a Stop,
}

impl LineScan<'_> {
    /// Searches a file.
    fn find(
        &self,
        worker: &mut ScanWorker<'_, LineFinder<'_>>,
        entry: &Entry<'_>,
        skipped: &mut Skipped,
    ) -> Option<FileEvents> {
        let Self { spans_lines, by_passages, options, stop } = *self;
        if !worker.state.begin(&entry.path) {
            return None;
        }
        let mut file = open(worker, entry, 1, options.max_file_bytes, skipped)?;
        let is_notebook = is_notebook(entry.path.as_bytes());
        if by_passages
            && !is_notebook
            && let Some(places) = worker.read_passages(entry, &mut file)
        {
            let passages = places.into_iter().map(|(place, feeds)| (&worker.buffer[place], feeds));
            let found = search_passages(&worker.state, &entry.path, passages, options, stop);
            // The margin of a match, and the beginning of a key around it, may be outside of the passages.
            if found.is_none() || options.margin.is_none() {
                return found;
            }
        }
        read(worker, file, is_notebook, skipped, |finder, text, skipped| match text {
            // A match could span several pieces.
            ScanText::Pieces(..) if spans_lines => {
                skipped.add(SkipReason::TooLarge);
                None
            }
            ScanText::Whole(text, encoding) => {
                search_decoded(finder, &entry.path, (text, encoding), options, stop, skipped)
            }
            ScanText::Pieces(text, encoding) => {
                let found = search_pieces(finder, Some(finder), text, &entry.path, options, stop, skipped);
                if finder.take_too_slow() {
                    skipped.add(SkipReason::TooSlow);
                }
                let (detected, is_stored_notebook) = (encoding.detected(), is_notebook);
                found.map(|found| FileEvents { detected, is_stored_notebook, ..found })
            }
        })
    }
}

/// How a [`FileScan`] should decode files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decoding {
    /// Decode from the detected encoding.
    Detected,
    /// Do not decode.
    Stored,
    /// Decode from this encoding, unless a byte-order mark names another one.
    As(Encoding),
}

/// The bytes of a file. If it has a byte-order mark, they are not decoded.
pub enum FileBytes<'a> {
    /// The whole file.
    Whole(&'a [u8]),
    /// A large file, from its beginning.
    Pieces(&'a mut dyn Read),
}

/// How a [`FileScan`] has read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileReading {
    /// The encoding from which it was decoded.
    pub encoding: Encoding,
    /// True if it is a notebook and some lines of its cells are in their stored form.
    pub is_stored_notebook: bool,
}

/// A scan of the files of a tree that can match, for a caller with its own search engine.
pub struct FileScan<'a> {
    /// The root.
    pub root: &'a Arc<Root>,
    /// The directory or file to scan, relative to the root.
    pub start: &'a RelPath,
    /// The options of the walk.
    pub walk: &'a WalkOptions,
    /// Skip files without a line that matches this pattern; `None` reads every file.
    pub sieve: Option<&'a Pattern>,
    /// Include files that contain a NUL byte.
    pub binary: bool,
    /// How files are decoded.
    pub decoding: Decoding,
    /// Read only the lines of cells from notebooks.
    pub cells: bool,
    /// An index that rules out files without reading them.
    pub index: Option<&'a Arc<Index>>,
    /// Maximum size of a file in bytes; larger ones are skipped and counted. `None` for no limit.
    pub max_file_bytes: Option<u64>,
    /// The deadline and cancellation of the scan.
    pub stop: &'a Stop,
}

impl FileScan<'_> {
    /// Calls `visit` in parallel with the bytes of each file, and `receive` with the results in path order
    /// until it returns a break. `visit` must return each result with its approximate weight in bytes, which
    /// limits how many results may wait at a time.
    ///
    /// # Errors
    ///
    /// Returns an error if the start can't be opened.
    pub fn run<S, T: Send>(
        &self,
        state: impl Fn() -> S + Sync,
        visit: impl Fn(&mut S, &RelPath, FileBytes<'_>, FileReading) -> Option<(T, usize)> + Sync,
        receive: impl FnMut(T) -> ControlFlow<()> + Send,
    ) -> Result<WalkReport, OpenError> {
        let Self { root, start, walk, sieve, index, max_file_bytes, stop, .. } = *self;
        let finder = || sieve.map(|pattern| LineFinder::new(pattern, stop));
        let read = |worker: &mut ScanWorker<'_, (S, Option<LineFinder<'_>>)>,
                    entry: &Entry<'_>,
                    skipped: &mut Skipped| {
            let mut file = open(worker, entry, 1, max_file_bytes, skipped)?;
            let ScanWorker { buffer, state: (state, finder), .. } = worker;
            self.read((&entry.path, &mut file), buffer, finder.as_ref(), skipped, |bytes, reading| {
                visit(state, &entry.path, bytes, reading)
            })
        };
        let visit = |worker: &mut ScanWorker<'_, _>, entry: &Entry<'_>, skipped: &mut Skipped| {
            read(worker, entry, skipped)
                .map_or(WalkStep::Nothing, |(item, weight)| WalkStep::Item(item, weight))
        };
        let scope =
            ScanScope { root, start, walk_options: walk, index, exhaustive: true, max_file_bytes, stop };
        let queries = || vec![sieve.map_or(TrigramQuery::Any, TrigramQuery::from_pattern)];
        scope.search(queries, || 1, || (state(), finder()), visit, receive)
    }

    /// Calls `visit` with the bytes of one file that [`FileScan::run`] has visited. Returns `None` if the
    /// file can no longer be read.
    ///
    /// # Errors
    ///
    /// Returns an error if the file can't be opened.
    pub fn revisit<T>(
        &self,
        path: &RelPath,
        visit: impl FnOnce(FileBytes<'_>) -> T,
    ) -> Result<Option<T>, OpenError> {
        let mut file = self.root.open_file(path)?;
        let (mut buffer, mut skipped) = (ReadBuffer::default(), Skipped::default());
        Ok(self.read((path, &mut file), &mut buffer, None, &mut skipped, |bytes, _| Some(visit(bytes))))
    }

    fn read<T>(
        &self,
        (path, file): (&RelPath, &mut OpenedFile),
        buffer: &mut ReadBuffer,
        finder: Option<&LineFinder<'_>>,
        skipped: &mut Skipped,
        visit: impl FnOnce(FileBytes<'_>, FileReading) -> Option<T>,
    ) -> Option<T> {
        let is_notebook = self.cells && is_notebook(path.as_bytes());
        let Ok(contents) = file.read_into(buffer, limits::WHOLE_FILE_BYTES) else {
            skipped.add(SkipReason::Unreadable);
            return None;
        };
        let is_whole = contents == Contents::Whole;
        if is_whole && !is_notebook && finder.is_some_and(|finder| finder.rules_out(buffer)) {
            return None;
        }
        let encoding = match (self.decoding, Encoding::by_mark(buffer)) {
            (Decoding::Detected, Encoding::Utf8) => Encoding::detect(buffer),
            (Decoding::As(encoding), Encoding::Utf8) => encoding,
            (_, by_mark) => by_mark,
        };
        let mut reading = FileReading { encoding, is_stored_notebook: is_notebook };
        // We leave byte-order marks to the receiver of the bytes.
        let is_marked = matches!(encoding, Encoding::Utf8Bom | Encoding::Utf16Le | Encoding::Utf16Be);
        if !is_whole {
            let mut raw = Read::chain(&buffer[..], file.reader());
            return match is_marked {
                true => visit(FileBytes::Pieces(&mut raw), reading),
                false => visit(FileBytes::Pieces(&mut encoding.reader(raw)), reading),
            };
        }
        let is_marked = is_marked && !is_notebook;
        let mut text = if is_marked { Cow::Borrowed(&buffer[..]) } else { encoding.decode(buffer) };
        if is_notebook {
            let notebook = SearchedNotebook::new(&text);
            reading.is_stored_notebook = notebook.is_stored;
            if notebook.leaves_out {
                skipped.add(SkipReason::NotebookOutputs);
            }
            text = Cow::Owned(notebook.text.into_owned());
        }
        let has_match = |finder: &LineFinder<'_>| {
            let mut has_match = false;
            finder.each(&text, self.stop, |_| {
                has_match = true;
                false
            });
            has_match
        };
        // A text with a byte-order mark is still encoded here, so the finder can't search it.
        let is_passed_over = !is_marked && finder.is_some_and(|finder| !has_match(finder));
        // We can't rely on the caller's engine to stop in the middle of a line.
        if is_passed_over || self.stop.check().is_some() {
            return None;
        }
        if !self.binary && !is_marked && is_binary(&text) {
            skipped.add(SkipReason::Binary);
            return None;
        }
        visit(FileBytes::Whole(&text), reading)
    }
}

/// Searches the decoded text of a file, or only the cells of a notebook. Counts the omitted parts in
/// `skipped`.
pub(crate) fn search_decoded(
    finder: &LineFinder<'_>,
    path: &RelPath,
    (text, encoding): (&[u8], Encoding),
    options: &ScanOptions,
    stop: &Stop,
    skipped: &mut Skipped,
) -> Option<FileEvents> {
    let notebook = is_notebook(path.as_bytes()).then(|| SearchedNotebook::new(text));
    let text = notebook.as_ref().map_or(text, |notebook| &notebook.text);
    let found = search_text(finder, Some(finder), path, text, options, stop);
    if notebook.as_ref().is_some_and(|notebook| notebook.leaves_out) {
        skipped.add(SkipReason::NotebookOutputs);
    }
    if finder.take_too_slow() {
        skipped.add(SkipReason::TooSlow);
    }
    let found = found?;
    // We only check this now: nearly all files have neither a match nor a late NUL byte.
    if is_binary(text) {
        skipped.add(SkipReason::Binary);
        return None;
    }
    let is_stored_notebook = notebook.is_some_and(|notebook| notebook.is_stored);
    Some(FileEvents { detected: encoding.detected(), is_stored_notebook, ..found })
}

/// Like [`search_text`], for a decoded text that arrives in pieces.
pub(crate) fn search_pieces(
    lines: &impl MatchingLines,
    finder: Option<&LineFinder<'_>>,
    text: impl Read,
    path: &RelPath,
    options: &ScanOptions,
    stop: &Stop,
    skipped: &mut Skipped,
) -> Option<FileEvents> {
    let mut sink = PieceSink {
        builder: EventBuilder::new(finder, path, options),
        delivered: options.matches_delivered(path),
        before_context: options.around().0 as u64,
        held: Vec::new(),
    };
    let mut keys = KeyBlocks::default();
    let watched = options.margin.is_some().then_some(&mut keys);
    let matcher = LineMatcher(lines, stop);
    let is_text = search_reader(&matcher, text, options.around(), stop, skipped, &mut sink, watched);
    is_text.then(|| sink.builder.finish(&keys)).flatten()
}

struct PieceSink<'a> {
    builder: EventBuilder<'a>,
    /// The last matching line that an earlier answer contained with its context; 0 for none.
    delivered: u64,
    before_context: u64,
    /// Context lines after that match. We don't know yet which of them are context of the next match.
    held: Vec<PendingContext>,
}

/// A context line that is held until the next match.
struct PendingContext {
    number: u64,
    start: u64,
    line: Vec<u8>,
}

impl LineSink for PieceSink<'_> {
    fn line(&mut self, number: u64, start: u64, kind: EventKind, line: &[u8]) -> bool {
        if number <= self.delivered {
            return true;
        }
        // After the delivered lines, only the next match decides which lines are its context.
        if kind == EventKind::Context && self.delivered > 0 && self.builder.file.matches == 0 {
            self.held.push(PendingContext { number, start, line: line.to_vec() });
            return true;
        }
        for held in std::mem::take(&mut self.held) {
            if held.number + self.before_context >= number {
                self.builder.push_whole(held.number, held.start, EventKind::Context, &held.line);
            }
        }
        if kind == EventKind::Match && self.builder.is_full() {
            self.builder.file.more = true;
            // The reader has already delivered the context before this match.
            self.builder.drop_context_of_next();
            return false;
        }
        self.builder.push_whole(number, start, kind, line);
        true
    }
}
