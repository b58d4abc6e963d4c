//! Objects and parents that a repository replaces with others (`git replace`, and the older `info/grafts`).

use std::collections::BTreeMap;

use forage_fs::{RelPath, Root};

use crate::config::GitConfig;
use crate::id::ObjectId;
use crate::limits;
use crate::refs;
use crate::repository::read_small;

/// The replacements of a repository. Objects keep their ids, and only their content is another one.
#[derive(Debug, Default)]
pub(crate) struct Substitutes {
    /// The object to read for each replaced one.
    objects: BTreeMap<ObjectId, ObjectId>,
    /// The parents of commits, in place of those that they name.
    parents: BTreeMap<ObjectId, Vec<ObjectId>>,
}

impl Substitutes {
    /// Reads the replacements. A list that can't be read has none.
    pub(crate) fn read(root: &Root, git: &RelPath) -> Self {
        let mut objects = refs::replacements(root, git);
        if !objects.is_empty() && !GitConfig::read(root, git).replaces_objects() {
            objects.clear();
        }
        let grafts = git.join(b"info").join(b"grafts");
        let grafts = read_small(root, &grafts, limits::SHALLOW_BYTES).unwrap_or_default();
        Self { objects, parents: parents_in(&grafts) }
    }

    /// Returns the object to read for an id.
    pub(crate) fn object(&self, id: &ObjectId) -> ObjectId {
        let next = |id: &ObjectId| self.objects.get(id).copied();
        std::iter::successors(Some(*id), next).take(limits::REPLACEMENTS).last().unwrap_or(*id)
    }

    /// Returns the parents of a commit if they are not those that it names.
    pub(crate) fn parents(&self, id: &ObjectId) -> Option<&[ObjectId]> {
        self.parents.get(id).map(Vec::as_slice)
    }

    /// Iterates over all ids, in a fixed order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &ObjectId> {
        let objects = self.objects.iter().flat_map(|(id, other)| [id, other]);
        objects.chain(self.parents.iter().flat_map(|(id, parents)| std::iter::once(id).chain(parents)))
    }
}

/// Parses lines with the id of a commit and those of its parents.
fn parents_in(list: &[u8]) -> BTreeMap<ObjectId, Vec<ObjectId>> {
    let commit = |line: &[u8]| {
        let mut ids = line.split(|&byte| byte == b' ').map_while(ObjectId::from_hex);
        Some((ids.next()?, ids.take(limits::PARENTS).collect::<Vec<_>>()))
    };
    list.split(|&byte| byte == b'\n').filter_map(commit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_any_list_has_commits_with_parents() {
        let list = format!("# comment\n{0} {1} {1}\n{1}\n", "1".repeat(40), "2".repeat(40));
        let found = parents_in(list.as_bytes());
        assert_eq!(found.values().map(Vec::len).collect::<Vec<_>>(), [2, 0]);
        forage_fuzz::target!(&forage_fuzz::seeds([list]), |list| {
            assert!(parents_in(list).values().all(|parents| parents.len() <= limits::PARENTS));
        });
    }
}
