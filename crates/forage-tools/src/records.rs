//! The records of an answer, for programs, and their schemas.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::ErrorCode;
use crate::outcome::{CallProblem, Limit, Render, ToolOutcome};
use crate::tool::Tool;

/// The version of all records. We must increase it when a field is removed or changes its meaning, but not
/// when one is added.
pub const VERSION: u32 = 1;

/// The fields that the records of all tools share.
#[derive(JsonSchema, Serialize)]
struct CommonRecords<'a> {
    /// True if there is at least one more result.
    truncated: bool,
    /// The limit that cut the answer.
    truncated_by: Option<Limit>,
    /// The text shows less than the records.
    text_cut: bool,
    /// Pass it as `cursor` to continue.
    next_cursor: Option<&'a str>,
    /// Files that were not searched, counted by reason.
    skipped: BTreeMap<&'static str, u64>,
    /// Names of directories of dependencies and caches that were not entered.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    noise_directories: &'a [String],
    /// Problems that did not end the call.
    warnings: &'a [String],
    /// Wall time of the call in milliseconds.
    elapsed_ms: u64,
    /// Secrets replaced by `[redacted:RULE]`, counted by rule.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    redacted: &'a BTreeMap<String, usize>,
    /// The text of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// The error that ended the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// The code of this error.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<ErrorCode>,
    /// For a call about several roots: these records for each other root, or `root` and `error`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("items" = { "type": "object", "required": ["root"] }))]
    other_roots: Vec<Value>,
}

/// A root that could not be searched.
#[derive(JsonSchema, Serialize)]
struct UnreadRoot<'a> {
    /// The root.
    root: &'a str,
    /// Why.
    error: &'a str,
}

/// An answer that is only an error.
#[derive(JsonSchema, Serialize)]
pub struct ErrorRecord {
    /// Distinguishes an error from an answer.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "error"))]
    pub kind: &'static str,
    /// The error in a sentence for people.
    pub error: String,
    /// The error code for programs.
    pub code: ErrorCode,
}

impl ErrorRecord {
    /// Creates the record of an error.
    pub fn new(error: impl Into<String>, code: ErrorCode) -> Self {
        Self { kind: "error", error: error.into(), code }
    }
}

/// Combines the response of an outcome with the fields common to all tools.
pub(crate) fn records<R: Serialize>(
    outcome: &ToolOutcome<R>,
    is_text_cut: bool,
    content: Option<String>,
    problem: Option<CallProblem>,
) -> Value {
    let skipped = outcome.skipped.iter().map(|(reason, count)| (reason.name(), count));
    let others = outcome.others.iter().map(|other| match &other.outcome {
        Ok(outcome) => records(outcome, is_text_cut, None, None),
        Err(error) => json!(UnreadRoot { root: &other.root, error }),
    });
    let common = CommonRecords {
        truncated: outcome.truncated_by.is_some_and(Limit::is_overrun),
        truncated_by: outcome.truncated_by,
        text_cut: is_text_cut,
        next_cursor: outcome.next_cursor.as_deref(),
        skipped: skipped.collect(),
        noise_directories: &outcome.noise_directories,
        warnings: &outcome.warnings,
        elapsed_ms: outcome.elapsed.as_millis() as u64,
        redacted: outcome.hidden.by_rule(),
        content: content.as_deref(),
        error: problem.as_ref().map(|problem| problem.text.as_str()),
        code: problem.as_ref().map(|problem| problem.code),
        other_roots: others.collect(),
    };
    let mut records = fields(&outcome.response);
    if let Some((root, _)) = &outcome.root {
        records.entry("root").or_insert(json!(root));
    }
    records.extend(fields(&common));
    Value::Object(records)
}

/// Serializes a structure to its fields.
fn fields<R: Serialize>(of: &R) -> Map<String, Value> {
    // Only a map whose keys are not strings can't be serialized, and no response has one.
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        Ok(other) => Map::from_iter([("response".to_owned(), other)]),
        Err(error) => Map::from_iter([("error".to_owned(), json!(error.to_string()))]),
    }
}

/// Generates the schema of a type as it is serialized, with its definitions under `$defs`.
pub fn schema_of<R: JsonSchema>() -> Value {
    generated::<R>(false)
}

/// Generates the schema of a tool's records, with its definitions under `$defs`. Fields that every answer has
/// are required. The records of other roots refer to `#/$defs/Answer`, so you must publish the schema under
/// this name.
pub fn answer_schema<T: Tool>() -> Value {
    let mut schema = schema_of::<T::Response>();
    let mut common = schema_of::<CommonRecords<'_>>();
    for part in ["properties", "$defs"] {
        let Some(Value::Object(more)) = common.get_mut(part).map(Value::take) else { continue };
        let known = schema.as_object_mut().map(|schema| schema.entry(part).or_insert(json!({})));
        if let Some(Value::Object(known)) = known {
            known.extend(more);
        }
    }
    if let (Some(required), Some(more)) = (schema["required"].as_array_mut(), common["required"].as_array()) {
        required.extend(more.iter().cloned());
    }
    let properties = &mut schema["properties"];
    if properties.get("root").is_none() {
        properties["root"] = root_schema();
    }
    properties["other_roots"]["items"] = json!({ "anyOf": [
        { "$ref": "#/$defs/Answer" },
        { "$ref": "#/$defs/UnreadRoot" },
    ] });
    if !<T::Response as Render>::CONTENT_IN_RECORDS
        && let Some(properties) = properties.as_object_mut()
    {
        properties.remove("content");
    }
    schema["$defs"]["UnreadRoot"] = schema_of::<UnreadRoot<'_>>();
    schema
}

/// Builds the schema of a value that is one of several named alternatives.
pub fn any_of<'a>(alternatives: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let (mut any, mut definitions) = (Vec::new(), Map::new());
    for (name, mut schema) in alternatives {
        if let Some(fields) = schema.as_object_mut()
            && let Some(Value::Object(parts)) = fields.remove("$defs")
        {
            definitions.extend(parts);
        }
        any.push(json!({ "$ref": format!("#/$defs/{name}") }));
        definitions.insert(name.to_owned(), schema);
    }
    json!({ "anyOf": any, "$defs": definitions })
}

/// Builds the schema of the fields common to all tools. Note that an error answer has only a few of them.
pub(crate) fn common_schema() -> Value {
    let mut all = generated::<CommonRecords<'_>>(true);
    if let Some(properties) = all["properties"].as_object_mut() {
        properties.remove("content");
        properties.insert(
            "type".to_owned(),
            json!({ "type": "string", "description": "`error` if the answer is only an error" }),
        );
        properties.insert("root".to_owned(), root_schema());
        // Every tool sends these to models, so we don't repeat the possible values, which are documented
        // elsewhere.
        properties["truncated_by"] =
            json!({ "type": ["string", "null"], "description": "The limit that cut the answer." });
        properties["code"] = json!({ "type": "string", "description": "The error code for programs." });
    }
    json!({ "type": "object", "properties": all["properties"] })
}

/// Adds the fields of a tool's response to the common schema. The result is one object without references, in
/// which no field is required.
pub(crate) fn loose_schema<R: JsonSchema + Render>() -> Value {
    let mut own = generated::<R>(true);
    let own = own["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
    let mut all = common_schema();
    if let Some(properties) = all["properties"].as_object_mut() {
        if R::CONTENT_IN_RECORDS {
            let content = json!({ "type": "string", "description": "The text of the answer." });
            properties.insert("content".to_owned(), content);
        }
        properties.extend(own);
    }
    all
}

fn root_schema() -> Value {
    json!({ "type": "string", "description": "The directory that relative paths are below." })
}

/// Generates the schema of a type, with its definitions inline or under `$defs`.
fn generated<R: JsonSchema>(is_inline: bool) -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.inline_subschemas = is_inline;
    settings.meta_schema = None;
    without_line_feeds(settings.into_generator().into_root_schema_for::<R>().to_value())
}

/// Replaces the line breaks of the source code in the descriptions of a schema.
fn without_line_feeds(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                *value = match value.take() {
                    Value::String(text) if name == "description" => Value::String(text.replace('\n', " ")),
                    other => without_line_feeds(other),
                };
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_line_feeds(item.take())),
        _ => {}
    }
    schema
}
