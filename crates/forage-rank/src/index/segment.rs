//! A segment of an index: the engine's reader, and the paths of its documents.

use std::sync::Arc;

use forage_base::Stop;
use tantivy::fastfield::AliveBitSet;
use tantivy::schema::{IndexRecordOption, Schema};
use tantivy::{BitSet, DocId, DocSet as _, SegmentReader, TERMINATED, Term};

use super::Stamp;
use super::schema::{ASIDE, BEGINNING, DOUBTFUL, FIELD_COUNT, Fields, STAMP, WORDLESS, latent_names};
use crate::error::IndexError;
use crate::kinds::{ProjectEvidence, ShareGroup, kinds, path_signs};
use crate::latent::{LatentSum, LatentVector};
use crate::limits;
use crate::segments::{Files, OpenSegment, SegmentEntry, Trust, living};

/// The parameters for opening a segment.
#[derive(Clone, Copy)]
pub(super) struct SegmentOpening<'a> {
    pub(super) files: &'a Files,
    pub(super) trust: Trust,
    pub(super) stop: &'a Stop,
    pub(super) schema: &'a Schema,
    pub(super) fields: &'a Fields,
}

/// A segment and its living documents.
pub(crate) struct RankedSegment {
    pub(super) entry: SegmentEntry,
    pub(super) engine: tantivy::Segment,
    pub(super) alive: Option<AliveBitSet>,
    pub(crate) reader: SegmentReader,
    pub(crate) paths: Arc<Paths>,
    /// States of all documents that replace those of their stamps.
    pub(super) states: Option<Arc<[u64]>>,
    /// Number of words per field of [`Fields::words`], over living documents.
    pub(super) totals: [u64; FIELD_COUNT],
    /// The sum of the latent vectors of living documents.
    pub(super) latent: LatentSum,
}

impl RankedSegment {
    /// Opens a segment. All of its bytes are checked before the engine uses them.
    pub(super) fn open(opening: SegmentOpening<'_>, entry: SegmentEntry) -> Result<Self, IndexError> {
        let SegmentOpening { files, trust, stop, schema, fields } = opening;
        let OpenSegment { engine, alive, reader } = OpenSegment::open(files, &entry, schema, trust, stop)?;
        let paths = Arc::new(Paths::read(&reader, fields, stop)?);
        let totals = totals(&reader, fields)?;
        let states = entry.states.as_ref().map(|file| files.open(file, trust, stop)).transpose()?;
        let states = states.map(|bytes| states_of(&bytes, reader.max_doc())).transpose()?;
        let latent = latent_sum(&reader, &paths);
        Ok(Self { entry, engine, alive, reader, paths, states, totals, latent })
    }

    /// Returns this segment with fewer living documents.
    pub(super) fn with_alive(
        &self,
        entry: SegmentEntry,
        alive: AliveBitSet,
        fields: &Fields,
    ) -> Result<Self, IndexError> {
        let reader = SegmentReader::open_with_custom_alive_set(&self.engine, Some(alive.clone()))?;
        let totals = totals(&reader, fields)?;
        let (engine, paths, states) = (self.engine.clone(), Arc::clone(&self.paths), self.states.clone());
        let latent = latent_sum(&reader, &paths);
        Ok(Self { entry, engine, alive: Some(alive), reader, paths, states, totals, latent })
    }

    /// Returns this segment with other states of its documents.
    pub(super) fn with_states(&self, entry: SegmentEntry, states: Arc<[u64]>) -> Result<Self, IndexError> {
        let reader = SegmentReader::open_with_custom_alive_set(&self.engine, self.alive.clone())?;
        let (engine, alive, paths) = (self.engine.clone(), self.alive.clone(), Arc::clone(&self.paths));
        let (states, totals, latent) = (Some(states), self.totals, self.latent);
        Ok(Self { entry, engine, alive, reader, paths, states, totals, latent })
    }

    /// Returns this segment's living documents below directories with doubtful names.
    pub(super) fn doubtful(&self) -> impl Iterator<Item = DocId> {
        self.filter_living(&self.paths.doubtful)
    }

    /// Counts this segment's living documents of a group.
    pub(super) fn count_group(&self, group: ShareGroup) -> usize {
        self.filter_living(&self.paths.groups[group as usize]).count()
    }

    /// Returns the living documents, as a set from which more can be removed.
    pub(super) fn living_set(&self) -> BitSet {
        living(&self.reader)
    }

    /// Returns the current stamp of a document's file.
    pub(super) fn stamp(&self, document: DocId) -> Stamp {
        let stamp = self.paths.stamps[document as usize];
        let state = self.states.as_ref().map_or(stamp.state, |states| states[document as usize]);
        Stamp { state, ..stamp }
    }

    /// Counts the living documents with words.
    pub(super) fn files_with_words(&self) -> u32 {
        self.reader.num_docs().saturating_sub(self.wordless().count() as u32)
    }

    /// Returns the living documents without words.
    pub(crate) fn wordless(&self) -> impl Iterator<Item = DocId> {
        self.filter_living(&self.paths.wordless)
    }

    /// Returns the living documents that are only indexed up to a limit.
    pub(super) fn truncated_documents(&self) -> impl Iterator<Item = DocId> {
        self.filter_living(&self.paths.truncated_documents)
    }

    fn filter_living<'a>(&'a self, documents: &'a [DocId]) -> impl Iterator<Item = DocId> + 'a {
        documents.iter().copied().filter(|&document| !self.reader.is_deleted(document))
    }

    /// Returns the living documents with their paths and stamps.
    pub(crate) fn living(&self) -> impl Iterator<Item = (DocId, &str, Stamp)> {
        let file = |document| (document, self.paths.get(document), self.stamp(document));
        self.reader.doc_ids_alive().map(file)
    }
}

/// Parses states, stored consecutively as little-endian numbers.
pub(super) fn states_of(bytes: &[u8], documents: u32) -> Result<Arc<[u64]>, IndexError> {
    let (states, []) = bytes.as_chunks::<8>() else { return Err(IndexError::Damaged) };
    if states.len() != documents as usize {
        return Err(IndexError::Damaged);
    }
    Ok(states.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect())
}

/// Counts the words of living documents per field. The engine rounds the lengths of long documents, so this
/// is approximate.
fn totals(reader: &SegmentReader, fields: &Fields) -> Result<[u64; FIELD_COUNT], IndexError> {
    let mut totals = [0; FIELD_COUNT];
    for (total, field) in totals.iter_mut().zip(fields.words()) {
        let norms = reader.get_fieldnorms_reader(field)?;
        *total = reader.doc_ids_alive().map(|document| u64::from(norms.fieldnorm(document))).sum();
    }
    Ok(totals)
}

fn latent_sum(reader: &SegmentReader, paths: &Paths) -> LatentSum {
    let mut sum = LatentSum::default();
    reader.doc_ids_alive().for_each(|document| sum.push(&paths.latent[document as usize]));
    sum
}

/// The paths of a segment's documents, living or not, with other data per document.
#[derive(Debug)]
pub(crate) struct Paths {
    /// All paths, concatenated.
    text: String,
    places: Vec<(u32, u32)>,
    pub(super) stamps: Vec<Stamp>,
    /// The latent vector of each document.
    pub(crate) latent: Vec<LatentVector>,
    /// Documents without words, in order.
    wordless: Vec<DocId>,
    /// Documents that are only indexed up to a limit, in order.
    truncated_documents: Vec<DocId>,
    /// Documents that are seldom asked for in any project.
    aside: Vec<DocId>,
    /// Documents below directories with doubtful names.
    doubtful: Vec<DocId>,
    /// Other documents, by the group that they belong to.
    groups: [Vec<DocId>; ShareGroup::ALL.len()],
}

impl Paths {
    /// Reads the paths from the terms that are used to delete documents, because reading the documents
    /// themselves would take longer.
    fn read(reader: &SegmentReader, fields: &Fields, stop: &Stop) -> Result<Self, IndexError> {
        let size = reader.max_doc() as usize;
        let mut paths = Self {
            text: String::new(),
            places: vec![(0, 0); size],
            stamps: Vec::with_capacity(size),
            latent: Vec::with_capacity(size),
            wordless: Vec::new(),
            truncated_documents: Vec::new(),
            aside: Vec::new(),
            doubtful: Vec::new(),
            groups: std::array::from_fn(|_| Vec::new()),
        };
        let inverted = reader.inverted_index(fields.key)?;
        let mut terms = inverted.terms().stream()?;
        let mut steps = 0_usize;
        while terms.advance() {
            steps += 1;
            if steps.is_multiple_of(limits::STOP_STEPS) && stop.check().is_some() {
                return Err(IndexError::Stopped);
            }
            let start = paths.text.len() as u32;
            paths.text.push_str(&String::from_utf8_lossy(terms.key()));
            let place = (start, paths.text.len() as u32);
            let mut postings =
                inverted.read_postings_from_terminfo(terms.value(), IndexRecordOption::Basic)?;
            while postings.doc() != TERMINATED {
                *paths.places.get_mut(postings.doc() as usize).ok_or(IndexError::Damaged)? = place;
                postings.advance();
            }
        }
        let [content, state] = STAMP.map(|name| reader.fast_fields().u64(name));
        let (content, state) = (content?.first_or_default_col(0), state?.first_or_default_col(0));
        let stamp = |document| Stamp { content: content.get_val(document), state: state.get_val(document) };
        paths.stamps.extend((0..reader.max_doc()).map(stamp));
        let mut columns = Vec::new();
        for name in latent_names() {
            columns.push(reader.fast_fields().u64(&name)?.first_or_default_col(0));
        }
        let place = |document| {
            LatentVector::from_columns(std::array::from_fn(|index| columns[index].get_val(document)))
        };
        paths.latent.extend((0..reader.max_doc()).map(place));
        let inverted = reader.inverted_index(fields.place)?;
        let lists = [
            (WORDLESS, &mut paths.wordless),
            (BEGINNING, &mut paths.truncated_documents),
            (ASIDE, &mut paths.aside),
            (DOUBTFUL, &mut paths.doubtful),
        ];
        let groups = ShareGroup::ALL.iter().map(|(_, term)| *term).zip(&mut paths.groups);
        for (term, documents) in lists.into_iter().chain(groups) {
            let term = Term::from_field_text(fields.place, term);
            let Some(mut postings) = inverted.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            while postings.doc() != TERMINATED {
                // Postings are ascending, as our binary searches require.
                documents.push(postings.doc());
                postings.advance();
            }
        }
        Ok(paths)
    }

    /// Returns the documents that are seldom asked for in a project, living or not, in no particular order.
    /// If a document depends on the project, we only examine it if it is `wanted`.
    pub(crate) fn secondary(
        &self,
        evidence: &ProjectEvidence,
        wanted: impl Fn(DocId) -> bool,
    ) -> impl Iterator<Item = DocId> {
        let doubtful = &self.doubtful;
        let is_doubtful = move |document: &DocId| doubtful.binary_search(document).is_ok();
        let few = ShareGroup::ALL.iter().zip(&self.groups);
        let few = few
            .filter(move |((group, _), _)| group.is_secondary_if_few() && !evidence.has_fair_share(*group));
        // Doubtful documents are examined below. If we returned one twice, its score would be reduced twice.
        let of_groups = few.flat_map(|(_, documents)| documents).filter(move |it| !is_doubtful(it));
        // Documents whose path is sufficient evidence are already in `aside`.
        let borne_out = doubtful.iter().filter(move |&&document| {
            let path = self.get(document);
            wanted(document) && !path_signs(path).sure.is_secondary() && kinds(path, evidence).is_secondary()
        });
        self.aside.iter().chain(of_groups).chain(borne_out).copied()
    }

    pub(super) fn is_wordless(&self, document: DocId) -> bool {
        self.wordless.binary_search(&document).is_ok()
    }

    pub(crate) fn get(&self, document: DocId) -> &str {
        let (start, end) = self.places.get(document as usize).copied().unwrap_or_default();
        self.text.get(start as usize..end as usize).unwrap_or_default()
    }
}
