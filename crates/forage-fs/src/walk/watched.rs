//! Listings of a root that a long-lived process maintains in the background.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::WalkOptions;
use super::listing::FileListing;
use super::tree::RuleTree;
use crate::limits;
use crate::rel_path::{RelPath, os_bytes};
use crate::root::Root;
use crate::sys::{self, MountTable};
use forage_base::Stop;

/// Detects mounting and unmounting. A process needs only one of these, and must open it before it gives up
/// the right to read the kernel's tables.
#[derive(Debug)]
pub struct Mounts {
    table: MountTable,
    /// Maximum number of watched directories per tree.
    watches: usize,
    changes: Mutex<u64>,
}

impl Mounts {
    /// Opens the mount table. Returns `None` if the system does not support this.
    pub fn open() -> Option<Arc<Self>> {
        let table = MountTable::open().ok()?;
        let watches = (sys::max_watches() / limits::LISTED_PART).min(limits::LISTED_DIRECTORIES);
        Some(Arc::new(Self { table, watches, changes: Mutex::new(0) }))
    }

    /// Returns the number of changes detected so far.
    fn changes(&self) -> u64 {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        *changes += u64::from(self.table.has_changed());
        *changes
    }
}

/// The listings of a root's tree, one per set of walk options, kept up to date by the kernel's events.
#[derive(Debug)]
pub struct WatchedTree {
    root: Arc<Root>,
    mounts: Arc<Mounts>,
    /// Stops background work.
    stop: Stop,
    places: Mutex<Vec<WatchedOptions>>,
}

/// The cached state for one set of options.
#[derive(Debug)]
struct WatchedOptions {
    options: WalkOptions,
    state: Arc<Mutex<State>>,
    last_asked: Instant,
}

#[derive(Debug, Default)]
struct State {
    tree: Option<Box<RuleTree>>,
    /// The mount counter when it was listed.
    mounts: u64,
    /// When the last comparison of states began, and its duration.
    compared: Option<(Instant, Duration)>,
    /// True while background work is in progress.
    is_busy: bool,
    /// True if there was a listing before.
    was_plain: bool,
    /// The earliest time to list it again.
    next: Option<Instant>,
    /// Why it could not be listed.
    problem: Option<String>,
}

impl State {
    /// Returns true if it is time to compare states again. Comparisons may take only a limited share of the
    /// time.
    fn is_comparison_due(&self, listing: &FileListing) -> bool {
        listing.entries() <= limits::COMPARED_ALWAYS
            || self.compared.is_none_or(|(began, took)| {
                began.elapsed() >= (took * limits::COMPARING_PART).max(limits::BETWEEN_COMPARISONS)
            })
    }

    /// Marks directories that have changed to be listed again. Returns true if there were any.
    fn compare(&mut self, listing: &FileListing, threads: usize, stop: &Stop) -> bool {
        let started = Instant::now();
        let outdated = listing.outdated(threads, stop);
        // An interrupted comparison says nothing about the rest.
        if stop.check().is_none() {
            self.compared = Some((started, started.elapsed()));
        }
        let has_changed = !outdated.is_empty();
        self.mark_suspect(outdated);
        has_changed
    }

    /// Ends a comparison in the background. `outdated` is `None` if it panicked: then we know nothing about
    /// the tree, so calls walk it until it is listed again.
    fn end_comparison(&mut self, started: Instant, outdated: Option<Vec<(RelPath, bool)>>) {
        self.is_busy = false;
        match outdated {
            Some(outdated) => {
                self.compared = Some((started, started.elapsed()));
                self.mark_suspect(outdated);
            }
            None => {
                self.tree = None;
                self.problem = Some("comparing the tree failed".to_owned());
                self.next = Some(Instant::now() + limits::LISTING_FAILED);
            }
        }
    }

    /// Marks directories to be listed again.
    fn mark_suspect(&mut self, outdated: Vec<(RelPath, bool)>) {
        if let Some(tree) = &mut self.tree {
            tree.mark_suspect(outdated);
        }
    }
}

impl Drop for WatchedTree {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl WatchedTree {
    /// Creates a watched tree without any listing yet.
    pub fn new(root: &Arc<Root>, mounts: &Arc<Mounts>) -> Arc<Self> {
        Arc::new(Self {
            root: Arc::clone(root),
            mounts: Arc::clone(mounts),
            stop: Stop::never(),
            places: Mutex::default(),
        })
    }

    /// Returns the root of the tree.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Provides the tree as a walk with these options would find it now. Returns `None` if there is no
    /// listing yet, or if a walk would report more than a listing contains. In this case we create a listing
    /// in the background for later calls.
    pub fn listing(&self, options: &WalkOptions) -> Option<Arc<FileListing>> {
        let place = self.place(options)?;
        let mut state = lock(&place);
        let mut listing = self.current(&mut state);
        let is_due = match &listing {
            Some(listing) => state.is_comparison_due(listing),
            None => state.tree.is_none() && state.next.is_none_or(|next| Instant::now() >= next),
        };
        if !is_due {
            return listing;
        }
        // The kernel does not report writes through a memory mapping, so we must compare states before this
        // call returns.
        if let Some(known) = listing.as_ref().filter(|known| known.entries() <= limits::COMPARED_IN_CALLS) {
            if state.compare(known, options.thread_count(), &self.stop) {
                listing = self.current(&mut state);
            }
        } else if !state.is_busy {
            state.is_busy = self.in_background(options, &place, listing.clone());
        }
        listing
    }

    /// Compares the states of all files, unless a comparison has begun after `since`. Returns true if the
    /// tree differs from any listing returned since then, or if there is no listing. Callers should use this
    /// before they report that there are no matches. If `stop` ends the comparison, a result of false is
    /// meaningless.
    pub fn detect_unreported_changes(&self, options: &WalkOptions, since: Instant, stop: &Stop) -> bool {
        let Some(place) = self.place(options) else { return true };
        let mut state = lock(&place);
        match self.current(&mut state) {
            None => true,
            Some(_) if state.compared.is_some_and(|(began, _)| began >= since) => false,
            Some(listing) => state.compare(&listing, options.thread_count(), stop),
        }
    }

    /// Like [`WatchedTree::listing`], but creates a missing listing first.
    ///
    /// # Errors
    ///
    /// Fails if no listing can be maintained.
    pub fn prepare(&self, options: &WalkOptions) -> io::Result<Option<Arc<FileListing>>> {
        let place = self.place(options).ok_or(io::ErrorKind::Unsupported)?;
        let mut state = lock(&place);
        if let Some(listing) = self.current(&mut state) {
            return Ok(Some(listing));
        }
        *state = listed(&self.root, &self.mounts, options, &self.stop);
        let listing = self.current(&mut state);
        match state.problem.take() {
            Some(problem) => Err(io::Error::other(problem)),
            None => Ok(listing),
        }
    }

    /// Finds or creates the cached state for these options. Returns `None` if they are not supported, or if
    /// too many listings for other options are in use.
    fn place(&self, options: &WalkOptions) -> Option<Arc<Mutex<State>>> {
        if !options.can_be_listed() || !self.root.knows_states() {
            return None;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(place) = places.iter_mut().find(|place| place.options.same_traversal(options)) {
            place.last_asked = now;
            return Some(Arc::clone(&place.state));
        }
        places.retain(|place| now.duration_since(place.last_asked) < limits::LISTING_DROPPED);
        if places.len() >= limits::LISTINGS_KEPT {
            // We must not evict listings in use, or else alternating calls would keep evicting each other's
            // listings.
            let (oldest, place) = places.iter().enumerate().min_by_key(|(_, place)| place.last_asked)?;
            if now.duration_since(place.last_asked) < limits::LISTING_UNUSED {
                return None;
            }
            places.remove(oldest);
        }
        let options = WalkOptions { snapshot: None, threads: 0, progress: None, ..options.clone() };
        let state = Arc::default();
        places.push(WatchedOptions { options, state: Arc::clone(&state), last_asked: now });
        Some(state)
    }

    /// Returns the current listing, if one is cached. Drops a tree whose changes are unknown, or that has
    /// more to report.
    fn current(&self, state: &mut State) -> Option<Arc<FileListing>> {
        // We take it out of the state, so that we never use a partially updated tree again.
        let mut tree = state.tree.take()?;
        let listing = match self.mounts.changes() == state.mounts {
            true => tree.listing(&self.stop),
            false => Err(io::Error::other("something was mounted or unmounted")),
        };
        match listing {
            Ok(Some(listing)) => {
                state.tree = Some(tree);
                state.was_plain = true;
                return Some(listing);
            }
            Ok(None) => {
                state.problem = Some("a walk reports more of the tree than a listing does".to_owned())
            }
            Err(error) => state.problem = Some(error.to_string()),
        }
        // A tree without a listing from the start probably stays that way for a while.
        if !state.was_plain {
            state.next = Some(Instant::now() + limits::LISTING_FAILED);
        }
        None
    }

    /// Creates a listing, or compares the states of an existing one.
    fn in_background(
        &self,
        options: &WalkOptions,
        place: &Arc<Mutex<State>>,
        listing: Option<Arc<FileListing>>,
    ) -> bool {
        // We clone only these so that the background work does not keep the tree itself alive.
        let (root, mounts, stop) = (Arc::clone(&self.root), Arc::clone(&self.mounts), self.stop.clone());
        let (place, options) = (Arc::clone(place), options.clone());
        let work = move || match listing {
            None => {
                let listed = listed(&root, &mounts, &options, &stop);
                *lock(&place) = listed;
            }
            Some(listing) => {
                let started = Instant::now();
                let compare = || listing.outdated(1, &stop);
                let outdated = std::panic::catch_unwind(AssertUnwindSafe(compare)).ok();
                lock(&place).end_comparison(started, outdated);
            }
        };
        std::thread::Builder::new().name("listing".to_owned()).spawn(work).is_ok()
    }
}

fn listed(root: &Arc<Root>, mounts: &Mounts, options: &WalkOptions, stop: &Stop) -> State {
    // We read this first, so that a mount during the listing is noticed.
    let changes = mounts.changes();
    let started = Instant::now();
    let list = || {
        if mounts.table.has_below(&os_bytes(root.path().as_os_str()).unwrap_or_default())? {
            return Err(io::Error::other("something is mounted in the tree"));
        }
        RuleTree::new(root, options, mounts.watches, stop)
    };
    // Note that a panic must not look like work that is still in progress.
    let (tree, problem) = match std::panic::catch_unwind(AssertUnwindSafe(list)) {
        Ok(Ok(tree)) => (Some(Box::new(tree)), None),
        Ok(Err(error)) => (None, Some(error.to_string())),
        Err(_) => (None, Some("listing the tree failed".to_owned())),
    };
    let pause = match tree {
        // This applies if the listing is lost immediately because of too many changes.
        Some(_) => (started.elapsed() * limits::LISTING_PART).max(limits::BETWEEN_LISTINGS),
        None => limits::LISTING_FAILED,
    };
    let compared = tree.is_some().then(|| (started, started.elapsed()));
    let next = Some(Instant::now() + pause);
    State { tree, mounts: changes, compared, next, problem, ..State::default() }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[cfg(all(target_os = "linux", not(portable_disk)))]
#[expect(clippy::disallowed_methods, reason = "tests make their own trees")]
mod tests {
    use std::fs;

    use super::*;
    use crate::root::RootPolicy;
    use crate::secrets::SecretPolicy;

    fn paths(listing: &FileListing) -> Vec<String> {
        let mut paths = Vec::new();
        listing.for_each(|path, state, _| {
            paths.push(format!(
                "{}{}",
                String::from_utf8_lossy(path),
                if state.is_some() { "" } else { " ?" }
            ));
        });
        paths
    }

    fn tree() -> (tempfile::TempDir, Arc<WatchedTree>) {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("root");
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        for name in ["a.rs", "src/b.rs", "src/c.txt", ".gitignore", ".git/info/exclude"] {
            fs::write(root.join(name), "# nothing\n").unwrap();
        }
        let root = Root::open(&root, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
        let watched = WatchedTree::new(&root, &Mounts::open().unwrap());
        assert!(watched.prepare(&WalkOptions::default()).unwrap().is_some());
        (directory, watched)
    }

    /// Changes that only a comparison of all states can detect, because there is no notification.
    #[test]
    fn comparison_finds_unreported_writes() {
        for (name, rule) in [(".gitignore", "*.txt\n"), (".git/info/exclude", "*.txt\n"), ("a.rs", "changed")]
        {
            let (directory, watched) = tree();
            let options = WalkOptions::default();
            let listing = watched.listing(&options).unwrap();
            assert_eq!(paths(&listing), ["a.rs", "src/b.rs", "src/c.txt"]);
            assert_eq!(listing.outdated(1, &Stop::never()), []);
            let other = directory.path().join("elsewhere");
            fs::hard_link(directory.path().join("root").join(name), &other).unwrap();
            fs::write(&other, rule).unwrap();
            let outdated = listing.outdated(1, &Stop::never());
            assert_eq!(outdated, [(RelPath::root(), name != "a.rs")], "{name}");
            let place = watched.place(&options).unwrap();
            lock(&place).tree.as_mut().unwrap().mark_suspect(outdated);
            match watched.listing(&options) {
                // We can't rely on rule files with another name. They can change without notice.
                None => assert_ne!(name, "a.rs"),
                Some(listing) => assert_eq!(paths(&listing), ["a.rs ?", "src/b.rs", "src/c.txt"]),
            }
        }
    }

    /// The rules of a linked worktree are stored in its repository, which must be watched too.
    #[test]
    fn repository_exclude_is_watched() {
        let (directory, _) = tree();
        let (own, worktree) = (directory.path().join("root/.git/worktrees/w"), directory.path().join("w"));
        [&own, &worktree].iter().for_each(|path| fs::create_dir_all(path).unwrap());
        for (path, text) in [
            (own.join("gitdir"), worktree.join(".git").display().to_string()),
            (own.join("commondir"), "../..".to_owned()),
            (worktree.join(".git"), format!("gitdir: {}", own.display())),
            (worktree.join("a.txt"), String::new()),
        ] {
            fs::write(path, text + "\n").unwrap();
        }
        let root = Root::open(&worktree, &RootPolicy::default(), SecretPolicy::standard(&[])).unwrap();
        let watched = WatchedTree::new(&root, &Mounts::open().unwrap());
        let options = WalkOptions::default();
        assert!(watched.prepare(&options).unwrap().is_some());
        assert_eq!(paths(&watched.listing(&options).unwrap()), ["a.txt"]);
        fs::write(directory.path().join("root/.git/info/exclude"), "*.txt\n").unwrap();
        assert_eq!(paths(&watched.listing(&options).unwrap()), [""; 0]);
    }

    /// The kernel does not report writes through a name outside of the tree, but the next call must find
    /// them.
    #[test]
    fn next_call_finds_unreported_writes() {
        let (directory, watched) = tree();
        let options = WalkOptions::default();
        let other = directory.path().join("elsewhere");
        fs::hard_link(directory.path().join("root/src/b.rs"), &other).unwrap();
        fs::write(&other, "changed").unwrap();
        let place = watched.place(&options).unwrap();
        // The kernel has not reported anything.
        assert_eq!(paths(&watched.current(&mut lock(&place)).unwrap()), ["a.rs", "src/b.rs", "src/c.txt"]);
        assert_eq!(paths(&watched.listing(&options).unwrap()), ["a.rs", "src/b.rs ?", "src/c.txt"]);
    }

    /// Regression test: a tree counted as unchanged when its comparison panicked.
    #[test]
    fn tree_is_unknown_after_a_comparison_that_panicked() {
        let (_directory, watched) = tree();
        let options = WalkOptions::default();
        assert!(watched.listing(&options).is_some());
        let place = watched.place(&options).unwrap();
        lock(&place).end_comparison(Instant::now(), None);
        assert!(watched.listing(&options).is_none());
        assert!(watched.detect_unreported_changes(&options, Instant::now(), &Stop::never()));
        // It is listed again when it is due.
        lock(&place).next = None;
        let started = Instant::now();
        while watched.listing(&options).is_none() {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// In a large tree not every call compares states, but no answer may rely on a comparison older than the
    /// limit.
    #[test]
    fn large_tree_finds_unreported_writes_eventually() {
        let (directory, watched) = tree();
        let root = directory.path().join("root");
        for number in 0..limits::COMPARED_ALWAYS {
            let below = root.join(format!("many/{:02}", number % 50));
            if number < 50 {
                fs::create_dir_all(&below).unwrap();
            }
            fs::write(below.join(format!("{number}.rs")), "text").unwrap();
        }
        let options = WalkOptions::default();
        assert!(watched.prepare(&options).is_ok());
        let is_seen = || match watched.listing(&options) {
            Some(listing) => paths(&listing).contains(&"src/b.rs ?".to_owned()),
            None => false,
        };
        let wait_until = |what: &dyn Fn() -> bool| {
            let started = Instant::now();
            while !what() {
                assert!(started.elapsed() < Duration::from_secs(60));
                std::thread::sleep(Duration::from_millis(20));
            }
            started.elapsed()
        };
        wait_until(&|| {
            watched.listing(&options).is_some_and(|listing| listing.entries() > limits::COMPARED_ALWAYS)
        });
        assert!(!is_seen());
        let other = directory.path().join("elsewhere");
        fs::hard_link(root.join("src/b.rs"), &other).unwrap();
        fs::write(&other, "changed").unwrap();
        let waited = wait_until(&is_seen);
        let (_, took) = lock(&watched.place(&options).unwrap()).compared.unwrap();
        let bound = limits::BETWEEN_COMPARISONS.max(took * limits::COMPARING_PART);
        assert!(waited < bound * 5, "{waited:?}, {bound:?}");
    }

    #[test]
    fn secret_name_may_be_another_link() {
        let (directory, watched) = tree();
        let root = directory.path().join("root");
        fs::hard_link(root.join("src/b.rs"), root.join(".env")).unwrap();
        let listing = watched.listing(&WalkOptions::default()).unwrap();
        assert_eq!(paths(&listing), ["a.rs", "src/b.rs ?", "src/c.txt"]);
    }

    #[test]
    fn unused_listing_is_dropped() {
        let (_directory, watched) = tree();
        let stop = watched.stop.clone();
        drop(watched);
        assert!(stop.is_cancelled());
    }
}
