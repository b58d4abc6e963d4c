//! Keeps an index in sync with a directory tree.
//!
//! [`update`] compares the index with the result of a walk, reads only the files that have changed, and
//! commits these changes. The index then answers like a new index of the tree.

use std::collections::HashMap;
use std::collections::hash_map;
use std::hash::Hasher as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use forage_base::{Hash64, Hint, Stop, Stopped, in_threads};
use forage_fs::{
    Contents, DecodedText, Entry, FileListing, FileState, ListingFilter, NOISE, OpenError, OpenedFile,
    ReadBuffer, RelPath, Root, Skipped, StateReliability, WalkOptions, WalkReport, WalkStep, decode,
    display_path, walk,
};
use tantivy::DocAddress;

use crate::error::IndexError;
use crate::index::{IndexState, RankIndex, Stamp, Writer};
use crate::limits;
use crate::segments::guarded;

/// The changes to apply to an index.
#[derive(Default)]
struct Changes {
    /// The index state that the tree was compared with.
    state: Arc<IndexState>,
    /// Files to read.
    read: Vec<Changed>,
    /// Documents to remove.
    gone: Vec<DocAddress>,
    /// Documents with unchanged content whose file now has this state, which will reliably show later
    /// changes.
    settled: Vec<(DocAddress, u64)>,
    /// Number of files that the next comparison may have to open, even if it is notified of changes.
    unsettled: u64,
    /// The report of the walk. If the walk ended early, we know nothing about files that it did not reach.
    report: WalkReport,
}

/// A file that differs from the index, and its old document, if any.
struct Changed {
    path: RelPath,
    before: Option<DocAddress>,
    /// The content, if the comparison already had to read it, so that we don't read it twice.
    read: Option<(Read, Vec<u8>)>,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.read.is_empty() && self.gone.is_empty() && self.settled.is_empty()
    }
}

/// The reasons why an index is not in sync with its tree.
#[derive(Debug, thiserror::Error)]
pub enum UpdateError {
    /// The tree cannot be walked.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The index cannot be read or written.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The deadline passed before everything was read. The files read so far are kept.
    #[error(
        "the ranked index is still being built: {done} of {all} new or changed files are indexed, and this call has run out \
         of time; call again to continue"
    )]
    Unfinished {
        /// Files that this call has read.
        done: u64,
        /// Files that this call had to read.
        all: u64,
    },
    /// The deadline passed before the changed files were known.
    #[error(
        "could not find out in time which files have changed since the ranked index was written; allow more time, or name \
         a smaller root"
    )]
    NoTime,
    /// The caller cancelled.
    #[error("cancelled")]
    Cancelled,
    /// Another process has written the index since it was opened, so the caller must open it again.
    #[error("the ranked index was written by another process")]
    Outdated,
    /// Another call or process is updating the index, and did not finish before the deadline.
    #[error("another call is updating the ranked index; call again in a few seconds")]
    Busy,
    /// The index cannot be locked, and therefore not written.
    #[error("{0}")]
    Locked(String),
}

impl UpdateError {
    /// Returns advice on this error in addition to its message, if there is any.
    #[must_use]
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Index(error) => error.hint(),
            Self::Unfinished { .. }
            | Self::NoTime
            | Self::Cancelled
            | Self::Outdated
            | Self::Busy
            | Self::Locked(_) => None,
        }
    }
}

/// The threads and the time that an update may use.
#[derive(Clone, Debug, Default)]
pub struct UpdateEffort {
    /// Number of worker threads. With 0, there is one walking thread per processor, and one that writes.
    pub threads: usize,
    /// Ends the update.
    pub stop: Stop,
    /// Ends an update earlier if it has to read many files, by [`Stop::end_within`]. So `stop` must not be
    /// shared with other work ([`Stop::detached`]).
    pub large_end: Option<Instant>,
    /// Ends the comparison earlier, in the same way, if it has to open many files. Often these turn out to be
    /// unchanged.
    pub comparison_end: Option<Instant>,
    /// Counts the files read, to show progress.
    pub progress: Arc<UpdateProgress>,
}

/// The progress of an update.
#[derive(Debug, Default)]
pub struct UpdateProgress {
    /// Files that have been read.
    pub read: AtomicU64,
    /// Files to read for the index. This is 0 until the comparison has found them all.
    pub all: AtomicU64,
    /// True once the update is known to open more than [`limits::SMALL_UPDATE_FILES`].
    pub is_large: AtomicBool,
    /// True once more than that are known to be new or to have changed.
    pub has_many_changes: AtomicBool,
}

impl UpdateEffort {
    /// Records how many files the comparison had to open so far.
    fn open_in_comparison(&self, files: u64) {
        if files > limits::SMALL_UPDATE_FILES {
            self.progress.is_large.store(true, Ordering::Relaxed);
            if self.comparison_end.is_some_and(|end| Instant::now() >= end) {
                self.stop.end_within(Duration::ZERO);
            }
        }
    }

    /// Records how many files are known to be new or changed.
    fn find_changed(&self, files: u64) {
        if files > limits::SMALL_UPDATE_FILES {
            self.progress.has_many_changes.store(true, Ordering::Relaxed);
            if let Some(end) = self.large_end {
                self.stop.end_within(end.saturating_duration_since(Instant::now()));
            }
        }
    }
}

/// The result of an update. With this, the index is in sync with its tree.
#[derive(Debug)]
pub struct Updated {
    /// The report of the walk that the update is based on.
    pub report: WalkReport,
    /// True if the index stays in sync until a change is reported. False if some files must be checked each
    /// time, as their state doesn't reliably show changes.
    pub is_settled: bool,
}

/// Returns the walk options that find the files of a ranked index.
pub fn walk_options() -> WalkOptions {
    WalkOptions { noise: NOISE, ..WalkOptions::default() }
}

/// Updates an index to match a tree as found by a walk. We only take the lock if there is something to write.
///
/// # Errors
///
/// Returns an error if the index is not in sync with the tree.
pub fn update<L>(
    index: &RankIndex,
    root: &Arc<Root>,
    listing: Option<&FileListing>,
    effort: &UpdateEffort,
    lock: impl FnOnce() -> Result<L, UpdateError>,
) -> Result<Updated, UpdateError> {
    index.read_commits(root, &RelPath::root(), &effort.stop);
    let changes = compare(index, root, listing, effort)?;
    match changes.report.stopped {
        Some(Stopped::Deadline) => return Err(UpdateError::NoTime),
        Some(Stopped::Cancelled) => return Err(UpdateError::Cancelled),
        None => {}
    }
    if changes.is_empty() {
        index.read_evidence(root, &RelPath::root(), &effort.stop);
        return Ok(Updated { report: changes.report, is_settled: changes.unsettled == 0 });
    }
    let _lock = lock()?;
    // Before we had the lock, another process could still commit.
    if index.is_outdated()? {
        return Err(UpdateError::Outdated);
    }
    let all = changes.read.len() as u64;
    match index.using(|| apply(index, root, &changes, effort))? {
        Applied { is_done: true, .. } => {
            index.read_evidence(root, &RelPath::root(), &effort.stop);
            Ok(Updated { report: changes.report, is_settled: false })
        }
        _ if effort.stop.is_cancelled() => Err(UpdateError::Cancelled),
        Applied { files, .. } => Err(UpdateError::Unfinished { done: files.min(all), all }),
    }
}

/// The known files of an index.
struct KnownFiles<'a> {
    places: HashMap<&'a str, (u32, Stamp, DocAddress)>,
    seen: Vec<AtomicBool>,
    /// Documents of files that already have another document. We never write such duplicates, but must remove
    /// any that we find.
    doubled: Vec<DocAddress>,
}

impl<'a> KnownFiles<'a> {
    /// Collects the known files; `None` if the deadline has passed.
    fn from_state(state: &'a IndexState, stop: &Stop) -> Option<Self> {
        let files = state.segments.iter().map(|segment| segment.reader.num_docs() as usize).sum();
        let (mut places, mut doubled) = (HashMap::with_capacity(files), Vec::new());
        for (index, segment) in state.segments.iter().enumerate() {
            for (step, (document, path, stamp)) in segment.living().enumerate() {
                if step % limits::STOP_STEPS == 0 && stop.check().is_some() {
                    return None;
                }
                let place = DocAddress::new(index as u32, document);
                let number = places.len() as u32;
                match places.entry(path) {
                    hash_map::Entry::Vacant(vacant) => drop(vacant.insert((number, stamp, place))),
                    hash_map::Entry::Occupied(_) => doubled.push(place),
                }
            }
        }
        let seen = (0..places.len()).map(|_| AtomicBool::new(false)).collect();
        Some(Self { places, seen, doubled })
    }

    /// Compares a file's state with the index. Returns the known data if the state does not show that the
    /// file is unchanged.
    fn compare(&self, path: &str, state: u64) -> FileDifference {
        let Some(&(number, stamp, place)) = self.places.get(path) else { return FileDifference::New };
        self.seen[number as usize].store(true, Ordering::Relaxed);
        if state != 0 && state == stamp.state {
            FileDifference::Same
        } else {
            FileDifference::Open(stamp, place)
        }
    }

    fn into_deleted(self) -> Vec<DocAddress> {
        let seen = self.seen;
        let unseen =
            self.places.into_values().filter(|(number, ..)| !seen[*number as usize].load(Ordering::Relaxed));
        unseen.map(|(_, _, place)| place).chain(self.doubled).collect()
    }
}

/// The action for one file.
enum FileFinding {
    /// The file must be read for the index.
    Read(Changed),
    /// The content is unchanged.
    Settled(DocAddress, u64),
}

enum FileDifference {
    New,
    Same,
    /// The content must be compared.
    Open(Stamp, DocAddress),
}

/// Compares an index with the files that a walk below a root visits. If a listing of the files is given, no
/// walk is needed.
fn compare(
    index: &RankIndex,
    root: &Arc<Root>,
    listing: Option<&FileListing>,
    effort: &UpdateEffort,
) -> Result<Changes, OpenError> {
    let (options, stop) = (&WalkOptions { threads: effort.threads, ..walk_options() }, &effort.stop);
    let state = index.state();
    let Some(known) = KnownFiles::from_state(&state, stop) else {
        let report = WalkReport { stopped: stop.check(), ..WalkReport::default() };
        return Ok(Changes { report, ..Changes::default() });
    };
    let (mut read, mut settled) = (Vec::new(), Vec::new());
    let (unsettled, changes) = (AtomicU64::new(0), AtomicU64::new(0));
    let kept = AtomicUsize::new(0);
    let visit = |buffer: &mut ReadBuffer, entry: &Entry<'_>, skipped: &mut Skipped| {
        let state = entry.state().map_or(0, |state| hash_of(&state));
        let met = known.compare(&entry.path.display(), state);
        if matches!(met, FileDifference::Same) {
            return WalkStep::Nothing;
        }
        let file = entry.open(skipped);
        // Files that must not be opened won't be checked again, so they don't count.
        let counts = file.is_some() || root.secrets().denies(&entry.path).is_none();
        let find_changed = || {
            if counts {
                effort.find_changed(changes.fetch_add(1, Ordering::Relaxed) + 1);
            }
        };
        if counts {
            effort.open_in_comparison(unsettled.fetch_add(1, Ordering::Relaxed) + 1);
        }
        let before = if let FileDifference::Open(_, place) = met { Some(place) } else { None };
        let mut changed = Changed { path: entry.path.clone(), before, read: None };
        let item = |finding| WalkStep::Item(finding, size_of::<FileFinding>());
        let FileDifference::Open(stamp, place) = met else {
            find_changed();
            return item(FileFinding::Read(changed));
        };
        let read = file.map(|mut file| Read::new(&mut file, buffer));
        let now = read.as_ref().map_or(UNREAD, |read| read.stamp);
        match now.content == stamp.content {
            false => {
                let has_room = |bytes: usize| {
                    kept.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= limits::CHANGED_BYTES
                };
                find_changed();
                changed.read = read.filter(|_| has_room(buffer.len())).map(|read| (read, buffer.to_vec()));
                item(FileFinding::Read(changed))
            }
            true if now.state != 0 && now.state != stamp.state => {
                item(FileFinding::Settled(place, now.state))
            }
            true => WalkStep::Nothing,
        }
    };
    let receive = |finding: FileFinding| {
        match finding {
            FileFinding::Read(changed) => read.push(changed),
            FileFinding::Settled(place, state) => settled.push((place, state)),
        }
        ControlFlow::Continue(())
    };
    let below = listing.and_then(|listing| Some((listing, listing.below(&RelPath::root())?)));
    let report = match below {
        Some((listing, below)) => {
            let chosen = ListingFilter { visited: changed_files(listing, &known), skipped: Vec::new() };
            below.walk(options, &chosen, stop, ReadBuffer::default, visit, receive)
        }
        None => walk(root, &RelPath::root(), options, stop, ReadBuffer::default, visit, receive)?,
    };
    // We must not remove files that the walk merely did not reach.
    let is_whole = report.stopped.is_none() && !report.too_many_entries;
    let gone = if is_whole { known.into_deleted() } else { Vec::new() };
    Ok(Changes { state: Arc::clone(&state), read, gone, settled, unsettled: unsettled.into_inner(), report })
}

/// Finds the files of a listing that differ from the index, as a bit set.
fn changed_files(listing: &FileListing, known: &KnownFiles<'_>) -> Vec<u64> {
    let mut unlike = vec![0_u64; (listing.files() as usize).div_ceil(64)];
    let mut number = 0;
    listing.for_each(|path, state, _| {
        let state = state.map_or(0, |state| hash_of(&state));
        // This also marks files that the walk will not visit, so that they do not count as gone.
        if !matches!(known.compare(&display_path(path), state), FileDifference::Same) {
            unlike[number / 64] |= 1 << (number % 64);
        }
        number += 1;
    });
    unlike
}

/// Builds an index in memory of the given files only.
///
/// # Errors
///
/// Returns an error if the deadline passed before all of them were read.
pub fn read_files(root: &Root, files: &[RelPath], effort: &UpdateEffort) -> Result<RankIndex, UpdateError> {
    let index = RankIndex::in_memory()?;
    let read = files.iter().map(|path| Changed { path: path.clone(), before: None, read: None }).collect();
    let changes = Changes { state: index.state(), read, ..Changes::default() };
    if apply(&index, root, &changes, effort)?.is_done { Ok(index) } else { Err(UpdateError::NoTime) }
}

/// Builds an index in memory of the first given files, as many as can be read until `end`, and returns their
/// number. The first `least` files are always read, regardless of `end`.
///
/// # Errors
///
/// Returns an error if the deadline of the effort itself passed before these files were read.
pub fn read_first(
    root: &Root,
    files: &[RelPath],
    effort: &UpdateEffort,
    end: Instant,
    least: usize,
) -> Result<(RankIndex, usize), UpdateError> {
    let index = RankIndex::in_memory()?;
    let threads = effort.threads.clamp(1, files.len().max(1));
    let writer = index.writer_until(threads, false, &effort.stop)?;
    let (next, added) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let work = || {
        guarded(|| {
            let mut buffer = ReadBuffer::default();
            while !writer.is_past_deadline() && (next.load(Ordering::Relaxed) < least || Instant::now() < end)
            {
                let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                add(&writer, root, path, &mut buffer)?;
                added.fetch_add(1, Ordering::Relaxed);
                effort.progress.read.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<_, IndexError>(())
        })
    };
    in_threads(threads, work).into_iter().collect::<Result<(), _>>()?;
    let lost = writer.finish(false)?;
    let added = added.into_inner();
    if lost > 0 || added < least.min(files.len()) { Err(UpdateError::NoTime) } else { Ok((index, added)) }
}

/// The result of applying changes.
struct Applied {
    is_done: bool,
    /// Files that were read and are now in the index.
    files: u64,
}

/// Reads the changed files and commits them.
///
/// An interrupted update keeps the data written so far, and the next one will continue there. At a deadline,
/// this includes nearly everything that was read, because reading ends early enough to write it. A cancelled
/// update loses its buffered documents, since writing them for a caller that has left isn't worth the CPU
/// time.
fn apply(
    index: &RankIndex,
    root: &Root,
    changes: &Changes,
    effort: &UpdateEffort,
) -> Result<Applied, IndexError> {
    let files = &changes.read;
    let has_many = files.len() >= limits::FILES_FOR_ONE_WRITER;
    let threads = if has_many { effort.threads } else { 1 };
    let writer = index.writer_until(threads, has_many, &effort.stop)?;
    if !Arc::ptr_eq(&changes.state, &index.state()) {
        // Another call has changed the index since our comparison.
        return Err(IndexError::Busy);
    }
    changes.gone.iter().try_for_each(|&place| writer.remove_at(place))?;
    changes.settled.iter().try_for_each(|&(place, state)| writer.settle_at(place, state))?;
    effort.progress.all.fetch_add(files.len() as u64, Ordering::Relaxed);
    let (next, added) = (AtomicUsize::new(0), AtomicU64::new(0));
    let work = || {
        guarded(|| {
            let mut buffer = ReadBuffer::default();
            while !writer.is_past_deadline() {
                let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return Ok::<_, IndexError>(true);
                };
                // We remove the old document only now, so that an interrupted update keeps those that it did
                // not reach.
                if let Some(place) = file.before {
                    writer.remove_at(place)?;
                }
                match &file.read {
                    Some((read, bytes)) => add_read(&writer, &file.path, read, bytes)?,
                    None => add(&writer, root, &file.path, &mut buffer)?,
                }
                added.fetch_add(1, Ordering::Relaxed);
                effort.progress.read.fetch_add(1, Ordering::Relaxed);
            }
            Ok(false)
        })
    };
    let mut is_done = true;
    for result in in_threads(threads, work) {
        is_done &= result?;
    }
    let is_early = |deadline: Instant| deadline > Instant::now() + limits::MERGE_TIME;
    let lost = writer.finish(is_done && effort.stop.deadline().is_none_or(is_early))?;
    Ok(Applied { is_done: is_done && lost == 0, files: added.into_inner().saturating_sub(lost) })
}

fn add(writer: &Writer<'_>, root: &Root, path: &RelPath, buffer: &mut ReadBuffer) -> Result<(), IndexError> {
    // The file was removed in the meantime, or we must not read it.
    let Ok(mut file) = root.open_file(path) else {
        return writer.add_new_wordless(&path.display(), UNREAD);
    };
    let read = Read::new(&mut file, buffer);
    add_read(writer, path, &read, buffer)
}

/// Adds a file that was already read.
fn add_read(writer: &Writer<'_>, path: &RelPath, read: &Read, bytes: &[u8]) -> Result<(), IndexError> {
    let (name, &Read { stamp, contents }) = (path.display(), read);
    let DecodedText::Text { bytes, .. } = decode(bytes) else {
        return writer.add_new_wordless(&name, stamp);
    };
    match contents {
        Some(Contents::Whole) => writer.add_new(&name, &String::from_utf8_lossy(&bytes), stamp),
        Some(Contents::TooLarge) => writer.add_new_truncated(&name, &String::from_utf8_lossy(&bytes), stamp),
        None => writer.add_new_wordless(&name, stamp),
    }
}

/// The stamp of a file that cannot be opened, or must not be.
const UNREAD: Stamp = Stamp { content: 0, state: 0 };

/// A file read into a buffer.
struct Read {
    stamp: Stamp,
    /// `None` if the system returned an error.
    contents: Option<Contents>,
}

impl Read {
    fn new(file: &mut OpenedFile, buffer: &mut ReadBuffer) -> Self {
        let before = file.stable_state();
        let contents = file.read_into(buffer, limits::FILE_BYTES).ok();
        // We can't use a state that the file no longer has, or that a later change may leave the same.
        let settled = before
            .filter(|(state, telling)| *telling == StateReliability::All && file.state_now() == Some(*state));
        match contents {
            // The next attempt may succeed.
            None => return Self { stamp: UNREAD, contents },
            Some(Contents::TooLarge) => buffer.truncate(limits::FILE_BYTES),
            Some(Contents::Whole) => {}
        }
        let mut hasher = Hash64::default();
        // A file that has just grown beyond the limit begins with the same bytes, but is indexed differently.
        hasher.write_u8(u8::from(contents == Some(Contents::TooLarge)));
        hasher.write(buffer);
        // This must differ from `UNREAD`.
        let content = hasher.finish().max(1);
        Self { stamp: Stamp { content, state: settled.map_or(0, |(state, _)| hash_of(&state)) }, contents }
    }
}

/// The version of how we compute states. A state of another version is ignored, and the content is compared
/// instead. Version 2 takes the state after the file was written back.
const STATES: u8 = 2;

/// Hashes a state. The result is never 0, which means that there is no state.
fn hash_of(state: &FileState) -> u64 {
    let mut hasher = Hash64::default();
    hasher.write_u8(STATES);
    hasher.write_u64(state.size);
    hasher.write_i64(state.modified);
    hasher.write_i64(state.changed);
    hasher.write_u64(state.inode);
    hasher.finish().max(1)
}

#[cfg(test)]
mod tests;
