//! Commits that changed a text, lines that match, or a path, as `git log -S`, `-G` and `git log -- PATH` find
//! them.

mod definition;
mod lines;
mod walk;

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::rc::Rc;
use std::time::Instant;

use hashbrown::HashMap;

pub use definition::DefinitionQuery;
pub use lines::HistoryLine;

use crate::changes::{ChangeKind, FileChange, FileVersion};
use crate::error::ObjectError;
use crate::history::lines::{LineDiff, Signature};
use crate::history::walk::{CommitWalk, WalkedCommit};
use crate::id::ObjectId;
use crate::limits;
use crate::renames::is_binary;
use crate::repository::Repository;
use crate::tree::FileMode;

/// Finds the lines of a text that match, as ranges without their line feeds, in order.
pub type MatchLines<'a> = dyn Fn(&[u8]) -> Vec<Range<usize>> + 'a;

/// Finds the ranges of a definition in the text of a file with this path, in order.
pub type FindDefinition<'a> = dyn FnMut(&[u8], &[u8]) -> Vec<Range<usize>> + 'a;

/// Which commits a history contains.
#[derive(Clone, Copy)]
pub enum HistoryFilter<'a> {
    /// All commits, or with paths those that changed one of them.
    All,
    /// Commits that changed how often a text occurs in a file, as `git log -S` finds them.
    Text(&'a [u8]),
    /// Commits that added or removed a matching line, as `git log -G` finds them. Binary files do not count.
    Lines(&'a MatchLines<'a>),
}

impl std::fmt::Debug for HistoryFilter<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::All => "All",
            Self::Text(_) => "Text",
            Self::Lines(_) => "Lines",
        })
    }
}

/// A question to the history.
#[derive(Clone, Copy, Debug)]
pub struct HistoryQuery<'a> {
    /// The newest commit.
    pub from: ObjectId,
    /// Files and directories to look at. If this is empty, we look at all.
    pub paths: &'a [Vec<u8>],
    /// The only commits to look at, for example those of [`Repository::commits_between`]. `None` means all.
    pub within: Option<&'a BTreeSet<ObjectId>>,
    /// Maximum number of commits to look at, including merges. The history ends there.
    pub max_commits: u64,
    /// Which commits to find.
    pub filter: HistoryFilter<'a>,
    /// Number of commits that an earlier call has looked at, see [`HistoryReport::looked`].
    pub skip: u64,
    /// Maximum number of lines per file in the result.
    pub max_lines: usize,
}

/// A commit of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryCommit {
    /// Its id.
    pub id: ObjectId,
    /// The commit time, in seconds since 1970.
    pub time: i64,
    /// The message in UTF-8. Invalid bytes are replaced.
    pub message: String,
    /// The changed files that count.
    pub files: Vec<HistoryFile>,
    /// Number of commits that were looked at before it. A call that skips these begins with this commit.
    pub looked: u64,
}

/// A changed file of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryFile {
    /// The change.
    pub change: FileChange,
    /// Number of matching lines that were removed.
    pub removed: u64,
    /// Number of matching lines that were added.
    pub added: u64,
    /// The first of these lines.
    pub lines: Vec<HistoryLine>,
}

/// Why a history ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryEnd {
    /// There are no more commits.
    Whole,
    /// The caller has enough.
    Enough,
    /// The call had to end.
    Stopped,
    /// A limit for one call was reached.
    Limit,
}

/// The progress of a call, and what it could not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryReport {
    /// Why it ended.
    pub end: HistoryEnd,
    /// Number of commits that this call and those before have looked at.
    pub looked: u64,
    /// The last one of them, with its time. `None` if this call has looked at no further commit.
    pub oldest: Option<(ObjectId, i64)>,
    /// True if a commit changed one of the paths. Otherwise they are in none of the commits.
    pub has_paths: bool,
    /// True if the repository is a shallow clone, and the history reached its end.
    pub is_shallow: bool,
    /// Number of commits with a parent that could not be read. The history ends there.
    pub broken: u64,
    /// Number of versions of files that could not be read, e.g. because they are too large.
    pub unread: u64,
    /// The files that may hold secrets. They were not read.
    pub secret: BTreeSet<Vec<u8>>,
    /// Number of commits with too many or too large files to find all renames.
    pub without_renames: u64,
    /// A commit that took most of the time of this call and was not finished. It was left out.
    pub left_out: Option<ObjectId>,
    /// Number of bytes of file contents that were read.
    bytes: usize,
}

impl HistoryReport {
    fn new(looked: u64) -> Self {
        Self {
            end: HistoryEnd::Whole,
            looked,
            oldest: None,
            has_paths: false,
            is_shallow: false,
            broken: 0,
            unread: 0,
            secret: BTreeSet::new(),
            without_renames: 0,
            left_out: None,
            bytes: 0,
        }
    }

    fn has_looked(&mut self, commit: (ObjectId, i64)) {
        self.looked += 1;
        self.oldest = Some(commit);
    }

    /// Ends a call that began after `skip` commits. If there was no time to get there again, the next call
    /// must not begin before.
    fn ended(mut self, end: HistoryEnd, skip: u64) -> Self {
        self.end = end;
        if self.looked <= skip {
            (self.looked, self.oldest) = (skip, None);
        }
        self
    }
}

impl Repository {
    /// Finds commits, newest first, in the order of `git log`. Merges are left out, as `git log -S` leaves
    /// them out. With paths, we follow only that parent of a merge which has the same files there, as `git
    /// log -- PATH` does.
    ///
    /// `receive` gets each commit that was found, until it breaks. The commit for which it breaks does not
    /// count as looked at, so that a caller with enough commits knows that there are more.
    ///
    /// # Errors
    ///
    /// Fails if the newest commit can't be read.
    pub fn history(
        &mut self,
        query: &HistoryQuery<'_>,
        receive: &mut dyn FnMut(HistoryCommit) -> ControlFlow<()>,
    ) -> Result<HistoryReport, ObjectError> {
        let report = HistoryReport::new(0);
        let mut walk = match CommitWalk::new(self, &query.from) {
            Err(ObjectError::Stopped) => return Ok(report.ended(HistoryEnd::Stopped, query.skip)),
            walk => walk?,
        };
        let mut search = HistorySearch { query, signatures: HashMap::new() };
        Ok(self.look_through(&mut walk, &mut search, query.skip, report, receive))
    }

    /// Goes through commits until there are no more, the caller has enough, or the call has to end.
    fn look_through(
        &mut self,
        walk: &mut CommitWalk,
        search: &mut dyn CommitSearch,
        skip: u64,
        mut report: HistoryReport,
        receive: &mut dyn FnMut(HistoryCommit) -> ControlFlow<()>,
    ) -> HistoryReport {
        let began = Instant::now();
        let end = loop {
            let (is_new, started) = (report.looked >= skip, Instant::now());
            let (commit, found) = match search.next(self, walk, is_new, &mut report) {
                Ok(Some(next)) => next,
                Ok(None) => break HistoryEnd::Whole,
                Err(_) => break HistoryEnd::Stopped,
            };
            report.is_shallow |= commit.object.is_cut_off;
            let seen = (commit.id, commit.object.time);
            if self.stop().check().is_some() || matches!(found, Err(ObjectError::Stopped)) {
                // If the commit alone took this long, the next call would also end at it. Otherwise the time
                // was spent on the way here, and a call with more time can finish it.
                let took = started.elapsed();
                let is_too_long = took >= limits::HISTORY_COMMIT_TIME && 2 * took >= began.elapsed();
                if report.looked == skip && is_too_long && !self.stop().is_cancelled() {
                    report.left_out = Some(commit.id);
                    report.has_looked(seen);
                }
                break HistoryEnd::Stopped;
            }
            report.unread += u64::from(found.is_err());
            if let Ok(Some(files)) = found
                && is_new
                && receive(commit.with_files(files, report.looked)).is_break()
            {
                break HistoryEnd::Enough;
            }
            report.has_looked(seen);
            if report.looked.saturating_sub(skip) >= limits::HISTORY_COMMITS
                || report.bytes > limits::HISTORY_BYTES
            {
                break HistoryEnd::Limit;
            }
        };
        report.ended(end, skip)
    }

    /// Reads a version of a file as git compares it; a submodule is a line with its commit.
    fn compared_content(
        &mut self,
        path: &[u8],
        version: FileVersion,
        report: &mut HistoryReport,
    ) -> Result<Option<Rc<[u8]>>, ObjectError> {
        let Some(id) = version.id else { return Ok(None) };
        if let Some(line) = version.submodule_line() {
            return Ok(Some(Rc::from(line.into_bytes())));
        }
        if self.is_secret(path) {
            report.secret.insert(path.to_vec());
            return Ok(None);
        }
        match self.blob(&id) {
            Ok(bytes) => {
                report.bytes += bytes.len();
                Ok(Some(bytes))
            }
            Err(ObjectError::Stopped) => Err(ObjectError::Stopped),
            Err(_) => {
                report.unread += 1;
                Ok(None)
            }
        }
    }
}

/// A commit, and its files that count. `None` if the commit does not count.
type ExaminedCommit = (WalkedCommit, Result<Option<Vec<HistoryFile>>, ObjectError>);

/// A search that goes through commits.
trait CommitSearch {
    /// Takes the next commit of a walk, adds the parents to follow, and finds the files that count. An
    /// earlier call has looked at a commit that is not new, so its files don't matter. This fails only if the
    /// call has to end.
    fn next(
        &mut self,
        repository: &mut Repository,
        walk: &mut CommitWalk,
        is_new: bool,
        report: &mut HistoryReport,
    ) -> Result<Option<ExaminedCommit>, ObjectError>;
}

/// The state of a search while it goes through commits.
struct HistorySearch<'a> {
    query: &'a HistoryQuery<'a>,
    /// The signatures of contents. Most contents occur in two commits, as the old and as the new version.
    signatures: HashMap<ObjectId, Signature>,
}

impl CommitSearch for HistorySearch<'_> {
    fn next(
        &mut self,
        repository: &mut Repository,
        walk: &mut CommitWalk,
        is_new: bool,
        report: &mut HistoryReport,
    ) -> Result<Option<ExaminedCommit>, ObjectError> {
        if report.looked >= self.query.max_commits {
            return Ok(None);
        }
        let next = walk.next(repository, self.query.paths, self.query.within)?;
        let Some(commit) = next else { return Ok(None) };
        report.has_paths |= !commit.is_same;
        report.broken += u64::from(commit.lacks_parent);
        let is_examined = is_new && !commit.is_merge() && !commit.object.is_cut_off && !commit.lacks_parent;
        let found = match is_examined {
            true => self.examine(repository, &commit, report),
            false => Ok(None),
        };
        Ok(Some((commit, found)))
    }
}

/// A side of a changed file: `None` if it can't be read. A file that does not exist is like an empty one.
type Side = Option<Signature>;

impl HistorySearch<'_> {
    /// Finds the files of a commit that count. Returns `None` if the commit does not count.
    fn examine(
        &mut self,
        repository: &mut Repository,
        commit: &WalkedCommit,
        report: &mut HistoryReport,
    ) -> Result<Option<Vec<HistoryFile>>, ObjectError> {
        if commit.is_same {
            return Ok(None);
        }
        let before = commit.parent_tree;
        let mut files = repository.compare_trees(before, Some(commit.object.tree), self.query.paths)?;
        if matches!(self.query.filter, HistoryFilter::All) {
            report.without_renames += u64::from(!repository.find_renames(&mut files));
            let plain = |change| HistoryFile { change, removed: 0, added: 0, lines: Vec::new() };
            return Ok(Some(files.into_iter().map(plain).collect()));
        }
        let mut sides: HashMap<(bool, Vec<u8>), Side> = HashMap::new();
        let mut is_in = [false, false];
        for file in &files {
            for (is_after, version) in [(false, file.before), (true, file.after)] {
                let Some(version) = version else { continue };
                let signature = self.signature(repository, &file.path, version, report)?;
                let is_alone = matches!(file.kind, ChangeKind::Added | ChangeKind::Deleted);
                is_in[usize::from(is_after)] |= is_alone && signature.is_some_and(|it| !it.is_empty());
                sides.insert((is_after, file.path.clone()), signature);
            }
        }
        // A file with matches may have been renamed. In most commits none was added or deleted.
        if is_in != [false, false] {
            report.without_renames += u64::from(!repository.find_renames(&mut files));
        }
        let mut found = Vec::new();
        for change in files {
            let side = |is_after: bool, path: &[u8], exists: bool| match exists {
                true => sides.get(&(is_after, path.to_vec())).copied().flatten(),
                false => Some(Signature::EMPTY),
            };
            let old_path = change.old_path.as_deref().unwrap_or(&change.path);
            let before = side(false, old_path, change.before.is_some());
            let after = side(true, &change.path, change.after.is_some());
            if let Some((before, after)) = before.zip(after)
                && let Some(file) = self.file(repository, change, (before, after), report)?
            {
                found.push(file);
            }
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Determines the signature of a version of a file. Returns `None` if we can't read it.
    fn signature(
        &mut self,
        repository: &mut Repository,
        path: &[u8],
        version: FileVersion,
        report: &mut HistoryReport,
    ) -> Result<Side, ObjectError> {
        let id = version.id.filter(|_| version.mode != FileMode::Submodule && !repository.is_secret(path));
        if let Some(known) = id.and_then(|id| self.signatures.get(&id)) {
            return Ok(Some(*known));
        }
        let Some(bytes) = repository.compared_content(path, version, report)? else { return Ok(None) };
        let signature = match self.query.filter {
            HistoryFilter::All => Signature::EMPTY,
            HistoryFilter::Text(text) => Signature::of_text(&bytes, text),
            HistoryFilter::Lines(_) if is_binary(&bytes) => Signature::Binary,
            HistoryFilter::Lines(find) => Signature::of_lines(&bytes, &find(&bytes)),
        };
        if let Some(id) = id {
            if self.signatures.len() >= limits::HISTORY_SIGNATURES {
                self.signatures.clear();
            }
            self.signatures.insert(id, signature);
        }
        Ok(Some(signature))
    }

    /// Compares both versions of a file. Returns `None` if the change does not count.
    fn file(
        &mut self,
        repository: &mut Repository,
        change: FileChange,
        (before, after): (Signature, Signature),
        report: &mut HistoryReport,
    ) -> Result<Option<HistoryFile>, ObjectError> {
        let is_of_text = matches!(self.query.filter, HistoryFilter::Text(_));
        let is_same = before == after;
        let is_without = before.is_empty() && after.is_empty();
        if is_without || is_same && (is_of_text || change.before == change.after) {
            return Ok(None);
        }
        if matches!(before, Signature::Binary) || matches!(after, Signature::Binary) {
            return Ok(None);
        }
        let old_path = change.old_path.clone().unwrap_or_else(|| change.path.clone());
        let mut texts: [Rc<[u8]>; 2] = [Rc::from([]), Rc::from([])];
        for (text, path, version) in [(0, &old_path, change.before), (1, &change.path, change.after)] {
            if let Some(version) = version {
                let bytes = repository.compared_content(path, version, report)?;
                texts[text] = bytes.unwrap_or_default();
            }
        }
        let mut file = HistoryFile { change, removed: 0, added: 0, lines: Vec::new() };
        let [one, other] = &texts;
        // A line of a binary file says nothing to a reader.
        if is_of_text && (is_binary(one) || is_binary(other)) {
            return Ok(Some(file));
        }
        let Some(diff) = LineDiff::new(one, other) else {
            report.unread += u64::from(is_same);
            return Ok((!is_same).then_some(file));
        };
        let max = self.query.max_lines;
        match self.query.filter {
            HistoryFilter::All => {}
            HistoryFilter::Text(text) => {
                // A text of several lines is in none of them, so we look for its first one.
                let first = text.split(|&byte| byte == b'\n').find(|line| !line.is_empty());
                let first = memchr::memmem::Finder::new(first.unwrap_or(text));
                diff.collect(&mut file, max, &|line| first.find(line).is_some());
            }
            HistoryFilter::Lines(find) => {
                let lines = [one, other].map(|text| find(text));
                diff.collect_ranges(&mut file, max, &lines);
            }
        }
        let has_lines = file.removed + file.added > 0;
        Ok((!is_same || has_lines).then_some(file))
    }
}
