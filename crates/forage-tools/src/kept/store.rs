//! The indexes of one root. The instant index is files: `base`, the tree at one time, `changes`, what was found changed since, and
//! `directories`, the names in its directories.
//!
//! Each file is replaced as a whole and is right by itself, because what it says of a file of the tree holds for one
//! state of that file: readers need no lock, and of two writers the last one wins. The lock only keeps processes from
//! doing the same work at the same time. The ranked index is a directory whose files are the engine's.
//!
//! All of it is opened through a [`PrivateDirectory`], so that nobody but this user can have made it.

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
use super::reread::RereadProgress;
use super::wait::wait_for;

/// The files of an index, the newest first.
const LAYERS: [&str; 2] = [CHANGES, BASE];
const BASE: &str = "base";
const CHANGES: &str = "changes";
const DIRECTORIES: &str = "directories";
/// All that searches read of it.
const FILES: [&str; 3] = [CHANGES, BASE, DIRECTORIES];
/// How far a server has read again what the others say.
const REREAD: &str = "reread";
/// Holds the path of the root, for people and because a name of a directory can be that of two roots.
const ROOT: &str = "root";
/// There as long as the ranked index is that of another worktree, with nothing of this one's tree compared.
const RANKED_BEGUN: &str = "ranked-begun";
/// Holds the path of the repository of which the root is a worktree.
const REPOSITORY: &str = "repository";
pub(super) const LOCK: &str = "lock";
/// What the name of the ranked index's directory begins with. Its format follows, so that two versions never share files.
const RANKED: &str = "ranked-";
/// Keeps processes from writing a ranked index at the same time.
const RANKED_LOCK: &str = "ranked-lock";

/// Changed files up to which they are kept beside the base, and, as a part of all files, up to which that pays: they
/// are read again at every update, the others only when the base is built anew.
const CHANGES_KEPT: u64 = 500;
const CHANGES_PART: u64 = 32;

/// Bytes of `base` and `changes`: the index of ten times as much text, which a process that lives on has in memory in part.
const LAYER_BYTES: u64 = 16 << 30;

/// Bytes of `directories`.
const DIRECTORIES_BYTES: u64 = forage_fs::limits::SNAPSHOT_BYTES as u64 + 64;

/// Bytes of `root`: the kernel's own limit on a path, and room for systems with another.
const ROOT_BYTES: u64 = 64 << 10;

/// Bytes of a file of the ranked index: of those that the engine reads whole, and of those that it maps.
const RANKED_LIST_BYTES: u64 = 64 << 20;
const RANKED_FILE_BYTES: u64 = 64 << 30;

/// Indexes that are kept. Each has about a tenth of the bytes of the text in its tree.
const INDEXES_KEPT: usize = 32;

/// A lock that another process holds is asked for again.
const LOCK_ATTEMPTS: usize = 3;
const BETWEEN_LOCKS: Duration = Duration::from_millis(5);

/// How the files of an index are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StoreReading {
    /// As little as a search needs, by a process that ends with it.
    Brief,
    /// By one that goes on, or that replaces them.
    Lasting,
    /// The same, and all of it is checked.
    Checked,
}

/// The files of one index.
#[derive(Clone, Debug)]
pub struct IndexStore {
    /// The directory of all indexes, and the name of this one's in it.
    indexes: PrivatePlace,
    name: String,
    root: PathBuf,
}

/// The outcome of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The index was built from nothing, with so many files.
    Built(u64),
    /// So many changed files were read.
    Updated(u64),
    /// Another process is at it.
    Busy,
}

/// The reasons for which the files of an index can't be written or removed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum IndexStoreError {
    /// There is no directory for it.
    #[error("can't make {}", path.display())]
    Create {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: PrivateError,
    },
    /// A file of it can't be written.
    #[error("can't write the index")]
    Write(#[source] PrivateError),
    /// The file that is locked can't be written.
    #[error("can't write {}", path.display())]
    WriteLock {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The lock can't be taken.
    #[error("can't lock the index")]
    Lock(#[source] io::Error),
    /// Another process has the lock.
    #[error("another process is building the index; try again later")]
    Busy,
    /// The time was over.
    #[error("the index of {} was not finished: its time was over", root.display())]
    Unfinished {
        /// The root.
        root: PathBuf,
    },
    /// The work was called off, and what there is by then is kept.
    #[error("the index of {} has {files} files by now, and the next server goes on", root.display())]
    Begun {
        /// The root.
        root: PathBuf,
        /// Files that are in it.
        files: u64,
    },
    /// Its directory can't be used.
    #[error(transparent)]
    Private(#[from] PrivateError),
    /// The tree can't be read.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// An error and what caused it, in one line.
fn with_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", with_cause(cause)))
}

impl IndexStore {
    /// The index of the root with this absolute path, below the directory for all indexes.
    pub fn new(indexes: impl Into<PrivatePlace>, root: &Path) -> Self {
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        let name = format!("{name}-{:016x}", Hash64::of(&[root.as_os_str().as_encoded_bytes()]));
        Self { indexes: indexes.into(), name, root: root.to_owned() }
    }

    fn place(&self) -> PrivatePlace {
        self.indexes.join(&self.name)
    }

    /// Returns the path of its directory, which need not be there.
    pub fn directory(&self) -> PathBuf {
        self.place().path()
    }

    /// The directory; `None` where there is none that can be used, which [`IndexStore::check`] tells.
    fn opened(&self) -> Option<PrivateDirectory> {
        self.place().open().ok().flatten()
    }

    /// Checks that what is there, if anything is, can be trusted: nobody else may have made or changed it.
    pub fn check(&self) -> Result<(), PrivateError> {
        let Some(directory) = self.place().open()? else { return Ok(()) };
        let files = FILES.map(|name| (name, most_bytes(name)));
        let others = [
            (ROOT, ROOT_BYTES),
            (REPOSITORY, ROOT_BYTES),
            (RANKED_BEGUN, 0),
            (LOCK, u64::MAX),
            (RANKED_LOCK, u64::MAX),
            (REREAD, RereadProgress::BYTES),
        ];
        for (name, most) in files.into_iter().chain(others) {
            directory.check_file(name, most)?;
        }
        directory.directory(ranked_name()).map(drop)
    }

    /// The index; `None` when there is none, or none that can be used.
    pub fn open(&self) -> Option<Index> {
        self.with_directories(self.layers(StoreReading::Lasting).0)
    }

    /// The index for a process that ends with its search, opened while it is not needed yet; `None` when there is none.
    pub fn opening(&self) -> Option<Arc<Index>> {
        let store = self.clone();
        self.exists().then(|| {
            Index::opening(move |snapshot| {
                store.fill(snapshot, StoreReading::Brief);
                store.layers(StoreReading::Brief).0
            })
        })
    }

    /// The index, all of which was read, and what is wrong with those of its files that can't be used.
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

    /// Its files, and what is wrong with others.
    fn layers(&self, reading: StoreReading) -> (Vec<Segment>, Vec<String>) {
        let (mut layers, mut problems) = (Vec::new(), Vec::new());
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

    /// Returns whether there is one, usable or not.
    pub fn exists(&self) -> bool {
        self.opened().is_some_and(|directory| LAYERS.iter().any(|name| directory.entry(*name).is_some()))
    }

    /// Returns the modification time and the bytes of each of its files, which change whenever one is replaced; `None`
    /// for a file that is not there.
    pub fn version(&self) -> Vec<Option<(std::time::SystemTime, u64)>> {
        let Some(directory) = self.opened() else { return vec![None; FILES.len()] };
        let version = |name| directory.entry(name).map(|entry| (entry.modified, entry.size));
        FILES.map(version).into()
    }

    /// Bytes on the disk.
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
        let file = directory.open_file(name, most_bytes(name)).map_err(io::Error::from)?;
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

    /// Takes in the directories; without them, all are listed.
    fn fill(&self, snapshot: &Snapshot, reading: StoreReading) {
        let read = || {
            let directory = self.opened().filter(|directory| self.is_of_root(directory))?;
            let file = directory.open_file(DIRECTORIES, most_bytes(DIRECTORIES)).ok().flatten()?;
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

    /// Returns how far servers have read its files again; all zeros if they have not.
    pub fn reread(&self) -> RereadProgress {
        let read = self.opened().and_then(|own| own.read(REREAD, RereadProgress::BYTES).ok().flatten());
        read.and_then(|text| RereadProgress::parse(&text)).unwrap_or_default()
    }

    pub(super) fn set_reread(&self, progress: &RereadProgress) {
        if let Some(directory) = self.opened() {
            // What is not written down is read once more.
            let _ = directory.replace(REREAD, |file| file.write_all(progress.format().as_bytes()));
        }
    }

    /// Removes what searches use of an index that turned out to be wrong; false while another process updates it.
    pub(super) fn discard(&self) -> Result<bool, IndexStoreError> {
        let Some(directory) = self.place().open()? else { return Ok(true) };
        let Some(_lock) = lock(&directory, LOCK)? else { return Ok(false) };
        for name in FILES {
            directory.remove(name)?;
        }
        Ok(true)
    }

    /// Brings the index up to date with the tree.
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
        // Ends before the lock does.
        let _building = lock.try_clone().map(|file| building::tell(file, Arc::clone(&files)));
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
        // What another server came to before it had to end: `changes` without a base.
        let begun = base
            .is_none()
            .then(|| self.layer(directory, CHANGES, StoreReading::Checked).ok().flatten())
            .flatten();
        let is_first = base.is_none();
        drop(base);
        files.store(0, Ordering::Relaxed);
        let built = index::build(root, begun.as_ref(), walk, stop)?;
        let (more, known) =
            (u64::from(built.builder.len()), begun.as_ref().map_or(0, |begun| u64::from(begun.len())));
        directory.replace(ROOT, |file| file.write_all(self.root.as_os_str().as_encoded_bytes()))?;
        if built.report.stopped.is_some() && stop.is_called_off() && is_first && more > 0 {
            // What was begun before stays beside it: each is right by itself.
            write(directory, if begun.is_none() { CHANGES } else { BASE }, built.builder)?;
            return Err(IndexStoreError::Begun { root: self.root.clone(), files: more + built.unchanged });
        }
        self.check_ended(&built.report)?;
        let files = more + built.unchanged;
        write(directory, BASE, built.builder)?;
        // It holds until many of its files have changed; a later update makes one of both.
        if known.saturating_sub(built.unchanged) > CHANGES_KEPT || begun.is_none() {
            directory.remove(CHANGES)?;
        }
        self.remove_others();
        write_directories(directory, root, walk, stop)?;
        Ok(Update::Built(files))
    }

    /// The files that another process has come to by now, if one is building the index.
    pub fn building(&self) -> Option<u64> {
        building::files(self.opened()?.open_file(LOCK, u64::MAX).ok().flatten()?)
    }

    /// Removes the oldest of so many other indexes that [`INDEXES_KEPT`] are left.
    fn remove_others(&self) {
        let Ok(Some(indexes)) = self.indexes.open() else { return };
        let mut others = Vec::new();
        for entry in indexes.entries().unwrap_or_default() {
            let name = entry.name.into_string().ok().filter(|name| *name != self.name);
            // One that can't be trusted is none of ours.
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
        for (_, name) in others.into_iter().skip(INDEXES_KEPT - 1) {
            // Another process may be at it, and another update comes.
            let _ = Self { indexes: self.indexes.clone(), name, root: PathBuf::new() }.remove();
        }
    }

    fn check_ended(&self, report: &forage_fs::WalkReport) -> Result<(), IndexStoreError> {
        if report.stopped.is_some() {
            return Err(IndexStoreError::Unfinished { root: self.root.clone() });
        }
        Ok(())
    }

    /// The directory, made if there is none.
    pub(super) fn created(&self) -> Result<PrivateDirectory, IndexStoreError> {
        self.place().create().map_err(|source| IndexStoreError::Create { path: self.directory(), source })
    }

    /// The ranked index as it was last written, without a look at the tree; `None` where there is none that can be used.
    /// Nothing is written.
    pub fn ranked_as_it_is(&self, stop: &Stop) -> Option<RankIndex> {
        let own = self.opened()?;
        if own.entry(RANKED_BEGUN).is_some() {
            return None;
        }
        let directory = own.directory(ranked_name()).ok()??;
        directory.check_all(most_bytes_of_ranked).ok()?;
        RankIndex::in_directory(directory.path(), stop).ok()
    }

    /// The ranked index is as the tree of its root was a moment ago.
    pub(super) fn note_ranked(&self) {
        // What is not noted is only not shown.
        let _ = self.opened().map(|own| own.remove(RANKED_BEGUN));
    }

    /// The ranked index, checked; an empty one where there is none, and in place of one that can't be used. That of a worktree
    /// of a repository begins as that of another one.
    pub(super) fn open_ranked(
        &self,
        repository: Option<&Path>,
        stop: &Stop,
    ) -> Result<RankIndex, UpdateError> {
        let own = self.own().map_err(UpdateError::Locked)?;
        let is_new = own.entry(ranked_name()).is_none();
        if is_new && let Some(repository) = repository {
            // Without it all files are read, and nothing else happens.
            self.begin_as_another(&own, repository.as_os_str().as_encoded_bytes(), stop);
        }
        // A directory of somebody else's is no damage that could be mended.
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
        // It may have been written meanwhile. Nobody writes now.
        let lock = self.lock_ranked(stop)?;
        match self.open_ranked_as_it_is(stop) {
            Err(error) if error.is_damage() => self.replace_ranked_locked(&lock, stop),
            again => Ok(again?),
        }
    }

    /// Begins the ranked index with that of another worktree of this repository, the one that was written last. What of it is
    /// not so here, the update that follows finds out by the content of the files.
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
        from.check_all(most_bytes_of_ranked).ok()?;
        let _lock = self.lock_ranked(stop).ok()?;
        if own.entry(ranked_name()).is_some() {
            return None;
        }
        own.replace(RANKED_BEGUN, |_| Ok(())).ok()?;
        let to = own.create_directory(ranked_name()).ok()?;
        if RankIndex::copy(from.path(), to.path(), stop).is_err() {
            own.remove_all(ranked_name()).ok()?;
        }
        Some(())
    }

    /// An empty ranked index in place of one that was found to be damaged by using it.
    pub(super) fn replace_ranked(&self, stop: &Stop) -> Result<RankIndex, UpdateError> {
        self.replace_ranked_locked(&self.lock_ranked(stop)?, stop)
    }

    fn replace_ranked_locked(&self, _lock: &File, stop: &Stop) -> Result<RankIndex, UpdateError> {
        let own = self.own().map_err(UpdateError::Locked)?;
        own.remove_all(ranked_name()).map_err(|error| UpdateError::Locked(error.to_string()))?;
        Ok(self.open_ranked_as_it_is(stop)?)
    }

    /// The directory, made if there is none; why it can't be had in words.
    fn own(&self) -> Result<PrivateDirectory, String> {
        self.place().create().map_err(|error| error.to_string())
    }

    fn open_ranked_as_it_is(&self, stop: &Stop) -> Result<RankIndex, RankError> {
        let untrusted = |error: String| io::Error::new(ErrorKind::InvalidData, error);
        let own = self.own().map_err(untrusted)?;
        let directory = own.create_directory(ranked_name()).map_err(|error| untrusted(error.to_string()))?;
        // The engine opens by path: what it finds there is what is looked at here.
        directory.check_all(most_bytes_of_ranked).map_err(|error| untrusted(error.to_string()))?;
        RankIndex::in_directory(directory.path(), stop)
    }

    /// Keeps other processes from writing the ranked index; waits until they have done.
    pub(super) fn lock_ranked(&self, stop: &Stop) -> Result<File, UpdateError> {
        let directory = self.created().map_err(|error| UpdateError::Locked(with_cause(&error)))?;
        let lock = || match lock(&directory, RANKED_LOCK) {
            Ok(Some(file)) => Some(Ok(file)),
            Ok(None) => None,
            Err(error) => Some(Err(UpdateError::Locked(with_cause(&error)))),
        };
        wait_for(stop, lock)?
    }

    /// Bytes of the ranked index on the disk; `None` if there is none.
    pub fn ranked_size(&self) -> Option<u64> {
        let directory = self.opened()?.directory(ranked_name()).ok().flatten()?;
        Some(directory.entries().ok()?.iter().map(|entry| entry.size).sum())
    }

    /// Removes the index; false when there was none. The lock stays: another process may hold it, or wait for it.
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

/// Keeps other processes from updating an index; `None` while another one does. The system lets go of it when the process
/// ends, however it ends.
pub(super) fn lock(directory: &PrivateDirectory, name: &str) -> Result<Option<File>, IndexStoreError> {
    let path = directory.path().join(name);
    let file = directory.open_or_create(name)?;
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => {
                // What one that was killed left there of how far it was.
                file.set_len(0).map_err(|source| IndexStoreError::WriteLock { path, source })?;
                return Ok(Some(file));
            }
            // Who only asks whether it is locked holds it for a moment.
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

/// Writes down the directories. Those of an earlier time are of use, too, where that says nothing.
fn write_directories(
    directory: &PrivateDirectory,
    root: &Arc<Root>,
    walk: &WalkOptions,
    stop: &Stop,
) -> Result<(), IndexStoreError> {
    let Some(snapshot) = Snapshot::take(root, walk, stop)? else { return Ok(()) };
    directory.replace(DIRECTORIES, |file| file.write_all(&snapshot)).map_err(IndexStoreError::Write)
}

/// Removes what a process left behind that was killed while it wrote. Only those who hold the lock write.
fn remove_leftovers(directory: &PrivateDirectory) -> Result<(), IndexStoreError> {
    for entry in directory.entries()? {
        if entry.is_temporary() {
            directory.remove(entry.name)?;
        }
    }
    Ok(())
}

/// The name of the ranked index's directory.
fn ranked_name() -> String {
    format!("{RANKED}{}", forage_rank::FORMAT)
}

/// Bytes that a file of the instant index may have.
fn most_bytes(name: &str) -> u64 {
    if name == DIRECTORIES { DIRECTORIES_BYTES } else { LAYER_BYTES }
}

/// Bytes that a file of the ranked index may have: its lists are read whole.
fn most_bytes_of_ranked(name: &OsStr) -> u64 {
    let is_list = Path::new(name).extension().is_some_and(|extension| extension == "json");
    if is_list { RANKED_LIST_BYTES } else { RANKED_FILE_BYTES }
}
