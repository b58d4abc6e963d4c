//! The directory of a collection, which no other user may have created or changed.

use std::io;
use std::path::{Path, PathBuf};

use forage_fs::{PrivateDirectory, PrivatePlace};
use forage_rank::segments::Files;

use super::lock::{Lock, LockError};
use crate::limits;
use crate::store::StoreError;

/// The location of a collection.
#[derive(Debug)]
pub(super) struct Home {
    directory: PathBuf,
    name: String,
}

impl Home {
    /// Creates the location. The name must be a valid directory name on every system.
    pub(super) fn new(directory: &Path, name: &str) -> Result<Self, StoreError> {
        let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let reason = if name.is_empty() {
            "is empty"
        } else if name.len() > limits::COLLECTION_NAME_BYTES {
            "is longer than 100 characters"
        } else if !name.bytes().all(is_known) {
            "may only contain letters, digits, `-`, `_` and `.`"
        } else if name.starts_with('.') || name.ends_with('.') {
            "begins or ends with a dot"
        } else if is_device(name) {
            "is reserved on Windows"
        } else {
            return Ok(Self { directory: directory.to_owned(), name: name.to_owned() });
        };
        let shown: String = name.chars().take(limits::COLLECTION_NAME_BYTES).collect();
        Err(StoreError::Invalid(format!("invalid collection name {shown:?}: it {reason}; choose another")))
    }

    /// The name of the collection for messages.
    pub(super) fn shown(&self) -> String {
        format!("collection `{}` in {}", self.name, self.directory.display())
    }

    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    fn place(&self) -> PrivatePlace {
        PrivatePlace::at(&self.directory).join(&self.name)
    }

    fn io(&self, error: impl Into<io::Error>) -> StoreError {
        StoreError::Invalid(format!("{}: {}", self.path().display(), error.into()))
    }

    /// Opens the directory of the collection. Returns `None` if it does not exist.
    pub(super) fn open(&self) -> Result<Option<PrivateDirectory>, StoreError> {
        let Some(home) = PrivatePlace::at(&self.directory).open().map_err(|error| self.io(error))? else {
            return Ok(None);
        };
        match home.entry(&self.name) {
            None => return Ok(None),
            // This is e.g. a symbolic link. Opening it below returns the exact error.
            Some(entry) if !entry.is_directory && !entry.is_file => {}
            Some(entry) if !entry.is_directory => return Err(self.foreign(&self.path())),
            Some(_) => {}
        }
        self.place().open().map_err(|error| self.io(error))
    }

    /// Checks that no other user could have created or changed a file of the collection.
    pub(super) fn check_files(&self, directory: &PrivateDirectory) -> Result<(), StoreError> {
        directory.check_all(|_| limits::SEGMENT_FILE_BYTES).map_err(|error| self.io(error))
    }

    /// Creates the directory and its parents if they do not exist.
    pub(super) fn create(&self) -> Result<(), StoreError> {
        self.place().create().map(drop).map_err(|error| self.io(error))
    }

    /// Excludes other writers. We keep the lock file outside of the collection because a lock on a removed
    /// file has no effect.
    pub(super) fn lock(&self) -> Result<Lock, StoreError> {
        let home = PrivatePlace::at(&self.directory).create().map_err(|error| self.io(error))?;
        let file = home.open_or_create(format!(".{}.lock", self.name)).map_err(|error| self.io(error))?;
        Lock::take(file).map_err(|error| match error {
            LockError::Io(error) => self.io(error),
            LockError::Held(number) => {
                let process =
                    number.map_or("another process".to_owned(), |number| format!("process {number}"));
                let place = self.shown();
                StoreError::Locked(format!("{process} is writing {place}: try again when it has finished"))
            }
        })
    }

    /// Removes the collection. Returns false if it does not exist. Nothing is removed if its directory
    /// contains other files.
    pub(super) fn remove(&self) -> Result<bool, StoreError> {
        let Some(home) = PrivatePlace::at(&self.directory).open().map_err(|error| self.io(error))? else {
            return Ok(false);
        };
        if home.entry(&self.name).is_some_and(|entry| !entry.is_directory) {
            return Err(self.foreign(&self.path()));
        }
        let Some(directory) = home.directory(&self.name).map_err(|error| self.io(error))? else {
            return Ok(false);
        };
        let entries = directory.entries().map_err(|error| self.io(error))?;
        let is_own = |name: &std::ffi::OsStr| name.to_str().is_some_and(Files::is_own);
        if let Some(foreign) = entries.iter().find(|entry| !is_own(&entry.name)) {
            return Err(self.foreign(&self.path().join(&foreign.name)));
        }
        // We remove the manifest first: without it there is no collection, even if the removal is
        // interrupted.
        let (manifests, rest): (Vec<_>, Vec<_>) = entries
            .iter()
            .partition(|entry| entry.name.to_str().is_some_and(|name| name.starts_with("manifest")));
        for entry in manifests.into_iter().chain(rest) {
            directory.remove_all(&entry.name).map_err(|error| self.io(error))?;
        }
        // Windows can't remove an open directory.
        drop(directory);
        home.remove_empty(&self.name).map_err(|error| self.io(error))?;
        Ok(!entries.is_empty())
    }

    fn foreign(&self, path: &Path) -> StoreError {
        StoreError::Invalid(format!(
            "{} is not a Forage collection: {} was not created by Forage; choose another directory or name",
            self.path().display(),
            path.display()
        ))
    }
}

/// Returns true if Windows opens a device with this name in any directory.
fn is_device(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let is_numbered = |kind: &str| {
        stem.strip_prefix(kind)
            .is_some_and(|digit| digit.len() == 1 && digit.bytes().all(|it| it.is_ascii_digit()))
    };
    ["con", "prn", "aux", "nul"].contains(&&*stem) || is_numbered("com") || is_numbered("lpt")
}
