//! Commits that changed a definition, as `git log -L` finds them, but by its name in each version.

use std::ops::ControlFlow;
use std::rc::Rc;

use hashbrown::HashMap;

use super::lines::LineDiff;
use super::walk::{CommitWalk, WalkedCommit};
use super::{FindDefinition, HistoryCommit, HistoryEnd, HistoryFile, HistoryReport};
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
    text: Rc<[u8]>,
    /// The number of each of its lines, from 1.
    numbers: Rc<[u32]>,
}

/// Number of bytes of an entry of the cache without its text.
const DEFINITION_BYTES: usize = size_of::<(ObjectId, Option<DefinitionText>)>();

/// The state of a search while it goes through commits.
struct DefinitionSearch<'a, 'f> {
    find: &'a mut FindDefinition<'f>,
    /// The definition in the contents that were read.
    texts: HashMap<ObjectId, Option<DefinitionText>>,
    /// Number of bytes of these.
    bytes: usize,
    /// The path of the file in commits that were not visited yet.
    paths: HashMap<ObjectId, Vec<u8>>,
    max_lines: usize,
}

impl Repository {
    /// Finds the commits that changed a definition, newest first. Merges are left out. The history ends where
    /// the definition is not found any more. Renamed files are followed.
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
        while let Some(commit) = walk.pop() {
            report.is_shallow |= commit.object.is_cut_off;
            let found = search.examine(self, &commit, &mut walk, &mut report);
            if self.stop().check().is_some() || matches!(found, Err(ObjectError::Stopped)) {
                return Ok(Some(report.ended(HistoryEnd::Stopped, query.skip)));
            }
            report.unread += u64::from(found.is_err());
            let seen = (commit.id, commit.object.time);
            if let Ok(Some(file)) = found
                && report.looked >= query.skip
                && receive(commit.with_files(vec![file], report.looked)).is_break()
            {
                return Ok(Some(report.ended(HistoryEnd::Enough, query.skip)));
            }
            report.has_looked(seen);
            if report.looked.saturating_sub(query.skip) >= limits::HISTORY_COMMITS {
                return Ok(Some(report.ended(HistoryEnd::Limit, query.skip)));
            }
        }
        Ok(Some(report.ended(HistoryEnd::Whole, query.skip)))
    }
}

impl DefinitionSearch<'_, '_> {
    /// Compares the definition in a commit with its parents, and adds those that have it to the walk. Returns
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
        let mut before: Option<(Vec<u8>, DefinitionText)> = None;
        let mut next: Vec<(ObjectId, Vec<u8>)> = Vec::new();
        for parent in &commit.object.parents {
            let tree = match repository.tree_of(parent) {
                Err(ObjectError::Stopped) => return Err(ObjectError::Stopped),
                Err(_) => {
                    report.broken += 1;
                    return Ok(None);
                }
                Ok(tree) => tree,
            };
            let Some((old_path, old)) = self.before(repository, (tree, commit.object.tree), &path, report)?
            else {
                continue;
            };
            let is_same = old.text == now.text;
            if is_same {
                next.clear();
            }
            next.push((*parent, old_path.clone()));
            before = Some((old_path, old));
            if is_same {
                break;
            }
        }
        for (parent, path) in next {
            walk.add(repository, &parent)?;
            self.paths.entry(parent).or_insert(path);
        }
        let is_same = before.as_ref().is_some_and(|(_, old)| old.text == now.text);
        if is_same || commit.is_merge() {
            return Ok(None);
        }
        let mut file = self.change(path, before, &now);
        // A definition may be new in a file that is not.
        if file.change.kind == ChangeKind::Added
            && let Some(parent) = commit.object.parents.first()
            && let tree = repository.tree_of(parent)?
            && repository.find_in(tree, &file.change.path)?.is_some()
        {
            file.change.kind = ChangeKind::Modified;
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
    ) -> Result<Option<(Vec<u8>, DefinitionText)>, ObjectError> {
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

    /// Finds the definition in a file of a tree.
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
            return Ok(known.clone());
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
        let found = (!found.text.is_empty()).then_some(found);
        let size = found.as_ref().map_or(0, |it| it.text.len() + size_of_val(&*it.numbers));
        self.bytes += size + DEFINITION_BYTES;
        if self.bytes > limits::HISTORY_DEFINITION_BYTES {
            self.texts.clear();
            self.bytes = size + DEFINITION_BYTES;
        }
        self.texts.insert(id, found.clone());
        Ok(found)
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
