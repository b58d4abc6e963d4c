//! Walking a tree in parallel with results in path order.
//!
//! The frontier is a heap of tasks ordered by path: directories to list and batches of files to visit. Every
//! worker takes the first task of all, so results arrive nearly in order, the frontier stays as small as a
//! depth-first walk's, and a caller that has seen enough ends the walk without the rest of the tree being read.
//! A result is handed over once no earlier task is open; results that wait are bounded by their weight.
//!
//! # Three ways to know a tree
//!
//! ```text
//!                 what is trusted                what is asked of the disk for each search
//! walked          nothing                        every directory is listed, every file of rules is read
//! snapshot        names and verdicts, for a      the state of every directory and file of rules; one
//!                 directory in the same state    that has changed is listed again, the others are not
//! watched         names, verdicts and states,    nothing: the kernel has told of every change since
//!                 while the kernel tells
//!
//!   walk ──take──▶ Snapshot ──file──▶ the next process walks with it       (walk::take, snapshot)
//!     │
//!     └─▶ RuleTree ──▶ FileListing ◀── notices of inotify                  (tree, listing, watched)
//! ```
//!
//! All three visit the same files in the same order, with the same counts of what was left out: `list` decides for all
//! of them, and tests compare them over random trees. What can't be trusted falls back to the row above it: a directory
//! whose state proves nothing is listed, and a tree whose notices were lost is walked. None of them knows what is *in* a
//! file: that is the index's, which asks for the state of each file, or takes it from a listing.

mod entry;
mod frontier;
mod hiding;
mod kept;
mod list;
mod listing;
mod rules;
mod snapshot;
mod take;
mod tree;
mod watched;
mod worktree;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

pub use entry::{Entry, Unvisited};
use frontier::WalkFrontier;
pub use hiding::HidingDirectories;
pub use listing::{Below, FileListing, ListingFilter};
pub use snapshot::Snapshot;
pub use watched::{Mounts, WatchedTree};
pub use worktree::files_of_worktree;
pub(crate) use worktree::{git_info, of_root as repository_of};

use crate::error::OpenError;
use crate::ignore_rules::IgnoreVerdict;
use crate::limits;
use crate::rel_path::{RelPath, os_str};
use crate::root::Root;
use crate::skipped::{SkipReason, Skipped};
use crate::sys::NodeKind;
use forage_base::{Stop, Stopped};

/// Globs that choose files, with the meaning of ripgrep's `-g`: later ones win, `!` excludes, a glob without `/`
/// matches names at any depth.
#[derive(Clone, Debug)]
pub struct Globs {
    matcher: Override,
    source: Vec<(String, bool)>,
    label: Arc<str>,
}

impl Globs {
    /// Compiles globs; the error names the glob and what is wrong with it.
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, String> {
        Self::below(&RelPath::root(), globs, &[])
    }

    /// Compiles globs whose slashes are relative to the directory `base`; those of `any_case` match names in any case.
    ///
    /// # Errors
    /// Returns a message that names the invalid glob.
    pub fn below<S: AsRef<str>>(base: &RelPath, globs: &[S], any_case: &[S]) -> Result<Self, String> {
        let base = os_str(base.as_bytes()).ok_or("the directory's name is not Unicode")?;
        let mut builder =
            OverrideBuilder::new(if base.is_empty() { Path::new(".") } else { Path::new(&*base) });
        let mut source = Vec::with_capacity(globs.len() + any_case.len());
        for (globs, is_any_case) in [(globs, false), (any_case, true)] {
            builder.case_insensitive(is_any_case).map_err(|error| error.to_string())?;
            for glob in globs {
                builder.add(glob.as_ref()).map_err(|error| error.to_string())?;
                source.push((glob.as_ref().to_owned(), is_any_case));
            }
        }
        let matcher = builder.build().map_err(|error| error.to_string())?;
        source.push((base.to_string_lossy().into_owned(), false));
        Ok(Self { matcher, source, label: Arc::from("globs") })
    }

    /// The same with a name of where they come from, for [`Entry::hidden_by`](crate::Entry) and whoever tells of it.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self { label: Arc::from(label), ..self }
    }

    /// Returns the name of where they come from, given by [`Globs::labelled`]; `globs` without one.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Returns whether a walk with these as [`WalkOptions::only`] visits a file.
    pub fn choose(&self, file: &RelPath) -> bool {
        let Some(path) = os_str(file.as_bytes()) else { return false };
        !self.passes_over(Path::new(&*path), false) && !self.leave_out(file)
    }

    /// Whether a walk with these as [`WalkOptions::only`] passes over a name: a file that they don't choose, or a directory that they
    /// exclude.
    fn passes_over(&self, path: &Path, is_directory: bool) -> bool {
        let matched = self.matcher.matched(path, is_directory);
        if is_directory { matched.is_ignore() } else { !matched.is_whitelist() }
    }

    /// Returns whether a walk with these as [`WalkOptions::excludes`] leaves a file out, or a directory that holds it.
    pub fn leave_out(&self, file: &RelPath) -> bool {
        let Some(path) = os_str(file.as_bytes()) else { return false };
        let path = Path::new(&*path);
        let is_left_out = |path, is_directory| self.matcher.matched(path, is_directory).is_ignore();
        is_left_out(path, false)
            || path
                .ancestors()
                .skip(1)
                .take_while(|above| *above != Path::new(""))
                .any(|above| is_left_out(above, true))
    }
}

/// The glob of a type of files, as ripgrep names them: `rust`, `py`.
pub fn glob_of_type(name: &str) -> Option<String> {
    let definitions = TypesBuilder::new().add_defaults().definitions();
    let definition = definitions.iter().find(|definition| definition.name() == name.trim())?;
    Some(match definition.globs() {
        [one] => one.clone(),
        several => format!("{{{}}}", several.join(",")),
    })
}

/// Types of files, chosen as with ripgrep's `-t` and `-T`.
#[derive(Clone, Debug)]
pub struct FileTypes {
    matcher: Types,
    source: [Vec<String>; 2],
}

impl FileTypes {
    /// Selects the types of the first list and leaves out those of the second.
    ///
    /// # Errors
    /// Returns a message that names an unknown type.
    pub fn new(select: &[String], negate: &[String]) -> Result<Self, String> {
        let mut builder = TypesBuilder::new();
        builder.add_defaults();
        for name in select {
            builder.select(name);
        }
        for name in negate {
            builder.negate(name);
        }
        let matcher = builder.build().map_err(|error| error.to_string())?;
        Ok(Self { matcher, source: [select.to_vec(), negate.to_vec()] })
    }

    /// Combines the verdict of the ignore rules with the types; returns `None` for a file that its type leaves out.
    fn choose(&self, path: &Path, is_directory: bool, verdict: IgnoreVerdict) -> Option<IgnoreVerdict> {
        match self.matcher.matched(path, is_directory) {
            ignore::Match::Ignore(_) => None,
            // A hidden file of a type that is asked for is not left out.
            ignore::Match::Whitelist(_) if verdict == IgnoreVerdict::Nothing => Some(IgnoreVerdict::Kept),
            _ => Some(verdict),
        }
    }
}

impl PartialEq for FileTypes {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl PartialEq for Globs {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

const PRUNED: &[&str] = &[".git"];

/// Directories of dependencies, caches and editors: large, and not what anybody looks for. Where an ignore file names them
/// nothing is to be decided; where it takes them back (`!node_modules`) they are entered. Output directories such as
/// `target` or `build`, and `vendor` or `venv`, are left to the ignore rules, because sources have these names too.
pub const NOISE: &[&str] = &[
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "bower_components",
    "__pycache__",
    ".venv",
    ".tox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".gradle",
    ".terraform",
    ".idea",
];

/// The options of a walk. The default is ripgrep's: ignore rules on, hidden names and links left out.
#[derive(Clone, Debug)]
pub struct WalkOptions {
    /// Visit names that begin with a dot.
    pub hidden: bool,
    /// Leave ignore files unread.
    pub no_ignore: bool,
    /// Follow links that stay within the root.
    pub follow: bool,
    /// Levels below the start; 1 is the start's own entries.
    pub max_depth: usize,
    /// Chooses files, over the ignore rules. Paths are matched below the root.
    pub globs: Option<Globs>,
    /// Chooses files among those that the rules leave: unlike `globs` it brings back nothing that they exclude.
    pub only: Option<Globs>,
    /// Chooses files by type among those that the rules leave, hidden files of the type included.
    pub types: Option<FileTypes>,
    /// More globs whose files are left out whatever else chooses them.
    pub excludes: Option<Globs>,
    /// Directories that are left out and not counted: they are searched by themselves.
    pub apart: Vec<RelPath>,
    /// Names of directories that are never entered.
    pub prune: &'static [&'static str],
    /// Names of directories that are left out as if a rule said so, where no ignore rule says otherwise and no glob chooses
    /// them: with `no_ignore` they are entered, and with `label_hidden` what is in them has the label.
    pub noise: &'static [&'static str],
    /// Visit directories and links too, not only files.
    pub all_entries: bool,
    /// Visit what is ignored or hidden too, with the reason in [`Entry::hidden_by`].
    pub label_hidden: bool,
    /// Visit nothing else: with `label_hidden`, and what an earlier walk without it reported.
    pub only_hidden: Option<Arc<HidingDirectories>>,
    /// Leave out everything before this path, as if it had been visited.
    pub from: Option<RelPath>,
    /// The names that an earlier walk found: directories that are as it found them are not listed again.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Worker threads; 0 for one per processor.
    pub threads: usize,
    /// Counts visited files while the walk runs, for whoever shows progress.
    pub progress: Option<Arc<AtomicU64>>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            hidden: false,
            no_ignore: false,
            follow: false,
            max_depth: limits::WALK_DEPTH,
            globs: None,
            only: None,
            types: None,
            excludes: None,
            apart: Vec::new(),
            prune: PRUNED,
            noise: &[],
            all_entries: false,
            label_hidden: false,
            only_hidden: None,
            from: None,
            snapshot: None,
            threads: 0,
            progress: None,
        }
    }
}

impl WalkOptions {
    /// Whether what a walk from the root comes by can be kept in a [`FileListing`].
    fn can_be_listed(&self) -> bool {
        let Self { follow, max_depth, prune, all_entries, from, only_hidden, types, .. } = self;
        let is_whole = from.is_none() && only_hidden.is_none() && types.is_none();
        is_whole && !follow && !all_entries && *max_depth == limits::WALK_DEPTH && *prune == PRUNED
    }

    /// Whether rules and names alone decide on a file.
    fn is_plain(&self) -> bool {
        let Self { from, excludes, globs, types, label_hidden, .. } = self;
        from.is_none() && excludes.is_none() && globs.is_none() && types.is_none() && !label_hidden
    }

    /// Whether a walk comes by the same files and counts the same.
    fn comes_by_the_same(&self, other: &Self) -> bool {
        let chosen =
            |options: &Self| (options.hidden, options.no_ignore, options.label_hidden, options.noise);
        let fixed = |options: &Self| (options.follow, options.max_depth, options.prune, options.all_entries);
        (chosen(self), fixed(self), &self.from) == (chosen(other), fixed(other), &other.from)
            && (&self.globs, &self.only, &self.excludes) == (&other.globs, &other.only, &other.excludes)
            && (&self.apart, &self.types) == (&other.apart, &other.types)
    }

    /// Worker threads, where 0 stands for one per processor.
    pub fn thread_count(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    fn report_progress(&self, files: usize) {
        if let Some(progress) = &self.progress {
            progress.fetch_add(files as u64, Ordering::Relaxed);
        }
    }
}

/// The kinds of entries that a walk visits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file, or a link to one where links are followed.
    File,
    /// A directory.
    Directory,
    /// A link that is not followed.
    Symlink,
}

impl EntryKind {
    fn of(kind: NodeKind) -> Option<Self> {
        match kind {
            NodeKind::File => Some(Self::File),
            NodeKind::Directory => Some(Self::Directory),
            NodeKind::Symlink => Some(Self::Symlink),
            NodeKind::Special => None,
        }
    }
}

/// The decision whether a file is visited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dismissal {
    /// It is.
    Visit,
    /// It is not, and counted as left out for this reason, if there is one.
    Leave(Option<SkipReason>),
}

/// The result of visiting an entry.
#[derive(Debug)]
pub enum WalkStep<T> {
    /// Nothing to report.
    Nothing,
    /// A result, and its weight in bytes while it waits for earlier ones.
    Item(T, usize),
}

/// The report of a walk: what it visited and left out, and how it ended.
#[derive(Debug, Default)]
pub struct WalkReport {
    /// Counts of what was left out, by reason, up to the point where the walk ended.
    pub skipped: Skipped,
    /// Files that were visited.
    pub visited: u64,
    /// The directories in which it left something out because it is ignored or hidden.
    pub hiding: HidingDirectories,
    /// Names of directories that were pruned and occur, in order.
    pub pruned: Vec<String>,
    /// Warnings of what went wrong on the way, in words; [`limits::WARNINGS_KEPT`] at the most.
    pub warnings: Vec<String>,
    /// Warnings beyond those.
    pub more_warnings: u64,
    /// The first files and directories that could not be read, [`limits::WARNINGS_KEPT`] at the most, each with the
    /// system's reason. [`SkipReason::Unreadable`] counts all of them.
    pub unreadable: Vec<String>,
    /// The reason for which the walk ended early, if it did.
    pub stopped: Option<Stopped>,
    /// The receiver had enough.
    pub broke_off: bool,
    /// The bound on entries was reached.
    pub too_many_entries: bool,
}

impl WalkReport {
    /// Files of which the text was looked at: those that were visited and were not left out for what they are.
    pub fn searched(&self) -> u64 {
        self.visited.saturating_sub(SkipReason::UNREAD.iter().map(|reason| self.skipped.get(*reason)).sum())
    }

    /// Adds the report of a walk that went on in the file in which this one ended, which both have counted.
    pub fn go_on(&mut self, next: Self) {
        self.visited += next.visited.saturating_sub(1);
        self.skipped.merge(&next.skipped);
        self.hiding.merge(next.hiding);
        self.warnings.extend(next.warnings);
        self.unreadable.extend(next.unreadable);
        self.more_warnings += next.more_warnings;
        self.stopped = next.stopped;
        self.broke_off = next.broke_off;
        self.too_many_entries |= next.too_many_entries;
    }

    fn warn(&mut self, text: String) {
        if self.warnings.len() < limits::WARNINGS_KEPT {
            self.warnings.push(text);
        } else {
            self.more_warnings += 1;
        }
    }
}

/// Walks from `start` with one `worker` state per thread. `visit` runs in parallel; `receive` gets the results
/// one by one in path order and ends the walk by [`ControlFlow::Break`]. A start that is a file is visited
/// whatever the rules say of it.
pub fn walk<W, T: Send>(
    root: &Arc<Root>,
    start: &RelPath,
    options: &WalkOptions,
    stop: &Stop,
    worker: impl Fn() -> W + Sync,
    visit: impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> WalkStep<T> + Sync,
    receive: impl FnMut(T) -> ControlFlow<()> + Send,
) -> Result<WalkReport, OpenError> {
    Walk { root, start, options, stop }.dismissing(worker, |_: &mut W, _| Dismissal::Visit, visit, receive)
}

/// A walk as [`walk`] does it.
pub struct Walk<'a> {
    /// The root.
    pub root: &'a Arc<Root>,
    /// The path at which it begins, below the root.
    pub start: &'a RelPath,
    /// Its options.
    pub options: &'a WalkOptions,
    /// The deadline and the cancellation that end it.
    pub stop: &'a Stop,
}

impl Walk<'_> {
    /// Walks, but that files of a snapshot are not visited if `dismiss` says so. They count as visited nevertheless.
    pub fn dismissing<W, T: Send>(
        self,
        worker: impl Fn() -> W + Sync,
        dismiss: impl Fn(&mut W, &Unvisited<'_>) -> Dismissal + Sync,
        visit: impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> WalkStep<T> + Sync,
        receive: impl FnMut(T) -> ControlFlow<()> + Send,
    ) -> Result<WalkReport, OpenError> {
        let Self { root, start, options, stop } = self;
        let plan = list::ListPlan::new(root, start, options, stop)?;
        let frontier = WalkFrontier::new(vec![plan.first_task()], receive);
        let run = |state: &mut W, task| plan.run(state, task, stop, &dismiss, &visit);
        Ok(frontier.run(options.thread_count(), stop, worker, run))
    }
}
