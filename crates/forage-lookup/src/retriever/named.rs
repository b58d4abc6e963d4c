//! Queries for a single name. These find the points that contain it as a whole, or prove that there are none.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use forage_base::Stop;
use serde_json::Value;

use super::idf::GlobalIdf;
use super::{Lookup, NameFacts, Question, Retriever, step};
use crate::encoder::Encoder;
use crate::filter::PointFilter;
use crate::limits;
use crate::name::NameMatch;
use crate::point_id::PointId;
use crate::retry::with_retries;
use crate::store::{PointHit, PointQuery, StoreError};
use crate::vector::SparseVector;

/// A lookup of a name.
pub(super) struct NameLookup<'a> {
    pub(super) retriever: &'a Retriever,
    pub(super) name: &'a str,
    /// The payload field with the text.
    pub(super) field: &'a str,
    pub(super) encoder: &'a dyn Encoder,
    pub(super) asked: &'a PointQuery<'a>,
    pub(super) rarity: Option<&'a GlobalIdf>,
    pub(super) stop: &'a Stop,
}

/// Points that may contain the name, with the result of comparing their texts.
#[derive(Default)]
struct NameCandidates {
    held: BTreeMap<PointId, NameMatch>,
    /// True if we know that no other point contains the name as a whole.
    is_complete: bool,
}

impl NameCandidates {
    fn with(&self, held: NameMatch) -> Vec<PointId> {
        self.held.iter().filter(|(_, it)| **it == held).map(|(id, _)| *id).collect()
    }
}

impl NameLookup<'_> {
    /// Moves points that contain the whole name to the front, regardless of their scores. Records the facts
    /// about the name.
    pub(super) fn put_first(&self, lookup: &mut Lookup) -> Result<(), StoreError> {
        // If this fails, the hits are still valid. The facts then show that we have not compared all points.
        let mut candidates = match self.candidates(self.asked.filter) {
            Ok(candidates) => candidates,
            Err(error) => {
                lookup.without(Question::Name, error)?;
                NameCandidates::default()
            }
        };
        let without_text = candidates.with(NameMatch::Unknown).len();
        let mut hits = std::mem::take(&mut lookup.hits);
        for held in [NameMatch::Whole, NameMatch::OtherCase, NameMatch::OtherSpelling] {
            let filter = self.asked.filter.among(candidates.with(held));
            if filter.is_nothing() {
                continue;
            }
            let query = PointQuery { filter: &filter, ..self.asked.clone() };
            match self.retriever.best(query, self.rarity, self.stop, lookup) {
                Ok(best) => hits.extend(best),
                // We stop here: further queries would probably wait just as long.
                Err(error) => {
                    lookup.without(Question::Name, error)?;
                    break;
                }
            }
        }
        // Points with the name may also be among the best ones.
        hits.sort_by_key(|hit| hit.id);
        hits.dedup_by_key(|hit| hit.id);
        let mut hits: Vec<(NameMatch, PointHit)> =
            hits.into_iter().map(|hit| (self.name_match(&hit), hit)).collect();
        candidates.held.extend(hits.iter().map(|(held, hit)| (hit.id, *held)));
        hits.sort_by_key(|(held, hit)| (*held, Reverse(step(hit.score)), hit.id));
        hits.truncate(self.asked.limit);
        (lookup.held, lookup.hits) = hits.into_iter().unzip();
        let (facts, unanswered) = self.facts(&candidates, without_text);
        lookup.name = Some(facts);
        unanswered.map_or(Ok(()), |error| lookup.without(Question::Beyond, error))
    }

    fn name_match(&self, hit: &PointHit) -> NameMatch {
        NameMatch::new(self.name, hit.payload.get(self.field).and_then(Value::as_str))
    }

    /// Collects the known facts. Also returns an error if we could not determine the results without the
    /// filter.
    fn facts(&self, candidates: &NameCandidates, without_text: usize) -> (NameFacts, Option<StoreError>) {
        let count = |held| candidates.with(held).len();
        let mut facts = NameFacts {
            name: self.name.to_owned(),
            whole: count(NameMatch::Whole),
            other_case: count(NameMatch::OtherCase),
            compared: candidates.held.len() - count(NameMatch::Unknown),
            without_text,
            is_complete: candidates.is_complete,
            beyond: None,
        };
        if facts.is_absent() && !self.asked.filter.is_empty() {
            match self.candidates(&PointFilter::default()) {
                Ok(all) => facts.beyond = Some(all.held.values().filter(|held| held.is_whole()).count()),
                Err(error) => return (facts, Some(error)),
            }
        }
        (facts, None)
    }

    /// Finds the points that may contain the name. Every point with the name must have each of the needed
    /// dimensions, so the points of a single rare dimension include all candidates. If some of them have no
    /// text to compare, another dimension may rule them out.
    fn candidates(&self, filter: &PointFilter) -> Result<NameCandidates, StoreError> {
        let needed = self.encoder.needed(self.name);
        let mut candidates = NameCandidates::default();
        for id in needed.iter().take(limits::NAME_DIMENSIONS_ASKED) {
            let held = self.compared(&SparseVector::ones([*id]), filter)?;
            let is_complete = held.len() < limits::NAMES_COMPARED;
            match (candidates.is_complete, is_complete) {
                (false, true) => candidates = NameCandidates { held, is_complete },
                (true, true) => candidates.held.retain(|id, _| held.contains_key(id)),
                (false, false) => candidates.held.extend(held),
                (true, false) => {}
            }
            if candidates.is_complete && candidates.with(NameMatch::Unknown).is_empty() {
                break;
            }
        }
        // Without needed dimensions, we can compare only the best points, which proves nothing about others.
        if needed.is_empty() {
            candidates.held = self.compared(self.asked.vector, filter)?;
        }
        Ok(candidates)
    }

    fn compared(
        &self,
        vector: &SparseVector,
        filter: &PointFilter,
    ) -> Result<BTreeMap<PointId, NameMatch>, StoreError> {
        let fields = [self.field.to_owned()];
        let (using, limit) = (self.asked.using, limits::NAMES_COMPARED);
        let query = PointQuery { vector, using, limit, fields: &fields, filter };
        let hits = with_retries(self.stop, || self.retriever.store.query(&query, self.stop))?;
        Ok(hits.into_iter().map(|hit| (hit.id, self.name_match(&hit))).collect())
    }
}
