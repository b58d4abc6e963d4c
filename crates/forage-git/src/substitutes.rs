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
        let parents = grafts.split(|&byte| byte == b'\n').filter_map(|line| {
            let mut ids = line.split(|&byte| byte == b' ').map_while(ObjectId::from_hex);
            Some((ids.next()?, ids.take(limits::PARENTS).collect::<Vec<_>>()))
        });
        Self { objects, parents: parents.collect() }
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
