//! Systems without a reliable way to watch directories for changes.

use std::convert::Infallible;
use std::io;

use super::{Directory, WatchChange};

#[derive(Debug)]
pub(crate) struct Watcher(Infallible);

impl Watcher {
    pub(crate) fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn add(&self, _: &Directory) -> io::Result<i32> {
        match self.0 {}
    }

    pub(crate) fn remove(&self, _: i32) {
        match self.0 {}
    }

    pub(crate) fn drain(&self, _: impl FnMut(i32, WatchChange<'_>)) -> io::Result<()> {
        match self.0 {}
    }
}

pub(crate) fn max_watches() -> usize {
    0
}

#[derive(Debug)]
pub(crate) struct MountTable(Infallible);

impl MountTable {
    pub(crate) fn open() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn has_below(&self, _: &[u8]) -> io::Result<bool> {
        match self.0 {}
    }

    pub(crate) fn has_changed(&self) -> bool {
        match self.0 {}
    }
}
