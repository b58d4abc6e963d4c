//! The ranked index of a root. We store it on disk and update it before every answer.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use crate::indexes::Ranked;
use forage_base::Stop;
use forage_fs::{FileListing, RelPath, Root, WalkReport, WatchedTree};
use forage_rank::tree::{UpdateEffort, UpdateError, Updated, update, walk_options};
use forage_rank::{IndexError, RankIndex};

use super::store::IndexStore;
use super::wait::wait_for;

/// Maximum attempts to open an index in one call.
const ATTEMPTS: usize = 4;

/// The state of a root's ranked index in this process.
#[derive(Default)]
pub(super) struct RankIndexState {
    index: Option<Arc<RankIndex>>,
    /// The tree at the last update of the index, if we could list it without a walk.
    seen: Option<(Arc<FileListing>, Arc<WalkReport>)>,
}

impl RankIndexState {
    /// Returns the index if the tree is the same as at the last update.
    fn unchanged(&self, root: &Arc<Root>, listing: Option<&Arc<FileListing>>, stop: &Stop) -> Option<Ranked> {
        let (seen, report) = self.seen.as_ref()?;
        let index =
            self.index.as_ref().filter(|_| listing.is_some_and(|listing| Arc::ptr_eq(seen, listing)))?;
        // The tree has not changed, but the checked-out commit may have.
        index.read_project(root, &RelPath::root(), stop);
        Some(Ranked {
            index: Arc::clone(index),
            report: Arc::clone(report),
            warning: None,
            is_provisional: false,
        })
    }
}

/// Updates the index of a root to match its tree.
pub(super) fn fresh(
    kept: &mut RankIndexState,
    store: &IndexStore,
    root: &Arc<Root>,
    watched: Option<&WatchedTree>,
    effort: &UpdateEffort,
) -> Result<Ranked, UpdateError> {
    let listing = watched.and_then(|watched| watched.listing(&walk_options()));
    let mut is_damaged = kept.index.as_ref().is_some_and(|index| index.is_damaged());
    if !is_damaged && let Some(unchanged) = kept.unchanged(root, listing.as_ref(), &effort.stop) {
        return Ok(unchanged);
    }
    // If the update fails, the next call must not trust the old listing.
    kept.seen = None;
    let mut problem = String::new();
    // If another process changes the index files in the meantime, another attempt will detect that.
    for _ in 0..ATTEMPTS {
        let opened = match kept.index.take().filter(|_| !is_damaged) {
            Some(index) => Ok(index),
            None if is_damaged => store.replace_ranked(&effort.stop).map(Arc::new),
            None => store.open_ranked(root.repository().as_deref(), &effort.stop).map(Arc::new),
        };
        let index = match opened {
            Ok(index) => index,
            Err(UpdateError::Index(IndexError::Stopped)) if effort.stop.is_cancelled() => {
                return Err(UpdateError::Cancelled);
            }
            Err(error @ UpdateError::Index(IndexError::Stopped)) => return Err(error),
            Err(UpdateError::Index(error)) => {
                problem = error.to_string();
                continue;
            }
            Err(UpdateError::Locked(reason)) => {
                problem = reason;
                break;
            }
            Err(error) => return Err(error),
        };
        let updated = update(&index, root, listing.as_deref(), effort, || store.lock_ranked(&effort.stop));
        match updated {
            Ok(Updated { report, is_settled }) => {
                store.note_ranked();
                let report = Arc::new(report);
                // If the states of some files are not reliable, an unchanged listing does not mean an
                // unchanged tree.
                let seen = listing.filter(|_| is_settled);
                kept.seen = seen.map(|listing| (listing, Arc::clone(&report)));
                kept.index = Some(Arc::clone(&index));
                return Ok(Ranked { index, report, warning: None, is_provisional: false });
            }
            // A new index should not be damaged, so another attempt would fail in the same way. On a full
            // disk, the engine may panic instead of returning the error.
            Err(error) if is_damaged && index.is_damaged() => {
                problem = error.to_string();
                break;
            }
            Err(error @ (UpdateError::Index(_) | UpdateError::Outdated)) => {
                is_damaged = index.is_damaged();
                problem = error.to_string();
            }
            Err(UpdateError::Locked(reason)) => {
                problem = reason;
                break;
            }
            // Keep the files read so far.
            Err(error) => {
                kept.index = Some(index);
                return Err(error);
            }
        }
    }
    // An unusable cache must make an answer late, not impossible.
    let mut made = Ranked::in_memory(root, effort)?;
    made.warning =
        Some(format!("the ranked index is rebuilt for every call because it can't be saved: {problem}"));
    Ok(made)
}

/// Waits for other calls and builds for the same root, so that we do not read the same files again. Ends
/// early with the error that `give_up` returns.
pub(super) fn lock_until<'a>(
    kept: &'a Mutex<RankIndexState>,
    stop: &Stop,
    give_up: impl Fn() -> Option<UpdateError>,
) -> Result<MutexGuard<'a, RankIndexState>, UpdateError> {
    wait_for(stop, || match kept.try_lock() {
        Ok(guard) => Some(Ok(guard)),
        // A panic of another holder can't leave a partial state, because we always replace the state as a
        // whole.
        Err(TryLockError::Poisoned(poisoned)) => Some(Ok(poisoned.into_inner())),
        Err(TryLockError::WouldBlock) => give_up().map(Err),
    })?
}
