//! Lists one directory of a walk and decides which names are visited or left out, and why.
//!
//! Walked, snapshot and watched trees share this decision.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::entry::{Entry, EntryBatch, FoundEntry, Item, PendingFile, hand_out};
use super::frontier;
use super::rules::Rules;
use super::snapshot::{DirectoryState, Recorder, SnapshotName};
use super::worktree;
use super::{EntryKind, VisitDecision, WalkOptions, WalkStep};
use crate::error::OpenError;
use crate::ignore_rules::{IgnoreRules, IgnoreVerdict, RuleBudget};
use crate::limits;
use crate::rel_path::{RelPath, os_str};
use crate::root::Root;
use crate::skipped::{SkipReason, Skipped};
use crate::sys::{self, Directory, FileNode, NodeKind};
use forage_base::Stop;

/// The label of entries that are left out because of a leading dot.
pub(super) const HIDDEN: &str = "a name that begins with a dot";

/// The end of the label of entries in a directory of [`super::NOISE`].
pub(super) const NOT_ENTERED: &str = ", a directory that is not entered by default";

/// The work of one task.
#[derive(Debug)]
pub(super) enum ListWork<'a> {
    List(RelPath, Arc<SharedDirectory>),
    Visit(EntryBatch<'a>),
}

type ListTask<'a> = frontier::WalkTask<ListWork<'a>>;
type ListOutput<'a, T> = frontier::TaskOutput<T, ListWork<'a>>;

/// The names in a directory.
pub(super) struct NameBuffer {
    pub(super) nodes: Vec<FileNode>,
    /// The state of the directory before it was listed, if it is recorded.
    pub(super) before: Option<DirectoryState>,
}

/// A name that a walk encounters.
#[derive(Clone)]
struct WalkedName<'n, 's> {
    name: &'n [u8],
    kind: NodeKind,
    /// The entry of the snapshot.
    seen: Option<&'n SnapshotName<'s>>,
}

/// Properties shared by the entries of one directory.
#[derive(Debug)]
pub(super) struct SharedDirectory {
    rules: Arc<Rules>,
    /// The directory's resolved path if it was reached through a link.
    real: Option<RelPath>,
    depth: usize,
    pub(super) hidden_by: Option<Arc<str>>,
    /// The identities of the directories above, to detect cycles of followed links.
    above: Vec<(u64, u64)>,
}

/// The fixed parameters of a walk.
pub(super) struct ListPlan<'a> {
    root: &'a Arc<Root>,
    options: &'a WalkOptions,
    budget: Arc<RuleBudget>,
    start: RelPath,
    start_work: ListStart,
    rules: Arc<Rules>,
    warnings: Vec<String>,
    recorder: Option<&'a Recorder>,
    kept_open: Arc<AtomicUsize>,
}

struct ListStart {
    is_directory: bool,
    real: Option<RelPath>,
}

/// Lists the names in a directory. Returns `None` if the call must end before all are listed.
fn list_within(directory: &Directory, stop: &Stop) -> io::Result<Option<Vec<FileNode>>> {
    let mut stopped = false;
    let nodes = sys::list_while(directory, &mut |names| {
        stopped = names % limits::NAMES_PER_LOOK == 0 && stop.check().is_some();
        !stopped
    })?;
    Ok((!stopped).then_some(nodes))
}

impl<'a> ListPlan<'a> {
    pub(super) fn new(
        root: &'a Arc<Root>,
        start: &RelPath,
        options: &'a WalkOptions,
        stop: &Stop,
    ) -> Result<Self, OpenError> {
        let (real, kind) = root.resolve(start)?;
        if kind == NodeKind::Special {
            return Err(OpenError::NotRegular { path: start.display().into_owned() });
        }
        let budget = Arc::new(RuleBudget::new(stop));
        let mut warnings = Vec::new();
        let mut rules = IgnoreRules::none(root.inside_git(), options.only_git_rules);
        let mut held = Rules::above(&rules);
        // The walk itself does not list the directories from the root down to the start, so we must read
        // their rules here.
        if !options.no_ignore {
            let mut above = RelPath::root();
            for name in start.names() {
                if let Ok(directory) = sys::open_directory(root.handle(), &above)
                    && let Ok(nodes) = sys::list(&directory)
                {
                    rules = rules
                        .descend(&above, &directory, &nodes, &budget, &mut |warning| warnings.push(warning));
                    held = held.below(&above, &rules);
                } else {
                    held = held.below_unknown(&above, &rules);
                }
                above = above.join(name);
            }
        }
        let real = (real != *start).then_some(real);
        let start_work = ListStart { is_directory: kind == NodeKind::Directory, real };
        let (start, rules) = (start.clone(), held);
        let (recorder, kept_open) = (None, Arc::default());
        Ok(Self { root, options, budget, start, start_work, rules, warnings, recorder, kept_open })
    }

    /// Creates a plan for a walk from the root that shares a budget.
    pub(super) fn with_budget(
        root: &'a Arc<Root>,
        options: &'a WalkOptions,
        budget: &Arc<RuleBudget>,
    ) -> Self {
        Self {
            root,
            options,
            budget: Arc::clone(budget),
            start: RelPath::root(),
            start_work: ListStart { is_directory: true, real: None },
            rules: Rules::above(&IgnoreRules::none(root.inside_git(), options.only_git_rules)),
            warnings: Vec::new(),
            recorder: None,
            kept_open: Arc::default(),
        }
    }

    /// Sets the recorder of the directories that the walk lists.
    pub(super) fn recording(self, recorder: &'a Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Creates the shared properties of the start.
    pub(super) fn place(&self) -> Arc<SharedDirectory> {
        Arc::new(SharedDirectory {
            rules: Arc::clone(&self.rules),
            real: self.start_work.real.clone(),
            depth: 0,
            hidden_by: None,
            above: Vec::new(),
        })
    }

    pub(super) fn first_task(&self) -> ListTask<'a> {
        let ListStart { is_directory, real } = &self.start_work;
        let work = if *is_directory {
            ListWork::List(self.start.clone(), self.place())
        } else {
            let found = FoundEntry { real: real.clone(), ..FoundEntry::file(self.start.clone()) };
            let path = self.start.parent().unwrap_or_else(RelPath::root);
            ListWork::Visit(EntryBatch::new(path, vec![Item::Found(found)]))
        };
        ListTask { key: (self.start.clone(), *is_directory), work }
    }

    /// Runs a task. Files of a snapshot that `dismiss` rejects are not visited.
    pub(super) fn run<W, T>(
        &self,
        state: &mut W,
        task: ListTask<'a>,
        stop: &Stop,
        dismiss: &impl Fn(&mut W, &PendingFile<'_>) -> VisitDecision,
        visit: &impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> WalkStep<T>,
    ) -> ListOutput<'a, T> {
        let mut done = ListOutput::default();
        match task.work {
            ListWork::List(path, place) => {
                if path == self.start {
                    done.warnings.extend(self.warnings.iter().cloned());
                }
                self.list(&path, &place, state, stop, dismiss, &mut done);
                done.hiding.note(&path, &done.skipped);
            }
            ListWork::Visit(batch) => {
                let files = batch.len();
                let rest = batch.visit(self.root, state, stop, &mut done, dismiss, visit);
                self.options.report_progress(files - rest.as_ref().map_or(0, EntryBatch::len));
                done.tasks.extend(
                    rest.and_then(|batch| Some(ListTask { key: batch.key()?, work: ListWork::Visit(batch) })),
                );
            }
        }
        done
    }

    fn list<W, T>(
        &self,
        path: &RelPath,
        place: &Arc<SharedDirectory>,
        state: &mut W,
        stop: &Stop,
        dismiss: &impl Fn(&mut W, &PendingFile<'_>) -> VisitDecision,
        done: &mut ListOutput<'a, T>,
    ) {
        let listed = if let Some((directory, names, rules)) = self.seen(path, place) {
            let names =
                names.iter().map(|seen| WalkedName { name: seen.name, kind: seen.kind, seen: Some(seen) });
            if let Some(above) = self.enter(place, &directory, done)
                && let Some(place) = self.within_worktree(path, place, names.clone(), &directory, done)
            {
                self.add_tasks(path, &place.inner(rules, above), names, stop, done);
                self.leave_out_next(&directory, state, dismiss, done);
            }
            Ok(directory)
        } else {
            let opened = sys::open_directory(self.root.handle(), place.real.as_ref().unwrap_or(path));
            opened.and_then(|directory| {
                if let Some(system) = self.root.kernel_file_system(&directory) {
                    done.leave_out_kernels(path, system);
                    return Ok(directory);
                }
                let before = self.recorder.map(|recorder| recorder.before(&directory));
                let Some(nodes) = list_within(&directory, stop)? else {
                    done.stopped = stop.check();
                    return Ok(directory);
                };
                self.list_nodes(path, place, NameBuffer { nodes, before }, &directory, stop, done);
                Ok(directory)
            })
        };
        match listed {
            Ok(directory) => {
                let is_next = done.tasks.first().is_some_and(|task| matches!(task.work, ListWork::Visit(_)));
                let batches = done.tasks.iter_mut().filter_map(|task| match &mut task.work {
                    ListWork::Visit(batch) => Some(batch),
                    ListWork::List(..) => None,
                });
                hand_out(directory, batches.collect(), is_next, &self.kept_open);
            }
            Err(error) => {
                done.skipped.add(SkipReason::Unreadable);
                done.unreadable.push(format!("{} can't be listed: {error}", path.display()));
            }
        }
    }

    /// Removes the files that need not be visited from the following batches, while their directory is open.
    /// In most directories no file is left.
    fn leave_out_next<W, T>(
        &self,
        directory: &Directory,
        state: &mut W,
        dismiss: &impl Fn(&mut W, &PendingFile<'_>) -> VisitDecision,
        done: &mut ListOutput<'a, T>,
    ) {
        // The following batches will not run, so we must not count them.
        if done.stopped.is_some() {
            return;
        }
        let mut tasks = std::mem::take(&mut done.tasks);
        if let Some(ListTask { work: ListWork::Visit(batch), .. }) = tasks.first_mut() {
            let files = batch.len();
            batch.leave_out(self.root, directory, state, done, dismiss);
            let left = batch.len();
            self.options.report_progress(files - left);
            if left == 0 {
                tasks.remove(0);
            }
        }
        done.tasks = tasks;
    }

    /// Looks up a directory and its rules in the snapshot. Returns `None` if anything about it has changed.
    fn seen(
        &self,
        path: &RelPath,
        place: &SharedDirectory,
    ) -> Option<(Directory, Vec<SnapshotName<'a>>, Arc<Rules>)> {
        let snapshot = self.options.snapshot.as_ref()?.loaded()?;
        if place.real.is_some() {
            return None;
        }
        let device = self.root.device_with_directory_states()?;
        let record = snapshot.record(path)?;
        // A directory that can't be opened here can't be listed either, and the error is reported there.
        let directory = sys::open_for_names(self.root.handle(), path).ok()?;
        // This also excludes other file systems, since their directories are on another device.
        if !record.names_are_same(&directory, device) {
            return None;
        }
        let mut rules = Arc::clone(&place.rules);
        if !self.options.no_ignore {
            if !place.rules.are_those_of(snapshot, self.root) {
                return None;
            }
            // The names are unchanged, so no rule file was added.
            if record.has_rules() {
                if !record.rules_are_same(&directory, device) {
                    return None;
                }
                rules = rules.below_unread(path);
            }
        }
        let names = record.names()?;
        // This must come last, so that a directory that is listed after all is not charged twice.
        self.budget.take(record.cost()).then_some((directory, names, rules))
    }

    /// Lists an open directory with these names.
    pub(super) fn list_nodes<T>(
        &self,
        path: &RelPath,
        place: &Arc<SharedDirectory>,
        names: NameBuffer,
        directory: &Directory,
        stop: &Stop,
        done: &mut ListOutput<'a, T>,
    ) {
        let NameBuffer { mut nodes, before } = names;
        let Some(above) = self.enter(place, directory, done) else { return };
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // A name can be listed twice if it is renamed at the same time.
        nodes.dedup_by(|a, b| a.name == b.name);
        let mut rules = Arc::clone(&place.rules);
        if !self.options.no_ignore {
            let own = Arc::new(RuleBudget::part_of(&self.budget));
            let warn = &mut |warning| done.warnings.push(warning);
            let above = place.rules.compiled(self.root, &self.budget, warn);
            let here = above.descend(path, directory, &nodes, &own, warn);
            // With a snapshot, the absence of rules matters too.
            if self.options.snapshot.is_some() || !Arc::ptr_eq(&above, &here) {
                rules = rules.below(path, &here);
            }
            // With a record, the next walk would not read these rules and so not repeat their warnings.
            if let (Some(recorder), Some(before)) = (self.recorder, before)
                && done.warnings.is_empty()
            {
                recorder.add(path, directory, before, &nodes, &here, own.taken());
            }
        }
        let names = nodes.iter().map(|node| WalkedName { name: &node.name, kind: node.kind, seen: None });
        if let Some(place) = self.within_worktree(path, place, names.clone(), directory, done) {
            self.add_tasks(path, &place.inner(rules, above), names, stop, done);
        }
    }

    /// Derives the shared properties of the entries of a directory. Returns `None` if this is another
    /// worktree of the root's repository that was not requested explicitly.
    fn within_worktree<'n, T>(
        &self,
        path: &RelPath,
        place: &Arc<SharedDirectory>,
        mut names: impl Iterator<Item = WalkedName<'n, 'a>>,
        directory: &Directory,
        done: &mut ListOutput<'a, T>,
    ) -> Option<Arc<SharedDirectory>>
    where
        'a: 'n,
    {
        let is_meant = *path == self.start || self.options.no_ignore || self.options.noise.is_empty();
        if is_meant
            || !names.any(|met| met.kind == NodeKind::File && met.name == worktree::GIT)
            || !worktree::is_of_root(self.root, path, directory)
        {
            return Some(Arc::clone(place));
        }
        if self.options.label_hidden {
            let hidden_by = Some(place.hidden_by.clone().unwrap_or_else(|| Arc::from(worktree::LABEL)));
            return Some(Arc::new(SharedDirectory { hidden_by, ..place.copy() }));
        }
        done.skipped.add(SkipReason::Pruned);
        done.pruned.push(String::from_utf8_lossy(path.file_name()).into_owned());
        None
    }

    /// Collects the identities of the directories above the entries. Returns `None` if a followed link forms
    /// a cycle.
    fn enter<T>(
        &self,
        place: &SharedDirectory,
        directory: &Directory,
        done: &mut ListOutput<'a, T>,
    ) -> Option<Vec<(u64, u64)>> {
        let mut above = place.above.clone();
        if self.options.follow
            && let Some(identity) = sys::identity(directory)
        {
            if above.contains(&identity) {
                done.skipped.add(SkipReason::Symlink);
                return None;
            }
            above.push(identity);
        }
        Some(above)
    }

    /// Adds the tasks for a directory with these names.
    fn add_tasks<'n, T>(
        &self,
        path: &RelPath,
        here: &Arc<SharedDirectory>,
        names: impl ExactSizeIterator<Item = WalkedName<'n, 'a>>,
        stop: &Stop,
        done: &mut ListOutput<'a, T>,
    ) where
        'a: 'n,
    {
        done.entries += names.len() as u64;
        let mut items: Vec<Item<'a>> = Vec::new();
        let flush = |items: &mut Vec<Item<'a>>, done: &mut ListOutput<'a, T>| {
            let batch = EntryBatch::new(path.clone(), std::mem::take(items));
            done.tasks.extend(batch.key().map(|key| ListTask { key, work: ListWork::Visit(batch) }));
        };
        for (number, met) in names.enumerate() {
            if number % limits::NAMES_PER_LOOK == limits::NAMES_PER_LOOK - 1
                && let Some(stopped) = stop.check()
            {
                done.stopped = Some(stopped);
                return;
            }
            if let Some(seen) = met.seen
                && let Some(dismissal) = self.dismissal(path, seen, here)
            {
                match dismissal {
                    VisitDecision::Visit => items.push(Item::Name(seen.name)),
                    VisitDecision::Skip(reason) => {
                        reason.into_iter().for_each(|reason| done.skipped.add(reason))
                    }
                }
                if items.len() >= limits::WALK_BATCH_FILES {
                    flush(&mut items, done);
                }
                continue;
            }
            // Following a link costs as much as many files.
            if met.kind == NodeKind::Symlink
                && let Some(stopped) = stop.check()
            {
                done.stopped = Some(stopped);
                return;
            }
            let Some(found) = self.choose(path, &met, here, done) else { continue };
            let directory_task = (found.kind == EntryKind::Directory).then(|| {
                let mut place = SharedDirectory {
                    real: found.real.clone(),
                    hidden_by: found.hidden_by.clone(),
                    ..here.copy()
                };
                place.depth = here.depth;
                ListTask {
                    key: (found.path.clone(), true),
                    work: ListWork::List(found.path.clone(), Arc::new(place)),
                }
            });
            if found.kind == EntryKind::File || self.options.all_entries {
                items.push(Item::Found(found));
            }
            match directory_task {
                Some(task) if here.depth < self.options.max_depth => {
                    // The files before the directory come first in path order, so they need a batch of their
                    // own.
                    flush(&mut items, done);
                    done.tasks.push(task);
                }
                Some(_) if !self.options.all_entries => done.skipped.add(SkipReason::TooDeep),
                _ if items.len() >= limits::WALK_BATCH_FILES => flush(&mut items, done),
                _ => {}
            }
        }
        flush(&mut items, done);
    }

    /// Decides whether to visit a file of a snapshot. Returns `None` if the snapshot is not sufficient to
    /// decide.
    fn dismissal(
        &self,
        parent: &RelPath,
        seen: &SnapshotName<'a>,
        here: &SharedDirectory,
    ) -> Option<VisitDecision> {
        if seen.kind != NodeKind::File
            || !self.options.is_plain()
            || here.hidden_by.is_some()
            || self.root.holds_kernels()
        {
            return None;
        }
        if let Some(only) = &self.options.only {
            let path = parent.join(seen.name);
            let path = os_str(path.as_bytes())?;
            if only.passes_over(Path::new(&*path), false) {
                return Some(VisitDecision::Skip(None));
            }
        }
        let verdict = if self.options.no_ignore { &IgnoreVerdict::Nothing } else { &seen.verdict };
        Some(match self.reason(verdict, seen.name) {
            None => VisitDecision::Visit,
            reason => VisitDecision::Skip(reason),
        })
    }

    /// Returns the reason for leaving out a name with this verdict, if there is one.
    fn reason(&self, verdict: &IgnoreVerdict, name: &[u8]) -> Option<SkipReason> {
        match verdict {
            IgnoreVerdict::Ignored => Some(SkipReason::Ignored),
            IgnoreVerdict::Nothing if name.first() == Some(&b'.') && !self.options.hidden => {
                Some(SkipReason::Hidden)
            }
            IgnoreVerdict::Kept | IgnoreVerdict::Nothing => None,
        }
    }

    /// Decides whether a name is visited, and as which kind of entry.
    fn choose<T>(
        &self,
        parent: &RelPath,
        met: &WalkedName<'_, 'a>,
        here: &SharedDirectory,
        done: &mut ListOutput<'a, T>,
    ) -> Option<FoundEntry> {
        let path = parent.join(met.name);
        if self.options.from.as_ref().is_some_and(|from| path < *from && !from.starts_with(&path)) {
            return None;
        }
        let mut real = here.real.as_ref().map(|real| real.join(met.name));
        let mut kind = met.kind;
        if kind == NodeKind::Symlink && self.options.follow {
            (kind, real) = self.follow(&path, done)?;
        }
        let is_directory = kind == NodeKind::Directory;
        if self.root.is_kernels(&path) {
            done.leave_out_kernels(&path, &String::from_utf8_lossy(met.name));
            return None;
        }
        if is_directory && self.options.prune.iter().any(|name| name.as_bytes() == met.name) {
            done.skipped.add(SkipReason::Pruned);
            done.pruned.push(String::from_utf8_lossy(met.name).into_owned());
            return None;
        }
        // A followed link has the verdict of its target.
        let seen = met.seen.filter(|_| kind == met.kind);
        let verdict = seen.map(|seen| seen.verdict.clone());
        let hidden_by = match self.left_out(&path, is_directory, verdict, here, done) {
            None => here.hidden_by.clone(),
            Some((_, Some(label))) => Some(here.hidden_by.clone().unwrap_or(label)),
            Some((reason, None)) => {
                if let Some(reason) = reason {
                    done.skipped.add(reason);
                }
                if reason == Some(SkipReason::Pruned) {
                    done.pruned.push(String::from_utf8_lossy(met.name).into_owned());
                }
                return None;
            }
        };
        if hidden_by.is_none()
            && let Some(hiding) = &self.options.only_hidden
            && !(is_directory && hiding.leads_to(&path))
        {
            return None;
        }
        let Some(kind) = EntryKind::from_node(kind) else {
            done.skipped.add(SkipReason::Special);
            return None;
        };
        if kind == EntryKind::Symlink && !self.options.all_entries {
            // If the target is within the root, it is visited under its own name.
            done.skipped.add(reason_of_link(self.root, &path));
            done.links.push(path);
            return None;
        }
        Some(FoundEntry { path, kind, real, hidden_by, number: None })
    }

    /// Applies the rules to a name. Returns the reason to count, which is `None` for a glob that does not
    /// select the name, and the label under which it is visited nevertheless.
    fn left_out<T>(
        &self,
        path: &RelPath,
        is_directory: bool,
        verdict: Option<IgnoreVerdict>,
        here: &SharedDirectory,
        done: &mut ListOutput<'a, T>,
    ) -> Option<(Option<SkipReason>, Option<Arc<str>>)> {
        if is_directory && self.options.apart.contains(path) {
            return Some((None, None));
        }
        let os_path = os_str(path.as_bytes())?;
        if let Some(only) = &self.options.only
            && only.passes_over(Path::new(&*os_path), is_directory)
        {
            return Some((None, None));
        }
        if let Some(excludes) = &self.options.excludes
            && excludes.matched(Path::new(&*os_path), is_directory).is_ignore()
        {
            let label = self.options.label_hidden.then(|| Arc::clone(excludes.label()));
            return Some((Some(SkipReason::Ignored), label));
        }
        if let Some(globs) = &self.options.globs {
            match globs.matched(Path::new(&*os_path), is_directory) {
                ignore::Match::Ignore(_) => return Some((None, None)),
                ignore::Match::Whitelist(_) => return None,
                ignore::Match::None => {}
            }
        }
        let mut rules =
            || here.rules.compiled(self.root, &self.budget, &mut |warning| done.warnings.push(warning));
        let verdict = match verdict {
            _ if self.options.no_ignore => IgnoreVerdict::Nothing,
            Some(verdict) => verdict,
            None => rules().verdict(path, is_directory),
        };
        let verdict = match &self.options.types {
            Some(types) => types.choose(Path::new(&*os_path), is_directory, verdict),
            None => Some(verdict),
        };
        let Some(verdict) = verdict else { return Some((None, None)) };
        let is_noise = || {
            let name = path.file_name();
            let is_listed = self.options.noise.iter().any(|noise| noise.as_bytes() == name);
            is_directory && is_listed && verdict == IgnoreVerdict::Nothing && !self.options.no_ignore
        };
        let reason =
            self.reason(&verdict, path.file_name()).or_else(|| is_noise().then_some(SkipReason::Pruned))?;
        let label = match reason {
            SkipReason::Pruned => {
                let name = String::from_utf8_lossy(path.file_name());
                format!("`{name}`{NOT_ENTERED}")
            }
            SkipReason::Ignored => {
                let rule =
                    self.options.label_hidden.then(|| rules().deciding(path, is_directory).1).flatten();
                rule.unwrap_or_default()
            }
            _ => HIDDEN.to_owned(),
        };
        Some((Some(reason), self.options.label_hidden.then(|| Arc::from(label))))
    }

    fn follow<T>(&self, path: &RelPath, done: &mut ListOutput<'a, T>) -> Option<(NodeKind, Option<RelPath>)> {
        match self.root.resolve(path) {
            Ok((real, kind)) => Some((kind, Some(real))),
            Err(OpenError::OutsideRoot { .. }) => {
                done.skipped.add(SkipReason::OutsideRoot);
                done.warnings.push(format!(
                    "{} is a link that leads outside of the root and was not followed",
                    path.display()
                ));
                None
            }
            Err(error) => {
                done.skipped.add(SkipReason::Unreadable);
                done.unreadable.push(error.to_string());
                None
            }
        }
    }
}

/// Determines why a link that is not followed is left out.
pub(super) fn reason_of_link(root: &Root, path: &RelPath) -> SkipReason {
    // This needs one query instead of three for every name of the path.
    match sys::leads_inside(root.handle(), path) {
        true => SkipReason::Symlink,
        false => reason_of_link_by(root, path, &mut |_| {}),
    }
}

/// Like [`reason_of_link`], but calls `consulted` with every directory on which the result depends.
pub(super) fn reason_of_link_by(
    root: &Root,
    path: &RelPath,
    consulted: &mut dyn FnMut(&RelPath),
) -> SkipReason {
    match root.resolve_by(path, consulted) {
        Err(OpenError::OutsideRoot { .. }) => SkipReason::OutsideRoot,
        _ => SkipReason::Symlink,
    }
}

impl SharedDirectory {
    /// Derives the shared properties for the entries of this directory.
    fn inner(&self, rules: Arc<Rules>, above: Vec<(u64, u64)>) -> Arc<Self> {
        Arc::new(Self {
            rules,
            real: self.real.clone(),
            depth: self.depth + 1,
            hidden_by: self.hidden_by.clone(),
            above,
        })
    }

    fn copy(&self) -> Self {
        Self {
            rules: Arc::clone(&self.rules),
            real: self.real.clone(),
            depth: self.depth,
            hidden_by: self.hidden_by.clone(),
            above: self.above.clone(),
        }
    }
}
