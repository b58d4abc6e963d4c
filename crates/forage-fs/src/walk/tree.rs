//! A listed tree that is updated from the kernel's change events.
//!
//! A directory is watched before it is read, and file states are read after that, so every change is either
//! seen or reported later. A directory with any event is read again as a whole. Its subdirectories are kept
//! unless there was an event for their names or for a rule file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::sync::Arc;

use super::WalkOptions;
use super::cached_listing::{CachedFile, CachedListing, ListingPart, RulesFile};
use super::entry::FoundEntry;
use super::frontier::{TaskOutput, WalkTask};
use super::list::{ListPlan, ListWork, NameBuffer, SharedDirectory};
use super::listing::FileListing;
use super::worktree::git_info;
use crate::file::{OpenedFile, StateReliability};
use crate::ignore_rules::{RuleBudget, decides};
use crate::limits;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::skipped::SkipReason;
use crate::state::FileState;
use crate::sys::{self, Directory, WatchChange, Watcher};
use forage_base::Stop;

/// Adds the directories whose listing contains the state of one of these files, which are given by inode.
fn mark_containing(
    kept: &CachedListing,
    files: &HashSet<u64>,
    pending: &mut BTreeMap<RelPath, PendingChanges>,
) {
    if kept.rules.iter().any(|rules| files.contains(&rules.state.inode)) {
        pending.entry(kept.path.clone()).or_default().rules = true;
    }
    let is_one = |file: &CachedFile| file.state.is_some_and(|state| files.contains(&state.inode));
    for part in &kept.parts {
        match part {
            ListingPart::Directory(directory) => mark_containing(directory, files, pending),
            ListingPart::Files(batch) if batch.iter().any(is_one) => {
                pending.entry(kept.path.clone()).or_default();
            }
            ListingPart::Files(_) => {}
        }
    }
}

/// Returns the opened directory if it exists. If it can't be opened for watching, this must be an error: we
/// could not rely on it.
fn existing(opened: io::Result<Directory>) -> io::Result<Option<Directory>> {
    match opened {
        Ok(directory) => Ok(Some(directory)),
        Err(error) if sys::is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn too_many() -> io::Error {
    io::Error::other("the tree is too large, or too much of it has changed")
}

/// The role of a watched directory.
#[derive(Debug)]
enum WatchRole {
    /// A directory that is listed.
    Listed(RelPath),
    /// A directory of git that contains, or may contain in the future, a rule file for the listed directory.
    /// Only this name in it matters.
    Git(RelPath, &'static [u8]),
}

impl WatchRole {
    fn path(&self) -> &RelPath {
        match self {
            Self::Listed(path) | Self::Git(path, _) => path,
        }
    }

    fn is_root(&self) -> bool {
        matches!(self, Self::Listed(path) if path.is_root())
    }
}

/// Pending changes of a directory.
#[derive(Debug, Default)]
struct PendingChanges {
    /// True if the rules in it and below may have changed.
    rules: bool,
    /// Names that now refer to other entries.
    renamed: HashSet<Box<[u8]>>,
}

/// The watched directories of a tree.
#[derive(Debug)]
struct Watches {
    watcher: Watcher,
    roles: HashMap<i32, WatchRole>,
}

impl Watches {
    /// Stops watching a directory, unless its number now belongs to another one.
    fn forget(&mut self, number: i32, path: &RelPath) {
        if self.roles.get(&number).is_some_and(|role| role.path() == path) {
            self.roles.remove(&number);
            self.watcher.remove(number);
        }
    }
}

/// A watched tree.
#[derive(Debug)]
pub(super) struct RuleTree {
    root: Arc<Root>,
    options: WalkOptions,
    watches: Watches,
    budget: Arc<RuleBudget>,
    pending: BTreeMap<RelPath, PendingChanges>,
    top: Arc<CachedListing>,
    listing: Option<Arc<FileListing>>,
}

impl RuleTree {
    /// Lists and watches a tree of at most `directories` directories.
    ///
    /// # Errors
    ///
    /// Fails if the tree can't be watched.
    pub(super) fn new(
        root: &Arc<Root>,
        options: &WalkOptions,
        directories: usize,
        stop: &Stop,
    ) -> io::Result<Self> {
        let mut watches = Watches { watcher: Watcher::new()?, roles: HashMap::new() };
        let budget = Arc::new(RuleBudget::new(stop));
        let plan = ListPlan::with_budget(root, options, &budget);
        let mut lister = Lister {
            root,
            options,
            watches: &mut watches,
            plan: &plan,
            stop,
            directories,
            entries: limits::LISTED_ENTRIES,
            linked: HashSet::new(),
        };
        let top = lister.list(&RelPath::root(), &plan.place(), None)?;
        let top = lister.without_linked(top)?;
        // Listing a directory again charges its rules again, so there must be room for this.
        if budget.is_half_used() {
            return Err(too_many());
        }
        let (root, options) = (Arc::clone(root), options.clone());
        Ok(Self { root, options, watches, budget, pending: BTreeMap::new(), top, listing: None })
    }

    /// Brings the listing up to date. Returns `None` if a walk has to report more than a listing contains.
    ///
    /// # Errors
    ///
    /// Fails if the changes are unknown, or too many to be processed in a short time.
    pub(super) fn listing(&mut self, stop: &Stop) -> io::Result<Option<Arc<FileListing>>> {
        self.process_events()?;
        if !self.pending.is_empty() {
            let pending = std::mem::take(&mut self.pending);
            let plan = ListPlan::with_budget(&self.root, &self.options, &self.budget);
            let (root, options, watches) = (&self.root, &self.options, &mut self.watches);
            let (directories, entries) = limits::LISTED_AGAIN;
            let linked = HashSet::new();
            let mut lister =
                Lister { root, options, watches, plan: &plan, stop, directories, entries, linked };
            let top = lister.renew(&self.top, &pending)?;
            self.top = lister.without_linked(top)?;
            self.listing = None;
        }
        if self.listing.as_ref().is_none_or(|listing| !listing.links_are_the_same()) {
            let mut links = limits::LISTED_LINKS;
            let is_plain = self.top.is_plain(&mut links);
            self.listing = is_plain.then(|| FileListing::new(&self.root, &self.top)).flatten().map(Arc::new);
        }
        Ok(self.listing.clone())
    }

    /// Marks directories to be listed again. The flag must be true if their rules may have changed.
    pub(super) fn mark_suspect(&mut self, directories: Vec<(RelPath, bool)>) {
        for (directory, rules) in directories {
            self.pending.entry(directory).or_default().rules |= rules;
        }
    }

    /// Processes the kernel's events.
    fn process_events(&mut self) -> io::Result<()> {
        let Watches { watcher, roles } = &mut self.watches;
        let (pending, no_ignore) = (&mut self.pending, self.options.no_ignore);
        // Rules are compiled repeatedly, so we lose track of their total number.
        let mut lost = self.budget.is_half_used();
        watcher.drain(|number, change| match (change, roles.get(&number)) {
            (WatchChange::Unwatched, role) => {
                lost |= role.is_some_and(WatchRole::is_root);
                roles.remove(&number);
            }
            // The directory is gone, or its number now belongs to another one.
            (_, None) => {}
            // The event of the directory above is sufficient, except for the root.
            (WatchChange::Itself, Some(role)) => lost |= role.is_root(),
            (WatchChange::Name { name, .. }, Some(WatchRole::Git(path, file))) => {
                if name == *file {
                    pending.entry(path.clone()).or_default().rules = true;
                }
            }
            (WatchChange::Name { name, is_another }, Some(WatchRole::Listed(path))) => {
                let pending = pending.entry(path.clone()).or_default();
                pending.rules |= !no_ignore && decides(name);
                if is_another {
                    pending.renamed.insert(name.into());
                }
            }
        })?;
        if lost { Err(io::Error::other("change events were lost")) } else { Ok(()) }
    }
}

/// The listing of a directory before its pending changes.
#[derive(Clone, Copy)]
struct EarlierListing<'a> {
    kept: &'a Arc<CachedListing>,
    /// The pending changes of all directories.
    pending: &'a BTreeMap<RelPath, PendingChanges>,
    /// Those of this directory.
    here: &'a PendingChanges,
}

/// Lists directories for a tree.
struct Lister<'a> {
    root: &'a Arc<Root>,
    options: &'a WalkOptions,
    watches: &'a mut Watches,
    plan: &'a ListPlan<'a>,
    stop: &'a Stop,
    /// The remaining numbers of directories and of entries that may be listed.
    directories: usize,
    entries: usize,
    /// Inodes of files that were found to have more than one name.
    linked: HashSet<u64>,
}

impl<'a> Lister<'a> {
    /// Applies the pending changes of a directory and its descendants.
    fn renew(
        &mut self,
        kept: &Arc<CachedListing>,
        pending: &BTreeMap<RelPath, PendingChanges>,
    ) -> io::Result<Arc<CachedListing>> {
        let is_below = |(path, _): (&RelPath, &PendingChanges)| path.starts_with(&kept.path);
        if !pending.range(&kept.path..).next().is_some_and(is_below) {
            return Ok(Arc::clone(kept));
        }
        if let Some(here) = pending.get(&kept.path) {
            return self.list(&kept.path, &kept.place, Some(EarlierListing { kept, pending, here }));
        }
        let renewed = kept.directories().map(|directory| self.renew(directory, pending));
        Ok(Arc::new(kept.with(renewed.collect::<io::Result<_>>()?)))
    }

    /// Removes the states of files that turned out to have another name.
    fn without_linked(&mut self, top: Arc<CachedListing>) -> io::Result<Arc<CachedListing>> {
        let mut pending = BTreeMap::new();
        if !self.linked.is_empty() {
            mark_containing(&top, &self.linked, &mut pending);
        }
        // If one of the names was removed meanwhile, the remaining one is reported normally.
        if pending.is_empty() { Ok(top) } else { self.renew(&top, &pending) }
    }

    /// Lists a directory and its descendants, except for those in `before` without pending changes.
    fn list(
        &mut self,
        path: &RelPath,
        place: &Arc<SharedDirectory>,
        before: Option<EarlierListing<'_>>,
    ) -> io::Result<Arc<CachedListing>> {
        self.directories = self.directories.checked_sub(1).ok_or_else(too_many)?;
        if self.stop.check().is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let mut same = before.map(|before| self.same_directories(before)).unwrap_or_default();
        let Ok(directory) = sys::open_directory(self.root.handle(), path) else {
            same.values().for_each(|directory| self.forget(directory));
            return Ok(Arc::new(CachedListing::odd(path.clone(), Arc::clone(place), Vec::new())));
        };
        let device = sys::identity(&directory).map(|(device, _)| device);
        if device.is_none() || device != self.root.device_with_states() {
            return Err(io::Error::other("a directory is on another file system"));
        }
        let state = device.and_then(|device| sys::directory_state(&directory, device));
        let mut rules = Vec::new();
        let watches = self.watch(path, &directory, &mut rules)?;
        if let Some(EarlierListing { kept, here, .. }) = before {
            for number in kept.watches.iter().filter(|number| !watches.contains(number)) {
                self.watches.forget(*number, path);
            }
            // Even names that are left out may be new names of files that are not.
            for name in &here.renamed {
                self.note_link(&directory, name);
            }
        }
        let done = self.list_names(path, place, &directory, &mut rules)?;
        let parts = self.parts(done.tasks, directory, before, &mut same)?;
        same.values().for_each(|directory| self.forget(directory));
        let reported =
            [SkipReason::Unreadable, SkipReason::TooDeep].iter().any(|reason| done.skipped.get(*reason) > 0);
        Ok(Arc::new(CachedListing {
            path: path.clone(),
            place: Arc::clone(place),
            watches,
            is_odd: reported
                || !done.warnings.is_empty()
                || rules.iter().any(|rules| {
                    self.linked.contains(&rules.state.inode) || rules.reliability == StateReliability::Never
                }),
            state,
            rules,
            skipped: done.skipped.without(SkipReason::OutsideRoot).without(SkipReason::Symlink),
            pruned: done.pruned,
            links: done.links,
            parts,
        }))
    }

    /// Returns the subdirectories that need not be listed again, and forgets the watches of the others. A
    /// directory that is listed again must also be watched again, because its name may now refer to another
    /// directory.
    fn same_directories<'k>(
        &mut self,
        before: EarlierListing<'k>,
    ) -> HashMap<&'k RelPath, &'k Arc<CachedListing>> {
        let EarlierListing { kept, here, .. } = before;
        let mut same = HashMap::new();
        for directory in kept.directories() {
            if here.rules || kept.is_odd || here.renamed.contains(directory.path.file_name()) {
                self.forget(directory);
            } else {
                same.insert(&directory.path, directory);
            }
        }
        same
    }

    /// Lists the names in a directory. Adds the states of its rule files to `rules`.
    fn list_names(
        &mut self,
        path: &RelPath,
        place: &Arc<SharedDirectory>,
        directory: &Directory,
        rules: &mut Vec<RulesFile>,
    ) -> io::Result<TaskOutput<(), ListWork<'a>>> {
        let mut done = TaskOutput::default();
        match sys::list(directory) {
            Ok(nodes) => {
                self.entries = self.entries.checked_sub(nodes.len()).ok_or_else(too_many)?;
                for node in nodes.iter().filter(|node| !self.options.no_ignore && decides(&node.name)) {
                    rules.extend(self.rules(false, directory, &node.name));
                }
                let names = NameBuffer { nodes, before: None };
                self.plan.list_nodes(path, place, names, directory, self.stop, &mut done);
            }
            Err(_) => done.skipped.add(SkipReason::Unreadable),
        }
        if done.stopped.is_some() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(done)
    }

    /// Reads the states of a directory's files, and lists its subdirectories. Takes those that need not be
    /// listed again out of `same`.
    fn parts(
        &mut self,
        tasks: Vec<WalkTask<ListWork<'_>>>,
        directory: Directory,
        before: Option<EarlierListing<'_>>,
        same: &mut HashMap<&RelPath, &Arc<CachedListing>>,
    ) -> io::Result<Vec<ListingPart>> {
        let tasks = tasks.into_iter().map(|task| match task.work {
            ListWork::Visit(batch) => Ok(ListingPart::Files(self.files(&directory, batch.found()))),
            ListWork::List(below, place) => Err((below, place)),
        });
        let tasks: Vec<Result<ListingPart, _>> = tasks.collect();
        // A tree may be deeper than the number of files that a process may open.
        drop(directory);
        let mut parts = Vec::with_capacity(tasks.len());
        for task in tasks {
            parts.push(match task {
                Ok(files) => files,
                Err((below, place)) => ListingPart::Directory(match (same.remove(&below), before) {
                    (Some(kept), Some(EarlierListing { pending, .. })) => self.renew(kept, pending)?,
                    _ => self.list(&below, &place, None)?,
                }),
            });
        }
        Ok(parts)
    }

    fn files(&mut self, directory: &Directory, files: impl Iterator<Item = FoundEntry>) -> Arc<[CachedFile]> {
        let file = |found: FoundEntry| CachedFile {
            state: self.state(directory, &found.path),
            name: found.path.file_name().into(),
            hidden_by: found.hidden_by,
        };
        files.map(file).collect()
    }

    fn state(&mut self, directory: &Directory, path: &RelPath) -> Option<FileState> {
        let (state, has_other_names) = self.note_link(directory, path.file_name())?;
        // An index must not contain files that may not be read.
        let is_known = !has_other_names && self.root.secrets().denies(path).is_none();
        is_known.then_some(state)
    }

    /// Queries the state of a file. The second value is true if the file has other names: changes through
    /// those are not reported for this one.
    fn note_link(&mut self, directory: &Directory, name: &[u8]) -> Option<(FileState, bool)> {
        let (state, has_other_names) =
            sys::state_and_links(directory, name, self.root.device_with_states()?)?;
        if has_other_names {
            self.linked.insert(state.inode);
        }
        Some((state, has_other_names))
    }

    fn rules(&mut self, is_gits: bool, directory: &Directory, name: &[u8]) -> Option<RulesFile> {
        self.note_link(directory, name)?;
        // We must take the state before we read the rules.
        let (state, reliability) =
            sys::open_leaf(directory, name).and_then(OpenedFile::new).ok()??.stable_state()?;
        Some(RulesFile { is_gits, name: name.into(), state, reliability })
    }

    /// Watches a directory and, if git stores rules for it elsewhere, those directories too.
    fn watch(
        &mut self,
        path: &RelPath,
        directory: &Directory,
        rules: &mut Vec<RulesFile>,
    ) -> io::Result<Vec<i32>> {
        let mut watches = vec![self.add(directory, WatchRole::Listed(path.clone()))?];
        if self.options.no_ignore {
            return Ok(watches);
        }
        if let Some(git) = existing(sys::open_child(directory, b".git"))? {
            watches.push(self.add(&git, WatchRole::Git(path.clone(), b"info"))?);
        }
        if let Some(info) = existing(git_info(directory))? {
            watches.push(self.add(&info, WatchRole::Git(path.clone(), b"exclude"))?);
            rules.extend(self.rules(true, &info, b"exclude"));
        }
        Ok(watches)
    }

    fn add(&mut self, directory: &Directory, role: WatchRole) -> io::Result<i32> {
        let number = self.watches.watcher.add(directory)?;
        self.watches.roles.insert(number, role);
        Ok(number)
    }

    /// Stops watching a directory and its descendants, unless they were moved.
    fn forget(&mut self, kept: &CachedListing) {
        for number in &kept.watches {
            self.watches.forget(*number, &kept.path);
        }
        kept.directories().for_each(|directory| self.forget(directory));
    }
}
