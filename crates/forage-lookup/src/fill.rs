//! Fills a collection with the files of a tree, and keeps it up to date.
//!
//! The collection itself records its content: every point contains its file, a hash of the file, and the
//! number of points of the file. The id of a point is derived from the repository, the path and the number of
//! the chunk. A file counts as present only if all of its points exist. An interrupted filling can therefore
//! continue without losing or duplicating anything.

mod tree_states;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use forage_base::{Hint, Stop, Stopped};
use forage_fs::{
    Contents, DecodedText, Entry, OpenError, ReadBuffer, RelPath, Root, SkipReason, Skipped, WalkOptions,
    WalkReport, WalkStep, decode, walk,
};
use ring::digest::{Context as Digest, SHA256};
use serde_json::{Map, Value, json};

use crate::chunk::chunks;
use crate::encoder::{Encoder, EncodingError};
use crate::filter::PointFilter;
use crate::limits;
use crate::point_id::PointId;
use crate::retriever::{CollectionError, check};
use crate::retry::with_retries;
use crate::store::{Creation, Point, PointScan, PointStore, Sharding, StoreError};

pub use tree_states::{count_chunks, remove_repository, repositories};

use self::tree_states::TreeStates;

/// The version of the points. This must change if the same file would be split or described differently.
const FORMAT: &str = "1";

/// The payload fields of every point that [`Filling`] writes.
mod field {
    /// The repository's name, chosen by the user.
    pub(super) const REPO: &str = "repo";
    /// The path relative to the root.
    pub(super) const PATH: &str = "path";
    /// The language in lower case. This field is missing if the language is unknown.
    pub(super) const LANGUAGE: &str = "language";
    /// `{"start": n, "end": n}`, counted from 1.
    pub(super) const LINES: &str = "lines";
    pub(super) const TEXT: &str = "text";
    /// The version of the file: a hash of its bytes and of how they were split and encoded.
    pub(super) const CONTENT: &str = "content";
    /// The number of the chunk within the file, counted from 0.
    pub(super) const CHUNK: &str = "chunk";
    /// The number of chunks of the file.
    pub(super) const CHUNKS: &str = "chunks";
}

/// The store, the encoder and the settings for filling a collection.
pub struct Filling<'a> {
    /// The store to which points are written.
    pub store: &'a dyn PointStore,
    /// The encoder of their vectors.
    pub encoder: &'a dyn Encoder,
    /// The name of the sparse vector.
    pub using: &'a str,
    /// The name of the repository in the collection.
    pub repository: &'a str,
    /// How a server distributes the collection, if it has to be created.
    pub sharding: Sharding,
    /// Determines the language of a file by its path.
    pub language: fn(&str) -> Option<&'static str>,
    /// Maximum size of a file in bytes. Larger files are left out, and so are those over
    /// [`limits::FILE_BYTES`].
    pub max_file_bytes: Option<u64>,
    /// Redacts a text that leaves this machine. It must return a text with the same number of lines, and the
    /// number of secrets.
    pub redact: Option<Redact<'a>>,
    /// A counter of the points written so far, for showing progress.
    pub written: Arc<AtomicU64>,
}

/// A function that redacts secrets in a text.
pub type Redact<'a> = &'a (dyn Fn(&str) -> (String, u64) + Sync);

/// The result of a filling.
#[derive(Debug, Default)]
pub struct FillOutcome {
    /// Number of files that were written completely.
    pub files: u64,
    /// Number of files that were already up to date.
    pub unchanged: u64,
    /// Number of files that were removed because they no longer exist, or because we no longer fill them:
    /// they are excluded, unreadable, too large or binary now.
    pub removed: u64,
    /// Number of points written.
    pub points: u64,
    /// Number of secrets redacted in them.
    pub redacted: u64,
    /// True if the tree was unchanged, so that no file was read or compared.
    pub is_unchanged: bool,
    /// The report of the walk. If the walk ended early, no files were removed.
    pub report: WalkReport,
}

/// The reasons why a filling ends early. Everything written so far is kept, and the next filling continues.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The collection is not suitable.
    #[error(transparent)]
    Collection(#[from] CollectionError),
    /// The tree can't be walked.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Documents can't be encoded.
    #[error(transparent)]
    Encoding(#[from] EncodingError),
}

impl FillError {
    /// Suggests a remedy, if there is one.
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Collection(error) => error.hint(),
            Self::Open(error) => error.hint(),
            Self::Encoding(_) => None,
        }
    }

    /// Returns true if the same filling may succeed later.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Collection(CollectionError::Store(error)) => {
                error.is_transient() || matches!(error, StoreError::Timeout(_) | StoreError::Cancelled)
            }
            Self::Collection(_) | Self::Open(_) | Self::Encoding(_) => false,
        }
    }
}

impl From<StoreError> for FillError {
    fn from(error: StoreError) -> Self {
        Self::Collection(error.into())
    }
}

/// The points of a file in the collection.
#[derive(Debug, Default)]
struct StoredPoints {
    /// The hash that all of its points have; `None` if they differ.
    content: Option<String>,
    /// The number of points that should exist.
    chunks: u64,
    /// The numbers of the points that exist.
    present: Vec<u64>,
    /// Whether the walk has found the file and could read it as text.
    is_seen: AtomicBool,
}

impl StoredPoints {
    fn is_whole(&self, content: &str) -> bool {
        self.content.as_deref() == Some(content) && self.present.len() as u64 == self.chunks
    }

    fn add(&mut self, content: &str, chunk: u64, chunks: u64) {
        match self.present.is_empty() {
            true => (self.content, self.chunks) = (Some(content.to_owned()), chunks),
            false if self.content.as_deref() != Some(content) || self.chunks != chunks => self.content = None,
            false => {}
        }
        self.present.push(chunk);
    }
}

/// A file that is being added to the collection.
struct FilledFile {
    points: Vec<Point>,
    bytes: usize,
    redacted: u64,
    /// Points of the previous version of the file that are not replaced.
    surplus: Vec<PointId>,
}

impl FilledFile {
    /// Returns the file's memory size in bytes while it waits to be written. Because of the vectors and the
    /// overlap of chunks, this is several times the size of its text.
    fn weight(&self) -> usize {
        let of_point = |point: &Point| {
            let text = point.payload.get(field::TEXT).and_then(Value::as_str).map_or(0, str::len);
            text + point.vector.ids().len() * (size_of::<u32>() + size_of::<f32>()) + limits::POINT_OVERHEAD
        };
        self.points.iter().map(of_point).sum()
    }
}

impl Filling<'_> {
    /// Creates the collection if it does not exist, and updates the repository's points to match the files
    /// below `root`.
    ///
    /// # Errors
    ///
    /// Returns an error if the collection is not suitable, if a request fails, or if the caller has
    /// cancelled. Everything written so far is kept, and calling this again continues. If the walk ended
    /// early, [`FillOutcome::report`] says so, and files that no longer exist stay in the collection.
    pub fn run(
        &self,
        root: &Arc<Root>,
        options: &WalkOptions,
        stop: &Stop,
    ) -> Result<FillOutcome, FillError> {
        self.prepare(stop)?;
        if let Some(filled) = self.unchanged(root, options, stop)? {
            return Ok(filled);
        }
        let known = self.known(stop)?;
        let tree = TreeStates::default();
        let (sender, receiver) = sync_channel::<PointBatch>(limits::WRITERS);
        let receiver = Mutex::new(receiver);
        let failure = FirstFailure::default();
        let mut filled = FillOutcome::default();
        let unchanged = AtomicU64::new(0);
        std::thread::scope(|scope| -> Result<(), FillError> {
            for _ in 0..limits::WRITERS {
                scope.spawn(|| self.write_batches(&receiver, &failure, stop));
            }
            let mut batch = PointBatch::default();
            let visit = |buffer: &mut ReadBuffer, entry: &Entry<'_>, skipped: &mut Skipped| match self
                .read(buffer, entry, &known, &tree, skipped)
            {
                Ok(Some(file)) => {
                    let weight = file.weight();
                    WalkStep::Item(file, weight)
                }
                Ok(None) => {
                    unchanged.fetch_add(1, Ordering::Relaxed);
                    WalkStep::Nothing
                }
                Err(UnreadReason::Left) => WalkStep::Nothing,
                Err(UnreadReason::Failed(error)) => {
                    failure.set(error);
                    WalkStep::Nothing
                }
            };
            let receive = |file: FilledFile| {
                filled.files += 1;
                filled.points += file.points.len() as u64;
                filled.redacted += file.redacted;
                for full in batch.take(file) {
                    if sender.send(full).is_err() {
                        return ControlFlow::Break(());
                    }
                }
                if failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let report = walk(root, &RelPath::root(), options, stop, ReadBuffer::default, visit, receive);
            let _ = sender.send(batch);
            // The writers end when the channel is closed.
            drop(sender);
            filled.report = report?;
            Ok(())
        })?;
        failure.into_result()?;
        filled.unchanged = unchanged.into_inner();
        // If the walk did not reach all files, we must not remove those that it missed.
        let is_whole = filled.report.stopped.is_none() && !filled.report.too_many_entries;
        if filled.report.stopped == Some(Stopped::Cancelled) {
            return Err(StoreError::Cancelled.into());
        }
        if is_whole {
            filled.removed = self.remove_unseen(&known, stop)?;
            self.has_seen(tree, filled.files + filled.unchanged, stop)?;
        }
        self.store.finish(stop)?;
        Ok(filled)
    }

    /// Writes batches until the channel is closed.
    fn write_batches(&self, receiver: &Mutex<Receiver<PointBatch>>, failure: &FirstFailure, stop: &Stop) {
        loop {
            let batch = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return };
            // After a failure we must still receive and discard items, so that their senders do not block.
            let written = if failure.is_set() { Ok(()) } else { self.write(&batch, stop) };
            if let Err(error) = written {
                failure.set(error.into());
            }
        }
    }

    /// Checks that the collection is suitable for these vectors. Creates it if it does not exist.
    fn prepare(&self, stop: &Stop) -> Result<(), FillError> {
        // We must fail before a collection is created if the encoder supports only queries.
        self.encoder.document("")?;
        let contract = self.encoder.contract();
        let creation = Creation {
            using: self.using.to_owned(),
            contract: contract.clone(),
            indexed_fields: [field::REPO, field::PATH, field::LANGUAGE, tree_states::SEEN]
                .map(str::to_owned)
                .into(),
            sharding: self.sharding.clone(),
        };
        let collection = match with_retries(stop, || self.store.collection(stop))? {
            Some(collection) => collection,
            None => match self.store.create(&creation, stop) {
                Ok(()) => return Ok(()),
                // Another process has created it in the meantime.
                Err(StoreError::Exists(_)) => self.store.collection(stop)?.unwrap_or_default(),
                Err(error) => return Err(error.into()),
            },
        };
        let place = self.store.place();
        check(&collection, self.encoder, self.using, &place)?;
        // `check` accepts every contract that the encoder's queries can use. Documents need exactly the same
        // contract: for example, those of `fastembed-bm25` would lack the dimensions of code.
        match &collection.contract {
            // The process that created the collection may have ended before it indexed all fields.
            Some(theirs) if *theirs == contract => {
                Ok(with_retries(stop, || self.store.index_fields(&creation.indexed_fields, stop))?)
            }
            theirs => Err(CollectionError::Encoding {
                place,
                theirs: theirs.as_ref().map_or_else(|| "an unknown encoder".to_owned(), ToString::to_string),
                ours: contract.to_string(),
            }
            .into()),
        }
    }

    /// Lists the repository's points in the collection, by path.
    fn known(&self, stop: &Stop) -> Result<HashMap<String, StoredPoints>, FillError> {
        let filter = PointFilter::any_of(field::REPO, [self.repository]);
        let fields = [field::PATH, field::CONTENT, field::CHUNK, field::CHUNKS].map(str::to_owned);
        let mut known: HashMap<String, StoredPoints> = HashMap::new();
        let mut scan = PointScan { filter: &filter, fields: &fields, from: None, limit: limits::SCAN_POINTS };
        loop {
            let page = with_retries(stop, || self.store.scan(&scan, stop))?;
            for (id, payload) in page.points {
                let text = |name: &str| payload.get(name).and_then(Value::as_str).unwrap_or_default();
                let number = |name: &str| payload.get(name).and_then(Value::as_u64).unwrap_or_default();
                let (path, chunk) = (text(field::PATH), number(field::CHUNK));
                // We must not remove a point that happens to have our fields but another id.
                if id == self.id(path, chunk) {
                    let known = known.entry(path.to_owned()).or_default();
                    known.add(text(field::CONTENT), chunk, number(field::CHUNKS));
                }
            }
            match page.next {
                Some(next) => scan.from = Some(next),
                None => return Ok(known),
            }
        }
    }

    /// Reads and encodes a file. Returns `None` if the file is up to date in the collection.
    fn read(
        &self,
        buffer: &mut ReadBuffer,
        entry: &Entry<'_>,
        known: &HashMap<String, StoredPoints>,
        tree: &TreeStates,
        skipped: &mut Skipped,
    ) -> Result<Option<FilledFile>, UnreadReason> {
        let mut leave = |reason| {
            skipped.add(reason);
            UnreadReason::Left
        };
        let mut opened = Skipped::default();
        let file = entry.open(&mut opened);
        let Some(mut file) = file else {
            skipped.merge(&opened);
            return Err(UnreadReason::Left);
        };
        // This must come before reading, so that a change in between gives another state next time.
        tree.add_opened(&entry.path, &file);
        if self.max_file_bytes.is_some_and(|max| file.size() > max) {
            return Err(leave(SkipReason::TooLarge));
        }
        match file.read_into(buffer, limits::FILE_BYTES) {
            Ok(Contents::Whole) => {}
            Ok(Contents::TooLarge) => return Err(leave(SkipReason::TooLarge)),
            Err(_) => return Err(leave(SkipReason::Unreadable)),
        }
        let DecodedText::Text { bytes, .. } = decode(buffer) else { return Err(leave(SkipReason::Binary)) };
        let path = entry.path.display();
        let known = known.get(&*path);
        if let Some(known) = known {
            known.is_seen.store(true, Ordering::Relaxed);
        }
        // If redaction is switched on or off, all files must be filled again.
        let redaction: &[u8] = if self.redact.is_some() { b"redacted" } else { b"" };
        let contract = self.encoder.contract();
        let content = hash_of(&[FORMAT.as_bytes(), contract.as_str().as_bytes(), redaction, &bytes]);
        let content = hexadecimal(&content[..16]);
        if known.is_some_and(|known| known.is_whole(&content)) {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        let (text, redacted) =
            self.redact.map_or_else(|| (text.as_ref().to_owned(), 0), |redact| redact(&text));
        let (chunks, language) = (chunks(&text), (self.language)(&path));
        let mut points = Vec::with_capacity(chunks.len());
        for (number, chunk) in (0..).zip(&chunks) {
            let mut payload = Map::new();
            payload.insert(field::REPO.to_owned(), json!(self.repository));
            payload.insert(field::PATH.to_owned(), json!(path));
            if let Some(language) = language {
                payload.insert(field::LANGUAGE.to_owned(), json!(language));
            }
            payload
                .insert(field::LINES.to_owned(), json!({"start": chunk.first_line, "end": chunk.last_line}));
            payload.insert(field::TEXT.to_owned(), json!(chunk.text));
            payload.insert(field::CONTENT.to_owned(), json!(content));
            payload.insert(field::CHUNK.to_owned(), json!(number));
            payload.insert(field::CHUNKS.to_owned(), json!(chunks.len()));
            let vector =
                self.encoder.document(chunk.text).map_err(|error| UnreadReason::Failed(error.into()))?;
            points.push(Point { id: self.id(&path, number), vector, payload });
        }
        let is_surplus = |number: &&u64| **number >= chunks.len() as u64;
        let surplus = known.iter().flat_map(|known| known.present.iter().filter(is_surplus));
        let surplus = surplus.map(|number| self.id(&path, *number)).collect();
        Ok(Some(FilledFile { bytes: text.len(), redacted, surplus, points }))
    }

    fn write(&self, batch: &PointBatch, stop: &Stop) -> Result<(), StoreError> {
        let points = batch.points.len() as u64;
        // New points come before removals, so that an interruption leaves no gap in a file.
        if points > 0 {
            with_retries(stop, || self.store.upsert(batch.points.clone(), self.using, stop))?;
            self.written.fetch_add(points, Ordering::Relaxed);
        }
        if !batch.surplus.is_empty() {
            with_retries(stop, || self.store.remove(&batch.surplus, stop))?;
        }
        Ok(())
    }

    /// Removes the points of files that the tree no longer contains. Returns the number of such files.
    fn remove_unseen(&self, known: &HashMap<String, StoredPoints>, stop: &Stop) -> Result<u64, StoreError> {
        let unseen: Vec<_> =
            known.iter().filter(|(_, known)| !known.is_seen.load(Ordering::Relaxed)).collect();
        let ids: Vec<PointId> = unseen
            .iter()
            .flat_map(|(path, known)| known.present.iter().map(|chunk| self.id(path, *chunk)))
            .collect();
        for ids in ids.chunks(limits::REMOVED_POINTS) {
            with_retries(stop, || self.store.remove(ids, stop))?;
        }
        Ok(unseen.len() as u64)
    }

    /// Computes the id of a chunk. It is always the same, so that writing the chunk again replaces its point.
    fn id(&self, path: &str, chunk: u64) -> PointId {
        let hash = hash_of(&[self.repository.as_bytes(), path.as_bytes(), &chunk.to_le_bytes()]);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        // This is version 8 of RFC 9562, an application-specific hash.
        bytes[6] = bytes[6] & 0x0f | 0x80;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        PointId::Uuid(u128::from_be_bytes(bytes))
    }
}

/// Computes the SHA-256 hash of several parts. The boundaries between them affect the hash.
fn hash_of(parts: &[&[u8]]) -> [u8; 32] {
    let mut digest = Digest::new(&SHA256);
    for part in parts {
        digest.update(&(part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut hash = [0; 32];
    hash.copy_from_slice(digest.finish().as_ref());
    hash
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

enum UnreadReason {
    /// The file was left out, and we have counted it.
    Left,
    Failed(FillError),
}

/// The first error of all threads.
#[derive(Default)]
struct FirstFailure(Mutex<Option<FillError>>);

impl FirstFailure {
    fn set(&self, error: FillError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    fn is_set(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn into_result(self) -> Result<(), FillError> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// The points to write in one request.
#[derive(Default)]
struct PointBatch {
    points: Vec<Point>,
    bytes: usize,
    surplus: Vec<PointId>,
}

impl PointBatch {
    /// Adds the points of a file. Returns the batches that are now full.
    fn take(&mut self, mut file: FilledFile) -> Vec<Self> {
        let mut full = Vec::new();
        let bytes_per_point = file.bytes / file.points.len().max(1);
        while !file.points.is_empty() {
            let room = limits::BATCH_POINTS - self.points.len();
            let room =
                room.min((limits::BATCH_BYTES.saturating_sub(self.bytes) / bytes_per_point.max(1)).max(1));
            let taken = file.points.drain(..room.min(file.points.len()));
            self.bytes += taken.len() * bytes_per_point;
            self.points.extend(taken);
            if self.points.len() >= limits::BATCH_POINTS || self.bytes >= limits::BATCH_BYTES {
                full.push(std::mem::take(self));
            }
        }
        // These must not be in an earlier batch than the file's last new points, so that they are removed
        // only when those are written or being written.
        self.surplus.extend(file.surplus);
        full
    }
}
