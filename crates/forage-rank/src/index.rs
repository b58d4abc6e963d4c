//! The index: one document per file, with the positions of its words.
//!
//! A file is one document so that it can be added and removed as a unit. Its chunks are ranges of positions,
//! which are stored separately. No score depends on deleted documents or on how documents are distributed
//! over segments, because we count documents while reading posting lists, and only living ones. So an updated
//! index answers like a new one.

mod encoded;
#[cfg(test)]
mod fuzz;
mod record;
mod schema;
mod segment;
mod writer;

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use forage_base::Stop;
use forage_fs::{RelPath, Root};
use forage_git::{CommitObject, HistoryError, ObjectError, ObjectId, Repository};
use tantivy::schema::Schema;
use tantivy::{DocId, IndexSettings, TantivyDocument};

pub use encoded::TOKENIZER as FORMAT;
use encoded::{Occurrences, Vocabulary};
pub(crate) use record::{RecordSymbol, StoredFile};
use schema::{ASIDE, DOUBTFUL};
pub(crate) use schema::{FIELD_COUNT, Fields};
use segment::SegmentOpening;
pub(crate) use segment::{Paths, RankedSegment};
pub use writer::Writer;

use crate::chunk::{LineKind, outline};
use crate::error::IndexError;
use crate::history::{self, History};
use crate::kinds::{ProjectEvidence, ShareGroup, path_signs};
use crate::languages::language;
use crate::latent::LatentSum;
use crate::limits;
use crate::project;
use crate::segments::{Files, Manifest, Trust, guarded};
use crate::stop_checker::{PATH_STEPS, StopChecker};

/// Hashes of a file at the time when it was indexed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// A hash of the content that was read.
    pub content: u64,
    /// A hash of the file's state; 0 for a state that does not reliably show changes.
    pub state: u64,
}

/// A ranked index, on disk or in memory.
pub struct RankIndex {
    files: Files,
    schema: Schema,
    fields: Fields,
    state: RwLock<Arc<IndexState>>,
    history: RwLock<Arc<ReadHistory>>,
    /// The names of the project.
    names: RwLock<Arc<[String]>>,
    evidence: RwLock<Arc<ReadEvidence>>,
    /// Held by the writer, so that there is only one.
    writing: Mutex<()>,
    /// Set if the engine failed although the files were intact when they were opened.
    is_damaged: AtomicBool,
    never: Stop,
}

/// The known commits of the project.
#[derive(Debug, Default)]
struct ReadHistory {
    /// The history that was read last. It is kept even if it is not used, for the next time.
    history: Arc<History>,
    /// The reason why the history is not used.
    lacks: Option<HistoryError>,
}

/// Evidence of the kinds of files, and the state from which it was gathered.
#[derive(Debug, Default)]
struct ReadEvidence {
    evidence: ProjectEvidence,
    state: Weak<IndexState>,
    /// The commit that was checked out.
    head: Option<ObjectId>,
}

/// The index as it was at the last commit that was seen.
#[derive(Default)]
pub(crate) struct IndexState {
    pub(crate) segments: Vec<Arc<RankedSegment>>,
    /// Number of living documents with words.
    pub(crate) files: u32,
    manifest: Manifest,
}

/// Several indexes searched as one: document frequencies and mean lengths are computed over all of them.
pub(crate) struct MultiIndex {
    /// All segments, each with the number of its index.
    pub(crate) segments: Vec<(usize, Arc<RankedSegment>)>,
    /// Mean number of words per field of [`Fields::words`], over living documents with words.
    pub(crate) means: [f32; FIELD_COUNT],
    /// Number of living documents with words.
    pub(crate) files: u32,
    /// The sum of their latent vectors.
    pub(crate) latent: LatentSum,
    pub(crate) fields: Fields,
    /// The evidence of file kinds in the project of each of these indexes.
    evidence: Vec<Arc<ReadEvidence>>,
}

impl MultiIndex {
    /// Joins the current states of the indexes; `None` if there are none.
    pub(crate) fn new(indexes: &[&RankIndex]) -> Option<Self> {
        let fields = indexes.first()?.fields.clone();
        let (mut segments, mut files) = (Vec::new(), 0);
        for (position, index) in indexes.iter().enumerate() {
            let state = index.state();
            segments.extend(state.segments.iter().map(|segment| (position, Arc::clone(segment))));
            files += state.files;
        }
        let mut means = [0.0; FIELD_COUNT];
        for (position, mean) in means.iter_mut().enumerate() {
            let total: u64 = segments.iter().map(|(_, segment)| segment.totals[position]).sum();
            // Lengths are divided by this, so it must not be 0.
            *mean = (total as f32 / files.max(1) as f32).max(1.0);
        }
        let mut latent = LatentSum::default();
        segments.iter().for_each(|(_, segment)| latent.join(&segment.latent));
        let evidence = indexes.iter().map(|index| index.evidence()).collect();
        Some(Self { segments, means, files, latent, fields, evidence })
    }

    /// Returns the evidence of file kinds in an index's project.
    pub(crate) fn evidence(&self, index: usize) -> &ProjectEvidence {
        &self.evidence[index].evidence
    }
}

impl IndexState {
    fn new(segments: Vec<Arc<RankedSegment>>, manifest: Manifest) -> Self {
        let files = segments.iter().map(|segment| segment.files_with_words()).sum();
        Self { segments, files, manifest }
    }

    /// Returns the files of this state with their stamps, in no particular order.
    pub(crate) fn living(&self) -> impl Iterator<Item = (&str, Stamp)> {
        self.segments.iter().flat_map(|segment| segment.living()).map(|(_, path, stamp)| (path, stamp))
    }
}

impl RankIndex {
    /// Creates an empty index in memory.
    ///
    /// # Errors
    ///
    /// None at present.
    pub fn in_memory() -> Result<Self, IndexError> {
        Ok(Self::empty(Files::in_memory()))
    }

    /// Opens the index in an existing directory; it is empty if there is none yet. All of its files are read
    /// and compared with the manifest before the engine uses them.
    ///
    /// # Errors
    ///
    /// Returns an error if the directory cannot be used, contains something else, or could not be read before
    /// the deadline ([`IndexError::Stopped`]).
    pub fn in_directory(directory: &Path, stop: &Stop) -> Result<Self, IndexError> {
        Self::open(directory, Trust::Nothing, stop)
    }

    /// Initialises the index in an empty directory with a copy of another one, so that the next update only
    /// needs to read files that differ. The copied files are checked when the index is opened.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no index in `from`, one of the directories cannot be used, or the
    /// deadline passed.
    pub fn copy(from: &Path, to: &Path, stop: &Stop) -> Result<(), IndexError> {
        let (from, to) = (Files::in_directory(from)?, Files::in_directory(to)?);
        let manifest = from.manifest(FORMAT)?.ok_or(IndexError::Damaged)?;
        for file in manifest.files() {
            if stop.check().is_some() {
                return Err(IndexError::Stopped);
            }
            to.copy(&from, file)?;
        }
        to.copy_history(&from);
        // The manifest must come last: it makes the copy an index.
        Ok(to.replace_manifest(FORMAT, &manifest)?)
    }

    fn open(directory: &Path, trust: Trust, stop: &Stop) -> Result<Self, IndexError> {
        let mut index = Self::empty(Files::in_directory(directory)?);
        if let Some(manifest) = index.files.manifest(FORMAT)? {
            let state = index.read(manifest, trust, stop)?;
            index.state = RwLock::new(Arc::new(state));
        }
        let history = index.files.history().and_then(|bytes| History::from_bytes(&bytes));
        index.history = RwLock::new(Arc::new(ReadHistory {
            history: Arc::new(history.unwrap_or_default()),
            lacks: None,
        }));
        Ok(index)
    }

    fn empty(files: Files) -> Self {
        let (schema, fields) = Fields::schema();
        Self {
            files,
            schema,
            fields,
            state: RwLock::default(),
            history: RwLock::default(),
            names: RwLock::default(),
            evidence: RwLock::default(),
            writing: Mutex::default(),
            is_damaged: AtomicBool::new(false),
            never: Stop::never(),
        }
    }

    /// Opens the segments that a manifest names, reusing those that are already open.
    fn read(&self, manifest: Manifest, trust: Trust, stop: &Stop) -> Result<IndexState, IndexError> {
        let known = self.state();
        let opening =
            SegmentOpening { files: &self.files, trust, stop, schema: &self.schema, fields: &self.fields };
        let segments = manifest.segments.iter().map(|entry| {
            let open = known.segments.iter().find(|segment| segment.entry == *entry);
            open.map_or_else(
                || guarded(|| RankedSegment::open(opening, entry.clone()).map(Arc::new)),
                |open| Ok(Arc::clone(open)),
            )
        });
        let segments = segments.collect::<Result<_, IndexError>>()?;
        Ok(IndexState::new(segments, manifest))
    }

    /// Opens this index for writing. There is one writer at a time within this process; processes must
    /// coordinate among themselves.
    ///
    /// # Errors
    ///
    /// Returns [`IndexError::Busy`] if there is another writer.
    pub fn writer(&self, threads: usize) -> Result<Writer<'_>, IndexError> {
        self.writer_until(threads, threads > 1, &self.never)
    }

    /// Like `writer`, but writing ends when `stop` says so, even if it is incomplete. `has_many` is true for
    /// changes to many files.
    pub(crate) fn writer_until(
        &self,
        threads: usize,
        has_many: bool,
        stop: &Stop,
    ) -> Result<Writer<'_>, IndexError> {
        Writer::new(self, threads, has_many, stop)
    }

    /// Loads changes committed since the last time.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read.
    #[cfg(test)]
    fn reload(&self) -> Result<(), IndexError> {
        let manifest = self.files.manifest(FORMAT)?.unwrap_or_default();
        self.publish(self.read(manifest, Trust::Nothing, &self.never)?);
        Ok(())
    }

    /// Updates the project's names, its commits and its evidence of file kinds to match the checkout of a
    /// root. Messages of commits are evidence of the files that they changed.
    ///
    /// If nothing has changed, this only opens a few files. Otherwise it takes part of the time that is left,
    /// and the next call continues where this one stopped. If the index covers only a part of the root, pass
    /// that directory as `below`.
    pub fn read_project(&self, root: &Arc<Root>, below: &RelPath, stop: &Stop) {
        self.read_commits(root, below, stop);
        self.read_evidence(root, below, stop);
    }

    /// Reads the names of the project and its commits.
    pub(crate) fn read_commits(&self, root: &Arc<Root>, below: &RelPath, stop: &Stop) {
        *self.names.write().unwrap_or_else(PoisonError::into_inner) = project::names(root).into();
        let before = self.history();
        let now = match history::read(root, below, &before.history, stop) {
            Ok(None) if before.lacks.is_none() => return,
            Ok(None) => ReadHistory { history: Arc::clone(&before.history), lacks: None },
            Ok(Some(history)) => {
                if history != *before.history {
                    self.files.replace_history(&history.to_bytes());
                }
                ReadHistory { history: Arc::new(history), lacks: None }
            }
            Err(lacks) => ReadHistory { history: Arc::clone(&before.history), lacks: Some(lacks) },
        };
        *self.history.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
    }

    /// Gathers the evidence of file kinds, unless both the files and the commit that is checked out are the
    /// same as last time.
    pub(crate) fn read_evidence(&self, root: &Arc<Root>, below: &RelPath, stop: &Stop) {
        let (state, before) = (self.state(), self.evidence());
        let head = Repository::state_of(root).ok().map(|state| state.head);
        // The weak reference keeps the address from being reused, so the pointers can be compared.
        if before.head == head && std::ptr::eq(before.state.as_ptr(), Arc::as_ptr(&state)) {
            return;
        }
        let mut tree = CheckedOutTree { root, below, stop, opened: None, is_late: false };
        let evidence = evidence_of(&state, |directory| tree.tracks(directory));
        // The next call must ask again about the directories that we had no time for.
        let state = if tree.is_late { Weak::new() } else { Arc::downgrade(&state) };
        self.replace_evidence(ReadEvidence { evidence, state, head });
    }

    /// Gathers the evidence of file kinds for a project in which git tracks every file.
    pub fn read_tracked_paths(&self) {
        let state = self.state();
        let evidence = evidence_of(&state, |_| Some(true));
        self.replace_evidence(ReadEvidence { evidence, state: Arc::downgrade(&state), head: None });
    }

    fn evidence(&self) -> Arc<ReadEvidence> {
        Arc::clone(&self.evidence.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn replace_evidence(&self, read: ReadEvidence) {
        *self.evidence.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(read);
    }

    /// Describes in words which commits of the project this index knows.
    #[must_use]
    pub fn history_note(&self) -> String {
        let read = self.history();
        match &read.lacks {
            Some(lacks) => format!("commit messages are not used: {lacks}"),
            None => read.history.note(),
        }
    }

    /// Returns true if this index knows a commit.
    pub(crate) fn knows_commit(&self, name: &str) -> bool {
        self.used_history().is_some_and(|history| history.has(name))
    }

    fn history(&self) -> Arc<ReadHistory> {
        Arc::clone(&self.history.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the project's own names. They have the form of query words.
    pub(crate) fn names(&self) -> Arc<[String]> {
        Arc::clone(&self.names.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the commits that are currently used as evidence.
    pub(crate) fn used_history(&self) -> Option<Arc<History>> {
        let read = self.history();
        read.lacks.is_none().then(|| Arc::clone(&read.history))
    }

    fn publish(&self, state: IndexState) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// Counts the files that this index can find.
    #[must_use]
    pub fn files(&self) -> u64 {
        u64::from(self.state().files)
    }

    /// Counts the files without words, i.e. binary files, and files that cannot be read.
    #[must_use]
    pub fn wordless_files(&self) -> u64 {
        self.state().segments.iter().map(|segment| segment.wordless().count() as u64).sum()
    }

    /// Counts the files longer than [`limits::FILE_BYTES`]. Only their beginning is indexed.
    #[must_use]
    pub fn files_in_part(&self) -> u64 {
        self.state().segments.iter().map(|segment| segment.truncated_documents().count() as u64).sum()
    }

    /// Returns true if `is_one` accepts the path of any file that this index can find.
    pub fn any_file(&self, is_one: impl Fn(&str) -> bool) -> bool {
        self.state().segments.iter().any(|segment| {
            let mut living = segment.reader.doc_ids_alive();
            living.any(|document| !segment.paths.is_wordless(document) && is_one(segment.paths.get(document)))
        })
    }

    /// Counts the findable files whose paths the predicate accepts; `None` if it was stopped before it had
    /// seen all of them. This checks `stop` as often as a search does.
    pub fn count_files(
        &self,
        is_such: impl Fn(&str) -> bool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Option<u64> {
        let (state, pace, mut count) = (self.state(), StopChecker::new(stop), 0);
        for segment in &state.segments {
            for (document, path, _) in segment.living() {
                pace.step(PATH_STEPS).ok()?;
                count += u64::from(!segment.paths.is_wordless(document) && is_such(path));
            }
        }
        Some(count)
    }

    /// Counts those of the [`RankIndex::wordless_files`] that could not be opened or must not be.
    #[must_use]
    pub fn unread_files(&self) -> u64 {
        let state = self.state();
        let unread = |segment: &Arc<RankedSegment>| {
            segment
                .wordless()
                .filter(|&document| segment.paths.stamps[document as usize].content == 0)
                .count()
        };
        state.segments.iter().map(|segment| unread(segment) as u64).sum()
    }

    /// Returns the documents of a segment that are seldom asked for, living or not.
    pub(crate) fn secondary(&self, segment: &RankedSegment) -> HashSet<DocId> {
        segment.paths.secondary(&self.evidence().evidence, |_| true).collect()
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    /// Returns true if another process has written the index since it was opened here. Readers continue to
    /// see the old state; a writer must open the index again.
    ///
    /// # Errors
    ///
    /// Returns an error if the files cannot be read or now have another version.
    pub fn is_outdated(&self) -> Result<bool, IndexError> {
        let state = self.state();
        match (&self.files, self.files.manifest(FORMAT)?) {
            (Files::Memory(_), _) => Ok(false),
            (Files::Disk { .. }, Some(newest)) => Ok(newest != state.manifest),
            // The index was removed, or does not exist yet.
            (Files::Disk { .. }, None) => Ok(state.manifest != Manifest::default()),
        }
    }

    /// Returns true if the engine has failed since the index was opened, so that the index must be rebuilt.
    /// The files were intact when they were checked.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Relaxed)
    }

    /// Runs code that uses the engine, and remembers damage that it encounters.
    pub(crate) fn using<T>(&self, work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
        let result = guarded(work);
        if result.as_ref().is_err_and(IndexError::is_damage) {
            self.is_damaged.store(true, Ordering::Relaxed);
        }
        result
    }

    pub(crate) fn state(&self) -> Arc<IndexState> {
        Arc::clone(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn evidence_of(state: &IndexState, tracks: impl FnMut(&str) -> Option<bool>) -> ProjectEvidence {
    let segments = || state.segments.iter();
    let doubtful =
        segments().flat_map(|segment| segment.doubtful().map(move |document| segment.paths.get(document)));
    let counts = ShareGroup::ALL.map(|(group, _)| segments().map(|segment| segment.count_group(group)).sum());
    ProjectEvidence::new(doubtful, counts, state.files as usize, tracks)
}

/// The tree of the commit that is checked out in a root.
struct CheckedOutTree<'a> {
    root: &'a Arc<Root>,
    below: &'a RelPath,
    stop: &'a Stop,
    opened: Option<Result<(Repository, CommitObject), NoTree>>,
    /// True if the deadline passed before everything could be read.
    is_late: bool,
}

/// The reason why there is no tree.
#[derive(Clone, Copy)]
enum NoTree {
    NoRepository,
    Unreadable,
}

impl CheckedOutTree<'_> {
    /// Returns true if git tracks a directory below [`CheckedOutTree::below`], and `None` if there is no
    /// repository. If the tree can't be read, for example in a linked worktree, every directory counts as
    /// tracked. This is safe because ignored files aren't in the index.
    fn tracks(&mut self, directory: &str) -> Option<bool> {
        let (root, stop) = (self.root, self.stop);
        let opened = self.opened.get_or_insert_with(|| {
            let mut repository = Repository::open(root, stop).map_err(|reason| match reason {
                HistoryError::NoRepository => NoTree::NoRepository,
                _ => NoTree::Unreadable,
            })?;
            let commit = repository.commit(&repository.head()).map_err(|_| NoTree::Unreadable)?;
            Ok((repository, commit))
        });
        match opened {
            Err(NoTree::NoRepository) => None,
            Err(NoTree::Unreadable) => {
                self.is_late |= stop.check().is_some();
                Some(true)
            }
            Ok((repository, commit)) => {
                let path = RelPath::parse(directory, self.below).ok()?;
                let has = repository.has_directory(commit, &path);
                self.is_late |= matches!(has, Err(ObjectError::Stopped));
                Some(has.unwrap_or(true))
            }
        }
    }
}

fn settings() -> IndexSettings {
    IndexSettings {
        docstore_compression: tantivy::store::Compressor::None,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

fn document(fields: &Fields, path: &str, text: &str) -> TantivyDocument {
    // A larger file is data, and its beginning shows which kind.
    let text = &text[..text.floor_char_boundary(limits::FILE_BYTES)];
    let language = language(path);
    let outline = outline(text, language);
    let mut document = TantivyDocument::new();
    document.add_text(fields.key, path);
    let signs = path_signs(path);
    if signs.is_doubtful() {
        document.add_text(fields.place, DOUBTFUL);
    }
    if signs.sure.is_secondary() {
        document.add_text(fields.place, ASIDE);
    } else {
        let terms = ShareGroup::ALL.iter().filter(|(group, _)| signs.has_group(*group));
        terms.for_each(|(_, term)| document.add_text(fields.place, term));
    }

    let mut vocabulary = Vocabulary::default();
    let mut path_words = Occurrences::default();
    path_words.push_words(&mut vocabulary, path, 0);
    document.add_text(fields.path, path_words.to_text(&vocabulary));

    let mut record = StoredFile { path: path.to_owned(), ..StoredFile::default() };
    let [mut definitions, mut body, mut comments] = std::array::from_fn(|_| Occurrences::default());
    let mut position = 0;
    let mut chunks = outline.chunks.iter().peekable();
    let mut symbols = outline.symbols.iter().peekable();
    for (number, (line, kind)) in forage_fs::lines(text).zip(&outline.lines).enumerate() {
        let number = number as u32;
        // A chunk may begin with a blank line, so this must precede the check for one.
        if let Some(chunk) = chunks.next_if(|chunk| chunk.start_line == number + 1) {
            record.push_chunk(chunk, position);
        }
        let code = match *kind {
            LineKind::Blank => continue,
            LineKind::Comment => 0,
            LineKind::Code(end) => end,
        };
        let start = position;
        position = body.push_words(&mut vocabulary, &line[..code], position);
        position = comments.push_words(&mut vocabulary, &line[code..], position);
        while let Some(symbol) = symbols.next_if(|symbol| symbol.line == number) {
            // A name cut out of a word may have more parts than its line. The positions beyond it belong to
            // the next line.
            let end = definitions.push_words(&mut vocabulary, &symbol.name, start).min(position);
            record.push_symbol(symbol, start, end - start);
        }
    }
    record.end_position = position;
    document.add_text(fields.definitions, definitions.to_text(&vocabulary));
    document.add_text(fields.body, body.to_text(&vocabulary));
    document.add_text(fields.comments, comments.to_text(&vocabulary));
    document.add_text(fields.record, record.to_text());
    let place = encoded::latent_place(&vocabulary, &path_words, &[&body, &comments]);
    for (field, column) in fields.latent.iter().zip(place.to_columns()) {
        document.add_u64(*field, column);
    }
    document
}

#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod tests;
