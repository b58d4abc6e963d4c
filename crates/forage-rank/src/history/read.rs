//! Reads the commits of a root.

use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Instant;

use forage_base::Stop;
use forage_fs::{RelPath, Root, display_path};
use forage_git::{CommitObject, HistoryError, ObjectError, ObjectId, Repository};
use hashbrown::{HashMap, HashSet};

use super::{CommitContents, History, HistoryBuilder, KnownCommit, message_words};
use crate::limits;

/// A commit in the queue. The newest one comes first, and among equal times the greatest id, so that the
/// order is unique.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NextCommit {
    time: i64,
    id: ObjectId,
}

/// The parts of a commit that the walk needs.
struct WalkedCommit {
    time: i64,
    parents: Vec<ObjectId>,
    content: CommitContent,
}

/// Where the rest of a commit can be found.
enum CommitContent {
    /// Among the known commits, at this index.
    Known(usize),
    /// Read during this call.
    Read(CommitObject),
}

/// Reads the history of the checked-out commit as far as time permits, without reading commits in `known`
/// again. Returns `None` if `known` already is that history. We only include files `below` a directory of the
/// root, with paths relative to that directory.
///
/// # Errors
///
/// Returns an error if there is no history.
pub(crate) fn read(
    root: &Arc<Root>,
    below: &RelPath,
    known: &History,
    stop: &Stop,
) -> Result<Option<History>, HistoryError> {
    let state = Repository::state_of(root)?;
    if known.is_whole && known.state == Some(state) {
        // Objects that could not be read before may exist now.
        if known.unread == 0 || known.packs == Repository::packs_of(root)? {
            return Ok(None);
        }
    }
    let now = Instant::now();
    let left = stop.deadline().map(|deadline| deadline.saturating_duration_since(now) / limits::HISTORY_PART);
    let stop = stop.within(left.unwrap_or(limits::HISTORY_TIME).min(limits::HISTORY_TIME));
    let mut repository = Repository::open(root, &stop)?;
    // If the clone has another shallow boundary, the same commits have other parents, so we can't reuse them.
    let is_known = known.state.is_some_and(|known| known.ends == repository.state().ends);
    let commits = known.commits.iter().enumerate().filter(|_| is_known);
    let places = commits.map(|(index, commit)| (commit.id, index)).collect();
    let mut walk = CommitWalk { repository: &mut repository, below, known, places };
    Ok(Some(walk.run()))
}

struct CommitWalk<'a> {
    repository: &'a mut Repository,
    below: &'a RelPath,
    known: &'a History,
    places: HashMap<ObjectId, usize>,
}

impl CommitWalk<'_> {
    fn run(&mut self) -> History {
        let state = self.repository.state();
        let mut builder = HistoryBuilder::default();
        builder.history.state = Some(state);
        let mut queue = CommitQueue::default();
        let result = self.enqueue(state.head, &mut queue).and_then(|()| self.walk(&mut queue, &mut builder));
        builder.history.is_whole = result.is_ok();
        if result.is_err() {
            // The previously known commits should be used until the next call continues.
            let pushed: HashSet<ObjectId> = builder.history.commits.iter().map(|commit| commit.id).collect();
            let others = self.known.commits.iter().filter(|commit| !pushed.contains(&commit.id));
            for commit in others.take(limits::WALKED_COMMITS) {
                let contents = self.known.contents(commit);
                builder.push(commit.id, commit.time, commit.parents.clone(), &contents);
            }
        }
        builder.history.unread += queue.unread;
        builder.history.packs = if builder.history.unread > 0 { self.repository.packs() } else { 0 };
        builder.finish()
    }

    /// Visits commits, newest first, until we have enough, none are left, or we run out of time.
    fn walk(&mut self, queue: &mut CommitQueue, builder: &mut HistoryBuilder) -> Result<(), OutOfTime> {
        let max = self.most_used(builder)?;
        let (mut walked, mut used) = (0, 0);
        while let Some((id, commit)) = queue.pop() {
            if walked == limits::WALKED_COMMITS || used == max {
                break;
            }
            walked += 1;
            for parent in &commit.parents {
                self.enqueue(*parent, queue)?;
            }
            used += usize::from(self.push(builder, id, commit)?);
        }
        Ok(())
    }

    /// Computes the maximum number of commits to use. This must only depend on the tree of the checked-out
    /// commit, and neither on the content of the index nor on earlier reads.
    fn most_used(&mut self, builder: &mut HistoryBuilder) -> Result<usize, OutOfTime> {
        let (least, max) = limits::COMMITS.into_inner();
        let head = self.repository.head();
        // Without this commit, there is nothing that we could use.
        let Ok(commit) = self.repository.commit(&head) else {
            return Ok(max);
        };
        match self.repository.count_files(&commit, max.div_ceil(limits::COMMITS_PER_FILE)) {
            Ok(files) => Ok((files * limits::COMMITS_PER_FILE).clamp(least, max)),
            Err(ObjectError::Stopped) => Err(OutOfTime),
            // We count it because it may be readable next time.
            Err(_) => {
                builder.history.unread += 1;
                Ok(max)
            }
        }
    }

    /// Adds a commit to the queue once.
    fn enqueue(&mut self, id: ObjectId, queue: &mut CommitQueue) -> Result<(), OutOfTime> {
        if !queue.met.insert(id) {
            return Ok(());
        }
        let commit = match self.places.get(&id) {
            Some(&index) => {
                let KnownCommit { time, parents, .. } = &self.known.commits[index];
                WalkedCommit { time: *time, parents: parents.clone(), content: CommitContent::Known(index) }
            }
            None => match self.repository.commit(&id) {
                Ok(commit) => WalkedCommit {
                    time: commit.time,
                    parents: commit.parents.clone(),
                    content: CommitContent::Read(commit),
                },
                Err(ObjectError::Stopped) => return Err(OutOfTime),
                Err(_) => {
                    queue.unread += 1;
                    return Ok(());
                }
            },
        };
        queue.next.push(NextCommit { time: commit.time, id });
        queue.commits.insert(id, commit);
        Ok(())
    }

    /// Adds a commit and returns true if its message is used.
    fn push(
        &mut self,
        builder: &mut HistoryBuilder,
        id: ObjectId,
        commit: WalkedCommit,
    ) -> Result<bool, OutOfTime> {
        let WalkedCommit { time, parents, content } = commit;
        let commit = match content {
            CommitContent::Known(index) => {
                let contents = self.known.contents(&self.known.commits[index]);
                builder.push(id, time, parents, &contents);
                return Ok(!contents.files.is_empty());
            }
            CommitContent::Read(commit) => commit,
        };
        // The commits that a merge joins already describe its changes, so we don't use the merge itself.
        let files = match parents.len() {
            0 | 1 => self.repository.changed_files(&commit, limits::COMMIT_FILES),
            _ => Ok(None),
        };
        let files = match files {
            Ok(files) => files.unwrap_or_default(),
            Err(ObjectError::Stopped) => return Err(OutOfTime),
            // We count it because it may be readable next time.
            Err(_) => {
                builder.history.unread += 1;
                return Ok(false);
            }
        };
        let below = |path: &Vec<u8>| {
            let path = RelPath::from_bytes(path, &RelPath::root()).ok()?;
            path.starts_with(self.below).then(|| display_path(path.below(self.below)).into_owned())
        };
        let files: Vec<String> = files.iter().filter_map(below).collect();
        let words = if files.is_empty() { HashMap::new() } else { message_words(&commit.message) };
        let contents = CommitContents {
            files: files.iter().map(String::as_str).collect(),
            words: words.iter().map(|(word, count)| (word.as_str(), *count)).collect(),
        };
        builder.push(id, time, parents, &contents);
        Ok(!contents.files.is_empty())
    }
}

/// The error for running out of time before everything was read.
struct OutOfTime;

/// The queue of commits to visit.
#[derive(Default)]
struct CommitQueue {
    next: BinaryHeap<NextCommit>,
    commits: HashMap<ObjectId, WalkedCommit>,
    met: HashSet<ObjectId>,
    unread: u32,
}

impl CommitQueue {
    fn pop(&mut self) -> Option<(ObjectId, WalkedCommit)> {
        let NextCommit { id, .. } = self.next.pop()?;
        Some((id, self.commits.remove(&id)?))
    }
}
