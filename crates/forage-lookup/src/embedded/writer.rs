//! Changes to a collection.
//!
//! New points are collected in a segment. The segment becomes part of the collection, through a new manifest,
//! when it is large enough or when a caller reads. Until then readers see no change on disk.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use forage_base::Stop;
use forage_rank::IndexError;
use forage_rank::segments::{Files, Manifest, SegmentEntry, Staged, Trust, living};
use tantivy::directory::OwnedBytes;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::indexer::{LogMergePolicy, MergePolicy as _, merge_filtered_segments};
use tantivy::schema::Schema;
use tantivy::{BitSet, Index, SingleSegmentIndexWriter, TantivyError};

use super::lock::Lock;
use super::schema::{FORMAT, Fields, settings, tokenizers};
use super::segment::{Opening, Segment};
use super::snapshot::{Description, Snapshot};
use crate::limits;
use crate::point_id::PointId;
use crate::store::{Point, StoreError};

/// The only writer of a collection.
pub(super) struct Writer {
    files: Files,
    schema: Schema,
    fields: Fields,
    manifest: Manifest,
    description: Description,
    parts: Vec<Part>,
    gathered: Option<Gathered>,
    lock: Lock,
}

/// A segment, and its uncommitted changes.
struct Part {
    segment: Arc<Segment>,
    /// The points that remain, if some were removed since the last commit.
    living: Option<BitSet>,
}

struct Gathered {
    engine: SingleSegmentIndexWriter,
    staged: Staged,
    ids: HashSet<PointId>,
}

/// An error of a change.
pub(super) enum WriteError {
    /// A point was rejected. The writer can still be used.
    Store(StoreError),
    /// The state of the engine is unknown, so the writer must be dropped.
    Engine(IndexError),
}

impl From<StoreError> for WriteError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl<E: Into<IndexError>> From<E> for WriteError {
    fn from(error: E) -> Self {
        Self::Engine(error.into())
    }
}

impl Writer {
    /// Creates a writer, and removes files left by a writer that was killed.
    pub(super) fn new(files: Files, schema: Schema, fields: Fields, before: &Snapshot, lock: Lock) -> Self {
        files.remove_all_but(&before.manifest.names());
        let part = |segment: &Arc<Segment>| Part { segment: Arc::clone(segment), living: None };
        Self {
            files,
            schema,
            fields,
            manifest: before.manifest.clone(),
            description: before.description.clone(),
            parts: before.segments.iter().map(part).collect(),
            gathered: None,
            lock,
        }
    }

    pub(super) fn description(&self) -> &Description {
        &self.description
    }

    /// Discards uncommitted changes and returns the lock.
    pub(super) fn into_lock(self) -> Lock {
        self.lock
    }

    /// Returns true if there are no uncommitted changes.
    pub(super) fn is_clean(&self) -> bool {
        self.gathered.is_none() && self.parts.iter().all(|part| part.living.is_none())
    }

    /// Adds points, each of which replaces the one with the same id. If several of these points have the same
    /// id, the last one is used.
    pub(super) fn upsert(&mut self, points: &[Point], stop: &Stop) -> Result<(), WriteError> {
        let last: HashMap<PointId, usize> = points.iter().map(|point| point.id).zip(0..).collect();
        for (index, point) in points.iter().enumerate() {
            if last[&point.id] != index {
                continue;
            }
            let document = self.fields.document(point, &self.description.indexed_fields)?;
            self.remove(&[point.id])?;
            let gathered = match &mut self.gathered {
                Some(gathered) => gathered,
                none => {
                    // A stop must not cut this segment short: it collects the points of several calls, and
                    // the earlier ones are acknowledged.
                    let staged = Staged::new(&self.files, &Stop::never());
                    let builder = Index::builder().schema(self.schema.clone()).settings(settings());
                    let engine = builder
                        .tokenizers(tokenizers())
                        .single_segment_index_writer(staged.clone(), limits::GATHERED_BYTES)
                        .map_err(failure)?;
                    none.insert(Gathered { engine, staged, ids: HashSet::new() })
                }
            };
            gathered.engine.add_document(document).map_err(failure)?;
            gathered.ids.insert(point.id);
            if gathered.engine.mem_usage() >= limits::GATHERED_BYTES {
                self.write_gathered()?;
                self.commit()?;
                self.merge(false, stop)?;
            }
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, ids: &[PointId]) -> Result<(), WriteError> {
        for &id in ids {
            // The engine can't remove a document from an unfinished segment, so we finish it.
            if self.gathered.as_ref().is_some_and(|gathered| gathered.ids.contains(&id)) {
                self.write_gathered()?;
            }
            for part in &mut self.parts {
                let Some(document) = part.segment.find(id)? else { continue };
                if !part.segment.open.reader.is_deleted(document) {
                    part.living.get_or_insert_with(|| living(&part.segment.open.reader)).remove(document);
                }
            }
        }
        Ok(())
    }

    fn open(&self, entry: SegmentEntry) -> Result<Part, IndexError> {
        let opening = Opening {
            files: &self.files,
            schema: &self.schema,
            fields: &self.fields,
            trust: Trust::Written,
            stop: &Stop::never(),
        };
        Ok(Part { segment: Arc::new(Segment::open(opening, entry)?), living: None })
    }

    fn write_gathered(&mut self) -> Result<(), WriteError> {
        let Some(Gathered { engine, staged, .. }) = self.gathered.take() else { return Ok(()) };
        let part = self.finish_segment(&staged, || engine.finalize().map(drop))?;
        self.parts.push(part);
        Ok(())
    }

    /// Writes and opens a segment. Removes its files if this fails.
    fn finish_segment(
        &self,
        staged: &Staged,
        write: impl FnOnce() -> Result<(), TantivyError>,
    ) -> Result<Part, IndexError> {
        let finished = write().map_err(failure).and_then(|()| self.open(staged.seal()?));
        if finished.is_err() {
            staged.discard();
        }
        finished
    }

    /// Returns true if readers must open too many segments.
    pub(super) fn is_scattered(&self) -> bool {
        self.parts.len() > limits::SCATTERED_SEGMENTS
    }

    /// Makes the changes visible to readers.
    pub(super) fn commit(&mut self) -> Result<Snapshot, WriteError> {
        self.write_gathered()?;
        let commit = self.manifest.commit + 1;
        for part in &mut self.parts {
            let Some(living) = part.living.take() else { continue };
            let mut bytes = Vec::new();
            write_alive_bitset(&living, &mut bytes)?;
            let mut entry = part.segment.entry.clone();
            // Readers of the previous commit still need the old file, so each commit writes a new one.
            let name = format!("{}.{commit}.gone", entry.id);
            entry.gone = Some(self.files.write(&name, &bytes)?);
            let alive = AliveBitSet::open(OwnedBytes::new(bytes));
            part.segment = Arc::new(part.segment.with_alive(entry, alive)?);
        }
        self.parts.retain(|part| part.segment.points() > 0);
        let segments: Vec<SegmentEntry> = self.parts.iter().map(|part| part.segment.entry.clone()).collect();
        if segments != self.manifest.segments {
            let newer = Manifest { commit, segments, note: self.manifest.note.clone() };
            self.files.replace_manifest(FORMAT, &newer)?;
            let older = std::mem::replace(&mut self.manifest, newer);
            let gone: HashSet<&str> = &older.names() - &self.manifest.names();
            self.files.remove(gone);
        }
        Ok(Snapshot {
            manifest: self.manifest.clone(),
            description: self.description.clone(),
            segments: self.parts.iter().map(|part| Arc::clone(&part.segment)).collect(),
        })
    }

    /// Merges segments as far as required, and commits each merge. If `purges` is set, this also rewrites
    /// every segment from which points were removed.
    pub(super) fn merge(&mut self, purges: bool, stop: &Stop) -> Result<(), WriteError> {
        let mut policy = LogMergePolicy::default();
        policy.set_min_layer_size(limits::SMALL_SEGMENT_POINTS);
        policy.set_max_docs_before_merge(limits::LARGE_SEGMENT_POINTS);
        policy.set_del_docs_ratio_before_merge(limits::REMOVED_SHARE);
        loop {
            let metas = self.parts.iter().map(|Part { segment, .. }| {
                segment.open.engine.meta().clone().with_delete_meta(segment.open.reader.num_deleted_docs(), 0)
            });
            let metas: Vec<_> = metas.collect();
            let due = policy.compute_merge_candidates(&metas).into_iter().map(|candidate| {
                let is_one = |part: &&Part| candidate.0.contains(&part.segment.open.engine.id());
                self.parts.iter().filter(is_one).map(|part| Arc::clone(&part.segment)).collect::<Vec<_>>()
            });
            // This skips single segments without removed points, since rewriting them would not change
            // anything.
            let is_better = |together: &Vec<Arc<Segment>>| {
                together.len() > 1 || together.iter().any(|one| one.open.alive.is_some())
            };
            let purged = self.parts.iter().filter(|part| purges && part.segment.open.alive.is_some());
            let purged = purged.map(|part| vec![Arc::clone(&part.segment)]);
            let Some(together) = due.into_iter().chain(purged).find(is_better) else { return Ok(()) };
            if stop.check().is_some() {
                return Ok(());
            }
            let engines: Vec<_> = together.iter().map(|segment| segment.open.engine.clone()).collect();
            let alive = together.iter().map(|segment| segment.open.alive.clone()).collect();
            // We must check the files again: a byte may have changed after we opened them, and would get a
            // valid hash.
            for file in together.iter().flat_map(|segment| &segment.entry.files) {
                match self.files.open(file, Trust::Nothing, stop) {
                    Err(IndexError::Stopped) => return Ok(()),
                    opened => drop(opened?),
                }
            }
            let staged = Staged::new(&self.files, stop);
            let merge = || merge_filtered_segments(&engines, settings(), alive, staged.clone()).map(drop);
            let merged = match self.finish_segment(&staged, merge) {
                // Everything that was committed so far stays valid.
                Err(_) if stop.check().is_some() => return Ok(()),
                merged => merged?,
            };
            self.parts.retain(|part| !together.iter().any(|one| Arc::ptr_eq(one, &part.segment)));
            self.parts.push(merged);
            self.commit()?;
        }
    }

    /// Flushes the collection to disk.
    pub(super) fn sync(&self) -> Result<(), WriteError> {
        Ok(self.files.sync(&self.manifest)?)
    }
}

/// Classifies an engine error: a failure to write a segment does not mean that the collection is damaged.
fn failure(error: TantivyError) -> IndexError {
    match error {
        TantivyError::IoError(_) | TantivyError::OpenWriteError(_) => IndexError::Write(error),
        error => IndexError::Engine(error),
    }
}
