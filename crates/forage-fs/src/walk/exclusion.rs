//! Explains why a walk does not visit a path. We get the answer from a walk towards that path, so the two
//! can't disagree.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::list::{HIDDEN, NOT_ENTERED, reason_of_link};
use super::{EntryKind, WalkOptions, WalkStep, walk, worktree};
use crate::error::OpenError;
use crate::rel_path::RelPath;
use crate::root::Root;
use crate::skipped::SkipReason;
use crate::sys::NodeKind;
use forage_base::Stop;

/// The reason why a walk does not visit a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// The entry that is left out: the path itself, or a directory or link above it.
    pub path: RelPath,
    /// The reason.
    pub reason: SkipReason,
    /// The rule, as in [`super::Entry::hidden_by`], or the system's error.
    pub rule: Option<String>,
}

/// Explains why a walk from the root with these options does not visit a path. Returns `None` if it does.
///
/// # Errors
///
/// Fails if the path does not exist, or if the call must end first.
pub fn exclusion(
    root: &Arc<Root>,
    path: &RelPath,
    options: &WalkOptions,
    stop: &Stop,
) -> Result<Option<Exclusion>, OpenError> {
    if path.is_root() {
        return Ok(None);
    }
    // With `from`, the walk lists only the directories above the path, and ends soon after it.
    let options = WalkOptions {
        label_hidden: true,
        all_entries: true,
        only_hidden: None,
        snapshot: None,
        from: Some(path.clone()),
        threads: 1,
        ..options.clone()
    };
    let mut entries: Vec<(RelPath, EntryKind, Option<Arc<str>>)> = Vec::new();
    let report = walk(
        root,
        &RelPath::root(),
        &options,
        stop,
        || (),
        |(), entry, _| {
            WalkStep::Item((entry.path.clone(), entry.kind, entry.hidden_by.clone()), size_of::<RelPath>())
        },
        |entry| {
            if !path.starts_with(&entry.0) {
                return ControlFlow::Break(());
            }
            let is_last = entry.0 == *path || entry.1 == EntryKind::Symlink;
            entries.push(entry);
            if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        },
    )?;
    if report.stopped.is_some() {
        let source = io::Error::other("the time limit was reached while checking the directories above it");
        return Err(OpenError::Io { path: path.display().into_owned(), source });
    }
    let is_whole = entries.last().is_some_and(|(last, ..)| last == path);
    if !is_whole && !matches!(entries.last(), Some((_, EntryKind::Symlink, _))) {
        // The rule of a directory above explains this, but a missing file must be an error.
        let found =
            without_label(root, path, entries.last().map_or(&RelPath::root(), |entry| &entry.0), &options)?;
        return Ok(Some(labelled(&entries).unwrap_or(found)));
    }
    Ok(labelled(&entries).or_else(|| match entries.last() {
        Some((link, EntryKind::Symlink, _)) if !options.follow => {
            Some(Exclusion { path: link.clone(), reason: reason_of_link(root, link), rule: None })
        }
        _ => None,
    }))
}

/// Finds the first exclusion by a rule.
fn labelled(entries: &[(RelPath, EntryKind, Option<Arc<str>>)]) -> Option<Exclusion> {
    let (path, _, rule) = entries.iter().find(|(.., rule)| rule.is_some())?;
    let rule = rule.as_deref()?;
    let reason = match rule {
        HIDDEN => SkipReason::Hidden,
        // The label belongs to the entries in the worktree, but we report the worktree itself.
        worktree::LABEL => {
            let path = path.parent().unwrap_or_else(RelPath::root);
            return Some(Exclusion { path, reason: SkipReason::Pruned, rule: Some(rule.to_owned()) });
        }
        _ if rule.ends_with(NOT_ENTERED) => SkipReason::Pruned,
        _ => SkipReason::Ignored,
    };
    Some(Exclusion { path: path.clone(), reason, rule: Some(rule.to_owned()) })
}

/// Explains why the entry below `last` that leads to `path` is not visited, given that this is not due to a
/// rule.
fn without_label(
    root: &Root,
    path: &RelPath,
    last: &RelPath,
    options: &WalkOptions,
) -> Result<Exclusion, OpenError> {
    let next = path.names().take(last.depth() + 1).fold(RelPath::root(), |path, name| path.join(name));
    let at = |path: &RelPath, reason, rule| Exclusion { path: path.clone(), reason, rule };
    if root.is_kernels(&next) {
        return Ok(at(&next, SkipReason::KernelFileSystem, None));
    }
    let is_pruned = options.prune.iter().any(|name| name.as_bytes() == next.file_name());
    let found = match root.resolve(&next) {
        Ok((_, NodeKind::Directory)) if is_pruned => at(&next, SkipReason::Pruned, None),
        Ok((_, NodeKind::Special)) => at(&next, SkipReason::Special, None),
        Ok(_) => at(&next, SkipReason::TooDeep, None),
        Err(error @ (OpenError::NotFound { .. } | OpenError::NotDirectory { .. })) => return Err(error),
        Err(OpenError::OutsideRoot { .. }) => at(&next, SkipReason::OutsideRoot, None),
        Err(OpenError::KernelFileSystem { .. }) => at(&next, SkipReason::KernelFileSystem, None),
        Err(error) => return Ok(at(last, SkipReason::Unreadable, Some(error.to_string()))),
    };
    // A path that does not exist must be an error, even if something above it is left out.
    root.resolve(path).map_or_else(
        |error| match error {
            OpenError::NotFound { .. } | OpenError::NotDirectory { .. } => Err(error),
            _ => Ok(found.clone()),
        },
        |_| Ok(found.clone()),
    )
}
