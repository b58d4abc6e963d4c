//! Listings of a root, made and kept in the background of a long-lived process.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::WalkOptions;
use super::listing::Listing;
use super::tree::Tree;
use crate::limits;
use crate::root::Root;
use crate::stop::Stop;
use crate::sys::MountTable;

/// Tells that something was mounted or unmounted. One is enough for a process; it must be opened before the process
/// gives up the right to read the kernel's tables.
#[derive(Debug)]
pub struct Mounts {
    table: MountTable,
    changes: Mutex<u64>,
}

impl Mounts {
    /// `None` where the system does not tell.
    pub fn open() -> Option<Arc<Self>> {
        let table = MountTable::open().ok()?;
        Some(Arc::new(Self { table, changes: Mutex::new(0) }))
    }

    /// How often it was found that something changed.
    fn changes(&self) -> u64 {
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        *changes += u64::from(self.table.has_changed());
        *changes
    }
}

/// What a root's tree is like, per set of options with which it is walked, as the kernel tells of its changes.
#[derive(Debug)]
pub struct Watched {
    root: Arc<Root>,
    mounts: Arc<Mounts>,
    stop: Stop,
    places: Mutex<Vec<Place>>,
}

/// What is kept for one set of options.
#[derive(Debug)]
struct Place {
    options: WalkOptions,
    state: Arc<Mutex<State>>,
    last_asked: Instant,
}

#[derive(Debug, Default)]
struct State {
    tree: Option<Box<Tree>>,
    /// The mounts with which it was listed.
    mounts: u64,
    /// When states were last compared.
    checked: Option<Instant>,
    /// Something is done for it in the background.
    is_busy: bool,
    /// Not to be listed before.
    next: Option<Instant>,
    /// Why it was not listed.
    problem: Option<String>,
}

impl Watched {
    /// Nothing is listed yet. What goes on in the background ends with `stop`.
    pub fn new(root: &Arc<Root>, mounts: &Arc<Mounts>, stop: &Stop) -> Arc<Self> {
        Arc::new(Self {
            root: Arc::clone(root),
            mounts: Arc::clone(mounts),
            stop: stop.clone(),
            places: Mutex::default(),
        })
    }

    /// Whose tree it is.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The tree as a walk with these options finds it now. `None` when there is no listing yet, and where the tree has
    /// more to report than a listing does; then one is made in the background, so that a later call may have it.
    pub fn listing(self: &Arc<Self>, options: &WalkOptions) -> Option<Arc<Listing>> {
        let place = self.place(options)?;
        let mut state = lock(&place);
        let listing = self.current(&mut state);
        let is_due = match &listing {
            Some(_) => state.checked.is_none_or(|checked| checked.elapsed() >= limits::STATES_TRUSTED),
            None => state.tree.is_none() && state.next.is_none_or(|next| Instant::now() >= next),
        };
        if is_due && !state.is_busy {
            state.is_busy = self.in_background(options, &place, listing.clone());
        }
        listing
    }

    /// As [`Watched::listing`], but that a listing that is not there is made first.
    ///
    /// # Errors
    /// Why it can't be kept.
    pub fn prepare(&self, options: &WalkOptions) -> io::Result<Option<Arc<Listing>>> {
        let place = self.place(options).ok_or(io::ErrorKind::Unsupported)?;
        let mut state = lock(&place);
        if let Some(listing) = self.current(&mut state) {
            return Ok(Some(listing));
        }
        *state = self.listed(options);
        let listing = self.current(&mut state);
        match state.problem.take() {
            Some(problem) => Err(io::Error::other(problem)),
            None => Ok(listing),
        }
    }

    /// Where what is kept for these options is; `None` if nothing is.
    fn place(&self, options: &WalkOptions) -> Option<Arc<Mutex<State>>> {
        if !options.can_be_listed() || !self.root.knows_states() {
            return None;
        }
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some(place) = places.iter_mut().find(|place| place.options.comes_by_the_same(options)) {
            place.last_asked = now;
            return Some(Arc::clone(&place.state));
        }
        if places.len() >= limits::LISTINGS_KEPT {
            // Not those that are in use, lest calls that differ make each other's listings in vain.
            let (oldest, place) = places.iter().enumerate().min_by_key(|(_, place)| place.last_asked)?;
            if now.duration_since(place.last_asked) < limits::LISTING_UNUSED {
                return None;
            }
            places.remove(oldest);
        }
        let options = WalkOptions { threads: 0, progress: None, ..options.clone() };
        let state = Arc::default();
        places.push(Place { options, state: Arc::clone(&state), last_asked: now });
        Some(state)
    }

    /// The listing of a tree that is kept; one that can't be told any more is dropped.
    fn current(&self, state: &mut State) -> Option<Arc<Listing>> {
        let tree = state.tree.as_mut()?;
        let listing = match self.mounts.changes() == state.mounts {
            true => tree.listing(&self.stop),
            false => Err(io::Error::other("something was mounted or unmounted")),
        };
        listing.unwrap_or_else(|error| {
            state.problem = Some(error.to_string());
            state.tree = None;
            None
        })
    }

    fn listed(&self, options: &WalkOptions) -> State {
        let mounts = self.mounts.changes();
        let started = Instant::now();
        // A panic must not be taken for one that goes on for ever.
        let tree = std::panic::catch_unwind(AssertUnwindSafe(|| Tree::new(&self.root, options, &self.stop)));
        let (tree, problem) = match tree {
            Ok(Ok(tree)) => (Some(Box::new(tree)), None),
            Ok(Err(error)) => (None, Some(error.to_string())),
            Err(_) => (None, Some("listing the tree failed".to_owned())),
        };
        let pause = match tree {
            // If it is lost at once, because too much changes.
            Some(_) => (started.elapsed() * limits::LISTING_PART).max(limits::BETWEEN_LISTINGS),
            None => limits::LISTING_FAILED,
        };
        State {
            tree,
            mounts,
            checked: Some(Instant::now()),
            is_busy: false,
            next: Some(Instant::now() + pause),
            problem,
        }
    }

    /// Makes a listing, or compares the states of one that is there.
    fn in_background(
        self: &Arc<Self>,
        options: &WalkOptions,
        place: &Arc<Mutex<State>>,
        listing: Option<Arc<Listing>>,
    ) -> bool {
        let (watched, place, options) = (Arc::clone(self), Arc::clone(place), options.clone());
        let work = move || match listing {
            None => {
                let listed = watched.listed(&options);
                *lock(&place) = listed;
            }
            Some(listing) => {
                let compare = || listing.outdated(&watched.stop);
                let outdated = std::panic::catch_unwind(AssertUnwindSafe(compare)).unwrap_or_default();
                let mut state = lock(&place);
                state.is_busy = false;
                state.checked = Some(Instant::now());
                if let Some(tree) = &mut state.tree {
                    tree.doubt(outdated);
                }
            }
        };
        std::thread::Builder::new().name("listing".to_owned()).spawn(work).is_ok()
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
