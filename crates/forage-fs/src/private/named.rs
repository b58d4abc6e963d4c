//! A file that the user names.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{PrivateError, distrusted, io_error, open_judged, trust_error_of_file};
use crate::sys::private::{self as system, PrivateHandle};
use crate::sys::{NodeKind, OpenMode};

/// A file that the user names. Its directory is not checked, so other users may have created the file. The
/// file itself must therefore pass the same checks as one in a [`PrivateDirectory`](super::PrivateDirectory).
#[derive(Debug)]
pub struct NamedFile {
    handle: PrivateHandle,
    directory: PathBuf,
    name: OsString,
}

impl NamedFile {
    /// Creates a handle for a path, which need not exist. Links in the path of its directory are followed,
    /// but the file itself must not be a link.
    ///
    /// # Errors
    ///
    /// Fails if the directory can't be opened, or if the path does not name a file.
    pub fn at(path: &Path) -> Result<Self, PrivateError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io_error(path, ErrorKind::InvalidInput.into()));
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let handle = system::open_named_directory(parent).map_err(|source| io_error(parent, source))?;
        Ok(Self { handle, directory: parent.to_owned(), name: name.to_owned() })
    }

    /// Opens the file for appending, or creates it. If the file exists, this removes the permissions of other
    /// users, so that they can't read what we append.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be trusted, created or opened.
    pub fn append(&self) -> Result<File, PrivateError> {
        let file =
            open_judged(&self.handle, &self.directory, &self.name, OpenMode::AppendOrCreate, u64::MAX)?;
        system::make_private(&file).map_err(|source| io_error(&self.directory.join(&self.name), source))?;
        Ok(file)
    }

    /// Checks the file without opening it. A missing file is accepted.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be trusted.
    pub fn check(&self) -> Result<(), PrivateError> {
        let path = self.directory.join(&self.name);
        match system::facts_of(&self.handle, &self.name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            facts => {
                let facts = facts.map_err(|source| io_error(&path, source))?;
                trust_error_of_file(&facts, u64::MAX).map_or(Ok(()), |reason| Err(distrusted(&path, reason)))
            }
        }
    }

    /// Creates the file, which must not exist yet.
    ///
    /// # Errors
    ///
    /// Fails if the name exists or the file can't be created.
    pub fn create_new(&self) -> Result<File, PrivateError> {
        open_judged(&self.handle, &self.directory, &self.name, OpenMode::CreateNew, u64::MAX)
    }

    /// Renames the file within its directory. This replaces an existing file with the new name.
    ///
    /// # Errors
    ///
    /// Fails if the file can't be renamed.
    pub fn rename(&self, to: impl AsRef<OsStr>) -> Result<(), PrivateError> {
        let renamed = system::rename(&self.handle, &self.name, to.as_ref());
        renamed.map_err(|source| io_error(&self.directory.join(&self.name), source))
    }

    /// Returns true if the name still refers to the file that was opened. On systems without file identities
    /// (`portable`), any file with this name counts.
    ///
    /// # Errors
    ///
    /// Fails if a file can't be examined.
    pub fn is(&self, opened: &File) -> io::Result<bool> {
        match system::facts_of(&self.handle, &self.name) {
            Ok(named) => {
                Ok(named.identity == system::file_facts(opened)?.identity && named.kind == NodeKind::File)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes the file if the name still refers to the one that was opened, see [`NamedFile::is`].
    ///
    /// # Errors
    ///
    /// Fails if a file can't be examined or removed.
    pub fn remove(&self, opened: &File) -> io::Result<()> {
        let named = system::facts_of(&self.handle, &self.name)?;
        let opened = system::file_facts(opened)?;
        match named.identity == opened.identity && named.kind == NodeKind::File {
            true => system::remove_file(&self.handle, &self.name),
            false => Ok(()),
        }
    }
}
