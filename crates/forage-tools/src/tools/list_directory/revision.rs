//! `list_directory` at another revision: the tree of its files, or files by name.

use std::collections::BTreeSet;
use std::sync::Arc;

use forage_base::Stop;
use forage_fs::{DecodedText, EntryKind, RelPath, Root, SkipReason, count_lines, decode};
use forage_search::StoredTexts as _;

use super::{ListEntry, ListResponse};
use crate::arguments::{globs_at, split};
use crate::context::Context;
use crate::error::ToolError;
use crate::limits;
use crate::outcome::{Limit, ToolOutcome};
use crate::revision::{Revision, RevisionTexts};

/// A listing at a revision.
pub(super) struct RevisionList<'a> {
    pub(super) root: &'a Arc<Root>,
    pub(super) start: &'a RelPath,
    pub(super) revision: &'a Revision,
    /// Globs, or a part of the paths.
    pub(super) name: Option<String>,
    /// Number of levels of the tree.
    pub(super) levels: usize,
}

impl RevisionList<'_> {
    pub(super) fn run(
        self,
        context: &Context,
        warnings: Vec<String>,
    ) -> Result<ToolOutcome<ListResponse>, ToolError> {
        let Self { root, start, revision, name, levels } = self;
        let stop = context.stop.within(context.timeout);
        let texts = revision.texts(root, start, &stop)?;
        let all = texts.paths();
        let mut entries: Vec<ListEntry> = match &name {
            Some(name) => {
                let fits = name_filter(name, (root, start))?;
                let found = all.iter().filter(|path| fits(path));
                found.map(|path| entry(revision, path, EntryKind::File)).collect()
            }
            None => tree(revision, all, start, start.depth() + levels),
        };
        let is_left_out = |it: &&ListEntry| it.kind == "directory" && !it.is_entered;
        let not_entered = entries.iter().filter(is_left_out).count() as u64;
        let entry_count = entries.len() as u64;
        let max = if name.is_some() { limits::LIST_FOUND } else { limits::LIST_ENTRIES_READ };
        entries.truncate(max);
        add_lines(&mut entries, &texts, &stop);
        let found = entry_count > 0;
        let mut outcome = ToolOutcome::new(
            ListResponse {
                path: revision.shown(&start.display()),
                max_depth: levels as u64 - 1,
                not_entered,
                entry_count,
                entries,
                name,
                ..ListResponse::new(start)
            },
            found,
        );
        outcome.warnings = warnings;
        outcome.truncated_by = (entry_count > max as u64).then_some(Limit::Entries);
        Ok(outcome)
    }
}

/// Lists the files down to the depth `deepest`, and the directories that contain files.
fn tree(revision: &Revision, files: &[RelPath], start: &RelPath, deepest: usize) -> Vec<ListEntry> {
    let mut directories: BTreeSet<RelPath> = BTreeSet::new();
    for path in files {
        let mut above = path.parent();
        while let Some(directory) = above.filter(|directory| directory.depth() > start.depth()) {
            above = directory.parent();
            if !directories.insert(directory) {
                break;
            }
        }
    }
    let files = files.iter().map(|path| (path, EntryKind::File));
    let directories = directories.iter().map(|path| (path, EntryKind::Directory));
    let mut entries: Vec<ListEntry> = files
        .chain(directories)
        .filter(|(path, _)| path.depth() <= deepest)
        .map(|(path, kind)| entry(revision, path, kind))
        .collect();
    entries.sort_by(|a, b| a.place.cmp(&b.place));
    for it in entries.iter_mut().filter(|it| it.kind == "directory") {
        it.is_entered = it.place.depth() < deepest;
    }
    entries
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
            Err(_) => it.note = Some("unreadable".to_owned()),
        }
    }
    for it in entries.iter_mut().filter(|it| it.kind == "file" && it.lines.is_none() && it.note.is_none()) {
        it.note = Some("lines not counted".to_owned());
    }
}

type PathFilter = Box<dyn Fn(&RelPath) -> bool>;

/// Builds the filter for a name. This name is a list of globs, or a part of the path in any case.
fn name_filter(name: &str, place: (&Root, &RelPath)) -> Result<PathFilter, ToolError> {
    if name.contains(['*', '?', '[', '{']) || name.starts_with('!') {
        let mut globs: Vec<String> = split(name).into_iter().map(str::to_owned).collect();
        // Exclusions alone would select no file.
        if globs.iter().all(|glob| glob.starts_with('!')) {
            globs.insert(0, "*".to_owned());
        }
        let globs = globs_at("name", &globs, place)?;
        return Ok(Box::new(move |path| globs.choose(path)));
    }
    let name = name.to_lowercase();
    Ok(Box::new(move |path| String::from_utf8_lossy(path.as_bytes()).to_lowercase().contains(&name)))
}

fn entry(revision: &Revision, path: &RelPath, kind: EntryKind) -> ListEntry {
    ListEntry { path: revision.shown(&path.display()), ..ListEntry::new(path.clone(), kind) }
}
