//! An in-memory store that fails on demand, for testing the code above a store.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use forage_base::Stop;
use forage_lookup::{
    ALL_FIELDS, BoundSide, Collection, Condition, Contract, Creation, EncodedForm, Encoder, EncodingError,
    Point, PointFilter, PointHit, PointId, PointPage, PointQuery, PointReader, PointScan, PointStore,
    Readings, ShardLayout, SparseVector, StoreError, Test, VectorFacts, WeightedHit,
};
use serde_json::{Map, Value};

#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) collection: Mutex<Option<Collection>>,
    pub(crate) points: Mutex<BTreeMap<PointId, Point>>,
    /// The errors of the next requests, in this order.
    pub(crate) failures: Mutex<Vec<StoreError>>,
    /// If set, all requests after this number of requests fail with this error.
    pub(crate) fails_after: Mutex<Option<(usize, StoreError)>>,
    /// If set, requests that begin with this word fail with this error.
    pub(crate) refuses: Mutex<Option<(&'static str, StoreError)>>,
    /// Descriptions of all requests.
    pub(crate) asked: Mutex<Vec<String>>,
    /// If set, every request after this number of upserts fails, as if the process had ended.
    pub(crate) dies_after: Mutex<Option<usize>>,
    upserts: AtomicUsize,
}

/// An encoder that can't be used because something is missing.
pub(crate) struct NoEncoder;

impl NoEncoder {
    fn fail<T>() -> Result<T, EncodingError> {
        Err(EncodingError::Unavailable("no tokenizer".to_owned()))
    }
}

impl Encoder for NoEncoder {
    fn contract(&self) -> Contract {
        Contract::new("none/1", "")
    }

    fn document(&self, _: &str) -> Result<SparseVector, EncodingError> {
        Self::fail()
    }

    fn query(&self, _: &str) -> Result<SparseVector, EncodingError> {
        Self::fail()
    }

    fn words(&self, _: &str, _: EncodedForm) -> Result<Vec<(u32, String)>, EncodingError> {
        Self::fail()
    }
}

impl Memory {
    fn asked(&self, what: String) -> Result<(), StoreError> {
        self.asked.lock().unwrap().push(what.clone());
        if self.dies_after.lock().unwrap().is_some_and(|max| self.upserts.load(Ordering::Relaxed) >= max) {
            return Err(StoreError::Invalid("the process has ended".to_owned()));
        }
        if let Some((word, error)) = &*self.refuses.lock().unwrap()
            && what.starts_with(word)
        {
            return Err(error.clone());
        }
        match &mut *self.fails_after.lock().unwrap() {
            Some((0, error)) => return Err(error.clone()),
            Some((left, _)) => *left -= 1,
            None => {}
        }
        self.failures.lock().unwrap().pop().map_or(Ok(()), Err)
    }
}

fn hash(id: PointId) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

impl Memory {
    /// Scores points. Those with equal scores come in the store's own order, last id first. Each shard counts
    /// document frequencies separately.
    fn scored<'a>(
        &self,
        points: &'a BTreeMap<PointId, Point>,
        query: &PointQuery<'_>,
    ) -> Vec<(f32, &'a Point)> {
        let layout = self.collection.lock().unwrap().as_ref().map_or(ShardLayout::Single, |it| it.layout);
        let mut shards: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
        for point in points.values().rev() {
            let shard = match layout {
                ShardLayout::Single => String::new(),
                ShardLayout::Hashed(shards) => (hash(point.id) % u64::from(shards)).to_string(),
                ShardLayout::Keyed => point.payload["repo"].to_string(),
            };
            shards.entry(shard).or_default().push(point);
        }
        let weighed = query.vector.ids().iter().zip(query.vector.weights());
        let mut hits: Vec<(f32, &Point)> = Vec::new();
        for shard in shards.values() {
            let idf = |id: &u32| {
                let with =
                    shard.iter().filter(|point| point.vector.ids().binary_search(id).is_ok()).count() as f32;
                (1.0 + (shard.len() as f32 - with + 0.5) / (with + 0.5)).ln()
            };
            let asked: BTreeMap<u32, f32> =
                weighed.clone().map(|(id, weight)| (*id, idf(id) * weight)).collect();
            let score = |point: &Point| -> f32 {
                let weights = point.vector.ids().iter().zip(point.vector.weights());
                weights.filter_map(|(id, weight)| Some(asked.get(id)? * weight)).sum()
            };
            let scored = shard.iter().filter(|point| chosen(query.filter, point));
            hits.extend(scored.map(|point| (score(point), *point)).filter(|(score, _)| *score > 0.0));
        }
        hits.sort_by(|left, right| right.0.total_cmp(&left.0));
        hits.truncate(query.limit);
        hits
    }
}

fn chosen(filter: &PointFilter, point: &Point) -> bool {
    let is_among = filter.ids.as_ref().is_none_or(|ids| ids.contains(&point.id));
    is_among && filter.conditions.iter().all(|condition| holds(condition, &point.payload))
}

fn holds(condition: &Condition, payload: &Map<String, Value>) -> bool {
    let pointer = format!("/{}", condition.field.replace('.', "/"));
    let payload = Value::Object(payload.clone());
    let Some(value) = payload.pointer(&pointer) else { return false };
    match &condition.test {
        Test::AnyOf(values) => {
            let wanted = Readings::from_values(values);
            value.as_str().is_some_and(|it| wanted.texts.iter().any(|text| text == it))
                || value.as_i64().is_some_and(|it| wanted.integers.contains(&it))
                || value.as_f64().is_some_and(|it| wanted.floats.contains(&it))
                || value.as_bool().is_some_and(|it| wanted.flags.contains(&it))
        }
        Test::Bound(side, bound) => value.as_f64().is_some_and(|it| match side {
            BoundSide::Above => it > *bound,
            BoundSide::From => it >= *bound,
            BoundSide::Below => it < *bound,
            BoundSide::To => it <= *bound,
        }),
    }
}

fn wanted(point: &Point, fields: &[String]) -> Map<String, Value> {
    point
        .payload
        .iter()
        .filter(|(name, _)| fields.iter().any(|field| field == *name || field == ALL_FIELDS))
        .map(|(a, b)| (a.clone(), b.clone()))
        .collect()
}

impl PointReader for Memory {
    fn place(&self) -> String {
        "collection `test` in memory".to_owned()
    }

    fn collection(&self, _: &Stop) -> Result<Option<Collection>, StoreError> {
        self.asked("collection".to_owned())?;
        Ok(self.collection.lock().unwrap().clone())
    }

    fn query(&self, query: &PointQuery<'_>, _: &Stop) -> Result<Vec<PointHit>, StoreError> {
        self.asked(format!("query {} {} {}", query.using, query.limit, query.fields.join(",")))?;
        let points = self.points.lock().unwrap();
        let hit = |(score, point): (f32, &Point)| PointHit {
            id: point.id,
            score,
            payload: wanted(point, query.fields),
        };
        Ok(self.scored(&points, query).into_iter().map(hit).collect())
    }

    fn query_all(
        &self,
        queries: &[PointQuery<'_>],
        with_vectors: bool,
        _: &Stop,
    ) -> Result<Vec<Vec<WeightedHit>>, StoreError> {
        self.asked(format!("query_all {} {with_vectors}", queries.len()))?;
        let points = self.points.lock().unwrap();
        let vector =
            |point: &Point| if with_vectors { point.vector.clone() } else { SparseVector::default() };
        let hit = |(score, point): (f32, &Point)| WeightedHit { id: point.id, score, vector: vector(point) };
        Ok(queries.iter().map(|query| self.scored(&points, query).into_iter().map(hit).collect()).collect())
    }

    fn scan(&self, scan: &PointScan<'_>, _: &Stop) -> Result<PointPage, StoreError> {
        self.asked("scan".to_owned())?;
        let points = self.points.lock().unwrap();
        let mut rest =
            points.values().filter(|point| Some(point.id) >= scan.from && chosen(scan.filter, point));
        let page =
            rest.by_ref().take(scan.limit).map(|point| (point.id, wanted(point, scan.fields))).collect();
        Ok(PointPage { points: page, next: rest.next().map(|point| point.id) })
    }

    fn count(&self, filter: &PointFilter, _: &Stop) -> Result<u64, StoreError> {
        self.asked("count".to_owned())?;
        Ok(self.points.lock().unwrap().values().filter(|point| chosen(filter, point)).count() as u64)
    }
}

impl PointStore for Memory {
    fn create(&self, creation: &Creation, _: &Stop) -> Result<(), StoreError> {
        self.asked("create".to_owned())?;
        let vectors = [(creation.using.clone(), VectorFacts { has_idf: true })];
        *self.collection.lock().unwrap() = Some(Collection {
            sparse_vectors: vectors.into(),
            contract: Some(creation.contract.clone()),
            points: 0,
            layout: ShardLayout::Single,
        });
        Ok(())
    }

    fn upsert(&self, points: Vec<Point>, using: &str, _: &Stop) -> Result<(), StoreError> {
        self.asked(format!("upsert {using} {}", points.len()))?;
        self.upserts.fetch_add(1, Ordering::Relaxed);
        self.points.lock().unwrap().extend(points.into_iter().map(|point| (point.id, point)));
        Ok(())
    }

    fn remove(&self, ids: &[PointId], _: &Stop) -> Result<(), StoreError> {
        self.asked(format!("remove {}", ids.len()))?;
        let mut points = self.points.lock().unwrap();
        ids.iter().for_each(|id| drop(points.remove(id)));
        Ok(())
    }

    fn finish(&self, _: &Stop) -> Result<(), StoreError> {
        self.asked("finish".to_owned())
    }

    fn drop_collection(&self, _: &Stop) -> Result<bool, StoreError> {
        self.asked("drop".to_owned())?;
        Ok(self.collection.lock().unwrap().take().is_some())
    }
}
