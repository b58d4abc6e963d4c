//! From the JSON that a caller sent to JSON that the request type takes.
//!
//! Models send `"5"` for 5, a bare string for a list of one, `null` for «not given», a list as text. What can be
//! meant only one way is taken; an unknown argument is refused, because dropping it would answer another question.

use forage_fs::{Globs, RelPath};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::ToolError;

/// A tool's request, typed. Its arguments are not checked yet.
pub(crate) fn parse<R: DeserializeOwned>(
    tool: &str,
    schema: &Value,
    aliases: &[(&str, &str)],
    request: Value,
) -> Result<R, ToolError> {
    serde_json::from_value(coerce(tool, schema, aliases, request)?)
        .map_err(|error| ToolError::Request(format!("{tool} can't use these arguments: {error}")))
}

/// Brings a request into the shape of `schema`.
fn coerce(tool: &str, schema: &Value, aliases: &[(&str, &str)], request: Value) -> Result<Value, ToolError> {
    let request = match request {
        // The whole object as text, as some clients send it.
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    };
    let fields = match request {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        _ => {
            return Err(ToolError::Request(format!(
                "{tool} takes a JSON object of arguments: {}",
                names(schema)
            )));
        }
    };
    let properties = schema["properties"].as_object();
    let known = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    let mut out = Map::new();
    for (name, value) in fields {
        if value.is_null() {
            continue;
        }
        let alias = aliases.iter().find(|(alias, _)| *alias == name).map(|(_, right)| *right);
        if !known(&name) {
            let hint = alias.map_or(".".to_owned(), |right| format!("; did you mean `{right}`?"));
            return Err(ToolError::Request(format!(
                "{tool} has no argument `{}`{hint} Its arguments: {}",
                name.escape_debug(),
                names(schema)
            )));
        }
        let value = convert(tool, &name, &schema["properties"][&name], value)?;
        out.insert(name, value);
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !out.contains_key(required) {
            return Err(ToolError::Request(format!(
                "{tool} needs the argument `{required}`. Its arguments: {}",
                names(schema)
            )));
        }
    }
    Ok(Value::Object(out))
}

/// `pattern` (string, required), `path` (string), …
fn names(schema: &Value) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let describe = |(name, property): (&String, &Value)| {
        let kind = property["type"].as_str().unwrap_or("value");
        let required = if required.contains(&name.as_str()) { ", required" } else { "" };
        format!("`{name}` ({kind}{required})")
    };
    schema["properties"].as_object().into_iter().flatten().map(describe).collect::<Vec<_>>().join(", ")
}

/// A value as the property's type, where it can be meant one way only.
pub(crate) fn convert(tool: &str, name: &str, property: &Value, value: Value) -> Result<Value, ToolError> {
    let wanted = property["type"].as_str().unwrap_or_default();
    let wrong = |value: &Value| {
        let article = if wanted.starts_with(['a', 'i']) { "an" } else { "a" };
        ToolError::Request(format!("{tool}: `{name}` must be {article} {wanted}, not {}", shown(value)))
    };
    let converted = match (wanted, &value) {
        ("integer", Value::Number(number)) => integer(number.as_f64()),
        ("integer", Value::String(text)) => integer(text.trim().parse().ok()),
        ("boolean", Value::Bool(_)) => Some(value.clone()),
        ("boolean", Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "1" => Some(Value::Bool(true)),
            "false" | "no" | "0" | "" => Some(Value::Bool(false)),
            _ => None,
        },
        ("string", Value::String(_)) => Some(value.clone()),
        ("string", Value::Number(number)) => Some(Value::String(number.to_string())),
        ("array", Value::Array(items)) => Some(Value::Array(
            items
                .iter()
                .map(|item| convert(tool, name, &property["items"], item.clone()))
                .collect::<Result<_, _>>()?,
        )),
        ("array", Value::String(text)) => match serde_json::from_str::<Value>(text) {
            Ok(list @ Value::Array(_)) => return convert(tool, name, property, list),
            _ => Some(Value::Array(vec![value.clone()])),
        },
        _ => None,
    };
    converted.ok_or_else(|| wrong(&value))
}

fn integer(number: Option<f64>) -> Option<Value> {
    let number = number.filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
    Some(Value::from(number as i64))
}

/// A number within its range, or an error that names both.
pub(crate) fn in_range(
    argument: &'static str,
    value: Option<i64>,
    default: u64,
    least: u64,
    most: u64,
) -> Result<u64, ToolError> {
    match value {
        None => Ok(default),
        Some(value) => {
            u64::try_from(value).ok().filter(|value| (least..=most).contains(value)).ok_or_else(|| {
                ToolError::argument(
                    argument,
                    format!("{value} is out of range; give {least} to {most} (default {default})"),
                )
            })
        }
    }
}

/// Compiles globs. One with a slash is read from the root and from the start of the search, because callers mean either.
pub(crate) fn globs_at(
    argument: &'static str,
    globs: &[String],
    start: &RelPath,
) -> Result<Globs, ToolError> {
    let mut all = Vec::new();
    for glob in globs {
        all.push(glob.clone());
        let (not, bare) = glob.strip_prefix('!').map_or(("", glob.as_str()), |bare| ("!", bare));
        if bare.contains('/') && !start.is_root() && !bare.starts_with('/') {
            all.push(format!("{not}{}/{bare}", escaped(start)));
        }
    }
    Globs::new(&all).map_err(|error| {
        ToolError::argument(
            argument,
            format!("it is not a valid glob ({error}); write for example \"*.py\" or \"src/**/*.rs\""),
        )
    })
}

/// Compiles the `file_pattern` that chooses files.
pub(crate) fn file_globs(glob: Option<&str>, start: &RelPath) -> Result<Option<Globs>, ToolError> {
    let Some(glob) = glob.map(str::trim).filter(|glob| !glob.is_empty() && *glob != "*") else {
        return Ok(None);
    };
    if glob.starts_with('!') {
        return Err(ToolError::argument(
            "file_pattern",
            "it chooses files and can't exclude; write a glob without `!`",
        ));
    }
    globs_at("file_pattern", &[glob.to_owned()], start).map(Some)
}

/// A path as a glob that matches it and nothing else.
fn escaped(path: &RelPath) -> String {
    let mut glob = String::new();
    for c in String::from_utf8_lossy(path.as_bytes()).chars() {
        if matches!(c, '[' | ']' | '*' | '?' | '{' | '}' | '!' | '\\') {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

fn shown(value: &Value) -> String {
    crate::text::clip(&value.to_string(), 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn run(request: Value) -> Result<Value, String> {
        let schema = json!({
            "type": "object",
            "properties": {
                "pattern": {"type": "string"}, "context": {"type": "integer"}, "hidden": {"type": "boolean"},
                "terms": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["pattern"],
        });
        coerce("tool", &schema, &[("query", "pattern")], request).map_err(|error| error.to_string())
    }

    #[test]
    fn takes_what_can_be_meant_one_way_only() {
        let cases = [
            (json!({"pattern": "x", "context": "5"}), json!({"pattern": "x", "context": 5})),
            (json!({"pattern": "x", "context": 5.0}), json!({"pattern": "x", "context": 5})),
            (json!({"pattern": "x", "context": null}), json!({"pattern": "x"})),
            (json!({"pattern": "x", "hidden": "True"}), json!({"pattern": "x", "hidden": true})),
            (json!({"pattern": "x", "terms": "a"}), json!({"pattern": "x", "terms": ["a"]})),
            (
                json!({"pattern": "x", "terms": "[\"a\", \"b\"]"}),
                json!({"pattern": "x", "terms": ["a", "b"]}),
            ),
            (json!({"pattern": 404}), json!({"pattern": "404"})),
            (json!("{\"pattern\": \"x\"}"), json!({"pattern": "x"})),
        ];
        for (request, expected) in cases {
            assert_eq!(run(request.clone()).unwrap(), expected, "{request}");
        }
    }

    #[test]
    fn refuses_the_rest_with_the_correction() {
        let cases = [
            (json!({"query": "x"}), "did you mean `pattern`? Its arguments"),
            (
                json!({"pattern": "x", "glob": 1}),
                "no argument `glob`. Its arguments: `pattern` (string, required)",
            ),
            (json!({}), "needs the argument `pattern`"),
            (json!({"pattern": "x", "context": "many"}), "`context` must be an integer, not \"many\""),
            (json!({"pattern": "x", "context": 1.5}), "must be an integer, not 1.5"),
            (json!({"pattern": ["x"]}), "`pattern` must be a string"),
            (json!([1]), "takes a JSON object"),
        ];
        for (request, expected) in cases {
            let error = run(request.clone()).unwrap_err();
            assert!(error.contains(expected), "{request}: {error}");
        }
    }
}
