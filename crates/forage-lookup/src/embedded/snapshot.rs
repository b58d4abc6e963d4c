//! A collection at a commit, as readers see it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::sync::Arc;

use forage_base::Stop;
use forage_rank::IndexError;
use forage_rank::segments::Manifest;
use serde::{Deserialize, Serialize};
use tantivy::DocId;

use super::segment::{Segment, check_stop};
use crate::filter::PointFilter;
use crate::payload::select;
use crate::point_id::PointId;
use crate::store::{PointHit, PointPage, PointQuery, PointScan, WeightedHit};
use crate::vector::SparseVector;

/// The properties of a collection in its manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Description {
    /// The name of the sparse vector.
    pub(super) vector: String,
    /// The contract of its encoding.
    pub(super) contract: String,
    /// The indexed payload fields.
    pub(super) indexed_fields: Vec<String>,
}

/// A collection at a commit.
pub(super) struct Snapshot {
    pub(super) manifest: Manifest,
    pub(super) description: Description,
    pub(super) segments: Vec<Arc<Segment>>,
}

/// A point with its score.
#[derive(Clone, Copy, PartialEq)]
struct Candidate {
    score: f32,
    id: PointId,
    segment: usize,
    document: DocId,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    /// The better candidate is greater: the one with the higher score, or the smaller id.
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| other.id.cmp(&self.id))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Computes the BM25 inverse document frequency with 32-bit floats, as Qdrant does.
fn idf(points: u64, frequency: u32) -> f32 {
    let (points, frequency) = (points as f32, frequency as f32);
    ((points - frequency + 0.5) / (frequency + 0.5) + 1.0).ln()
}

impl Snapshot {
    pub(super) fn points(&self) -> u64 {
        self.segments.iter().map(|segment| u64::from(segment.points())).sum()
    }

    pub(super) fn query(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<PointHit>, IndexError> {
        let hits = self.best(query, stop)?.into_iter().enumerate().map(|(step, candidate)| {
            check_stop(step, stop)?;
            let segment = &self.segments[candidate.segment];
            let payload = match query.fields {
                [] => serde_json::Map::new(),
                fields => select(&segment.payload(candidate.document)?, fields),
            };
            Ok(PointHit { id: candidate.id, score: candidate.score, payload })
        });
        hits.collect()
    }

    pub(super) fn query_vectors(
        &self,
        query: &PointQuery<'_>,
        with_vectors: bool,
        stop: &Stop,
    ) -> Result<Vec<WeightedHit>, IndexError> {
        let best = self.best(query, stop)?;
        let hit = |candidate: &Candidate| WeightedHit {
            id: candidate.id,
            score: candidate.score,
            vector: SparseVector::default(),
        };
        let mut hits: Vec<WeightedHit> = best.iter().map(hit).collect();
        if with_vectors {
            for (number, segment) in self.segments.iter().enumerate() {
                let of_segment = best.iter().enumerate().filter(|(_, candidate)| candidate.segment == number);
                let (places, documents): (Vec<usize>, Vec<DocId>) =
                    of_segment.map(|(place, candidate)| (place, candidate.document)).unzip();
                for (place, vector) in places.into_iter().zip(segment.vectors(&documents, stop)?) {
                    hits[place].vector = vector;
                }
            }
        }
        Ok(hits)
    }

    /// Finds the points with the best scores, best first, and by id if scores are equal.
    fn best(&self, query: &PointQuery<'_>, stop: &Stop) -> Result<Vec<Candidate>, IndexError> {
        let points = self.points();
        if query.limit == 0 || query.filter.is_nothing() {
            return Ok(Vec::new());
        }
        let mut weights = Vec::with_capacity(query.vector.ids().len());
        for (&id, &weight) in query.vector.ids().iter().zip(query.vector.weights()) {
            let mut frequency = 0;
            for segment in &self.segments {
                frequency += segment.frequency(id)?;
            }
            check_stop(0, stop)?;
            weights.push((id, weight * idf(points, frequency)));
        }
        let mut best: BinaryHeap<Reverse<Candidate>> = BinaryHeap::new();
        for (number, segment) in self.segments.iter().enumerate() {
            let passing = segment.passing(query.filter, &self.description.indexed_fields)?;
            let mut scores = vec![f32::NAN; segment.open.reader.max_doc() as usize];
            for &(id, weight) in &weights {
                segment.score(&mut scores, id, weight)?;
                check_stop(0, stop)?;
            }
            for (document, &score) in (0..).zip(&scores) {
                check_stop(document as usize, stop)?;
                let worst = if best.len() < query.limit { None } else { best.peek().map(|worst| worst.0) };
                if score.is_nan() || worst.is_some_and(|worst| score < worst.score) {
                    continue;
                }
                let candidate = Candidate { score, id: segment.id(document), segment: number, document };
                // The filter comes last, because it may have to read the payload.
                if worst.is_some_and(|worst| candidate < worst) || !passing.contains(document)? {
                    continue;
                }
                if worst.is_some() {
                    best.pop();
                }
                best.push(Reverse(candidate));
            }
        }
        Ok(best.into_sorted_vec().into_iter().map(|Reverse(candidate)| candidate).collect())
    }

    pub(super) fn scan(&self, scan: &PointScan<'_>, stop: &Stop) -> Result<PointPage, IndexError> {
        if scan.limit == 0 || scan.filter.is_nothing() {
            let next = scan.from.filter(|_| scan.limit == 0);
            return Ok(PointPage { points: Vec::new(), next });
        }
        // One more point than wanted shows where the next page begins.
        let limit = scan.limit.saturating_add(1);
        let mut found = Vec::new();
        for segment in &self.segments {
            check_stop(0, stop)?;
            let passing = segment.passing(scan.filter, &self.description.indexed_fields)?;
            let points = segment.scan(scan.from, &passing, limit, stop)?;
            found.extend(points.into_iter().map(|(id, document)| (id, document, segment)));
        }
        found.sort_unstable_by_key(|&(id, document, _)| (id, document));
        let next = found.get(scan.limit).map(|&(id, ..)| id);
        found.truncate(scan.limit);
        let points = found.into_iter().enumerate().map(|(step, (id, document, segment))| {
            check_stop(step, stop)?;
            let payload = match scan.fields {
                [] => serde_json::Map::new(),
                fields => select(&segment.payload(document)?, fields),
            };
            Ok((id, payload))
        });
        Ok(PointPage { points: points.collect::<Result<_, IndexError>>()?, next })
    }

    pub(super) fn count(&self, filter: &PointFilter, stop: &Stop) -> Result<u64, IndexError> {
        let mut count = 0;
        for segment in &self.segments {
            check_stop(0, stop)?;
            count += segment.passing(filter, &self.description.indexed_fields)?.count(stop)?;
        }
        Ok(count)
    }
}
