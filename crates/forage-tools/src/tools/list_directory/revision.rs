//! `list_directory` at another revision: the tree of its files, or files by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{DecodedText, EntryKind, RelPath, Root, SkipReason, count_lines, decode};
use forage_search::StoredTexts as _;

use super::find::NameQuery;
use super::{ListEntry, ListResponse};
use crate::call::Call;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};
use crate::revision::{OtherEntry, Revision, RevisionTexts};

/// A listing at a revision.
pub(super) struct RevisionList<'a> {
    pub(super) root: &'a Arc<Root>,
    pub(super) start: &'a RelPath,
    pub(super) revision: &'a Revision,
    /// See [`NameQuery`].
    pub(super) name: Option<String>,
    /// Number of levels of the tree.
    pub(super) levels: usize,
}

impl RevisionList<'_> {
    pub(super) fn run(
        self,
        call: &Call,
        warnings: Vec<String>,
    ) -> Result<ToolOutcome<ListResponse>, ToolError> {
        let Self { root, start, revision, name, levels } = self;
        let stop = call.stop.within(call.limits.timeout);
        let (texts, others) = revision.listing(root, start, &stop)?;
        let files = texts.paths().iter().map(|path| (path.clone(), EntryKind::File));
        let all: Vec<ListedFile> = files.chain(others.iter().map(OtherEntry::listed)).collect();
        let (mut entries, max) = match &name {
            Some(name) => named(revision, &all, (root, start), name)?,
            None => (tree(revision, &all, start, start.depth() + levels), limits::LIST_ENTRIES_READ),
        };
        describe(&mut entries, &others);
        let is_left_out = |it: &&ListEntry| name.is_none() && it.kind == "directory" && !it.is_entered;
        let not_entered = entries.iter().filter(is_left_out).count() as u64;
        let entry_count = entries.len() as u64;
        entries.truncate(max);
        add_lines(&mut entries, &texts, &stop);
        let found = entry_count > 0;
        let mut outcome = ToolOutcome::new(
            ListResponse {
                path: revision.shown(&start.display()),
                max_depth: if name.is_some() { limits::LIST_DEPTH_MAX } else { levels as u64 - 1 },
                not_entered,
                entry_count,
                entries,
                name,
                ..ListResponse::new(start)
            },
            found,
        );
        outcome.warnings = warnings;
        // Of names, all were found, and only some are shown.
        let limit = if outcome.response.name.is_some() { Limit::MaxResults } else { Limit::Entries };
        outcome.truncated_by = (entry_count > max as u64).then_some(limit);
        Ok(outcome)
    }
}

/// The path of a file, link or submodule, and its kind.
type ListedFile = (RelPath, EntryKind);

impl OtherEntry {
    /// As in the working tree, a submodule is a directory.
    fn listed(&self) -> ListedFile {
        let kind = if self.target.is_some() { EntryKind::Symlink } else { EntryKind::Directory };
        (self.path.clone(), kind)
    }
}

/// Adds the targets of links, and notes to submodules.
fn describe(entries: &mut [ListEntry], others: &[OtherEntry]) {
    for it in entries {
        let Ok(number) = others.binary_search_by(|other| other.path.cmp(&it.place)) else { continue };
        it.target.clone_from(&others[number].target);
        if it.target.is_none() {
            it.note = Some("a submodule".to_owned());
            it.is_entered = true;
        }
    }
}

/// Lists the files down to the depth `deepest`, and the directories that contain files.
fn tree(revision: &Revision, files: &[ListedFile], start: &RelPath, deepest: usize) -> Vec<ListEntry> {
    let mut entries: Vec<ListEntry> = with_directories(files, start)
        .filter(|(path, _)| path.depth() <= deepest)
        .map(|(path, kind)| entry(revision, &path, kind))
        .collect();
    entries.sort_by(|a, b| a.place.cmp(&b.place));
    for it in entries.iter_mut().filter(|it| it.kind == "directory") {
        it.is_entered = it.place.depth() < deepest;
    }
    entries
}

/// Finds the files with a name, or the files and directories with a similar one. Also returns how many of them
/// to show.
fn named(
    revision: &Revision,
    files: &[ListedFile],
    (root, start): (&Root, &RelPath),
    name: &str,
) -> Result<(Vec<ListEntry>, usize), ToolError> {
    let mut query = NameQuery::new(name, root, start)?;
    let mut found = query.select(with_directories(files, start));
    if found.is_empty()
        && let Some(literal) = NameQuery::literal(name)
    {
        found = literal.select(with_directories(files, start));
        query = literal;
    }
    let entries = found.iter().map(|(path, kind)| entry(revision, path, *kind)).collect();
    Ok((entries, query.max_entries()))
}

/// Returns the files, and then the directories below `start` that contain them.
fn with_directories(files: &[ListedFile], start: &RelPath) -> impl Iterator<Item = ListedFile> {
    let mut directories: BTreeSet<RelPath> = BTreeSet::new();
    for (path, _) in files {
        let mut above = path.parent();
        while let Some(directory) = above.filter(|directory| directory.depth() > start.depth()) {
            above = directory.parent();
            if !directories.insert(directory) {
                break;
            }
        }
    }
    files.iter().cloned().chain(directories.into_iter().map(|path| (path, EntryKind::Directory)))
}

/// Adds the line counts of the first files, and notes to those without one.
fn add_lines(entries: &mut [ListEntry], texts: &RevisionTexts, stop: &Stop) {
    let mut read = texts.reader(stop);
    for it in entries.iter_mut().filter(|it| it.kind == "file").take(limits::LIST_REVISION_LINES) {
        let number = texts.paths().binary_search(&it.place).unwrap_or_default();
        match read(number) {
            Ok(bytes) => match decode(&bytes) {
                DecodedText::Text { bytes, .. } => it.lines = Some(count_lines(&bytes)),
                DecodedText::Binary => it.note = Some("binary".to_owned()),
            },
            Err(SkipReason::Denied) => it.note = Some("may hold secrets".to_owned()),
            Err(SkipReason::TooLarge) => it.note = Some("too large".to_owned()),
            Err(_) => it.note = Some("unreadable".to_owned()),
        }
    }
    for it in entries.iter_mut().filter(|it| it.kind == "file" && it.lines.is_none() && it.note.is_none()) {
        it.note = Some("lines not counted".to_owned());
    }
}

fn entry(revision: &Revision, path: &RelPath, kind: EntryKind) -> ListEntry {
    ListEntry { path: revision.shown(&path.display()), ..ListEntry::new(path.clone(), kind) }
}
