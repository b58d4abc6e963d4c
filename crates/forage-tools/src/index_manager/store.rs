//! The index files of one root. The instant index consists of `base`, the tree at one time, `changes`, the
//! changes since then, and `directories`, the names in its directories.
//!
//! Each file is replaced as a whole and is valid on its own: its information about a file of the tree holds
//! for one state of that file. Readers therefore need no lock, and if two processes write, the last one wins.
//! The lock only prevents processes from doing the same work at the same time. The ranked index is a
//! directory whose files belong to the engine.
//!
//! We must open everything through a [`PrivateDirectory`], so that only this user can have created it.

use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use forage_base::{Hash64, Stop};
use forage_fs::{OpenError, PrivateDirectory, PrivateError, PrivatePlace, Root, Snapshot, WalkOptions};
use forage_rank::tree::UpdateError;
use forage_rank::{IndexError as RankError, RankIndex};
use forage_search::index::{self, Index, ReadAt as _, Segment, SegmentBuilder, TrigramIndexError};
use thiserror::Error;

use super::building;
use super::mapped::Mapped;
use super::scrub::ScrubProgress;
use super::wait::wait_for;

/// The files of the instant index, newest first.
const LAYERS: [&str; 2] = [CHANGES, BASE];
const BASE: &str = "base";
const CHANGES: &str = "changes";
const DIRECTORIES: &str = "directories";
/// All files that searches read.
const FILES: [&str; 3] = [CHANGES, BASE, DIRECTORIES];
/// The progress of a server in rereading the indexed files.
const REREAD: &str = "reread";
/// Contains the path of the root. This is for people, and for two roots with the same directory name.
const ROOT: &str = "root";
/// Exists while the ranked index is only a copy of another worktree's index that we have not yet compared
/// with this tree.
const RANKED_BEGUN: &str = "ranked-begun";
/// Contains the path of the repository that the root is a worktree of.
const REPOSITORY: &str = "repository";
pub(super) const LOCK: &str = "lock";
/// The prefix of the ranked index's directory. Its format version follows, so that two versions never share
/// files.
const RANKED: &str = "ranked-";
/// Prevents processes from writing a ranked index at the same time.
const RANKED_LOCK: &str = "ranked-lock";

/// Maximum number of changed files in `changes`, plus the maximum share of all files, as a divisor. Each
/// update reads these files again, and the others only when it rebuilds the base.
const CHANGES_KEPT: u64 = 500;
const CHANGES_PART: u64 = 32;

/// Maximum bytes of `base` and of `changes`: the index of ten times as much text. A long-running process has
/// a part of it in memory.
const LAYER_BYTES: u64 = 16 << 30;

/// Maximum bytes of `directories`.
const DIRECTORIES_BYTES: u64 = forage_fs::limits::SNAPSHOT_BYTES as u64 + 64;

/// Maximum bytes of `root`: the kernel's limit for paths, with a reserve for systems with another limit.
const ROOT_BYTES: u64 = 64 << 10;

/// Maximum bytes of a file of the ranked index: of those that the engine reads whole, and of those that it
/// maps.
const RANKED_LIST_BYTES: u64 = 64 << 20;
const RANKED_FILE_BYTES: u64 = 64 << 30;

/// Maximum bytes of all stored indexes. Both indexes of a Linux tree take 0.8 GB, those of a usual project
/// less than a hundredth of that.
const INDEXES_BYTES: u64 = 16 << 30;

/// Time after which we remove an index that was neither written nor locked.
const INDEX_AGE: Duration = Duration::from_secs(180 * 24 * 60 * 60);

/// Attempts to take a lock that another process holds.
const LOCK_ATTEMPTS: usize = 3;
const BETWEEN_LOCKS: Duration = Duration::from_millis(5);

/// Ways to read the files of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreReading {
    /// Reads as little as a search needs. For a short-lived process.
    Brief,
    /// Reads for a long-running process, or for one that replaces the files.
    Lasting,
    /// Like `Lasting`, and checks everything.
    Checked,
}

/// The files of one index.
#[derive(Clone, Debug)]
pub struct IndexStore {
    /// The directory of all indexes, and the name of this one in it.
    indexes: PrivatePlace,
    name: String,
    root: PathBuf,
}

/// The outcome of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The index was built from scratch, with this number of files.
    Built(u64),
    /// This number of changed files was read.
    Updated(u64),
    /// Another process is updating the index.
    Busy,
}

/// Reasons why we can't write or remove the files of an index.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IndexStoreError {
    /// The directory of the index can't be created.
    #[error("can't create {}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: PrivateError,
    },
    /// An index file can't be written.
    #[error("can't write the index")]
    Write(#[source] PrivateError),
    /// The lock file can't be written.
    #[error("can't write {}", path.display())]
    WriteLock {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The lock can't be taken.
    #[error("can't lock the index")]
    Lock(#[source] io::Error),
    /// Another process has the lock.
    #[error("another process is building the index; try again later")]
    Busy,
    /// The time limit was reached.
    #[error("the index of {} is not finished: the time limit was reached", root.display())]
    Unfinished {
        /// The root.
        root: PathBuf,
    },
    /// The work was cancelled, and its result so far is stored.
    #[error("the index of {} has {files} files so far; the next server will continue", root.display())]
    Begun {
        /// The root.
        root: PathBuf,
        /// The number of files in the index.
        files: u64,
    },
    /// The directory of the index can't be used.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The tree can't be read.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Formats an error and its causes in one line.
fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", with_cause(cause)))
}

impl IndexStore {
    /// Locates the index of the root with this absolute path, below the directory for all indexes.
    pub fn new(indexes: impl Into<PrivatePlace>, root: &Path) -> Self {
        // The readable part is for people. The hash distinguishes roots with the same name.
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        let name = format!("{name}-{:016x}", Hash64::hash_parts(&[root.as_os_str().as_encoded_bytes()]));
        Self { indexes: indexes.into(), name, root: root.to_owned() }
    }

    fn place(&self) -> PrivatePlace {
        self.indexes.join(&self.name)
    }

    /// The path of the index's directory, which may not exist.
    pub fn directory(&self) -> PathBuf {
        self.place().path()
    }

    /// Opens the directory. Returns `None` if there is none that we can use; [`IndexStore::check`] returns
    /// the reason.
    fn opened(&self) -> Option<PrivateDirectory> {
        self.place().open().ok().flatten()
    }

    /// Checks that we can trust the existing files: no other user may have created or changed them.
    pub fn check(&self) -> Result<(), PrivateError> {
        let Some(directory) = self.place().open()? else { return Ok(()) };
        let files = FILES.map(|name| (name, max_file_bytes(name)));
        let others = [
            (ROOT, ROOT_BYTES),
            (REPOSITORY, ROOT_BYTES),
            (RANKED_BEGUN, 0),
            (LOCK, u64::MAX),
            (RANKED_LOCK, u64::MAX),
            (REREAD, ScrubProgress::BYTES),
        ];
        for (name, max) in files.into_iter().chain(others) {
            directory.check_file(name, max)?;
        }
        directory.directory(ranked_name()).map(drop)
    }

    /// Opens the index. Returns `None` if it does not exist or can't be used.
    pub fn open(&self) -> Option<Index> {
        self.with_directories(self.layers(StoreReading::Lasting).0)
    }

    /// Opens the index for a process that ends after its search. Opening starts early, in the background.
    /// Returns `None` if the index does not exist.
    pub fn opening(&self) -> Option<Arc<Index>> {
        let store = self.clone();
        self.exists().then(|| {
            Index::opening(move |snapshot| {
                store.fill(snapshot, StoreReading::Brief);
                store.layers(StoreReading::Brief).0
            })
        })
    }

    /// Opens and checks the whole index. Also returns the problems of the files that we can't use.
    pub fn open_checked(&self) -> (Option<Index>, Vec<String>) {
        let (layers, problems) = self.layers(StoreReading::Checked);
        (self.with_directories(layers), problems)
    }

    fn with_directories(&self, layers: Vec<Segment>) -> Option<Index> {
        (!layers.is_empty()).then(|| {
            let snapshot = Snapshot::default();
            self.fill(&snapshot, StoreReading::Lasting);
            Index::new(layers).with_snapshot(snapshot)
        })
    }

    /// Opens the files of the instant index, and collects the problems of those that are not readable.
    fn layers(&self, reading: StoreReading) -> (Vec<Segment>, Vec<String>) {
        let (mut layers, mut problems) = (Vec::new(), Vec::new());
        // Any other problem is that of one file, which we report with its name.
        if let Err(error) = self.check()
            && error.is_distrust()
        {
            return (layers, vec![error.to_string()]);
        }
        let Some(directory) = self.opened() else { return (layers, problems) };
        for name in LAYERS {
            match self.layer(&directory, name, reading) {
                Ok(layer) => layers.extend(layer),
                Err(problem) => problems.push(format!("{name}: {problem}")),
            }
        }
        (layers, problems)
    }

    /// Returns true if an index exists, even if we can't use it.
    pub fn exists(&self) -> bool {
        self.opened().is_some_and(|directory| LAYERS.iter().any(|name| directory.entry(*name).is_some()))
    }

    /// The modification time and size of each file, which change whenever a file is replaced. A missing file
    /// is `None`.
    pub fn version(&self) -> Vec<Option<(std::time::SystemTime, u64)>> {
        let Some(directory) = self.opened() else { return vec![None; FILES.len()] };
        let version = |name| directory.entry(name).map(|entry| (entry.modified, entry.size));
        FILES.map(version).into()
    }

    /// Total size of the instant index on disk, in bytes.
    pub fn size(&self) -> u64 {
        let directory = self.opened();
        let files = FILES.iter().filter_map(|name| directory.as_ref()?.entry(*name));
        files.map(|entry| entry.size).sum()
    }

    fn layer(
        &self,
        directory: &PrivateDirectory,
        name: &str,
        reading: StoreReading,
    ) -> Result<Option<Segment>, TrigramIndexError> {
        if !self.is_of_root(directory) {
            return Ok(None);
        }
        let file = directory.open_file(name, max_file_bytes(name)).map_err(io::Error::from)?;
        let Some(file) = file else { return Ok(None) };
        let segment = match reading {
            StoreReading::Brief => Segment::open(Mapped(file))?,
            StoreReading::Lasting | StoreReading::Checked => Segment::open(file)?,
        };
        if reading == StoreReading::Checked {
            segment.check()?;
        }
        Ok(Some(segment))
    }

    /// Adds the stored directories to the snapshot. Without them, a search lists all directories.
    fn fill(&self, snapshot: &Snapshot, reading: StoreReading) {
        let read = || {
            let directory = self.opened().filter(|directory| self.is_of_root(directory))?;
            let file = directory.open_file(DIRECTORIES, max_file_bytes(DIRECTORIES)).ok().flatten()?;
            let length = file.byte_len().ok()?;
            let read = match reading {
                StoreReading::Brief => Mapped(file).bytes(0..length),
                StoreReading::Lasting | StoreReading::Checked => file.bytes(0..length),
            };
            read.ok()
        };
        if let Some(directories) = read() {
            snapshot.fill(directories);
        }
    }

    fn is_of_root(&self, directory: &PrivateDirectory) -> bool {
        let root = directory.read(ROOT, ROOT_BYTES).ok().flatten();
        root.is_some_and(|path| path == self.root.as_os_str().as_encoded_bytes())
    }

    /// Reads the progress of servers in rereading the files. All numbers are zero if they have not begun.
    pub fn scrub_progress(&self) -> ScrubProgress {
        let read = self.opened().and_then(|own| own.read(REREAD, ScrubProgress::BYTES).ok().flatten());
        read.and_then(|text| ScrubProgress::parse(&text)).unwrap_or_default()
    }

    pub(super) fn set_reread(&self, progress: &ScrubProgress) {
        if let Some(directory) = self.opened() {
            // If this fails, the files are merely reread once more.
            let _ = directory.replace(REREAD, |file| file.write_all(progress.format().as_bytes()));
        }
    }

    /// Removes the search files of an index that turned out to be wrong. Returns false while another process
    /// updates it.
    pub(super) fn discard(&self) -> Result<bool, IndexStoreError> {
        let Some(directory) = self.place().open()? else { return Ok(true) };
        let Some(_lock) = lock(&directory, LOCK)? else { return Ok(false) };
        for name in FILES {
            directory.remove(name)?;
        }
        Ok(true)
    }

    /// Updates the index to match the tree.
    pub fn update(
        &self,
        root: &Arc<Root>,
        walk: &WalkOptions,
        stop: &Stop,
    ) -> Result<Update, IndexStoreError> {
        let directory = &self.created()?;
        let Some(lock) = lock(directory, LOCK)? else { return Ok(Update::Busy) };
        let files = walk.progress.clone().unwrap_or_default();
        let walk = &WalkOptions { progress: Some(Arc::clone(&files)), ..walk.clone() };
        // This is dropped before the lock, so its thread never writes a file that another process has locked.
        let _building = lock.try_clone().map(|file| building::publish_progress(file, Arc::clone(&files)));
        remove_leftovers(directory)?;
        let base = self.layer(directory, BASE, StoreReading::Checked).ok().flatten();
        if let Some(base) = &base {
            let built = index::build(root, Some(base), walk, stop)?;
            self.check_ended(&built.report)?;
            let files = u64::from(base.len());
            let gone = files.saturating_sub(built.unchanged);
            let changed = u64::from(built.builder.len());
            if changed.max(gone) <= CHANGES_KEPT + files / CHANGES_PART {
                write(directory, CHANGES, built.builder)?;
                write_directories(directory, root, walk, stop)?;
                return Ok(Update::Updated(changed));
            }
        }
        // A server that had to end may have left unfinished work: `changes` without a base.
        let begun = base
            .is_none()
            .then(|| self.layer(directory, CHANGES, StoreReading::Checked).ok().flatten())
            .flatten();
        let is_first = base.is_none();
        drop(base);
        // The comparison with the old base has already counted these files.
        files.store(0, Ordering::Relaxed);
        let built = index::build(root, begun.as_ref(), walk, stop)?;
        let (more, known) =
            (u64::from(built.builder.len()), begun.as_ref().map_or(0, |begun| u64::from(begun.len())));
        directory.replace(ROOT, |file| file.write_all(self.root.as_os_str().as_encoded_bytes()))?;
        if built.report.stopped.is_some() && stop.is_called_off() && is_first && more > 0 {
            // Keep the work of an earlier process as a second file; each file is valid on its own.
            write(directory, if begun.is_none() { CHANGES } else { BASE }, built.builder)?;
            return Err(IndexStoreError::Begun { root: self.root.clone(), files: more + built.unchanged });
        }
        self.check_ended(&built.report)?;
        let files = more + built.unchanged;
        write(directory, BASE, built.builder)?;
        // A base built from scratch has all files, so `changes` is obsolete. After begun work the base has
        // only the remaining files, so we need `changes` until many of its files have changed. A later update
        // merges both.
        if known.saturating_sub(built.unchanged) > CHANGES_KEPT || begun.is_none() {
            directory.remove(CHANGES)?;
        }
        self.remove_others();
        write_directories(directory, root, walk, stop)?;
        Ok(Update::Built(files))
    }

    /// The number of files done by another process that is building the index now.
    pub fn building(&self) -> Option<u64> {
        building::files(self.opened()?.open_file(LOCK, u64::MAX).ok().flatten()?)
    }

    /// Evicts other indexes: those that are older than [`INDEX_AGE`], and then the oldest until all indexes
    /// take at most [`INDEXES_BYTES`].
    fn remove_others(&self) {
        self.remove_others_beyond(INDEXES_BYTES, INDEX_AGE);
    }

    pub(super) fn remove_others_beyond(&self, max: u64, age: Duration) {
        let Ok(Some(indexes)) = self.indexes.open() else { return };
        let mut others = Vec::new();
        let mut bytes = self.size() + self.ranked_size().unwrap_or(0);
        for entry in indexes.entries().unwrap_or_default() {
            let name = entry.name.into_string().ok().filter(|name| *name != self.name);
            // We ignore directories that we can't trust. Taking a lock truncates its file, so the file's time
            // is that of the last update.
            if let Some(name) = name
                && let Ok(Some(directory)) = indexes.directory(&name)
                && let Some(built) = [BASE, LOCK, RANKED_LOCK]
                    .iter()
                    .filter_map(|name| Some(directory.entry(*name)?.modified))
                    .max()
            {
                others.push((std::cmp::Reverse(built), name));
            }
        }
        others.sort();
        for (std::cmp::Reverse(built), name) in others {
            let other = Self { indexes: self.indexes.clone(), name, root: PathBuf::new() };
            bytes = bytes.saturating_add(other.size() + other.ranked_size().unwrap_or(0));
            if bytes > max || built.elapsed().is_ok_and(|elapsed| elapsed > age) {
                // Another process may be using it. The next update will try again.
                let _ = other.remove();
            }
        }
    }

    fn check_ended(&self, report: &forage_fs::WalkReport) -> Result<(), IndexStoreError> {
        if report.stopped.is_some() {
            return Err(IndexStoreError::Unfinished { root: self.root.clone() });
        }
        Ok(())
    }

    /// Opens the directory, and creates it if necessary.
    pub(super) fn created(&self) -> Result<PrivateDirectory, IndexStoreError> {
        self.place().create().map_err(|source| IndexStoreError::Create { path: self.directory(), source })
    }

    /// Opens the ranked index as it was last written, without comparing it with the tree. Returns `None` if
    /// there is none that we can use. This writes nothing.
    pub fn open_ranked_unchecked(&self, stop: &Stop) -> Option<RankIndex> {
        let own = self.opened()?;
        if own.entry(RANKED_BEGUN).is_some() {
            return None;
        }
        let directory = own.directory(ranked_name()).ok()??;
        directory.check_all(max_ranked_file_bytes).ok()?;
        RankIndex::in_directory(directory.path(), stop).ok()
    }

    /// Records that the ranked index matched the tree of its root a moment ago.
    pub(super) fn note_ranked(&self) {
        // If this fails, the index is merely not displayed.
        let _ = self.opened().map(|own| own.remove(RANKED_BEGUN));
    }

    /// Opens and checks the ranked index. Creates an empty one if there is none, or in place of one that
    /// can't be used. For a new worktree of a repository, the index starts as a copy of another worktree's.
    pub(super) fn open_ranked(
        &self,
        repository: Option<&Path>,
        stop: &Stop,
    ) -> Result<RankIndex, UpdateError> {
        let own = self.own().map_err(UpdateError::Locked)?;
        let is_new = own.entry(ranked_name()).is_none();
        if is_new && let Some(repository) = repository {
            // If this fails, the only effect is that we have to read all files.
            self.begin_as_another(&own, repository.as_os_str().as_encoded_bytes(), stop);
        }
        // A directory that belongs to another user is not damage that we could repair.
        own.create_directory(ranked_name()).map_err(|error| UpdateError::Locked(error.to_string()))?;
        match self.open_ranked_as_it_is(stop) {
            Ok(index) => {
                if is_new {
                    self.remove_others();
                }
                return Ok(index);
            }
            Err(error @ RankError::Stopped) => return Err(error.into()),
            Err(_) => {}
        }
        // Another process may have written it in the meantime. While we hold the lock, no one writes.
        let lock = self.lock_ranked(stop)?;
        match self.open_ranked_as_it_is(stop) {
            Err(error) if error.is_damage() => self.replace_ranked_locked(&lock, stop),
            again => Ok(again?),
        }
    }

    /// Starts the ranked index as a copy of another worktree's index of the same repository, the one written
    /// last. The following update detects differences by the content of the files.
    fn begin_as_another(&self, own: &PrivateDirectory, repository: &[u8], stop: &Stop) -> Option<()> {
        own.replace(REPOSITORY, |file| file.write_all(repository)).ok()?;
        let indexes = self.indexes.open().ok()??;
        let ranked = |name: &OsStr| {
            let other = indexes.directory(name).ok()??;
            let is_same = other.read(REPOSITORY, ROOT_BYTES).ok()?? == repository;
            let ranked = other.directory(ranked_name()).ok()?.filter(|_| is_same)?;
            let written = ranked.entries().ok()?.iter().map(|entry| entry.modified).max()?;
            Some((written, ranked))
        };
        let others = indexes.entries().ok()?.into_iter().filter(|entry| *entry.name != *self.name);
        let (_, from) = others.filter_map(|entry| ranked(&entry.name)).max_by_key(|(written, _)| *written)?;
        from.check_all(max_ranked_file_bytes).ok()?;
        let _lock = self.lock_ranked(stop).ok()?;
        // Another process may have created it while we waited for the lock.
        if own.entry(ranked_name()).is_some() {
            return None;
        }
        // This comes before the copy. If we are killed in between, the copy must not pass for an index of
        // this tree.
        own.replace(RANKED_BEGUN, |_| Ok(())).ok()?;
        let to = own.create_directory(ranked_name()).ok()?;
        if RankIndex::copy(from.path(), to.path(), stop).is_err() {
            own.remove_all(ranked_name()).ok()?;
        }
        Some(())
    }

    /// Replaces a ranked index that turned out to be damaged by an empty one.
    pub(super) fn replace_ranked(&self, stop: &Stop) -> Result<RankIndex, UpdateError> {
        self.replace_ranked_locked(&self.lock_ranked(stop)?, stop)
    }

    /// `_lock` proves that the caller holds the lock of the ranked index.
    fn replace_ranked_locked(&self, _lock: &File, stop: &Stop) -> Result<RankIndex, UpdateError> {
        let own = self.own().map_err(UpdateError::Locked)?;
        own.remove_all(ranked_name()).map_err(|error| UpdateError::Locked(error.to_string()))?;
        Ok(self.open_ranked_as_it_is(stop)?)
    }

    /// Opens the directory, and creates it if necessary. An error is returned as text.
    fn own(&self) -> Result<PrivateDirectory, String> {
        self.place().create().map_err(|error| error.to_string())
    }

    fn open_ranked_as_it_is(&self, stop: &Stop) -> Result<RankIndex, RankError> {
        let untrusted = |error: String| io::Error::new(ErrorKind::InvalidData, error);
        let own = self.own().map_err(untrusted)?;
        let directory = own.create_directory(ranked_name()).map_err(|error| untrusted(error.to_string()))?;
        // The engine opens files by path, so we must check the files at this path.
        directory.check_all(max_ranked_file_bytes).map_err(|error| untrusted(error.to_string()))?;
        RankIndex::in_directory(directory.path(), stop)
    }

    /// Locks the ranked index, so that other processes can't write it. Waits until they are done.
    pub(super) fn lock_ranked(&self, stop: &Stop) -> Result<File, UpdateError> {
        let directory = self.created().map_err(|error| UpdateError::Locked(with_cause(&error)))?;
        let lock = || match lock(&directory, RANKED_LOCK) {
            Ok(Some(file)) => Some(Ok(file)),
            Ok(None) => None,
            Err(error) => Some(Err(UpdateError::Locked(with_cause(&error)))),
        };
        wait_for(stop, lock)?
    }

    /// Total size of the ranked index on disk, in bytes. `None` if it does not exist.
    pub fn ranked_size(&self) -> Option<u64> {
        let directory = self.opened()?.directory(ranked_name()).ok().flatten()?;
        Some(directory.entries().ok()?.iter().map(|entry| entry.size).sum())
    }

    /// Removes the index. Returns false if there was none. The lock file must stay, because another process
    /// may hold the lock or wait for it.
    pub fn remove(&self) -> Result<bool, IndexStoreError> {
        let Some(directory) = self.place().open()? else { return Ok(false) };
        let _lock = lock(&directory, LOCK)?.ok_or(IndexStoreError::Busy)?;
        let _ranked_lock = lock(&directory, RANKED_LOCK)?.ok_or(IndexStoreError::Busy)?;
        let mut was_there = directory.remove_all(ranked_name())?;
        for name in FILES.into_iter().chain([ROOT, REPOSITORY, RANKED_BEGUN, REREAD]) {
            was_there |= directory.remove(name)? && FILES.contains(&name);
        }
        remove_leftovers(&directory)?;
        Ok(was_there)
    }
}

/// Prevents other processes from updating an index. Returns `None` while another process holds the lock. The
/// system releases the lock when the process ends, for whatever reason.
pub(super) fn lock(directory: &PrivateDirectory, name: &str) -> Result<Option<File>, IndexStoreError> {
    let path = directory.path().join(name);
    let file = directory.open_or_create(name)?;
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => {
                // A process that was killed may have left its progress here.
                file.set_len(0).map_err(|source| IndexStoreError::WriteLock { path, source })?;
                return Ok(Some(file));
            }
            // Processes that only check for the lock hold it for a moment.
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_LOCKS),
            Err(TryLockError::Error(error)) => return Err(IndexStoreError::Lock(error)),
        }
    }
    Ok(None)
}

fn write(directory: &PrivateDirectory, name: &str, builder: SegmentBuilder) -> Result<(), IndexStoreError> {
    if builder.is_empty() && name == CHANGES {
        directory.remove(name)?;
        return Ok(());
    }
    directory.replace(name, |file| builder.write(file)).map_err(IndexStoreError::Write)
}

/// Saves the directories. If we can't take the snapshot, the previous file is still useful.
fn write_directories(
    directory: &PrivateDirectory,
    root: &Arc<Root>,
    walk: &WalkOptions,
    stop: &Stop,
) -> Result<(), IndexStoreError> {
    let Some(snapshot) = Snapshot::take(root, walk, stop)? else { return Ok(()) };
    directory.replace(DIRECTORIES, |file| file.write_all(&snapshot)).map_err(IndexStoreError::Write)
}

/// Removes temporary files of a process that was killed while writing. We must hold the lock, since only lock
/// holders write.
fn remove_leftovers(directory: &PrivateDirectory) -> Result<(), IndexStoreError> {
    for entry in directory.entries()? {
        if entry.is_temporary() {
            directory.remove(entry.name)?;
        }
    }
    Ok(())
}

fn ranked_name() -> String {
    format!("{RANKED}{}", forage_rank::FORMAT)
}

/// Maximum bytes of a file of the instant index.
fn max_file_bytes(name: &str) -> u64 {
    if name == DIRECTORIES { DIRECTORIES_BYTES } else { LAYER_BYTES }
}

/// Maximum bytes of a file of the ranked index. The engine reads its lists whole.
fn max_ranked_file_bytes(name: &OsStr) -> u64 {
    let is_list = Path::new(name).extension().is_some_and(|extension| extension == "json");
    if is_list { RANKED_LIST_BYTES } else { RANKED_FILE_BYTES }
}
