//! Generates the configuration page from the JSON Schema that the program prints.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::escaped;

/// A key with its schema.
type Key<'a> = (String, &'a Value);

/// Generates the page for `schema`.
pub(crate) fn page(schema: &Value) -> Result<String> {
    let mut page = include_str!("configuration.md").to_owned();
    let (mut keys, mut first_keys) = (Vec::new(), Vec::new());
    gather(schema, "", &mut keys, &mut first_keys)
        .context("a key of the schema lacks a field that its page needs")?;
    let shared = shared_tool_keys(&keys);
    let mut written = Vec::new();
    for (key, value) in &keys {
        let (shown, default) = match shared.get(key.as_str()) {
            Some((shown, default)) => (shown.as_str(), default.clone()),
            None => (key.as_str(), default(value)),
        };
        if written.iter().any(|known: &String| known == shown) {
            continue;
        }
        written.push(shown.to_owned());
        let about = about(value).with_context(|| format!("{key} has no description"))?.replace('|', "\\|");
        let _ = writeln!(page, "| `{shown}` | {default} | {about} |");
    }
    for (table, key) in first_keys {
        let _ = write!(page, "\n`{table} = VALUE` means `{table}.{key} = VALUE`.\n");
    }
    Ok(page)
}

/// Collects the keys of a table and its subtables, and the tables that a single value may replace.
fn gather<'a>(
    schema: &'a Value,
    path: &str,
    keys: &mut Vec<Key<'a>>,
    first_keys: &mut Vec<(String, String)>,
) -> Option<()> {
    let mut tables = Vec::new();
    for (name, value) in schema["properties"].as_object()? {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match inner(value) {
            Some(inner) => tables.push((path, value, inner)),
            None => keys.push((path, value)),
        }
    }
    for (path, value, inner) in tables {
        gather(inner, &path, keys, first_keys)?;
        if value["anyOf"].is_array() {
            first_keys.push((path, inner["properties"].as_object()?.keys().next()?.clone()));
        }
    }
    Some(())
}

/// Finds keys that several tools have with the same meaning. Returns, for each of them, the key with `NAME`
/// in place of the tool, and the defaults.
fn shared_tool_keys<'k>(keys: &'k [Key<'_>]) -> BTreeMap<&'k str, (String, String)> {
    // For each name and meaning, all keys with their tools and defaults.
    let mut by_meaning: BTreeMap<_, Vec<(&str, &str, String)>> = BTreeMap::new();
    for (key, value) in keys {
        if let Some((tool, name)) = key.strip_prefix("tools.").and_then(|rest| rest.split_once('.')) {
            by_meaning.entry((name, about(value))).or_default().push((key, tool, default(value)));
        }
    }
    let mut shared = BTreeMap::new();
    for ((name, _), tools) in by_meaning.into_iter().filter(|(_, tools)| tools.len() > 1) {
        let mut defaults: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (_, tool, default) in &tools {
            defaults.entry(default).or_default().push(format!("`{tool}`"));
        }
        let mut defaults: Vec<_> = defaults.into_iter().collect();
        defaults.sort_by_key(|(_, tools)| std::cmp::Reverse(tools.len()));
        let others = defaults.iter().skip(1);
        let others: String =
            others.map(|(default, tools)| format!("; {default} for {}", tools.join(", "))).collect();
        let default = format!("{}{others}", defaults.first().map_or("", |(default, _)| default));
        for (key, ..) in tools {
            shared.insert(key, (format!("tools.NAME.{name}"), default.clone()));
        }
    }
    shared
}

/// Formats the default of a key. Lists get spaces, so that a table can break them into lines.
fn default(value: &Value) -> String {
    let shown = |value: &Value| match value.as_array() {
        Some(list) => {
            let list: Vec<String> = list.iter().map(Value::to_string).collect();
            format!("`[{}]`", list.join(", "))
        }
        None => format!("`{value}`"),
    };
    value.get("default").map(shown).unwrap_or_default()
}

/// Returns the schema of a table if a value is a table or may be one.
fn inner(value: &Value) -> Option<&Value> {
    let table = value["anyOf"].as_array().and_then(|forms| forms.last()).unwrap_or(value);
    table["properties"].is_object().then_some(table)
}

/// Formats the description of a key, with its possible values, its range and its environment variable.
fn about(value: &Value) -> Option<String> {
    let text = value["description"].as_str()?.replace("\n\n", ". ");
    let mut about = escaped(text.trim_end_matches('.'));
    if let Some(words) = value["enum"].as_array() {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let _ = write!(about, ": {}", words.join(", "));
    }
    if let Some(max) = value.get("maximum") {
        let _ = write!(about, "; {} to {max}", value.get("minimum")?);
    }
    if let Some(variable) = value["x-variable"].as_str() {
        let _ = write!(about, " (`{variable}`)");
    }
    Some(about)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_page_has_every_key_with_its_values() {
        let on = |default: bool| json!({ "description": "Whether.", "default": default });
        let schema = json!({ "properties": {
            "mode": { "enum": ["a", "b"], "default": "a", "description": "Who <does> it.", "x-variable": "MODE" },
            "names": { "default": ["a,b", "c"], "description": "Names, `*` for all *.rs." },
            "part": { "anyOf": [{}, { "properties": {
                "n": { "type": "integer", "minimum": 1, "maximum": 9, "description": "How\nmany|few" },
            } }] },
            "tools": { "properties": {
                "x": { "properties": { "on": on(true) } },
                "y": { "properties": { "on": on(false), "own": { "description": "Own." } } },
                "z": { "properties": { "on": on(true) } },
            } },
        } });
        let page = page(&schema).unwrap();
        let expected = "\n| key | default | |\n|---|---|---|\n\
            | `mode` | `\"a\"` | Who &lt;does> it: `\"a\"`, `\"b\"` (`MODE`) |\n\
            | `names` | `[\"a,b\", \"c\"]` | Names, `*` for all \\*.rs |\n\
            | `part.n` |  | How many\\|few; 1 to 9 |\n\
            | `tools.NAME.on` | `true`; `false` for `y` | Whether |\n\
            | `tools.y.own` |  | Own |\n\
            \n`part = VALUE` means `part.n = VALUE`.\n";
        assert!(page.ends_with(expected), "{page}");
        assert!(super::page(&json!({ "properties": { "x": { "type": "string" } } })).is_err());
    }
}
