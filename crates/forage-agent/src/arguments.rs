//! Arguments as models write them.

// fuzz: fuzz_arguments_are_one_object_or_a_correction

use serde_json::{Map, Value};

/// The object that a model meant: JSON, JSON within a JSON string, nothing, `null`, or JSON between code fences.
/// What the tool makes of its fields is the tool's own business.
///
/// # Errors
/// What is wrong, and how arguments are written, for the model to read.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let bare = unfenced(text.trim());
    if bare.is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let value = serde_json::from_str(bare).map_err(|error| {
        format!("the arguments are not JSON ({error}); write one object, such as {{\"path\": \"src\"}}")
    })?;
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(Value::Object(Map::new())),
        Value::String(inner) => parse(&inner),
        _ => Err("the arguments are not a JSON object; write one, such as {\"path\": \"src\"}".to_owned()),
    }
}

/// The text between code fences, if it stands between them.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

/// The same text for the same call, whatever the order of its fields and whatever is given as `null`.
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
    use super::*;
    use serde_json::json;

    #[test]
    fn what_can_be_meant_is_taken() {
        for (text, meant) in [
            (r#"{"a": 1}"#, json!({"a": 1})),
            (r#" "{\"a\": 1}" "#, json!({"a": 1})),
            ("", json!({})),
            ("  \n", json!({})),
            ("null", json!({})),
            (r#""""#, json!({})),
            (r#""null""#, json!({})),
            ("```json\n{\"a\": 1}\n```", json!({"a": 1})),
        ] {
            assert_eq!(parse(text), Ok(meant), "{text}");
        }
    }

    #[test]
    fn the_rest_is_refused_with_the_correction() {
        for text in ["{\"a\": ", "src/main.rs", "[1]", "5", "{\"a\": 1}{\"b\": 2}", "\"src\"", "true"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("{\"path\": \"src\"}"), "{text}: {error}");
        }
        // A string within a string within …: one level for each parse, and an end.
        let mut text = "{}".to_owned();
        for _ in 0..8 {
            text = Value::String(text).to_string();
        }
        assert_eq!(parse(&text), Ok(json!({})));
    }

    #[test]
    fn the_same_call_is_known_in_another_order() {
        let one = canonical("t", &json!({"a": {"x": 1, "y": 2}, "b": [1, 2], "c": null}));
        assert_eq!(one, canonical("t", &json!({"b": [1, 2], "a": {"y": 2, "x": 1}})));
        assert_ne!(one, canonical("t", &json!({"b": [2, 1], "a": {"y": 2, "x": 1}})));
        assert_ne!(one, canonical("u", &json!({"b": [1, 2], "a": {"y": 2, "x": 1}})));
    }

    #[test]
    fn fuzz_arguments_are_one_object_or_a_correction() {
        let seeds = forage_fuzz::seeds([
            r#"{"pattern": "x", "path": null, "list": [1, {"b": 2, "a": 1}]}"#,
            r#" "{\"a\": \"\\\"\"}" "#,
            "```json\n{\"a\": 1}\n```",
            "null",
        ]);
        forage_fuzz::target!(&seeds, |input| {
            match parse(&String::from_utf8_lossy(input)) {
                Ok(value) => {
                    assert!(value.is_object(), "{value}");
                    // The same call written another way is the same call. A fraction may be read as its neighbour.
                    let again = parse(&Value::String(value.to_string()).to_string()).unwrap();
                    assert!(again.is_object());
                    if serde_json::from_str::<Value>(&value.to_string()).is_ok_and(|read| read == value) {
                        assert_eq!(canonical("t", &again), canonical("t", &value));
                    }
                }
                Err(error) => assert!(error.contains("{\"path\": \"src\"}"), "{error}"),
            }
        });
    }
}
