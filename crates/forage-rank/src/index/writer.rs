//! Writes changes to an index.
//!
//! Each thread that adds files writes its own segments, and the thread that finishes merges them. The engine
//! must not run threads of its own: a panic there would end the process, and we couldn't stop them. Documents
//! are written directly to a segment, without a queue. A segment becomes part of the index as a whole,
//! together with the manifest.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Instant;

use forage_base::{Stop, map_in_threads};
use tantivy::directory::OwnedBytes;
use tantivy::fastfield::{AliveBitSet, write_alive_bitset};
use tantivy::indexer::{LogMergePolicy, MergePolicy as _, merge_filtered_segments};
use tantivy::schema::IndexRecordOption;
use tantivy::{
    BitSet, DocAddress, DocId, DocSet as _, Index, SingleSegmentIndexWriter, TERMINATED, TantivyDocument,
    TantivyError, Term,
};

use super::schema::{BEGINNING, WORDLESS};
use super::segment::{RankedSegment, SegmentOpening};
use super::{FORMAT, IndexState, RankIndex, Stamp, document, encoded, settings};
use crate::error::IndexError;
use crate::limits;
use crate::segments::{Manifest, SegmentEntry, Staged, Trust, guarded};

/// A writer of an index. Its changes are not visible before they are committed.
pub struct Writer<'a> {
    index: &'a RankIndex,
    /// Also stops the engine while it writes a segment.
    stop: Stop,
    /// Bytes that a segment buffers before it is written.
    budget: usize,
    /// Segments that are being built.
    gathered: Vec<Mutex<Option<GatheredSegment>>>,
    /// The slot at which the next file is tried first.
    turn: AtomicUsize,
    /// The state that this index will have.
    parts: Mutex<IndexParts>,
    /// Set once buffered documents must be written to finish in time.
    is_late: AtomicBool,
    /// Number of documents in segments that could not be written in time.
    lost: AtomicU64,
    _alone: MutexGuard<'a, ()>,
}

struct GatheredSegment {
    writer: SingleSegmentIndexWriter,
    staged: Staged,
    began: Instant,
    documents: u64,
}

struct IndexParts {
    parts: Vec<IndexPart>,
    /// The state on disk.
    manifest: Manifest,
}

struct IndexPart {
    segment: Arc<RankedSegment>,
    /// The living documents, if some were removed since the last commit.
    living: Option<BitSet>,
    /// The states of all documents, if some have changed since the last commit.
    states: Option<Vec<u64>>,
}

impl IndexPart {
    fn from_segment(segment: Arc<RankedSegment>) -> Self {
        Self { segment, living: None, states: None }
    }

    /// Returns true if no document was left when the part was last saved.
    fn is_empty(&self) -> bool {
        self.segment.reader.num_docs() == 0
    }

    fn remove(&mut self, document: DocId) {
        self.living.get_or_insert_with(|| self.segment.living_set()).remove(document);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> Result<MutexGuard<'_, T>, IndexError> {
    // A thread that panicked may have left the data in an inconsistent state.
    mutex.lock().map_err(|_| IndexError::Panicked("while the index was written".to_owned()))
}

/// Classifies an error of writing a segment. Note that the engine's writers of stored fields and columns
/// report a system error, for example a full disk, as an internal error.
pub(super) fn failure(error: TantivyError) -> IndexError {
    match error {
        TantivyError::IoError(_) | TantivyError::OpenWriteError(_) | TantivyError::InternalError(_) => {
            IndexError::Write(error)
        }
        error => IndexError::Engine(error),
    }
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        index: &'a RankIndex,
        threads: usize,
        has_many: bool,
        stop: &Stop,
    ) -> Result<Self, IndexError> {
        let alone = match index.writing.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(IndexError::Busy),
        };
        let threads = threads.clamp(1, limits::WRITER_THREADS);
        let share =
            (limits::ALL_WRITERS_BYTES / threads).clamp(limits::WRITER_BYTES_MIN, limits::WRITER_BYTES);
        let state = index.state();
        index.files.remove_all_but(&state.manifest.names());
        let parts =
            state.segments.iter().map(|segment| IndexPart::from_segment(Arc::clone(segment))).collect();
        Ok(Self {
            index,
            stop: stop.clone(),
            budget: if has_many { share } else { limits::WRITER_BYTES_MIN },
            gathered: (0..threads).map(|_| Mutex::default()).collect(),
            turn: AtomicUsize::new(0),
            parts: Mutex::new(IndexParts { parts, manifest: state.manifest.clone() }),
            is_late: AtomicBool::new(false),
            lost: AtomicU64::new(0),
            _alone: alone,
        })
    }

    /// Adds a file in its current state and replaces its previous version. This may be called from several
    /// threads, but only once per file.
    ///
    /// # Errors
    ///
    /// Returns an error if the index cannot be written.
    pub fn add(&self, path: &str, text: &str, stamp: Stamp) -> Result<(), IndexError> {
        self.remove(path)?;
        self.add_new(path, text, stamp)
    }

    /// Like `add`, but without words: the index then knows the file, but searches can't find it.
    ///
    /// # Errors
    ///
    /// Returns an error if the index cannot be written.
    pub fn add_wordless(&self, path: &str, stamp: Stamp) -> Result<(), IndexError> {
        self.remove(path)?;
        self.add_new_wordless(path, stamp)
    }

    /// Adds a file that must not be in the index yet.
    pub(crate) fn add_new(&self, path: &str, text: &str, stamp: Stamp) -> Result<(), IndexError> {
        // Decoding may have made the text longer than its file.
        if text.len() > limits::FILE_BYTES {
            return self.add_new_truncated(path, text, stamp);
        }
        self.push(document(&self.index.fields, path, text), stamp)
    }

    /// Like `add_new`, for a longer file that begins with `text`.
    pub(crate) fn add_new_truncated(&self, path: &str, text: &str, stamp: Stamp) -> Result<(), IndexError> {
        let mut document = document(&self.index.fields, path, text);
        document.add_text(self.index.fields.place, BEGINNING);
        self.push(document, stamp)
    }

    /// Like `add_new`, but without words.
    pub(crate) fn add_new_wordless(&self, path: &str, stamp: Stamp) -> Result<(), IndexError> {
        let fields = &self.index.fields;
        let mut document = TantivyDocument::new();
        document.add_text(fields.key, path);
        document.add_text(fields.place, WORDLESS);
        self.push(document, stamp)
    }

    /// Removes a committed file.
    ///
    /// # Errors
    ///
    /// Returns an error if the index cannot be read.
    pub fn remove(&self, path: &str) -> Result<(), IndexError> {
        let key = self.index.fields.key;
        let term = Term::from_field_text(key, path);
        guarded(|| {
            for part in &mut lock(&self.parts)?.parts {
                let inverted = part.segment.reader.inverted_index(key)?;
                let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
                    continue;
                };
                while postings.doc() != TERMINATED {
                    part.remove(postings.doc());
                    postings.advance();
                }
            }
            Ok(())
        })
    }

    /// Removes a document by its address in the state of the index for which this writer was created.
    pub(crate) fn remove_at(&self, place: DocAddress) -> Result<(), IndexError> {
        let mut parts = lock(&self.parts)?;
        let part = parts.parts.get_mut(place.segment_ord as usize).ok_or(IndexError::Damaged)?;
        if place.doc_id >= part.segment.reader.max_doc() {
            return Err(IndexError::Damaged);
        }
        part.remove(place.doc_id);
        Ok(())
    }

    /// Records a new state for a document's file whose content is unchanged.
    pub(crate) fn settle_at(&self, place: DocAddress, state: u64) -> Result<(), IndexError> {
        let mut parts = lock(&self.parts)?;
        let part = parts.parts.get_mut(place.segment_ord as usize).ok_or(IndexError::Damaged)?;
        let segment = &part.segment;
        let documents = segment.reader.max_doc();
        let all = || (0..documents).map(|document| segment.stamp(document).state).collect();
        let states = part.states.get_or_insert_with(all);
        *states.get_mut(place.doc_id as usize).ok_or(IndexError::Damaged)? = state;
        Ok(())
    }

    /// Returns true if you should stop adding documents, so that the buffered ones can be written in time.
    pub(crate) fn is_past_deadline(&self) -> bool {
        self.is_late.load(Ordering::Relaxed) || self.stop.check().is_some()
    }

    fn push(&self, mut document: TantivyDocument, stamp: Stamp) -> Result<(), IndexError> {
        let [content, state] = self.index.fields.stamp;
        document.add_u64(content, stamp.content);
        document.add_u64(state, stamp.state);
        let mut gathered = self.free_slot()?;
        let is_full = guarded(|| {
            let segment = match &mut *gathered {
                Some(segment) => segment,
                none => none.insert(self.begin()?),
            };
            segment.writer.add_document(document).map_err(failure)?;
            segment.documents += 1;
            // Writing takes a fraction of the time that building the segment took.
            let writing = segment.began.elapsed() / limits::WRITING_PART + limits::WRITING_TIME;
            if self.stop.deadline().is_some_and(|deadline| Instant::now() + writing >= deadline) {
                self.is_late.store(true, Ordering::Relaxed);
            }
            Ok::<_, IndexError>(segment.writer.mem_usage() >= self.budget)
        })?;
        match gathered.take_if(|_| is_full) {
            Some(segment) => self.write(segment),
            None => Ok(()),
        }
    }

    /// Locks a slot, if possible one that no other thread is using.
    fn free_slot(&self) -> Result<MutexGuard<'_, Option<GatheredSegment>>, IndexError> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let slots =
            (0..self.gathered.len()).map(|index| &self.gathered[(turn + index) % self.gathered.len()]);
        slots
            .clone()
            .find_map(|slot| slot.try_lock().ok())
            .map_or_else(|| lock(&self.gathered[turn % self.gathered.len()]), Ok)
    }

    fn begin(&self) -> Result<GatheredSegment, IndexError> {
        let staged = Staged::new(&self.index.files, &self.stop);
        let builder = Index::builder().schema(self.index.schema.clone()).settings(settings());
        let builder = builder.tokenizers(encoded::tokenizers());
        let writer = builder.single_segment_index_writer(staged.clone(), self.budget).map_err(failure)?;
        Ok(GatheredSegment { writer, staged, began: Instant::now(), documents: 0 })
    }

    /// Writes a segment and makes it part of the index.
    fn write(&self, segment: GatheredSegment) -> Result<(), IndexError> {
        let GatheredSegment { writer, staged, documents, .. } = segment;
        match self.finish_segment(&staged, || writer.finalize().map(drop)) {
            Ok(Some(segment)) => {
                lock(&self.parts)?.parts.push(IndexPart::from_segment(Arc::new(segment)));
                // We save after each segment, so that an interrupted update keeps its work.
                self.save()
            }
            Ok(None) => {
                self.lost.fetch_add(documents, Ordering::Relaxed);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Lets the engine write a segment, and opens it. Returns `None` if there was no time.
    fn finish_segment(
        &self,
        staged: &Staged,
        write: impl FnOnce() -> Result<(), TantivyError>,
    ) -> Result<Option<RankedSegment>, IndexError> {
        let finish = || {
            write().map_err(failure)?;
            RankedSegment::open(self.opening(), staged.seal()?)
        };
        match guarded(finish) {
            Ok(segment) => Ok(Some(segment)),
            Err(error) => {
                staged.discard();
                // If we stop the engine, it returns an error that isn't caused by the disk.
                if self.stop.check().is_some() && !error.is_damage() { Ok(None) } else { Err(error) }
            }
        }
    }

    fn opening(&self) -> SegmentOpening<'_> {
        let RankIndex { files, schema, fields, .. } = self.index;
        // A segment that was written in time must be opened even after the deadline.
        SegmentOpening { files, trust: Trust::Written, stop: &self.index.never, schema, fields }
    }

    /// Writes the manifest of the current state.
    fn save(&self) -> Result<(), IndexError> {
        let IndexParts { parts, manifest } = &mut *lock(&self.parts)?;
        let commit = manifest.commit + 1;
        let written = |error: std::io::Error| IndexError::Write(error.into());
        for part in parts.iter_mut() {
            if let Some(states) = part.states.take() {
                let bytes: Vec<u8> = states.iter().flat_map(|state| state.to_le_bytes()).collect();
                let mut entry = part.segment.entry.clone();
                let name = format!("{}.{commit}.states", entry.id);
                entry.states = Some(self.index.files.write(&name, &bytes).map_err(written)?);
                part.segment = Arc::new(guarded(|| part.segment.with_states(entry, states.into()))?);
            }
            let Some(living) = part.living.take() else { continue };
            let mut bytes = Vec::new();
            write_alive_bitset(&living, &mut bytes).map_err(written)?;
            let mut entry = part.segment.entry.clone();
            let name = format!("{}.{commit}.gone", entry.id);
            entry.gone = Some(self.index.files.write(&name, &bytes).map_err(written)?);
            let alive = AliveBitSet::open(OwnedBytes::new(bytes));
            part.segment = Arc::new(guarded(|| part.segment.with_alive(entry, alive, &self.index.fields))?);
        }
        // Emptied parts stay in the list, because callers address documents by the positions of their parts.
        let living = parts.iter().filter(|part| !part.is_empty());
        let segments: Vec<SegmentEntry> = living.map(|part| part.segment.entry.clone()).collect();
        if segments == manifest.segments {
            return Ok(());
        }
        let newer = Manifest { commit, segments, ..Manifest::default() };
        self.index.files.replace_manifest(FORMAT, &newer).map_err(written)?;
        let older = std::mem::replace(manifest, newer);
        // Searches on the previous state have these files open, and can still read them.
        let gone: HashSet<&str> = &older.names() - &manifest.names();
        self.index.files.remove(gone);
        Ok(())
    }

    /// Makes these changes visible to searches.
    ///
    /// # Errors
    ///
    /// Returns an error if the index cannot be written.
    pub fn commit(self) -> Result<(), IndexError> {
        self.finish(true).map(drop)
    }

    /// Like `commit`, but only performs due merges if `merges` is true. These may take as long as rewriting
    /// the whole index. Returns the number of added documents that were lost for lack of time to write them.
    pub(crate) fn finish(self, merges: bool) -> Result<u64, IndexError> {
        self.write_gathered()?;
        // We save before we merge, because merging may fail for lack of time or disk space.
        self.save()?;
        lock(&self.parts)?.parts.retain(|part| !part.is_empty());
        if merges {
            while self.merge()? {}
            self.save()?;
        }
        let IndexParts { parts, manifest } = self.parts.into_inner().unwrap_or_else(PoisonError::into_inner);
        if manifest != self.index.state().manifest {
            self.index
                .publish(IndexState::new(parts.into_iter().map(|part| part.segment).collect(), manifest));
        }
        Ok(self.lost.into_inner())
    }

    pub(super) fn write_gathered(&self) -> Result<(), IndexError> {
        let gathered = self.gathered.iter().map(|slot| Ok(lock(slot)?.take()));
        let gathered: Vec<GatheredSegment> =
            gathered.collect::<Result<Vec<_>, IndexError>>()?.into_iter().flatten().collect();
        // After a deadline, we still have `limits::WRITE_GRACE`. After a cancellation, the result is no
        // longer wanted.
        if self.stop.is_cancelled() {
            self.lost.fetch_add(gathered.iter().map(|segment| segment.documents).sum(), Ordering::Relaxed);
            gathered.iter().for_each(|segment| segment.staged.discard());
            return Ok(());
        }
        map_in_threads(gathered, self.gathered.len(), |segment| self.write(segment)).into_iter().collect()
    }

    /// Performs one round of due merges. Returns false if there are none, or if there is no time.
    fn merge(&self) -> Result<bool, IndexError> {
        // By default, the engine merges all segments of fewer than 10,000 files as if they had the same size.
        // Then every eighth changed file would cause a rewrite of a whole repository.
        let mut policy = LogMergePolicy::default();
        policy.set_min_layer_size(limits::SMALL_SEGMENT);
        policy.set_max_docs_before_merge(limits::LARGE_SEGMENT);
        policy.set_del_docs_ratio_before_merge(limits::DELETED_SHARE);
        let segments: Vec<Arc<RankedSegment>> =
            lock(&self.parts)?.parts.iter().map(|part| Arc::clone(&part.segment)).collect();
        let metas = segments.iter().map(|segment| {
            let meta = segment.engine.meta().clone();
            meta.with_delete_meta(segment.reader.num_deleted_docs(), 0)
        });
        let metas: Vec<_> = metas.collect();
        let due = policy.compute_merge_candidates(&metas).into_iter().map(|candidate| {
            let is_one = |segment: &&Arc<RankedSegment>| candidate.0.contains(&segment.engine.id());
            segments.iter().filter(is_one).map(Arc::clone).collect::<Vec<_>>()
        });
        // Rewriting a single segment without deleted documents wouldn't change it.
        let is_better = |together: &Vec<Arc<RankedSegment>>| {
            together.len() > 1 || together.iter().any(|one| one.alive.is_some())
        };
        let due: Vec<_> = due.filter(is_better).collect();
        // Each segment stays mapped into memory until the last reference is dropped.
        drop(segments);
        if due.is_empty() || self.stop.check().is_some() {
            return Ok(false);
        }
        let merged = map_in_threads(due, self.gathered.len(), |together| self.merge_together(&together));
        let mut all = true;
        for merged in merged {
            all &= merged?;
        }
        Ok(all)
    }

    /// Replaces several segments by one. If there is no time or no disk space, returns false and leaves them
    /// unchanged.
    fn merge_together(&self, together: &[Arc<RankedSegment>]) -> Result<bool, IndexError> {
        let engines: Vec<tantivy::Segment> = together.iter().map(|segment| segment.engine.clone()).collect();
        let alive = together.iter().map(|segment| segment.alive.clone()).collect();
        let staged = Staged::new(&self.index.files, &self.stop);
        let merge = || merge_filtered_segments(&engines, settings(), alive, staged.clone()).map(drop);
        let merged = match self.finish_segment(&staged, merge) {
            Ok(Some(merged)) => merged,
            Ok(None) | Err(IndexError::Write(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        // The engine only knows the states at the time when the segments were written.
        let later = together.iter().filter(|segment| segment.states.is_some());
        let later: HashMap<&str, u64> =
            later.flat_map(|segment| segment.living()).map(|(_, path, stamp)| (path, stamp.state)).collect();
        let states = (!later.is_empty()).then(|| {
            let state = |document| {
                later.get(merged.paths.get(document)).copied().unwrap_or(merged.stamp(document).state)
            };
            (0..merged.reader.max_doc()).map(state).collect()
        });
        let parts = &mut lock(&self.parts)?.parts;
        parts.retain(|part| !together.iter().any(|one| Arc::ptr_eq(one, &part.segment)));
        parts.push(IndexPart { states, ..IndexPart::from_segment(Arc::new(merged)) });
        Ok(true)
    }
}
