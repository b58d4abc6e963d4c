//! Listing one directory of a walk: which names are visited, which are left out and why.

use std::cell::OnceCell;
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::frontier;
use super::{EntryKind, Step, WalkOptions};
use crate::error::OpenError;
use crate::file::{FileState, OpenedFile};
use crate::ignore_rules::{IgnoreRules, RuleBudget, Verdict};
use crate::limits;
use crate::rel_path::{RelPath, os_str};
use crate::root::Root;
use crate::skipped::{SkipReason, Skipped};
use crate::stop::Stop;
use crate::sys::{self, Directory, Node, NodeKind};

/// A name that a walk visits.
pub struct Entry<'a> {
    /// The path by which it was reached, below the root.
    pub path: RelPath,
    /// What it is.
    pub kind: EntryKind,
    /// Why it would not have been visited without [`WalkOptions::label_hidden`].
    pub hidden_by: Option<Arc<str>>,
    /// Its number in the [`super::Listing`] that is gone through, if one is.
    pub number: Option<u32>,
    root: &'a Root,
    /// The entry's own path, where a followed link leads elsewhere.
    real: Option<RelPath>,
    directory: &'a OnceCell<io::Result<Directory>>,
}

impl Entry<'_> {
    /// Opens the file for reading. What is refused is also counted in `skipped`.
    pub fn open(&self, skipped: &mut Skipped) -> Option<OpenedFile> {
        let real = self.real.as_ref().unwrap_or(&self.path);
        if self.root.secrets().denies(real).is_some() {
            skipped.add(SkipReason::Denied);
            return None;
        }
        let opened = match &self.real {
            Some(real) => self.root.open_resolved(real).map(Some).unwrap_or_default(),
            None => match self.parent() {
                Ok(directory) => sys::open_leaf(directory, self.path.file_name())
                    .and_then(OpenedFile::new)
                    .unwrap_or_default(),
                Err(_) => None,
            },
        };
        if opened.is_none() {
            skipped.add(SkipReason::Unreadable);
        }
        opened
    }

    /// The file's state, without opening it; `None` for what is no file, can't be told or must not be read.
    pub fn state(&self) -> Option<FileState> {
        // What a followed link leads to has a path of its own, under which it is visited too.
        if self.real.is_some() || self.root.secrets().denies(&self.path).is_some() {
            return None;
        }
        sys::state(self.parent().ok()?, self.path.file_name(), self.root.device_with_states()?)
    }

    fn parent(&self) -> Result<&Directory, &io::Error> {
        let parent = || self.path.parent().unwrap_or_else(RelPath::root);
        self.directory.get_or_init(|| sys::open_directory(self.root.handle(), &parent())).as_ref()
    }

    /// The target of a link, as it is written in the link; not for opening.
    pub fn link_target(&self) -> Option<Vec<u8>> {
        sys::link_target(self.parent().ok()?, self.path.file_name()).ok()
    }
}

/// What a task of a walk does.
#[derive(Debug)]
pub(super) enum Work {
    List(RelPath, Arc<Place>),
    /// With the handle of their directory, if it is still open.
    Visit(Vec<Found>, Option<Directory>),
}

type Task = frontier::Task<Work>;
type Done<T> = frontier::Done<T, Work>;

/// What the entries of one directory share.
#[derive(Debug)]
pub(super) struct Place {
    rules: Arc<IgnoreRules>,
    /// The directory's own path where a followed link leads elsewhere.
    real: Option<RelPath>,
    depth: usize,
    pub(super) hidden_by: Option<Arc<str>>,
    /// The directories above, by identity, where links are followed and could lead round in a circle.
    above: Vec<(u64, u64)>,
}

/// A name that is to be visited.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: RelPath,
    pub(super) kind: EntryKind,
    pub(super) real: Option<RelPath>,
    pub(super) hidden_by: Option<Arc<str>>,
    pub(super) number: Option<u32>,
}

/// What is fixed for a whole walk.
pub(super) struct Plan<'a> {
    root: &'a Arc<Root>,
    options: &'a WalkOptions,
    budget: Arc<RuleBudget>,
    start: RelPath,
    start_work: Start,
    rules: Arc<IgnoreRules>,
    warnings: Vec<String>,
}

struct Start {
    is_directory: bool,
    real: Option<RelPath>,
}

impl<'a> Plan<'a> {
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
        let mut rules = IgnoreRules::none(root.inside_git());
        // The rules of the directories from the root down to the start, which the walk itself does not list.
        if !options.no_ignore {
            let mut above = RelPath::root();
            for name in start.names() {
                if let Ok(directory) = sys::open_directory(root.handle(), &above)
                    && let Ok(nodes) = sys::list(&directory)
                {
                    rules = rules
                        .descend(&above, &directory, &nodes, &budget, &mut |warning| warnings.push(warning));
                }
                above = above.join(name);
            }
        }
        let real = (real != *start).then_some(real);
        let start_work = Start { is_directory: kind == NodeKind::Directory, real };
        Ok(Self { root, options, budget, start: start.clone(), start_work, rules, warnings })
    }

    /// From the root, with what is left of this budget.
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
            start_work: Start { is_directory: true, real: None },
            rules: IgnoreRules::none(root.inside_git()),
            warnings: Vec::new(),
        }
    }

    /// What the start is listed with.
    pub(super) fn place(&self) -> Arc<Place> {
        Arc::new(Place {
            rules: Arc::clone(&self.rules),
            real: self.start_work.real.clone(),
            depth: 0,
            hidden_by: None,
            above: Vec::new(),
        })
    }

    pub(super) fn first_task(&self) -> Task {
        let Start { is_directory, real } = &self.start_work;
        let work = if *is_directory {
            Work::List(self.start.clone(), self.place())
        } else {
            let found = Found {
                path: self.start.clone(),
                kind: EntryKind::File,
                real: real.clone(),
                hidden_by: None,
                number: None,
            };
            Work::Visit(vec![found], None)
        };
        Task { key: (self.start.clone(), *is_directory), work }
    }

    pub(super) fn run<T>(
        &self,
        task: Task,
        stop: &Stop,
        visit: impl FnMut(&Entry<'_>, &mut Skipped) -> Step<T>,
    ) -> Done<T> {
        let mut done = Done::default();
        match task.work {
            Work::List(path, place) => {
                if path == self.start {
                    done.warnings.extend(self.warnings.iter().cloned());
                }
                self.list(&path, &place, stop, &mut done);
            }
            Work::Visit(found, directory) => {
                self.options.report_progress(found.len());
                visit_all(self.root, found.into_iter(), directory, stop, &mut done, visit);
            }
        }
        done
    }

    fn list<T>(&self, path: &RelPath, place: &Arc<Place>, stop: &Stop, done: &mut Done<T>) {
        let listed = sys::open_directory(self.root.handle(), place.real.as_ref().unwrap_or(path))
            .and_then(|directory| Ok((sys::list(&directory)?, directory)));
        match listed {
            Ok((nodes, directory)) => {
                self.list_nodes(path, place, nodes, &directory, stop, done);
                // The first batch comes next and needs the directory; later ones open it again, because a handle for
                // each that waits would use them up in a deep tree.
                if let Some(Task { work: Work::Visit(_, handle), .. }) = done.tasks.first_mut() {
                    *handle = Some(directory);
                }
            }
            Err(error) => {
                done.skipped.add(SkipReason::Unreadable);
                done.warnings.push(format!("{} can't be listed: {error}", path.display()));
            }
        }
    }

    /// Lists an open directory with these names.
    pub(super) fn list_nodes<T>(
        &self,
        path: &RelPath,
        place: &Arc<Place>,
        mut nodes: Vec<Node>,
        directory: &Directory,
        stop: &Stop,
        done: &mut Done<T>,
    ) {
        let mut above = place.above.clone();
        if self.options.follow
            && let Some(identity) = sys::identity(directory)
        {
            if above.contains(&identity) {
                done.skipped.add(SkipReason::Symlink);
                return;
            }
            above.push(identity);
        }
        done.entries += nodes.len() as u64;
        let rules = if self.options.no_ignore {
            Arc::clone(&place.rules)
        } else {
            let warn = &mut |warning| done.warnings.push(warning);
            place.rules.descend(path, directory, &nodes, &self.budget, warn)
        };
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // A name can be listed twice while it is renamed.
        nodes.dedup_by(|a, b| a.name == b.name);
        let here = Arc::new(Place {
            rules,
            real: place.real.clone(),
            depth: place.depth + 1,
            hidden_by: place.hidden_by.clone(),
            above,
        });
        let mut batch: Vec<Found> = Vec::new();
        let flush = |batch: &mut Vec<Found>, done: &mut Done<T>| {
            if let Some(first) = batch.first() {
                let key = (first.path.clone(), false);
                done.tasks.push(Task { key, work: Work::Visit(std::mem::take(batch), None) });
            }
        };
        for node in nodes {
            // Following a link costs as much as many files.
            if node.kind == NodeKind::Symlink
                && let Some(stopped) = stop.check()
            {
                done.stopped = Some(stopped);
                return;
            }
            let Some(found) = self.choose(path, node, &here, done) else { continue };
            let directory_task = (found.kind == EntryKind::Directory).then(|| {
                let mut place =
                    Place { real: found.real.clone(), hidden_by: found.hidden_by.clone(), ..here.copy() };
                place.depth = here.depth;
                Task {
                    key: (found.path.clone(), true),
                    work: Work::List(found.path.clone(), Arc::new(place)),
                }
            });
            if found.kind == EntryKind::File || self.options.all_entries {
                batch.push(found);
            }
            match directory_task {
                Some(task) if here.depth < self.options.max_depth => {
                    flush(&mut batch, done);
                    done.tasks.push(task);
                }
                Some(_) if !self.options.all_entries => done.skipped.add(SkipReason::TooDeep),
                _ if batch.len() >= limits::WALK_BATCH_FILES => flush(&mut batch, done),
                _ => {}
            }
        }
        flush(&mut batch, done);
    }

    /// Whether and as what a name is visited.
    fn choose<T>(
        &self,
        parent: &RelPath,
        node: Node,
        here: &Arc<Place>,
        done: &mut Done<T>,
    ) -> Option<Found> {
        let path = parent.join(&node.name);
        if self.options.from.as_ref().is_some_and(|from| path < *from && !from.starts_with(&path)) {
            return None;
        }
        let mut real = here.real.as_ref().map(|real| real.join(&node.name));
        let mut kind = node.kind;
        if kind == NodeKind::Symlink && self.options.follow {
            (kind, real) = self.follow(&path, done)?;
        }
        let is_directory = kind == NodeKind::Directory;
        if self.root.is_kernels(&path) {
            done.skipped.add(SkipReason::Special);
            return None;
        }
        if is_directory && self.options.prune.iter().any(|name| name.as_bytes() == &*node.name) {
            done.skipped.add(SkipReason::Pruned);
            done.pruned.push(String::from_utf8_lossy(&node.name).into_owned());
            return None;
        }
        let hidden_by = match self.left_out(&path, &node.name, is_directory, here) {
            None => here.hidden_by.clone(),
            Some((_, Some(label))) => Some(here.hidden_by.clone().unwrap_or(label)),
            Some((reason, None)) => {
                if let Some(reason) = reason {
                    done.skipped.add(reason);
                }
                return None;
            }
        };
        let Some(kind) = EntryKind::of(kind) else {
            done.skipped.add(SkipReason::Special);
            return None;
        };
        if kind == EntryKind::Symlink && !self.options.all_entries {
            // What it leads to is visited under its own name if it is in the root.
            done.skipped.add(reason_of_link(self.root, &path, &mut |_| {}));
            done.links.push(path);
            return None;
        }
        Some(Found { path, kind, real, hidden_by, number: None })
    }

    /// Why the rules leave a name out: the reason to count (none for a glob that does not choose it), and the
    /// label under which it is visited nevertheless.
    fn left_out(
        &self,
        path: &RelPath,
        name: &[u8],
        is_directory: bool,
        here: &Place,
    ) -> Option<(Option<SkipReason>, Option<Arc<str>>)> {
        let os_path = os_str(path.as_bytes())?;
        if let Some(only) = &self.options.only
            && !is_directory
            && !only.matcher.matched(Path::new(&*os_path), false).is_whitelist()
        {
            return Some((None, None));
        }
        if let Some(excludes) = &self.options.excludes
            && excludes.matcher.matched(Path::new(&*os_path), is_directory).is_ignore()
        {
            let label = self.options.label_hidden.then(|| Arc::from("search.exclude of the configuration"));
            return Some((Some(SkipReason::Ignored), label));
        }
        if let Some(globs) = &self.options.globs {
            match globs.matcher.matched(Path::new(&*os_path), is_directory) {
                ignore::Match::Ignore(_) => return Some((None, None)),
                ignore::Match::Whitelist(_) => return None,
                ignore::Match::None => {}
            }
        }
        let verdict =
            if self.options.no_ignore { Verdict::Nothing } else { here.rules.verdict(path, is_directory) };
        let (reason, label) = match verdict {
            Verdict::Kept => return None,
            Verdict::Ignored => {
                let rule =
                    self.options.label_hidden.then(|| here.rules.deciding(path, is_directory).1).flatten();
                (SkipReason::Ignored, rule.unwrap_or_default())
            }
            Verdict::Nothing if name.first() == Some(&b'.') && !self.options.hidden => {
                (SkipReason::Hidden, "a name that begins with a dot".to_owned())
            }
            Verdict::Nothing => return None,
        };
        Some((Some(reason), self.options.label_hidden.then(|| Arc::from(label))))
    }

    fn follow<T>(&self, path: &RelPath, done: &mut Done<T>) -> Option<(NodeKind, Option<RelPath>)> {
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
                done.warnings.push(error.to_string());
                None
            }
        }
    }
}

/// Why a link that is not followed is left out; `consulted` is given every directory on which that depends.
pub(super) fn reason_of_link(root: &Root, path: &RelPath, consulted: &mut dyn FnMut(&RelPath)) -> SkipReason {
    match root.resolve_by(path, consulted) {
        Err(OpenError::OutsideRoot { .. }) => SkipReason::OutsideRoot,
        _ => SkipReason::Symlink,
    }
}

/// Visits a batch of one directory.
pub(super) fn visit_all<T, W>(
    root: &Root,
    batch: impl Iterator<Item = Found>,
    directory: Option<Directory>,
    stop: &Stop,
    done: &mut frontier::Done<T, W>,
    mut visit: impl FnMut(&Entry<'_>, &mut Skipped) -> Step<T>,
) {
    let directory = directory.map_or_else(OnceCell::new, |open| OnceCell::from(Ok(open)));
    for Found { path, kind, real, hidden_by, number } in batch {
        if let Some(stopped) = stop.check() {
            done.stopped = Some(stopped);
            return;
        }
        let entry = Entry { path, kind, hidden_by, number, root, real, directory: &directory };
        done.visited += u64::from(kind == EntryKind::File);
        if let Step::Item(item, weight) = visit(&entry, &mut done.skipped) {
            done.items.push(item);
            done.weight += weight;
        }
    }
}

impl Place {
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
