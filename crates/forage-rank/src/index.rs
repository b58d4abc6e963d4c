//! The index: one document per file, with the places of its words.
//!
//! A file is one document so that it comes and goes in one piece; its chunks are ranges of positions, kept beside it.
//! Nothing of what a query is scored by depends on deleted documents or on how documents are spread over segments:
//! counts are taken while posting lists are read, of living documents only. So an index that was brought up to date
//! answers as one that was made anew.

mod encoded;
mod record;
mod schema;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use tantivy::directory::error::OpenReadError;
use tantivy::merge_policy::{LogMergePolicy, NoMergePolicy};
use tantivy::schema::{IndexRecordOption, Schema};
use tantivy::{
    DocId, DocSet as _, Index, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, Searcher,
    SegmentReader, TERMINATED, TantivyDocument, TantivyError, Term,
};

use encoded::Encoded;
pub use encoded::TOKENIZER as FORMAT;
pub(crate) use record::FileRecord;
pub(crate) use schema::{ASIDE, FIELD_COUNT, Fields};
use schema::{BEGINNING, STAMP, WORDLESS};

use crate::chunk::{LineKind, outline};
use crate::languages::language;
use crate::limits;
use crate::rules::is_aside;
use crate::tokens::{Parts, stem, words};

/// What can go wrong with an index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index's files can't be read or written, or hold something else. It can be made anew from the files.
    #[error(
        "the ranked index can't be used: {0}; `forage index drop` removes it, and the next use builds it anew"
    )]
    Engine(#[from] tantivy::TantivyError),
    /// As above, from below the engine.
    #[error(
        "the ranked index can't be read: {0}; `forage index drop` removes it, and the next use builds it anew"
    )]
    Io(#[from] std::io::Error),
    /// Another writer is at work, of this process or another. It is no damage; waiting helps.
    #[error("the ranked index is being written by another; try again when it is done")]
    Busy,
    /// Changes couldn't be written: what was committed before is still there.
    #[error("the ranked index can't be written: {0}; what was committed before is kept")]
    Write(#[source] tantivy::TantivyError),
    /// The index was written by another version, whose words or records are others.
    #[error(
        "the ranked index is of another version; `forage index drop` removes it, and the next use builds it anew"
    )]
    Format,
    /// A document of the index isn't what this version writes.
    #[error(
        "the ranked index has a damaged entry; `forage index drop` removes it, and the next use builds it anew"
    )]
    Damaged,
}

/// What a file was when it was read for an index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// A hash of what was read of it.
    pub content: u64,
    /// A hash of its state; 0 for one that can't tell of a change.
    pub state: u64,
}

impl IndexError {
    /// Whether the files of the index are to blame, so that others in their place will do. A system that is out of
    /// memory, handles or rights is not.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        use std::io::ErrorKind::{InvalidData, NotFound, UnexpectedEof};
        let is_damage = |kind| matches!(kind, InvalidData | NotFound | UnexpectedEof);
        match self {
            Self::Busy | Self::Write(_) => false,
            Self::Io(error) => is_damage(error.kind()),
            Self::Engine(TantivyError::IoError(error)) => is_damage(error.kind()),
            Self::Engine(TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. })) => {
                is_damage(io_error.kind())
            }
            Self::Engine(_) | Self::Format | Self::Damaged => true,
        }
    }
}

/// An index, on disk or in memory.
pub struct RankIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    state: RwLock<Arc<State>>,
    reloading: Mutex<()>,
}

/// The index as it was at the last reload.
pub(crate) struct State {
    pub(crate) searcher: Searcher,
    /// Mean words of [`Fields::words`] over living documents, and all of them.
    pub(crate) means: [f32; FIELD_COUNT],
    /// Living documents with words.
    pub(crate) files: u32,
    /// Per segment.
    pub(crate) paths: Vec<Paths>,
}

/// The paths of a segment's documents.
#[derive(Debug)]
pub(crate) struct Paths {
    /// One behind the other.
    text: String,
    places: Vec<(u32, u32)>,
    stamps: Vec<Stamp>,
    /// Living documents without words, in order.
    wordless: Vec<DocId>,
    /// Living documents of which only the beginning is known.
    beginnings: Vec<DocId>,
}

impl Paths {
    /// From the terms to delete by: reading documents would take longer.
    fn read(reader: &SegmentReader, fields: &Fields) -> Result<Self, IndexError> {
        let size = reader.max_doc() as usize;
        let mut paths = Self {
            text: String::new(),
            places: vec![(0, 0); size],
            stamps: vec![Stamp::default(); size],
            wordless: Vec::new(),
            beginnings: Vec::new(),
        };
        let inverted = reader.inverted_index(fields.key)?;
        let mut terms = inverted.terms().stream()?;
        while terms.advance() {
            let start = paths.text.len() as u32;
            paths.text.push_str(&String::from_utf8_lossy(terms.key()));
            let place = (start, paths.text.len() as u32);
            let mut postings =
                inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
            while postings.doc() != TERMINATED {
                *paths.places.get_mut(postings.doc() as usize).ok_or(IndexError::Damaged)? = place;
                postings.advance();
            }
        }
        let columns = STAMP.map(|name| reader.fast_fields().u64(name));
        let [content, state] = columns;
        let (content, state) = (content?.first_or_default_col(0), state?.first_or_default_col(0));
        for (document, stamp) in (0..).zip(&mut paths.stamps) {
            *stamp = Stamp { content: content.get_val(document), state: state.get_val(document) };
        }
        let inverted = reader.inverted_index(fields.place)?;
        for (term, documents) in [(WORDLESS, &mut paths.wordless), (BEGINNING, &mut paths.beginnings)] {
            let term = Term::from_field_text(fields.place, term);
            let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            while postings.doc() != TERMINATED {
                documents.extend((!reader.is_deleted(postings.doc())).then_some(postings.doc()));
                postings.advance();
            }
        }
        Ok(paths)
    }

    fn is_wordless(&self, document: DocId) -> bool {
        self.wordless.binary_search(&document).is_ok()
    }

    pub(crate) fn get(&self, document: DocId) -> &str {
        let (start, end) = self.places.get(document as usize).copied().unwrap_or_default();
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }
}

impl State {
    fn new(searcher: Searcher, fields: &Fields) -> Result<Self, IndexError> {
        let paths = searcher.segment_readers().iter().map(|reader| Paths::read(reader, fields));
        let paths: Vec<Paths> = paths.collect::<Result<_, _>>()?;
        let wordless: usize = paths.iter().map(|paths| paths.wordless.len()).sum();
        let files = (searcher.num_docs() as u32).saturating_sub(wordless as u32);
        let mut means = [0.0; FIELD_COUNT];
        for (mean, field) in means.iter_mut().zip(fields.words()) {
            let mut total = 0_u64;
            for reader in searcher.segment_readers() {
                let norms = reader.get_fieldnorms_reader(field)?;
                total +=
                    reader.doc_ids_alive().map(|document| u64::from(norms.fieldnorm(document))).sum::<u64>();
            }
            *mean = (total as f32 / files.max(1) as f32).max(1.0);
        }
        Ok(Self { searcher, means, files, paths })
    }

    /// Gives each file with its stamp, in no order.
    pub(crate) fn for_each_stamp(&self, mut give: impl FnMut(&str, Stamp)) {
        for (reader, paths) in self.searcher.segment_readers().iter().zip(&self.paths) {
            for document in reader.doc_ids_alive() {
                give(paths.get(document), paths.stamps[document as usize]);
            }
        }
    }
}

impl RankIndex {
    /// An empty index in memory.
    ///
    /// # Errors
    /// The engine refuses.
    pub fn in_memory() -> Result<Self, IndexError> {
        let (schema, fields) = Fields::schema();
        Self::finish(Index::builder().schema(schema).settings(settings()).create_in_ram()?, fields)
    }

    /// The index in a directory that exists; an empty one is begun if there is none.
    ///
    /// # Errors
    /// The directory can't be used, or holds something else.
    pub fn in_directory(directory: &Path) -> Result<Self, IndexError> {
        let (schema, fields) = Fields::schema();
        let files = tantivy::directory::MmapDirectory::open(directory)
            .map_err(|error| IndexError::Engine(error.into()))?;
        let index = if Index::exists(&files).map_err(|error| IndexError::Engine(error.into()))? {
            let index = Index::open(files)?;
            check_schema(&index.schema(), &schema)?;
            index
        } else {
            Index::builder().schema(schema).settings(settings()).open_or_create(files)?
        };
        Self::finish(index, fields)
    }

    fn finish(index: Index, fields: Fields) -> Result<Self, IndexError> {
        encoded::register(&index);
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let state = RwLock::new(Arc::new(State::new(reader.searcher(), &fields)?));
        Ok(Self { index, reader, fields, state, reloading: Mutex::new(()) })
    }

    /// Opens the index for changes; there is one writer at a time, on disk also among processes.
    ///
    /// # Errors
    /// Another writer has it ([`IndexError::Busy`]), or the directory can't be written.
    pub fn writer(&self, threads: usize) -> Result<Writer<'_>, IndexError> {
        let threads = threads.clamp(1, limits::WRITER_THREADS);
        let bytes = if threads == 1 { limits::LONE_WRITER_BYTES } else { threads * limits::WRITER_BYTES };
        let writer = self.index.writer_with_num_threads(threads, bytes).map_err(|error| match error {
            TantivyError::LockFailure(..) => IndexError::Busy,
            error => IndexError::Write(error),
        })?;
        // Merges go on behind the writer's back; they wait until there is time for them.
        writer.set_merge_policy(Box::new(NoMergePolicy));
        Ok(Writer { writer, index: self })
    }

    /// Sees what was committed since the last time.
    ///
    /// # Errors
    /// The files can't be read.
    pub(crate) fn reload(&self) -> Result<(), IndexError> {
        // One at a time: otherwise the state of an earlier commit could come in place of a later one.
        let _alone = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        self.reader.reload()?;
        let state = Arc::new(State::new(self.reader.searcher(), &self.fields)?);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        Ok(())
    }

    /// Files in the index that can be found.
    #[must_use]
    pub fn files(&self) -> u64 {
        u64::from(self.state().files)
    }

    /// Files in the index that have no words: binary ones, and what can't be read.
    #[must_use]
    pub fn wordless_files(&self) -> u64 {
        self.state().paths.iter().map(|paths| paths.wordless.len() as u64).sum()
    }

    /// Files longer than [`limits::FILE_BYTES`], of which only the beginning is in the index.
    #[must_use]
    pub fn files_in_part(&self) -> u64 {
        self.state().paths.iter().map(|paths| paths.beginnings.len() as u64).sum()
    }

    /// Whether a file that can be found is one of these, by its path.
    pub fn any_file(&self, is_one: impl Fn(&str) -> bool) -> bool {
        let state = self.state();
        let mut segments = state.searcher.segment_readers().iter().zip(&state.paths);
        segments.any(|(reader, paths)| {
            reader.doc_ids_alive().any(|document| !paths.is_wordless(document) && is_one(paths.get(document)))
        })
    }

    /// Of [`RankIndex::wordless_files`] those that could not be opened or must not be.
    #[must_use]
    pub fn unread_files(&self) -> u64 {
        let state = self.state();
        let unread = |paths: &Paths| {
            paths.wordless.iter().filter(|&&document| paths.stamps[document as usize].content == 0).count()
        };
        state.paths.iter().map(|paths| unread(paths) as u64).sum()
    }

    /// Whether another process has written the index since it was opened here. What is seen of it is as it was; who
    /// wants to write has to open it anew, for the engine does not know the other's files.
    ///
    /// # Errors
    /// The files can't be read, or are of another version by now.
    pub fn is_outdated(&self) -> Result<bool, IndexError> {
        let newest = self.index.load_metas()?;
        check_schema(&newest.schema, &self.index.schema())?;
        let newest: BTreeSet<_> =
            newest.segments.iter().map(|segment| (segment.id(), segment.delete_opstamp())).collect();
        let state = self.state();
        let readers = state.searcher.segment_readers().iter();
        let seen: BTreeSet<_> =
            readers.map(|reader| (reader.segment_id(), reader.delete_opstamp())).collect();
        Ok(newest != seen)
    }

    /// Whether the files of the index are as they were written. Reads all of them.
    ///
    /// # Errors
    /// They can't be read, or are damaged.
    pub fn check(&self) -> Result<(), IndexError> {
        let damaged = self.index.validate_checksum()?;
        if damaged.is_empty() { Ok(()) } else { Err(IndexError::Damaged) }
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: tantivy::store::Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

fn check_schema(found: &Schema, wanted: &Schema) -> Result<(), IndexError> {
    if found == wanted { Ok(()) } else { Err(IndexError::Format) }
}

/// Changes to an index; nothing is seen of them before they are committed.
pub struct Writer<'a> {
    writer: IndexWriter<TantivyDocument>,
    index: &'a RankIndex,
}

impl Writer<'_> {
    /// Adds a file as it is now, in place of what was known of it. Callable from several threads.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn add(&self, path: &str, text: &str, stamp: Stamp) -> Result<(), IndexError> {
        // Also what has become longer than its file by being decoded.
        if text.len() > limits::FILE_BYTES {
            return self.add_beginning(path, text, stamp);
        }
        self.replace(path, document(&self.index.fields, path, text), stamp)
    }

    /// The same for a file of which this is the beginning.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn add_beginning(&self, path: &str, text: &str, stamp: Stamp) -> Result<(), IndexError> {
        let mut document = document(&self.index.fields, path, text);
        document.add_text(self.index.fields.place, BEGINNING);
        self.replace(path, document, stamp)
    }

    /// Adds a file without words, in place of what was known of it: it is there and can't be found.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn add_wordless(&self, path: &str, stamp: Stamp) -> Result<(), IndexError> {
        let fields = &self.index.fields;
        let mut document = TantivyDocument::new();
        document.add_text(fields.key, path);
        document.add_text(fields.place, WORDLESS);
        self.replace(path, document, stamp)
    }

    fn replace(&self, path: &str, mut document: TantivyDocument, stamp: Stamp) -> Result<(), IndexError> {
        let [content, state] = self.index.fields.stamp;
        document.add_u64(content, stamp.content);
        document.add_u64(state, stamp.state);
        self.remove(path);
        self.writer.add_document(document).map_err(IndexError::Write)?;
        Ok(())
    }

    /// Removes a file.
    pub fn remove(&self, path: &str) {
        self.writer.delete_term(Term::from_field_text(self.index.fields.key, path));
    }

    /// Writes what has been added so far.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn flush(&mut self) -> Result<(), IndexError> {
        self.writer.commit().map_err(IndexError::Write)?;
        Ok(())
    }

    /// Makes the changes safe and visible to searches.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn commit(self) -> Result<(), IndexError> {
        self.finish(true)
    }

    /// The same, with the merges that are due or without them: they may take as long as writing all anew.
    ///
    /// # Errors
    /// The index can't be written.
    pub fn finish(mut self, merges: bool) -> Result<(), IndexError> {
        if merges {
            // By default all segments of fewer than 10,000 files are merged as if they were alike: every eighth changed
            // file would have a whole repository written anew.
            let mut policy = LogMergePolicy::default();
            policy.set_min_layer_size(limits::SMALL_SEGMENT);
            policy.set_max_docs_before_merge(limits::LARGE_SEGMENT);
            policy.set_del_docs_ratio_before_merge(limits::DELETED_SHARE);
            self.writer.set_merge_policy(Box::new(policy));
        }
        self.flush()?;
        if merges {
            // A writer that goes away stops its merges, and one that lives for a file never ends one: segments pile up.
            self.writer.wait_merging_threads().map_err(IndexError::Write)?;
        }
        self.index.reload()
    }
}

fn document(fields: &Fields, path: &str, text: &str) -> TantivyDocument {
    // What is larger is data; its beginning tells what it is.
    let text = &text[..text.floor_char_boundary(limits::FILE_BYTES)];
    let language = language(path);
    let outline = outline(text, language);
    let mut document = TantivyDocument::new();
    document.add_text(fields.key, path);
    if is_aside(path) {
        document.add_text(fields.place, ASIDE);
    }

    let mut parts = Parts::default();
    let mut path_words = Encoded::default();
    let mut position = 0;
    for (_, word) in words(path) {
        position = path_words.push_word(&mut parts, word, position);
    }
    document.add_text(fields.path, path_words.finish());

    let mut record = FileRecord { path: path.to_owned(), ..FileRecord::default() };
    let (mut definitions, mut body, mut comments) =
        (Encoded::default(), Encoded::with_capacity(2 * text.len()), Encoded::default());
    let mut position = 0;
    let mut chunks = outline.chunks.iter().peekable();
    let mut symbols = outline.symbols.iter().peekable();
    for (number, (line, kind)) in text.lines().zip(&outline.lines).enumerate() {
        let number = number as u32;
        if let Some(chunk) = chunks.next_if(|chunk| chunk.start_line == number + 1) {
            record.push_chunk(chunk, position);
        }
        let code = match *kind {
            LineKind::Blank => continue,
            LineKind::Comment => 0,
            LineKind::Code(end) => end,
        };
        let start = position;
        position = body.push_words(&mut parts, &line[..code], position);
        position = comments.push_words(&mut parts, &line[code..], position);
        while let Some(symbol) = symbols.next_if(|symbol| symbol.line == number) {
            // A name that is cut out of a word may have more parts than its line; those behind it are the next line's.
            let end = definitions.push_words(&mut parts, &symbol.name, start).min(position);
            record.push_symbol(symbol, start, end - start);
        }
    }
    record.end_position = position;
    document.add_text(fields.definitions, definitions.finish());
    document.add_text(fields.body, body.finish());
    document.add_text(fields.comments, comments.finish());
    document.add_text(fields.record, record.to_text());
    document
}

impl Encoded {
    /// Adds the words of a text; returns the position behind the last.
    fn push_words(&mut self, parts: &mut Parts, text: &str, mut position: u32) -> u32 {
        for (_, word) in words(text) {
            position = self.push_word(parts, word, position);
        }
        position
    }

    fn push_word(&mut self, parts: &mut Parts, word: &str, position: u32) -> u32 {
        parts.split(word);
        if parts.is_compound() {
            self.push(parts.whole(), position);
        }
        for (nth, part) in parts.iter().enumerate() {
            self.push(&stem(part), position + nth as u32);
        }
        position + parts.len() as u32
    }
}

#[cfg(test)]
mod tests;
