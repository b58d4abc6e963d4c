//! Verified files of an index of the engine.
//!
//! An index is a directory of immutable segments, and a [`Manifest`] that records the lengths and hashes of
//! their files. The engine only receives bytes that match these, so that damage must cause an error and never
//! a wrong answer. Both the ranked index and the embedded store of `forage-lookup` use this module.

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
use files::VerifiedDirectory;

/// A segment opened by the engine.
#[derive(Clone)]
pub struct OpenSegment {
    /// The engine's own handle to this segment, for merging.
    pub engine: tantivy::Segment,
    /// Documents that were not removed; `None` if none was removed.
    pub alive: Option<AliveBitSet>,
    /// A reader of the documents that were not removed.
    pub reader: SegmentReader,
}

impl OpenSegment {
    /// Opens a segment. All of its bytes are checked before the engine uses them.
    ///
    /// # Errors
    ///
    /// Returns an error if a file is missing or differs from the manifest, the schema differs, or the
    /// deadline has passed.
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
        let sealed = VerifiedDirectory::new(sealed, description.ok_or(IndexError::Damaged)?);
        let index = Index::open(sealed)?;
        if index.schema() != *schema {
            return Err(IndexError::Format);
        }
        let [engine] = <[tantivy::Segment; 1]>::try_from(index.searchable_segments()?)
            .map_err(|_| IndexError::Damaged)?;
        let alive = entry.gone.as_ref().map(|file| files.open(file, trust, stop)).transpose()?;
        Self::with_alive(engine, alive.map(AliveBitSet::open))
    }

    /// Opens an already open segment with another set of documents that were not removed.
    ///
    /// # Errors
    ///
    /// Returns an error if the engine fails.
    pub fn with_alive(engine: tantivy::Segment, alive: Option<AliveBitSet>) -> Result<Self, IndexError> {
        let reader = SegmentReader::open_with_custom_alive_set(&engine, alive.clone())?;
        Ok(Self { engine, alive, reader })
    }
}

/// Returns the documents that were not removed, as a set from which more can be removed.
#[must_use]
pub fn living(reader: &SegmentReader) -> BitSet {
    let mut living = BitSet::with_max_value_and_full(reader.max_doc());
    (0..reader.max_doc()).filter(|&document| reader.is_deleted(document)).for_each(|one| living.remove(one));
    living
}

/// Returns the name of the file with the engine's description of a segment.
fn description_name(id: &str) -> String {
    format!("{id}.meta")
}
