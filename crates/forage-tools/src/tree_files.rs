//! Lists the files of a tree for a map: those that searches read, with their line counts, and those that
//! searches skip, with the reason.

use std::collections::{BTreeMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use forage_fs::{RelPath, Root, WalkOptions, WalkStep, walk};
use schemars::JsonSchema;
use serde::Serialize;

use crate::call::Call;
use crate::error::ToolError;
use crate::tools::{FileLineCounter, UncountedLines};

/// The files of a tree.
#[derive(Clone, Debug, Default, JsonSchema, Serialize)]
pub struct TreeFiles {
    /// The root.
    pub root: String,
    /// Paths below the root of the files that searches read, in order.
    pub paths: Vec<String>,
    /// Line counts of these files, estimated from the size for files that are too large.
    pub lines: Vec<u64>,
    /// True if the whole tree was listed.
    pub complete: bool,
    /// Paths that searches skip.
    pub unsearched: Vec<UnsearchedPath>,
    /// Number of further skipped paths.
    pub more_unsearched: u64,
}

/// A file or directory that searches skip.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct UnsearchedPath {
    /// Below the root.
    pub path: String,
    /// The rule that excludes it, or its kind.
    pub reason: String,
    /// True for a directory in which nothing is searched.
    pub directory: bool,
}

/// Limits of a listing.
#[derive(Clone, Copy, Debug)]
pub struct TreeBounds {
    /// Maximum files that searches read.
    pub files: usize,
    /// Maximum files and directories that searches skip.
    pub unsearched: usize,
}

/// Estimated bytes per line, for files whose lines we do not count because they are too large.
const LINE_BYTES: u64 = 40;

/// Maximum number of hidden files that we visit to find their directories.
const HIDDEN_FILES: usize = 200_000;

/// Lists the files of a root. The result is incomplete if `call.stop` ends the call, or if `bounds` are
/// exceeded.
///
/// # Errors
///
/// Fails if the root can't be read.
pub fn tree_files(call: &Call, root: &Arc<Root>, bounds: TreeBounds) -> Result<TreeFiles, ToolError> {
    let options = call.walk_options();
    let index = call.workspace.index(root);
    let options = index.as_ref().map(|index| index.walk_options(&options)).unwrap_or(options);
    let mut files: Vec<CountedFile> = Vec::new();
    let mut is_full = false;
    let report = walk(
        root,
        &RelPath::root(),
        &options,
        &call.stop,
        || FileLineCounter::new(index.as_ref().map(|index| index.cursor(&options))),
        |counter, entry, skipped| {
            let file = CountedFile { path: entry.path.clone(), lines: counter.count(entry, skipped) };
            WalkStep::Item(file, size_of::<RelPath>() + 64)
        },
        |file| {
            is_full = files.len() >= bounds.files;
            if is_full {
                ControlFlow::Break(())
            } else {
                files.push(file);
                ControlFlow::Continue(())
            }
        },
    )?;
    let mut tree = TreeFiles {
        root: crate::text::absolute(root, &RelPath::root()),
        complete: report.stopped.is_none() && !is_full && !report.too_many_entries,
        ..TreeFiles::default()
    };
    let mut unsearched = Unsearched::new();
    tree.add_files(&files, &mut unsearched);
    // We group the files that rules hide by the directory in which nothing is searched.
    if !report.hiding.is_empty() && tree.complete {
        let hidden = WalkOptions {
            label_hidden: true,
            only_hidden: Some(Arc::new(report.hiding)),
            snapshot: None,
            ..options
        };
        tree.complete = add_hidden(call, root, &hidden, &files, &mut unsearched)?;
    }
    tree.more_unsearched = unsearched.len().saturating_sub(bounds.unsearched) as u64;
    tree.unsearched = unsearched
        .into_iter()
        .take(bounds.unsearched)
        .map(|(path, Exclusion { reason, is_directory })| UnsearchedPath {
            path,
            reason,
            directory: is_directory,
        })
        .collect();
    Ok(tree)
}

/// A file that searches read, with its number of lines.
struct CountedFile {
    path: RelPath,
    lines: Result<u64, UncountedLines>,
}

/// Why searches skip a file, or all files of a directory.
struct Exclusion {
    reason: String,
    is_directory: bool,
}

/// Skipped files and directories, by path.
type Unsearched = BTreeMap<String, Exclusion>;

impl TreeFiles {
    /// Adds the files that searches read. Adds those that are not text to `unsearched` instead.
    fn add_files(&mut self, files: &[CountedFile], unsearched: &mut Unsearched) {
        for CountedFile { path, lines } in files {
            let shown = path.display().into_owned();
            match lines {
                Ok(lines) => {
                    self.paths.push(shown);
                    self.lines.push(*lines);
                }
                // Searches read this file, but it is too large to count its lines for a map.
                Err(UncountedLines::TooLarge(bytes)) => {
                    self.paths.push(shown);
                    self.lines.push(bytes / LINE_BYTES);
                }
                Err(UncountedLines::Unread(reason)) => {
                    unsearched.insert(shown, Exclusion { reason: (*reason).to_owned(), is_directory: false });
                }
            }
        }
    }
}

/// Adds the outermost directories without a searched file, and the hidden files in other directories.
/// `hidden` must be the options for a walk of hidden files. Returns true if all of these were found.
fn add_hidden(
    call: &Call,
    root: &Arc<Root>,
    hidden: &WalkOptions,
    files: &[CountedFile],
    unsearched: &mut Unsearched,
) -> Result<bool, ToolError> {
    let directories_of = |path: &RelPath| std::iter::successors(path.parent(), RelPath::parent);
    let searched: HashSet<RelPath> = files.iter().flat_map(|file| directories_of(&file.path)).collect();
    let mut seen = 0;
    let report = walk(
        root,
        &RelPath::root(),
        hidden,
        &call.stop,
        || (),
        |(), entry, _| match &entry.hidden_by {
            Some(rule) => WalkStep::Item((entry.path.clone(), Arc::clone(rule)), size_of::<RelPath>() + 64),
            None => WalkStep::Nothing,
        },
        |(path, rule)| {
            seen += 1;
            let outermost = directories_of(&path)
                .take_while(|directory| !directory.is_root() && !searched.contains(directory))
                .last();
            let (shown, is_directory) = match outermost {
                Some(directory) => (directory.display().into_owned(), true),
                None => (path.display().into_owned(), false),
            };
            unsearched.entry(shown).or_insert_with(|| Exclusion { reason: rule.to_string(), is_directory });
            if seen < HIDDEN_FILES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        },
    )?;
    Ok(report.stopped.is_none() && seen < HIDDEN_FILES)
}
