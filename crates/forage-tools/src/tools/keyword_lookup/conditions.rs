//! Conditions on payload fields, as callers write them.

use forage_lookup::{ALL_FIELDS, Condition};
use serde_json::{Map, Value};

use crate::error::ToolError;
use crate::limits;
use crate::sanitize::sanitize_line;

/// Parses the conditions of a call. They must only use fields that support filtering.
pub(super) fn parse(written: &[String], fields: &[&str]) -> Result<Vec<Condition>, ToolError> {
    if written.len() > limits::LOOKUP_CONDITIONS {
        let problem = format!("it has more than {} conditions", limits::LOOKUP_CONDITIONS);
        return Err(ToolError::argument("filter", problem));
    }
    written.iter().map(|text| one(text, fields)).collect()
}

fn one(text: &str, fields: &[&str]) -> Result<Condition, ToolError> {
    if text.len() > limits::LOOKUP_CONDITION_BYTES {
        let problem = format!("a condition has more than {} bytes", limits::LOOKUP_CONDITION_BYTES);
        return Err(ToolError::argument("filter", problem));
    }
    let condition = Condition::parse(text)
        .map_err(|error| ToolError::argument("filter", sanitize_line(&error.to_string()).into_owned()))?;
    if !fields.iter().any(|field| is_within(&condition.field, field)) {
        let field = sanitize_line(&condition.field).into_owned();
        return Err(ToolError::Field { field, known: fields.join(", ") });
    }
    Ok(condition)
}

/// Selects the fields that support filtering: those that answers display. By filtering on another field, a
/// caller could find out its values guess by guess. The text field is not among them: the query already
/// searches it.
pub(super) fn filterable<'a>(shown: &'a [String], text_field: &str) -> Vec<&'a str> {
    shown.iter().map(String::as_str).filter(|field| *field != text_field).collect()
}

/// Returns true if `field` is the field `whole` or is inside it.
fn is_within(field: &str, whole: &str) -> bool {
    whole == ALL_FIELDS
        || field.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Converts conditions in the form of an object to texts, e.g. `{"modality": "text", "page": {"gte": 3},
/// "doc_id": ["a", "b"]}`.
pub(super) fn adapt(fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    for name in ["filter", "filters", "where"] {
        let object = match fields.get(name) {
            Some(Value::Object(object)) => object.clone(),
            Some(Value::String(text)) => match serde_json::from_str(text) {
                Ok(Value::Object(object)) => object,
                _ => continue,
            },
            _ => continue,
        };
        let conditions = object.iter().map(|(field, value)| written(field, value));
        let conditions: Vec<Vec<String>> = conditions.collect::<Result<_, _>>()?;
        fields.insert(name.to_owned(), conditions.concat().into());
    }
    Ok(())
}

fn written(field: &str, value: &Value) -> Result<Vec<String>, ToolError> {
    let wrong = || {
        let problem = format!(
            "`{}` has an invalid condition; write FIELD=VALUE, FIELD=VALUE|VALUE or FIELD>=NUMBER, each as a string of \
             the list",
            sanitize_line(field)
        );
        ToolError::argument("filter", problem)
    };
    let scalar = |value: &Value| match value {
        // A string keeps its JSON quotes, so that a bar in it does not separate two values.
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(wrong()),
    };
    match value {
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(scalar).collect::<Result<_, _>>()?;
            Ok(vec![format!("{field}={}", values.join("|"))])
        }
        Value::Object(bounds) if !bounds.is_empty() => bounds
            .iter()
            .map(|(bound, number)| {
                let sign = match bound.as_str() {
                    "gt" => ">",
                    "gte" => ">=",
                    "lt" => "<",
                    "lte" => "<=",
                    _ => return Err(wrong()),
                };
                Ok(format!("{field}{sign}{}", scalar(number)?))
            })
            .collect(),
        value => Ok(vec![format!("{field}={}", scalar(value)?)]),
    }
}
