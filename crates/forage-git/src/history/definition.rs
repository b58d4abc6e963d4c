//! Commits that changed a definition, as `git log -L` finds them, but by its name in each version.

use std::ops::ControlFlow;
use std::rc::Rc;

use hashbrown::HashMap;

use super::lines::LineDiff;
use super::walk::{CommitWalk, WalkedCommit};
use super::{
    CommitSearch, ExaminedCommit, FindDefinition, HistoryCommit, HistoryEnd, HistoryFile, HistoryReport,
};
use crate::changes::{ChangeKind, FileChange, FileVersion};
use crate::error::ObjectError;
use crate::id::ObjectId;
use crate::limits;
use crate::repository::Repository;
use crate::tree::TreeEntryKind;

/// A question to the history of a definition.
#[derive(Clone, Copy, Debug)]
pub struct DefinitionQuery<'a> {
    /// The newest commit.
    pub from: ObjectId,
    /// The file that contains the definition there.
    pub path: &'a [u8],
    /// Number of commits that an earlier call has looked at, see [`HistoryReport::looked`].
    pub skip: u64,
    /// Maximum number of lines per commit in the result.
    pub max_lines: usize,
}

/// A definition in a version of its file.
#[derive(Clone)]
struct DefinitionText {
    version: FileVersion,
    /// Empty if this version does not have the definition.
    text: Rc<[u8]>,
    /// The number of each of its lines, from 1.
    numbers: Rc<[u32]>,
}

impl DefinitionText {
    fn is_absent(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns true if more than half of the lines are the same, wherever they are. Indentation and lines of
    /// signs do not count.
    fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (significant_lines(&self.text), significant_lines(&other.text));
        let mut rest: HashMap<&[u8], usize> = HashMap::new();
        own.iter().for_each(|&line| *rest.entry(line).or_default() += 1);
        let is_shared = |line: &&&[u8]| match rest.get_mut(**line) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        };
        2 * others.iter().filter(is_shared).count() > own.len().max(others.len())
    }
}

fn significant_lines(text: &[u8]) -> Vec<&[u8]> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || !byte.is_ascii();
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.filter(|line| line.iter().any(is_word)).collect()
}

/// Number of bytes of an entry of the cache without its text.
const DEFINITION_BYTES: usize = size_of::<(ObjectId, DefinitionText)>();

/// The state of a search while it goes through commits.
struct DefinitionSearch<'a, 'f> {
    find: &'a mut FindDefinition<'f>,
    /// The definition in the contents that were read.
    texts: HashMap<ObjectId, DefinitionText>,
    /// Number of bytes of these.
    bytes: usize,
    /// The path of the file in commits that were not visited yet.
    paths: HashMap<ObjectId, Vec<u8>>,
    max_lines: usize,
}

impl Repository {
    /// Finds the commits that changed a definition, newest first. Merges are left out. We follow it through
    /// renames of its file, to a file that it was moved from, and over versions of the file that lack it. The
    /// history ends where its file begins.
    ///
    /// `receive` gets each commit that was found, until it breaks, as in [`Repository::history`]. Returns
    /// `None` if the newest commit does not have the definition.
    ///
    /// # Errors
    ///
    /// Fails if the newest commit can't be read.
    pub fn definition_history(
        &mut self,
        query: &DefinitionQuery<'_>,
        find: &mut FindDefinition<'_>,
        receive: &mut dyn FnMut(HistoryCommit) -> ControlFlow<()>,
    ) -> Result<Option<HistoryReport>, ObjectError> {
        let mut report = HistoryReport::new(0);
        let (texts, paths) = (HashMap::new(), HashMap::from([(query.from, query.path.to_vec())]));
        let mut search = DefinitionSearch { find, texts, bytes: 0, paths, max_lines: query.max_lines };
        let begun = self.commit(&query.from).and_then(|newest| {
            let found = search.at(self, newest.tree, query.path, &mut report)?;
            let found = found.filter(|found| !found.is_absent());
            found.map(|_| CommitWalk::new(self, &query.from)).transpose()
        });
        let mut walk = match begun {
            // If the call has to end, a definition may have been missed.
            _ if self.stop().check().is_some() => {
                return Ok(Some(report.ended(HistoryEnd::Stopped, query.skip)));
            }
            Err(ObjectError::Stopped) => return Ok(Some(report.ended(HistoryEnd::Stopped, query.skip))),
            Ok(None) => return Ok(None),
            Ok(Some(walk)) => walk,
            Err(error) => return Err(error),
        };
        Ok(Some(self.look_through(&mut walk, &mut search, query.skip, report, receive)))
    }
}

impl CommitSearch for DefinitionSearch<'_, '_> {
    fn next(
        &mut self,
        repository: &mut Repository,
        walk: &mut CommitWalk,
        _is_new: bool,
        report: &mut HistoryReport,
    ) -> Result<Option<ExaminedCommit>, ObjectError> {
        let Some(commit) = walk.pop() else { return Ok(None) };
        // Which parents to follow depends on the definition, so we also examine commits that are not new.
        let found = self.examine(repository, &commit, walk, report);
        Ok(Some((commit, found.map(|file| file.map(|file| vec![file])))))
    }
}

/// The file of a definition in a parent, and the definition there.
type DefinitionBefore = (Vec<u8>, DefinitionText);

impl DefinitionSearch<'_, '_> {
    /// Compares the definition in a commit with its parents, and adds those to follow to the walk. Returns
    /// `None` if the definition did not change or the commit is a merge.
    fn examine(
        &mut self,
        repository: &mut Repository,
        commit: &WalkedCommit,
        walk: &mut CommitWalk,
        report: &mut HistoryReport,
    ) -> Result<Option<HistoryFile>, ObjectError> {
        let Some(path) = self.paths.remove(&commit.id) else { return Ok(None) };
        let Some(now) = self.at(repository, commit.object.tree, &path, report)? else { return Ok(None) };
        if commit.object.is_cut_off {
            return Ok(None);
        }
        let mut trees: Vec<(ObjectId, ObjectId)> = Vec::new();
        for &parent in &commit.object.parents {
            match repository.tree_of(&parent) {
                Err(ObjectError::Stopped) => return Err(ObjectError::Stopped),
                Err(_) => {
                    report.broken += 1;
                    return Ok(None);
                }
                Ok(tree) => trees.push((parent, tree)),
            }
        }
        let mut next: Vec<(ObjectId, DefinitionBefore)> = Vec::new();
        for &(parent, tree) in &trees {
            let between = (tree, commit.object.tree);
            let Some(before) = self.before(repository, between, &path, report)? else { continue };
            if before.1.text == now.text {
                next = vec![(parent, before)];
                break;
            }
            next.push((parent, before));
        }
        let mut is_moved = false;
        if next.iter().any(|(_, (_, before))| !before.is_absent()) {
            // A parent that lacks the definition only matters if all do.
            next.retain(|(_, (_, before))| !before.is_absent());
        } else if let [(parent, tree)] = trees[..]
            && !now.is_absent()
            && let Some(before) = self.moved_from(repository, (tree, commit.object.tree), &now, report)?
        {
            is_moved = true;
            next = vec![(parent, before)];
        }
        let before = next.first().map(|(_, before)| before.clone());
        for (parent, (path, _)) in next {
            walk.add(repository, &parent)?;
            self.paths.entry(parent).or_insert(path);
        }
        let is_same = before.as_ref().map_or(now.is_absent(), |(_, old)| old.text == now.text);
        if commit.is_merge() || is_same && !is_moved {
            return Ok(None);
        }
        let mut file = self.change(path, before, &now);
        if is_moved || file.change.kind == ChangeKind::Added {
            // A definition may be new in a file that is not.
            let is_in_parent = match trees.first() {
                Some(&(_, tree)) => repository.find_in(tree, &file.change.path)?.is_some(),
                None => false,
            };
            file.change.kind = if is_in_parent { ChangeKind::Modified } else { ChangeKind::Added };
        }
        Ok(Some(file))
    }

    /// Finds the definition in the parent's tree, in the file that this path had there.
    fn before(
        &mut self,
        repository: &mut Repository,
        (parent, tree): (ObjectId, ObjectId),
        path: &[u8],
        report: &mut HistoryReport,
    ) -> Result<Option<DefinitionBefore>, ObjectError> {
        if repository.find_in(parent, path)?.is_some() {
            let found = self.at(repository, parent, path, report)?;
            return Ok(found.map(|old| (path.to_vec(), old)));
        }
        let mut files = repository.compare_trees(Some(parent), Some(tree), &[])?;
        report.without_renames += u64::from(!repository.find_renames(&mut files));
        let renamed = files.into_iter().find(|file| file.path == path && file.kind == ChangeKind::Renamed);
        let Some(old_path) = renamed.and_then(|file| file.old_path) else { return Ok(None) };
        let found = self.at(repository, parent, &old_path, report)?;
        Ok(found.map(|old| (old_path, old)))
    }

    /// Finds a similar definition of this name that a commit removed from another file.
    fn moved_from(
        &mut self,
        repository: &mut Repository,
        (parent, tree): (ObjectId, ObjectId),
        now: &DefinitionText,
        report: &mut HistoryReport,
    ) -> Result<Option<DefinitionBefore>, ObjectError> {
        let mut files = match repository.compare_trees(Some(parent), Some(tree), &[]) {
            Err(ObjectError::Stopped) => return Err(ObjectError::Stopped),
            files => files.unwrap_or_default(),
        };
        if files.len() > limits::HISTORY_MOVED_FILES {
            return Ok(None);
        }
        files.sort_by(|one, other| one.path.cmp(&other.path));
        for file in files {
            let Some(old) = self.at(repository, parent, &file.path, report)? else { continue };
            let is_gone = |left: Option<DefinitionText>| left.is_none_or(|left| left.is_absent());
            if old.is_like(now) && is_gone(self.at(repository, tree, &file.path, report)?) {
                return Ok(Some((file.path, old)));
            }
        }
        Ok(None)
    }

    /// Finds the definition in a file of a tree. Returns `None` if there is no such file that can be read.
    fn at(
        &mut self,
        repository: &mut Repository,
        tree: ObjectId,
        path: &[u8],
        report: &mut HistoryReport,
    ) -> Result<Option<DefinitionText>, ObjectError> {
        let Some((TreeEntryKind::File(mode), id)) = repository.find_in(tree, path)? else { return Ok(None) };
        if !mode.is_regular() {
            return Ok(None);
        }
        if let Some(known) = self.texts.get(&id) {
            return Ok(Some(known.clone()));
        }
        let version = FileVersion { mode, id: Some(id) };
        let Some(bytes) = repository.compared_content(path, version, report)? else { return Ok(None) };
        let mut text = Vec::new();
        let mut numbers = Vec::new();
        for range in (self.find)(path, &bytes) {
            let Some(part) = bytes.get(range.clone()) else { continue };
            let first = 1 + memchr::memchr_iter(b'\n', &bytes[..range.start]).count() as u32;
            let lines = memchr::memchr_iter(b'\n', part).count() as u32 + u32::from(!part.ends_with(b"\n"));
            numbers.extend(first..first + lines);
            text.extend_from_slice(part);
        }
        let found = DefinitionText { version, text: Rc::from(text), numbers: Rc::from(numbers) };
        let size = found.text.len() + size_of_val(&*found.numbers) + DEFINITION_BYTES;
        self.bytes += size;
        if self.bytes > limits::HISTORY_DEFINITION_BYTES {
            self.texts.clear();
            self.bytes = size;
        }
        self.texts.insert(id, found.clone());
        Ok(Some(found))
    }

    fn change(
        &self,
        path: Vec<u8>,
        before: Option<(Vec<u8>, DefinitionText)>,
        now: &DefinitionText,
    ) -> HistoryFile {
        let (old_path, old) = before.unzip();
        let is_renamed = old_path.as_ref().is_some_and(|old| *old != path);
        let kind = match (&old, is_renamed) {
            (None, _) => ChangeKind::Added,
            (Some(_), true) => ChangeKind::Renamed,
            (Some(_), false) => ChangeKind::Modified,
        };
        let change = FileChange {
            kind,
            path,
            old_path: old_path.filter(|_| is_renamed),
            similarity: None,
            before: old.as_ref().map(|old| old.version),
            after: Some(now.version),
        };
        let mut file = HistoryFile { change, removed: 0, added: 0, lines: Vec::new() };
        let none: Rc<[u8]> = Rc::from([]);
        let text = old.as_ref().map_or(&none, |old| &old.text);
        if let Some(diff) = LineDiff::new(text, &now.text) {
            diff.collect(&mut file, self.max_lines, &|_| true);
        }
        for line in &mut file.lines {
            let numbers =
                if line.is_added { Some(&now.numbers) } else { old.as_ref().map(|old| &old.numbers) };
            let number = numbers.and_then(|numbers| numbers.get(line.number as usize - 1));
            line.number = number.copied().unwrap_or(line.number);
        }
        file
    }
}
