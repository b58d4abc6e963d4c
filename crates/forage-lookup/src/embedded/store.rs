//! The embedded store.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

use forage_base::{Stop, Stopped};
use forage_rank::IndexError;
use forage_rank::segments::{Files, Manifest, Trust, guarded};
use tantivy::schema::Schema;

use super::directory::Home;
use super::schema::{FORMAT, Fields, schema};
use super::segment::{Opening, Segment};
use super::snapshot::{Description, Snapshot};
use super::writer::{WriteError, Writer};
use crate::contract::Contract;
use crate::filter::PointFilter;
use crate::limits;
use crate::point_id::PointId;
use crate::store::{
    Collection, Creation, Point, PointHit, PointPage, PointQuery, PointReader, PointScan, PointStore,
    ShardLayout, StoreError, VectorFacts, WeightedHit,
};

/// A collection in a local directory.
///
/// A process becomes the writer with its first change. It stays the writer until [`PointStore::finish`] or
/// until this value is dropped; other processes get [`StoreError::Locked`] in the meantime. This store sees
/// its own changes at once. They are committed, and become visible to other processes, when enough of them
/// have accumulated or when this store reads. [`PointStore::finish`] also flushes them to disk.
pub struct EmbeddedStore {
    home: Home,
    schema: Schema,
    fields: Fields,
    /// Must be locked before `opening`.
    writer: Mutex<Option<Writer>>,
    /// Segments that were opened for a snapshot that ran out of time before it was complete.
    opening: Mutex<Vec<Arc<Segment>>>,
    snapshot: RwLock<Option<Arc<Snapshot>>>,
    /// The reason why acknowledged changes are lost. All further calls fail then: reads would miss these
    /// changes without a note, and new changes would build on them. Another store reads what was committed.
    lost: Mutex<Option<StoreError>>,
}

impl EmbeddedStore {
    /// Creates a store for a collection in a directory of collections. This does not open or create anything
    /// yet.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is not valid for a collection.
    pub fn new(directory: &Path, collection: &str) -> Result<Self, StoreError> {
        let (schema, fields) = schema();
        Ok(Self {
            home: Home::new(directory, collection)?,
            schema,
            fields,
            writer: Mutex::default(),
            opening: Mutex::default(),
            snapshot: RwLock::default(),
            lost: Mutex::default(),
        })
    }

    fn check(&self, stop: &Stop) -> Result<(), StoreError> {
        match stop.check() {
            None => Ok(()),
            Some(Stopped::Cancelled) => Err(StoreError::Cancelled),
            Some(Stopped::Deadline) => Err(StoreError::Timeout(format!(
                "{}: the time limit was reached; allow more time",
                self.place()
            ))),
        }
    }

    /// Fails if acknowledged changes are lost.
    fn check_lost(&self) -> Result<(), StoreError> {
        match &*self.lost() {
            Some(error) => Err(StoreError::Invalid(format!(
                "changes of {} are lost because they could not be written; open it again. The reason: {error}",
                self.place()
            ))),
            None => Ok(()),
        }
    }

    fn lost(&self) -> MutexGuard<'_, Option<StoreError>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn no_collection(&self) -> StoreError {
        StoreError::NoCollection(format!("there is no {}", self.place()))
    }

    fn failure(&self, error: IndexError, stop: &Stop) -> StoreError {
        let place = self.place();
        match error {
            IndexError::Stopped => self.check(stop).err().unwrap_or(StoreError::Cancelled),
            IndexError::Write(error) => StoreError::Invalid(format!("{place} can't be written: {error}")),
            IndexError::Format => {
                StoreError::Damaged(format!("{place} was written by another version of Forage"))
            }
            IndexError::Damaged => {
                StoreError::Damaged(format!("{place} is damaged: a file has changed since it was written"))
            }
            error if error.is_damage() => {
                StoreError::Damaged(format!("{place} is damaged ({})", cause(error)))
            }
            error => StoreError::Invalid(format!("{place} can't be used: {}", cause(error))),
        }
    }

    /// Locks a mutex that another call may hold for a long time. Gives up when this call's time is over. We
    /// poll, because a standard mutex can't wait with a deadline.
    fn lock<'a, T>(&self, mutex: &'a Mutex<T>, stop: &Stop) -> Result<MutexGuard<'a, T>, StoreError> {
        loop {
            match mutex.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(poisoned)) => return Ok(poisoned.into_inner()),
                Err(TryLockError::WouldBlock) => self.check(stop)?,
            }
            std::thread::sleep(limits::LOCK_POLL);
        }
    }

    fn known(&self) -> Option<Arc<Snapshot>> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn publish(&self, snapshot: Option<Arc<Snapshot>>) {
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = snapshot;
    }

    /// Returns the current collection, including this store's changes.
    fn current(&self, stop: &Stop) -> Result<Arc<Snapshot>, StoreError> {
        self.check(stop)?;
        let mut writer = self.lock(&self.writer, stop)?;
        self.check_lost()?;
        if writer.as_ref().is_some_and(|writer| !writer.is_clean()) {
            self.commit(&mut writer, stop)?;
        }
        drop(writer);
        self.load(stop)
    }

    /// Loads the collection from disk, unless the known snapshot is up to date.
    fn load(&self, stop: &Stop) -> Result<Arc<Snapshot>, StoreError> {
        let mut missing = None;
        // We retry because a writer may remove files of an older manifest while we open them.
        loop {
            let Some(directory) = self.home.open()? else { return Err(self.no_collection()) };
            let read = || {
                let files = Files::in_directory(directory.path())?;
                Ok(files.manifest(FORMAT)?.map(|manifest| (files, manifest)))
            };
            let Some((files, manifest)) = guarded(read).map_err(|error| self.failure(error, stop))? else {
                return Err(self.no_collection());
            };
            if let Some(known) = &self.known()
                && known.manifest == manifest
            {
                return Ok(Arc::clone(known));
            }
            self.home.check_files(&directory)?;
            match self.open(&files, manifest.clone(), stop) {
                Ok(snapshot) => return Ok(snapshot),
                // The manifest is the same as in the last attempt, so its files are really damaged.
                Err(error @ StoreError::Damaged(_)) if missing.as_ref() == Some(&manifest) => {
                    return Err(error);
                }
                Err(StoreError::Damaged(_)) => missing = Some(manifest),
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the segments of a manifest that are not open yet, and publishes the result.
    fn open(&self, files: &Files, manifest: Manifest, stop: &Stop) -> Result<Arc<Snapshot>, StoreError> {
        let description: Description =
            serde_json::from_str(&manifest.note).map_err(|_| self.failure(IndexError::Damaged, stop))?;
        let mut opened = self.lock(&self.opening, stop)?;
        // Another call may have opened them while this one waited for the lock.
        let known = self.known();
        if let Some(known) = &known
            && known.manifest == manifest
        {
            return Ok(Arc::clone(known));
        }
        opened.retain(|segment| manifest.segments.contains(&segment.entry));
        let opening =
            Opening { files, schema: &self.schema, fields: &self.fields, trust: Trust::Nothing, stop };
        let mut segments = Vec::with_capacity(manifest.segments.len());
        for entry in &manifest.segments {
            let mut open = known.iter().flat_map(|known| &known.segments).chain(opened.iter());
            let segment = match open.find(|segment| segment.entry == *entry) {
                Some(segment) => Arc::clone(segment),
                None => {
                    let segment = guarded(|| Segment::open(opening, entry.clone()));
                    let segment = Arc::new(segment.map_err(|error| self.failure(error, stop))?);
                    opened.push(Arc::clone(&segment));
                    segment
                }
            };
            segments.push(segment);
        }
        let snapshot = Arc::new(Snapshot { manifest, description, segments });
        self.publish(Some(Arc::clone(&snapshot)));
        opened.clear();
        Ok(snapshot)
    }

    fn read<T>(
        &self,
        stop: &Stop,
        using: Option<&str>,
        work: impl FnOnce(&Snapshot) -> Result<T, IndexError>,
    ) -> Result<T, StoreError> {
        let snapshot = self.current(stop)?;
        if let Some(using) = using {
            check_vector(&snapshot.description, using)?;
        }
        let result = guarded(|| work(&snapshot)).map_err(|error| self.failure(error, stop));
        if let Err(StoreError::Damaged(_)) = &result {
            // The next call must load the files again, which checks them against their hashes.
            self.publish(None);
        }
        result
    }

    /// Commits the changes, so that all readers see them.
    fn commit(&self, writer: &mut Option<Writer>, stop: &Stop) -> Result<(), StoreError> {
        let snapshot = self.change(writer, stop, |writer| {
            let snapshot = writer.commit()?;
            if !writer.is_scattered() {
                return Ok(snapshot);
            }
            writer.merge(false, stop)?;
            writer.commit()
        })?;
        self.publish(Some(Arc::new(snapshot)));
        Ok(())
    }

    /// Runs `work` with the writer. If the engine fails, the writer is dropped.
    fn change<T>(
        &self,
        writer: &mut Option<Writer>,
        stop: &Stop,
        work: impl FnOnce(&mut Writer) -> Result<T, WriteError>,
    ) -> Result<T, StoreError> {
        let Some(at_work) = writer.as_mut() else { return Err(self.no_collection()) };
        let was_clean = at_work.is_clean();
        // Errors of the store must pass through `guarded` unchanged.
        let error = match guarded(|| Ok::<_, IndexError>(work(at_work))) {
            Ok(Ok(done)) => return Ok(done),
            // A point was rejected. We build its document before we change anything, so the writer is intact.
            Ok(Err(WriteError::Store(error))) => return Err(error),
            Ok(Err(WriteError::Engine(error))) | Err(error) => self.failure(error, stop),
        };
        // After an error we can rely only on the state on disk.
        *writer = None;
        if !was_clean {
            // We have already acknowledged these changes to other calls.
            self.lost().get_or_insert_with(|| error.clone());
        }
        Err(error)
    }

    fn finish_with(&self, purges: bool, stop: &Stop) -> Result<(), StoreError> {
        let mut writer = self.writer(stop)?;
        self.commit(&mut writer, stop)?;
        self.change(&mut writer, stop, |writer| writer.merge(purges, stop).and_then(|()| writer.sync()))?;
        // From here on, other processes may write.
        *writer = None;
        Ok(())
    }

    /// Returns the writer. If this process is not the writer yet, it becomes the writer.
    fn writer(&self, stop: &Stop) -> Result<MutexGuard<'_, Option<Writer>>, StoreError> {
        self.check(stop)?;
        let mut writer = self.lock(&self.writer, stop)?;
        self.check_lost()?;
        if writer.is_none() {
            // Locking creates the directory, so we must first check that the collection exists.
            self.load(stop)?;
            let lock = self.home.lock()?;
            // Another process may have changed the collection before we got the lock.
            let before = self.load(stop)?;
            let files = Files::in_directory(&self.home.path()).map_err(|error| self.failure(error, stop))?;
            *writer = Some(Writer::new(files, self.schema.clone(), self.fields.clone(), &before, lock));
        }
        Ok(writer)
    }
}

fn check_vector(description: &Description, using: &str) -> Result<(), StoreError> {
    if description.vector == using {
        return Ok(());
    }
    let has = &description.vector;
    Err(StoreError::Invalid(format!("the collection has no sparse vector `{using}`; it has `{has}`")))
}

/// Formats an error of the engine without the prefix for an index.
fn cause(error: IndexError) -> String {
    match error {
        IndexError::Engine(error) => error.to_string(),
        IndexError::Io(error) => error.to_string(),
        IndexError::Panicked(message) => message,
        error => error.to_string(),
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.as_ref().is_some_and(|writer| !writer.is_clean()) {
            // If this fails, the collection stays as it was last committed.
            let _ = self.commit(&mut writer, &Stop::never());
        }
    }
}

impl PointReader for EmbeddedStore {
    fn place(&self) -> String {
        self.home.shown()
    }

    fn prepare(&self, stop: &Stop) -> Result<(), StoreError> {
        match self.current(stop) {
            Ok(_) | Err(StoreError::NoCollection(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        let snapshot = match self.current(stop) {
            Err(StoreError::NoCollection(_)) => return Ok(None),
            snapshot => snapshot?,
        };
        let Description { vector, contract, .. } = &snapshot.description;
        Ok(Some(Collection {
            sparse_vectors: [(vector.clone(), VectorFacts { has_idf: true })].into(),
            contract: Some(Contract::from_metadata(contract)),
            points: snapshot.points(),
            layout: ShardLayout::Single,
        }))
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        self.read(stop, Some(query.using), |snapshot| snapshot.query(query, stop))
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        let answer = |query: &PointQuery<'_>| {
            self.read(stop, Some(query.using), |snapshot| snapshot.query_vectors(query, with_vectors, stop))
        };
        queries.iter().map(answer).collect()
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        self.read(stop, None, |snapshot| snapshot.scan(scan, stop))
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        self.read(stop, None, |snapshot| snapshot.count(filter, stop))
    }
}

impl PointStore for EmbeddedStore {
    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError> {
        self.check(stop)?;
        let writer = self.lock(&self.writer, stop)?;
        let exists = || StoreError::Exists(format!("{} already exists", self.place()));
        let is_free = || match self.load(stop) {
            Ok(_) => Err(exists()),
            Err(StoreError::NoCollection(_)) => Ok(()),
            Err(error) => Err(error),
        };
        is_free()?;
        let _lock = self.home.lock()?;
        // Another process may have created the collection before we got the lock.
        is_free()?;
        // We remove the rest of a collection whose removal was interrupted.
        self.home.remove()?;
        self.home.create()?;
        let description = Description {
            vector: creation.using.clone(),
            contract: creation.contract.as_str().to_owned(),
            indexed_fields: creation.indexed_fields.clone(),
        };
        let note =
            serde_json::to_string(&description).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let manifest = Manifest { note, ..Manifest::default() };
        let made = Files::in_directory(&self.home.path())
            .and_then(|files| Ok(files.replace_manifest(FORMAT, &manifest)?));
        drop(writer);
        made.map_err(|error| self.failure(error, stop))
    }

    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError> {
        let is_number = |point: &&Point| point.vector.weights().iter().all(|weight| weight.is_finite());
        if let Some(point) = points.iter().find(|point| !is_number(point)) {
            return Err(StoreError::Invalid(format!("point {} has a weight that is not a number", point.id)));
        }
        let mut writer = self.writer(stop)?;
        if let Some(writer) = &*writer {
            check_vector(writer.description(), using)?;
        }
        self.change(&mut writer, stop, |writer| writer.upsert(&points, stop))
    }

    fn remove(&self, ids: &[PointId], stop: &Stop) -> Result<(), StoreError> {
        let mut writer = self.writer(stop)?;
        self.change(&mut writer, stop, |writer| writer.remove(ids))
    }

    fn finish(&self, stop: &Stop) -> Result<(), StoreError> {
        self.finish_with(false, stop)
    }

    fn purge(&self, stop: &Stop) -> Result<(), StoreError> {
        self.finish_with(true, stop)?;
        // `merge` leaves the segments unchanged when it runs out of time, so we must report this here.
        self.check(stop)
    }

    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError> {
        self.check(stop)?;
        let mut writer = self.lock(&self.writer, stop)?;
        if self.home.open()?.is_none() {
            return Ok(false);
        }
        let _lock = match writer.take() {
            Some(writer) => writer.into_lock(),
            None => self.home.lock()?,
        };
        self.publish(None);
        let was_removed = self.home.remove()?;
        // The changes belonged to the collection that is gone.
        *self.lost() = None;
        Ok(was_removed)
    }
}
