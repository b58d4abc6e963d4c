//! Conversions between the types of this crate and those of Qdrant's REST API.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::filter::{BoundSide, Condition, PointFilter, Readings, Test};
use crate::point_id::PointId;
use crate::store::ALL_FIELDS;
use crate::vector::SparseVector;

/// A sparse vector in a request.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct SentVector<'a> {
    indices: &'a [u32],
    values: &'a [f32],
}

impl<'a> SentVector<'a> {
    pub(crate) fn new(vector: &'a SparseVector) -> Self {
        Self { indices: vector.ids(), values: vector.weights() }
    }
}

/// A point in an upsert.
#[derive(Serialize)]
pub(crate) struct SentPoint<'a> {
    pub(crate) id: Value,
    pub(crate) vector: BTreeMap<&'a str, SentVector<'a>>,
    pub(crate) payload: &'a Map<String, Value>,
}

/// Points that are upserted into the shards of one key.
#[derive(Serialize)]
pub(crate) struct SentPoints<'a> {
    pub(crate) points: Vec<SentPoint<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shard_key: Option<&'a str>,
}

/// A point in an answer. Its id is validated later, so that an invalid id gets its own error.
#[derive(Deserialize)]
pub(crate) struct Record {
    #[serde(default)]
    pub(crate) id: Value,
    #[serde(default)]
    pub(crate) score: f32,
    #[serde(default)]
    payload: Option<Map<String, Value>>,
    #[serde(default)]
    vector: Option<BTreeMap<String, ReceivedVector>>,
}

#[derive(Deserialize)]
struct ReceivedVector {
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Record {
    /// Takes the payload, sorted by field name so that equal points look the same in every store.
    pub(crate) fn payload(&mut self) -> Map<String, Value> {
        let mut payload = self.payload.take().unwrap_or_default();
        payload.sort_keys();
        payload.values_mut().for_each(Value::sort_all_objects);
        payload
    }

    /// Takes the sparse vector with this name. It is empty if the point has none.
    pub(crate) fn vector(&mut self, using: &str) -> SparseVector {
        let vector = self.vector.as_mut().and_then(|vectors| vectors.remove(using));
        vector.map_or_else(SparseVector::default, |ReceivedVector { indices, values }| {
            SparseVector::new(indices.into_iter().zip(values))
        })
    }
}

/// The hits of a query.
#[derive(Deserialize)]
pub(crate) struct QueryResponse {
    pub(crate) points: Vec<Record>,
}

/// A page of points.
#[derive(Deserialize)]
pub(crate) struct ScrollResult {
    pub(crate) points: Vec<Record>,
    #[serde(default)]
    pub(crate) next_page_offset: Option<Value>,
}

#[derive(Deserialize)]
pub(crate) struct CountResult {
    pub(crate) count: u64,
}

/// The status of a write.
#[derive(Deserialize)]
pub(crate) struct UpdateResult {
    pub(crate) status: String,
}

/// Converts an id for the server. UUIDs become text with dashes.
pub(crate) fn to_id(id: PointId) -> Value {
    match id {
        PointId::Number(number) => number.into(),
        PointId::Uuid(_) => id.to_string().into(),
    }
}

/// Parses an id from the server. Returns `None` if the id is not valid.
pub(crate) fn from_id(id: &Value) -> Option<PointId> {
    match id {
        Value::Number(number) => number.as_u64().map(PointId::Number),
        // The server sends numbers as numbers, so a text can only be a UUID.
        Value::String(text) => PointId::parse(text).filter(|id| matches!(id, PointId::Uuid(_))),
        _ => None,
    }
}

/// Converts a filter. A point must meet all of its conditions. Returns `None` if no point can pass, and null
/// if all points pass.
pub(crate) fn to_filter(filter: &PointFilter) -> Option<Value> {
    if filter.is_nothing() {
        return None;
    }
    if filter.is_empty() {
        return Some(Value::Null);
    }
    let ids = |ids: &Vec<PointId>| json!({"has_id": ids.iter().map(|&id| to_id(id)).collect::<Vec<_>>()});
    let conditions: Vec<Value> =
        filter.conditions.iter().map(to_condition).chain(filter.ids.as_ref().map(ids)).collect();
    Some(json!({ "must": conditions }))
}

fn to_condition(condition: &Condition) -> Value {
    let field = condition.field.as_str();
    let values = match &condition.test {
        Test::Bound(side, number) => {
            let side = match side {
                BoundSide::Above => "gt",
                BoundSide::From => "gte",
                BoundSide::Below => "lt",
                BoundSide::To => "lte",
            };
            return json!({"key": field, "range": {side: number}});
        }
        Test::AnyOf(values) => Readings::from_values(values),
    };
    // Qdrant's `any` accepts only texts or integers. So each float needs a range, and each flag a `match` of
    // its own.
    let mut any = vec![json!({"key": field, "match": {"any": values.texts}})];
    if !values.integers.is_empty() {
        any.push(json!({"key": field, "match": {"any": values.integers}}));
    }
    any.extend(
        values.floats.into_iter().map(|float| json!({"key": field, "range": {"gte": float, "lte": float}})),
    );
    any.extend(values.flags.into_iter().map(|flag| json!({"key": field, "match": {"value": flag}})));
    match any.len() {
        1 => any.remove(0),
        _ => json!({ "should": any }),
    }
}

/// Converts the requested payload fields.
pub(crate) fn to_selector(fields: &[String]) -> Value {
    if fields.is_empty() || fields.iter().any(|field| field == ALL_FIELDS) {
        return Value::Bool(!fields.is_empty());
    }
    fields.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fuzz_any_answer_is_hits_with_ids_and_payloads_or_an_error() {
        let hits = r#"{"points":[{"id":7,"version":3,"score":0.5,"payload":{"path":"a.rs","lines":{"start":1}},
            "vector":{"text-sparse":{"indices":[1,4],"values":[0.5,2]}}},{"id":"01234567-89ab-cdef-0123-456789abcdef",
            "score":-1e-7,"payload":null}]}"#;
        let page = r#"{"points":[{"id":18446744073709551615}],"next_page_offset":"x"}"#;
        forage_fuzz::target!(&forage_fuzz::seeds([hits, page]), |input| {
            let Ok(hits) = serde_json::from_slice::<QueryResponse>(input) else { return };
            for mut hit in hits.points {
                if let Some(id) = from_id(&hit.id) {
                    assert_eq!(PointId::parse(&id.to_string()), Some(id));
                }
                let vector = hit.vector("text-sparse");
                assert_eq!(vector.ids().len(), vector.weights().len());
                let payload = Value::Object(hit.payload());
                let text = serde_json::to_string(&payload).unwrap();
                serde_json::from_str::<Value>(&text).unwrap();
            }
        });
    }
}
