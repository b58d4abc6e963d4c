//! Argument schemas in the subset of JSON Schema that every provider and host takes, and the definitions of tools in
//! each provider's shape.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::names::ToolNames;
use crate::tool::{AnyTool, Egress};

/// The shapes in which tool definitions are handed to models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFormat {
    /// `tools/list` of the Model Context Protocol.
    Mcp,
    /// OpenAI chat completions.
    OpenAi,
    /// The same with `strict`: all properties required, optional ones nullable.
    OpenAiStrict,
    /// Anthropic messages.
    Anthropic,
    /// Gemini function declarations.
    Gemini,
}

/// The definition of a tool in a provider's shape, beside others by these names.
pub fn definition(tool: &dyn AnyTool, names: &ToolNames, format: SchemaFormat) -> Value {
    definition_with(tool, names, tool.input_schema(), format)
}

/// The same with another schema of its arguments.
pub fn definition_with(tool: &dyn AnyTool, names: &ToolNames, schema: Value, format: SchemaFormat) -> Value {
    let (name, description) = (tool.name(), names.fill(tool.description()));
    match format {
        SchemaFormat::Mcp => json!({
            "name": name,
            "title": tool.title(),
            "description": description,
            "inputSchema": schema,
            "annotations": {
                "title": tool.title(),
                "readOnlyHint": true,
                "destructiveHint": false,
                "idempotentHint": true,
                "openWorldHint": tool.egress() == Egress::SendsText,
            },
        }),
        SchemaFormat::OpenAi => json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": schema },
        }),
        SchemaFormat::OpenAiStrict => json!({
            "type": "function",
            "function": { "name": name, "description": description, "parameters": strict(schema), "strict": true },
        }),
        SchemaFormat::Anthropic => {
            json!({ "name": name, "description": description, "input_schema": schema })
        }
        SchemaFormat::Gemini => {
            let mut parameters = schema;
            if let Some(fields) = parameters.as_object_mut() {
                fields.remove("additionalProperties");
            }
            json!({ "name": name, "description": description, "parameters": parameters })
        }
    }
}

/// The schema of a request type, reduced to the portable subset: one plain object, one type per property, no
/// references, no combinators.
pub(crate) fn portable<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let mut out = Map::new();
    out.insert("type".to_owned(), json!("object"));
    let properties = schema["properties"].as_object_mut().map(std::mem::take).unwrap_or_default();
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, value)| (name, property(value))).collect();
    out.insert("properties".to_owned(), Value::Object(properties));
    out.insert("required".to_owned(), schema.get("required").cloned().unwrap_or_else(|| json!([])));
    out.insert("additionalProperties".to_owned(), json!(false));
    Value::Object(out)
}

const KEPT: &[&str] = &["type", "description", "items", "enum", "minimum", "maximum"];

fn property(value: Value) -> Value {
    let Value::Object(mut fields) = value else { return value };
    // The words of an enum whose variants are described come one by one; an optional one beside `null`.
    let of_enum = fields.remove("anyOf").and_then(|any| any.as_array()?.first()?.as_object().cloned());
    for (name, value) in of_enum.into_iter().flatten() {
        fields.entry(name).or_insert(value);
    }
    if let Some(Value::Array(variants)) = fields.remove("oneOf") {
        let words: Vec<Value> = variants.into_iter().map(|mut variant| variant["const"].take()).collect();
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(words));
    }
    // An optional field is `["integer", "null"]`: optional is said by leaving it out of `required`.
    if let Some(Value::Array(types)) = fields.get("type") {
        let single = types.iter().find(|kind| *kind != "null").cloned();
        fields.insert("type".to_owned(), single.unwrap_or(Value::Null));
    }
    if let Some(Value::Array(values)) = fields.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(items) = fields.remove("items") {
        fields.insert("items".to_owned(), property(items));
    }
    if let Some(description) =
        fields.get("description").and_then(Value::as_str).map(|text| text.replace('\n', " "))
    {
        fields.insert("description".to_owned(), Value::String(description));
    }
    let mut out = Map::new();
    for key in KEPT {
        if let Some(value) = fields.remove(*key) {
            out.insert((*key).to_owned(), value);
        }
    }
    Value::Object(out)
}

fn strict(mut schema: Value) -> Value {
    let required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    let names: Vec<Value> =
        schema["properties"].as_object().into_iter().flat_map(|p| p.keys().map(|name| json!(name))).collect();
    if let Some(properties) = schema["properties"].as_object_mut() {
        for (name, property) in properties {
            if !required.contains(&json!(name)) {
                let kind = property["type"].take();
                property["type"] = json!([kind, "null"]);
                if let Some(Value::Array(values)) = property.get_mut("enum") {
                    values.push(Value::Null);
                }
            }
        }
    }
    schema["required"] = Value::Array(names);
    schema
}
