//! Files in which the working tree differs from a tree of the repository.

use std::ops::ControlFlow;
use std::sync::Arc;

use forage_base::map_in_threads;
use forage_fs::{
    Contents, EntryKind, NameStatus, Names, ReadBuffer, RelPath, Root, WalkOptions, WalkStep, walk,
};
use hashbrown::HashMap;

use super::{ChangeKind, FileChange, FileVersion};
use crate::config::GitConfig;
use crate::error::{ObjectError, RevisionError};
use crate::id::ObjectId;
use crate::index_file::{CachedTree, GitIndex, IndexEntry, IndexStat};
use crate::limits;
use crate::refs;
use crate::repository::{Repository, read_small};
use crate::tree::{FileMode, TreeEntryKind};

/// The changed files, the untracked ones, and true if the untracked ones are complete.
type Found = (Vec<FileChange>, Vec<FileChange>, bool);

/// How files of the working tree are compared with the index.
struct IndexComparison<'a> {
    root: &'a Root,
    /// The time of the index. A file that is not older may have changed since.
    written: (u32, u32),
    records_modes: bool,
    /// True if the working tree has only some of the files.
    is_sparse: bool,
    id_bytes: usize,
}

impl Repository {
    /// Finds the files in which the working tree differs from a tree.
    pub(super) fn compare_working_tree(&mut self, tree: ObjectId) -> Result<Found, RevisionError> {
        let (index, written) = self.index()?;
        let root = Arc::clone(self.root());
        let config = GitConfig::read(&root, self.git());
        let reading = IndexComparison {
            root: &root,
            written,
            records_modes: config.records_modes(),
            is_sparse: config.is_sparse(),
            id_bytes: self.id_bytes(),
        };
        let mut now = reading.versions(&index, self);
        self.undo_conversions(&index, &mut now, &config);
        if self.stop().check().is_some() {
            return Err(ObjectError::Stopped.into());
        }
        let before = self.versions_in(tree, &index)?;
        let mut files: Vec<FileChange> = Vec::new();
        for (number, entry) in index.entries.iter().enumerate() {
            let known = before.of_index[number];
            if entry.stage > 0 {
                // A file with a conflict has up to three entries, one per stage.
                let is_repeated = files.last().is_some_and(|last| last.path == entry.path);
                if !is_repeated {
                    let (path, kind) = (entry.path.clone(), ChangeKind::Conflicted);
                    let after = now[number];
                    let change =
                        FileChange { kind, path, old_path: None, similarity: None, before: known, after };
                    files.push(change);
                }
                continue;
            }
            files.extend(FileChange::new(entry.path.clone(), known, now[number]));
        }
        let gone = before.others.into_iter();
        files.extend(gone.filter_map(|(path, version)| FileChange::new(path, Some(version), None)));
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let (untracked, is_whole) = self.untracked(&index)?;
        Ok((files, untracked, is_whole))
    }

    /// Reads the index and the time at which it was written. If there is no index, this reads as an empty
    /// one.
    fn index(&mut self) -> Result<(GitIndex, (u32, u32)), RevisionError> {
        let path = self.git().join(b"index");
        let bytes = match read_small(self.root(), &path, limits::GIT_INDEX_BYTES) {
            Ok(bytes) => bytes,
            Err(forage_fs::OpenError::NotFound { .. }) => return Ok((GitIndex::default(), (0, 0))),
            Err(error) => return Err(error.into()),
        };
        let written = self.root().look_into(self.git()).ok().and_then(|git| git.status(b"index").ok()?);
        let mut index = GitIndex::parse(&bytes, self.id_bytes()).map_err(RevisionError::Index)?;
        self.expand(&mut index)?;
        Ok((index, written.map_or((0, 0), |status| cut(status.modified))))
    }

    /// Replaces the directories of a sparse index by their files.
    fn expand(&mut self, index: &mut GitIndex) -> Result<(), ObjectError> {
        if !index.entries.iter().any(|entry| entry.kind == TreeEntryKind::Directory) {
            return Ok(());
        }
        let mut entries: Vec<IndexEntry> = Vec::with_capacity(index.entries.len());
        for entry in std::mem::take(&mut index.entries) {
            if entry.kind != TreeEntryKind::Directory {
                entries.push(entry);
                continue;
            }
            let start = entry.path.strip_suffix(b"/").unwrap_or(&entry.path);
            self.for_each_file(entry.id, start, &mut |_, _| true, &mut |path, version| {
                let kind = TreeEntryKind::File(version.mode);
                let id = version.id.unwrap_or(entry.id);
                entries.push(IndexEntry { path, kind, id, is_skipped: true, ..entry.clone() });
            })?;
        }
        entries.sort_by(|a, b| (&a.path, a.stage).cmp(&(&b.path, b.stage)));
        index.entries = entries;
        Ok(())
    }

    /// Finds the versions of files in a tree, both those of the index and others. We do not read directories
    /// that the index knows to be equal.
    fn versions_in(&mut self, tree: ObjectId, index: &GitIndex) -> Result<TreeVersions, ObjectError> {
        let mut found = TreeVersions { of_index: vec![None; index.entries.len()], others: Vec::new() };
        let mut trees: HashMap<Vec<u8>, ObjectId> = HashMap::new();
        if let Some(cached) = &index.trees {
            collect(cached, Vec::new(), &mut trees);
        }
        let mut same: Vec<Vec<u8>> = Vec::new();
        let mut enter = |path: &[u8], id: ObjectId| {
            let is_same = trees.get(path) == Some(&id);
            if is_same {
                same.push(path.to_vec());
            }
            !is_same
        };
        if enter(b"", tree) {
            let mut give = |path: Vec<u8>, version: FileVersion| {
                let at = index.entries.partition_point(|entry| entry.path < path);
                let mut entries = (at..).zip(&index.entries[at..]);
                match entries.next().filter(|(_, entry)| entry.path == path) {
                    Some((number, _)) => {
                        found.of_index[number] = Some(version);
                        for (number, entry) in entries {
                            if entry.path != path {
                                break;
                            }
                            found.of_index[number] = Some(version);
                        }
                    }
                    None => found.others.push((path, version)),
                }
            };
            self.for_each_file(tree, b"", &mut enter, &mut give)?;
        }
        for mut directory in same {
            directory.extend((!directory.is_empty()).then_some(b'/'));
            for number in index.below(&directory) {
                let entry = &index.entries[number];
                found.of_index[number] = entry.mode().map(|mode| FileVersion { mode, id: Some(entry.id) });
            }
        }
        Ok(found)
    }

    /// Finds the files that are neither in the index nor ignored. The second value is true if these are all.
    fn untracked(&mut self, index: &GitIndex) -> Result<(Vec<FileChange>, bool), RevisionError> {
        let options =
            WalkOptions { hidden: true, all_entries: true, only_git_rules: true, ..WalkOptions::default() };
        let mut found: Vec<(RelPath, EntryKind)> = Vec::new();
        let root = Arc::clone(self.root());
        let report = walk(
            &root,
            &RelPath::root(),
            &options,
            self.stop(),
            || (),
            |(), entry, _| match entry.kind != EntryKind::Directory && !index.has(entry.path.as_bytes()) {
                true => WalkStep::Item((entry.path.clone(), entry.kind), size_of::<RelPath>() + 32),
                false => WalkStep::Nothing,
            },
            |entry| {
                found.push(entry);
                match found.len() > limits::UNTRACKED_FILES {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        )?;
        if report.stopped.is_some() {
            return Err(ObjectError::Stopped.into());
        }
        let is_whole = found.len() <= limits::UNTRACKED_FILES;
        let mut nested: HashMap<RelPath, bool> = HashMap::new();
        found.retain(|(path, _)| !is_nested(&root, path, &mut nested));
        let change = |(path, kind): (RelPath, EntryKind)| FileChange {
            kind: ChangeKind::Untracked,
            path: path.as_bytes().to_vec(),
            old_path: None,
            similarity: None,
            before: None,
            after: Some(FileVersion {
                mode: if kind == EntryKind::Symlink { FileMode::Symlink } else { FileMode::Regular },
                id: None,
            }),
        };
        Ok((found.into_iter().map(change).collect(), is_whole))
    }
}

/// The versions of files in a tree.
struct TreeVersions {
    /// The version of each entry of the index.
    of_index: Vec<Option<FileVersion>>,
    /// Files that are not in the index.
    others: Vec<(Vec<u8>, FileVersion)>,
}

/// Collects the known trees of directories by their paths.
fn collect(tree: &CachedTree, path: Vec<u8>, trees: &mut HashMap<Vec<u8>, ObjectId>) {
    for below in &tree.below {
        let mut path = path.clone();
        path.extend((!path.is_empty()).then_some(b'/'));
        path.extend(&below.name);
        collect(below, path, trees);
    }
    if let Some(id) = tree.id {
        trees.insert(path, id);
    }
}

/// Returns true if a file is in another repository below the root. `known` caches directories.
fn is_nested(root: &Root, path: &RelPath, known: &mut HashMap<RelPath, bool>) -> bool {
    let Some(directory) = path.parent().filter(|directory| !directory.is_root()) else { return false };
    if let Some(nested) = known.get(&directory) {
        return *nested;
    }
    let has_git =
        || root.look_into(&directory).is_ok_and(|names| matches!(names.status(b".git"), Ok(Some(_))));
    let nested = has_git() || is_nested(root, &directory, known);
    known.insert(directory, nested);
    nested
}

/// Finds the commit that is checked out in a submodule. Returns `None` if the submodule has no repository
/// below the root. We do not look for uncommitted changes in it.
fn submodule_commit(root: &Root, path: &[u8], id_bytes: usize) -> Option<ObjectId> {
    let path = RelPath::from_bytes(path, &RelPath::root()).ok()?;
    let link = path.join(b".git");
    let git = match root.locate(&link).ok()? {
        (git, true) => git,
        (file, false) => {
            let text = read_small(root, &file, limits::PATH_BYTES).ok()?;
            RelPath::from_bytes(text.strip_prefix(b"gitdir: ")?.trim_ascii_end(), &path).ok()?
        }
    };
    refs::head(root, &git).ok().filter(|commit| commit.as_bytes().len() == id_bytes)
}

/// Truncates a time to the size of the fields in the index.
fn cut((seconds, nanoseconds): (i64, u32)) -> (u32, u32) {
    (seconds as u32, nanoseconds)
}

impl IndexComparison<'_> {
    /// Determines the versions that files of the index have in the working tree; `None` for a file that is
    /// gone.
    fn versions(&self, index: &GitIndex, repository: &Repository) -> Vec<Option<FileVersion>> {
        // We open each directory only once for all of its files.
        let mut directories: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (number, entry) in index.entries.iter().enumerate() {
            let end = entry.path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
            directories.entry(&entry.path[..end]).or_default().push(number);
        }
        let threads = WalkOptions::default().thread_count();
        let stop = repository.stop();
        let of_directory = |(path, numbers): (&[u8], Vec<usize>)| {
            let path = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
            let path = path.fold(RelPath::root(), |path, name| path.join(name));
            let names = self.root.look_into(&path).ok().filter(|_| stop.check().is_none());
            let version = |number: usize| {
                let entry = &index.entries[number];
                (number, self.version(entry, names.as_ref()))
            };
            numbers.into_iter().map(version).collect::<Vec<_>>()
        };
        let mut versions = vec![None; index.entries.len()];
        for (number, version) in map_in_threads(directories, threads, of_directory).into_iter().flatten() {
            versions[number] = version;
        }
        versions
    }

    fn version(&self, entry: &IndexEntry, names: Option<&Names<'_>>) -> Option<FileVersion> {
        let mode = entry.mode()?;
        let of_index = Some(FileVersion { mode, id: Some(entry.id) });
        // As in git, a skipped file that is there after all counts only in a sparse checkout.
        if entry.is_assumed || entry.is_skipped && !self.is_sparse {
            return of_index;
        }
        let name = &entry.path[entry.path.iter().rposition(|&byte| byte == b'/').map_or(0, |at| at + 1)..];
        let Some((names, status)) = names.and_then(|names| Some((names, names.status(name).ok()??))) else {
            return of_index.filter(|_| entry.is_skipped);
        };
        if mode == FileMode::Submodule && status.kind == Some(EntryKind::Directory) {
            let commit = submodule_commit(self.root, &entry.path, self.id_bytes);
            return Some(FileVersion { mode, id: Some(commit.unwrap_or(entry.id)) });
        }
        let is_same = self.is_same(entry, &status);
        // If the repository does not record this permission, the mode of the index stays.
        let is_executable = match self.records_modes {
            true => status.is_executable,
            false => mode == FileMode::Executable,
        };
        let mode = match status.kind? {
            // A directory has replaced the file.
            EntryKind::Directory => return None,
            EntryKind::Symlink => FileMode::Symlink,
            EntryKind::File if is_executable => FileMode::Executable,
            EntryKind::File => FileMode::Regular,
        };
        if is_same && of_index.is_some_and(|version| version.mode == mode) {
            return of_index;
        }
        let id = match mode {
            FileMode::Symlink => {
                names.link_target(name).ok().and_then(|target| blob_id(&target, self.id_bytes))
            }
            _ => self.read(names, name).and_then(|bytes| blob_id(&bytes, self.id_bytes)),
        };
        Some(FileVersion { mode, id })
    }

    /// Returns true if a file still has the state that the index knows.
    fn is_same(&self, entry: &IndexEntry, status: &NameStatus) -> bool {
        let IndexStat { changed, modified, inode, size } = entry.stat;
        let is_young = modified >= self.written;
        // A change time or an inode of zero was not recorded, or is unknown here.
        let has_changed = changed == (0, 0) || status.changed == (0, 0) || changed == cut(status.changed);
        let has_inode = inode == 0 || status.inode == 0 || inode == status.inode as u32;
        !entry.is_intended
            && !is_young
            && modified == cut(status.modified)
            && size == status.size as u32
            && has_changed
            && has_inode
    }

    fn read(&self, names: &Names<'_>, name: &[u8]) -> Option<Vec<u8>> {
        let mut buffer = ReadBuffer::default();
        let contents = names.open(name).ok()?.read_into(&mut buffer, limits::HASHED_BYTES).ok()?;
        (contents == Contents::Whole).then(|| buffer.to_vec())
    }
}

/// Computes the id of a file with this content. An id has 20 bytes for SHA-1 and 32 bytes for SHA-256.
pub(super) fn blob_id(bytes: &[u8], id_bytes: usize) -> Option<ObjectId> {
    use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};
    let mut context = Context::new(if id_bytes == 32 { &SHA256 } else { &SHA1_FOR_LEGACY_USE_ONLY });
    context.update(format!("blob {}\0", bytes.len()).as_bytes());
    context.update(bytes);
    ObjectId::from_bytes(context.finish().as_ref())
}
