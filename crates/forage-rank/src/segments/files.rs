//! The files of an index: in memory, or in a directory of the user's cache.
//!
//! The engine never opens a file itself. It only gets bytes whose length and hash match the [`Manifest`]
//! ([`VerifiedDirectory`]). We hash its output while it is written ([`Staged`]), and stop writing as soon as
//! the deadline passes. Only [`Files::sync`] flushes to the disk: files that a power failure leaves
//! incomplete are detected like any other damage.

#![expect(clippy::disallowed_methods, reason = "the user's own cache directory, not a file of a repository")]

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use forage_base::{Stop, Stopped};
use tantivy::Directory;
use tantivy::directory::error::{DeleteError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, FileHandle, MmapDirectory, OwnedBytes, RamDirectory, TerminatingWrite, WatchCallback,
    WatchHandle, WritePtr,
};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::description_name;
use super::manifest::{Manifest, ManifestEntry, SegmentEntry};
use crate::error::IndexError;
use crate::limits;

/// The file that names all others.
const MANIFEST: &str = "manifest";

/// The manifest while it is being written.
const NEW_MANIFEST: &str = "manifest.new";

/// The known commits of the project. This file names the commit for which it is valid, so it doesn't depend
/// on the manifest.
const HISTORY: &str = "history";

/// The engine's name for the description of an index. We keep one in a file of each segment instead.
const DESCRIPTION: &str = "meta.json";

/// How far we may trust files before reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// We must read them completely and compare them with the manifest.
    Nothing,
    /// This process has just written them.
    Written,
}

/// The files of an index, in memory or on the disk.
#[derive(Clone, Debug)]
pub enum Files {
    /// In memory.
    Memory(RamDirectory),
    /// In a directory that exists.
    Disk {
        /// The path of the directory.
        path: PathBuf,
        /// The directory as the engine accesses it.
        mapped: MmapDirectory,
    },
}

impl Files {
    /// Creates an empty set of files in memory.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::Memory(RamDirectory::create())
    }

    /// Opens the files in an existing directory.
    ///
    /// # Errors
    ///
    /// Returns an error if the engine cannot use the directory.
    pub fn in_directory(path: &Path) -> Result<Self, IndexError> {
        let mapped = MmapDirectory::open(path).map_err(|error| IndexError::Engine(error.into()))?;
        Ok(Self::Disk { path: path.to_owned(), mapped })
    }

    fn engine(&self) -> &dyn Directory {
        match self {
            Self::Memory(directory) => directory,
            Self::Disk { mapped, .. } => mapped,
        }
    }

    /// Maps a file, after checking that it is as written.
    ///
    /// # Errors
    ///
    /// Returns an error that [is damage](IndexError::is_damage) if the file is missing or differs, and
    /// [`IndexError::Stopped`] if the deadline has passed.
    pub fn open(&self, entry: &ManifestEntry, trust: Trust, stop: &Stop) -> Result<OwnedBytes, IndexError> {
        if let Self::Disk { path, .. } = self {
            // We must check this before opening the file: opening a pipe would block forever.
            let metadata = fs::symlink_metadata(path.join(&entry.name))?;
            if !metadata.is_file() || metadata.len() != entry.length {
                return Err(IndexError::Damaged);
            }
        }
        let slice = self.engine().open_read(Path::new(&entry.name)).map_err(tantivy::TantivyError::from)?;
        let bytes = slice.read_bytes()?;
        // The file may have changed since, and a file in memory has not been checked yet.
        if bytes.len() as u64 != entry.length {
            return Err(IndexError::Damaged);
        }
        if trust == Trust::Nothing && hash_of(&bytes, stop)? != entry.hash {
            return Err(IndexError::Damaged);
        }
        Ok(bytes)
    }

    /// Reads the manifest, which must have this format. `None` if there is no index yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the manifest cannot be read, is damaged, or has another format.
    pub fn manifest(&self, format: &str) -> Result<Option<Manifest>, IndexError> {
        let Some(text) = self.read_short(MANIFEST, limits::MANIFEST_BYTES)? else { return Ok(None) };
        let text = String::from_utf8(text).map_err(|_| IndexError::Damaged)?;
        Manifest::from_text(format, &text).map(Some)
    }

    /// Reads a whole file. `None` if it doesn't exist.
    fn read_short(&self, name: &str, max: u64) -> Result<Option<Vec<u8>>, IndexError> {
        let Self::Disk { path, .. } = self else { return Ok(None) };
        let path = path.join(name);
        let metadata = match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            metadata => metadata?,
        };
        if !metadata.is_file() || metadata.len() > max {
            return Err(IndexError::Damaged);
        }
        let mut bytes = Vec::new();
        match fs::File::open(path).and_then(|file| file.take(max).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some(bytes)),
            // It was removed since we checked it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the stored history of commits, if it is usable.
    pub fn history(&self) -> Option<Vec<u8>> {
        self.read_short(HISTORY, limits::HISTORY_BYTES).ok().flatten()
    }

    /// Stores the history of commits. If this fails, we will read the history again next time.
    pub fn replace_history(&self, bytes: &[u8]) {
        let Self::Disk { path, .. } = self else { return };
        if bytes.len() as u64 > limits::HISTORY_BYTES {
            return;
        }
        // We don't need a lock because each process writes to its own file and then renames it.
        let new = path.join(format!("{HISTORY}.{}", std::process::id()));
        let _ = fs::write(&new, bytes).and_then(|()| fs::rename(new, path.join(HISTORY)));
    }

    /// Replaces the manifest atomically.
    ///
    /// # Errors
    ///
    /// Returns an error if the manifest cannot be written.
    pub fn replace_manifest(&self, format: &str, manifest: &Manifest) -> io::Result<()> {
        let Self::Disk { path, .. } = self else { return Ok(()) };
        let new = path.join(NEW_MANIFEST);
        fs::write(&new, manifest.to_text(format))?;
        fs::rename(new, path.join(MANIFEST))
    }

    /// Flushes all files that a manifest names, and the manifest itself, to the disk.
    ///
    /// # Errors
    ///
    /// Returns an error of the system.
    pub fn sync(&self, manifest: &Manifest) -> io::Result<()> {
        let Self::Disk { path, .. } = self else { return Ok(()) };
        let names = manifest.files().map(|file| file.name.as_str());
        for name in names.chain([MANIFEST]) {
            // Windows can only sync files that are open for writing.
            fs::OpenOptions::new().read(true).write(true).open(path.join(name))?.sync_all()?;
        }
        self.engine().sync_directory()
    }

    /// Returns true if a file of this name may belong to an index: the manifest, or a file of a segment.
    #[must_use]
    pub fn is_own(name: &str) -> bool {
        // The engine's ids have 32 hexadecimal digits.
        let is_segment = |id: &str| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        [MANIFEST, NEW_MANIFEST].contains(&name) || name.split_once('.').is_some_and(|(id, _)| is_segment(id))
    }

    /// Copies the history of commits from another directory.
    pub fn copy_history(&self, from: &Self) {
        if let Some(history) = from.history() {
            self.replace_history(&history);
        }
    }

    /// Copies a file from another directory.
    pub fn copy(&self, from: &Self, entry: &ManifestEntry) -> io::Result<()> {
        let (Self::Disk { path: to, .. }, Self::Disk { path: from, .. }) = (self, from) else {
            return Ok(());
        };
        let from = from.join(&entry.name);
        // As with all files that we open, it must not be a pipe, and must be as long as written.
        let metadata = fs::symlink_metadata(&from)?;
        if !metadata.is_file() || metadata.len() != entry.length {
            return Err(io::ErrorKind::InvalidData.into());
        }
        fs::copy(from, to.join(&entry.name)).map(drop)
    }

    /// Removes unreferenced files. Processes that have one of them open can still read it. If we can't remove
    /// a file, we will try again next time.
    pub fn remove<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            let _ = self.engine().delete(Path::new(name));
        }
    }

    /// Removes the files of an index that a killed process left behind. Files that aren't ours are kept.
    pub fn remove_all_but(&self, known: &HashSet<&str>) {
        let Self::Disk { path, .. } = self else { return };
        for file in fs::read_dir(path).into_iter().flatten().flatten() {
            let name = file.file_name();
            let is_left = |name: &str| {
                let is_temporary = name.strip_prefix(HISTORY).is_some_and(|rest| rest.starts_with('.'));
                name != MANIFEST && !known.contains(name) && (Self::is_own(name) || is_temporary)
            };
            if name.to_str().is_some_and(is_left) {
                let _ = fs::remove_file(file.path());
            }
        }
    }

    /// Writes a whole file.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<ManifestEntry> {
        let mut file = self.engine().open_write(Path::new(name)).map_err(io::Error::other)?;
        file.write_all(bytes)?;
        match self {
            Self::Memory(_) => file.terminate()?,
            // Terminating the file would sync it.
            Self::Disk { .. } => file.flush()?,
        }
        Ok(ManifestEntry { name: name.to_owned(), length: bytes.len() as u64, hash: xxh3_64(bytes) })
    }
}

/// Computes a hash in pieces, so that a large file can't delay the end of the call.
fn hash_of(bytes: &[u8], stop: &Stop) -> Result<u64, IndexError> {
    let mut hasher = Xxh3::new();
    for piece in bytes.chunks(limits::HASHED_AT_ONCE) {
        if stop.check().is_some() {
            return Err(IndexError::Stopped);
        }
        hasher.update(piece);
    }
    Ok(hasher.digest())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The engine's view of a segment: a directory with nothing but the verified files.
#[derive(Clone)]
pub(super) struct VerifiedDirectory(Arc<HashMap<PathBuf, OwnedBytes>>);

impl VerifiedDirectory {
    pub(super) fn new(files: HashMap<PathBuf, OwnedBytes>, description: OwnedBytes) -> Self {
        let mut files = files;
        files.insert(DESCRIPTION.into(), description);
        Self(Arc::new(files))
    }
}

impl fmt::Debug for VerifiedDirectory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

fn missing(path: &Path) -> OpenReadError {
    OpenReadError::FileDoesNotExist(path.to_owned())
}

fn read_only() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, "a segment is never changed")
}

impl Directory for VerifiedDirectory {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let bytes = self.0.get(path).ok_or_else(|| missing(path))?;
        Ok(Arc::new(bytes.clone()))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.get(path).map(|bytes| bytes.to_vec()).ok_or_else(|| missing(path))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(self.0.contains_key(path))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(read_only()), filepath: path.to_owned() })
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(read_only(), path.to_owned()))
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> io::Result<()> {
        Err(read_only())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

/// A directory into which the engine writes one segment. All data is hashed while it is written.
#[derive(Clone, Debug)]
pub struct Staged(Arc<Staging>);

#[derive(Debug)]
struct Staging {
    files: Files,
    stop: Stop,
    written: Mutex<Vec<ManifestEntry>>,
    /// Files that were created, complete or not.
    begun: Mutex<Vec<String>>,
    /// Files that the engine writes for the directory as a whole.
    notes: Mutex<HashMap<PathBuf, Vec<u8>>>,
}

impl Staged {
    /// Prepares to write a segment among these files, until `stop` ends it.
    #[must_use]
    pub fn new(files: &Files, stop: &Stop) -> Self {
        let (files, stop) = (files.clone(), stop.clone());
        let staging = Staging {
            files,
            stop,
            written: Mutex::default(),
            begun: Mutex::default(),
            notes: Mutex::default(),
        };
        Self(Arc::new(staging))
    }

    /// Completes a segment that the engine has written.
    ///
    /// # Errors
    ///
    /// Returns [`IndexError::Damaged`] if the engine wrote nothing, and [`IndexError::Write`] if the last
    /// file cannot be written.
    pub fn seal(&self) -> Result<SegmentEntry, IndexError> {
        let description = lock(&self.0.notes).remove(Path::new(DESCRIPTION)).unwrap_or_default();
        let mut files = std::mem::take(&mut *lock(&self.0.written));
        // The engine names its files after the segment: its id, a dot and an extension.
        let id = files.first().and_then(|file| file.name.split('.').next()).map(str::to_owned);
        let id = id.ok_or(IndexError::Damaged)?;
        let written = self.0.files.write(&description_name(&id), &description);
        files.push(written.map_err(|error| IndexError::Write(error.into()))?);
        Ok(SegmentEntry { id, files, ..SegmentEntry::default() })
    }

    /// Removes the files of an unfinished segment.
    pub fn discard(&self) {
        self.0.files.remove(lock(&self.0.begun).iter().map(String::as_str));
    }
}

impl Staging {
    /// Returns true if the time for writing is over. A segment that was started in time gets a short
    /// extension.
    fn is_over(&self) -> bool {
        match self.stop.check() {
            None => false,
            Some(Stopped::Cancelled) => true,
            Some(Stopped::Deadline) => {
                self.stop.deadline().is_some_and(|deadline| deadline + limits::WRITE_GRACE <= Instant::now())
            }
        }
    }
}

impl Directory for Staged {
    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.files.engine().get_file_handle(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        lock(&self.0.notes).get(path).cloned().ok_or_else(|| missing(path))
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        Ok(lock(&self.0.notes).contains_key(path))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        lock(&self.0.written).retain(|entry| Path::new(&entry.name) != path);
        self.0.files.engine().delete(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let name = path.to_string_lossy().into_owned();
        let inner = self.0.files.engine().open_write(path)?;
        lock(&self.0.begun).push(name.clone());
        let staging = Arc::clone(&self.0);
        Ok(BufWriter::new(Box::new(Hashing {
            inner,
            name,
            length: 0,
            hasher: Box::new(Xxh3::new()),
            staging,
        })))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        lock(&self.0.notes).insert(path.to_owned(), data.to_owned());
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }

    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

/// A file that is being written.
struct Hashing {
    inner: WritePtr,
    name: String,
    length: u64,
    hasher: Box<Xxh3>,
    staging: Arc<Staging>,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.staging.is_over() {
            return Err(io::Error::new(ErrorKind::TimedOut, "the time ran out before a segment was written"));
        }
        let count = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl TerminatingWrite for Hashing {
    fn terminate_ref(&mut self, token: AntiCallToken) -> io::Result<()> {
        match &self.staging.files {
            Files::Memory(_) => self.inner.terminate_ref(token)?,
            // We must not terminate the file, as this would sync it.
            Files::Disk { .. } => self.inner.flush()?,
        }
        let (name, length, hash) = (self.name.clone(), self.length, self.hasher.digest());
        lock(&self.staging.written).push(ManifestEntry { name, length, hash });
        Ok(())
    }
}
