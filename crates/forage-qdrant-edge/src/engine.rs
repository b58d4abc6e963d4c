//! The engine, with its words in ours. The only module that knows `qdrant-edge`.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Instant;

use forage_lookup::{
    Condition, Point, PointFilter, PointHit, PointId, PointPage, PointQuery, PointScan, Readings, Side,
    SparseVector, StoreError, Test, WeightedHit,
};
use qdrant_edge::external::uuid::Uuid;
use qdrant_edge::{self as edge, EdgeShard, OperationError, OperationResult, UpdateOperation};
use serde_json::Value;

use crate::failure::EdgeFailure;
use crate::limits;

/// An open shard. Its flush wants nobody else to write at that moment; the caller sees to it.
pub(crate) struct EdgeEngine {
    shard: Option<EdgeShard>,
}

impl Drop for EdgeEngine {
    /// The engine writes through to the disk when it is dropped, and panics if it can't.
    fn drop(&mut self) {
        let shard = self.shard.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(shard)));
    }
}

impl EdgeEngine {
    /// In a directory that is there and empty.
    pub(crate) fn create(
        directory: &Path,
        vector: &str,
        indexed_fields: &[String],
    ) -> Result<Self, EdgeFailure> {
        let parameters = edge::EdgeSparseVectorParamsBuilder::new().modifier(edge::Modifier::Idf).build();
        let log =
            edge::WalOptions { segment_capacity: limits::LOG_FILE_BYTES, ..edge::WalOptions::default() };
        let order = edge::EdgeOptimizersConfig {
            deleted_threshold: Some(limits::DEAD_SHARE),
            vacuum_min_vector_number: Some(0),
            default_segment_number: Some(limits::SEGMENTS),
            indexing_threshold: Some(limits::ARRANGED_KIB),
            ..edge::EdgeOptimizersConfig::default()
        };
        let settings = edge::EdgeConfigBuilder::new()
            .sparse_vector(vector, parameters)
            .optimizers(order)
            .wal_options(log)
            .build();
        let engine = Self { shard: Some(guarded(|| EdgeShard::new(directory, settings))?) };
        for field in indexed_fields {
            let index = edge::CreateIndex {
                field_name: field_path(field)?,
                field_schema: Some(edge::PayloadFieldSchema::FieldType(edge::PayloadSchemaType::Keyword)),
            };
            let index = edge::FieldIndexOperations::CreateIndex(index);
            engine.call(|shard| shard.update(UpdateOperation::FieldIndexOperation(index)))?;
        }
        Ok(engine)
    }

    /// Only for who holds the lock of the collection.
    pub(crate) fn load(directory: &Path) -> Result<Self, EdgeFailure> {
        let begun = Instant::now();
        loop {
            match guarded(|| EdgeShard::load(directory, None)) {
                // The engine closes its own lock without releasing it, and a child that is being started has a copy.
                Err(failure) if is_locked(&failure) && begun.elapsed() < limits::LOCK_WAIT => {
                    std::thread::sleep(limits::LOCK_WAIT / 200);
                }
                loaded => return Ok(Self { shard: Some(loaded?) }),
            }
        }
    }

    pub(crate) fn upsert(&self, points: Vec<Point>, using: &str) -> Result<(), EdgeFailure> {
        let points = points.into_iter().map(|point| {
            let vector = edge::Vector::from(sparse(&point.vector)?);
            let vectors = edge::Vectors::new_named([(using, vector)]);
            Ok(edge::PointStruct::new(engine_id(point.id), vectors, Value::Object(point.payload)).into())
        });
        let points = edge::PointInsertOperations::PointsList(points.collect::<Result<_, StoreError>>()?);
        let operation = edge::PointOperations::UpsertPoints(points);
        self.call(|shard| shard.update(UpdateOperation::PointOperation(operation)))
    }

    pub(crate) fn remove(&self, ids: &[PointId]) -> Result<(), EdgeFailure> {
        let ids = ids.iter().copied().map(engine_id).collect();
        let operation = edge::PointOperations::DeletePoints { ids };
        self.call(|shard| shard.update(UpdateOperation::PointOperation(operation)))
    }

    pub(crate) fn query(&self, query: &PointQuery<'_>) -> Result<Vec<PointHit>, EdgeFailure> {
        let hits = self.nearest(query, edge::WithVector::Bool(false))?;
        let hits = hits.into_iter().map(|hit| PointHit {
            id: our_id(hit.id),
            score: hit.score,
            payload: hit.payload.map(|payload| payload.0).unwrap_or_default(),
        });
        Ok(hits.collect())
    }

    /// Without payloads.
    pub(crate) fn query_vectors(
        &self,
        query: &PointQuery<'_>,
        with_vectors: bool,
    ) -> Result<Vec<WeightedHit>, EdgeFailure> {
        let query = PointQuery { fields: &[], ..query.clone() };
        let hits = self.nearest(&query, edge::WithVector::Bool(with_vectors))?;
        let hits = hits.into_iter().map(|hit| WeightedHit {
            id: our_id(hit.id),
            score: hit.score,
            vector: hit.vector.and_then(|vectors| vector_of(vectors, query.using)).unwrap_or_default(),
        });
        Ok(hits.collect())
    }

    fn nearest(
        &self,
        query: &PointQuery<'_>,
        with_vector: edge::WithVector,
    ) -> Result<Vec<edge::ScoredPoint>, EdgeFailure> {
        let Some(filter) = engine_filter(query.filter)? else {
            return Ok(Vec::new());
        };
        // The engine takes memory for as many as it is asked for.
        let limit = query.limit.min(self.about()?);
        if limit == 0 || query.vector.is_empty() {
            return Ok(Vec::new());
        }
        let nearest = edge::NamedQuery {
            query: edge::VectorInternal::from(sparse(query.vector)?),
            using: Some(query.using.to_owned()),
        };
        let request = edge::QueryRequest {
            prefetches: Vec::new(),
            query: Some(edge::ScoringQuery::Vector(edge::QueryEnum::Nearest(nearest))),
            filter,
            score_threshold: None,
            limit,
            offset: 0,
            params: None,
            with_vector,
            with_payload: wanted(query.fields)?,
        };
        self.call(|shard| shard.query(request))
    }

    pub(crate) fn scan(&self, scan: &PointScan<'_>) -> Result<PointPage, EdgeFailure> {
        let Some(filter) = engine_filter(scan.filter)? else {
            return Ok(PointPage::default());
        };
        if scan.limit == 0 {
            return Ok(PointPage { points: Vec::new(), next: scan.from });
        }
        let request = edge::ScrollRequest {
            offset: scan.from.map(engine_id),
            limit: Some(scan.limit.min(self.about()?.max(1))),
            filter,
            with_payload: Some(wanted(scan.fields)?),
            with_vector: edge::WithVector::Bool(false),
            order_by: None,
        };
        let (records, next) = self.call(|shard| shard.scroll(request))?;
        let points = records
            .into_iter()
            .map(|record| (our_id(record.id), record.payload.map(|payload| payload.0).unwrap_or_default()));
        Ok(PointPage { points: points.collect(), next: next.map(our_id) })
    }

    pub(crate) fn count(&self, filter: &PointFilter) -> Result<u64, EdgeFailure> {
        let Some(filter) = engine_filter(filter)? else {
            return Ok(0);
        };
        let count = self.call(|shard| shard.count(edge::CountRequest { filter, exact: true }))?;
        Ok(count as u64)
    }

    /// Points, or some more.
    pub(crate) fn about(&self) -> Result<usize, EdgeFailure> {
        self.call(|shard| Ok(shard.info().points_count))
    }

    /// Writes through to the disk.
    pub(crate) fn flush(&self) -> Result<(), EdgeFailure> {
        self.call(|shard| {
            shard.flush();
            Ok(())
        })
    }

    /// Puts the segments in order.
    pub(crate) fn arrange(&self) -> Result<(), EdgeFailure> {
        self.call(|shard| shard.optimize().map(drop))
    }

    /// Points as they were written, from an id on, and where the next begin.
    pub(crate) fn points(
        &self,
        from: Option<PointId>,
        using: &str,
    ) -> Result<(Vec<Point>, Option<PointId>), EdgeFailure> {
        let request = edge::ScrollRequest {
            offset: from.map(engine_id),
            limit: Some(limits::PAGE_POINTS),
            filter: None,
            with_payload: Some(edge::WithPayloadInterface::Bool(true)),
            with_vector: edge::WithVector::Bool(true),
            order_by: None,
        };
        let (records, next) = self.call(|shard| shard.scroll(request))?;
        let points = records.into_iter().map(|record| Point {
            id: our_id(record.id),
            vector: record.vector.and_then(|vectors| vector_of(vectors, using)).unwrap_or_default(),
            payload: record.payload.map(|payload| payload.0).unwrap_or_default(),
        });
        Ok((points.collect(), next.map(our_id)))
    }

    /// How often these points are in a segment: more often than they are if a segment that was replaced is still there.
    pub(crate) fn occurrences(&self, points: &[Point]) -> Result<usize, EdgeFailure> {
        let ids = edge::HasIdCondition::from_iter(points.iter().map(|point| engine_id(point.id)));
        let filter = Some(edge::Filter::new_must(edge::Condition::HasId(ids)));
        self.call(|shard| shard.count(edge::CountRequest { filter, exact: true }))
    }

    fn call<T>(&self, work: impl FnOnce(&EdgeShard) -> OperationResult<T>) -> Result<T, EdgeFailure> {
        let Some(shard) = &self.shard else {
            return Err(StoreError::Invalid("the engine is closed".to_owned()).into());
        };
        guarded(|| work(shard))
    }
}

/// The engine panics where it meets what it doesn't expect, such as files that somebody has changed.
fn guarded<T>(work: impl FnOnce() -> OperationResult<T>) -> Result<T, EdgeFailure> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            // After these the engine takes no further change of what it failed at.
            let is_lost = matches!(
                error,
                OperationError::ServiceError { .. }
                    | OperationError::InconsistentStorage { .. }
                    | OperationError::OutOfMemory { .. }
            );
            Err(EdgeFailure { error: of_engine(&error), is_lost })
        }
        Err(panic) => {
            let error = StoreError::Invalid(format!("the engine gave up: {}", short(words_of(&*panic))));
            Err(EdgeFailure { error, is_lost: true })
        }
    }
}

fn words_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word")
}

/// One line, without the engine's backtraces.
fn short(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(limits::REASON_CHARACTERS).collect()
}

fn of_engine(error: &OperationError) -> StoreError {
    match error {
        OperationError::Cancelled { .. } => StoreError::Cancelled,
        OperationError::Timeout { description } => StoreError::Timeout(short(description)),
        error => StoreError::Invalid(format!("the engine refused: {}", short(&error.to_string()))),
    }
}

/// The engine says so in its description alone.
fn is_locked(failure: &EdgeFailure) -> bool {
    matches!(&failure.error, StoreError::Invalid(reason) if reason.contains("WouldBlock"))
}

fn sparse(vector: &SparseVector) -> Result<edge::SparseVector, StoreError> {
    edge::SparseVector::new(vector.ids().to_vec(), vector.weights().to_vec())
        .map_err(|_| StoreError::Invalid("a vector has a dimension twice".to_owned()))
}

fn vector_of(vectors: edge::VectorStructInternal, using: &str) -> Option<SparseVector> {
    match vectors {
        edge::VectorStructInternal::Named(mut named) => match named.remove(using)? {
            edge::VectorInternal::Sparse(vector) => {
                let weights = vector.values.into_iter().map(f64::from);
                Some(SparseVector::new(vector.indices.into_iter().zip(weights)))
            }
            _ => None,
        },
        _ => None,
    }
}

fn engine_id(id: PointId) -> edge::PointId {
    match id {
        PointId::Number(number) => edge::PointId::NumId(number),
        PointId::Uuid(uuid) => edge::PointId::Uuid(Uuid::from_u128(uuid)),
    }
}

fn our_id(id: edge::PointId) -> PointId {
    match id {
        edge::PointId::NumId(number) => PointId::Number(number),
        edge::PointId::Uuid(uuid) => PointId::Uuid(uuid.as_u128()),
    }
}

fn field_path(field: &str) -> Result<edge::JsonPath, StoreError> {
    field.parse().map_err(|()| {
        StoreError::Invalid(format!(
            "{field:?} names no payload field: quote what isn't a letter, a digit, `-` or `_`"
        ))
    })
}

fn wanted(fields: &[String]) -> Result<edge::WithPayloadInterface, StoreError> {
    if fields.is_empty() {
        return Ok(edge::WithPayloadInterface::Bool(false));
    }
    let fields = fields.iter().map(|field| field_path(field)).collect::<Result<_, _>>()?;
    Ok(edge::WithPayloadInterface::Fields(fields))
}

/// `None` if no point can pass; else what the engine is told, which is nothing if all do.
fn engine_filter(filter: &PointFilter) -> Result<Option<Option<edge::Filter>>, StoreError> {
    if filter.is_nothing() {
        return Ok(None);
    }
    if filter.is_empty() {
        return Ok(Some(None));
    }
    let mut must: Vec<_> = filter.conditions.iter().map(engine_condition).collect::<Result<_, _>>()?;
    if let Some(ids) = &filter.ids {
        let ids = edge::HasIdCondition::from_iter(ids.iter().copied().map(engine_id));
        must.push(edge::Condition::HasId(ids));
    }
    Ok(Some(Some(edge::Filter { should: None, min_should: None, must: Some(must), must_not: None })))
}

fn engine_condition(condition: &Condition) -> Result<edge::Condition, StoreError> {
    let field = field_path(&condition.field)?;
    let matches =
        |it: edge::Match| edge::Condition::Field(edge::FieldCondition::new_match(field.clone(), it));
    let range = |gt: Option<f64>, gte: Option<f64>, lt: Option<f64>, lte: Option<f64>| {
        let [gt, gte, lt, lte] = [gt, gte, lt, lte].map(|bound| bound.map(Into::into));
        let range = edge::Range { lt, gt, gte, lte };
        edge::Condition::Field(edge::FieldCondition::new_range(field.clone(), range))
    };
    let values = match &condition.test {
        Test::Bound(side, number) => {
            let at = |wanted: Side| (*side == wanted).then_some(*number);
            return Ok(range(at(Side::Above), at(Side::From), at(Side::Below), at(Side::To)));
        }
        Test::AnyOf(values) => Readings::of(values),
    };
    let mut any = vec![matches(values.texts.into())];
    if !values.integers.is_empty() {
        any.push(matches(values.integers.into()));
    }
    any.extend(values.floats.into_iter().map(|float| range(None, Some(float), None, Some(float))));
    any.extend(values.flags.into_iter().map(|flag| matches(flag.into())));
    Ok(match any.len() {
        1 => any.remove(0),
        _ => edge::Condition::Filter(edge::Filter {
            should: Some(any),
            min_should: None,
            must: None,
            must_not: None,
        }),
    })
}
