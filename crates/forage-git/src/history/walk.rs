//! Walks commits in the order of `git log`.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use hashbrown::{HashMap, HashSet};

use super::{HistoryCommit, HistoryFile};
use crate::commit::CommitObject;
use crate::error::ObjectError;
use crate::id::ObjectId;
use crate::repository::Repository;

/// A commit of a walk.
pub(super) struct WalkedCommit {
    pub(super) id: ObjectId,
    pub(super) object: CommitObject,
    /// The tree of its first parent.
    pub(super) parent_tree: Option<ObjectId>,
    /// True if a parent can't be read, so that we don't know what the commit changed.
    pub(super) lacks_parent: bool,
    /// True if it has the same files as its first parent at the paths of the walk.
    pub(super) is_same: bool,
}

impl WalkedCommit {
    pub(super) fn is_merge(&self) -> bool {
        self.object.parents.len() > 1
    }

    pub(super) fn with_files(self, files: Vec<HistoryFile>, looked: u64) -> HistoryCommit {
        let Self { id, object, .. } = self;
        HistoryCommit { id, time: object.time, message: object.message, files, looked }
    }
}

/// The commits that are known, but were not visited yet. The newest one comes first, and among those of the
/// same time the one that we met first.
pub(super) struct CommitWalk {
    queue: BinaryHeap<(i64, Reverse<u64>, ObjectId)>,
    objects: HashMap<ObjectId, CommitObject>,
    met: HashSet<ObjectId>,
}

impl CommitWalk {
    pub(super) fn new(repository: &mut Repository, from: &ObjectId) -> Result<Self, ObjectError> {
        let mut walk = Self { queue: BinaryHeap::new(), objects: HashMap::new(), met: HashSet::new() };
        walk.add(repository, from)?;
        Ok(walk)
    }

    /// Adds a commit unless it is known.
    pub(super) fn add(&mut self, repository: &mut Repository, id: &ObjectId) -> Result<(), ObjectError> {
        if self.met.contains(id) {
            return Ok(());
        }
        let object = repository.commit(id)?;
        self.met.insert(*id);
        self.queue.push((object.time, Reverse(self.met.len() as u64), *id));
        self.objects.insert(*id, object);
        Ok(())
    }

    /// Takes the next commit without adding its parents.
    pub(super) fn pop(&mut self) -> Option<WalkedCommit> {
        let (.., id) = self.queue.pop()?;
        let object = self.objects.remove(&id)?;
        Some(WalkedCommit { id, object, parent_tree: None, lacks_parent: false, is_same: false })
    }

    /// Visits the next commit. This fails only if the call has to end. With `paths`, only one parent of a
    /// merge is followed if it has the same files there (`git log` calls this history simplification). With
    /// `within`, only parents in this set are followed.
    pub(super) fn next(
        &mut self,
        repository: &mut Repository,
        paths: &[Vec<u8>],
        within: Option<&BTreeSet<ObjectId>>,
    ) -> Result<Option<WalkedCommit>, ObjectError> {
        let Some(mut commit) = self.pop() else { return Ok(None) };
        let mut parents = commit.object.parents.clone();
        for (number, parent) in parents.iter().enumerate() {
            let tree = match repository.tree_of(parent) {
                Err(ObjectError::Stopped) => return Err(ObjectError::Stopped),
                tree => tree.ok(),
            };
            commit.lacks_parent |= tree.is_none() && !commit.object.is_cut_off;
            if number == 0 {
                commit.parent_tree = tree;
            }
            if let Some(tree) = tree
                && !paths.is_empty()
                && known(repository.is_same_at(tree, commit.object.tree, paths))?
            {
                commit.is_same = true;
                parents = vec![*parent];
                break;
            }
        }
        // Files of a first commit are new; if it has none of these paths, nothing has changed.
        if parents.is_empty() && !paths.is_empty() {
            commit.is_same = !known(repository.has_any(commit.object.tree, paths))?;
        }
        for parent in parents.iter().filter(|parent| within.is_none_or(|within| within.contains(*parent))) {
            // A commit that can't be read ends this line of the history.
            if let Err(ObjectError::Stopped) = self.add(repository, parent) {
                return Err(ObjectError::Stopped);
            }
        }
        Ok(Some(commit))
    }
}

/// Treats a tree that can't be read as a different one.
fn known(found: Result<bool, ObjectError>) -> Result<bool, ObjectError> {
    match found {
        Err(ObjectError::Stopped) => Err(ObjectError::Stopped),
        found => Ok(found.unwrap_or(false)),
    }
}

impl Repository {
    /// Returns true if two trees have the same entries at these paths.
    pub(super) fn is_same_at(
        &mut self,
        one: ObjectId,
        other: ObjectId,
        paths: &[Vec<u8>],
    ) -> Result<bool, ObjectError> {
        if one == other {
            return Ok(true);
        }
        for path in paths {
            if self.find_in(one, path)? != self.find_in(other, path)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_any(&mut self, tree: ObjectId, paths: &[Vec<u8>]) -> Result<bool, ObjectError> {
        for path in paths {
            if self.find_in(tree, path)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
