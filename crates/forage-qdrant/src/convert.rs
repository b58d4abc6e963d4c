//! Between the interface's terms and those of the protocol.

use std::collections::{BTreeMap, HashMap};

use forage_sparse::{Filter, PointId, SparseVector};
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

/// Nothing for a filter that chooses nothing.
pub(crate) enum Chosen {
    Nothing,
    All,
    Some(qdrant::Filter),
}

/// Every field has one of its values, by exact match of keywords.
pub(crate) fn to_filter(filter: &Filter) -> Chosen {
    if filter.fields.is_empty() {
        return Chosen::All;
    }
    if filter.fields.iter().any(|(_, values)| values.is_empty()) {
        return Chosen::Nothing;
    }
    let any_of =
        |(field, values): &(String, Vec<String>)| qdrant::Condition::matches(field.as_str(), values.clone());
    Chosen::Some(qdrant::Filter::must(filter.fields.iter().map(any_of)))
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
