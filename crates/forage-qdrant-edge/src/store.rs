//! The store.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use forage_base::Stop;
use forage_lookup::{
    Collection, Creation, Point, PointFilter, PointHit, PointId, PointPage, PointQuery, PointScan,
    PointStore, ShardLayout, StoreError, VectorFacts, WeightedHit,
};

use crate::description::Description;
use crate::directory::{self, DirectoryContents};
use crate::engine::EdgeEngine;
use crate::failure::{EdgeFailure, check, of_file};
use crate::journal::{self, Journal, JournalEntry};
use crate::lock::{Lock, LockRefusal};
use crate::seal::{self, SealVerdict};
use crate::{limits, name};

/// A collection in a directory of this machine. From the moment that it is found until this is dropped, nobody else can
/// open it: neither another process nor another of these in the same one.
///
/// What is acknowledged survives the end of the process, however it ends, and a loss of power from
/// [`PointStore::finish`] on. Calls do not wait for anything but the disk and each other, so a [`Stop`] is looked at before
/// each call of the engine, and not while it runs.
///
/// The engine counts points that were removed or replaced among those that have a word until [`PointStore::finish`], which
/// leaves a share of [`limits::DEAD_SHARE`] at the most.
pub struct EmbeddedStore {
    name: String,
    directory: PathBuf,
    /// Of who puts the segments in order; taken before `writer`.
    arranger: Mutex<()>,
    /// Of who writes; taken before `opened`.
    writer: Mutex<()>,
    /// Whether the segments are being put in order, during which the engine can't write through to the disk. Changed by
    /// who has `writer`.
    is_arranging: AtomicBool,
    /// Points that were written since the segments were put in order.
    written: AtomicU64,
    /// `None` while there is no collection, or none that can be opened.
    opened: RwLock<Option<Opened>>,
}

/// In the order in which it has to be closed.
struct Opened {
    engine: EdgeEngine,
    journal: Mutex<Journal>,
    description: Description,
    /// Changed by who has `writer`.
    is_sealed: AtomicBool,
    lock: Lock,
}

impl EmbeddedStore {
    /// The collection of this name in a directory of collections. Nothing is made if there is none; one that is damaged
    /// is an error of each call but [`PointStore::drop_collection`].
    ///
    /// # Errors
    /// The name can't be a collection's, or the collection is open elsewhere ([`StoreError::Locked`]).
    pub fn open(directory: &Path, collection: &str) -> Result<Self, StoreError> {
        name::check(collection)?;
        let store = Self {
            name: collection.to_owned(),
            directory: directory.to_owned(),
            arranger: Mutex::default(),
            writer: Mutex::default(),
            is_arranging: AtomicBool::default(),
            written: AtomicU64::default(),
            opened: RwLock::default(),
        };
        let opened = store.open_now(&store.writer());
        match opened {
            Err(error @ StoreError::Locked(_)) => Err(error),
            _ => Ok(store),
        }
    }

    /// Writes through to the disk, and puts the segments in order. Others may write meanwhile: that is half of the work
    /// of filling a collection.
    fn arrange(&self, stop: &Stop) -> Result<(), StoreError> {
        let _arranger = self.arranger.lock().unwrap_or_else(PoisonError::into_inner);
        {
            let writer = self.writer();
            check(stop, &self.place())?;
            self.with_writer(&writer, |opened| {
                opened.unseal(&self.path())?;
                let path = directory::journal(&self.path());
                opened.journal().append(&journal::arrange()).map_err(of_file(&path))?;
                opened.engine.flush()
            })?;
            check(stop, &self.place())?;
            self.is_arranging.store(true, Ordering::Relaxed);
        }
        let arranged = {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            opened.as_ref().map_or(Ok(()), |opened| opened.engine.arrange())
        };
        let writer = self.writer();
        self.is_arranging.store(false, Ordering::Relaxed);
        self.with_writer(&writer, |opened| {
            arranged?;
            opened.settle(&self.path())
        })?;
        self.shorten(&writer)
    }

    fn writer(&self) -> MutexGuard<'_, ()> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self) -> PathBuf {
        self.directory.join(&self.name)
    }

    /// Beside the collection and not in it, so that it stays when the collection goes: a lock on a file that is removed
    /// would keep nobody out. No collection begins with a dot.
    fn lock(&self) -> Result<Lock, StoreError> {
        let path = self.directory.join(format!(".{}.lock", self.name));
        Lock::take(&path).map_err(|refusal| match refusal {
            LockRefusal::Io(error) => of_file(&path)(error),
            LockRefusal::Held(Some(number)) if number == std::process::id() => StoreError::Locked(format!(
                "{} is open in this process already (process {number})",
                self.place()
            )),
            LockRefusal::Held(number) => {
                let process =
                    number.map_or("another process".to_owned(), |number| format!("process {number}"));
                StoreError::Locked(format!(
                    "{} is in use by {process}: end that, or use a Qdrant server for several at once",
                    self.place()
                ))
            }
        })
    }

    fn no_collection(&self) -> StoreError {
        StoreError::NoCollection(format!("there is no {}", self.place()))
    }

    /// Reads run beside each other and beside writes.
    fn with<T>(&self, work: impl FnOnce(&Opened) -> Result<T, EdgeFailure>) -> Result<T, StoreError> {
        {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(opened) = &*opened {
                return self.judge(work(opened));
            }
        }
        self.with_writer(&self.writer(), work)
    }

    fn with_writer<T>(
        &self,
        writer: &MutexGuard<'_, ()>,
        work: impl FnOnce(&Opened) -> Result<T, EdgeFailure>,
    ) -> Result<T, StoreError> {
        self.open_now(writer)?;
        let result = {
            let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
            work(opened.as_ref().ok_or_else(|| self.no_collection())?)
        };
        if result.as_ref().is_err_and(|failure| failure.is_lost) {
            // What the engine has in memory can't be trusted any more. The journal has all that it lacks on the disk.
            drop(self.take());
        }
        self.judge(result)
    }

    fn judge<T>(&self, result: Result<T, EdgeFailure>) -> Result<T, StoreError> {
        result.map_err(|failure| match failure.error {
            StoreError::Invalid(reason) if failure.is_lost => {
                StoreError::Damaged(format!("{}: {reason}; try again first", self.place()))
            }
            error => error,
        })
    }

    fn take(&self) -> Option<Opened> {
        self.opened.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, opened: Opened) {
        *self.opened.write().unwrap_or_else(PoisonError::into_inner) = Some(opened);
    }

    /// Opens the collection if it isn't yet.
    fn open_now(&self, _: &MutexGuard<'_, ()>) -> Result<(), StoreError> {
        if self.opened.read().unwrap_or_else(PoisonError::into_inner).is_some() {
            return Ok(());
        }
        let path = self.path();
        if directory::is_other(&path).map_err(of_file(&path))? {
            return Err(self.foreign(&path));
        }
        if Description::read(&path)?.is_none() {
            // A seal is the first file that goes with a collection.
            let is_sealed = directory::is_sealed(&path).map_err(of_file(&path))?;
            return Err(if is_sealed { self.damaged(directory::DESCRIPTION) } else { self.no_collection() });
        }
        let lock = self.lock()?;
        // It may have been removed before the lock was had.
        let description = Description::read(&path)?.ok_or_else(|| self.no_collection())?;
        self.put(self.recover(description, lock)?);
        Ok(())
    }

    /// Loads the shard and does again what a killed process may not have written through to the disk.
    fn recover(&self, description: Description, lock: Lock) -> Result<Opened, StoreError> {
        let path = self.path();
        let shard = directory::shard(&path);
        directory::check_shard(&path).map_err(of_file(&shard))?;
        let journal_path = directory::journal(&path);
        let is_sealed = match seal::verify(&path).map_err(of_file(&path))? {
            SealVerdict::Damaged(file) => return Err(self.damaged(&file)),
            SealVerdict::Foreign(file) => {
                return Err(StoreError::Invalid(format!(
                    "{} has a file that is not its own, {}: remove that file",
                    self.place(),
                    path.join(file).display()
                )));
            }
            verdict => verdict == SealVerdict::Whole,
        };
        if !is_sealed {
            directory::shorten_log(&shard).map_err(of_file(&shard))?;
        }
        let (mut journal, changes) = Journal::open(&journal_path).map_err(of_file(&journal_path))?;
        if is_sealed && journal.length() > 0 {
            return Err(self.damaged(directory::JOURNAL));
        }
        let load = || -> Result<EdgeEngine, EdgeFailure> {
            let engine = EdgeEngine::load(&shard)?;
            if !changes.is_empty() {
                for change in changes {
                    match change {
                        JournalEntry::Upsert { using, points } => engine.upsert(points, &using)?,
                        JournalEntry::Remove(ids) => engine.remove(&ids)?,
                        JournalEntry::Arrange => {}
                    }
                }
                unite(&engine, &mut journal, &description.vector, &journal_path)?;
                engine.flush()?;
            }
            Ok(engine)
        };
        let engine = load().map_err(|failure| {
            StoreError::Damaged(format!("{} can't be opened ({})", self.place(), failure.error))
        })?;
        journal.cut(0).map_err(of_file(&journal_path))?;
        let is_sealed = AtomicBool::new(is_sealed);
        Ok(Opened { engine, journal: Mutex::new(journal), description, is_sealed, lock })
    }

    /// A file is not as it was when the collection was closed.
    fn damaged(&self, file: &str) -> StoreError {
        StoreError::Damaged(format!("{} is damaged ({file} is not as it was written)", self.place()))
    }

    fn foreign(&self, path: &Path) -> StoreError {
        StoreError::Invalid(format!(
            "{} is no collection of forage's: {} was not made by it; name another directory or collection",
            self.path().display(),
            path.display()
        ))
    }

    /// Writes the change into the journal, and then to the engine.
    fn change(
        &self,
        body: &[u8],
        work: impl FnOnce(&Opened) -> Result<(), EdgeFailure>,
        stop: &Stop,
    ) -> Result<(), StoreError> {
        let writer = self.writer();
        check(stop, &self.place())?;
        let mut is_full = false;
        self.with_writer(&writer, |opened| {
            opened.unseal(&self.path())?;
            let path = directory::journal(&self.path());
            let mut journal = opened.journal();
            let before = journal.append(body).map_err(of_file(&path))?;
            if let Err(failure) = work(opened) {
                // Nobody was told that it is there, and it would fail again.
                journal.cut(before).map_err(of_file(&path))?;
                return Err(failure);
            }
            is_full = journal.length() >= limits::JOURNAL_BYTES && !self.is_arranging.load(Ordering::Relaxed);
            Ok(())
        })?;
        if is_full {
            self.with_writer(&writer, |opened| opened.settle(&self.path()))?;
            self.shorten(&writer)?;
        }
        Ok(())
    }

    /// Opens the shard anew if its log has grown long; what is in the log must be on the disk.
    fn shorten(&self, _: &MutexGuard<'_, ()>) -> Result<(), StoreError> {
        let shard = directory::shard(&self.path());
        let logs = directory::complete_logs(&shard).map_err(of_file(&shard))?;
        if logs.len() < limits::LOG_FILES {
            return Ok(());
        }
        let mut opened = self.opened.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(Opened { engine, journal, description, lock, .. }) = opened.take() {
            drop((engine, journal));
            *opened = Some(self.recover(description, lock)?);
        }
        Ok(())
    }
}

/// While the engine replaces a segment by another, every point of it is in both; a process that is killed then leaves
/// it so. What is there twice is taken out and written again, and is in the journal meanwhile.
fn unite(engine: &EdgeEngine, journal: &mut Journal, using: &str, path: &Path) -> Result<(), EdgeFailure> {
    let every = PointScan { filter: &PointFilter::default(), fields: &[], from: None, limit: usize::MAX };
    if engine.count(every.filter)? == engine.scan(&every)?.points.len() as u64 {
        return Ok(());
    }
    let mut from = None;
    loop {
        let (points, next) = engine.points(from, using)?;
        if engine.occurrences(&points)? > points.len() {
            let body = journal::upsert(using, &points)?;
            journal.append(&body).map_err(of_file(path))?;
            let ids: Vec<_> = points.iter().map(|point| point.id).collect();
            engine.remove(&ids)?;
            engine.upsert(points, using)?;
        }
        if journal.length() >= limits::JOURNAL_BYTES {
            engine.flush()?;
            journal.cut(0).map_err(of_file(path))?;
            journal.append(&journal::arrange()).map_err(of_file(path))?;
        }
        match next {
            Some(_) => from = next,
            None => return Ok(()),
        }
    }
}

impl Opened {
    fn journal(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes through to the disk, after which the journal isn't needed.
    fn settle(&self, collection: &Path) -> Result<(), EdgeFailure> {
        let mut journal = self.journal();
        if journal.length() > 0 {
            self.engine.flush()?;
            journal.cut(0).map_err(of_file(&directory::journal(collection)))?;
        }
        Ok(())
    }

    /// Before a change.
    fn unseal(&self, collection: &Path) -> Result<(), EdgeFailure> {
        if self.is_sealed.load(Ordering::Relaxed) {
            directory::remove_seal(collection).map_err(of_file(collection))?;
            self.is_sealed.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Writes through to the disk and seals the collection, if it isn't.
    fn close(self, collection: &Path) -> Result<(), EdgeFailure> {
        if self.is_sealed.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.settle(collection)?;
        let Self { engine, journal, lock, .. } = self;
        drop((engine, journal));
        let shard = directory::shard(collection);
        directory::shorten_log(&shard).map_err(of_file(&shard))?;
        let sealed = seal::close(collection, || EdgeEngine::load(&shard).map(drop));
        drop(lock);
        sealed
    }

    fn check_vector(&self, using: &str) -> Result<(), StoreError> {
        if self.description.vector == using {
            return Ok(());
        }
        Err(StoreError::Invalid(format!(
            "the collection has no sparse vector `{using}`; it has `{}`",
            self.description.vector
        )))
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        if let Some(opened) = self.take() {
            // What fails here is done again from the journal when the collection is next opened.
            let _ = opened.close(&self.path());
        }
    }
}

impl PointStore for EmbeddedStore {
    fn place(&self) -> String {
        format!("collection `{}` in {}", self.name, self.directory.display())
    }

    fn collection(&self, stop: &Stop) -> Result<Option<Collection>, StoreError> {
        check(stop, &self.place())?;
        let found = self.with(|opened| {
            let vector = opened.description.vector.clone();
            Ok(Collection {
                sparse_vectors: [(vector, VectorFacts { has_idf: true })].into(),
                contract: Some(opened.description.contract()),
                points: opened.engine.about()? as u64,
                layout: ShardLayout::Single,
            })
        });
        match found {
            Err(StoreError::NoCollection(_)) => Ok(None),
            found => found.map(Some),
        }
    }

    fn create(&self, creation: &Creation, stop: &Stop) -> Result<(), StoreError> {
        let writer = self.writer();
        check(stop, &self.place())?;
        let exists = || StoreError::Exists(format!("{} is there already", self.place()));
        match self.open_now(&writer) {
            Ok(()) => return Err(exists()),
            Err(StoreError::NoCollection(_)) => {}
            Err(error) => return Err(error),
        }
        directory::create(&self.directory).map_err(of_file(&self.directory))?;
        let lock = self.lock()?;
        let path = self.path();
        match directory::look(&path).map_err(of_file(&path))? {
            DirectoryContents::Foreign(foreign) => return Err(self.foreign(&foreign)),
            DirectoryContents::Ours if Description::read(&path)?.is_some() => return Err(exists()),
            // Somebody was killed while making it.
            DirectoryContents::Ours => directory::remove(&path).map_err(of_file(&path))?,
            DirectoryContents::Nothing | DirectoryContents::Empty => {}
        }
        let shard = directory::shard(&path);
        directory::create_shard(&path).map_err(of_file(&shard))?;
        let journal_path = directory::journal(&path);
        let (journal, _) = Journal::open(&journal_path).map_err(of_file(&journal_path))?;
        let made = EdgeEngine::create(&shard, &creation.using, &creation.indexed_fields);
        let made = made.and_then(|engine| engine.flush().map(|()| engine));
        let engine = self.judge(made)?;
        let description = Description::new(&creation.using, &creation.contract);
        description.write(&path)?;
        let is_sealed = AtomicBool::new(false);
        self.put(Opened { engine, journal: Mutex::new(journal), description, is_sealed, lock });
        Ok(())
    }

    fn upsert(&self, points: Vec<Point>, using: &str, stop: &Stop) -> Result<(), StoreError> {
        if let Some(point) =
            points.iter().find(|point| !point.vector.weights().iter().all(|weight| weight.is_finite()))
        {
            return Err(StoreError::Invalid(format!("point {} has a weight that is no number", point.id)));
        }
        let body = journal::upsert(using, &points)?;
        self.with(|opened| Ok(opened.check_vector(using)?))?;
        if points.is_empty() {
            return Ok(());
        }
        let count = points.len() as u64;
        self.change(&body, |opened| opened.engine.upsert(points, using), stop)?;
        let written = self.written.fetch_add(count, Ordering::Relaxed) + count;
        // What one of several writers does holds for all.
        let is_due = written >= limits::ARRANGED_POINTS && self.written.swap(0, Ordering::Relaxed) > 0;
        if is_due { self.arrange(stop) } else { Ok(()) }
    }

    fn remove(&self, ids: &[PointId], stop: &Stop) -> Result<(), StoreError> {
        if ids.is_empty() {
            return self.with(|_| Ok(()));
        }
        self.change(&journal::remove(ids), |opened| opened.engine.remove(ids), stop)
    }

    fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, StoreError> {
        check(stop, &self.place())?;
        self.with(|opened| {
            opened.check_vector(query.using)?;
            opened.engine.query(query)
        })
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        check(stop, &self.place())?;
        self.with(|opened| {
            let answer = |query: &PointQuery<'_>| {
                opened.check_vector(query.using)?;
                opened.engine.query_vectors(query, with_vectors)
            };
            queries.iter().map(answer).collect()
        })
    }

    fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, StoreError> {
        check(stop, &self.place())?;
        self.with(|opened| opened.engine.scan(scan))
    }

    fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, StoreError> {
        check(stop, &self.place())?;
        self.with(|opened| opened.engine.count(filter))
    }

    fn finish(&self, stop: &Stop) -> Result<(), StoreError> {
        self.arrange(stop)
    }

    fn drop_collection(&self, stop: &Stop) -> Result<bool, StoreError> {
        let _writer = self.writer();
        check(stop, &self.place())?;
        let path = self.path();
        match directory::look(&path).map_err(of_file(&path))? {
            DirectoryContents::Nothing | DirectoryContents::Empty => return Ok(false),
            DirectoryContents::Foreign(foreign) => return Err(self.foreign(&foreign)),
            DirectoryContents::Ours => {}
        }
        let _lock = match self.take() {
            Some(opened) => opened.lock,
            None => self.lock()?,
        };
        directory::remove(&path).map_err(of_file(&path))?;
        Ok(true)
    }
}
