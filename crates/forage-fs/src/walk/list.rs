//! Listing one directory of a walk: which names are visited, which are left out and why.

use std::cell::OnceCell;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::frontier;
use super::rules::Rules;
use super::snapshot::{Before, Name, Recorder};
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
    directory: &'a OnceCell<io::Result<Handle>>,
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
        if self.real.is_some() {
            return None;
        }
        state(self.root, self.parent().ok()?, self.path.as_bytes(), self.path.file_name())
    }

    fn parent(&self) -> Result<&Directory, &io::Error> {
        let parent = || self.path.parent().unwrap_or_else(RelPath::root);
        let open = || sys::open_directory(self.root.handle(), &parent()).map(Handle::of_one);
        self.directory.get_or_init(open).as_ref().map(|handle| &handle.0.directory)
    }

    /// The target of a link, as it is written in the link; not for opening.
    pub fn link_target(&self) -> Option<Vec<u8>> {
        sys::link_target(self.parent().ok()?, self.path.file_name()).ok()
    }
}

/// A file of which a snapshot tells that a walk comes to it.
pub struct Unvisited<'a> {
    /// The bytes of its path.
    pub path: &'a [u8],
    name: &'a [u8],
    root: &'a Root,
    directory: &'a io::Result<Handle>,
}

impl Unvisited<'_> {
    /// The file's state; `None` for what is no file any more, can't be told or must not be read.
    pub fn state(&self) -> Option<FileState> {
        state(self.root, &self.directory.as_ref().ok()?.0.directory, self.path, self.name)
    }
}

fn state(root: &Root, directory: &Directory, path: &[u8], name: &[u8]) -> Option<FileState> {
    if root.secrets().denies_bytes(path).is_some() {
        return None;
    }
    sys::state(directory, name, root.device_with_states()?)
}

/// What a task of a walk does.
#[derive(Debug)]
pub(super) enum Work<'a> {
    List(RelPath, Arc<Place>),
    Visit(Batch<'a>),
}

/// Files of one directory that are visited together.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    path: RelPath,
    items: Vec<Item<'a>>,
    /// The directory, if it is still open.
    directory: Option<Handle>,
}

/// A directory that is kept open for the batches in it.
#[derive(Clone, Debug)]
struct Handle(Arc<Open>);

#[derive(Debug)]
struct Open {
    directory: Directory,
    /// How many are kept open for more than one batch, this one included.
    kept: Option<Arc<AtomicUsize>>,
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(kept) = &self.kept {
            kept.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Handle {
    fn of_one(directory: Directory) -> Self {
        Self(Arc::new(Open { directory, kept: None }))
    }
}

#[derive(Debug)]
enum Item<'a> {
    Found(Found),
    /// The name of a file that nothing hides, in a snapshot.
    Name(&'a [u8]),
}

impl Batch<'_> {
    /// Those that are of no snapshot.
    pub(super) fn found(self) -> impl Iterator<Item = Found> {
        self.items.into_iter().filter_map(|item| match item {
            Item::Found(found) => Some(found),
            Item::Name(_) => None,
        })
    }
}

type Task<'a> = frontier::Task<Work<'a>>;
type Done<'a, T> = frontier::Done<T, Work<'a>>;

/// The names in a directory.
pub(super) struct Names {
    pub(super) nodes: Vec<Node>,
    /// What it was before they were listed, if that is taken down.
    pub(super) before: Option<Before>,
}

/// A name that a walk comes to.
struct Met<'n, 's> {
    name: &'n [u8],
    kind: NodeKind,
    /// What a snapshot has of it.
    seen: Option<&'n Name<'s>>,
}

/// Whether a file is left out, and for what reason it is counted, if it is.
enum Hidden {
    No,
    For(Option<SkipReason>),
}

/// What the entries of one directory share.
#[derive(Debug)]
pub(super) struct Place {
    rules: Arc<Rules>,
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

impl Found {
    fn file(path: RelPath) -> Self {
        Self { path, kind: EntryKind::File, real: None, hidden_by: None, number: None }
    }
}

/// What is fixed for a whole walk.
pub(super) struct Plan<'a> {
    root: &'a Arc<Root>,
    options: &'a WalkOptions,
    budget: Arc<RuleBudget>,
    start: RelPath,
    start_work: Start,
    rules: Arc<Rules>,
    warnings: Vec<String>,
    recorder: Option<&'a Recorder>,
    kept_open: Arc<AtomicUsize>,
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
        let mut held = Rules::above(&rules);
        // The rules of the directories from the root down to the start, which the walk itself does not list.
        if !options.no_ignore {
            let mut above = RelPath::root();
            for name in start.names() {
                if let Ok(directory) = sys::open_directory(root.handle(), &above)
                    && let Ok(nodes) = sys::list(&directory)
                {
                    rules = rules
                        .descend(&above, &directory, &nodes, &budget, &mut |warning| warnings.push(warning));
                    held = held.below(&above, &rules);
                }
                above = above.join(name);
            }
        }
        let real = (real != *start).then_some(real);
        let start_work = Start { is_directory: kind == NodeKind::Directory, real };
        let (start, rules) = (start.clone(), held);
        let (recorder, kept_open) = (None, Arc::default());
        Ok(Self { root, options, budget, start, start_work, rules, warnings, recorder, kept_open })
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
            rules: Rules::above(&IgnoreRules::none(root.inside_git())),
            warnings: Vec::new(),
            recorder: None,
            kept_open: Arc::default(),
        }
    }

    /// The same that takes down what it lists.
    pub(super) fn recording(self, recorder: &'a Recorder) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// Whether a good part of the rules that a walk may have is taken.
    pub(super) fn has_many_rules(&self) -> bool {
        self.budget.is_half_used()
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

    pub(super) fn first_task(&self) -> Task<'a> {
        let Start { is_directory, real } = &self.start_work;
        let work = if *is_directory {
            Work::List(self.start.clone(), self.place())
        } else {
            let found = Found { real: real.clone(), ..Found::file(self.start.clone()) };
            let path = self.start.parent().unwrap_or_else(RelPath::root);
            Work::Visit(Batch { path, items: vec![Item::Found(found)], directory: None })
        };
        Task { key: (self.start.clone(), *is_directory), work }
    }

    /// Files of which `dismiss` says so are not visited, and counted for the reason that it gives, if any.
    pub(super) fn run<W, T>(
        &self,
        state: &mut W,
        task: Task<'a>,
        stop: &Stop,
        dismiss: &impl Fn(&mut W, &Unvisited<'_>) -> Option<Option<SkipReason>>,
        visit: &impl Fn(&mut W, &Entry<'_>, &mut Skipped) -> Step<T>,
    ) -> Done<'a, T> {
        let mut done = Done::default();
        match task.work {
            Work::List(path, place) => {
                if path == self.start {
                    done.warnings.extend(self.warnings.iter().cloned());
                }
                self.list(&path, &place, stop, &mut done);
            }
            Work::Visit(Batch { path, items, directory }) => {
                self.options.report_progress(items.len());
                let directory = directory.map_or_else(OnceCell::new, |open| OnceCell::from(Ok(open)));
                let mut bytes = path.as_bytes().to_vec();
                bytes.extend((!bytes.is_empty()).then_some(b'/'));
                let head = bytes.len();
                for item in items {
                    if let Some(stopped) = stop.check() {
                        done.stopped = Some(stopped);
                        break;
                    }
                    let found = match item {
                        Item::Found(found) => found,
                        Item::Name(name) => {
                            bytes.truncate(head);
                            bytes.extend_from_slice(name);
                            let open = || sys::open_directory(self.root.handle(), &path).map(Handle::of_one);
                            let directory = directory.get_or_init(open);
                            let unvisited = Unvisited { path: &bytes, name, root: self.root, directory };
                            if let Some(reason) = dismiss(state, &unvisited) {
                                done.visited += 1;
                                reason.into_iter().for_each(|reason| done.skipped.add(reason));
                                continue;
                            }
                            Found::file(path.join(name))
                        }
                    };
                    visit_one(self.root, found, &directory, &mut done, |entry, skipped| {
                        visit(state, entry, skipped)
                    });
                }
            }
        }
        done
    }

    fn list<T>(&self, path: &RelPath, place: &Arc<Place>, stop: &Stop, done: &mut Done<'a, T>) {
        let opened = sys::open_directory(self.root.handle(), place.real.as_ref().unwrap_or(path));
        let listed = opened.and_then(|directory| {
            if let Some((names, rules)) = self.seen(path, place, &directory) {
                let names =
                    names.iter().map(|seen| Met { name: seen.name, kind: seen.kind, seen: Some(seen) });
                if let Some(here) = self.enter(place, rules, &directory, done) {
                    self.add_tasks(path, &here, names, stop, done);
                }
            } else {
                let before = self.recorder.map(|recorder| recorder.before(&directory));
                let nodes = sys::list(&directory)?;
                self.list_nodes(path, place, Names { nodes, before }, &directory, stop, done);
            }
            Ok(directory)
        });
        match listed {
            Ok(directory) => self.hand_out(directory, &mut done.tasks),
            Err(error) => {
                done.skipped.add(SkipReason::Unreadable);
                done.warnings.push(format!("{} can't be listed: {error}", path.display()));
            }
        }
    }

    /// Leaves a directory open for the batches in it: that which comes next, and others unless too many wait, as they
    /// would in a deep tree.
    fn hand_out(&self, directory: Directory, tasks: &mut [Task<'a>]) {
        let is_next = tasks.first().is_some_and(|task| matches!(task.work, Work::Visit(_)));
        let batches = tasks.iter_mut().filter_map(|task| match &mut task.work {
            Work::Visit(batch) => Some(batch),
            Work::List(..) => None,
        });
        let mut batches: Vec<&mut Batch<'a>> = batches.collect();
        let waiting = batches.len() - usize::from(is_next);
        let keep = || self.kept_open.fetch_add(1, Ordering::Relaxed) < limits::WALK_KEPT_OPEN;
        if waiting > 0 && keep() {
            let handle = Handle(Arc::new(Open { directory, kept: Some(Arc::clone(&self.kept_open)) }));
            batches.iter_mut().for_each(|batch| batch.directory = Some(handle.clone()));
            return;
        }
        if waiting > 0 {
            self.kept_open.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(batch) = batches.first_mut().filter(|_| is_next) {
            batch.directory = Some(Handle::of_one(directory));
        }
    }

    /// What a snapshot has of a directory, with the rules in it, if nothing of that has changed.
    fn seen(
        &self,
        path: &RelPath,
        place: &Place,
        directory: &Directory,
    ) -> Option<(Vec<Name<'a>>, Arc<Rules>)> {
        let snapshot = self.options.snapshot.as_ref()?.loaded()?;
        if place.real.is_some() {
            return None;
        }
        let device = self.root.device_with_states()?;
        let record = snapshot.record(path)?;
        let names = record.names(directory, device)?;
        if self.options.no_ignore {
            return Some((names, Arc::clone(&place.rules)));
        }
        if !place.rules.are_those_of(snapshot, self.root) {
            return None;
        }
        // Its names are the same, so there is no file of rules that was not there.
        if !record.has_rules() {
            return Some((names, Arc::clone(&place.rules)));
        }
        let are_same = record.rules_are_same(directory, device);
        are_same.then(|| (names, place.rules.below_unread(path)))
    }

    /// Lists an open directory with these names.
    pub(super) fn list_nodes<T>(
        &self,
        path: &RelPath,
        place: &Arc<Place>,
        names: Names,
        directory: &Directory,
        stop: &Stop,
        done: &mut Done<'a, T>,
    ) {
        let Names { mut nodes, before } = names;
        let mut rules = Arc::clone(&place.rules);
        let mut compiled = None;
        if !self.options.no_ignore {
            let warn = &mut |warning| done.warnings.push(warning);
            let above = place.rules.compiled(self.root, &self.budget, warn);
            let here = above.descend(path, directory, &nodes, &self.budget, warn);
            // With a snapshot it matters, too, that there are no rules.
            if self.options.snapshot.is_some() || !Arc::ptr_eq(above, &here) {
                rules = rules.below(path, &here);
            }
            compiled = Some(here);
        }
        nodes.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        // A name can be listed twice while it is renamed.
        nodes.dedup_by(|a, b| a.name == b.name);
        if let (Some(recorder), Some(before), Some(rules)) = (self.recorder, before, compiled)
            && done.warnings.is_empty()
        {
            recorder.add(path, &before, &nodes, &rules);
        }
        if let Some(here) = self.enter(place, rules, directory, done) {
            let names = nodes.iter().map(|node| Met { name: &node.name, kind: node.kind, seen: None });
            self.add_tasks(path, &here, names, stop, done);
        }
    }

    /// What the entries of a directory with these rules share; `None` where a followed link leads round in a circle.
    fn enter<T>(
        &self,
        place: &Place,
        rules: Arc<Rules>,
        directory: &Directory,
        done: &mut Done<'a, T>,
    ) -> Option<Arc<Place>> {
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
        Some(Arc::new(Place {
            rules,
            real: place.real.clone(),
            depth: place.depth + 1,
            hidden_by: place.hidden_by.clone(),
            above,
        }))
    }

    /// Adds the tasks of a directory with these names.
    fn add_tasks<'n, T>(
        &self,
        path: &RelPath,
        here: &Arc<Place>,
        names: impl ExactSizeIterator<Item = Met<'n, 'a>>,
        stop: &Stop,
        done: &mut Done<'a, T>,
    ) where
        'a: 'n,
    {
        done.entries += names.len() as u64;
        let mut items: Vec<Item<'a>> = Vec::new();
        let flush = |items: &mut Vec<Item<'a>>, done: &mut Done<'a, T>| {
            let first = match items.first() {
                Some(Item::Found(found)) => found.path.clone(),
                Some(Item::Name(name)) => path.join(name),
                None => return,
            };
            let batch = Batch { path: path.clone(), items: std::mem::take(items), directory: None };
            done.tasks.push(Task { key: (first, false), work: Work::Visit(batch) });
        };
        for met in names {
            if let Some(seen) = met.seen
                && let Some(hidden) = self.is_hidden(path, seen, here)
            {
                match hidden {
                    Hidden::No => items.push(Item::Name(seen.name)),
                    Hidden::For(reason) => reason.into_iter().for_each(|reason| done.skipped.add(reason)),
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
                let mut place =
                    Place { real: found.real.clone(), hidden_by: found.hidden_by.clone(), ..here.copy() };
                place.depth = here.depth;
                Task {
                    key: (found.path.clone(), true),
                    work: Work::List(found.path.clone(), Arc::new(place)),
                }
            });
            if found.kind == EntryKind::File || self.options.all_entries {
                items.push(Item::Found(found));
            }
            match directory_task {
                Some(task) if here.depth < self.options.max_depth => {
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

    /// Why a file of a snapshot is left out; `None` where that takes more than what the snapshot says.
    fn is_hidden(&self, parent: &RelPath, seen: &Name<'a>, here: &Place) -> Option<Hidden> {
        let WalkOptions { from, excludes, globs, only, label_hidden, .. } = self.options;
        let is_plain = from.is_none() && excludes.is_none() && globs.is_none() && !label_hidden;
        if seen.kind != NodeKind::File || !is_plain || here.hidden_by.is_some() || self.root.holds_kernels() {
            return None;
        }
        if let Some(only) = only {
            let path = parent.join(seen.name);
            let path = os_str(path.as_bytes())?;
            if !only.matcher.matched(Path::new(&*path), false).is_whitelist() {
                return Some(Hidden::For(None));
            }
        }
        let verdict = if self.options.no_ignore { &Verdict::Nothing } else { &seen.verdict };
        Some(match self.reason(verdict, seen.name) {
            None => Hidden::No,
            reason => Hidden::For(reason),
        })
    }

    /// Why a name is left out of which the rules say this.
    fn reason(&self, verdict: &Verdict, name: &[u8]) -> Option<SkipReason> {
        match verdict {
            Verdict::Ignored => Some(SkipReason::Ignored),
            Verdict::Nothing if name.first() == Some(&b'.') && !self.options.hidden => {
                Some(SkipReason::Hidden)
            }
            Verdict::Kept | Verdict::Nothing => None,
        }
    }

    /// Whether and as what a name is visited.
    fn choose<T>(
        &self,
        parent: &RelPath,
        met: &Met<'_, 'a>,
        here: &Place,
        done: &mut Done<'a, T>,
    ) -> Option<Found> {
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
            done.skipped.add(SkipReason::Special);
            return None;
        }
        if is_directory && self.options.prune.iter().any(|name| name.as_bytes() == met.name) {
            done.skipped.add(SkipReason::Pruned);
            done.pruned.push(String::from_utf8_lossy(met.name).into_owned());
            return None;
        }
        // A link that is followed has the verdict of what it leads to.
        let seen = met.seen.filter(|_| kind == met.kind);
        let verdict = seen.map(|seen| seen.verdict.clone());
        let hidden_by = match self.left_out(&path, is_directory, verdict, here, done) {
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
    fn left_out<T>(
        &self,
        path: &RelPath,
        is_directory: bool,
        verdict: Option<Verdict>,
        here: &Place,
        done: &mut Done<'a, T>,
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
        let mut rules =
            || here.rules.compiled(self.root, &self.budget, &mut |warning| done.warnings.push(warning));
        let verdict = match verdict {
            _ if self.options.no_ignore => Verdict::Nothing,
            Some(verdict) => verdict,
            None => rules().verdict(path, is_directory),
        };
        let reason = self.reason(&verdict, path.file_name())?;
        let label = match reason {
            SkipReason::Ignored => {
                let rule =
                    self.options.label_hidden.then(|| rules().deciding(path, is_directory).1).flatten();
                rule.unwrap_or_default()
            }
            _ => "a name that begins with a dot".to_owned(),
        };
        Some((Some(reason), self.options.label_hidden.then(|| Arc::from(label))))
    }

    fn follow<T>(&self, path: &RelPath, done: &mut Done<'a, T>) -> Option<(NodeKind, Option<RelPath>)> {
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
    stop: &Stop,
    done: &mut frontier::Done<T, W>,
    mut visit: impl FnMut(&Entry<'_>, &mut Skipped) -> Step<T>,
) {
    let directory = OnceCell::new();
    for found in batch {
        if let Some(stopped) = stop.check() {
            done.stopped = Some(stopped);
            return;
        }
        visit_one(root, found, &directory, done, &mut visit);
    }
}

fn visit_one<T, W>(
    root: &Root,
    found: Found,
    directory: &OnceCell<io::Result<Handle>>,
    done: &mut frontier::Done<T, W>,
    visit: impl FnOnce(&Entry<'_>, &mut Skipped) -> Step<T>,
) {
    let Found { path, kind, real, hidden_by, number } = found;
    let entry = Entry { path, kind, hidden_by, number, root, real, directory };
    done.visited += u64::from(kind == EntryKind::File);
    if let Step::Item(item, weight) = visit(&entry, &mut done.skipped) {
        done.items.push(item);
        done.weight += weight;
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
