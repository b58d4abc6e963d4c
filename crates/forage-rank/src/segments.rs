//! Checked files of an index of the engine.
//!
//! An index is a directory of segments, which never change, and a [`Manifest`] that binds their names to lengths and
//! hashes. The engine is given only bytes that are as they were written, so that damage is an error and no wrong answer.
//! The ranked index and the embedded store of `forage-lookup` are made of these.

mod files;
mod manifest;
mod panics;

use std::collections::HashMap;
use std::path::PathBuf;

pub use files::{Files, Staged, Trust};
use forage_base::Stop;
pub use manifest::{Manifest, ManifestEntry, SegmentEntry};
pub use panics::guarded;
use tantivy::directory::OwnedBytes;
use tantivy::fastfield::AliveBitSet;
use tantivy::schema::Schema;
use tantivy::{BitSet, Index, SegmentReader};

use crate::error::IndexError;
use files::Sealed;

/// A segment that the engine has open.
#[derive(Clone)]
pub struct OpenSegment {
    /// The segment, to be merged.
    pub engine: tantivy::Segment,
    /// Documents that were not removed; `None` if none was.
    pub alive: Option<AliveBitSet>,
    /// Reads the documents that were not removed.
    pub reader: SegmentReader,
}

impl OpenSegment {
    /// Opens a segment. All of its bytes are checked before the engine is given any of them.
    ///
    /// # Errors
    /// A file is missing or differs from what the manifest says, the schema is another one, or the time is over.
    pub fn open(
        files: &Files,
        entry: &SegmentEntry,
        schema: &Schema,
        trust: Trust,
        stop: &Stop,
    ) -> Result<Self, IndexError> {
        let description_name = description_name(&entry.id);
        let mut description = None;
        let mut sealed: HashMap<PathBuf, OwnedBytes> = HashMap::new();
        for file in &entry.files {
            let bytes = files.open(file, trust, stop)?;
            match file.name == description_name {
                true => description = Some(bytes),
                false => drop(sealed.insert(PathBuf::from(&file.name), bytes)),
            }
        }
        let sealed = Sealed::new(sealed, description.ok_or(IndexError::Damaged)?);
        let index = Index::open(sealed)?;
        if index.schema() != *schema {
            return Err(IndexError::Format);
        }
        let [engine] = <[tantivy::Segment; 1]>::try_from(index.searchable_segments()?)
            .map_err(|_| IndexError::Damaged)?;
        let alive = entry.gone.as_ref().map(|file| files.open(file, trust, stop)).transpose()?;
        Self::with_alive(engine, alive.map(AliveBitSet::open))
    }

    /// Opens a segment that is open already with another set of documents that were not removed.
    ///
    /// # Errors
    /// The engine refuses.
    pub fn with_alive(engine: tantivy::Segment, alive: Option<AliveBitSet>) -> Result<Self, IndexError> {
        let reader = SegmentReader::open_with_custom_alive_set(&engine, alive.clone())?;
        Ok(Self { engine, alive, reader })
    }
}

/// Returns the documents that were not removed, as a set that more can be removed from.
#[must_use]
pub fn living(reader: &SegmentReader) -> BitSet {
    let mut living = BitSet::with_max_value_and_full(reader.max_doc());
    (0..reader.max_doc()).filter(|&document| reader.is_deleted(document)).for_each(|one| living.remove(one));
    living
}

/// The name of the file with the engine's description of a segment.
fn description_name(id: &str) -> String {
    format!("{id}.meta")
}
