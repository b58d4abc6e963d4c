//! Asking an index during a search.
//!
//! An index never says that a file matches, only that it need not be read. For each file that a walk comes to:
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
//! - [`Index`] is the layers, which a thread may still be opening ([`LookupOpening`]): a search begins without them, and
//!   what it visits until they are there is read.
//! - [`Selection`] is one search: its queries, and per layer the candidates, computed by the first worker that asks.
//! - [`LookupCursor`] is one worker: files come in path order, so that the next is looked for beside the last one.
//!
//! A tree that is watched has no walk: [`super::listed`] computes from the same candidates which files of the listing are
//! visited at all.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::{Entry, FileListing, FileState, SkipReason, Snapshot, Unvisited, WalkOptions, WatchedTree};

use super::candidates::{LayerCandidates, may_match};
use super::listed::{Listed, ListedFiles};
use super::plan::TrigramQuery;
use super::segment::{Content, Segment, Stretch, TrigramIndexError};
use crate::limits;
use crate::notebook::is_notebook;

/// The index of a root: what its files were when it was built, and, over that, those that have changed since.
///
/// What it says of a file holds for the state in which the file was read, and no file is left unread whose state is not
/// known to be that one, by asking the file or because its tree is watched: an index may be old, of another time of the
/// tree or of another tree, and is then of less use.
#[derive(Debug)]
pub struct Index {
    /// The newest first; not there yet while they are being opened.
    layers: OnceLock<Vec<Segment>>,
    opening: LookupOpening,
    /// The directories that need not be listed when the tree is walked.
    snapshot: Arc<Snapshot>,
    strangers: AtomicU64,
    /// Whether a search could not be told what may match.
    is_damaged: AtomicBool,
    /// Files in which searches have found something.
    found: AtomicU64,
    watched: Option<Arc<WatchedTree>>,
    /// What the last search asked.
    asked: Mutex<Arc<[TrigramQuery]>>,
    /// What the layers know of the listings that were asked for last.
    listed: Mutex<Vec<Arc<Listed>>>,
}

/// How far the thread is that opens an index.
#[derive(Debug, Default)]
struct LookupOpening {
    progress: Mutex<LookupProgress>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct LookupProgress {
    /// Somebody waits for it.
    is_wanted: bool,
    is_over: bool,
}

impl LookupOpening {
    fn progress(&self) -> MutexGuard<'_, LookupProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sleeps, but not while somebody waits.
    fn sleep(&self, time: Duration) {
        drop(self.changed.wait_timeout_while(self.progress(), time, |progress| !progress.is_wanted));
    }

    fn set(&self, set: impl FnOnce(&mut LookupProgress)) {
        set(&mut self.progress());
        self.changed.notify_all();
    }

    /// Waits until it is over.
    fn wait(&self, stop: &Stop) {
        let mut progress = self.progress();
        while !progress.is_over && stop.check().is_none() {
            let woken = self.changed.wait_timeout(progress, limits::BETWEEN_LOOKS);
            progress = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Tells those who wait that it is over, also when it panicked.
struct NotifyOnDrop(Arc<Index>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.opening.set(|progress| progress.is_over = true);
    }
}

impl Index {
    /// An index of these layers, the newest first.
    pub fn new(layers: Vec<Segment>) -> Self {
        Self { layers: OnceLock::from(layers), ..Self::empty() }
    }

    /// The same for a tree that is watched: a search needs no walk where there is a listing.
    pub fn watching(self, watched: Arc<WatchedTree>) -> Self {
        Self { watched: Some(watched), ..self }
    }

    /// The same with the directories as they were when the tree was walked for it.
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

    /// An index that is opened while searches begin without it: some find enough before it is there. Those that look for
    /// all there is wait for it.
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
        // Without a thread there is no index, and without an index every file is read.
        drop(std::thread::Builder::new().name("index".to_owned()).spawn(fill));
        index
    }

    /// Has it opened at once, for a search that is going to wait for it.
    pub fn hasten(&self) {
        self.opening.set(|progress| progress.is_wanted = true);
    }

    /// Waits until it is open, or can't be opened.
    pub(crate) fn wait_until_open(&self, stop: &Stop) {
        if self.layers.get().is_none() {
            self.hasten();
            self.opening.wait(stop);
        }
    }

    /// Takes down that a search found something in a file.
    pub(crate) fn note_found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    /// A walk with these options, which lists no directory that is known as it is.
    pub fn walk_options(&self, options: &WalkOptions) -> WalkOptions {
        WalkOptions { snapshot: Some(Arc::clone(&self.snapshot)), ..options.clone() }
    }

    /// Its layers, the newest first.
    pub fn layers(&self) -> &[Segment] {
        self.layers.get().map_or(&[], Vec::as_slice)
    }

    /// Files that searches have met so far and that an update would take into the index: they are not in it as they are
    /// now, or had just been changed when they were.
    pub fn strangers(&self) -> u64 {
        self.strangers.load(Ordering::Relaxed)
    }

    /// Returns whether a search found, since the last call of this, that it is damaged or can't be read: an update
    /// looks through all of it.
    pub fn take_damage(&self) -> bool {
        self.is_damaged.swap(false, Ordering::Relaxed)
    }

    /// For one worker that asks for more than one search does.
    pub fn cursor(&self, options: &WalkOptions) -> LookupCursor<'_> {
        LookupCursor { index: self, selection: None, counts: counts(options), near: Vec::new() }
    }

    /// The tree as it is now, if it is watched: as long as this is the same, nothing was told to have changed.
    pub fn watched(&self, options: &WalkOptions) -> Option<Arc<FileListing>> {
        self.watched.as_ref()?.listing(options)
    }

    /// What the layers know of the files of the tree as it is now; `None` where it must be walked to be told.
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
        if counts(options) {
            self.strangers.fetch_max(listed.strangers(), Ordering::Relaxed);
        }
        let mut kept = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert(0, Arc::clone(&listed));
        kept.truncate(forage_fs::limits::LISTINGS_KEPT);
        Some(listed)
    }

    /// Whether the tree turns out to be other than a choice of that time or later says, of which nobody told.
    pub(crate) fn has_changed_unseen(&self, options: &WalkOptions, since: Instant, stop: &Stop) -> bool {
        self.watched.as_ref().is_some_and(|watched| watched.has_changed_unseen(options, since, stop))
    }

    /// The tree without a walk, and which of its files a search has to visit; `None` where it must be walked.
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

    /// Runs searches and keeps [`Index::explain`] on the search before them.
    pub fn unexplained<T>(&self, searches: impl FnOnce() -> T) -> T {
        let asked = || self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let before = asked().clone();
        let result = searches();
        *asked() = before;
        result
    }

    /// Describes what it could say for the last search, such as the number of candidates; `None` when it was not asked.
    pub fn explain(&self) -> Option<String> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if asked.is_empty() {
            return None;
        }
        let Some(layers) = self.layers.get() else {
            return Some("the search ended before the index was open".to_owned());
        };
        if asked.contains(&TrigramQuery::Any) {
            return Some(
                "the pattern has no three bytes that every match has; every file is read".to_owned(),
            );
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

    /// What it says for a search for one of these; `None` when it can say nothing.
    pub(crate) fn select<'a>(&'a self, queries: Vec<TrigramQuery>, stop: &'a Stop) -> Option<Selection<'a>> {
        let queries: Arc<[TrigramQuery]> = queries.into();
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&queries);
        let is_any = queries.contains(&TrigramQuery::Any);
        (!is_any).then(|| Selection { index: self, queries, stop, candidates: OnceLock::new() })
    }
}

/// Whether a walk comes to those files only that are to be in an index: what the rules hide, and globs and options bring
/// back, is in none.
fn counts(options: &WalkOptions) -> bool {
    !options.no_ignore && options.globs.is_none()
}

/// What an index says for one search.
pub(crate) struct Selection<'a> {
    index: &'a Index,
    queries: Arc<[TrigramQuery]>,
    stop: &'a Stop,
    /// What of each layer may match, by query; `None` when one turned out to be damaged.
    candidates: OnceLock<Option<Vec<Vec<LayerCandidates>>>>,
}

/// What is known of a file that need not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadFile {
    /// Nothing in it matches.
    NoMatch,
    /// It is not searched.
    Skipped(SkipReason),
}

impl<'a> Selection<'a> {
    /// For one worker.
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

/// A worker's way through an index. It meets the files of a directory one after the other.
pub struct LookupCursor<'a> {
    index: &'a Index,
    /// Leaves out files that must be read in any case.
    selection: Option<&'a Selection<'a>>,
    /// Whether the walk comes to those files only that are to be in an index.
    counts: bool,
    /// Where the next file is looked for first, in each layer.
    near: Vec<u32>,
}

/// A file that is as a layer has seen it.
struct UnchangedFile<'a> {
    layer: &'a Segment,
    file: u32,
    state: FileState,
    content: Content,
}

/// Why a file is not known.
enum Unknown {
    /// It may have what is wanted, or can't be told.
    Open,
    /// No layer has seen it is.
    Stranger { has_state: bool },
}

impl UnchangedFile<'_> {
    fn unread(&self, max_file_bytes: Option<u64>) -> Option<UnreadFile> {
        match self.content {
            // One that had just been changed is not known, nor one whose state tells nothing.
            Content::Large | Content::Young | Content::Untold => None,
            _ if max_file_bytes.is_some_and(|limit| self.state.size > limit) => {
                Some(UnreadFile::Skipped(SkipReason::TooLarge))
            }
            Content::Binary => Some(UnreadFile::Skipped(SkipReason::Binary)),
            Content::Indexed => Some(UnreadFile::NoMatch),
        }
    }
}

impl<'a> LookupCursor<'a> {
    /// The number of lines of a text file of so many bytes at the most; `None` when it must be read to be told.
    pub fn lines(&mut self, entry: &Entry<'_>, max_file_bytes: u64) -> Option<u64> {
        let known = self.known(entry, 0)?;
        let counts = known.content == Content::Indexed && known.state.size <= max_file_bytes;
        known.layer.lines(known.file).filter(|_| counts).map(u64::from)
    }

    /// What is known of a file without reading it; `None` when it must be read. `wanted` has a bit for each query that
    /// still matters.
    pub(crate) fn unread(
        &mut self,
        entry: &Entry<'_>,
        wanted: u64,
        max_file_bytes: Option<u64>,
    ) -> Option<UnreadFile> {
        let known = self.known(entry, wanted)?;
        known.unread(max_file_bytes)
    }

    /// The same for a file that would have to be visited.
    pub(crate) fn dismisses(
        &mut self,
        file: &Unvisited<'_>,
        wanted: u64,
        max_file_bytes: Option<u64>,
    ) -> Option<UnreadFile> {
        self.find(file.path, wanted, || file.state()).ok()?.unread(max_file_bytes)
    }

    /// Where in a file of this state the one query of the search can have a match; `None` where that can't be told.
    pub(crate) fn stretches(
        &self,
        entry: &Entry<'_>,
        choice: Option<&ListedFiles>,
        state: FileState,
    ) -> Option<Vec<Stretch>> {
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
        layers[layer].stretches(file, &candidates.parts)
    }

    fn known(&mut self, entry: &Entry<'_>, wanted: u64) -> Option<UnchangedFile<'a>> {
        match self.find(entry.path.as_bytes(), wanted, || entry.state()) {
            Ok(known) => return Some(known),
            // What has no state, or is hidden, is in no index.
            Err(Unknown::Stranger { has_state })
                if self.counts && entry.hidden_by.is_none() && (has_state || entry.state().is_some()) =>
            {
                self.index.strangers.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
        None
    }

    /// The file with this path, if it is as a layer has seen it and has nothing that is wanted.
    fn find(
        &mut self,
        path: &[u8],
        wanted: u64,
        state: impl Fn() -> Option<FileState>,
    ) -> Result<UnchangedFile<'a>, Unknown> {
        let layers = self.index.layers.get().ok_or(Unknown::Open)?;
        let candidates = match self.selection {
            // The index has a notebook's JSON, and a search looks at its cells.
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
