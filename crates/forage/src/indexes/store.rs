//! The indexes of one root. The instant index is files: `base`, the tree at one time, `changes`, what was found changed since, and
//! `directories`, the names in its directories.
//!
//! Each file is replaced as a whole and is right by itself, because what it says of a file of the tree holds for one
//! state of that file: readers need no lock, and of two writers the last one wins. The lock only keeps processes from
//! doing the same work at the same time. The ranked index is a directory whose files are the engine's.
#![expect(clippy::disallowed_methods, reason = "the user's own cache directory, not a file of a repository")]

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context as _, bail};
use forage_fs::{Root, Snapshot, Stop, WalkOptions};
use forage_rank::tree::UpdateError;
use forage_rank::{IndexError as RankError, RankIndex};
use forage_search::index::{self, Builder, Index, IndexError, ReadAt as _, Segment};

use super::building;
use super::ranked::wait_for;
use crate::private_file;

/// The files of an index, the newest first.
const LAYERS: [&str; 2] = [CHANGES, BASE];
const BASE: &str = "base";
const CHANGES: &str = "changes";
const DIRECTORIES: &str = "directories";
/// All that searches read of it.
const FILES: [&str; 3] = [CHANGES, BASE, DIRECTORIES];
/// Holds the path of the root, for people and because a name of a directory can be that of two roots.
const ROOT: &str = "root";
pub(super) const LOCK: &str = "lock";
/// What the name of the ranked index's directory begins with. Its format follows, so that two versions never share files.
const RANKED: &str = "ranked-";
/// Keeps processes from writing a ranked index at the same time.
const RANKED_LOCK: &str = "ranked-lock";

/// Changed files up to which they are kept beside the base, and, as a part of all files, up to which that pays: they
/// are read again at every update, the others only when the base is built anew.
const CHANGES_KEPT: u64 = 500;
const CHANGES_PART: u64 = 32;

/// Indexes that are kept. Each has about a tenth of the bytes of the text in its tree.
const INDEXES_KEPT: usize = 32;

/// A lock that another process holds is asked for again.
const LOCK_ATTEMPTS: usize = 3;
const BETWEEN_LOCKS: Duration = Duration::from_millis(5);

/// How the files of an index are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// As little as a search needs, by a process that ends with it.
    Brief,
    /// By one that goes on, or that replaces them.
    Lasting,
    /// The same, and all of it is checked.
    Checked,
}

/// The files of one index.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    root: PathBuf,
}

/// What an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// The index was built from nothing, with so many files.
    Built(u64),
    /// So many changed files were read.
    Updated(u64),
    /// Another process is at it.
    Busy,
}

impl Store {
    /// The index of the root with this absolute path, below the directory for all indexes.
    pub(crate) fn new(indexes: &Path, root: &Path) -> Self {
        let mut hasher = DefaultHasher::new();
        root.hash(&mut hasher);
        let name = root.file_name().unwrap_or_default().to_string_lossy();
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        let directory = indexes.join(format!("{name}-{:016x}", hasher.finish()));
        Self { directory, root: root.to_owned() }
    }

    /// Where it is.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The index; `None` when there is none, or none that can be used.
    pub(crate) fn open(&self) -> Option<Index> {
        self.with_directories(self.layers(Reading::Lasting).0)
    }

    /// The index for a process that ends with its search, opened while it is not needed yet; `None` when there is none.
    pub(crate) fn opening(&self) -> Option<Arc<Index>> {
        let store = self.clone();
        self.exists().then(|| {
            Index::opening(move |snapshot| {
                store.fill(snapshot, Reading::Brief);
                store.layers(Reading::Brief).0
            })
        })
    }

    /// The index, all of which was read, and what is wrong with those of its files that can't be used.
    pub(crate) fn open_checked(&self) -> (Option<Index>, Vec<String>) {
        let (layers, problems) = self.layers(Reading::Checked);
        (self.with_directories(layers), problems)
    }

    fn with_directories(&self, layers: Vec<Segment>) -> Option<Index> {
        (!layers.is_empty()).then(|| {
            let snapshot = Snapshot::default();
            self.fill(&snapshot, Reading::Lasting);
            Index::new(layers).with_snapshot(snapshot)
        })
    }

    /// Its files, and what is wrong with others.
    fn layers(&self, reading: Reading) -> (Vec<Segment>, Vec<String>) {
        let (mut layers, mut problems) = (Vec::new(), Vec::new());
        for name in LAYERS {
            match self.layer(name, reading) {
                Ok(layer) => layers.extend(layer),
                Err(problem) => problems.push(format!("{name}: {problem}")),
            }
        }
        (layers, problems)
    }

    /// Whether there is one, usable or not.
    pub(crate) fn exists(&self) -> bool {
        LAYERS.iter().any(|name| self.directory.join(name).exists())
    }

    /// What changes whenever one of its files is replaced.
    pub(crate) fn version(&self) -> Vec<Option<(std::time::SystemTime, u64)>> {
        let version = |name: &&str| {
            let metadata = fs::metadata(self.directory.join(name)).ok()?;
            Some((metadata.modified().ok()?, metadata.len()))
        };
        FILES.iter().map(version).collect()
    }

    /// Bytes on the disk.
    pub(crate) fn size(&self) -> u64 {
        let files = FILES.iter().filter_map(|name| fs::metadata(self.directory.join(name)).ok());
        files.map(|metadata| metadata.len()).sum()
    }

    fn layer(&self, name: &str, reading: Reading) -> Result<Option<Segment>, IndexError> {
        if !self.is_of_root() {
            return Ok(None);
        }
        let file = match File::open(self.directory.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file?,
        };
        let segment = match reading {
            Reading::Brief => Segment::open(private_file::Mapped(file))?,
            Reading::Lasting | Reading::Checked => Segment::open(file)?,
        };
        if reading == Reading::Checked {
            segment.check()?;
        }
        Ok(Some(segment))
    }

    /// Takes in the directories; without them, all are listed.
    fn fill(&self, snapshot: &Snapshot, reading: Reading) {
        let read = || {
            let file = File::open(self.directory.join(DIRECTORIES))?;
            let length = file.byte_len()?;
            if length > forage_fs::limits::SNAPSHOT_BYTES as u64 + 64 {
                return Err(ErrorKind::FileTooLarge.into());
            }
            match reading {
                Reading::Brief => private_file::Mapped(file).bytes(0..length),
                Reading::Lasting | Reading::Checked => file.bytes(0..length),
            }
        };
        if self.is_of_root()
            && let Ok(directories) = read()
        {
            snapshot.fill(directories);
        }
    }

    fn is_of_root(&self) -> bool {
        fs::read(self.directory.join(ROOT)).is_ok_and(|path| path == self.root.as_os_str().as_encoded_bytes())
    }

    /// Brings the index up to date with the tree.
    pub(crate) fn update(&self, root: &Arc<Root>, walk: &WalkOptions, stop: &Stop) -> anyhow::Result<Update> {
        private_file::create_directory(&self.directory)
            .with_context(|| format!("can't make {}", self.directory.display()))?;
        let Some(lock) = self.lock(LOCK)? else { return Ok(Update::Busy) };
        let files = walk.progress.clone().unwrap_or_default();
        let walk = &WalkOptions { progress: Some(Arc::clone(&files)), ..walk.clone() };
        // Ends before the lock does.
        let _building = lock.try_clone().map(|file| building::tell(file, Arc::clone(&files)));
        self.remove_leftovers()?;
        let base = self.layer(BASE, Reading::Checked).ok().flatten();
        if let Some(base) = &base {
            let built = index::build(root, Some(base), walk, stop)?;
            self.check_ended(&built.report)?;
            let files = u64::from(base.len());
            let gone = files.saturating_sub(built.unchanged);
            let changed = u64::from(built.builder.len());
            if changed.max(gone) <= CHANGES_KEPT + files / CHANGES_PART {
                self.write(CHANGES, built.builder)?;
                self.write_directories(root, walk, stop)?;
                return Ok(Update::Updated(changed));
            }
        }
        drop(base);
        files.store(0, Ordering::Relaxed);
        let built = index::build(root, None, walk, stop)?;
        self.check_ended(&built.report)?;
        let files = u64::from(built.builder.len());
        private_file::replace(&self.directory.join(ROOT), self.root.as_os_str().as_encoded_bytes())?;
        self.write(BASE, built.builder)?;
        remove(&self.directory.join(CHANGES))?;
        self.remove_others();
        self.write_directories(root, walk, stop)?;
        Ok(Update::Built(files))
    }

    /// The files that another process has come to by now, if one is building the index.
    pub(crate) fn building(&self) -> Option<u64> {
        building::files(&self.directory.join(LOCK))
    }

    /// Removes the oldest of so many other indexes that [`INDEXES_KEPT`] are left.
    fn remove_others(&self) {
        let all = self.directory.parent().and_then(|indexes| fs::read_dir(indexes).ok());
        let mut others = Vec::new();
        for directory in all.into_iter().flatten().flatten().map(|entry| entry.path()) {
            if directory != self.directory
                && let Some(built) =
                    [BASE, LOCK, RANKED_LOCK].iter().filter_map(|name| modified(directory.join(name))).max()
            {
                others.push((std::cmp::Reverse(built), directory));
            }
        }
        others.sort();
        for (_, directory) in others.into_iter().skip(INDEXES_KEPT - 1) {
            // Another process may be at it, and another update comes.
            let _ = Self { directory, root: PathBuf::new() }.remove();
        }
    }

    /// Removes what a process left behind that was killed while it wrote. Only those who hold the lock write.
    fn remove_leftovers(&self) -> anyhow::Result<()> {
        let files = fs::read_dir(&self.directory);
        let files = files.with_context(|| format!("can't read {}", self.directory.display()))?;
        for file in files.flatten() {
            if file.path().extension().is_some_and(|extension| extension == private_file::TEMPORARY) {
                remove(&file.path())?;
            }
        }
        Ok(())
    }

    fn check_ended(&self, report: &forage_fs::WalkReport) -> anyhow::Result<()> {
        if report.stopped.is_some() {
            bail!("the index of {} was not finished: its time was over", self.root.display());
        }
        Ok(())
    }

    fn write(&self, name: &str, builder: Builder) -> anyhow::Result<()> {
        let path = self.directory.join(name);
        if builder.is_empty() && name == CHANGES {
            return Ok(remove(&path)?);
        }
        private_file::replace_by(&path, |file| builder.write(file))
            .with_context(|| format!("can't write {}", path.display()))
    }

    /// Writes down the directories. Those of an earlier time are of use, too, where that says nothing.
    fn write_directories(&self, root: &Arc<Root>, walk: &WalkOptions, stop: &Stop) -> anyhow::Result<()> {
        let Some(snapshot) = Snapshot::take(root, walk, stop)? else { return Ok(()) };
        let path = self.directory.join(DIRECTORIES);
        private_file::replace(&path, &snapshot).with_context(|| format!("can't write {}", path.display()))
    }

    /// Keeps other processes from updating it; `None` while another one does. The system lets go of it when the process
    /// ends, however it ends.
    pub(super) fn lock(&self, name: &str) -> anyhow::Result<Option<File>> {
        let path = self.directory.join(name);
        let file = private_file::open_or_create(&path);
        let file = file.with_context(|| format!("can't open {}", path.display()))?;
        for _ in 0..LOCK_ATTEMPTS {
            match file.try_lock() {
                Ok(()) => {
                    // What one that was killed left there of how far it was.
                    file.set_len(0).with_context(|| format!("can't write {}", path.display()))?;
                    return Ok(Some(file));
                }
                // Who only asks whether it is locked holds it for a moment.
                Err(fs::TryLockError::WouldBlock) => std::thread::sleep(BETWEEN_LOCKS),
                Err(fs::TryLockError::Error(error)) => return Err(error).context("can't lock the index"),
            }
        }
        Ok(None)
    }

    /// The ranked index, checked; an empty one where there is none, and in place of one that can't be used.
    pub(super) fn open_ranked(&self, stop: &Stop) -> Result<RankIndex, UpdateError> {
        let is_new = !self.ranked_directory().exists();
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

    /// An empty ranked index in place of one that was found to be damaged by using it.
    pub(super) fn replace_ranked(&self, stop: &Stop) -> Result<RankIndex, UpdateError> {
        self.replace_ranked_locked(&self.lock_ranked(stop)?, stop)
    }

    fn replace_ranked_locked(&self, _lock: &File, stop: &Stop) -> Result<RankIndex, UpdateError> {
        self.wipe_ranked().map_err(RankError::Io)?;
        Ok(self.open_ranked_as_it_is(stop)?)
    }

    fn open_ranked_as_it_is(&self, stop: &Stop) -> Result<RankIndex, RankError> {
        let directory = self.ranked_directory();
        private_file::create_directory(&directory)?;
        RankIndex::in_directory(&directory, stop)
    }

    /// Keeps other processes from writing the ranked index; waits until they have done.
    pub(super) fn lock_ranked(&self, stop: &Stop) -> Result<File, UpdateError> {
        let lock = || match self.lock(RANKED_LOCK) {
            Ok(Some(file)) => Some(Ok(file)),
            Ok(None) => None,
            Err(error) => Some(Err(UpdateError::Locked(format!("{error:#}")))),
        };
        wait_for(stop, lock)?
    }

    fn ranked_directory(&self) -> PathBuf {
        self.directory.join(format!("{RANKED}{}", forage_rank::FORMAT))
    }

    fn wipe_ranked(&self) -> io::Result<()> {
        match fs::remove_dir_all(self.ranked_directory()) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Bytes of the ranked index on the disk; `None` if there is none.
    pub(crate) fn ranked_size(&self) -> Option<u64> {
        let files = fs::read_dir(self.ranked_directory()).ok()?;
        Some(files.flatten().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum())
    }

    /// Removes the index; false when there was none. The lock stays: another process may hold it, or wait for it.
    pub(crate) fn remove(&self) -> anyhow::Result<bool> {
        if !self.directory.exists() {
            return Ok(false);
        }
        let busy = "another process is building the index; try again later";
        let _lock = self.lock(LOCK)?.context(busy)?;
        let _ranked_lock = self.lock(RANKED_LOCK)?.context(busy)?;
        let was_there = self.exists() || self.ranked_size().is_some();
        self.wipe_ranked()?;
        for name in FILES.into_iter().chain([ROOT]) {
            let path = self.directory.join(name);
            remove(&path).with_context(|| format!("can't remove {}", path.display()))?;
        }
        self.remove_leftovers()?;
        Ok(was_there)
    }
}

fn modified(path: impl AsRef<Path>) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
