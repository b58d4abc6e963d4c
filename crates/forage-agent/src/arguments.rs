//! Detects equal calls.

use serde_json::Value;

/// Formats a call so that equal calls give the same text, whatever the order of their fields. Fields that are
/// `null` count as absent.
pub(super) fn canonical(tool: &str, arguments: &Value) -> String {
    fn sorted(value: &Value) -> Value {
        match value {
            Value::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().filter(|(_, value)| !value.is_null()).collect();
                fields.sort_by_key(|(name, _)| name.as_str());
                Value::Object(fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
            }
            Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
            other => other.clone(),
        }
    }
    format!("{tool} {}", sorted(arguments))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_same_call_is_known_in_another_order() {
        let one = canonical("t", &json!({"a": {"x": 1, "y": 2}, "b": [1, 2], "c": null}));
        assert_eq!(one, canonical("t", &json!({"b": [1, 2], "a": {"y": 2, "x": 1}})));
        assert_ne!(one, canonical("t", &json!({"b": [2, 1], "a": {"y": 2, "x": 1}})));
        assert_ne!(one, canonical("u", &json!({"b": [1, 2], "a": {"y": 2, "x": 1}})));
    }
}
