//! A segment of a collection.

use std::sync::Arc;

use forage_base::Stop;
use forage_rank::IndexError;
use forage_rank::segments::{Files, OpenSegment, SegmentEntry, Trust};
use serde_json::{Map, Value};
use tantivy::columnar::ColumnValues;
use tantivy::fastfield::AliveBitSet;
use tantivy::postings::Postings as _;
use tantivy::schema::{IndexRecordOption, Schema, Value as _};
use tantivy::store::StoreReader;
use tantivy::{BitSet, DocId, DocSet as _, InvertedIndexReader, TERMINATED, TantivyDocument, Term};

use super::schema::{Fields, ID_COLUMNS, dimension, key, parse_payload, wanted_tags};
use crate::filter::{Condition, PointFilter, Test};
use crate::limits;
use crate::point_id::PointId;
use crate::vector::SparseVector;

/// Everything that is required to open a segment of a collection.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    pub(super) files: &'a Files,
    pub(super) schema: &'a Schema,
    pub(super) fields: &'a Fields,
    pub(super) trust: Trust,
    pub(super) stop: &'a Stop,
}

/// An open segment.
pub(super) struct Segment {
    pub(super) entry: SegmentEntry,
    pub(super) open: OpenSegment,
    fields: Fields,
    keys: Arc<InvertedIndexReader>,
    vectors: Arc<InvertedIndexReader>,
    payloads: StoreReader,
    id: [Arc<dyn ColumnValues<u64>>; 3],
}

impl Segment {
    pub(super) fn open(opening: Opening<'_>, entry: SegmentEntry) -> Result<Self, IndexError> {
        let Opening { files, schema, fields, trust, stop } = opening;
        let open = OpenSegment::open(files, &entry, schema, trust, stop)?;
        Self::new(entry, open, fields)
    }

    fn new(entry: SegmentEntry, open: OpenSegment, fields: &Fields) -> Result<Self, IndexError> {
        let [kind, high, low] = ID_COLUMNS.map(|name| open.reader.fast_fields().u64(name));
        let id = [kind?, high?, low?].map(|column| column.first_or_default_col(0));
        let keys = open.reader.inverted_index(fields.key)?;
        let vectors = open.reader.inverted_index(fields.vector)?;
        let payloads = open.reader.get_store_reader(limits::PAYLOAD_BLOCKS)?;
        Ok(Self { entry, fields: fields.clone(), keys, vectors, payloads, id, open })
    }

    /// Creates the same segment with a different set of removed points.
    pub(super) fn with_alive(&self, entry: SegmentEntry, alive: AliveBitSet) -> Result<Self, IndexError> {
        let open = OpenSegment::with_alive(self.open.engine.clone(), Some(alive))?;
        Self::new(entry, open, &self.fields)
    }

    /// Returns the number of points, not counting removed ones.
    pub(super) fn points(&self) -> u32 {
        self.open.reader.num_docs()
    }

    /// Looks up the document of a point, even if the point was removed.
    pub(super) fn find(&self, id: PointId) -> Result<Option<DocId>, IndexError> {
        let term = Term::from_field_bytes(self.fields.key, &key(id));
        // A segment contains a point only once, so we look at the first document only.
        let postings = self.keys.read_postings(&term, IndexRecordOption::Basic)?;
        Ok(postings.map(|postings| postings.doc()).filter(|&document| document != TERMINATED))
    }

    pub(super) fn id(&self, document: DocId) -> PointId {
        let [kind, high, low] = self.id.each_ref().map(|column| column.get_val(document));
        match kind {
            0 => PointId::Number(low),
            _ => PointId::Uuid(u128::from(high) << 64 | u128::from(low)),
        }
    }

    fn is_alive(&self, document: DocId) -> bool {
        !self.open.reader.is_deleted(document)
    }

    /// Counts the points that have a dimension.
    pub(super) fn frequency(&self, id: u32) -> Result<u32, IndexError> {
        let term = Term::from_field_text(self.fields.vector, &dimension(id));
        // The dictionary knows this number, but it includes removed points.
        if self.open.alive.is_none() {
            return Ok(self.vectors.doc_freq(&term)?);
        }
        let mut count = 0;
        if let Some(mut postings) = self.vectors.read_postings(&term, IndexRecordOption::Basic)? {
            while postings.doc() != TERMINATED {
                count += u32::from(self.is_alive(postings.doc()));
                postings.advance();
            }
        }
        Ok(count)
    }

    /// Adds a dimension's contribution to the score of each point: `weight` times the point's weight. The
    /// score of points without any of the dimensions stays NaN.
    pub(super) fn score(&self, scores: &mut [f32], id: u32, weight: f32) -> Result<(), IndexError> {
        let term = Term::from_field_text(self.fields.vector, &dimension(id));
        let Some(mut postings) =
            self.vectors.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)?
        else {
            return Ok(());
        };
        let mut bits = Vec::new();
        while postings.doc() != TERMINATED {
            let document = postings.doc();
            if self.is_alive(document) {
                bits.clear();
                postings.positions(&mut bits);
                // A point has a dimension once, at the position that encodes its weight.
                let [bits] = bits[..] else { return Err(IndexError::Damaged) };
                let part = f32::from_bits(bits) * weight;
                let score = scores.get_mut(document as usize).ok_or(IndexError::Damaged)?;
                *score = if score.is_nan() { part } else { *score + part };
            }
            postings.advance();
        }
        Ok(())
    }

    /// Reads the vectors of documents. This is slow because it visits every posting list. But lookups request
    /// vectors only if a collection has several shards, and an embedded one never has.
    pub(super) fn vectors(&self, documents: &[DocId], stop: &Stop) -> Result<Vec<SparseVector>, IndexError> {
        let mut sorted: Vec<(DocId, usize)> = documents.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let mut weights: Vec<Vec<(u32, f64)>> = vec![Vec::new(); documents.len()];
        let (mut terms, mut bits) = (self.vectors.terms().stream()?, Vec::new());
        let mut steps = 0_usize;
        while terms.advance() {
            steps += 1;
            check_stop(steps, stop)?;
            let id = str::from_utf8(terms.key()).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok());
            let id = id.ok_or(IndexError::Damaged)?;
            let option = IndexRecordOption::WithFreqsAndPositions;
            let mut postings = self.vectors.read_postings_from_terminfo(terms.value(), option)?;
            for &(document, number) in &sorted {
                if postings.doc() < document {
                    postings.seek(document);
                }
                if postings.doc() == document {
                    bits.clear();
                    postings.positions(&mut bits);
                    weights[number].extend(bits.iter().map(|&bits| (id, f64::from(f32::from_bits(bits)))));
                }
            }
        }
        Ok(weights.into_iter().map(SparseVector::new).collect())
    }

    pub(super) fn payload(&self, document: DocId) -> Result<Map<String, Value>, IndexError> {
        let stored: TantivyDocument = self.payloads.get(document)?;
        let bytes =
            stored.get_first(self.fields.payload).and_then(|value| value.as_bytes().and_then(parse_payload));
        bytes.ok_or(IndexError::Damaged)
    }

    /// Selects the points that pass a filter.
    pub(super) fn passing<'a>(
        &'a self,
        filter: &'a PointFilter,
        indexed_fields: &[String],
    ) -> Result<Passing<'a>, IndexError> {
        let mut passing = Passing { segment: self, among: None, rest: Vec::new() };
        if let Some(ids) = &filter.ids {
            let documents = ids.iter().filter_map(|&id| self.find(id).transpose());
            passing.restrict(documents.collect::<Result<_, _>>()?);
        }
        let tags = self.open.reader.inverted_index(self.fields.tags)?;
        for condition in &filter.conditions {
            let Test::AnyOf(wanted) = &condition.test else {
                passing.rest.push(condition);
                continue;
            };
            if !indexed_fields.contains(&condition.field) {
                passing.rest.push(condition);
                continue;
            }
            let (terms, is_exact) = wanted_tags(&condition.field, wanted);
            let mut documents = Vec::new();
            for term in terms {
                let term = Term::from_field_text(self.fields.tags, &term);
                let Some(mut postings) = tags.read_postings(&term, IndexRecordOption::Basic)? else {
                    continue;
                };
                while postings.doc() != TERMINATED {
                    documents.push(postings.doc());
                    postings.advance();
                }
            }
            passing.restrict(documents);
            if !is_exact {
                passing.rest.push(condition);
            }
        }
        Ok(passing)
    }

    /// Returns up to `limit` points that pass, ordered by id. `from` is the first id.
    pub(super) fn scan(
        &self,
        from: Option<PointId>,
        passing: &Passing<'_>,
        limit: usize,
        stop: &Stop,
    ) -> Result<Vec<(PointId, DocId)>, IndexError> {
        let terms = self.keys.terms();
        let mut keys = match from {
            Some(from) => terms.range().ge(key(from)).into_stream()?,
            None => terms.stream()?,
        };
        let mut found = Vec::new();
        let mut steps = 0_usize;
        while found.len() < limit && keys.advance() {
            steps += 1;
            check_stop(steps, stop)?;
            let document =
                self.keys.read_postings_from_terminfo(keys.value(), IndexRecordOption::Basic)?.doc();
            if document != TERMINATED && passing.contains(document)? {
                found.push((self.id(document), document));
            }
        }
        Ok(found)
    }
}

/// The points of a segment that pass a filter.
pub(super) struct Passing<'a> {
    segment: &'a Segment,
    /// The candidates; `None` for all points.
    among: Option<BitSet>,
    /// Conditions that must be tested on the payload.
    rest: Vec<&'a Condition>,
}

impl Passing<'_> {
    fn restrict(&mut self, documents: Vec<DocId>) {
        let mut among = BitSet::with_max_value(self.segment.open.reader.max_doc());
        let before = self.among.take();
        let is_left = |&document: &DocId| before.as_ref().is_none_or(|before| before.contains(document));
        documents.into_iter().filter(is_left).for_each(|document| {
            among.insert(document);
        });
        self.among = Some(among);
    }

    pub(super) fn contains(&self, document: DocId) -> Result<bool, IndexError> {
        if !self.segment.is_alive(document)
            || self.among.as_ref().is_some_and(|among| !among.contains(document))
        {
            return Ok(false);
        }
        if self.rest.is_empty() {
            return Ok(true);
        }
        let payload = self.segment.payload(document)?;
        Ok(self.rest.iter().all(|condition| condition.matches(&payload)))
    }

    pub(super) fn count(&self, stop: &Stop) -> Result<u64, IndexError> {
        if self.among.is_none() && self.rest.is_empty() {
            return Ok(u64::from(self.segment.points()));
        }
        let mut count = 0;
        for document in 0..self.segment.open.reader.max_doc() {
            check_stop(document as usize, stop)?;
            count += u64::from(self.contains(document)?);
        }
        Ok(count)
    }
}

/// Returns an error if the call must end. A step may read a payload. We check only at every
/// [`limits::STORE_STEPS`]th step.
pub(super) fn check_stop(step: usize, stop: &Stop) -> Result<(), IndexError> {
    let is_over = step.is_multiple_of(limits::STORE_STEPS) && stop.check().is_some();
    if is_over { Err(IndexError::Stopped) } else { Ok(()) }
}
