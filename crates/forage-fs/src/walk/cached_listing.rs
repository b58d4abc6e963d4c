//! Directories as they were listed, cached until something in them changes.

use std::sync::Arc;

use super::list::SharedDirectory;
use super::worktree::git_info;
use crate::file::StateReliability;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::skipped::Skipped;
use crate::state::{FileState, nanoseconds_now};
use crate::sys;

/// A rule file.
#[derive(Clone, Debug)]
pub(super) struct RulesFile {
    /// True if git stores it elsewhere ([`git_info`]).
    pub(super) is_gits: bool,
    pub(super) name: Box<[u8]>,
    pub(super) state: FileState,
    /// How reliably the state reflects changes after the file was read.
    pub(super) reliability: StateReliability,
}

impl RulesFile {
    /// Returns true if the file should be read again because its state has become reliable only now.
    pub(super) fn has_settled(&self, now: i64) -> bool {
        self.reliability == StateReliability::NotYet && !self.state.may_hide_a_change(now)
    }
}

/// A directory as it was listed.
#[derive(Debug)]
pub(super) struct CachedListing {
    pub(super) path: RelPath,
    /// The inherited rules and labels with which it was listed.
    pub(super) place: Arc<SharedDirectory>,
    pub(super) watches: Vec<i32>,
    /// The state in which it was read.
    pub(super) state: Option<FileState>,
    pub(super) rules: Vec<RulesFile>,
    /// Counts, except for links.
    pub(super) skipped: Skipped,
    pub(super) pruned: Vec<String>,
    pub(super) links: Vec<RelPath>,
    /// In the order of a walk.
    pub(super) parts: Vec<ListingPart>,
    /// True if a walk reports more about it than is cached here.
    pub(super) is_odd: bool,
}

#[derive(Debug)]
pub(super) enum ListingPart {
    /// A batch of files.
    Files(Arc<[CachedFile]>),
    Directory(Arc<CachedListing>),
}

#[derive(Debug)]
pub(super) struct CachedFile {
    pub(super) name: Box<[u8]>,
    pub(super) hidden_by: Option<Arc<str>>,
    /// `None` if its changes may go unnoticed.
    pub(super) state: Option<FileState>,
}

impl CachedListing {
    /// Returns true if a walk that starts here finds the same as one from above.
    pub(super) fn is_start(&self) -> bool {
        // A walk that starts in another worktree would not leave it out.
        let is_left_out = || {
            self.parts.is_empty()
                && self.pruned.iter().any(|name| *name == String::from_utf8_lossy(self.path.file_name()))
        };
        self.place.hidden_by.is_none() && !is_left_out()
    }

    /// Compares the directory and its files with the states in which they were listed. Returns `None` if
    /// nothing has changed, and otherwise true if the rules may have changed.
    pub(super) fn outdated(&self, root: &Root) -> Option<bool> {
        let device = root.device_with_states()?;
        let Ok(directory) = sys::open_directory(root.handle(), &self.path) else { return Some(true) };
        let now = nanoseconds_now();
        let rules_are_the_same = self.rules.iter().all(|rules| {
            let place = rules.is_gits.then(|| git_info(&directory)).transpose();
            !rules.has_settled(now)
                && place.is_ok_and(|place| {
                    let state = sys::state(place.as_ref().unwrap_or(&directory), &rules.name, device);
                    state == Some(rules.state)
                })
        });
        if !rules_are_the_same {
            return Some(true);
        }
        let files = self.parts.iter().flat_map(|part| match part {
            ListingPart::Files(files) => &**files,
            ListingPart::Directory(_) => &[],
        });
        let mut known = files.filter(|file| file.state.is_some());
        let is_same = sys::directory_state(&directory, device) == self.state
            && known.all(|file| file.state == sys::state(&directory, &file.name, device));
        (!is_same).then_some(false)
    }

    pub(super) fn directories(&self) -> impl Iterator<Item = &Arc<CachedListing>> {
        self.parts.iter().filter_map(|part| match part {
            ListingPart::Directory(directory) => Some(directory),
            ListingPart::Files(_) => None,
        })
    }

    /// Returns true if a listing can represent everything that a walk reports about it. It must not have more
    /// than `links` links, which we must look up in every call.
    pub(super) fn is_plain(&self, links: &mut usize) -> bool {
        match links.checked_sub(self.links.len()) {
            Some(left) if !self.is_odd => {
                *links = left;
                self.directories().all(|directory| directory.is_plain(links))
            }
            _ => false,
        }
    }

    /// Creates a copy with the subdirectories replaced, in the same order.
    pub(super) fn with(&self, directories: Vec<Arc<CachedListing>>) -> Self {
        let mut directories = directories.into_iter();
        let part = |part: &ListingPart| match part {
            ListingPart::Files(files) => Some(ListingPart::Files(Arc::clone(files))),
            ListingPart::Directory(_) => directories.next().map(ListingPart::Directory),
        };
        Self {
            path: self.path.clone(),
            place: Arc::clone(&self.place),
            watches: self.watches.clone(),
            state: self.state,
            rules: self.rules.clone(),
            skipped: self.skipped,
            pruned: self.pruned.clone(),
            links: self.links.clone(),
            parts: self.parts.iter().filter_map(part).collect(),
            is_odd: self.is_odd,
        }
    }

    /// Creates the entry for a directory that can't be listed, or about which something must be reported.
    pub(super) fn odd(path: RelPath, place: Arc<SharedDirectory>, watches: Vec<i32>) -> Self {
        Self {
            path,
            place,
            watches,
            state: None,
            rules: Vec::new(),
            skipped: Skipped::default(),
            pruned: Vec::new(),
            links: Vec::new(),
            parts: Vec::new(),
            is_odd: true,
        }
    }
}
