//! A file that the user names.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::{PrivateError, distrust_of_file, distrusted, io_error, open_judged};
use crate::sys::private::{self as system, PrivateHandle};
use crate::sys::{NodeKind, OpenMode};

/// A file that the user names, in a directory that is not judged: others may have put there what is found, so that the
/// file itself is judged as one of a [`PrivateDirectory`](super::PrivateDirectory).
#[derive(Debug)]
pub struct NamedFile {
    handle: PrivateHandle,
    directory: PathBuf,
    name: OsString,
}

impl NamedFile {
    /// The file of this path, which need not be there; links of its directory are followed, one in its place is not.
    ///
    /// # Errors
    /// The directory can't be opened, or the path names none.
    pub fn at(path: &Path) -> Result<Self, PrivateError> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io_error(path, ErrorKind::InvalidInput.into()));
        };
        let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
        let handle = system::open_named_directory(parent).map_err(|source| io_error(parent, source))?;
        Ok(Self { handle, directory: parent.to_owned(), name: name.to_owned() })
    }

    /// Opens it to be written behind its end, made if there is none.
    ///
    /// # Errors
    /// It can't be trusted, made or opened.
    pub fn append(&self) -> Result<File, PrivateError> {
        open_judged(&self.handle, &self.directory, &self.name, OpenMode::AppendOrCreate, u64::MAX)
    }

    /// Looks at it without opening it; nothing is wrong where there is none.
    ///
    /// # Errors
    /// It can't be trusted.
    pub fn check(&self) -> Result<(), PrivateError> {
        let path = self.directory.join(&self.name);
        match system::facts_of(&self.handle, &self.name) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            facts => {
                let facts = facts.map_err(|source| io_error(&path, source))?;
                distrust_of_file(&facts, u64::MAX).map_or(Ok(()), |reason| Err(distrusted(&path, reason)))
            }
        }
    }

    /// Makes it; something that is there is an error.
    ///
    /// # Errors
    /// Something has the name, or it can't be made.
    pub fn create_new(&self) -> Result<File, PrivateError> {
        open_judged(&self.handle, &self.directory, &self.name, OpenMode::CreateNew, u64::MAX)
    }

    /// Gives it another name in its directory; what had that goes.
    ///
    /// # Errors
    /// The system refuses.
    pub fn rename(&self, to: impl AsRef<OsStr>) -> Result<(), PrivateError> {
        let renamed = system::rename(&self.handle, &self.name, to.as_ref());
        renamed.map_err(|source| io_error(&self.directory.join(&self.name), source))
    }

    /// Returns whether the file of this name still is the one that was opened; false when there is none.
    ///
    /// # Errors
    /// The system refuses.
    pub fn is(&self, opened: &File) -> io::Result<bool> {
        match system::facts_of(&self.handle, &self.name) {
            Ok(named) => {
                Ok(named.identity == system::file_facts(opened)?.identity && named.kind == NodeKind::File)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Removes it, if it still is the file that was opened.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(&self, opened: &File) -> io::Result<()> {
        let named = system::facts_of(&self.handle, &self.name)?;
        let opened = system::file_facts(opened)?;
        match named.identity == opened.identity && named.kind == NodeKind::File {
            true => system::remove_file(&self.handle, &self.name),
            false => Ok(()),
        }
    }
}
