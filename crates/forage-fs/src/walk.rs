//! Walks a tree in parallel and delivers results in path order.
//!
//! The frontier is a heap of tasks ordered by path: directories to list and batches of files to visit. Every
//! worker takes the first task, so results arrive nearly in order, and the frontier stays as small as that of
//! a depth-first walk. A caller that has seen enough ends the walk without reading the rest of the tree. We
//! deliver a result once no earlier task is open, and limit the weight of the results that wait.
//!
//! # Three ways to traverse a tree
//!
//! ```text
//!                 trusted                        read from disk for each search
//! walked          nothing                        every directory is listed, every rule file is read
//! snapshot        names and verdicts, for a      the state of every directory and rule file; one that
//!                 directory in the same state    has changed is listed again, the others are not
//! watched         names, verdicts and states,    nothing: the kernel has reported every change since
//!                 while the kernel reports
//!
//!   walk ──take──▶ Snapshot ──file──▶ the next process walks with it       (walk::take, snapshot)
//!     │
//!     └─▶ RuleTree ──▶ FileListing ◀── inotify events                      (tree, listing, watched)
//! ```
//!
//! All three visit the same files in the same order, with the same counts of entries left out. `list` decides
//! for all of them, and tests compare them on random trees. If something can't be trusted, we fall back to
//! the row above. For example, we list a directory with an unreliable state, and walk a tree with lost
//! events. None of them knows the *content* of a file. An index does, and it reads the state of each file or
//! takes it from a listing.

mod cached_listing;
mod entry;
mod exclusion;
mod frontier;
mod hiding;
mod list;
mod listing;
mod rules;
mod snapshot;
mod take;
mod tree;
mod watched;
mod worktree;

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

pub use entry::{Entry, PendingFile};
pub use exclusion::{Exclusion, exclusion};
use frontier::WalkFrontier;
pub use hiding::ExcludingDirectories;
pub use listing::{FileListing, ListingFilter, Subtree};
pub use snapshot::Snapshot;
pub use watched::{Mounts, WatchedTree};
pub use worktree::files_of_worktree;
pub(crate) use worktree::{git_info, root_repository as repository_of};

use crate::error::OpenError;
use crate::ignore_rules::IgnoreVerdict;
use crate::limits;
use crate::rel_path::{RelPath, os_bytes, os_str};
use crate::root::Root;
use crate::skipped::{SkipReason, Skipped};
use crate::sys::NodeKind;
use forage_base::{Stop, Stopped};

/// Globs that select files, with the semantics of ripgrep's `-g`: later ones win, `!` excludes, and a glob
/// without `/` matches names at any depth.
#[derive(Clone, Debug)]
pub struct Globs {
    matcher: Override,
    source: Vec<(String, bool)>,
    label: Arc<str>,
    /// The path to the root from the directory to which globs with a slash are relative, if a walk begins
    /// outside of that directory.
    outside: Option<PathBuf>,
    /// Only these files are selected, if set.
    among: Option<Arc<FileSet>>,
}

/// A set of files, with the directories that lead to them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileSet {
    files: BTreeSet<RelPath>,
    directories: BTreeSet<RelPath>,
}

impl FileSet {
    /// Returns true if the set contains a file or, for a directory, a file below it.
    fn leads_to(&self, path: &RelPath, is_directory: bool) -> bool {
        if is_directory { self.directories.contains(path) } else { self.files.contains(path) }
    }

    /// Returns true if the set contains a file.
    pub fn has(&self, file: &RelPath) -> bool {
        self.files.contains(file)
    }

    /// Returns the files in path order.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &RelPath> {
        self.files.iter()
    }
}

impl FromIterator<RelPath> for FileSet {
    fn from_iter<I: IntoIterator<Item = RelPath>>(files: I) -> Self {
        let mut set = Self::default();
        for file in files {
            let mut above = file.parent();
            while let Some(directory) = above {
                above = directory.parent();
                // If a directory is known, so are those above it.
                if !set.directories.insert(directory) {
                    break;
                }
            }
            set.files.insert(file);
        }
        set
    }
}

impl Globs {
    /// Compiles globs. The error names the invalid glob and its problem.
    ///
    /// # Examples
    ///
    /// ```
    /// use forage_fs::{Globs, RelPath};
    ///
    /// let globs = Globs::new(&["*.rs", "!tests/**"])?;
    /// let path = |text| RelPath::parse(text, &RelPath::root()).unwrap();
    /// assert!(globs.choose(&path("src/lib.rs")));
    /// assert!(!globs.choose(&path("src/lib.py")));
    /// # Ok::<(), String>(())
    /// ```
    pub fn new<S: AsRef<str>>(globs: &[S]) -> Result<Self, String> {
        Self::below(&RelPath::root(), globs, &[])
    }

    /// Compiles globs whose slashes are relative to the directory `base`. Those in `any_case` ignore case.
    ///
    /// # Errors
    ///
    /// Fails with a message that names the invalid glob.
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
        // Globs count as equal if their sources are, so these must include the base.
        source.push((base.to_string_lossy().into_owned(), false));
        Ok(Self { matcher, source, label: Arc::from("globs"), outside: None, among: None })
    }

    /// Selects the files of a set, or those among them that the globs select.
    #[must_use]
    pub fn among(globs: Option<Self>, files: &Arc<FileSet>) -> Self {
        let matcher = || Self {
            matcher: Override::empty(),
            source: Vec::new(),
            label: Arc::from("globs"),
            outside: None,
            among: None,
        };
        Self { among: Some(Arc::clone(files)), ..globs.unwrap_or_else(matcher) }
    }

    /// Sets the name of the globs' origin, which appears in [`Entry::hidden_by`](crate::Entry) and in
    /// messages.
    #[must_use]
    pub fn labelled(self, label: &str) -> Self {
        Self { label: Arc::from(label), ..self }
    }

    /// Returns the name of their origin as set by [`Globs::labelled`]. The default is `globs`.
    pub fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Adapts the globs to a walk that begins outside of their base directory. As in ripgrep, all of its
    /// paths then begin with the way out, e.g. `../..`. Globs that start at the base directory match none of
    /// them.
    #[must_use]
    pub fn from_outside(self, base: &RelPath) -> Self {
        let outside: PathBuf = base.names().map(|_| "..").collect();
        let source = [self.source, vec![(outside.to_string_lossy().into_owned(), false)]].concat();
        Self { outside: Some(outside), source, ..self }
    }

    /// Matches a path below the root.
    fn matched(&self, path: &Path, is_directory: bool) -> ignore::Match<ignore::overrides::Glob<'_>> {
        match &self.outside {
            Some(outside) => self.matcher.matched(outside.join(path), is_directory),
            None => self.matcher.matched(path, is_directory),
        }
    }

    /// Returns true if a walk with these globs as [`WalkOptions::only`] visits a file.
    pub fn choose(&self, file: &RelPath) -> bool {
        let Some(path) = os_str(file.as_bytes()) else { return false };
        !self.passes_over(Path::new(&*path), false) && !self.leave_out(file)
    }

    /// Returns true if a walk with these globs as [`WalkOptions::only`] skips a name: a file that they do not
    /// select, or a directory that they exclude.
    fn passes_over(&self, path: &Path, is_directory: bool) -> bool {
        if let Some(among) = &self.among {
            let below = path.as_os_str();
            let Some(below) =
                os_bytes(below).and_then(|below| RelPath::from_bytes(&below, &RelPath::root()).ok())
            else {
                return true;
            };
            if !among.leads_to(&below, is_directory) {
                return true;
            }
            // Without globs, the set alone decides.
            if self.matcher.is_empty() {
                return false;
            }
        }
        let matched = self.matched(path, is_directory);
        if is_directory { matched.is_ignore() } else { !matched.is_whitelist() }
    }

    /// Returns true if a walk with these globs as [`WalkOptions::excludes`] leaves out a file, or a directory
    /// that contains it.
    pub fn leave_out(&self, file: &RelPath) -> bool {
        let Some(path) = os_str(file.as_bytes()) else { return false };
        let path = Path::new(&*path);
        let is_left_out = |path, is_directory| self.matched(path, is_directory).is_ignore();
        is_left_out(path, false)
            || path
                .ancestors()
                .skip(1)
                .take_while(|above| *above != Path::new(""))
                .any(|above| is_left_out(above, true))
    }
}

/// Looks up the glob of a file type by its ripgrep name, for example `rust` or `py`.
pub fn glob_of_type(name: &str) -> Option<String> {
    let definitions = TypesBuilder::new().add_defaults().definitions();
    let definition = definitions.iter().find(|definition| definition.name() == name.trim())?;
    Some(match definition.globs() {
        [one] => one.clone(),
        several => format!("{{{}}}", several.join(",")),
    })
}

/// File types, selected as with ripgrep's `-t` and `-T`.
#[derive(Clone, Debug)]
pub struct FileTypes {
    matcher: Types,
    source: Vec<(String, bool)>,
}

impl FileTypes {
    /// Selects types by name, or excludes those with the flag set. If a file has several types, the last one
    /// decides.
    ///
    /// # Errors
    ///
    /// Fails with a message that names an unknown type.
    pub fn new(chosen: &[(&str, bool)]) -> Result<Self, String> {
        let mut builder = TypesBuilder::new();
        builder.add_defaults();
        for (name, is_left_out) in chosen {
            if *is_left_out {
                builder.negate(name)
            } else {
                builder.select(name)
            };
        }
        let matcher = builder.build().map_err(|error| error.to_string())?;
        let source = chosen.iter().map(|(name, is_left_out)| ((*name).to_owned(), *is_left_out)).collect();
        Ok(Self { matcher, source })
    }

    /// Combines the verdict of the ignore rules with the types. Returns `None` for a file that its type
    /// excludes.
    fn choose(&self, path: &Path, is_directory: bool, verdict: IgnoreVerdict) -> Option<IgnoreVerdict> {
        match self.matcher.matched(path, is_directory) {
            ignore::Match::Ignore(_) => None,
            // A hidden file of a selected type must not be left out.
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
        self.source == other.source && self.among == other.among
    }
}

const PRUNED: &[&str] = &[".git"];

/// Directories of dependencies, caches and editors, which are large and rarely relevant. If an ignore file
/// mentions one of them, its rule decides; a negated rule (`!node_modules`) includes it. We leave output
/// directories, for example `target` or `build`, and `vendor` or `venv` to the ignore rules, because source
/// directories have these names too.
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

/// Options of a walk. The defaults are ripgrep's: apply ignore rules, skip hidden names and links.
#[derive(Clone, Debug)]
pub struct WalkOptions {
    /// Visit names that begin with a dot.
    pub hidden: bool,
    /// Do not read ignore files.
    pub no_ignore: bool,
    /// Read only the ignore files that git knows, not `.ignore` and `.rgignore`. This can't be combined with
    /// a snapshot.
    pub only_git_rules: bool,
    /// Follow links that stay within the root.
    pub follow: bool,
    /// Maximum depth below the start; 1 means the start's own entries.
    pub max_depth: usize,
    /// Select files, overriding the ignore rules. Paths are matched relative to the root.
    pub globs: Option<Globs>,
    /// Select files among those that the rules allow. Unlike `globs`, this never includes files that the
    /// rules exclude.
    pub only: Option<Globs>,
    /// Select files by type among those that the rules allow, including hidden files of the type.
    pub types: Option<FileTypes>,
    /// Exclude files that match these globs, whatever else selects them.
    pub excludes: Option<Globs>,
    /// Directories to leave out without counting them. They are searched separately.
    pub apart: Vec<RelPath>,
    /// Names of directories that are never entered.
    pub prune: &'static [&'static str],
    /// Names of directories that are left out as if by a rule, unless an ignore rule decides otherwise or a
    /// glob selects them. With `no_ignore` they are entered, and with `label_hidden` their content gets the
    /// label.
    pub noise: &'static [&'static str],
    /// Visit directories and links too, not only files.
    pub all_entries: bool,
    /// Visit ignored and hidden files too, with the reason in [`Entry::hidden_by`].
    pub label_hidden: bool,
    /// Visit only what is hidden in these directories. This requires `label_hidden`, and the report of an
    /// earlier walk without it.
    pub only_hidden: Option<Arc<ExcludingDirectories>>,
    /// Skip everything before this path, as if it had been visited.
    pub from: Option<RelPath>,
    /// The directories that an earlier walk found. Unchanged ones are not listed again.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Number of worker threads; 0 means one per processor.
    pub threads: usize,
    /// A counter of visited files that is updated during the walk, to show progress.
    pub progress: Option<Arc<AtomicU64>>,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self {
            hidden: false,
            no_ignore: false,
            only_git_rules: false,
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
    /// Returns true if the result of a walk from the root can be stored in a [`FileListing`].
    fn can_be_listed(&self) -> bool {
        let Self { follow, max_depth, prune, all_entries, from, only_hidden, types, .. } = self;
        let is_whole = from.is_none() && only_hidden.is_none() && types.is_none() && !self.only_git_rules;
        is_whole && !follow && !all_entries && *max_depth == limits::WALK_DEPTH && *prune == PRUNED
    }

    /// Returns true if only rules and names decide whether a file is visited.
    fn is_plain(&self) -> bool {
        let Self { from, excludes, globs, types, label_hidden, .. } = self;
        from.is_none() && excludes.is_none() && globs.is_none() && types.is_none() && !label_hidden
    }

    /// Returns true if a walk with the other options visits the same files and has the same counts.
    fn same_traversal(&self, other: &Self) -> bool {
        let chosen =
            |options: &Self| (options.hidden, options.no_ignore, options.label_hidden, options.noise);
        let fixed = |options: &Self| {
            let Self { follow, max_depth, prune, all_entries, only_git_rules, .. } = options;
            (*follow, *max_depth, *prune, *all_entries, *only_git_rules)
        };
        (chosen(self), fixed(self), &self.from) == (chosen(other), fixed(other), &other.from)
            && (&self.globs, &self.only, &self.excludes) == (&other.globs, &other.only, &other.excludes)
            && (&self.apart, &self.types) == (&other.apart, &other.types)
    }

    /// Returns the number of worker threads, with 0 replaced by the number of processors.
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
    /// A regular file, or a link to one if links are followed.
    File,
    /// A directory.
    Directory,
    /// A link that is not followed.
    Symlink,
}

impl EntryKind {
    pub(crate) fn from_node(kind: NodeKind) -> Option<Self> {
        match kind {
            NodeKind::File => Some(Self::File),
            NodeKind::Directory => Some(Self::Directory),
            NodeKind::Symlink => Some(Self::Symlink),
            NodeKind::Special => None,
        }
    }
}

/// The decision whether to visit a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VisitDecision {
    /// Visit it.
    Visit,
    /// Do not visit it, and count it with this reason, if there is one.
    Skip(Option<SkipReason>),
}

/// The result of visiting an entry.
#[derive(Debug)]
pub enum WalkStep<T> {
    /// There is no result.
    Nothing,
    /// A result, and its weight in bytes while it waits for earlier ones.
    Item(T, usize),
}

/// The report of a walk: the entries visited and left out, and how it ended.
#[derive(Debug, Default)]
pub struct WalkReport {
    /// Counts of entries left out, by reason, up to the point where the walk ended.
    pub skipped: Skipped,
    /// Number of files visited.
    pub visited: u64,
    /// Number of these that could not be read.
    pub visited_unreadable: u64,
    /// The directories in which ignored or hidden entries were left out.
    pub hiding: ExcludingDirectories,
    /// Names of directories that were pruned, in order.
    pub pruned: Vec<String>,
    /// Warnings, at most [`limits::WARNINGS_KEPT`].
    pub warnings: Vec<String>,
    /// Number of further warnings.
    pub more_warnings: u64,
    /// The first files and directories that could not be read, at most [`limits::WARNINGS_KEPT`], each with
    /// the system error. [`SkipReason::Unreadable`] counts all of them.
    pub unreadable: Vec<String>,
    /// Why the walk ended early, if it did.
    pub stopped: Option<Stopped>,
    /// True if the receiver ended the walk.
    pub broke_off: bool,
    /// True if the maximum number of entries was reached.
    pub too_many_entries: bool,
}

impl WalkReport {
    /// Computes the number of files whose text was searched. These are the visited files, except for those
    /// that were skipped afterwards.
    pub fn searched(&self) -> u64 {
        let skipped: u64 = SkipReason::UNREAD.iter().map(|reason| self.skipped.get(*reason)).sum();
        self.visited.saturating_sub(skipped + self.visited_unreadable)
    }

    /// Adds the report of a walk that continued in the file in which this one ended. Both have counted that
    /// file.
    pub fn append(&mut self, next: Self) {
        self.visited += next.visited.saturating_sub(1);
        self.visited_unreadable += next.visited_unreadable;
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

/// Walks from `start` with one `worker` state per thread.
///
/// `visit` runs in parallel. `receive` gets the results one by one in path order, and ends the walk with
/// [`ControlFlow::Break`]. If the start is a file, it is visited regardless of the rules.
///
/// # Errors
///
/// Fails if `start` can't be opened.
pub fn walk<W, T: Send>(
    root: &Arc<Root>,
    start: &RelPath,
    options: &WalkOptions,
    stop: &Stop,
    worker: impl Fn() -> W + Sync,
    visit: impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> WalkStep<T> + Sync,
    receive: impl FnMut(T) -> ControlFlow<()> + Send,
) -> Result<WalkReport, OpenError> {
    Walk { root, start, options, stop }.dismissing(
        worker,
        |_: &mut W, _| VisitDecision::Visit,
        visit,
        receive,
    )
}

/// The parameters of a [`walk`].
pub struct Walk<'a> {
    /// The root.
    pub root: &'a Arc<Root>,
    /// The path at which to begin, relative to the root.
    pub start: &'a RelPath,
    /// The options.
    pub options: &'a WalkOptions,
    /// The deadline and cancellation of the walk.
    pub stop: &'a Stop,
}

impl Walk<'_> {
    /// Walks, but asks `dismiss` before visiting a file of the snapshot. Files that it dismisses still count
    /// as visited.
    pub fn dismissing<W, T: Send>(
        self,
        worker: impl Fn() -> W + Sync,
        dismiss: impl Fn(&mut W, &PendingFile<'_>) -> VisitDecision + Sync,
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
