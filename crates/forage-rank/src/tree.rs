//! Keeping an index true to a tree.
//!
//! [`update`] compares the index with what a walk finds, reads what has changed and nothing else, and commits that. The
//! index then answers as one that was made of the tree anew.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use forage_fs::{
    Chosen, Contents, Decoded, Entry, FileState, Listing, OpenError, OpenedFile, RelPath, Root, Skipped,
    Step, Stop, Stopped, WalkOptions, WalkReport, decode, display_path, walk,
};

use crate::index::{IndexError, RankIndex, Stamp, Writer};
use crate::limits;

/// What has to be done to an index.
#[derive(Debug, Default)]
struct Changes {
    /// Files to read.
    read: Vec<RelPath>,
    /// Paths of files to remove.
    gone: Vec<String>,
    /// Files that are in the index as they are, but for a state that tells of later changes.
    settled: Vec<RelPath>,
    /// Files that the next comparison may have to open, whatever it is told of changes.
    unsettled: u64,
    /// How the walk went. One that ended early tells nothing of what it has not come to.
    report: WalkReport,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty() && self.settled.is_empty()
    }
}

/// Why an index is not as its tree.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The tree can't be walked.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The index can't be read or written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The time was over before all was read. What was read is kept.
    #[error(
        "the ranked index is not finished: {left} of the files that have changed are not read yet; call again to go on"
    )]
    Unfinished {
        /// Files that are left to read.
        left: u64,
    },
    /// The time was over before it was known what has changed.
    #[error(
        "there was no time to see which files have changed since the ranked index was written; allow more time, name a \
         smaller root, or use grep_search"
    )]
    NoTime,
    /// Whoever asked has gone.
    #[error("cancelled")]
    Cancelled,
    /// Another process has written the index since it was opened: it has to be opened anew.
    #[error("the ranked index was written by another process")]
    Outdated,
    /// Another call or process is at it, and the time was over before it was done.
    #[error("the ranked index is being brought up to date by another call; call again in a few seconds")]
    Busy,
    /// It can't be locked, so that it can't be written.
    #[error("{0}")]
    Locked(String),
}

/// What an update may use.
#[derive(Clone, Debug)]
pub struct Effort {
    /// Worker threads.
    pub threads: usize,
    /// Ends it.
    pub stop: Stop,
    /// Counts files that are read, for whoever shows progress.
    pub progress: Arc<AtomicU64>,
}

/// An index that is as its tree.
#[derive(Debug)]
pub struct Updated {
    /// How the walk went that told so.
    pub report: WalkReport,
    /// Whether the index stays right for as long as nobody tells of a change: some files have to be looked at each time.
    pub is_settled: bool,
}

/// Brings an index up to date with a tree as a walk finds it, under a lock that is taken only if there is something
/// to write.
///
/// # Errors
/// The index is not as the tree.
pub fn update<L>(
    index: &RankIndex,
    root: &Arc<Root>,
    listing: Option<&Listing>,
    effort: &Effort,
    lock: impl FnOnce() -> Result<L, UpdateError>,
) -> Result<Updated, UpdateError> {
    let options = WalkOptions { threads: effort.threads, ..WalkOptions::default() };
    let changes = compare(index, root, listing, &options, &effort.stop)?;
    match changes.report.stopped {
        Some(Stopped::Deadline) => return Err(UpdateError::NoTime),
        Some(Stopped::Cancelled) => return Err(UpdateError::Cancelled),
        None => {}
    }
    if changes.is_empty() {
        return Ok(Updated { report: changes.report, is_settled: changes.unsettled == 0 });
    }
    let _lock = lock()?;
    if index.is_outdated()? {
        return Err(UpdateError::Outdated);
    }
    let read = AtomicU64::new(0);
    let count = |files| {
        read.fetch_add(files, Ordering::Relaxed);
        effort.progress.fetch_add(files, Ordering::Relaxed);
    };
    match apply(index, root, &changes, effort, &count)? {
        true => Ok(Updated { report: changes.report, is_settled: false }),
        false if effort.stop.is_cancelled() => Err(UpdateError::Cancelled),
        false => {
            let left = (changes.read.len() as u64).saturating_sub(read.into_inner());
            Err(UpdateError::Unfinished { left })
        }
    }
}

/// What is known of the files of an index.
struct Known {
    places: HashMap<Box<str>, (usize, Stamp)>,
    seen: Vec<AtomicBool>,
}

impl Known {
    fn of(index: &RankIndex) -> Self {
        let mut places = HashMap::new();
        let state = index.state();
        state.for_each_stamp(|path, stamp| {
            let number = places.len();
            places.insert(path.into(), (number, stamp));
        });
        let seen = (0..places.len()).map(|_| AtomicBool::new(false)).collect();
        Self { places, seen }
    }

    /// Whether the file is in the index as it is, as far as its state tells; what is known of it, if not.
    fn meet(&self, path: &str, state: u64) -> Met {
        let Some(&(number, stamp)) = self.places.get(path) else { return Met::New };
        self.seen[number].store(true, Ordering::Relaxed);
        if state != 0 && state == stamp.state { Met::Same } else { Met::Open(stamp) }
    }

    fn unseen(self) -> Vec<String> {
        let seen = self.seen;
        let unseen =
            self.places.into_iter().filter(|(_, (number, _))| !seen[*number].load(Ordering::Relaxed));
        unseen.map(|(path, _)| path.into()).collect()
    }
}

enum Met {
    New,
    Same,
    /// Its content has to be compared.
    Open(Stamp),
}

/// Compares an index with the files below a root that a walk with these options visits; with a listing of it, there is
/// no walk.
fn compare(
    index: &RankIndex,
    root: &Arc<Root>,
    listing: Option<&Listing>,
    options: &WalkOptions,
    stop: &Stop,
) -> Result<Changes, OpenError> {
    let known = Known::of(index);
    let (mut read, mut settled) = (Vec::new(), Vec::new());
    let unsettled = AtomicU64::new(0);
    let visit = |buffer: &mut Vec<u8>, entry: &Entry<'_>, skipped: &mut Skipped| {
        let state = entry.state().map_or(0, |state| hash_of(&state));
        let met = known.meet(&entry.path.display(), state);
        if matches!(met, Met::Same) {
            return Step::Nothing;
        }
        let file = entry.open(skipped);
        // What must not be opened is looked at no more.
        if file.is_some() || root.secrets().denies(&entry.path).is_none() {
            unsettled.fetch_add(1, Ordering::Relaxed);
        }
        let item = |is_changed: bool| Step::Item((entry.path.clone(), is_changed), size_of::<RelPath>());
        let Met::Open(stamp) = met else { return item(true) };
        let now = file.map_or(UNREAD, |mut file| Read::new(&mut file, buffer).stamp);
        match now.content == stamp.content {
            false => item(true),
            true if now.state != 0 && now.state != stamp.state => item(false),
            true => Step::Nothing,
        }
    };
    let receive = |(path, is_changed): (RelPath, bool)| {
        match is_changed {
            true => read.push(path),
            // So many at a time that it is not felt; the others are read again until then.
            false if settled.len() < limits::SETTLED_AT_ONCE => settled.push(path),
            false => {}
        }
        ControlFlow::Continue(())
    };
    let below = listing.and_then(|listing| Some((listing, listing.below(&RelPath::root())?)));
    let report = match below {
        Some((listing, below)) => {
            let chosen = Chosen { visited: unlike(listing, &known), skipped: Vec::new() };
            below.walk(options, &chosen, stop, Vec::new, visit, receive)
        }
        None => walk(root, &RelPath::root(), options, stop, Vec::new, visit, receive)?,
    };
    // Nothing is gone that a walk has only not come to.
    let is_whole = report.stopped.is_none() && !report.too_many_entries;
    let gone = if is_whole { known.unseen() } else { Vec::new() };
    Ok(Changes { read, gone, settled, unsettled: unsettled.into_inner(), report })
}

/// The files of a listing that are not in the index as they are, as bits.
fn unlike(listing: &Listing, known: &Known) -> Vec<u64> {
    let mut unlike = vec![0_u64; (listing.files() as usize).div_ceil(64)];
    let mut number = 0;
    listing.for_each(|path, state, _| {
        let state = state.map_or(0, |state| hash_of(&state));
        if !matches!(known.meet(&display_path(path), state), Met::Same) {
            unlike[number / 64] |= 1 << (number % 64);
        }
        number += 1;
    });
    unlike
}

/// An index in memory of some files alone.
///
/// # Errors
/// The time was over before all were read.
pub fn read_files(root: &Root, files: &[RelPath], effort: &Effort) -> Result<RankIndex, UpdateError> {
    let index = RankIndex::in_memory()?;
    let changes = Changes { read: files.to_vec(), ..Changes::default() };
    match apply(&index, root, &changes, effort, &|_| {})? {
        true => Ok(index),
        false => Err(UpdateError::NoTime),
    }
}

/// Reads what has changed and commits it; `count` is told of files that are read. What is stopped by its deadline keeps
/// what was done so far, and the next time goes on there; what is cancelled keeps what was committed on the way. Returns
/// whether all is done.
fn apply(
    index: &RankIndex,
    root: &Root,
    changes: &Changes,
    effort: &Effort,
    count: &(impl Fn(u64) + Sync),
) -> Result<bool, IndexError> {
    let files: Vec<&RelPath> = changes.read.iter().chain(&changes.settled).collect();
    let threads = if files.len() < limits::FILES_FOR_ONE_WRITER { 1 } else { effort.threads };
    let mut writer = index.writer(threads)?;
    changes.gone.iter().for_each(|path| writer.remove(path));
    let next = AtomicUsize::new(0);
    let is_done = loop {
        // What is read waits in memory until it is written: after so many bytes all wait for that.
        let bytes = AtomicUsize::new(0);
        let work = || {
            let mut buffer = Vec::new();
            while bytes.load(Ordering::Relaxed) < limits::BYTES_AT_ONCE {
                if effort.stop.check().is_some() {
                    return Ok(false);
                }
                let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) else { return Ok(true) };
                add(&writer, root, path, &mut buffer)?;
                bytes.fetch_add(buffer.len(), Ordering::Relaxed);
                count(1);
            }
            Ok(true)
        };
        let results: Vec<Result<bool, IndexError>> = std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mine = work();
            let join = |other: std::thread::ScopedJoinHandle<'_, _>| {
                other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            std::iter::once(mine).chain(others.into_iter().map(join)).collect()
        });
        let mut goes_on = true;
        for result in results {
            goes_on &= result?;
        }
        match (goes_on, next.load(Ordering::Relaxed) >= files.len()) {
            (true, false) => writer.flush()?,
            (goes_on, _) => break goes_on,
        }
    };
    if is_done || !effort.stop.is_cancelled() {
        let is_early = |deadline: Instant| deadline > Instant::now() + limits::MERGE_TIME;
        writer.finish(is_done && effort.stop.deadline().is_none_or(is_early))?;
    }
    Ok(is_done)
}

fn add(writer: &Writer<'_>, root: &Root, path: &RelPath, buffer: &mut Vec<u8>) -> Result<(), IndexError> {
    let name = path.display();
    // It has gone meanwhile, or may not be read.
    let Ok(mut file) = root.open_file(path) else { return writer.add_wordless(&name, UNREAD) };
    let Read { stamp, contents } = Read::new(&mut file, buffer);
    let Decoded::Text { bytes, .. } = decode(buffer) else { return writer.add_wordless(&name, stamp) };
    match contents {
        Some(Contents::Whole) => writer.add(&name, &String::from_utf8_lossy(&bytes), stamp),
        Some(Contents::TooLarge) => writer.add_beginning(&name, &String::from_utf8_lossy(&bytes), stamp),
        None => writer.add_wordless(&name, stamp),
    }
}

/// A file that can't be opened, or must not be.
const UNREAD: Stamp = Stamp { content: 0, state: 0 };

/// A file that was read into a buffer.
struct Read {
    stamp: Stamp,
    /// Nothing if the system refused.
    contents: Option<Contents>,
}

impl Read {
    fn new(file: &mut OpenedFile, buffer: &mut Vec<u8>) -> Self {
        let now = nanoseconds_now();
        let before = file.state();
        let contents = file.read_into(buffer, limits::FILE_BYTES).ok();
        // A state that it does not have any more, or that a later change may leave as it is, tells nothing.
        let settled = before.filter(|state| file.state_now() == before && !state.may_hide_a_change(now));
        match contents {
            // The next time may do better.
            None => return Self { stamp: UNREAD, contents },
            Some(Contents::TooLarge) => buffer.truncate(limits::FILE_BYTES),
            Some(Contents::Whole) => {}
        }
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(u8::from(contents == Some(Contents::TooLarge)));
        hasher.write(buffer);
        // Not that of `UNREAD`.
        let content = hasher.finish().max(1);
        Self { stamp: Stamp { content, state: settled.map_or(0, |state| hash_of(&state)) }, contents }
    }
}

/// Never 0, which stands for no state.
fn hash_of(state: &FileState) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write_u64(state.size);
    hasher.write_i64(state.modified);
    hasher.write_i64(state.changed);
    hasher.write_u64(state.inode);
    hasher.finish().max(1)
}

/// The time, as in the state of a file.
fn nanoseconds_now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
