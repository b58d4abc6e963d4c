//! Generates the JSON Schema of the configuration file from the table of settings. Editors and the
//! documentation page use this schema.

use serde_json::{Value, json};

use super::settings::{Row, rows};

/// Generates the schema. In addition to the standard keywords, `x-variable` names the environment variable
/// that overrides a key, and `x-option` the command-line option.
pub(crate) fn schema() -> Value {
    let mut root = table();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Configuration of Forage");
    for row in rows() {
        *place(&mut root, &row.path) = described(row);
    }
    // The mode alone may be given in place of the table.
    let filter = place(&mut root, "filter");
    *filter = json!({ "anyOf": [filter["properties"]["mode"].clone(), filter.take()] });
    root
}

fn table() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Returns the position of a key in the schema. This creates the tables on the path to it.
fn place<'v>(root: &'v mut Value, path: &str) -> &'v mut Value {
    let mut place = root;
    for name in path.split('.') {
        if place.is_null() {
            *place = table();
        }
        place = &mut place["properties"][name];
    }
    place
}

fn described(row: &Row) -> Value {
    let mut described = row.schema.clone();
    let lines: Vec<&str> = row.about.iter().map(|line| line.trim()).collect();
    described["description"] = json!(lines.join("\n"));
    let option = row.option.map(|(name, ..)| format!("--{name}"));
    let fields = [
        ("default", row.default.as_ref().map(|value| json!(value))),
        ("x-variable", row.variable.map(|name| json!(name))),
        ("x-option", option.map(|name| json!(name))),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            described[name] = value;
        }
    }
    described
}
