//! Finds the best common ancestor of two commits as `git merge-base` does, and the commits between them.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use hashbrown::HashMap;

use crate::error::ObjectError;
use crate::id::ObjectId;
use crate::limits;
use crate::repository::Repository;

/// Flags of a commit. `ONE` and `OTHER` are the sides from which it can be reached. `STALE` marks an ancestor
/// of a common ancestor, and `RESULT` a common ancestor that was found.
const ONE: u8 = 1;
const OTHER: u8 = 2;
const STALE: u8 = 4;
const RESULT: u8 = 8;

impl Repository {
    /// Finds the best common ancestor of two commits. If there are several, this is the newest. Returns
    /// `None` if the commits have no common ancestor.
    ///
    /// # Errors
    ///
    /// Fails if a commit can't be read, or if the call had to end.
    pub fn merge_base(&mut self, one: &ObjectId, other: &ObjectId) -> Result<Option<ObjectId>, ObjectError> {
        if one == other {
            return Ok(Some(*one));
        }
        let mut bases = self.common(one, &[*other])?;
        if bases.len() > 1 {
            // A base that can be reached from another base is not a best one.
            let all = bases.clone();
            for base in &all {
                let others: Vec<ObjectId> = bases.iter().filter(|it| *it != base).copied().collect();
                if !others.is_empty() && self.common(base, &others)?.contains(base) {
                    bases.retain(|it| it != base);
                }
            }
        }
        let mut newest: Option<(i64, ObjectId)> = None;
        for base in bases {
            let time = self.commit(&base)?.time;
            if newest.is_none_or(|(best, _)| time > best) {
                newest = Some((time, base));
            }
        }
        Ok(newest.map(|(_, base)| base))
    }

    /// Finds the commits that can be reached from `newest` and not from `oldest`, as `git rev-list
    /// OLDEST..NEWEST` does.
    ///
    /// # Errors
    ///
    /// Fails if a commit can't be read, or if the call had to end.
    pub fn commits_between(
        &mut self,
        oldest: &ObjectId,
        newest: &ObjectId,
    ) -> Result<BTreeSet<ObjectId>, ObjectError> {
        let mut marks: HashMap<ObjectId, u8> = HashMap::new();
        let mut queue: BinaryHeap<(i64, Reverse<u64>, ObjectId)> = BinaryHeap::new();
        let mut met = 0_u64;
        for (id, mark) in [(newest, ONE), (oldest, OTHER)] {
            *marks.entry(*id).or_default() |= mark;
            queue.push((self.commit(id)?.time, Reverse(met), *id));
            met += 1;
        }
        let (mut first_time, mut left) = (i64::MAX, limits::RANGE_SLOP);
        while let Some((time, _, id)) = queue.pop() {
            let is_old = |id: &ObjectId| marks.get(id).is_some_and(|mark| mark & OTHER != 0);
            let below = if is_old(&id) { OTHER } else { ONE };
            if below == ONE {
                (first_time, left) = (first_time.min(time), limits::RANGE_SLOP);
            } else if time < first_time && queue.iter().all(|(.., id)| is_old(id)) {
                // Times may be wrong, so an old commit may still have an ancestor that counts as new.
                left -= 1;
                if left == 0 {
                    break;
                }
            }
            for parent in self.commit(&id)?.parents {
                let known = marks.entry(parent).or_default();
                if *known & below == below {
                    continue;
                }
                *known |= below;
                queue.push((self.commit(&parent)?.time, Reverse(met), parent));
                met += 1;
            }
            if met > limits::MERGE_BASE_COMMITS as u64 {
                return Err(ObjectError::TooManyCommits(limits::MERGE_BASE_COMMITS));
            }
        }
        Ok(marks.into_iter().filter(|(_, mark)| *mark == ONE).map(|(id, _)| id).collect())
    }

    /// Finds the common ancestors of a commit and some others. This leaves out ancestors of those that were
    /// found first.
    fn common(&mut self, one: &ObjectId, others: &[ObjectId]) -> Result<Vec<ObjectId>, ObjectError> {
        let mut marks: HashMap<ObjectId, u8> = HashMap::new();
        // The newest commit comes first, and among equal times the one that we met first.
        let mut queue: BinaryHeap<(i64, Reverse<u64>, ObjectId)> = BinaryHeap::new();
        let mut met = 0_u64;
        let starts = std::iter::once((one, ONE)).chain(others.iter().map(|id| (id, OTHER)));
        for (id, mark) in starts {
            *marks.entry(*id).or_default() |= mark;
            queue.push((self.commit(id)?.time, Reverse(met), *id));
            met += 1;
        }
        let mut found = Vec::new();
        let is_open = |queue: &BinaryHeap<(i64, Reverse<u64>, ObjectId)>, marks: &HashMap<ObjectId, u8>| {
            queue.iter().any(|(.., id)| marks.get(id).is_some_and(|mark| mark & STALE == 0))
        };
        // We continue after the first result, because it may turn out to be an ancestor of another one.
        while is_open(&queue, &marks) {
            let Some((_, _, id)) = queue.pop() else { break };
            let mark = marks.get(&id).copied().unwrap_or(0);
            let mut below = mark & (ONE | OTHER | STALE);
            if below & !STALE == ONE | OTHER {
                if mark & (RESULT | STALE) == 0 {
                    marks.insert(id, mark | RESULT);
                    found.push(id);
                }
                below |= STALE;
            }
            for parent in self.commit(&id)?.parents {
                let known = marks.entry(parent).or_default();
                if *known & below == below {
                    continue;
                }
                *known |= below;
                let time = self.commit(&parent)?.time;
                queue.push((time, Reverse(met), parent));
                met += 1;
            }
            if met > limits::MERGE_BASE_COMMITS as u64 {
                return Err(ObjectError::TooManyCommits(limits::MERGE_BASE_COMMITS));
            }
        }
        found.retain(|id| marks.get(id).is_some_and(|mark| mark & STALE == 0));
        Ok(found)
    }
}
