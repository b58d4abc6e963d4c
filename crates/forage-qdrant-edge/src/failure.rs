//! What goes wrong on the way to a [`StoreError`].

use std::io;
use std::path::Path;

use forage_base::{Stop, Stopped};
use forage_lookup::StoreError;

/// An error, and whether the engine can still be trusted with what it has in memory.
#[derive(Debug)]
pub(crate) struct EdgeFailure {
    pub(crate) error: StoreError,
    /// It can't: the collection must be opened again.
    pub(crate) is_lost: bool,
}

impl From<StoreError> for EdgeFailure {
    fn from(error: StoreError) -> Self {
        Self { error, is_lost: false }
    }
}

/// Names the file.
pub(crate) fn of_file(path: &Path) -> impl Fn(io::Error) -> StoreError {
    move |error| StoreError::Invalid(format!("{}: {error}", path.display()))
}

/// An error if the time is up.
pub(crate) fn check(stop: &Stop, place: &str) -> Result<(), StoreError> {
    match stop.check() {
        None => Ok(()),
        Some(Stopped::Cancelled) => Err(StoreError::Cancelled),
        Some(Stopped::Deadline) => {
            Err(StoreError::Timeout(format!("{place} was not asked: the time for it was up")))
        }
    }
}
