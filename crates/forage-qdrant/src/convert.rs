//! Between the interface's terms and those of the protocol.

use std::collections::{BTreeMap, HashMap};

use forage_lookup::{Condition, PointFilter, PointId, Readings, Side, SparseVector, Test};
use qdrant_client::qdrant::{self, value::Kind, with_payload_selector::SelectorOptions};
use serde_json::{Map, Number, Value};

/// An id for the server: UUIDs as text with dashes.
pub(crate) fn to_id(id: PointId) -> qdrant::PointId {
    match id {
        PointId::Number(number) => number.into(),
        PointId::Uuid(_) => id.to_string().into(),
    }
}

/// An id of the server; `None` if it is none.
pub(crate) fn from_id(id: Option<qdrant::PointId>) -> Option<PointId> {
    use qdrant::point_id::PointIdOptions::{Num, Uuid};
    match id?.point_id_options? {
        Num(number) => Some(PointId::Number(number)),
        Uuid(text) => PointId::parse(&text).filter(|id| matches!(id, PointId::Uuid(_))),
    }
}

/// A vector as it is stored.
pub(crate) fn to_vector(vector: &SparseVector) -> qdrant::Vector {
    qdrant::Vector::new_sparse(vector.ids().to_vec(), vector.weights().to_vec())
}

/// The sparse vector of that name; empty where there is none.
pub(crate) fn from_vectors(vectors: Option<qdrant::VectorsOutput>, using: &str) -> SparseVector {
    match vectors.and_then(|vectors| vectors.get_vector_by_name(using)) {
        Some(qdrant::vector_output::Vector::Sparse(sparse)) => {
            SparseVector::new(sparse.indices.into_iter().zip(sparse.values.into_iter().map(f64::from)))
        }
        _ => SparseVector::default(),
    }
}

/// Nothing for a filter that chooses nothing.
pub(crate) enum FieldSelection {
    Nothing,
    All,
    Some(qdrant::Filter),
}

/// Conditions of which all must hold; values by exact match.
pub(crate) fn to_filter(filter: &PointFilter) -> FieldSelection {
    if filter.is_empty() {
        return FieldSelection::All;
    }
    if filter.is_nothing() {
        return FieldSelection::Nothing;
    }
    let ids = filter.ids.iter().map(|ids| qdrant::Condition::has_id(ids.iter().map(|&id| to_id(id))));
    FieldSelection::Some(qdrant::Filter::must(filter.conditions.iter().map(to_condition).chain(ids)))
}

fn to_condition(condition: &Condition) -> qdrant::Condition {
    let field = condition.field.as_str();
    let range = |range: qdrant::Range| qdrant::Condition::range(field, range);
    let values = match &condition.test {
        Test::Bound(side, number) => {
            let (mut bounds, number) = (qdrant::Range::default(), Some(*number));
            match side {
                Side::Above => bounds.gt = number,
                Side::From => bounds.gte = number,
                Side::Below => bounds.lt = number,
                Side::To => bounds.lte = number,
            }
            return range(bounds);
        }
        Test::AnyOf(values) => Readings::of(values),
    };
    let mut any = vec![qdrant::Condition::matches(field, values.texts)];
    if !values.integers.is_empty() {
        any.push(qdrant::Condition::matches(field, values.integers));
    }
    let exactly =
        |float: f64| range(qdrant::Range { gte: Some(float), lte: Some(float), ..Default::default() });
    any.extend(values.floats.into_iter().map(exactly));
    any.extend(values.flags.into_iter().map(|flag| qdrant::Condition::matches(field, flag)));
    match any.len() {
        1 => any.remove(0),
        _ => qdrant::Filter::should(any).into(),
    }
}

/// The payload fields that are wanted, and no others.
pub(crate) fn to_selector(fields: &[String]) -> qdrant::WithPayloadSelector {
    let options = if fields.is_empty() {
        SelectorOptions::Enable(false)
    } else {
        SelectorOptions::Include(qdrant::PayloadIncludeSelector { fields: fields.to_vec() })
    };
    qdrant::WithPayloadSelector { selector_options: Some(options) }
}

/// A payload for the server. The error names the field whose number is above what the protocol can carry.
pub(crate) fn to_payload(payload: Map<String, Value>) -> Result<HashMap<String, qdrant::Value>, String> {
    payload
        .into_iter()
        .map(|(field, value)| match to_value(value) {
            Some(value) => Ok((field, value)),
            None => Err(field),
        })
        .collect()
}

fn to_value(value: Value) -> Option<qdrant::Value> {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(value),
        Value::Number(number) => match (number.as_i64(), number.is_u64()) {
            (Some(integer), _) => Kind::IntegerValue(integer),
            // As a float it would come back as another number.
            (None, true) => return None,
            (None, false) => Kind::DoubleValue(number.as_f64()?),
        },
        Value::String(text) => Kind::StringValue(text),
        Value::Array(values) => {
            let values = values.into_iter().map(to_value).collect::<Option<_>>()?;
            Kind::ListValue(qdrant::ListValue { values })
        }
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(field, value)| Some((field, to_value(value)?)));
            Kind::StructValue(qdrant::Struct { fields: fields.collect::<Option<_>>()? })
        }
    };
    Some(qdrant::Value { kind: Some(kind) })
}

/// A payload of the server, by ascending names: the protocol keeps no order.
pub(crate) fn from_payload(payload: HashMap<String, qdrant::Value>) -> Map<String, Value> {
    let sorted: BTreeMap<_, _> = payload.into_iter().collect();
    sorted.into_iter().map(|(field, value)| (field, from_value(value))).collect()
}

fn from_value(value: qdrant::Value) -> Value {
    match value.kind {
        None | Some(Kind::NullValue(_)) => Value::Null,
        Some(Kind::BoolValue(value)) => Value::Bool(value),
        Some(Kind::IntegerValue(integer)) => Value::Number(integer.into()),
        // JSON has no infinities.
        Some(Kind::DoubleValue(float)) => Number::from_f64(float).map_or(Value::Null, Value::Number),
        Some(Kind::StringValue(text)) => Value::String(text),
        Some(Kind::ListValue(list)) => Value::Array(list.values.into_iter().map(from_value).collect()),
        Some(Kind::StructValue(fields)) => Value::Object(from_payload(fields.fields)),
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;

    #[test]
    fn fuzz_any_point_that_the_protocol_decodes_has_an_id_or_none_and_a_payload_of_json() {
        let payload = r#"{"path":"src/a.rs","lines":{"start":1,"end":[2.5,null,true]},"text":"ß"}"#;
        let payload: Map<String, Value> = serde_json::from_str(payload).unwrap();
        let point = |id| {
            let payload = to_payload(payload.clone()).unwrap();
            qdrant::ScoredPoint { id: Some(to_id(id)), payload, score: 0.5, ..qdrant::ScoredPoint::default() }
        };
        let points = [point(PointId::Number(7)), point(PointId::Uuid(u128::MAX / 3))];
        forage_fuzz::target!(&forage_fuzz::seeds(points.map(|point| point.encode_to_vec())), |input| {
            let Ok(point) = qdrant::ScoredPoint::decode(input) else { return };
            if let Some(id) = from_id(point.id) {
                assert_eq!(PointId::parse(&id.to_string()), Some(id));
            }
            let payload = Value::Object(from_payload(point.payload));
            let text = serde_json::to_string(&payload).unwrap();
            serde_json::from_str::<Value>(&text).unwrap();
        });
    }
}
