//! Indexes on disk: decides which roots should have one, and when to update it.
//!
//! [`IndexManager`] provides the indexes for the calls of a [`Workspace`](crate::Workspace). Each index has its
//! own directory below a common one, outside of every root. Its files must belong to this user, so that no
//! other user can have created them.

mod building;
mod mapped;
mod ranked;
mod ranking;
mod scrub;
mod store;
mod wait;

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use forage_base::Stop;
use forage_fs::{
    Entry, Mounts, PrivatePlace, RelPath, Root, Roots, Skipped, WalkOptions, WalkStep, WatchedTree, walk,
};
use forage_rank::tree::{UpdateEffort, UpdateError};
use forage_search::index::Index;

pub use scrub::ScrubProgress;
pub use store::{IndexStore, IndexStoreError, Update};

use crate::indexes::{Indexes, Ranked};
use crate::limits;

/// Minimum number of files for which an index pays off. We can scan fewer in a few hundredths of a second.
const FILES_MIN: u64 = 2_000;

/// Maximum number of roots whose indexes a server keeps open. At least three, because those of an update and
/// of a build can't be evicted.
const ROOTS_KEPT: usize = 8;

/// Minimum time between two updates of an index by a server.
const BETWEEN_UPDATES: Duration = Duration::from_secs(10);

/// The same after an update that failed, or if the tree is too small for an index.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(600);

/// Share of a server's time for updates, as a divisor. The rest is for callers that wait for answers.
const UPDATES_PART: u32 = 20;

/// Values of the `index` setting, except the one that turns indexes off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexMode {
    /// Use an existing index. Long-running processes also build one for a large tree in the background.
    Auto,
    /// The same for trees of any size. A command also builds the index before it searches.
    Always,
}

/// Lifetime of a process that uses indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// The process ends after its search.
    Search,
    /// The process runs several searches and updates indexes in between.
    Session,
    /// The process is long-running and also watches the trees.
    Server,
}

/// Polling interval while we wait for updates.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Time after the last call for saving the files already read for an unfinished index. Clients kill a server
/// two seconds after they close its input.
const SAVE_TIME: Duration = Duration::from_millis(1_000);

/// Time after the last call at which the process ends in any case.
const ENDING_TIME: Duration = Duration::from_millis(1_500);

/// The indexes of the roots that calls use.
pub struct IndexManager {
    /// The directory of all indexes, and its path with links resolved.
    place: PrivatePlace,
    path: PathBuf,
    mode: IndexMode,
    lifetime: Lifetime,
    /// Maximum time that a search waits for a missing index to be built in the `Always` mode.
    patience: Duration,
    /// Mount information for watching trees. Only servers have this.
    mounts: Option<Arc<Mounts>>,
    slots: Mutex<HashMap<PathBuf, ManagedRoot>>,
    /// Held by the background build of a ranked index. Several at once would need the memory of all.
    ranking: Mutex<()>,
    /// Stops background work.
    stop: Stop,
}

#[derive(Default)]
struct ManagedRoot {
    root: Option<Arc<Root>>,
    index: Option<Arc<Index>>,
    ranked: Arc<Mutex<ranked::RankIndexState>>,
    /// The background update of the ranked index.
    ranking: Option<Arc<ranking::Build>>,
    watched: Option<Arc<WatchedTree>>,
    /// The version of the index files at the time we opened them.
    version: Option<Vec<Option<(std::time::SystemTime, u64)>>>,
    is_updating: bool,
    /// While this exists, a thread rereads the root's files.
    scrubs: Option<Arc<()>>,
    last_used: Option<Instant>,
    /// True if a command has tried to build the index.
    was_built: bool,
    next_update: Option<Instant>,
}

impl ManagedRoot {
    /// Returns true while background work for this root is running. A build that only waits does not count.
    fn is_at_work(&self) -> bool {
        self.is_updating || self.ranking.as_ref().is_some_and(|build| build.is_at_work())
    }

    /// Watches the tree, if possible.
    fn watch(&mut self, root: &Arc<Root>, mounts: Option<&Arc<Mounts>>) {
        // We watch a directory, and its path may belong to another directory by now.
        if self.watched.as_ref().is_some_and(|watched| !watched.root().is_same(root)) {
            (self.watched, self.version, self.ranked, self.scrubs) = (None, None, Arc::default(), None);
        }
        self.root = Some(Arc::clone(root));
        if self.watched.is_none() {
            self.watched = mounts.map(|mounts| WatchedTree::new(root, mounts));
        }
    }
}

impl IndexManager {
    /// Creates the manager of the indexes below this directory.
    pub fn new(
        place: impl Into<PrivatePlace>,
        mode: IndexMode,
        lifetime: Lifetime,
        patience: Duration,
    ) -> Arc<Self> {
        let place = place.into();
        let path = forage_fs::resolved(&place.path());
        let mounts = (lifetime == Lifetime::Server).then(Mounts::open).flatten();
        let (slots, ranking) = (Mutex::default(), Mutex::default());
        Arc::new(Self { place, path, mode, lifetime, patience, mounts, slots, ranking, stop: Stop::never() })
    }

    /// Creates a handle for calls below roots that do not contain the indexes.
    pub fn shared(self: Arc<Self>) -> SharedIndexes {
        SharedIndexes { kept: self, warnings: Mutex::default() }
    }

    /// The directory of all indexes, with links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if the indexes are inside one of these roots. We must not use them then, because we never
    /// write into a root.
    fn are_inside(&self, roots: &Roots) -> bool {
        roots.all().iter().any(|root| self.path.starts_with(root.path()))
    }

    /// Returns true if we may store the index of this root. The index must never be inside the root itself.
    pub fn may_keep(&self, root: &Root) -> bool {
        !self.path.starts_with(root.path())
    }

    /// The index files of a root.
    pub(crate) fn store(&self, root: &Path) -> IndexStore {
        IndexStore::new(self.place.clone(), root)
    }

    /// Returns the state of a root's ranked index, and the watcher of its tree.
    fn ranked_state(
        &self,
        root: &Arc<Root>,
    ) -> (Arc<Mutex<ranked::RankIndexState>>, Option<Arc<WatchedTree>>) {
        self.with_slot(root, |slot| {
            slot.watch(root, self.mounts.as_ref());
            (Arc::clone(&slot.ranked), slot.watched.clone())
        })
    }

    /// Updates the ranked index of a root to match its tree.
    fn update_ranked(&self, root: &Arc<Root>, effort: &UpdateEffort) -> Result<Ranked, UpdateError> {
        let (kept, watched) = self.ranked_state(root);
        let large_build = || {
            effort.large_end.filter(|end| Instant::now() >= *end)?;
            let (done, all) = {
                let slots = self.lock();
                let build = slots.get(root.path())?.ranking.as_ref()?;
                // If another call only compares many files with the index, it may be done soon.
                let may_wait = effort.comparison_end.is_some_and(|end| Instant::now() < end);
                build.large().filter(|_| build.has_many_changes() || !may_wait)?
            };
            Some(UpdateError::Unfinished { done, all })
        };
        let mut kept = ranked::lock_until(&kept, &effort.stop, large_build)?;
        ranked::fresh(&mut kept, &self.store(root.path()), root, watched.as_deref(), effort)
    }

    /// Like [`Self::update_ranked`], but for a call of a server: waits for a small update, and continues a
    /// large one in the background.
    fn update_ranked_or_defer(
        self: &Arc<Self>,
        root: &Arc<Root>,
        effort: &UpdateEffort,
    ) -> Result<Ranked, UpdateError> {
        let now = Instant::now();
        let soon = UpdateEffort {
            // An update may end its own stop early, and this must not end the rest of the call.
            stop: effort.stop.within(limits::SMALL_UPDATE_TIME).detached(),
            large_end: Some(now + limits::LARGE_UPDATE_TIME),
            comparison_end: Some(now + limits::READY_INDEX_TIME),
            ..effort.clone()
        };
        // We can't read a large tree in this time, and the line search that replaces its index needs the
        // time.
        let is_hopeless = self.store(root.path()).ranked_size().is_none() && is_large(root);
        let ranked = if is_hopeless { Err(UpdateError::NoTime) } else { self.update_ranked(root, &soon) };
        let progress = match &ranked {
            Err(UpdateError::Unfinished { done, all }) => (*done, *all),
            Err(UpdateError::NoTime | UpdateError::Busy) => (0, 0),
            _ => return ranked,
        };
        if !effort.stop.is_cancelled() {
            self.rank_in_background(root, progress, Duration::ZERO);
        }
        ranked
    }

    /// Updates the ranked index of a root in the background, unless an update is already running.
    pub fn rank_in_background(self: &Arc<Self>, root: &Arc<Root>, progress: (u64, u64), pause: Duration) {
        self.with_slot(root, |slot| {
            if slot.ranking.as_ref().is_none_or(|build| build.may_be_repeated()) {
                slot.ranking = ranking::start(self, root, progress, pause);
            }
        });
    }

    /// Waits for the background builds of other roots.
    fn take_turn(&self) -> MutexGuard<'_, ()> {
        self.ranking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the instant index of a root before its ranked one. Doing both at once would need the memory of
    /// both, and the instant index is ready in seconds.
    fn update_first(self: &Arc<Self>, root: &Arc<Root>) {
        self.update_in_background(root);
        let is_updating = || self.lock().values().any(|slot| slot.is_updating);
        while is_updating() {
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Opens the index that is on disk now, unless we have it open.
    fn current(&self, store: &IndexStore, root: &Arc<Root>) -> Option<Arc<Index>> {
        // We read the version before the files. If they are replaced in between, we only open them once more.
        let version = store.version();
        let opened = self.with_slot(root, |slot| {
            slot.watch(root, self.mounts.as_ref());
            match slot.version.as_ref() == Some(&version) {
                true => Ok(slot.index.clone()),
                false => Err(slot.watched.clone()),
            }
        });
        let watched = match opened {
            Ok(index) => return index,
            Err(watched) => watched,
        };
        // We must not hold the lock here, so that others need not wait.
        let is_waited_for = self.lifetime != Lifetime::Search || self.mode == IndexMode::Always;
        let index = match (is_waited_for, &watched) {
            (true, Some(watched)) => store.open().map(|index| Arc::new(index.watching(Arc::clone(watched)))),
            (true, None) => store.open().map(Arc::new),
            // A command may end before it needs the index.
            (false, _) => store.opening(),
        };
        // Assign these together, because another call may have found another directory at this path in the
        // meantime.
        self.with_slot(root, |slot| {
            (slot.index, slot.watched, slot.version) = (index.clone(), watched, Some(version));
        });
        index
    }

    /// Rereads some files of a root's index. If the index does not match them, we rebuild it, and no search
    /// uses the wrong one any more.
    fn scrub(&self, root: &Path) {
        let index = self
            .lock()
            .get(root)
            .filter(|slot| !slot.is_updating)
            .and_then(|slot| slot.root.clone().zip(slot.index.clone()));
        let Some((root, index)) = index else { return };
        let store = self.store(root.path());
        let step = scrub::step(&root, &index, store.scrub_progress());
        if step.is_wrong {
            if let Some(slot) = self.lock().get_mut(root.path()) {
                (slot.index, slot.version) = (None, None);
            }
            // Another process is updating the index, so we will check it again later.
            if !store.discard().unwrap_or(false) {
                return;
            }
            self.update(&root);
        }
        store.set_reread(&step.progress);
    }

    /// Starts rereading the files of a root if necessary. Call this on a thread that may read them: in a
    /// sandbox, each root has its own thread, and the new thread inherits its rights.
    fn scrub_in_background(self: &Arc<Self>, root: &Arc<Root>) {
        if self.lifetime != Lifetime::Server {
            return;
        }
        if let Some(slot) = self.lock().get_mut(root.path())
            && slot.scrubs.is_none()
        {
            let is_wanted = Arc::default();
            let has_begun = scrub::start(self, root.path(), Arc::downgrade(&is_wanted));
            slot.scrubs = has_begun.then_some(is_wanted);
        }
    }

    /// Ends background work. Work that is almost finished is completed, and the files read for an index are
    /// saved, so that the next process can continue.
    pub fn end(&self) {
        // This is a deadline and not a cancellation, because only work that reaches a deadline keeps its
        // results.
        self.stop.end_within(SAVE_TIME);
        let end = Instant::now() + ENDING_TIME;
        while self.lock().values().any(ManagedRoot::is_at_work) && Instant::now() < end {
            std::thread::sleep(POLL_INTERVAL / 5);
        }
    }

    /// Calls `used` with the slot of a root, which counts as used now. Evicts others to make room for it.
    fn with_slot<T>(&self, root: &Root, used: impl FnOnce(&mut ManagedRoot) -> T) -> T {
        // These must be dropped last, after the lock is released.
        let _evicted;
        let mut slots = self.lock();
        _evicted = evict(&mut slots, root.path());
        let slot = slots.entry(root.path().to_owned()).or_default();
        slot.last_used = Some(Instant::now());
        used(slot)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, ManagedRoot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Builds or updates the index of a root on one processor. Returns `None` if the tree is too small or the
    /// update failed.
    fn update(&self, root: &Arc<Root>) -> Option<Update> {
        let store = self.store(root.path());
        if self.mode == IndexMode::Auto && !store.exists() && !is_large(root) {
            return None;
        }
        let walk = WalkOptions { threads: 1, ..WalkOptions::default() };
        store.update(root, &walk, &self.stop).ok()
    }

    /// Starts an update if one is due.
    fn update_in_background(self: &Arc<Self>, root: &Arc<Root>) {
        // This must be dropped last, after the lock is released.
        let _evicted;
        let mut slots = self.lock();
        // One update at a time, so that updates of several roots never take more than one processor.
        if slots.values().any(|slot| slot.is_updating) {
            return;
        }
        _evicted = evict(&mut slots, root.path());
        let slot = slots.entry(root.path().to_owned()).or_default();
        slot.last_used = Some(Instant::now());
        let is_due = slot.next_update.is_none_or(|next| Instant::now() >= next);
        // We ask for damage only if an update is due, because asking resets the flag.
        let is_wanted =
            || slot.index.as_ref().is_none_or(|index| index.strangers() > 0 || index.take_damage());
        if !is_due || !is_wanted() {
            return;
        }
        let (kept, root) = (Arc::clone(self), Arc::clone(root));
        let update = move || {
            let started = Instant::now();
            // A missing index only costs time, and `forage index build` reports the reason. After a panic,
            // the slot must not look as if the update were still running.
            let updated = std::panic::catch_unwind(AssertUnwindSafe(|| kept.update(&root)));
            let pause = match updated {
                Ok(Some(_)) => (started.elapsed() * UPDATES_PART).max(BETWEEN_UPDATES),
                _ => BETWEEN_ATTEMPTS,
            };
            let mut slots = kept.lock();
            if let Some(slot) = slots.get_mut(root.path()) {
                slot.is_updating = false;
                slot.next_update = Some(Instant::now() + pause);
            }
        };
        // If no thread can be spawned, the next call tries again.
        slot.is_updating = std::thread::Builder::new().name("index".to_owned()).spawn(update).is_ok();
    }
}

/// Removes the least recently used slots to make room for this root, unless it has one. The caller must drop
/// them when no lock is held.
fn evict(slots: &mut HashMap<PathBuf, ManagedRoot>, root: &Path) -> Vec<ManagedRoot> {
    let mut evicted = Vec::new();
    while !slots.contains_key(root) && slots.len() >= ROOTS_KEPT {
        // Evicted work would no longer count as running, so the same work could start a second time.
        let idle = slots.iter().filter(|(_, slot)| !slot.is_at_work());
        let Some(oldest) = idle.min_by_key(|(_, slot)| slot.last_used).map(|(path, _)| path.clone()) else {
            break;
        };
        evicted.extend(slots.remove(&oldest));
    }
    evicted
}

/// Returns true if a tree has enough files for an index to pay off.
fn is_large(root: &Arc<Root>) -> bool {
    let mut files = 0;
    let step = |(): &mut (), _: &Entry<'_>, _: &mut Skipped| WalkStep::Item((), 0);
    let receive = |()| {
        files += 1;
        if files < FILES_MIN { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let walk_options = WalkOptions { threads: 1, ..WalkOptions::default() };
    walk(root, &RelPath::root(), &walk_options, &Stop::never(), || (), step, receive)
        .is_ok_and(|report| report.broke_off)
}

/// The directory in which the command line stores indexes, so that programs can share them: `index` below
/// [`cache_place`].
pub fn shared_place() -> Option<PrivatePlace> {
    Some(cache_place()?.join("index"))
}

/// The user's home directory. We need it because a repository there must not become a root unless requested.
/// In the libraries, only this function and [`cache_place`] read it.
pub(crate) fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Locates `forage` in the user's cache directory. This function reads `XDG_CACHE_HOME`, on Windows
/// `LOCALAPPDATA`, and otherwise the home directory; no other library code does so. A variable that is empty
/// or not an absolute path counts as unset. Returns `None` if the cache directory is unknown.
#[expect(clippy::disallowed_methods, reason = "who asks for it wants what the user's environment says")]
pub fn cache_place() -> Option<PrivatePlace> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let named = || variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let windows = || if cfg!(windows) { variable("LOCALAPPDATA").map(PathBuf::from) } else { None };
    let cache = named().or_else(windows).or_else(|| Some(home()?.join(".cache")))?;
    Some(PrivatePlace::below(cache).join("forage"))
}

/// The indexes of [`IndexManager`] for one call.
pub struct SharedIndexes {
    kept: Arc<IndexManager>,
    /// The reasons why we do not use existing indexes.
    warnings: Mutex<BTreeSet<String>>,
}

/// Provides the indexes for a call below these roots, unless the indexes are inside one of them.
pub fn for_roots(kept: &Arc<IndexManager>, roots: &Roots) -> Option<Arc<dyn Indexes>> {
    (!kept.are_inside(roots)).then(|| Arc::new(Arc::clone(kept).shared()) as Arc<dyn Indexes>)
}

impl SharedIndexes {
    fn find(&self, store: &IndexStore, root: &Arc<Root>) -> Option<Arc<Index>> {
        let current = || store.check().is_ok().then(|| self.kept.current(store, root)).flatten();
        if let Some(index) = current() {
            if self.kept.lifetime != Lifetime::Search {
                self.kept.update_in_background(root);
                self.kept.scrub_in_background(root);
            }
            return Some(index);
        }
        match (self.kept.mode, self.kept.lifetime) {
            (_, Lifetime::Server) | (IndexMode::Auto, Lifetime::Session) => {
                self.kept.update_in_background(root);
                None
            }
            (IndexMode::Always, _) => {
                // We try this only once, because a failure would happen again. The search itself reports why
                // the tree can't be read.
                if !self.kept.with_slot(root, |slot| std::mem::replace(&mut slot.was_built, true)) {
                    let _ = store.update(root, &WalkOptions::default(), &Stop::after(self.kept.patience));
                }
                current()
            }
            (IndexMode::Auto, Lifetime::Search) => None,
        }
    }
}

impl Indexes for SharedIndexes {
    fn open(&self, root: &Arc<Root>) -> Option<Arc<Index>> {
        // Without states, we could not detect that a file differs from the index except by reading it.
        if !root.knows_states() {
            return None;
        }
        let store = self.kept.store(root.path());
        let index = self.find(&store, root);
        if index.is_none()
            && let Err(problem) = store.check()
            && problem.is_distrust()
        {
            let warning = format!("every file is read because the index can't be used: {problem}");
            self.warnings.lock().unwrap_or_else(PoisonError::into_inner).insert(warning);
        }
        index
    }

    fn ranked(&self, root: &Arc<Root>, effort: &UpdateEffort) -> Option<Result<Ranked, UpdateError>> {
        if self.kept.lifetime == Lifetime::Server {
            return Some(self.kept.update_ranked_or_defer(root, effort));
        }
        Some(self.kept.update_ranked(root, effort))
    }

    fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .collect()
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes its own tree")]
mod tests {
    use std::fs;

    use forage_fs::{RootPolicy, SecretPolicy};
    use forage_search::index::{IndexedFile, PartEnd, Segment, SegmentBuilder, SegmentPart, Trigrams};
    use forage_search::{Pattern, PatternOptions, ScanOptions, search};

    use super::*;

    /// Creates a tree of files whose times have settled, and a server that has an index of this tree.
    fn indexed(
        files: &[(impl AsRef<str>, impl AsRef<str>)],
    ) -> (tempfile::TempDir, Arc<Root>, Arc<IndexManager>) {
        let directory = tempfile::tempdir().unwrap();
        let tree = directory.path().join("tree");
        fs::create_dir(&tree).unwrap();
        for (name, text) in files {
            fs::write(tree.join(name.as_ref()), text.as_ref()).unwrap();
        }
        let policy = RootPolicy { allow_broad: true, ..RootPolicy::default() };
        let root = Root::open(&tree, &policy, SecretPolicy::standard(&[])).unwrap();
        std::thread::sleep(forage_fs::limits::SETTLING + Duration::from_millis(100));
        let indexes = directory.path().join("indexes");
        let kept = IndexManager::new(indexes, IndexMode::Always, Lifetime::Server, Duration::from_secs(20));
        kept.store(root.path()).update(&root, &WalkOptions::default(), &Stop::never()).unwrap();
        (directory, root, kept)
    }

    /// A search must detect damage in the part of an index that it needs, even if opening the index does not.
    #[test]
    fn server_rebuilds_an_index_that_a_search_found_damaged() {
        let (_directory, root, kept) = indexed(&[("a.txt", "a needle\n"), ("b.txt", "some hay\n")]);
        let store = kept.store(root.path());

        let base = store.directory().join("base");
        let mut bytes = fs::read(&base).unwrap();
        // The dictionary begins at this offset, which the header contains.
        let dictionary = u64::from_le_bytes(bytes[52..60].try_into().unwrap());
        bytes[dictionary as usize] ^= 1;
        fs::write(&base, bytes).unwrap();
        assert_eq!(store.open_checked().1.len(), 1);
        let shared = kept.shared();
        let pattern = Pattern::new("needle", &PatternOptions::default()).unwrap();
        let started = Instant::now();
        loop {
            let options = ScanOptions { index: shared.open(&root), ..ScanOptions::default() };
            assert!(options.index.is_some());
            let mut found = 0;
            let count = |_| {
                found += 1;
                ControlFlow::Continue(())
            };
            search(
                &root,
                &RelPath::root(),
                &WalkOptions::default(),
                &pattern,
                &options,
                &Stop::never(),
                count,
            )
            .unwrap();
            assert_eq!(found, 1);
            if store.open_checked().1.is_empty() {
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(20));
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    /// Writes an index that describes every file as if it had another text of the same length.
    fn spoil(store: &IndexStore, root: &Root) {
        let base = store.directory().join("base");
        let right = Segment::open(fs::read(&base).unwrap()).unwrap();
        let mut wrong = SegmentBuilder::default();
        for file in 0..right.len() {
            let (state, content) = right.state(file).unwrap();
            let path = right.path(file).unwrap();
            let text = fs::read_to_string(root.path().join(str::from_utf8(path).unwrap())).unwrap();
            let text = text.replace("needle", "nothin");
            let parts = [SegmentPart {
                trigrams: Trigrams::default().distinct(text.as_bytes()).into(),
                end: PartEnd::default(),
            }];
            let checksum = crc32fast::hash(text.as_bytes());
            assert!(wrong.add(&IndexedFile {
                path,
                state,
                content,
                lines: Some(1),
                checksum,
                parts: &parts
            }));
        }
        let mut bytes = Vec::new();
        wrong.write(&mut bytes).unwrap();
        fs::write(&base, bytes).unwrap();
    }

    #[test]
    fn server_scrubs_its_index_and_replaces_a_wrong_one() {
        let files: Vec<(String, String)> = (0..10)
            .map(|number| {
                let word = if number == 7 { "needle" } else { "hay" };
                (format!("{number}.txt"), format!("some {word}\n"))
            })
            .collect();
        let (_directory, root, kept) = indexed(&files);
        let store = kept.store(root.path());
        let shared = Arc::clone(&kept).shared();
        let found = || {
            let pattern = Pattern::new("needle", &PatternOptions::default()).unwrap();
            let scan = ScanOptions { index: shared.open(&root), ..ScanOptions::default() };
            let mut found = 0;
            let count = |_| {
                found += 1;
                ControlFlow::Continue(())
            };
            let (start, walk) = (RelPath::root(), WalkOptions::default());
            search(&root, &start, &walk, &pattern, &scan, &Stop::never(), count).unwrap();
            found
        };
        // While the index is correct, each file is read once per round, in 10 steps.
        assert_eq!(found(), 1);
        for round in 1..=3 {
            for step in 1..=10 {
                kept.scrub(root.path());
                assert_eq!(
                    (store.scrub_progress().done, store.scrub_progress().different),
                    (step, 0),
                    "round {round}"
                );
            }
            assert!(store.scrub_progress().ended >= store.scrub_progress().began);
        }
        spoil(&store, &root);
        // Positive control: we trust a wrong index, and an update does not repair it.
        assert_eq!(found(), 0);
        store.update(&root, &WalkOptions::default(), &Stop::never()).unwrap();
        assert_eq!(found(), 0);
        for step in 1..=10 {
            kept.scrub(root.path());
            assert_eq!(store.scrub_progress().different, u64::from(step >= 8), "step {step}");
        }
        assert_eq!(found(), 1);
        assert!(store.exists(), "there is another");
    }

    /// After an edit the real index must answer, however busy the machine is. In this test another call
    /// delays this one for longer than a large update may take.
    #[test]
    fn server_call_waits_for_a_small_update_and_not_for_a_large_one() {
        let (_directory, root, kept) = indexed(&[("a.txt", "a needle\n"), ("b.txt", "some hay\n")]);
        let effort = UpdateEffort { threads: 1, ..UpdateEffort::default() };
        kept.update_ranked_or_defer(&root, &effort).unwrap();
        fs::write(root.path().join("b.txt"), "edited\n").unwrap();
        let (slot, _) = kept.ranked_state(&root);
        let ranked = std::thread::scope(|scope| {
            let other = slot.lock().unwrap();
            let call = scope.spawn(|| kept.update_ranked_or_defer(&root, &effort));
            std::thread::sleep(2 * limits::LARGE_UPDATE_TIME);
            drop(other);
            call.join().unwrap().unwrap()
        });
        let found = forage_rank::search(&ranked.index, &forage_rank::RankedSearch::new("edited", 9)).unwrap();
        assert_eq!(found.files[0].path, "b.txt");

        let build = ranking::Build::at_work((2, forage_rank::limits::SMALL_UPDATE_FILES + 1));
        kept.lock().get_mut(root.path()).unwrap().ranking = Some(Arc::new(build));
        let _build = slot.lock().unwrap();
        let ended = kept.update_ranked_or_defer(&root, &effort).map(drop);
        assert!(matches!(ended, Err(UpdateError::Unfinished { done: 2, all: 501 })), "{ended:?}");
    }

    #[test]
    fn other_indexes_are_removed_by_size_and_age() {
        let (directory, root, kept) = indexed(&[("a.txt", "a needle\n")]);
        let own = kept.store(root.path());
        let others: Vec<IndexStore> = (0..40)
            .map(|index| {
                let other = kept.store(&directory.path().join(format!("other{index}")));
                other.update(&root, &WalkOptions::default(), &Stop::never()).unwrap();
                other
            })
            .collect();
        let count = || others.iter().filter(|other| other.exists()).count();
        let long = Duration::from_secs(3_600);
        assert_eq!(count(), 40);
        let ten = own.size() + others.iter().rev().take(10).map(IndexStore::size).sum::<u64>();
        own.remove_others_beyond(ten, long);
        assert_eq!((count(), own.exists()), (10, true));
        own.remove_others_beyond(u64::MAX, Duration::ZERO);
        assert_eq!((count(), own.exists()), (0, true));
    }

    /// Regression test: a slot that was used without `evict` came on top of the others, and the root of a
    /// running build could be evicted.
    #[test]
    fn roots_are_evicted_unless_they_are_at_work() {
        let (directory, root, kept) = indexed(&[("a.txt", "a needle\n")]);
        let build = ranking::Build::at_work((0, 0));
        kept.with_slot(&root, |slot| slot.ranking = Some(Arc::new(build)));
        for number in 0..3 * ROOTS_KEPT {
            let tree = directory.path().join(format!("other{number}"));
            fs::create_dir(&tree).unwrap();
            let policy = RootPolicy { allow_broad: true, ..RootPolicy::default() };
            let other = Root::open(&tree, &policy, SecretPolicy::standard(&[])).unwrap();
            kept.rank_in_background(&other, (0, 0), Duration::from_secs(3_600));
            kept.current(&kept.store(other.path()), &other);
            let slots = kept.lock();
            assert_eq!(slots.len(), (number + 2).min(ROOTS_KEPT));
            assert!(slots.contains_key(root.path()) && slots.contains_key(other.path()));
        }
    }

    /// The states of all files are unknown, and another thread compares them. The call should wait for the
    /// index.
    #[test]
    fn server_call_waits_for_a_comparison() {
        let (_directory, root, kept) = indexed(&[("a.txt", "a needle\n")]);
        let effort = UpdateEffort { threads: 1, ..UpdateEffort::default() };
        kept.update_ranked_or_defer(&root, &effort).unwrap();
        kept.lock().get_mut(root.path()).unwrap().ranking = Some(Arc::new(ranking::Build::comparing()));
        let (slot, _) = kept.ranked_state(&root);
        std::thread::scope(|scope| {
            let other = slot.lock().unwrap();
            let call = scope.spawn(|| kept.update_ranked_or_defer(&root, &effort).map(drop));
            std::thread::sleep(limits::LARGE_UPDATE_TIME + Duration::from_millis(50));
            drop(other);
            call.join().unwrap().unwrap();
        });
        let other = slot.lock().unwrap();
        let ended = kept.update_ranked_or_defer(&root, &effort).map(drop);
        drop(other);
        assert!(matches!(ended, Err(UpdateError::Unfinished { .. })), "{ended:?}");
    }

    /// The next server should not have to read the files again that this server reads before its client
    /// leaves.
    #[test]
    fn unfinished_index_is_saved_and_resumed() {
        const FILES: u64 = 3_000;
        let (directory, root, _kept) = indexed(
            &(0..FILES)
                .map(|n| (format!("{n}.txt"), "some hay and a needle\n".repeat(200)))
                .collect::<Vec<_>>(),
        );
        let update = |name: &str, end: &dyn Fn(&Stop)| {
            let store = IndexStore::new(directory.path().join(name), root.path());
            let (stop, progress) = (Stop::never(), Arc::<std::sync::atomic::AtomicU64>::default());
            let walk =
                WalkOptions { threads: 1, progress: Some(Arc::clone(&progress)), ..WalkOptions::default() };
            let updated = std::thread::scope(|scope| {
                let update = scope.spawn(|| store.update(&root, &walk, &stop));
                while progress.load(std::sync::atomic::Ordering::Relaxed) < 10 && !update.is_finished() {
                    std::hint::spin_loop();
                }
                end(&stop);
                update.join().unwrap()
            });
            (store, updated)
        };
        let files = |store: &IndexStore| {
            store.open().map_or(0, |index| index.layers().iter().map(|layer| u64::from(layer.len())).sum())
        };
        // Positive control: a cancelled build leaves nothing.
        let (store, updated) = update("cancelled", &|stop| stop.cancel());
        assert!(updated.is_err() && files(&store) == 0);

        let (store, updated) = update("kept", &|stop| stop.end_within(Duration::ZERO));
        let begun = files(&store);
        assert!(updated.is_err() && begun > 0 && begun < FILES, "{begun}: {updated:?}");
        let (store, updated) = update("kept", &|_| {});
        assert_eq!(updated.unwrap(), Update::Built(FILES));
        assert_eq!(files(&store), FILES);
        assert!(store.open_checked().1.is_empty());
    }
}
