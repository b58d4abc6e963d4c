//! Private directories (cache, state, data). Their contents are trusted, so only this user may write to them.
//!
//! A [`PrivatePlace`] is the location of such a directory, and a [`PrivateDirectory`] is one that was opened
//! and checked. Every component of its path must belong to this user or the system, and no other user may be
//! able to replace one. The directory and everything below it must belong to this user, and only this user
//! may write there. We open a file by its name in the open directory, never through a link and without
//! blocking on a pipe. Then we check the open handle: it must be a plain file of this user, with a single
//! link and within a size limit. Nothing is truncated or removed before these checks.
//!
//! On systems that do not report owners and permissions (`portable`), we check only types, links and sizes.

mod named;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::limits;
use crate::sys::private::{self as system, PrivateHandle};
use crate::sys::{NodeFacts, NodeKind, OpenMode};
use crate::trust::{PrivateError, TrustError};

pub use named::NamedFile;

/// Extension of a file that is still being written. A leftover of a program that crashed may be removed.
const TEMPORARY: &str = "tmp";

/// The location of a private directory that may not exist yet: names below a directory that the user or the
/// system has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivatePlace {
    base: PathBuf,
    below: Vec<OsString>,
}

impl PrivatePlace {
    /// Creates a location below an absolute path, whose links are followed because they belong to the user or
    /// the system. You must join at least one name to it.
    pub fn below(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), below: Vec::new() }
    }

    /// Creates the location of a directory that the user names. Links in its parents are followed; the
    /// directory itself must not be a link.
    pub fn at(path: &Path) -> Self {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Self::below(parent).join(name),
            _ => Self::below(path),
        }
    }

    /// Appends the name of a subdirectory.
    #[must_use]
    pub fn join(&self, name: impl AsRef<OsStr>) -> Self {
        let mut joined = self.clone();
        joined.below.push(name.as_ref().to_owned());
        joined
    }

    /// Returns the path with its links unresolved.
    pub fn path(&self) -> PathBuf {
        self.below.iter().fold(self.base.clone(), |path, name| path.join(name))
    }

    /// Opens the directory. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the directory can't be trusted or opened.
    pub fn open(&self) -> Result<Option<PrivateDirectory>, PrivateError> {
        match self.try_open() {
            Err(PrivateError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Opens the directory, or creates it for this user only.
    ///
    /// # Errors
    ///
    /// Fails if the directory can't be trusted, created or opened.
    pub fn create(&self) -> Result<PrivateDirectory, PrivateError> {
        // A component that another process creates at the same time is checked like an existing one.
        let mut resolved = system::resolve(&self.base)?;
        for ancestor in resolved.clone().ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
            system::make_directory(ancestor).map_err(|source| io_error(ancestor, source))?;
        }
        // Components that were missing before have not been checked yet.
        resolved = system::resolve(&self.base)?;
        self.descend(resolved, |directory, name| directory.make(name))
    }

    fn try_open(&self) -> Result<PrivateDirectory, PrivateError> {
        self.descend(system::resolve(&self.base)?, |_, _| Ok(()))
    }

    fn descend(
        &self,
        base: PathBuf,
        prepare: impl Fn(&PrivateDirectory, &OsStr) -> Result<(), PrivateError>,
    ) -> Result<PrivateDirectory, PrivateError> {
        let open = if self.below.is_empty() { system::open_directory } else { system::open_for_names };
        let handle = open(&base).map_err(|source| io_error(&base, source))?;
        let mut directory = PrivateDirectory { handle, path: base };
        // Otherwise the base need not be private: `resolve` has checked that no other user can replace it.
        if self.below.is_empty() {
            directory.judge()?;
        }
        for name in &self.below {
            prepare(&directory, name)?;
            directory = directory.child(name)?;
        }
        Ok(directory)
    }
}

/// See [`PrivatePlace::at`].
impl From<&Path> for PrivatePlace {
    fn from(path: &Path) -> Self {
        Self::at(path)
    }
}

/// See [`PrivatePlace::at`].
impl From<PathBuf> for PrivatePlace {
    fn from(path: PathBuf) -> Self {
        Self::at(&path)
    }
}

/// An open directory to which only this user may write.
#[derive(Debug)]
pub struct PrivateDirectory {
    handle: PrivateHandle,
    /// The path without links.
    path: PathBuf,
}

/// An entry of a [`PrivateDirectory`].
#[derive(Clone, Debug)]
pub struct PrivateEntry {
    /// The name.
    pub name: OsString,
    /// True for a directory, but not for a link to one.
    pub is_directory: bool,
    /// True for a plain file.
    pub is_file: bool,
    /// The size in bytes.
    pub size: u64,
    /// The modification time.
    pub modified: SystemTime,
}

impl PrivateEntry {
    /// Returns true if this is a temporary file of [`PrivateDirectory::replace`] that has not been renamed
    /// yet. Only the extension is checked.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        Path::new(&self.name).extension().is_some_and(|extension| extension == TEMPORARY)
    }
}

impl PrivateDirectory {
    /// Returns the path of the directory. No component is a link, and only this user and the system may
    /// replace one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a subdirectory. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the subdirectory can't be trusted or opened.
    pub fn directory(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>, PrivateError> {
        allow_missing(self.child(name.as_ref()))
    }

    /// Opens a subdirectory, or creates it.
    ///
    /// # Errors
    ///
    /// Fails if the subdirectory can't be trusted, created or opened.
    pub fn create_directory(&self, name: impl AsRef<OsStr>) -> Result<Self, PrivateError> {
        let name = name.as_ref();
        self.make(name)?;
        self.child(name)
    }

    fn make(&self, name: &OsStr) -> Result<(), PrivateError> {
        check_name(&self.path, name)?;
        system::make_child(&self.handle, name).map_err(|source| self.error(name, source))
    }

    fn child(&self, name: &OsStr) -> Result<Self, PrivateError> {
        check_name(&self.path, name)?;
        let path = self.path.join(name);
        let handle = system::open_child(&self.handle, name).map_err(|source| {
            // An untrusted directory can't be opened inside the sandbox, but the metadata of its name may
            // still reveal the reason.
            let facts = self.facts(name).ok();
            let reason = facts.and_then(|facts| match facts.kind {
                NodeKind::Symlink => Some(TrustError::Link),
                NodeKind::File | NodeKind::Special => Some(TrustError::NoDirectory),
                NodeKind::Directory => facts.foreign.or(facts.writable),
            });
            reason.map_or_else(|| io_error(&path, source), |reason| distrusted(&path, reason))
        })?;
        let directory = Self { handle, path };
        directory.judge()?;
        Ok(directory)
    }

    fn judge(&self) -> Result<NodeFacts, PrivateError> {
        let facts = system::directory_facts(&self.handle).map_err(|source| io_error(&self.path, source))?;
        match facts.foreign.clone().or_else(|| facts.writable.clone()) {
            Some(reason) => Err(distrusted(&self.path, reason)),
            None => Ok(facts),
        }
    }

    /// Opens a file for reading. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be trusted, is larger than `max` bytes, or can't be opened.
    pub fn open_file(&self, name: impl AsRef<OsStr>, max: u64) -> Result<Option<File>, PrivateError> {
        allow_missing(self.open(name.as_ref(), OpenMode::Read, max))
    }

    /// Reads a whole file. Returns `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be trusted, is larger than `max` bytes, or can't be read.
    pub fn read(&self, name: impl AsRef<OsStr>, max: u64) -> Result<Option<Vec<u8>>, PrivateError> {
        let name = name.as_ref();
        let Some(file) = self.open_file(name, max)? else { return Ok(None) };
        let mut bytes = Vec::new();
        // The file may grow while we read it.
        file.take(max).read_to_end(&mut bytes).map_err(|source| self.error(name, source))?;
        Ok(Some(bytes))
    }

    /// Opens a file for reading, writing and locking, or creates it. The file is not truncated.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be trusted, created or opened.
    pub fn open_or_create(&self, name: impl AsRef<OsStr>) -> Result<File, PrivateError> {
        self.open(name.as_ref(), OpenMode::ReadWriteOrCreate, u64::MAX)
    }

    /// Creates a file that must not exist yet.
    ///
    /// # Errors
    ///
    /// Fails if the name exists or the file can't be created.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> Result<File, PrivateError> {
        self.open(name.as_ref(), OpenMode::CreateNew, u64::MAX)
    }

    fn open(&self, name: &OsStr, access: OpenMode, max: u64) -> Result<File, PrivateError> {
        open_judged(&self.handle, &self.path, name, access, max)
    }

    /// Writes a file atomically, under a temporary name that is then renamed. This replaces an existing entry
    /// unless it is a directory. If the entry is a link, the target of the link does not change.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be written.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), PrivateError> {
        // We can't use `tempfile` here: it works with paths, and we must use the handle that was checked.
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = name.as_ref();
        check_name(&self.path, name)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = OsString::from(format!("{}-{number}.{TEMPORARY}", std::process::id()));
        // This may be left over from another process with the same id.
        self.remove(&temporary)?;
        let file = self.create_new(&temporary)?;
        let mut writer = BufWriter::new(&file);
        let written = write(&mut writer)
            .and_then(|()| writer.flush())
            .and_then(|()| system::rename(&self.handle, &temporary, name));
        drop(writer);
        written.map_err(|source| {
            let _ = system::remove_file(&self.handle, &temporary);
            self.error(name, source)
        })
    }

    /// Renames a file. This replaces an existing file with the new name.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be renamed.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<(), PrivateError> {
        let (from, to) = (from.as_ref(), to.as_ref());
        check_name(&self.path, from).and_then(|()| check_name(&self.path, to))?;
        system::rename(&self.handle, from, to).map_err(|source| self.error(from, source))
    }

    /// Flushes the directory's entries to disk.
    ///
    /// # Errors
    ///
    /// Fails if the entries can't be flushed.
    pub fn sync(&self) -> Result<(), PrivateError> {
        system::sync(&self.handle).map_err(|source| io_error(&self.path, source))
    }

    /// Removes an entry that is not a directory. Returns false if it does not exist. If the entry is a link,
    /// the target of the link does not change.
    ///
    /// # Errors
    ///
    /// Fails if the entry can't be removed.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<bool, PrivateError> {
        let name = name.as_ref();
        check_name(&self.path, name)?;
        match system::remove_file(&self.handle, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(self.error(name, source)),
        }
    }

    /// Removes an entry and, if it is a directory, everything below it. Returns false if it does not exist.
    /// Links are removed and not followed.
    ///
    /// # Errors
    ///
    /// Fails if something can't be removed.
    pub fn remove_all(&self, name: impl AsRef<OsStr>) -> Result<bool, PrivateError> {
        self.remove_below(name.as_ref(), limits::PRIVATE_DEPTH)
    }

    fn remove_below(&self, name: &OsStr, depth: usize) -> Result<bool, PrivateError> {
        let is_directory = match self.facts(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            facts => facts.map_err(|source| self.error(name, source))?.kind == NodeKind::Directory,
        };
        if !is_directory {
            return self.remove(name);
        }
        let depth = depth.checked_sub(1).ok_or_else(|| self.error(name, ErrorKind::InvalidData.into()))?;
        // The owner does not matter here: the directory is inside one of this user's, and we don't follow
        // links.
        let handle = system::open_child(&self.handle, name).map_err(|source| self.error(name, source))?;
        let directory = Self { handle, path: self.path.join(name) };
        for name in directory.names()? {
            directory.remove_below(&name, depth)?;
        }
        self.remove_empty(name)
    }

    /// Removes an empty directory. Returns false if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the directory is not empty or can't be removed.
    pub fn remove_empty(&self, name: impl AsRef<OsStr>) -> Result<bool, PrivateError> {
        let name = name.as_ref();
        check_name(&self.path, name)?;
        match system::remove_directory(&self.handle, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|source| self.error(name, source)),
        }
    }

    /// Lists the entries in arbitrary order.
    ///
    /// # Errors
    ///
    /// Fails if the directory can't be read.
    pub fn entries(&self) -> Result<Vec<PrivateEntry>, PrivateError> {
        let names = self.names()?.into_iter();
        // An entry that is removed while we read is not included.
        Ok(names.filter_map(|name| self.entry(name)).collect())
    }

    /// Looks up an entry by its name. Returns `None` if it does not exist or can't be examined.
    pub fn entry(&self, name: impl Into<OsString>) -> Option<PrivateEntry> {
        let name = name.into();
        let facts = self.facts(&name).ok()?;
        Some(PrivateEntry {
            name,
            is_directory: facts.kind == NodeKind::Directory,
            is_file: facts.kind == NodeKind::File,
            size: facts.size,
            modified: facts.modified,
        })
    }

    /// Checks a file by its name, without opening it. Returns false if it does not exist.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be trusted or is larger than `max` bytes.
    pub fn check_file(&self, name: impl AsRef<OsStr>, max: u64) -> Result<bool, PrivateError> {
        let name = name.as_ref();
        match self.facts(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(self.error(name, source)),
            Ok(facts) => match trust_error_of_file(&facts, max) {
                Some(reason) => Err(distrusted(&self.path.join(name), reason)),
                None => Ok(true),
            },
        }
    }

    /// Checks everything in the directory, recursively, for an engine that opens files by their paths. The
    /// engine will then open the files that we checked, because no other user may replace a component of
    /// [`PrivateDirectory::path`] or create anything in it. `max` returns the maximum size of a file by its
    /// name.
    ///
    /// Engines may create files with permissions that let others write to them. We accept this if no other
    /// user may enter the directory.
    ///
    /// # Errors
    ///
    /// Fails if some entry can't be trusted or examined.
    pub fn check_all(&self, max: impl Fn(&OsStr) -> u64) -> Result<(), PrivateError> {
        self.check_below(&max, false, limits::PRIVATE_DEPTH)
    }

    fn check_below(
        &self,
        max: &impl Fn(&OsStr) -> u64,
        is_closed: bool,
        depth: usize,
    ) -> Result<(), PrivateError> {
        let depth =
            depth.checked_sub(1).ok_or_else(|| io_error(&self.path, ErrorKind::InvalidData.into()))?;
        let facts = system::directory_facts(&self.handle).map_err(|source| io_error(&self.path, source))?;
        let is_closed = is_closed || facts.is_closed;
        for name in self.names()? {
            let mut facts = match self.facts(&name) {
                // Another process of this user has removed it.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                facts => facts.map_err(|source| self.error(&name, source))?,
            };
            if is_closed {
                facts.writable = None;
            }
            let refused = |reason| Err(distrusted(&self.path.join(&name), reason));
            if facts.kind != NodeKind::Directory {
                if let Some(reason) = trust_error_of_file(&facts, max(&name)) {
                    return refused(reason);
                }
                continue;
            }
            if let Some(reason) = facts.foreign.or(facts.writable) {
                return refused(reason);
            }
            let path = self.path.join(&name);
            match system::open_child(&self.handle, &name) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                handle => {
                    let handle = handle.map_err(|source| io_error(&path, source))?;
                    Self { handle, path }.check_below(max, is_closed, depth)?;
                }
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<OsString>, PrivateError> {
        system::names(&self.handle).map_err(|source| io_error(&self.path, source))
    }

    fn facts(&self, name: &OsStr) -> io::Result<NodeFacts> {
        system::facts_of(&self.handle, name)
    }

    fn error(&self, name: &OsStr, source: io::Error) -> PrivateError {
        io_error(&self.path.join(name), source)
    }
}

/// Resolves the links of a path as far as it exists. The result is for comparison with the paths of roots,
/// and must not be opened.
pub fn resolved(path: &Path) -> PathBuf {
    let whole = path.ancestors().find_map(|existing| {
        let rest = path.strip_prefix(existing).ok()?;
        Some(crate::root::canonical(existing).ok()?.join(rest))
    });
    whole.unwrap_or_else(|| path.to_owned())
}

/// Opens a plain file that the user named for reading, regardless of its owner. This follows links, and does
/// not block on a pipe.
///
/// # Errors
///
/// Fails if the path is not a plain file, is larger than `max` bytes, or can't be opened.
pub fn open_named(path: &Path, max: u64) -> Result<File, PrivateError> {
    let file = system::open_named(path).map_err(|source| io_error(path, source))?;
    let facts = system::file_facts(&file).map_err(|source| io_error(path, source))?;
    let refused = |reason| Err(io_error(path, io::Error::new(ErrorKind::InvalidInput, reason)));
    match facts.kind {
        NodeKind::File if facts.size > max => refused(TrustError::Size { size: facts.size, max }),
        NodeKind::File => Ok(file),
        _ => refused(TrustError::NoFile),
    }
}

fn open_judged(
    handle: &PrivateHandle,
    directory: &Path,
    name: &OsStr,
    access: OpenMode,
    max: u64,
) -> Result<File, PrivateError> {
    check_name(directory, name)?;
    let path = directory.join(name);
    let file = system::open_file(handle, name, access).map_err(|source| {
        // The system reports a link as a loop error, and a pipe as a device error.
        let facts = system::facts_of(handle, name).ok().filter(|_| access != OpenMode::CreateNew);
        match facts.and_then(|facts| trust_error_of_file(&facts, u64::MAX)) {
            Some(reason) => distrusted(&path, reason),
            None => io_error(&path, source),
        }
    })?;
    let facts = system::file_facts(&file).map_err(|source| io_error(&path, source))?;
    match trust_error_of_file(&facts, max) {
        Some(reason) => Err(distrusted(&path, reason)),
        None => Ok(file),
    }
}

fn trust_error_of_file(facts: &NodeFacts, max: u64) -> Option<TrustError> {
    let kind = match facts.kind {
        NodeKind::File => None,
        NodeKind::Symlink => Some(TrustError::Link),
        NodeKind::Directory | NodeKind::Special => Some(TrustError::NoFile),
    };
    let size = facts.size;
    kind.or_else(|| facts.foreign.clone())
        .or_else(|| facts.writable.clone())
        .or_else(|| facts.has_other_names.then_some(TrustError::OtherNames))
        .or_else(|| (size > max).then_some(TrustError::Size { size, max }))
}

/// Checks that a name is a single path component.
fn check_name(directory: &Path, name: &OsStr) -> Result<(), PrivateError> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(component)), None) if component == name => Ok(()),
        _ => Err(io_error(&directory.join(name), ErrorKind::InvalidInput.into())),
    }
}

fn distrusted(path: &Path, reason: TrustError) -> PrivateError {
    PrivateError::Distrusted { path: path.to_owned(), reason }
}

fn io_error(path: &Path, source: io::Error) -> PrivateError {
    PrivateError::Io { path: path.to_owned(), source }
}

fn allow_missing<T>(result: Result<T, PrivateError>) -> Result<Option<T>, PrivateError> {
    match result {
        Err(PrivateError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}
