//! Files in which a commit, the index and the working tree differ, with renames.

mod conversion;
mod trees;
mod working_tree;

pub use trees::StoredEntry;

use std::rc::Rc;

use forage_fs::{Contents, ReadBuffer, RelPath};

use crate::error::RevisionError;
use crate::id::ObjectId;
use crate::limits;
use crate::renames::{RenameSearch, RenameSide};
use crate::repository::Repository;
use crate::tree::FileMode;

/// The two states to compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The working tree with a commit, as `git diff REV` does, plus untracked files. `working tree` means
    /// `HEAD`, unless a branch or a tag has that name.
    WorkingTree(String),
    /// A commit with the common ancestor of two, as `git diff A...B` does.
    MergeBase(String, String),
    /// Two commits, as `git diff A..B` does.
    Commits(String, String),
}

impl Comparison {
    /// Parses `A...B`, `A..B`, a revision, or `working tree`. If one side of a range is missing, it is
    /// `HEAD`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let or_head = |text: &str| if text.is_empty() { "HEAD" } else { text.trim() }.to_owned();
        if let Some((one, other)) = text.split_once("...") {
            return Self::MergeBase(or_head(one), or_head(other));
        }
        if let Some((one, other)) = text.split_once("..") {
            return Self::Commits(or_head(one), or_head(other));
        }
        Self::WorkingTree(or_head(text))
    }
}

/// Returns true for a text that means the working tree if no branch or tag has this name.
fn is_working_tree(text: &str) -> bool {
    ["working tree", "working-tree", "worktree"].iter().any(|name| text.eq_ignore_ascii_case(name))
}

/// How a file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// Its content or its mode has changed.
    Modified,
    /// Its type has changed, for example from a file to a link.
    TypeChanged,
    /// It was deleted.
    Deleted,
    /// It has another path, and possibly other content.
    Renamed,
    /// It is in the working tree, but git does not know it.
    Untracked,
    /// A merge left it with a conflict.
    Conflicted,
}

impl ChangeKind {
    /// The letter that git uses for it.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::TypeChanged => 'T',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::Untracked => '?',
            Self::Conflicted => 'U',
        }
    }
}

/// One side of a changed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// The mode.
    pub mode: FileMode,
    /// The content; `None` for a file of the working tree that was not read.
    pub id: Option<ObjectId>,
}

impl FileVersion {
    /// The content of a submodule as git compares it: a line with its commit. `None` for any other file.
    #[must_use]
    pub fn submodule_line(&self) -> Option<String> {
        let id = self.id.filter(|_| self.mode == FileMode::Submodule)?;
        Some(format!("Subproject commit {id}\n"))
    }
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// How it has changed.
    pub kind: ChangeKind,
    /// Its path; the new one if it was renamed.
    pub path: Vec<u8>,
    /// The previous path of a renamed file.
    pub old_path: Option<Vec<u8>>,
    /// The unchanged share of a renamed file, in percent.
    pub similarity: Option<u8>,
    /// The file before the change.
    pub before: Option<FileVersion>,
    /// The file after the change.
    pub after: Option<FileVersion>,
}

impl FileChange {
    fn new(path: Vec<u8>, before: Option<FileVersion>, after: Option<FileVersion>) -> Option<Self> {
        let kind = match (before, after) {
            (None, None) => return None,
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(one), Some(other)) if one == other => return None,
            (Some(one), Some(other)) if one.mode.is_regular() != other.mode.is_regular() => {
                ChangeKind::TypeChanged
            }
            (Some(one), Some(other)) if !one.mode.is_regular() && one.mode != other.mode => {
                ChangeKind::TypeChanged
            }
            _ => ChangeKind::Modified,
        };
        Some(Self { kind, path, old_path: None, similarity: None, before, after })
    }
}

/// The files in which two states of a project differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeSet {
    /// In byte order of their paths, with untracked files last.
    pub files: Vec<FileChange>,
    /// The commit that is compared. For a commit without parents, this is the commit itself.
    pub before: ObjectId,
    /// The commit it is compared with; `None` for the working tree.
    pub after: Option<ObjectId>,
    /// False if there were too many pairs, or too little time, to find all renames of edited files, or if a
    /// file could not be read, e.g. because it is too large.
    pub has_all_renames: bool,
    /// False if there are more untracked files than these.
    pub has_all_untracked: bool,
}

impl Repository {
    /// Finds the changed files, with renames as `git diff -M` finds them.
    ///
    /// # Errors
    ///
    /// Fails if a revision names no commit, or an object or the index can't be read. Also fails if there are
    /// too many changes, or if the call had to end.
    pub fn changes(&mut self, comparison: &Comparison) -> Result<ChangeSet, RevisionError> {
        let (before, after) = match comparison {
            Comparison::WorkingTree(revision) => match self.resolve(revision) {
                Err(RevisionError::Unknown(_)) if is_working_tree(revision) => (self.resolve("HEAD")?, None),
                found => (found?, None),
            },
            Comparison::Commits(one, other) => (self.resolve(one)?, Some(self.resolve(other)?)),
            Comparison::MergeBase(one, other) => {
                let (left, right) = (self.resolve(one)?, self.resolve(other)?);
                let base = self.merge_base(&left, &right)?;
                let none = || RevisionError::NoMergeBase(one.clone(), other.clone());
                (base.ok_or_else(none)?, Some(right))
            }
        };
        let tree = self.commit(&before)?.tree;
        let (mut files, untracked, has_all_untracked) = match after {
            Some(after) => {
                let after = self.commit(&after)?.tree;
                (self.compare_trees(Some(tree), Some(after), &[])?, Vec::new(), true)
            }
            None => self.compare_working_tree(tree)?,
        };
        // As in `git diff`, an untracked file is never the target of a rename.
        let has_all_renames = self.find_renames(&mut files);
        files.extend(untracked);
        Ok(ChangeSet { files, before, after, has_all_renames, has_all_untracked })
    }

    /// Joins each pair of a deleted and an added file that is a rename. Returns false if not all could be
    /// found.
    pub(crate) fn find_renames(&mut self, files: &mut Vec<FileChange>) -> bool {
        let of_kind = |kind: ChangeKind| -> Vec<usize> {
            (0..files.len()).filter(|&number| files[number].kind == kind).collect()
        };
        let (deleted, added) = (of_kind(ChangeKind::Deleted), of_kind(ChangeKind::Added));
        if deleted.is_empty() || added.is_empty() {
            return true;
        }
        let side = |number: &usize| {
            let file = &files[*number];
            let version = file.after.or(file.before);
            let mode = version.map_or(FileMode::Submodule, |version| version.mode);
            RenameSide { path: &file.path, mode, id: version.and_then(|version| version.id) }
        };
        let before: Vec<RenameSide<'_>> = deleted.iter().map(side).collect();
        let after: Vec<RenameSide<'_>> = added.iter().map(side).collect();
        let stop = self.stop().within(limits::RENAME_TIME);
        let mut is_unread = false;
        let mut read = |is_added: bool, number: usize| {
            let side = if is_added { &after[number] } else { &before[number] };
            let content = self.read_version(side.path, side.id);
            is_unread |= content.is_none() && !self.is_secret(side.path);
            content
        };
        let (found, is_whole) = RenameSearch::new(&before, &after, &mut read, &stop).run();
        let mut is_gone = vec![false; files.len()];
        for rename in found {
            let (from, to) = (deleted[rename.before], added[rename.after]);
            is_gone[from] = true;
            let (old_path, before) = (files[from].path.clone(), files[from].before);
            let similarity = Some(rename.similarity);
            let file = &mut files[to];
            file.kind = ChangeKind::Renamed;
            (file.old_path, file.before, file.similarity) = (Some(old_path), before, similarity);
        }
        let mut gone = is_gone.into_iter();
        files.retain(|_| !gone.next().unwrap_or(false));
        is_whole && !is_unread
    }

    /// Returns true for a file that may hold secrets, so that we must not read it.
    pub(crate) fn is_secret(&self, path: &[u8]) -> bool {
        RelPath::from_bytes(path, &RelPath::root())
            .map_or(true, |path| self.root().secrets().denies(&path).is_some())
    }

    /// Reads a version of a file by its id. If the repository does not have the object, the working tree may
    /// have it, because a modified file is stored nowhere else. Without an id, this reads the file of the
    /// working tree. Returns `None` for a file that can't or must not be read.
    pub fn read_version(&mut self, path: &[u8], id: Option<ObjectId>) -> Option<Rc<[u8]>> {
        if self.is_secret(path) {
            return None;
        }
        let place = RelPath::from_bytes(path, &RelPath::root()).ok()?;
        if let Some(id) = id
            && let Ok(bytes) = self.blob(&id)
        {
            return Some(bytes);
        }
        let mut buffer = ReadBuffer::default();
        let directory = self.root().look_into(&place.parent()?).ok()?;
        match directory.open(place.file_name()).ok()?.read_into(&mut buffer, limits::OBJECT_BYTES) {
            // In a partial clone, an older version may be missing. The file must not replace it.
            Ok(Contents::Whole) if id.is_none() || id == working_tree::blob_id(&buffer, self.id_bytes()) => {
                Some(Rc::from(&buffer[..]))
            }
            _ => None,
        }
    }
}

impl From<forage_fs::OpenError> for RevisionError {
    fn from(error: forage_fs::OpenError) -> Self {
        Self::Unreadable(crate::error::HistoryError::Unreadable(error.to_string()))
    }
}
