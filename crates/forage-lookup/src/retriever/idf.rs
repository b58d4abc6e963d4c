//! Computes the idf of words over a whole collection, if each of its shards counts separately, or if its
//! vector has no IDF modifier.
//!
//! Elasticsearch calls the first case `dfs_query_then_fetch`. Qdrant's servers have no such request, but we
//! can derive it from other answers. For a rare dimension, we count its points. For a frequent one, we
//! estimate its idf in the shards of several points from their scores and weights. Without the modifier,
//! scores say nothing about the idf, so we count the points of every dimension.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use forage_base::Stop;

use super::{Lookup, Question, Retriever, step};
use crate::filter::PointFilter;
use crate::limits;
use crate::point_id::PointId;
use crate::retry::with_retries;
use crate::store::{PointHit, PointQuery, ShardLayout, StoreError, WeightedHit};
use crate::vector::SparseVector;

/// The idf weights of the dimensions of a query.
pub(super) struct GlobalIdf {
    /// For each dimension, its idf times its weight in the query.
    weights: HashMap<u32, f64>,
    /// The maximum ratio between a point's score with these weights and its score with the idf of its shard;
    /// `None` if it is unknown.
    max_ratio: Option<f64>,
    /// Minimum number of points to rescore.
    at_first: usize,
}

/// The share of points that have a dimension.
#[derive(Clone, Copy)]
struct Share {
    /// Number of points that have it.
    with: f64,
    all: f64,
}

impl Share {
    /// Computes the idf by Qdrant's formula.
    fn idf(self) -> f64 {
        ((self.all - self.with + 0.5) / (self.with + 0.5)).ln_1p()
    }

    /// Estimates the maximum share in a single shard: four standard deviations above the mean. If points are
    /// distributed at random, this is exceeded in one of 30,000 cases.
    fn in_a_shard(self, shards: f64) -> Self {
        let mean = self.with / shards;
        let with = 4.0_f64.mul_add(mean.sqrt(), mean).min(self.with);
        Self { with, all: (self.all / shards).max(with) }
    }
}

/// A cache of document frequencies, because many queries contain the same words.
#[derive(Debug, Default)]
pub struct FrequencyCache(Mutex<CachedCounts>);

#[derive(Debug, Default)]
struct CachedCounts {
    /// The number of points in the collection, and when they were counted.
    all: Option<(Instant, f64)>,
    /// The number of points that have a dimension, and when they were counted.
    with: HashMap<u32, (Instant, f64)>,
}

impl FrequencyCache {
    fn all(&self) -> Option<f64> {
        self.counts()
            .all
            .filter(|(counted, _)| counted.elapsed() < limits::FREQUENCY_CACHE_TIME)
            .map(|(_, all)| all)
    }

    fn with(&self, id: u32) -> Option<f64> {
        let with = self.counts().with.get(&id).copied();
        with.filter(|(counted, _)| counted.elapsed() < limits::FREQUENCY_CACHE_TIME).map(|(_, with)| with)
    }

    fn keep(&self, all: f64, with: impl IntoIterator<Item = (u32, f64)>) {
        let now = Instant::now();
        let mut counts = self.counts();
        if counts.with.len() > limits::DIMENSIONS_KEPT {
            counts.with.clear();
        }
        if counts.all.is_none_or(|(counted, _)| counted.elapsed() >= limits::FREQUENCY_CACHE_TIME) {
            counts.all = Some((now, all));
        }
        counts.with.extend(with.into_iter().map(|(id, with)| (id, (now, with))));
    }

    fn counts(&self) -> MutexGuard<'_, CachedCounts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GlobalIdf {
    /// Computes the weights. Returns `None` if the query has so many dimensions that a single one has little
    /// influence.
    pub(super) fn ask(
        retriever: &Retriever,
        vector: &SparseVector,
        layout: ShardLayout,
        stop: &Stop,
    ) -> Result<Option<Self>, StoreError> {
        if vector.ids().len() > limits::WEIGHED_DIMENSIONS {
            return Ok(None);
        }
        let KnownFrequencies { all, mut with, unknown } = known(retriever, vector, stop)?;
        let counts = counted(retriever, &unknown, all, layout, stop)?;
        retriever.rarity.keep(all, counts.iter().copied());
        with.extend(counts);
        let share = |id: &u32| {
            // A dimension without points may have been counted before its first point was added.
            let with = with.get(id).copied().unwrap_or_default().max(1.0);
            // The two counts may come from different times, and a share must not exceed 1.
            Share { with, all: all.max(with) }
        };
        let weighed = vector.ids().iter().zip(vector.weights());
        let weights = weighed.map(|(id, weight)| (*id, share(id).idf() * f64::from(*weight))).collect();
        let (max_ratio, at_first) = match layout {
            ShardLayout::Hashed(shards) => {
                let ratio = |id| share(id).idf() / share(id).in_a_shard(f64::from(shards)).idf();
                let ratios = vector.ids().iter().map(ratio);
                let max = ratios.fold(1.0, |max: f64, ratio| max.max(ratio.min(limits::IDF_RATIO)));
                (Some(max), limits::RESCORED_POINTS)
            }
            ShardLayout::Single | ShardLayout::Keyed => (None, limits::RESCORED_POINTS_KEYED),
        };
        Ok(Some(Self { weights, max_ratio, at_first }))
    }

    /// Finds the points with the best scores by these weights, among those that the store returns.
    pub(super) fn best(
        &self,
        retriever: &Retriever,
        query: &PointQuery<'_>,
        stop: &Stop,
        lookup: &mut Lookup,
    ) -> Result<Vec<PointHit>, StoreError> {
        let wanted = query.limit;
        let mut limit = self.at_first.max(2 * wanted);
        let mut scored: Vec<(PointId, f32)> = Vec::new();
        loop {
            let queries = [PointQuery { limit, fields: &[], ..query.clone() }];
            let hits = match with_retries(stop, || retriever.store.query_all(&queries, true, stop)) {
                Ok(mut answers) => answers.pop().unwrap_or_default(),
                Err(error) if scored.is_empty() => return Err(error),
                Err(error) => {
                    lookup.without(Question::Ties, error)?;
                    break;
                }
            };
            let is_all = hits.len() < limit;
            let end = hits.last().map_or(0.0, |hit| f64::from(hit.score));
            scored = hits.iter().map(|hit| (hit.id, self.score(&hit.vector))).collect();
            scored.sort_by_key(|&(id, score)| (Reverse(step(score)), id));
            let last = scored.get(wanted.saturating_sub(1)).map_or(0.0, |&(_, score)| score);
            // The points that we did not get have a score of at most `end` in their shards, and therefore at
            // most `end * max_ratio` with our weights.
            let is_settled = self.max_ratio.is_none_or(|max| step(last) > step((end * max) as f32) + 1);
            if is_all || is_settled || limit >= limits::HITS_RESCORED {
                let end = scored.last().map_or(0.0, |&(_, score)| score);
                lookup.is_arbitrary |= !is_all && (!is_settled || step(last) - step(end) <= 1);
                break;
            }
            limit = (4 * limit).min(limits::HITS_RESCORED);
        }
        scored.truncate(wanted);
        let among = query.filter.among(scored.iter().map(|(id, _)| *id).collect());
        if among.is_nothing() {
            return Ok(Vec::new());
        }
        let payloads = PointQuery { filter: &among, ..query.clone() };
        let mut hits = with_retries(stop, || retriever.store.query(&payloads, stop))?;
        let scores: HashMap<PointId, f32> = scored.into_iter().collect();
        for hit in &mut hits {
            hit.score = scores.get(&hit.id).copied().unwrap_or(hit.score);
        }
        hits.sort_by_key(|hit| (Reverse(step(hit.score)), hit.id));
        Ok(hits)
    }

    fn score(&self, vector: &SparseVector) -> f32 {
        let weights = vector.ids().iter().zip(vector.weights());
        let weighed = weights.filter_map(|(id, weight)| Some(self.weights.get(id)? * f64::from(*weight)));
        weighed.sum::<f64>() as f32
    }
}

/// Determines the number of points for each of the dimensions.
fn counted(
    retriever: &Retriever,
    ids: &[u32],
    all: f64,
    layout: ShardLayout,
    stop: &Stop,
) -> Result<Vec<(u32, f64)>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let everything = PointFilter::default();
    let single: Vec<SparseVector> = ids.iter().map(|id| SparseVector::ones([*id])).collect();
    let query =
        |vector, limit, filter| PointQuery { vector, using: &retriever.using, limit, fields: &[], filter };
    let queries: Vec<_> =
        single.iter().map(|vector| query(vector, limits::COUNTED_POINTS, &everything)).collect();
    let counted = with_retries(stop, || retriever.store.query_all(&queries, false, stop))?;

    // For more frequent dimensions, we sample points over the whole range of results.
    let is_common = |hits: &&Vec<WeightedHit>| hits.len() >= limits::COUNTED_POINTS;
    let samples: Vec<PointFilter> =
        counted.iter().filter(is_common).map(|hits| everything.among(sampled(hits))).collect();
    let common = single.iter().zip(&counted).filter(|(_, hits)| is_common(hits)).map(|(vector, _)| vector);
    let queries: Vec<_> =
        common.zip(&samples).map(|(vector, sample)| query(vector, limits::SAMPLED_POINTS, sample)).collect();
    let sampled = match queries.is_empty() {
        true => Vec::new(),
        false => with_retries(stop, || retriever.store.query_all(&queries, true, stop))?,
    };
    let mut sampled = sampled.into_iter();
    let with = |(&id, hits): (&u32, &Vec<WeightedHit>)| {
        if is_common(&hits) {
            let share = share_in_shards(id, &sampled.next().unwrap_or_default(), layout);
            // We have seen these points, so an estimate below their number is wrong.
            (id, (all * share).clamp(hits.len() as f64, all.max(hits.len() as f64)))
        } else {
            (id, hits.len() as f64)
        }
    };
    Ok(ids.iter().zip(&counted).map(with).collect())
}

/// Chooses some of the points, evenly distributed over the list.
fn sampled(hits: &[WeightedHit]) -> Vec<PointId> {
    let every = hits.len().div_ceil(limits::SAMPLED_POINTS).max(1);
    hits.iter().step_by(every).map(|hit| hit.id).collect()
}

/// Estimates the share of all points that have a dimension, from the scores of several points.
fn share_in_shards(id: u32, sample: &[WeightedHit], layout: ShardLayout) -> f64 {
    let share = |hit: &WeightedHit| {
        let index = hit.vector.ids().binary_search(&id).ok()?;
        let weight = f64::from(*hit.vector.weights().get(index)?);
        // The score is the weight times the idf. Solved for the share, the formula of the idf gives
        // `(with + 0.5) / (all + 1)`, which is nearly `with / all` for many points.
        (weight > 0.0).then(|| (-f64::from(hit.score) / weight).exp())
    };
    let mut shares: Vec<f64> = sample.iter().filter_map(share).collect();
    let mean = |numbers: &mut dyn ExactSizeIterator<Item = f64>| {
        let count = numbers.len().max(1) as f64;
        numbers.sum::<f64>() / count
    };
    match layout {
        // Since these shards have similar sizes, we count each one once, regardless of its part of the
        // sample.
        ShardLayout::Single | ShardLayout::Hashed(_) => {
            shares.sort_by(f64::total_cmp);
            shares.dedup_by(|next, share| *next - *share <= *share * limits::SAME_SHARE);
            mean(&mut shares.into_iter())
        }
        // These shards have different sizes. Each one occurs in the sample in proportion to its points with
        // the dimension, so the harmonic mean gives the share in the whole collection.
        ShardLayout::Keyed => 1.0 / mean(&mut shares.into_iter().map(f64::recip)),
    }
}

/// Weights a query by the idf of each dimension, for a store that does not do this. Returns `None` for a
/// query with so many dimensions that a single one has little influence. Also returns the number of
/// dimensions with at least [`limits::HITS_ASKED`] points, whose idf is computed as if they had exactly that
/// many.
pub(super) fn weighed(
    retriever: &Retriever,
    vector: &SparseVector,
    stop: &Stop,
) -> Result<Option<(SparseVector, usize)>, StoreError> {
    if vector.ids().len() > limits::WEIGHED_DIMENSIONS {
        return Ok(None);
    }
    let (using, limit, everything) = (&*retriever.using, limits::HITS_ASKED, PointFilter::default());
    let KnownFrequencies { all, mut with, unknown } = known(retriever, vector, stop)?;
    for ids in unknown.chunks(limits::COUNTED_DIMENSIONS) {
        let single: Vec<SparseVector> = ids.iter().map(|id| SparseVector::ones([*id])).collect();
        let query = |vector| PointQuery { vector, using, limit, fields: &[], filter: &everything };
        let queries: Vec<_> = single.iter().map(query).collect();
        let hits = with_retries(stop, || retriever.store.query_all(&queries, false, stop))?;
        let counts = ids.iter().zip(hits).map(|(id, hits)| (*id, hits.len() as f64));
        let counts: Vec<_> = counts.collect();
        // We cache these counts now: the time may be over before we have counted all, and then the next
        // lookup can use them.
        retriever.rarity.keep(all, counts.iter().copied());
        with.extend(counts);
    }
    let weights = vector.ids().iter().zip(vector.weights()).map(|(id, weight)| {
        let with = with.get(id).copied().unwrap_or_default();
        let share = Share { with, all: all.max(with) };
        (*id, share.idf() * f64::from(*weight))
    });
    let common = with.values().filter(|with| **with >= limit as f64).count();
    Ok(Some((SparseVector::new(weights), common)))
}

/// Known document frequencies of the dimensions of a query.
struct KnownFrequencies {
    /// Number of points in the collection.
    all: f64,
    /// Number of points that have a dimension.
    with: HashMap<u32, f64>,
    unknown: Vec<u32>,
}

fn known(retriever: &Retriever, vector: &SparseVector, stop: &Stop) -> Result<KnownFrequencies, StoreError> {
    let known = &retriever.rarity;
    let all = match known.all() {
        Some(all) => all,
        // Note that this includes the few points that record the state of a tree.
        None => with_retries(stop, || retriever.store.count(&PointFilter::default(), stop))? as f64,
    };
    let with: HashMap<u32, f64> =
        vector.ids().iter().filter_map(|id| Some((*id, known.with(*id)?))).collect();
    let unknown = vector.ids().iter().copied().filter(|id| !with.contains_key(id)).collect();
    Ok(KnownFrequencies { all, with, unknown })
}
