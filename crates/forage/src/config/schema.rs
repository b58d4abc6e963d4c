//! The JSON Schema of the configuration file, from the table of settings: for editors, and for the page of documentation.

use serde_json::{Map, Value, json};

use super::settings::{Row, Section as _};
use super::table::Settings;

/// The schema. Beside the standard's keywords, `x-variable` is the environment variable that goes over a key, and `x-option`
/// the option of the command line.
pub(crate) fn schema() -> Value {
    let rows = Settings::rows();
    let mut root = table();
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!("Configuration of Forage");
    for row in &rows {
        *place(&mut root, &row.path) = described(row);
    }
    // What stands for a table that may be left out.
    for row in rows.iter().filter(|row| row.key != row.path) {
        let place = place(&mut root, &row.key);
        *place = json!({ "anyOf": [described(row), place.take()] });
    }
    root
}

fn table() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// The place of a key, with the tables on the way to it.
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
    let mut described: Map<String, Value> = row.schema.as_object().cloned().unwrap_or_default();
    let lines: Vec<&str> = row.about.iter().map(|line| line.trim()).collect();
    described.insert("description".to_owned(), json!(lines.join("\n")));
    // Of some settings `forage config` shows less than the whole.
    let is_whole = match row.schema["type"].as_str() {
        Some("array") => row.default.is_array(),
        Some("object") => row.default.is_object(),
        _ => !row.default.is_null(),
    };
    if is_whole {
        described.insert("default".to_owned(), row.default.clone());
    }
    let text = |text: Option<&str>, dashes: &str| text.map(|text| json!(format!("{dashes}{text}")));
    let beside = [("x-variable", text(row.variable, "")), ("x-option", text(row.flag, "--"))];
    described.extend(beside.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))));
    Value::Object(described)
}
