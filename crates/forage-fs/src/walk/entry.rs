//! Entries that a walk visits, and their open directories.

use std::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{EntryKind, VisitDecision, WalkStep, frontier};
use crate::file::OpenedFile;
use crate::limits;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::secrets;
use crate::skipped::{SkipReason, Skipped};
use crate::state::FileState;
use crate::sys::{self, Directory};
use forage_base::Stop;

/// An entry that a walk visits.
pub struct Entry<'a> {
    /// The path by which it was reached, relative to the root.
    pub path: RelPath,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// Why the entry would not have been visited without [`super::WalkOptions::label_hidden`].
    pub hidden_by: Option<Arc<str>>,
    /// Its number in the current [`super::FileListing`], if there is one.
    pub number: Option<u32>,
    root: &'a Root,
    /// The resolved path if the entry was reached through a link.
    real: Option<RelPath>,
    directory: &'a OnceCell<io::Result<Handle>>,
}

impl Entry<'_> {
    /// Opens the file for reading. If this is refused, the reason is counted in `skipped`.
    pub fn open(&self, skipped: &mut Skipped) -> Option<OpenedFile> {
        let real = self.real.as_ref().unwrap_or(&self.path);
        if self.root.secrets().denies(real).is_some() {
            skipped.add(SkipReason::Denied);
            return None;
        }
        let opened = match &self.real {
            Some(real) => self.root.open_resolved(real).map(Some).unwrap_or_default(),
            None => match self.parent() {
                Ok(directory) => sys::open_leaf(directory, self.path.file_name())
                    .and_then(OpenedFile::new)
                    .unwrap_or_default(),
                Err(_) => None,
            },
        };
        match &opened {
            None => skipped.add(SkipReason::Unreadable),
            // A single file can be a mount point too.
            Some(file) if self.root.kernel_file_system_of(file).is_some() => {
                skipped.add(SkipReason::KernelFileSystem);
                return None;
            }
            Some(_) => {}
        }
        opened
    }

    /// Queries the file's state without opening the file. Returns `None` if it is not a file, is unknown, or
    /// must not be read.
    pub fn state(&self) -> Option<FileState> {
        // The target of a followed link has its own path, under which it is visited too.
        if self.real.is_some() {
            return None;
        }
        if self.root.secrets().denies(&self.path).is_some() {
            return None;
        }
        sys::state(self.parent().ok()?, self.path.file_name(), self.root.device_with_states()?)
    }

    fn parent(&self) -> Result<&Directory, &io::Error> {
        let parent = || self.path.parent().unwrap_or_else(RelPath::root);
        let open = || sys::open_for_names(self.root.handle(), &parent()).map(Handle::for_one_batch);
        self.directory.get_or_init(open).as_ref().map(|handle| &handle.0.directory)
    }

    /// Reads the target of a link as it is stored. The target must not be opened.
    pub fn link_target(&self) -> Option<Vec<u8>> {
        sys::link_target(self.parent().ok()?, self.path.file_name()).ok()
    }
}

/// A file of a snapshot that has not been visited yet.
pub struct PendingFile<'a> {
    /// The bytes of its path.
    pub path: &'a [u8],
    name: &'a [u8],
    root: &'a Root,
    directory: &'a Directory,
    /// See [`crate::SecretPolicy::names_decide_in`].
    name_decides: bool,
}

impl PendingFile<'_> {
    /// Queries the file's state. Returns `None` if it is no longer a file, is unknown, or must not be read.
    pub fn state(&self) -> Option<FileState> {
        let may_be_secret = !self.name_decides || secrets::may_be_secret(self.name);
        if may_be_secret && self.root.secrets().denies_bytes(self.path).is_some() {
            return None;
        }
        sys::state(self.directory, self.name, self.root.device_with_states()?)
    }
}

/// An entry to visit.
#[derive(Debug)]
pub(super) struct FoundEntry {
    pub(super) path: RelPath,
    pub(super) kind: EntryKind,
    pub(super) real: Option<RelPath>,
    pub(super) hidden_by: Option<Arc<str>>,
    pub(super) number: Option<u32>,
}

impl FoundEntry {
    /// Creates an entry for a file that is not hidden.
    pub(super) fn file(path: RelPath) -> Self {
        Self { path, kind: EntryKind::File, real: None, hidden_by: None, number: None }
    }
}

/// Files of one directory that are visited together.
#[derive(Debug)]
pub(super) struct EntryBatch<'a> {
    path: RelPath,
    items: Vec<Item<'a>>,
    /// The directory, if it is still open.
    directory: Option<Handle>,
}

/// A directory that is kept open for its batches.
#[derive(Clone, Debug)]
struct Handle(Arc<OpenDirectory>);

#[derive(Debug)]
struct OpenDirectory {
    directory: Directory,
    /// The counter of directories that are kept open for more than one batch, including this one.
    kept: Option<Arc<AtomicUsize>>,
}

impl Drop for OpenDirectory {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Handle {
    fn for_one_batch(directory: Directory) -> Self {
        Self(Arc::new(OpenDirectory { directory, kept: None }))
    }
}

#[derive(Debug)]
pub(super) enum Item<'a> {
    Found(FoundEntry),
    /// The name of a file in a snapshot that is not hidden.
    Name(&'a [u8]),
}

impl<'a> EntryBatch<'a> {
    pub(super) fn new(path: RelPath, items: Vec<Item<'a>>) -> Self {
        Self { path, items, directory: None }
    }

    /// Iterates over the entries that are not from a snapshot.
    pub(super) fn found(self) -> impl Iterator<Item = FoundEntry> {
        self.items.into_iter().filter_map(|item| match item {
            Item::Found(found) => Some(found),
            Item::Name(_) => None,
        })
    }

    /// Removes the files of a snapshot that `dismiss` rejects.
    pub(super) fn leave_out<S, T, W>(
        &mut self,
        root: &Root,
        directory: &Directory,
        state: &mut S,
        done: &mut frontier::TaskOutput<T, W>,
        dismiss: &impl Fn(&mut S, &PendingFile<'_>) -> VisitDecision,
    ) {
        let mut path = self.path.as_bytes().to_vec();
        path.extend((!path.is_empty()).then_some(b'/'));
        let head = path.len();
        let name_decides = root.secrets().names_decide_in(self.path.as_bytes());
        self.items.retain(|item| {
            let Item::Name(name) = item else { return true };
            path.truncate(head);
            path.extend_from_slice(name);
            match dismiss(state, &PendingFile { path: &path, name, root, directory, name_decides }) {
                VisitDecision::Visit => true,
                VisitDecision::Skip(reason) => {
                    done.visited += 1;
                    reason.into_iter().for_each(|reason| done.skipped.add(reason));
                    false
                }
            }
        });
    }

    /// Visits the files, except for those of a snapshot that `dismiss` rejects. If the results weigh too much
    /// for one task, this returns the rest.
    pub(super) fn visit<S, T, W>(
        mut self,
        root: &Root,
        state: &mut S,
        stop: &Stop,
        done: &mut frontier::TaskOutput<T, W>,
        dismiss: &impl Fn(&mut S, &PendingFile<'_>) -> VisitDecision,
        visit: &impl Fn(&mut S, &Entry<'_>, &mut Skipped) -> WalkStep<T>,
    ) -> Option<Self> {
        let directory = self.directory.take().map_or_else(OnceCell::new, |open| OnceCell::from(Ok(open)));
        if self.items.iter().any(|item| matches!(item, Item::Name(_))) {
            let open = || sys::open_for_names(root.handle(), &self.path).map(Handle::for_one_batch);
            if let Ok(open) = directory.get_or_init(open) {
                self.leave_out(root, &open.0.directory, state, done, dismiss);
            }
        }
        let path = self.path;
        let mut items = self.items.into_iter();
        let mut found = items.by_ref().map(|item| match item {
            Item::Found(found) => found,
            Item::Name(name) => FoundEntry::file(path.join(name)),
        });
        visit_in(root, &directory, &mut found, stop, done, |entry, skipped| visit(state, entry, skipped));
        let items: Vec<Item<'a>> = items.collect();
        let directory = directory.into_inner().and_then(Result::ok);
        (!items.is_empty() && done.stopped.is_none()).then_some(Self { path, items, directory })
    }

    /// Returns the position of the batch in the order of the walk.
    pub(super) fn key(&self) -> Option<frontier::Key> {
        let first = match self.items.first()? {
            Item::Found(found) => found.path.clone(),
            Item::Name(name) => self.path.join(name),
        };
        Some((first, false))
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }
}

/// Keeps a directory open for its batches: for the first one if it `is_next`, and for the others unless too
/// many directories are already open. This can happen in a deep tree.
pub(super) fn hand_out(
    directory: Directory,
    mut batches: Vec<&mut EntryBatch<'_>>,
    is_next: bool,
    kept: &Arc<AtomicUsize>,
) {
    if batches.len() > usize::from(is_next) {
        if kept.fetch_add(1, Ordering::Relaxed) < limits::WALK_KEPT_OPEN {
            let handle = Handle(Arc::new(OpenDirectory { directory, kept: Some(Arc::clone(kept)) }));
            batches.iter_mut().for_each(|batch| batch.directory = Some(handle.clone()));
            return;
        }
        kept.fetch_sub(1, Ordering::Relaxed);
    }
    if let Some(batch) = batches.first_mut().filter(|_| is_next) {
        batch.directory = Some(Handle::for_one_batch(directory));
    }
}

/// Visits files of one directory in sequence, until the results weigh too much for one task.
pub(super) fn visit_all<T, W>(
    root: &Root,
    batch: &mut impl Iterator<Item = FoundEntry>,
    stop: &Stop,
    done: &mut frontier::TaskOutput<T, W>,
    visit: impl FnMut(&Entry<'_>, &mut Skipped) -> WalkStep<T>,
) {
    visit_in(root, &OnceCell::new(), batch, stop, done, visit);
}

/// Like [`visit_all`], with a directory that may already be open.
fn visit_in<T, W>(
    root: &Root,
    directory: &OnceCell<io::Result<Handle>>,
    batch: &mut impl Iterator<Item = FoundEntry>,
    stop: &Stop,
    done: &mut frontier::TaskOutput<T, W>,
    mut visit: impl FnMut(&Entry<'_>, &mut Skipped) -> WalkStep<T>,
) {
    if let Some(stopped) = stop.check() {
        done.stopped = Some(stopped);
        return;
    }
    while done.weight < limits::WALK_TASK_BYTES
        && let Some(FoundEntry { path, kind, real, hidden_by, number }) = batch.next()
    {
        let entry = Entry { path, kind, hidden_by, number, root, real, directory };
        let unreadable = done.skipped.get(SkipReason::Unreadable);
        let step = visit(&entry, &mut done.skipped);
        let is_unreadable = done.skipped.get(SkipReason::Unreadable) > unreadable;
        if is_unreadable {
            done.unreadable.push(root.why_unreadable(&entry.path));
        }
        // We check after each file and not before it: the visit itself may have been cut short. Later results
        // must not follow it as if it were complete.
        done.stopped = stop.check();
        // A file without a result may not have been searched completely.
        let was_visited = done.stopped.is_none() || matches!(step, WalkStep::Item(..));
        let is_counted = kind == EntryKind::File && was_visited;
        done.visited += u64::from(is_counted);
        done.visited_unreadable += u64::from(is_counted && is_unreadable);
        if let WalkStep::Item(item, weight) = step {
            done.items.push(item);
            done.weight += weight;
        }
        if done.stopped.is_some() {
            return;
        }
    }
}
