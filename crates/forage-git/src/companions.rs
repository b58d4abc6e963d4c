//! Files that commits usually change together with others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use hashbrown::{HashMap, HashSet};

use crate::error::ObjectError;
use crate::id::ObjectId;
use crate::limits;
use crate::repository::Repository;

/// For each given file: the number of its commits, and for other files, how many of these changed them too.
type CompanionCounts<'a> = HashMap<&'a [u8], (usize, HashMap<Vec<u8>, usize>)>;

/// A file that usually changes together with one of the given files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// The file.
    pub path: Vec<u8>,
    /// The given file that it changes with.
    pub with: Vec<u8>,
    /// Number of commits that changed both.
    pub both: usize,
    /// Number of commits that changed the given file.
    pub commits: usize,
}

impl Repository {
    /// Finds files outside of `paths` that at least half of the recent commits to one of `paths` have changed
    /// too. At least [`limits::COMPANION_TIMES`] commits must have changed both. Those that changed together
    /// most often come first. We ignore commits with very many files, because these files need not be
    /// related. `from` is the newest commit that counts.
    ///
    /// # Errors
    ///
    /// Fails if the newest commit can't be read. If time runs out, this only counts fewer commits.
    pub fn companions(
        &mut self,
        from: &ObjectId,
        paths: &std::collections::HashSet<&[u8]>,
    ) -> Result<Vec<Companion>, ObjectError> {
        let mut counts: CompanionCounts<'_> = HashMap::new();
        let mut queue = BinaryHeap::from([(self.commit(from)?.time, Reverse(*from))]);
        let mut met: HashSet<ObjectId> = std::iter::once(*from).collect();
        let mut read = 0;
        while let Some((_, Reverse(id))) = queue.pop() {
            read += 1;
            let Ok(commit) = self.commit(&id) else { continue };
            for parent in &commit.parents {
                if met.insert(*parent)
                    && let Ok(above) = self.commit(parent)
                {
                    queue.push((above.time, Reverse(*parent)));
                }
            }
            // A merge repeats the changes of its commits, so we must not count it.
            if commit.parents.len() < 2 {
                match self.changed_files(&commit, limits::COMPANION_FILES) {
                    Ok(Some(files)) => count(&files, paths, &mut counts),
                    Err(ObjectError::Stopped) => break,
                    Ok(None) | Err(_) => {}
                }
            }
            if read == limits::COMPANION_COMMITS {
                break;
            }
        }
        Ok(chosen(counts))
    }
}

fn count<'a>(
    files: &[Vec<u8>],
    paths: &std::collections::HashSet<&'a [u8]>,
    counts: &mut CompanionCounts<'a>,
) {
    for given in files.iter().filter_map(|file| paths.get(file.as_slice())) {
        let (commits, others) = counts.entry(given).or_default();
        *commits += 1;
        for other in files.iter().filter(|other| !paths.contains(other.as_slice())) {
            *others.entry(other.clone()).or_default() += 1;
        }
    }
}

/// Selects each file once, with the given file that it changes with most often.
fn chosen(counts: CompanionCounts<'_>) -> Vec<Companion> {
    let mut best: HashMap<Vec<u8>, Companion> = HashMap::new();
    for (with, (commits, others)) in counts {
        for (path, both) in others {
            let is_usual = both >= limits::COMPANION_TIMES && both * 2 >= commits;
            let rank = |it: &Companion| (it.both, Reverse(it.commits), Reverse(it.with.clone()));
            let companion = Companion { path: path.clone(), with: with.to_vec(), both, commits };
            if is_usual && best.get(&path).is_none_or(|best| rank(best) < rank(&companion)) {
                best.insert(path, companion);
            }
        }
    }
    let mut found: Vec<Companion> = best.into_values().collect();
    found.sort_by(|a, b| (b.both, a.commits, &a.path).cmp(&(a.both, b.commits, &b.path)));
    found
}
