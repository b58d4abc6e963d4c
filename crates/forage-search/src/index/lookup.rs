//! Consults an index during a search.
//!
//! An index never decides that a file matches, only that it need not be read. For each file of a walk:
//!
//! ```text
//! file ──▶ newest layer that has it ──▶ same state as when it was indexed? ──no──▶ read it
//!                                                     │ yes
//!                                                     ▼
//!                            one of its parts in the candidates of a query? ──yes──▶ read it
//!                                                     │ no
//!                                                     ▼
//!                                             leave it unread
//! ```
//!
//! - [`Index`] owns the layers, which a thread may still be opening ([`LookupOpening`]). A search starts
//!   without them and reads every file until they are available.
//! - [`Selection`] is one search: its queries, and the candidates of each layer. The first worker that needs
//!   the candidates computes them.
//! - [`LookupCursor`] is one worker. Files arrive in path order, so it looks for the next file close to the
//!   last one.
//!
//! A watched tree needs no walk: [`super::listed`] uses the same candidates to choose the files of the
//! listing to visit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::{Entry, FileListing, FileState, PendingFile, SkipReason, Snapshot, WalkOptions, WatchedTree};

use super::candidates::{LayerCandidates, may_match};
use super::listed::{Listed, ListedFiles};
use super::plan::TrigramQuery;
use super::segment::{Content, FilePart, Segment, TrigramIndexError};
use crate::limits;
use crate::notebook::is_notebook;

/// The index of a root: a base layer, and layers above it with the files that changed since.
///
/// Its data about a file holds for the state in which the file was read. We leave a file unread only if we
/// know it to be in that state, either by reading its metadata or because its tree is watched. An index may
/// therefore be outdated or even belong to another tree. This only makes it less useful.
#[derive(Debug)]
pub struct Index {
    /// The layers, newest first; unset while they are being opened.
    layers: OnceLock<Vec<Segment>>,
    opening: LookupOpening,
    /// Directories that a walk need not list.
    snapshot: Arc<Snapshot>,
    strangers: AtomicU64,
    /// Set when a search could not compute its candidates.
    is_damaged: AtomicBool,
    /// Number of files in which searches have found something.
    found: AtomicU64,
    watched: Option<Arc<WatchedTree>>,
    /// The queries of the last search.
    asked: Mutex<Arc<[TrigramQuery]>>,
    /// The mappings for the most recently used listings.
    listed: Mutex<Vec<Arc<Listed>>>,
}

/// The progress of the thread that opens an index.
#[derive(Debug, Default)]
struct LookupOpening {
    progress: Mutex<LookupProgress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LookupProgress {
    /// True if a search is waiting for the index.
    is_wanted: bool,
    is_over: bool,
}

impl LookupOpening {
    fn progress(&self) -> MutexGuard<'_, LookupProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps until `time` has passed or a search starts to wait.
    fn sleep(&self, time: Duration) {
        drop(self.changed.wait_timeout_while(self.progress(), time, |progress| !progress.is_wanted));
    }

    fn set(&self, set: impl FnOnce(&mut LookupProgress)) {
        set(&mut self.progress());
        self.changed.notify_all();
    }

    /// Waits until opening has finished.
    fn wait(&self, stop: &Stop) {
        let mut progress = self.progress();
        while !progress.is_over && stop.check().is_none() {
            let woken = self.changed.wait_timeout(progress, limits::POLL_INTERVAL);
            progress = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Wakes all waiting searches when opening finishes, even by a panic.
struct NotifyOnDrop(Arc<Index>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.opening.set(|progress| progress.is_over = true);
    }
}

impl Index {
    /// Creates an index from its layers, newest first.
    pub fn new(layers: Vec<Segment>) -> Self {
        Self { layers: OnceLock::from(layers), ..Self::empty() }
    }

    /// Adds a watched tree, so that a search needs no walk if there is a listing.
    pub fn watching(self, watched: Arc<WatchedTree>) -> Self {
        Self { watched: Some(watched), ..self }
    }

    /// Adds the directories as they were when the tree was walked to build the index.
    pub fn with_snapshot(self, snapshot: Snapshot) -> Self {
        Self { snapshot: Arc::new(snapshot), ..self }
    }

    fn empty() -> Self {
        Self {
            layers: OnceLock::new(),
            opening: LookupOpening::default(),
            snapshot: Arc::default(),
            strangers: AtomicU64::new(0),
            is_damaged: AtomicBool::new(false),
            found: AtomicU64::new(0),
            watched: None,
            asked: Mutex::default(),
            listed: Mutex::default(),
        }
    }

    /// Creates an index that `open` fills on another thread.
    ///
    /// Searches start without it, and some will find enough before it is available. Exhaustive searches must
    /// wait for it.
    pub fn opening(open: impl FnOnce(&Snapshot) -> Vec<Segment> + Send + 'static) -> Arc<Self> {
        let index = Arc::new(Self::empty());
        let ends = NotifyOnDrop(Arc::clone(&index));
        let fill = move || {
            let index = &ends.0;
            index.opening.sleep(limits::INDEX_HEAD_START);
            let (long, common) = limits::INDEX_LONG_HEAD_START;
            if index.found.load(Ordering::Relaxed) >= common {
                index.opening.sleep(long - limits::INDEX_HEAD_START);
            }
            drop(index.layers.set(open(&index.snapshot)));
        };
        // If no thread can be spawned, there is no index, and we read every file.
        drop(std::thread::Builder::new().name("index".to_owned()).spawn(fill));
        index
    }

    /// Starts opening at once, for a search that is about to wait for it.
    pub fn prefetch(&self) {
        self.opening.set(|progress| progress.is_wanted = true);
    }

    /// Waits until the index is open or could not be opened.
    pub fn wait_until_open(&self, stop: &Stop) {
        if self.layers.get().is_none() {
            self.prefetch();
            self.opening.wait(stop);
        }
    }

    /// Records that a search found something in a file.
    pub(crate) fn record_hit(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    /// Creates options for a walk that does not list directories known to be unchanged.
    pub fn walk_options(&self, options: &WalkOptions) -> WalkOptions {
        WalkOptions { snapshot: Some(Arc::clone(&self.snapshot)), ..options.clone() }
    }

    /// The layers, newest first.
    pub fn layers(&self) -> &[Segment] {
        self.layers.get().map_or(&[], Vec::as_slice)
    }

    /// The number of files seen by searches so far that an update would add to the index. They are missing,
    /// have changed, or had just been changed when they were indexed.
    pub fn strangers(&self) -> u64 {
        self.strangers.load(Ordering::Relaxed)
    }

    /// Returns true if a search found, since the last call, that the index is damaged or can't be read. An
    /// update should then check all of it.
    pub fn take_damage(&self) -> bool {
        self.is_damaged.swap(false, Ordering::Relaxed)
    }

    /// Creates a cursor for one worker, for lookups beyond a single search. It knows no file until the index
    /// is open, see [`Index::wait_until_open`].
    pub fn cursor(&self, options: &WalkOptions) -> LookupCursor<'_> {
        LookupCursor { index: self, selection: None, counts: counts(options), near: Vec::new() }
    }

    /// Returns the current listing of the tree if it is watched. As long as this returns the same listing, no
    /// change has been reported.
    pub fn watched(&self, options: &WalkOptions) -> Option<Arc<FileListing>> {
        self.watched.as_ref()?.listing(options)
    }

    /// Looks up the mapping for the current listing of the tree. Returns `None` if the tree must be walked.
    fn listed(&self, options: &WalkOptions) -> Option<Arc<Listed>> {
        let layers = self.layers.get()?;
        let listing = self.watched.as_ref()?.listing(options)?;
        let find = |listed: &[Arc<Listed>]| {
            listed.iter().find(|listed| Arc::ptr_eq(listed.listing(), &listing)).map(Arc::clone)
        };
        if let Some(listed) = find(&self.listed.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Some(listed);
        }
        let listed = Arc::new(Listed::new(listing, layers));
        // Each listing counts all files, so we must not add the counts of successive listings.
        if counts(options) {
            self.strangers.fetch_max(listed.strangers(), Ordering::Relaxed);
        }
        let mut kept = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, Arc::clone(&listed));
        kept.truncate(forage_fs::limits::LISTINGS_KEPT);
        Some(listed)
    }

    /// Returns true if the tree has changed since `since` without a notification.
    pub(crate) fn detect_unreported_changes(
        &self,
        options: &WalkOptions,
        since: Instant,
        stop: &Stop,
    ) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.detect_unreported_changes(options, since, stop))
    }

    /// Chooses the files of the current listing that a search must visit. Returns `None` if the tree must be
    /// walked.
    pub(crate) fn choose(
        &self,
        selection: Option<&Selection<'_>>,
        options: &WalkOptions,
        max_file_bytes: Option<u64>,
    ) -> Option<ListedFiles> {
        let listed = self.listed(options)?;
        let candidates = match selection {
            Some(selection) => Some(selection.candidates(self.layers())?),
            None => None,
        };
        Some(listed.choose(candidates, max_file_bytes))
    }

    /// Runs searches without changing the result of [`Index::explain`].
    pub fn unexplained<T>(&self, searches: impl FnOnce() -> T) -> T {
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked().clone();
        let result = searches();
        *asked() = before;
        result
    }

    /// Describes how the index served the last search, e.g. the number of candidates. Returns `None` if the
    /// search did not use it.
    pub fn explain(&self) -> Option<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if asked.is_empty() {
            return None;
        }
        let Some(layers) = self.layers.get() else {
            return Some("the search ended before the index was opened".to_owned());
        };
        if asked.contains(&TrigramQuery::Any) {
            return Some("no three consecutive bytes occur in every match; every file is read".to_owned());
        }
        let files: u64 = layers.iter().map(|layer| u64::from(layer.len())).sum();
        let lines = asked.iter().map(|query| {
            let of_layer = |layer: &Segment| layer.candidates(query).ok().map(|files| u64::from(files.len()));
            match layers.iter().map(of_layer).sum::<Option<u64>>() {
                Some(candidates) => format!("{candidates} of {files} files have {query}"),
                None => "the index is damaged; every file is read".to_owned(),
            }
        });
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Prepares a search for any of the queries. Returns `None` if the index can't exclude any file.
    pub(crate) fn select<'a>(&'a self, queries: Vec<TrigramQuery>, stop: &'a Stop) -> Option<Selection<'a>> {
        let queries: Arc<[TrigramQuery]> = queries.into();
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&queries);
        let is_any = queries.contains(&TrigramQuery::Any);
        (!is_any).then(|| Selection { index: self, queries, stop, candidates: OnceLock::new() })
    }
}

/// Checks that a walk visits only files that belong in an index. Note that hidden files that globs and
/// options include are never indexed.
fn counts(options: &WalkOptions) -> bool {
    !options.no_ignore && options.globs.is_none()
}

/// The use of an index by one search.
pub(crate) struct Selection<'a> {
    index: &'a Index,
    queries: Arc<[TrigramQuery]>,
    stop: &'a Stop,
    /// The candidates of each layer by query; `None` if a layer turned out to be damaged.
    candidates: OnceLock<Option<Vec<Vec<LayerCandidates>>>>,
}

/// The outcome for a file that need not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadFile {
    /// Nothing in the file matches.
    NoMatch,
    /// The file is not searched.
    Skipped(SkipReason),
}

impl<'a> Selection<'a> {
    /// Creates a cursor for one worker.
    pub(crate) fn cursor(&'a self, options: &WalkOptions) -> LookupCursor<'a> {
        LookupCursor { selection: Some(self), ..self.index.cursor(options) }
    }

    fn candidates(&self, layers: &[Segment]) -> Option<&[Vec<LayerCandidates>]> {
        let of_query = |layer: &Segment, query| {
            let parts = layer.parts(query, self.stop)?;
            Ok::<_, TrigramIndexError>(LayerCandidates { files: layer.files_of(&parts), parts })
        };
        let of_layer = |layer: &Segment| self.queries.iter().map(|query| of_query(layer, query)).collect();
        let find = || {
            let candidates = layers.iter().map(of_layer).collect::<Result<_, _>>();
            self.index.is_damaged.fetch_or(candidates.is_err(), Ordering::Relaxed);
            candidates.ok()
        };
        self.candidates.get_or_init(find).as_deref()
    }
}

/// A worker's position in an index. Lookups are fast if the files of a directory come consecutively.
pub struct LookupCursor<'a> {
    index: &'a Index,
    /// If set, we treat files that may match one of its queries as unknown, because they must be read.
    selection: Option<&'a Selection<'a>>,
    /// True if the walk visits only files that belong in an index.
    counts: bool,
    /// For each layer, the position at which to look for the next file first.
    near: Vec<u32>,
}

/// A file whose state is unchanged since a layer indexed it.
struct UnchangedFile<'a> {
    layer: &'a Segment,
    file: u32,
    state: FileState,
    content: Content,
}

/// The reason why a file must be read.
enum Unknown {
    /// It may match, or the index can't decide.
    Open,
    /// No layer has indexed its current state.
    Stranger { has_state: bool },
}

impl UnchangedFile<'_> {
    fn unread(&self, max_file_bytes: Option<u64>) -> Option<UnreadFile> {
        match self.content {
            // We can't rely on the index if the file had just been changed or its state is unreliable.
            Content::Large | Content::Young | Content::Unreliable => None,
            _ if max_file_bytes.is_some_and(|limit| self.state.size > limit) => {
                Some(UnreadFile::Skipped(SkipReason::TooLarge))
            }
            Content::Binary => Some(UnreadFile::Skipped(SkipReason::Binary)),
            Content::Indexed => Some(UnreadFile::NoMatch),
        }
    }
}

impl<'a> LookupCursor<'a> {
    /// Looks up the number of lines of a text file of at most `max_file_bytes` bytes. Returns `None` if the
    /// file must be read to count them.
    pub fn lines(&mut self, entry: &Entry<'_>, max_file_bytes: u64) -> Option<u64> {
        let known = self.known(entry, 0)?;
        let counts = known.content == Content::Indexed && known.state.size <= max_file_bytes;
        known.layer.lines(known.file).filter(|_| counts).map(u64::from)
    }

    /// Returns the outcome for a file that need not be read, or `None` if it must be read. `wanted` must have
    /// a bit for each query that still matters.
    pub(crate) fn unread(
        &mut self,
        entry: &Entry<'_>,
        wanted: u64,
        max_file_bytes: Option<u64>,
    ) -> Option<UnreadFile> {
        let known = self.known(entry, wanted)?;
        known.unread(max_file_bytes)
    }

    /// Like [`LookupCursor::unread`], for a file whose metadata has not been read yet.
    pub(crate) fn dismisses(
        &mut self,
        file: &PendingFile<'_>,
        wanted: u64,
        max_file_bytes: Option<u64>,
    ) -> Option<UnreadFile> {
        self.find(file.path, wanted, || file.state()).ok()?.unread(max_file_bytes)
    }

    /// Finds the ranges of a file in this state that can contain a match of the search's only query. Returns
    /// `None` if they are unknown.
    pub(crate) fn ranges(
        &self,
        entry: &Entry<'_>,
        choice: Option<&ListedFiles>,
        state: FileState,
    ) -> Option<Vec<FilePart>> {
        let layers = self.index.layers.get()?;
        let is_as_seen =
            |&(layer, file): &(usize, u32)| layers[layer].state(file) == Some((state, Content::Indexed));
        let (layer, file) = match choice {
            Some(choice) => choice.place(entry).filter(is_as_seen),
            None => layers.iter().zip(&self.near).enumerate().find_map(|(layer, (segment, near))| {
                Some((layer, segment.find(entry.path.as_bytes(), *near)?)).filter(is_as_seen)
            }),
        }?;
        let [candidates] = &self.selection?.candidates(layers)?[layer][..] else { return None };
        layers[layer].ranges(file, &candidates.parts)
    }

    fn known(&mut self, entry: &Entry<'_>, wanted: u64) -> Option<UnchangedFile<'a>> {
        match self.find(entry.path.as_bytes(), wanted, || entry.state()) {
            Ok(known) => return Some(known),
            // Files without a state and hidden files are never indexed.
            Err(Unknown::Stranger { has_state })
                if self.counts && entry.hidden_by.is_none() && (has_state || entry.state().is_some()) =>
            {
                self.index.strangers.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        None
    }

    /// Finds the file with this path if its state is unchanged and it can't match a wanted query.
    fn find(
        &mut self,
        path: &[u8],
        wanted: u64,
        state: impl Fn() -> Option<FileState>,
    ) -> Result<UnchangedFile<'a>, Unknown> {
        let layers = self.index.layers.get().ok_or(Unknown::Open)?;
        let candidates = match self.selection {
            // The index contains a notebook's JSON, but a search looks at the text of its cells.
            Some(_) if is_notebook(path) => return Err(Unknown::Open),
            Some(selection) => Some(selection.candidates(layers).ok_or(Unknown::Open)?),
            None => None,
        };
        self.near.resize(layers.len(), 0);
        let mut now = None;
        for (number, (layer, near)) in layers.iter().zip(&mut self.near).enumerate() {
            let Some(file) = layer.find(path, *near) else { continue };
            *near = file + 1;
            let (seen, content) = layer.state(file).ok_or(Unknown::Open)?;
            // A candidate must be read in any state, so we check this before we ask for its metadata.
            if content == Content::Indexed
                && candidates.is_some_and(|candidates| {
                    may_match(candidates[number].iter().map(|found| &found.files), file, wanted)
                })
            {
                return Err(Unknown::Open);
            }
            let state = match now {
                None => *now.insert(state().ok_or(Unknown::Open)?),
                Some(state) => state,
            };
            if state == seen && content != Content::Young {
                return Ok(UnchangedFile { layer, file, state, content });
            }
        }
        Err(Unknown::Stranger { has_state: now.is_some() })
    }
}
