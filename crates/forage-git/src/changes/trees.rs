//! Files in which two trees differ.

use std::rc::Rc;

use super::{FileChange, FileVersion};
use crate::error::ObjectError;
use crate::id::ObjectId;
use crate::limits;
use crate::pack::ObjectKind;
use crate::repository::Repository;
use crate::tree::{FileMode, TreeEntries, TreeEntry, TreeEntryKind, below, differences};

/// Returns true if a path is one of `paths` or below one of them. For a directory, one of them may also be
/// below it. Without `paths`, this is true for every path.
fn is_on_the_way(path: &[u8], paths: &[Vec<u8>], is_directory: bool) -> bool {
    let is_below = |path: &[u8], directory: &[u8]| {
        path.strip_prefix(directory).is_some_and(|rest| rest.first().is_none_or(|&byte| byte == b'/'))
    };
    paths.is_empty() || paths.iter().any(|it| is_below(path, it) || is_directory && is_below(it, path))
}

/// The version of a file in a tree, or `None` for a directory.
fn version(entry: TreeEntry<'_>) -> Option<FileVersion> {
    match entry.kind {
        TreeEntryKind::Directory => None,
        TreeEntryKind::File(mode) => Some(FileVersion { mode, id: Some(entry.id) }),
    }
}

impl Repository {
    /// Finds the files in which two trees differ, in byte order of their paths. With `paths`, we compare only
    /// these files and directories.
    pub(crate) fn compare_trees(
        &mut self,
        before: Option<ObjectId>,
        after: Option<ObjectId>,
        paths: &[Vec<u8>],
    ) -> Result<Vec<FileChange>, ObjectError> {
        let mut found: Vec<FileChange> = Vec::new();
        let mut open = vec![(Vec::new(), 0, before, after)];
        let mut trees = 0;
        while let Some((path, depth, before, after)) = open.pop() {
            let either = after.or(before).unwrap_or(self.head());
            trees += 1;
            if trees > limits::COMPARED_TREES
                || depth > limits::TREE_DEPTH
                || found.len() > limits::CHANGED_FILES
            {
                return Err(ObjectError::TooLarge(either));
            }
            let (one, other) = (self.tree(before)?, self.tree(after)?);
            let differences =
                differences(&one, &other, self.id_bytes()).ok_or(ObjectError::Damaged(either))?;
            for difference in differences {
                let Some(entry) = difference.after.or(difference.before) else { continue };
                let path = below(&path, entry.name).ok_or(ObjectError::Damaged(either))?;
                let tree = |entry: Option<TreeEntry<'_>>| {
                    entry.filter(|entry| entry.kind == TreeEntryKind::Directory).map(|entry| entry.id)
                };
                let (before, after) = (tree(difference.before), tree(difference.after));
                if !is_on_the_way(&path, paths, before.is_some() || after.is_some()) {
                    continue;
                }
                if before.is_some() || after.is_some() {
                    open.push((path, depth + 1, before, after));
                } else {
                    let [before, after] =
                        [difference.before, difference.after].map(|it| it.and_then(version));
                    found.extend(FileChange::new(path, before, after));
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    /// Reads a tree. Without an id, the tree is empty.
    pub(crate) fn tree(&mut self, id: Option<ObjectId>) -> Result<Rc<[u8]>, ObjectError> {
        match id {
            Some(id) => self.object(&id, ObjectKind::Tree),
            None => Ok(Rc::from([])),
        }
    }

    /// Calls `give` for the files of a tree, and `enter` for its directories, which are entered if it returns
    /// true. Both get whole paths, in arbitrary order.
    pub(crate) fn for_each_file(
        &mut self,
        tree: ObjectId,
        start: &[u8],
        enter: &mut dyn FnMut(&[u8], ObjectId) -> bool,
        give: &mut dyn FnMut(Vec<u8>, FileVersion),
    ) -> Result<(), ObjectError> {
        let mut open = vec![(start.to_vec(), 0, tree)];
        let (mut trees, mut files) = (0, 0);
        while let Some((path, depth, tree)) = open.pop() {
            trees += 1;
            if trees > limits::COMPARED_TREES || depth > limits::TREE_DEPTH {
                return Err(ObjectError::TooLarge(tree));
            }
            let bytes = self.tree(Some(tree))?;
            for entry in TreeEntries::new(&bytes, self.id_bytes()) {
                let entry = entry.ok_or(ObjectError::Damaged(tree))?;
                let path = below(&path, entry.name).ok_or(ObjectError::Damaged(tree))?;
                match version(entry) {
                    Some(version) => {
                        files += 1;
                        if files > limits::GIT_INDEX_FILES {
                            return Err(ObjectError::TooLarge(tree));
                        }
                        give(path, version);
                    }
                    None if enter(&path, entry.id) => open.push((path, depth + 1, entry.id)),
                    None => {}
                }
            }
        }
        Ok(())
    }
}

/// An entry of a commit's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoredEntry {
    /// A directory.
    Directory,
    /// A file, a link or a submodule, with its content.
    File(FileMode, ObjectId),
}

impl Repository {
    /// Looks up the entry of a commit at a path. Returns `None` if it does not exist. The empty path is the
    /// top.
    ///
    /// # Errors
    ///
    /// Fails if an object can't be read, or if the call had to end.
    pub fn entry(&mut self, commit: &ObjectId, path: &[u8]) -> Result<Option<StoredEntry>, ObjectError> {
        Ok(self.find(commit, path)?.map(|(kind, id)| match kind {
            TreeEntryKind::Directory => StoredEntry::Directory,
            TreeEntryKind::File(mode) => StoredEntry::File(mode, id),
        }))
    }

    /// Lists the files of a commit below a directory: their paths, modes and contents, in arbitrary order.
    ///
    /// # Errors
    ///
    /// Fails if an object can't be read, if there are too many files, or if the call had to end.
    pub fn files_below(
        &mut self,
        commit: &ObjectId,
        directory: &[u8],
    ) -> Result<Vec<(Vec<u8>, FileMode, ObjectId)>, ObjectError> {
        let Some((TreeEntryKind::Directory, tree)) = self.find(commit, directory)? else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        self.for_each_file(tree, directory, &mut |_, _| true, &mut |path, version| {
            files.extend(version.id.map(|id| (path, version.mode, id)));
        })?;
        Ok(files)
    }

    fn find(
        &mut self,
        commit: &ObjectId,
        path: &[u8],
    ) -> Result<Option<(TreeEntryKind, ObjectId)>, ObjectError> {
        let tree = self.commit(commit)?.tree;
        self.find_in(tree, path)
    }

    /// Looks up the entry of a tree at a path.
    pub(crate) fn find_in(
        &mut self,
        tree: ObjectId,
        path: &[u8],
    ) -> Result<Option<(TreeEntryKind, ObjectId)>, ObjectError> {
        let mut at = (TreeEntryKind::Directory, tree);
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            if at.0 != TreeEntryKind::Directory {
                return Ok(None);
            }
            let bytes = self.tree(Some(at.1))?;
            let mut next = None;
            for entry in TreeEntries::new(&bytes, self.id_bytes()) {
                let entry = entry.ok_or(ObjectError::Damaged(at.1))?;
                if entry.name == name {
                    next = Some((entry.kind, entry.id));
                    break;
                }
            }
            let Some(next) = next else { return Ok(None) };
            at = next;
        }
        Ok(Some(at))
    }
}
