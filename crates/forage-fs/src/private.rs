//! Directories of the user's own, below their cache, state and data directories: what is in them is believed, and so
//! nobody else may have a say in it.
//!
//! A [`PrivatePlace`] says where such a directory would be, and a [`PrivateDirectory`] is one that was opened and
//! judged. On the way to it, every component belongs to this user or the system, and nobody else may replace one. The
//! directory itself and all below it belong to this user, who alone may write there. A file of it is opened by its name
//! in the open directory, never through a link and without waiting for a pipe, and judged on the handle that is then
//! used: a plain file of this user, of one name, within a size. Nothing is emptied or removed before it was judged so.
//!
//! Where the system tells neither owners nor permissions (`portable`), kinds, links and sizes are judged.

mod named;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use crate::distrust::{Distrust, PrivateError};
use crate::limits;
use crate::sys::private::{self as system, PrivateHandle};
use crate::sys::{NodeFacts, NodeKind, OpenMode};

pub use named::NamedFile;

/// The extension of a file that is being written. One that was left behind by a program that ended may go.
const TEMPORARY: &str = "tmp";

/// The location of a directory of the user's own, which may not be there yet: names below a directory that the user or
/// the system has chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrivatePlace {
    base: PathBuf,
    below: Vec<OsString>,
}

impl PrivatePlace {
    /// A place below this absolute path, whose links are followed: those of the user and the system. To be joined with
    /// at least one name.
    pub fn below(base: impl Into<PathBuf>) -> Self {
        Self { base: base.into(), below: Vec::new() }
    }

    /// A directory that the user names; a link in place of itself is not followed.
    pub fn at(path: &Path) -> Self {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => Self::below(parent).join(name),
            _ => Self::below(path),
        }
    }

    /// A directory in this one.
    #[must_use]
    pub fn join(&self, name: impl AsRef<OsStr>) -> Self {
        let mut joined = self.clone();
        joined.below.push(name.as_ref().to_owned());
        joined
    }

    /// Its path, with the links that are in it.
    pub fn path(&self) -> PathBuf {
        self.below.iter().fold(self.base.clone(), |path, name| path.join(name))
    }

    /// The directory; `None` when there is none.
    ///
    /// # Errors
    /// It can't be trusted, or opened.
    pub fn open(&self) -> Result<Option<PrivateDirectory>, PrivateError> {
        match self.try_open() {
            Err(PrivateError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The directory, made for this user alone if there is none.
    ///
    /// # Errors
    /// It can't be trusted, made or opened.
    pub fn create(&self) -> Result<PrivateDirectory, PrivateError> {
        // A component that was made by somebody else meanwhile is judged like one that was there before.
        let mut resolved = system::resolve(&self.base)?;
        for ancestor in resolved.clone().ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
            system::make_directory(ancestor).map_err(|source| io_error(ancestor, source))?;
        }
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

/// As [`PrivatePlace::at`].
impl From<&Path> for PrivatePlace {
    fn from(path: &Path) -> Self {
        Self::at(path)
    }
}

/// As [`PrivatePlace::at`].
impl From<PathBuf> for PrivatePlace {
    fn from(path: PathBuf) -> Self {
        Self::at(&path)
    }
}

/// An open directory that only this user may write, and only this user has made.
#[derive(Debug)]
pub struct PrivateDirectory {
    handle: PrivateHandle,
    /// Without links.
    path: PathBuf,
}

/// Something in a [`PrivateDirectory`].
#[derive(Clone, Debug)]
pub struct PrivateEntry {
    /// Its name.
    pub name: OsString,
    /// Whether it is a directory. A link is none.
    pub is_directory: bool,
    /// Whether it is a plain file.
    pub is_file: bool,
    /// Bytes.
    pub size: u64,
    /// The time of its last modification.
    pub modified: SystemTime,
}

impl PrivateEntry {
    /// Returns whether it is a file that [`PrivateDirectory::replace`] has not given its name yet, by its extension.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        Path::new(&self.name).extension().is_some_and(|extension| extension == TEMPORARY)
    }
}

impl PrivateDirectory {
    /// Its path. No component of it is a link, and nobody but this user and the system may replace one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory in this one; `None` when there is none.
    ///
    /// # Errors
    /// It can't be trusted, or opened.
    pub fn directory(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>, PrivateError> {
        allow_missing(self.child(name.as_ref()))
    }

    /// A directory in this one, made if there is none.
    ///
    /// # Errors
    /// It can't be trusted, made or opened.
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
            // One that is not believed is closed behind the kernel's wall, and yet its name tells why.
            let facts = self.facts(name).ok();
            let reason = facts.and_then(|facts| match facts.kind {
                NodeKind::Symlink => Some(Distrust::Link),
                NodeKind::File | NodeKind::Special => Some(Distrust::NoDirectory),
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

    /// Opens a file to be read; `None` when there is none.
    ///
    /// # Errors
    /// It can't be trusted, is larger than `most` bytes, or can't be opened.
    pub fn open_file(&self, name: impl AsRef<OsStr>, most: u64) -> Result<Option<File>, PrivateError> {
        allow_missing(self.open(name.as_ref(), OpenMode::Read, most))
    }

    /// The whole of a file; `None` when there is none.
    ///
    /// # Errors
    /// It can't be trusted, is larger than `most` bytes, or can't be read.
    pub fn read(&self, name: impl AsRef<OsStr>, most: u64) -> Result<Option<Vec<u8>>, PrivateError> {
        let name = name.as_ref();
        let Some(file) = self.open_file(name, most)? else { return Ok(None) };
        let mut bytes = Vec::new();
        // It may grow meanwhile.
        file.take(most).read_to_end(&mut bytes).map_err(|source| self.error(name, source))?;
        Ok(Some(bytes))
    }

    /// Opens a file to be read, written and locked, made if there is none. It is as it was.
    ///
    /// # Errors
    /// It can't be trusted, made or opened.
    pub fn open_or_create(&self, name: impl AsRef<OsStr>) -> Result<File, PrivateError> {
        self.open(name.as_ref(), OpenMode::ReadWriteOrCreate, u64::MAX)
    }

    /// Makes a file that is not there yet.
    ///
    /// # Errors
    /// Something has the name, or it can't be made.
    pub fn create_new(&self, name: impl AsRef<OsStr>) -> Result<File, PrivateError> {
        self.open(name.as_ref(), OpenMode::CreateNew, u64::MAX)
    }

    fn open(&self, name: &OsStr, access: OpenMode, most: u64) -> Result<File, PrivateError> {
        open_judged(&self.handle, &self.path, name, access, most)
    }

    /// Writes a file whole or not at all: under another name first, which is then given its own. What had the name
    /// before goes, whatever it was but a directory; what a link led to stays.
    ///
    /// # Errors
    /// It can't be written.
    pub fn replace(
        &self,
        name: impl AsRef<OsStr>,
        write: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>,
    ) -> Result<(), PrivateError> {
        // By hand: `tempfile` goes by paths, and this by the handle that was judged.
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let name = name.as_ref();
        check_name(&self.path, name)?;
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = OsString::from(format!("{}-{number}.{TEMPORARY}", std::process::id()));
        // One that a process of the same number has left behind.
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

    /// Gives a file another name; what had that goes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> Result<(), PrivateError> {
        let (from, to) = (from.as_ref(), to.as_ref());
        check_name(&self.path, from).and_then(|()| check_name(&self.path, to))?;
        system::rename(&self.handle, from, to).map_err(|source| self.error(from, source))
    }

    /// Writes the names in it through to the disk.
    ///
    /// # Errors
    /// The system refuses.
    pub fn sync(&self) -> Result<(), PrivateError> {
        system::sync(&self.handle).map_err(|source| io_error(&self.path, source))
    }

    /// Removes a name that is none of a directory; false when there is none. What a link leads to stays.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, name: impl AsRef<OsStr>) -> Result<bool, PrivateError> {
        let name = name.as_ref();
        check_name(&self.path, name)?;
        match system::remove_file(&self.handle, name) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(self.error(name, source)),
        }
    }

    /// Removes what has a name, and, if that is a directory, all below it; false when there is nothing. Links are
    /// removed and not followed.
    ///
    /// # Errors
    /// The system refuses.
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
        // Whose it is does not matter: it is in a directory of this user's, and what it leads to is not followed.
        let handle = system::open_child(&self.handle, name).map_err(|source| self.error(name, source))?;
        let directory = Self { handle, path: self.path.join(name) };
        for name in directory.names()? {
            directory.remove_below(&name, depth)?;
        }
        self.remove_empty(name)
    }

    /// Removes an empty directory; false when there is none.
    ///
    /// # Errors
    /// Something is in it, or the system refuses.
    pub fn remove_empty(&self, name: impl AsRef<OsStr>) -> Result<bool, PrivateError> {
        let name = name.as_ref();
        check_name(&self.path, name)?;
        match system::remove_directory(&self.handle, name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            removed => removed.map(|()| true).map_err(|source| self.error(name, source)),
        }
    }

    /// Returns what is in it, in no order.
    ///
    /// # Errors
    /// It can't be read.
    pub fn entries(&self) -> Result<Vec<PrivateEntry>, PrivateError> {
        let names = self.names()?.into_iter();
        // What goes away meanwhile is not in it.
        Ok(names.filter_map(|name| self.entry(name)).collect())
    }

    /// Returns the entry with this name; `None` when nothing has it, or the system refuses to tell.
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

    /// Looks at a file by its name, without opening it; false when there is none.
    ///
    /// # Errors
    /// It can't be trusted, or is larger than `most` bytes.
    pub fn check_file(&self, name: impl AsRef<OsStr>, most: u64) -> Result<bool, PrivateError> {
        let name = name.as_ref();
        match self.facts(name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(source) => Err(self.error(name, source)),
            Ok(facts) => match distrust_of_file(&facts, most) {
                Some(reason) => Err(distrusted(&self.path.join(name), reason)),
                None => Ok(true),
            },
        }
    }

    /// Looks at all that is in it, at any depth, for an engine that opens files by their paths. What it then opens is
    /// what was looked at: nobody else may replace a component of [`PrivateDirectory::path`], or make anything in it.
    /// `most` gives the bytes that a file may have, by its name.
    ///
    /// A file that the engine made may have permissions that let others write it, where nobody else may enter the
    /// directory.
    ///
    /// # Errors
    /// Something in it can't be trusted, or can't be looked at.
    pub fn check_all(&self, most: impl Fn(&OsStr) -> u64) -> Result<(), PrivateError> {
        self.check_below(&most, false, limits::PRIVATE_DEPTH)
    }

    fn check_below(
        &self,
        most: &impl Fn(&OsStr) -> u64,
        is_closed: bool,
        depth: usize,
    ) -> Result<(), PrivateError> {
        let depth =
            depth.checked_sub(1).ok_or_else(|| io_error(&self.path, ErrorKind::InvalidData.into()))?;
        let facts = system::directory_facts(&self.handle).map_err(|source| io_error(&self.path, source))?;
        let is_closed = is_closed || facts.is_closed;
        for name in self.names()? {
            let mut facts = match self.facts(&name) {
                // Another process of this user is at work.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                facts => facts.map_err(|source| self.error(&name, source))?,
            };
            if is_closed {
                facts.writable = None;
            }
            let refused = |reason| Err(distrusted(&self.path.join(&name), reason));
            if facts.kind != NodeKind::Directory {
                if let Some(reason) = distrust_of_file(&facts, most(&name)) {
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
                    Self { handle, path }.check_below(most, is_closed, depth)?;
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

/// Returns the path with its links resolved as far as it exists: to be compared with paths of roots, and not opened.
pub fn resolved(path: &Path) -> PathBuf {
    let whole = path.ancestors().find_map(|existing| {
        let rest = path.strip_prefix(existing).ok()?;
        Some(crate::root::canonical(existing).ok()?.join(rest))
    });
    whole.unwrap_or_else(|| path.to_owned())
}

/// Opens a plain file of any owner that the user names, links followed, to be read; a pipe is not waited for.
///
/// # Errors
/// It is something else, is larger than `most` bytes, or can't be opened.
pub fn open_named(path: &Path, most: u64) -> Result<File, PrivateError> {
    let file = system::open_named(path).map_err(|source| io_error(path, source))?;
    let facts = system::file_facts(&file).map_err(|source| io_error(path, source))?;
    let refused = |reason| Err(io_error(path, io::Error::new(ErrorKind::InvalidInput, reason)));
    match facts.kind {
        NodeKind::File if facts.size > most => refused(Distrust::Size { size: facts.size, most }),
        NodeKind::File => Ok(file),
        _ => refused(Distrust::NoFile),
    }
}

fn open_judged(
    handle: &PrivateHandle,
    directory: &Path,
    name: &OsStr,
    access: OpenMode,
    most: u64,
) -> Result<File, PrivateError> {
    check_name(directory, name)?;
    let path = directory.join(name);
    let file = system::open_file(handle, name, access).map_err(|source| {
        // The system's word for a link is one about loops, and for a pipe one about devices.
        let facts = system::facts_of(handle, name).ok().filter(|_| access != OpenMode::CreateNew);
        match facts.and_then(|facts| distrust_of_file(&facts, u64::MAX)) {
            Some(reason) => distrusted(&path, reason),
            None => io_error(&path, source),
        }
    })?;
    let facts = system::file_facts(&file).map_err(|source| io_error(&path, source))?;
    match distrust_of_file(&facts, most) {
        Some(reason) => Err(distrusted(&path, reason)),
        None => Ok(file),
    }
}

fn distrust_of_file(facts: &NodeFacts, most: u64) -> Option<Distrust> {
    let kind = match facts.kind {
        NodeKind::File => None,
        NodeKind::Symlink => Some(Distrust::Link),
        NodeKind::Directory | NodeKind::Special => Some(Distrust::NoFile),
    };
    let size = facts.size;
    kind.or_else(|| facts.foreign.clone())
        .or_else(|| facts.writable.clone())
        .or_else(|| facts.has_other_names.then_some(Distrust::OtherNames))
        .or_else(|| (size > most).then_some(Distrust::Size { size, most }))
}

/// A name is that of one component, whoever made it.
fn check_name(directory: &Path, name: &OsStr) -> Result<(), PrivateError> {
    let mut components = Path::new(name).components();
    match (components.next(), components.next()) {
        (Some(Component::Normal(component)), None) if component == name => Ok(()),
        _ => Err(io_error(&directory.join(name), ErrorKind::InvalidInput.into())),
    }
}

fn distrusted(path: &Path, reason: Distrust) -> PrivateError {
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
