//! Detects whether a tree is unchanged since the last filling of a collection.
//!
//! A separate point of the collection records this, so that it exists and is removed together with the points
//! of the files. The state of the tree is written to this point after all files were written, and is cleared
//! before any change. After an interrupted filling, the point therefore contains only the name of the
//! repository.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use forage_base::Stop;
use forage_fs::{FileState, OpenedFile, RelPath, Root, StateReliability, WalkOptions, WalkStep, walk};
use serde_json::{Map, Value, json};

use super::{FORMAT, FillError, FillOutcome, Filling, field, hash_of, hexadecimal};
use crate::filter::PointFilter;
use crate::limits::{REMOVED_POINTS, SCAN_POINTS};
use crate::point_id::PointId;
use crate::retry::with_retries;
use crate::store::{Point, PointReader, PointScan, PointStore, StoreError};
use crate::vector::SparseVector;

/// The payload field that distinguishes these points from those of files. Its value is `1`.
pub(super) const SEEN: &str = "seen";

/// Further payload fields of this point.
mod seen_field {
    /// The state of the tree.
    pub(super) const TREE: &str = "tree";
    /// The number of its files.
    pub(super) const FILES: &str = "files";
    /// The number of their chunks, from which we see whether another process has removed some.
    pub(super) const POINTS: &str = "points";
}

/// Counts the points of files that pass a filter. Points that record the state of a tree are not counted.
///
/// # Errors
///
/// Returns the errors of the store.
pub fn count_chunks(store: &dyn PointReader, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
    let all = with_retries(stop, || store.count(filter, stop))?;
    let seen = seen_among(filter);
    // The two counts are from different moments, so the second one may be larger.
    Ok(all.saturating_sub(with_retries(stop, || store.count(&seen, stop))?))
}

/// Restricts a filter to the points that record a tree's state.
fn seen_among(filter: &PointFilter) -> PointFilter {
    let mut seen = filter.clone();
    seen.conditions.extend(PointFilter::any_of(SEEN, ["1"]).conditions);
    seen
}

/// Lists the names of the repositories with which a collection was filled.
///
/// # Errors
///
/// Returns the errors of the store.
pub fn repositories(store: &dyn PointReader, stop: &Stop) -> Result<Vec<String>, StoreError> {
    let filter = seen_among(&PointFilter::default());
    let fields = [field::REPO.to_owned()];
    let mut names = Vec::new();
    let mut from = None;
    loop {
        let scan = PointScan { filter: &filter, fields: &fields, from, limit: SCAN_POINTS };
        let page = with_retries(stop, || store.scan(&scan, stop))?;
        names.extend(
            page.points
                .iter()
                .filter_map(|(_, payload)| payload.get(field::REPO)?.as_str().map(str::to_owned)),
        );
        match page.next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    names.sort();
    Ok(names)
}

/// Removes all points of a repository, also from the files of an embedded store. Returns the number of chunks
/// that the repository had.
///
/// # Errors
///
/// Returns the errors of the store. Points that were already removed stay removed, and calling this again
/// continues.
pub fn remove_repository(store: &dyn PointStore, name: &str, stop: &Stop) -> Result<u64, StoreError> {
    let all = PointFilter::any_of(field::REPO, [name]);
    let chunks = count_chunks(store, &all, stop)?;
    // We must remove the point that names the repository last, so that an interrupted removal can be found
    // and continued.
    let seen: Vec<PointId> = loop {
        // We start at the beginning each time: the earlier points are gone.
        let scan = PointScan { filter: &all, fields: &[SEEN.to_owned()], from: None, limit: REMOVED_POINTS };
        let found = with_retries(stop, || store.scan(&scan, stop))?.points.into_iter();
        let (of_trees, of_files): (Vec<_>, Vec<_>) =
            found.partition(|(_, payload)| payload.contains_key(SEEN));
        let ids: Vec<PointId> = of_files.into_iter().map(|(id, _)| id).collect();
        if ids.is_empty() {
            break of_trees.into_iter().map(|(id, _)| id).collect();
        }
        with_retries(stop, || store.remove(&ids, stop))?;
    };
    with_retries(stop, || store.remove(&seen, stop))?;
    with_retries(stop, || store.purge(stop))?;
    Ok(chunks)
}

/// The states of the files of a tree.
#[derive(Default)]
pub(super) struct TreeStates {
    files: Mutex<Vec<[u8; 32]>>,
    /// True if a file may change later without a change of its recorded state.
    may_hide_changes: AtomicBool,
}

impl TreeStates {
    fn add(&self, path: &RelPath, state: FileState) {
        let FileState { size, modified, changed, inode } = state;
        let numbers =
            [size.to_le_bytes(), modified.to_le_bytes(), changed.to_le_bytes(), inode.to_le_bytes()];
        let hash = hash_of(&[path.as_bytes(), &numbers.concat()]);
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(hash);
    }

    /// Records the state of a file that is about to be read.
    pub(super) fn add_opened(&self, path: &RelPath, file: &OpenedFile) {
        match file.stable_state() {
            Some((state, StateReliability::All)) => self.add(path, state),
            _ => self.may_hide_changes.store(true, Ordering::Relaxed),
        }
    }

    /// Computes a hash that identifies the state of the tree. Returns `None` if a later change might not
    /// affect it.
    fn digest(self, how: &[u8]) -> Option<String> {
        if self.may_hide_changes.into_inner() {
            return None;
        }
        let mut files = self.files.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Several threads walk the tree, so the files come in any order.
        files.sort_unstable();
        Some(hexadecimal(&hash_of(&[how, &files.concat()])))
    }
}

impl Filling<'_> {
    /// Returns the settings that determine the points, in addition to the files.
    fn how(&self) -> Vec<u8> {
        let contract = self.encoder.contract();
        let max = self.max_file_bytes.map_or(String::new(), |max| max.to_string());
        [FORMAT, contract.as_str(), if self.redact.is_some() { "redacted" } else { "" }, &max]
            .join("\n")
            .into()
    }

    /// Counts the repository's chunks in the collection.
    fn stored(&self, stop: &Stop) -> Result<u64, StoreError> {
        count_chunks(self.store, &PointFilter::any_of(field::REPO, [self.repository]), stop)
    }

    fn seen_id(&self) -> PointId {
        // No file has this path, so this can't be the id of a chunk.
        self.id("", u64::MAX)
    }

    /// Returns the result of the last filling if the tree has not changed since then. Otherwise clears the
    /// recorded state.
    pub(super) fn unchanged(
        &self,
        root: &Arc<Root>,
        options: &WalkOptions,
        stop: &Stop,
    ) -> Result<Option<FillOutcome>, FillError> {
        // The id would be sufficient. If the collection is sharded by repository, the condition selects the
        // shard.
        let filter = PointFilter {
            ids: Some(vec![self.seen_id()]),
            ..PointFilter::any_of(field::REPO, [self.repository])
        };
        let fields = [seen_field::TREE, seen_field::FILES, seen_field::POINTS].map(str::to_owned);
        let scan = PointScan { filter: &filter, fields: &fields, from: None, limit: 1 };
        let page = with_retries(stop, || self.store.scan(&scan, stop))?;
        let Some((_, payload)) = page.points.into_iter().next() else {
            self.say_seen(Map::new(), stop)?;
            return Ok(None);
        };
        let tree = TreeStates::default();
        let visit = |(): &mut (), entry: &forage_fs::Entry<'_>, _: &mut forage_fs::Skipped| -> WalkStep<()> {
            if let Some(state) = entry.state() {
                tree.add(&entry.path, state);
            }
            WalkStep::Nothing
        };
        let receive = |()| std::ops::ControlFlow::Continue(());
        let report = walk(root, &RelPath::root(), options, stop, || (), visit, receive)?;
        let is_whole = report.stopped.is_none() && !report.too_many_entries;
        let digest = tree.digest(&self.how()).filter(|_| is_whole);
        let has = |name: &str, value: Value| payload.get(name) == Some(&value);
        let is_same = digest.is_some_and(|digest| has(seen_field::TREE, json!(digest)))
            && has(seen_field::POINTS, json!(self.stored(stop)?));
        if !is_same {
            self.say_seen(Map::new(), stop)?;
            return Ok(None);
        }
        let unchanged = payload.get(seen_field::FILES).and_then(Value::as_u64).unwrap_or_default();
        Ok(Some(FillOutcome { unchanged, is_unchanged: true, report, ..FillOutcome::default() }))
    }

    /// Records that the collection contains the tree in this state.
    pub(super) fn has_seen(&self, tree: TreeStates, files: u64, stop: &Stop) -> Result<(), StoreError> {
        let Some(digest) = tree.digest(&self.how()) else { return Ok(()) };
        let mut payload = Map::new();
        payload.insert(seen_field::TREE.to_owned(), json!(digest));
        payload.insert(seen_field::FILES.to_owned(), json!(files));
        payload.insert(seen_field::POINTS.to_owned(), json!(self.stored(stop)?));
        self.say_seen(payload, stop)
    }

    fn say_seen(&self, mut payload: Map<String, Value>, stop: &Stop) -> Result<(), StoreError> {
        payload.insert(field::REPO.to_owned(), json!(self.repository));
        payload.insert(SEEN.to_owned(), json!("1"));
        // The vector is empty, so that no query finds this point.
        let point = Point { id: self.seen_id(), vector: SparseVector::default(), payload };
        with_retries(stop, || self.store.upsert(vec![point.clone()], self.using, stop))
    }
}
