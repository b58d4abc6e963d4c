//! Parses arguments given as text by a model, a client or a person.

use serde_json::{Map, Value};

/// Parses the arguments of a call. The text may be a JSON object, JSON within a JSON string, `null`, empty,
/// or JSON between code fences. The tool checks the fields later.
///
/// # Errors
///
/// Fails with a message for the model that names the problem and the expected format.
pub fn read_arguments(text: &str) -> Result<Value, String> {
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
        Value::String(inner) => read_arguments(&inner),
        _ => Err("the arguments are not a JSON object; write one, such as {\"path\": \"src\"}".to_owned()),
    }
}

/// Strips code fences, if there are any.
fn unfenced(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    inner.map_or(text, |inner| inner.strip_prefix("json").unwrap_or(inner).trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            assert_eq!(read_arguments(text), Ok(meant), "{text}");
        }
    }

    #[test]
    fn the_rest_is_refused_with_the_correction() {
        for text in ["{\"a\": ", "src/main.rs", "[1]", "5", "{\"a\": 1}{\"b\": 2}", "\"src\"", "true"] {
            let error = read_arguments(text).unwrap_err();
            assert!(error.contains("{\"path\": \"src\"}"), "{text}: {error}");
        }
        // A string within a string within …: each parse removes one level, so the recursion ends.
        let mut text = "{}".to_owned();
        for _ in 0..8 {
            text = Value::String(text).to_string();
        }
        assert_eq!(read_arguments(&text), Ok(json!({})));
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
            match read_arguments(&String::from_utf8_lossy(input)) {
                Ok(value) => {
                    assert!(value.is_object(), "{value}");
                    // The same call in another form. A fraction may be parsed as an adjacent value.
                    let again = read_arguments(&Value::String(value.to_string()).to_string()).unwrap();
                    let is_exact =
                        serde_json::from_str::<Value>(&value.to_string()).is_ok_and(|read| read == value);
                    assert!(!is_exact || again == value, "{again} {value}");
                }
                Err(error) => assert!(error.contains("{\"path\": \"src\"}"), "{error}"),
            }
        });
    }
}
