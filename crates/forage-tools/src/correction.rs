//! Corrects a rejected call if its meaning stays the same.

use forage_search::{Pattern, PatternError, PatternOptions};
use serde_json::{Map, Value};

use crate::arguments::{ArgumentDefinition, convert, named};
use crate::error::ToolError;

/// Operators of regular expressions. A pattern with one of these must have been meant as a regex, and only
/// its author knows how to fix it.
const OPERATORS: [char; 9] = ['\\', '|', '*', '+', '?', '^', '$', '[', ']'];

/// Rewrites the request so that the tool accepts it, with the placeholder `<name>` for a missing argument.
/// Returns `None` if the error is not about syntax, or if we would have to drop an argument that affects the
/// results.
pub(crate) fn corrected(
    definition: &ArgumentDefinition<'_>,
    request: Value,
    error: &ToolError,
) -> Option<Value> {
    let mut fields = readable(definition, request)?;
    match error {
        ToolError::Request(_) => {}
        // If we drop the number, its default applies.
        ToolError::Argument { argument, .. } => {
            fields.remove(*argument).filter(Value::is_number)?;
        }
        ToolError::Pattern { source: PatternError::Syntax { .. }, .. } => {}
        _ => return None,
    }
    let is_text = fields.get("fixed_strings") == Some(&Value::Bool(true));
    let options = PatternOptions { look_around: true, ..PatternOptions::default() };
    if let Some(pattern) = fields.get("pattern").and_then(Value::as_str)
        && !is_text
        && let Err(PatternError::Syntax { .. }) = Pattern::new(pattern, &options)
    {
        if pattern.contains(OPERATORS) {
            return None;
        }
        let literal = forage_search::escape(pattern);
        fields.insert("pattern".to_owned(), Value::String(literal));
    }
    for required in definition.required() {
        let placeholder = Value::String(format!("<{required}>"));
        let placeholder = match definition.schema["properties"][required]["type"].as_str() {
            Some("array") => Value::Array(vec![placeholder]),
            _ => placeholder,
        };
        fields.entry(required).or_insert(placeholder);
    }
    Some(Value::Object(fields))
}

/// Returns true if the request has a placeholder that the caller must fill in.
pub(crate) fn has_placeholder(request: &Value) -> bool {
    match request {
        Value::Object(fields) => fields.iter().any(|(name, value)| {
            let placeholder = format!("<{name}>");
            value == &Value::String(placeholder.clone()) || value[0] == Value::String(placeholder)
        }),
        _ => false,
    }
}

/// Renames the arguments, and converts their values to ones that the tool can parse.
fn readable(definition: &ArgumentDefinition<'_>, request: Value) -> Option<Map<String, Value>> {
    let (given, _) = named(definition, request).ok()?;
    let mut fields = Map::new();
    for (name, value) in given {
        let property = &definition.schema["properties"][&name];
        let value = match convert(definition.tool, &name, property, value) {
            Ok(value) => value,
            // We can drop a number: all numbers have a default.
            Err(_) if property["type"] == "integer" => continue,
            Err(_) => return None,
        };
        fields.insert(name, value);
    }
    Some(fields)
}

#[cfg(test)]
mod tests {
    use forage_fs::{RelPath, Root, RootPolicy, Roots, SecretPolicy};
    use serde_json::json;

    use super::*;
    use crate::registry;
    use crate::workspace::Workspace;

    /// Opens an empty directory, which is deleted after it is opened.
    fn workspace() -> Workspace {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path(), &RootPolicy::default(), SecretPolicy::off()).unwrap();
        Workspace::new(Roots::new(vec![root], RelPath::root()).unwrap())
    }

    fn correction(name: &str, request: &Value) -> Option<Value> {
        let call = workspace().start_call();
        let tool = registry::find(name).unwrap();
        let error = tool.call(&call, request.clone()).unwrap_err();
        tool.corrected(&call, request.clone(), &error)
    }

    #[test]
    fn a_refused_call_comes_back_as_one_that_is_taken() {
        let cases = [
            ("grep_search", json!({"pattern": "x", "context_lines": "many"}), json!({"pattern": "x"})),
            ("grep_search", json!({}), json!({"pattern": "<pattern>"})),
            ("read_file", json!({}), json!({"path": "<path>"})),
            (
                "keyword_search",
                json!({"query": "x"}),
                json!({"query": "x", "search_terms": ["<search_terms>"]}),
            ),
        ];
        for (name, request, expected) in cases {
            assert_eq!(correction(name, &request), Some(expected), "{name} {request}");
        }
    }

    #[test]
    fn text_that_is_no_pattern_is_searched_as_text() {
        for request in [json!({"query": "fn main("}), json!({"pattern": "fn main("})] {
            let answer =
                registry::find("grep_search").unwrap().call(&workspace().start_call(), request).unwrap();
            assert!(answer.text.contains("searched for this instead: fn main\\("), "{}", answer.text);
        }
    }

    #[test]
    fn a_call_whose_meaning_would_change_has_no_correction() {
        for (name, request) in [
            ("grep_search", json!({"pattern": "x", "excludes_of": 1})),
            ("grep_search", json!({"pattern": "(retry|times"})),
            ("grep_search", json!({"pattern": "fn [a-z"})),
            ("grep_search", json!({"pattern": "(?<=x"})),
            ("grep_search", json!({"pattern": "*.rs"})),
            ("grep_search", json!({"pattern": ["retry", "times"]})),
            ("grep_search", json!({"pattern": "x", "file_pattern": "[", "context_lines": 2})),
            ("grep_search", json!({"pattern": "x", "cursor": "nonsense"})),
            ("grep_search", json!([1])),
            // Two errors: the call would still be rejected after we correct the first one.
            ("grep_search", json!({"pattern": "x(", "file_pattern": "["})),
            ("read_file", json!({"path": "no such file"})),
        ] {
            assert_eq!(correction(name, &request), None, "{name} {request}");
        }
    }
}
