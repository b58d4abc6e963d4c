//! A call that works, in place of one that was refused: what could be read of it is kept.

use serde_json::{Map, Value, json};

use crate::arguments::convert;
use crate::error::ToolError;

/// Stands for an argument that only the caller knows.
const PLACEHOLDER: &str = "TEXT";

/// The request as the tool takes it; `None` when the error has nothing to do with how the request is written, or
/// nothing of it is left to say.
pub(crate) fn corrected(
    tool: &str,
    schema: &Value,
    aliases: &[(&str, &str)],
    request: Value,
    error: &ToolError,
) -> Option<Value> {
    let mut fields = readable(tool, schema, aliases, request);
    match error {
        ToolError::Request(_) => {}
        ToolError::Argument { argument, .. } => {
            let within =
                fields.get(*argument).and_then(|value| clamped(&schema["properties"][argument], value));
            match within {
                Some(value) => drop(fields.insert((*argument).to_owned(), value)),
                None => drop(fields.remove(*argument)),
            }
        }
        ToolError::Pattern { argument, .. } => {
            let literal = forage_search::escape(fields.get(*argument)?.as_str()?);
            fields.insert((*argument).to_owned(), Value::String(literal));
        }
        _ => return None,
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let kind = schema["properties"][required]["type"].as_str();
        let example = if kind == Some("array") { json!([PLACEHOLDER]) } else { json!(PLACEHOLDER) };
        fields.entry(required).or_insert(example);
    }
    Some(Value::Object(fields))
}

/// The arguments that the tool knows, by their right names, with values that it can read.
fn readable(tool: &str, schema: &Value, aliases: &[(&str, &str)], request: Value) -> Map<String, Value> {
    let request = match request {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        other => other,
    };
    let Value::Object(given) = request else { return Map::new() };
    let mut fields = Map::new();
    for (name, value) in given {
        let right = aliases.iter().find(|(alias, _)| *alias == name).map(|(_, right)| *right);
        let known = schema["properties"].get(&name).map(|_| name.as_str()).or(right);
        let Some(known) = known.filter(|known| !value.is_null() && !fields.contains_key(*known)) else {
            continue;
        };
        if let Ok(value) = convert(tool, known, &schema["properties"][known], value) {
            fields.insert(known.to_owned(), value);
        }
    }
    fields
}

/// The number of the range that is nearest to the given one.
fn clamped(property: &Value, value: &Value) -> Option<Value> {
    let (value, least, most) = (value.as_i64()?, property["minimum"].as_i64(), property["maximum"].as_i64());
    let nearest = value.max(least.unwrap_or(value)).min(most.unwrap_or(value));
    (nearest != value).then(|| json!(nearest))
}

#[cfg(test)]
mod tests {
    use crate::context::Context;
    use crate::registry;
    use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};

    use super::*;

    #[test]
    fn a_refused_call_comes_back_as_one_that_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path(), &RootPolicy::default(), SecretPolicy::off()).unwrap();
        let context = Context::new(Roots::new(vec![root], RelPath::root()).unwrap());
        let cases = [
            ("grep_search", json!({"query": "x"}), json!({"pattern": "x"})),
            ("grep_search", json!({"pattern": "x", "no_such": 1}), json!({"pattern": "x"})),
            ("grep_search", json!({"pattern": "x", "context_lines": "many"}), json!({"pattern": "x"})),
            ("grep_search", json!({"pattern": "fn main("}), json!({"pattern": "fn main\\("})),
            ("grep_search", json!({}), json!({"pattern": "TEXT"})),
            ("grep_search", json!([1]), json!({"pattern": "TEXT"})),
            ("grep_search", json!({"pattern": "x", "cursor": "nonsense"}), json!({"pattern": "x"})),
            (
                "grep_search",
                json!({"pattern": "x", "max_results": 0}),
                json!({"pattern": "x", "max_results": 1}),
            ),
            ("keyword_search", json!({"query": "x"}), json!({"query": "x", "terms": ["TEXT"]})),
        ];
        for (name, request, expected) in cases {
            let tool = registry::find(name).unwrap();
            let error = tool.call(&context, request.clone()).unwrap_err();
            let corrected = tool.corrected(request.clone(), &error);
            assert_eq!(corrected.as_ref(), Some(&expected), "{name} {request}: {error}");
            if name == "grep_search" {
                tool.call(&context, expected).unwrap();
            }
        }
    }

    #[test]
    fn an_error_of_the_tree_has_no_correction() {
        let tool = registry::find("read_file").unwrap();
        let error = ToolError::Engine("gone".to_owned());
        assert_eq!(tool.corrected(json!({"path": "a"}), &error), None);
    }
}
