//! Argument schemas in the subset of JSON Schema that every provider and host supports, and tool definitions
//! in each provider's format.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::names::ToolNames;
use crate::records::schema_of;
use crate::tool::{AnyTool, Egress};

/// Formats of tool definitions for models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchemaFormat {
    /// `tools/list` of the Model Context Protocol.
    Mcp,
    /// OpenAI chat completions.
    OpenAi,
    /// The same with `strict`: all properties are required, and optional ones are nullable.
    OpenAiStrict,
    /// Anthropic messages.
    Anthropic,
    /// Gemini function declarations.
    Gemini,
}

impl SchemaFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Mcp, Self::OpenAi, Self::OpenAiStrict, Self::Anthropic, Self::Gemini];

    /// Returns the name that selects this format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::OpenAi => "openai",
            Self::OpenAiStrict => "openai-strict",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

/// Formats the definition of a tool for a provider. `names` are the names of all tools.
pub fn definition(tool: &dyn AnyTool, names: &ToolNames, format: SchemaFormat) -> Value {
    definition_with(tool, names, tool.input_schema(), format)
}

/// Like [`definition`], but with another schema for its arguments.
pub fn definition_with(tool: &dyn AnyTool, names: &ToolNames, schema: Value, format: SchemaFormat) -> Value {
    let (name, description) = (tool.name(), names.fill(&tool.spec().description));
    let shape = match format {
        SchemaFormat::Mcp => DefinitionShape::Mcp(McpDefinition {
            name,
            title: &tool.spec().title,
            description,
            input_schema: schema,
            annotations: McpAnnotations {
                title: &tool.spec().title,
                read_only_hint: true,
                destructive_hint: false,
                idempotent_hint: true,
                open_world_hint: tool.spec().egress == Egress::SendsText,
            },
        }),
        SchemaFormat::OpenAi | SchemaFormat::OpenAiStrict => {
            let is_strict = format == SchemaFormat::OpenAiStrict;
            let parameters = if is_strict { strict(schema) } else { schema };
            DefinitionShape::OpenAi(OpenAiDefinition {
                kind: "function",
                function: OpenAiFunction { name, description, parameters, strict: is_strict.then_some(true) },
            })
        }
        SchemaFormat::Anthropic => {
            DefinitionShape::Anthropic(AnthropicDefinition { name, description, input_schema: schema })
        }
        SchemaFormat::Gemini => {
            DefinitionShape::Gemini(GeminiDefinition { name, description, parameters: schema })
        }
    };
    json!(shape)
}

/// Generates the schema of a list of definitions in any one format.
pub fn definitions_schema() -> Value {
    schema_of::<Vec<DefinitionShape<'_>>>()
}

/// The definition of a tool, in a format for models or clients.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum DefinitionShape<'a> {
    Mcp(McpDefinition<'a>),
    OpenAi(OpenAiDefinition<'a>),
    Anthropic(AnthropicDefinition<'a>),
    Gemini(GeminiDefinition<'a>),
}

/// A tool definition for `tools/list` of the Model Context Protocol.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct McpDefinition<'a> {
    /// The name of the tool.
    name: &'a str,
    /// Its name for people.
    title: &'a str,
    /// The description for models.
    description: String,
    /// The JSON Schema of its arguments.
    input_schema: Value,
    /// What the tool does, for clients.
    annotations: McpAnnotations<'a>,
}

/// What a tool does, for clients of the Model Context Protocol.
#[derive(JsonSchema, Serialize)]
#[serde(rename_all = "camelCase")]
struct McpAnnotations<'a> {
    /// The tool's name for people.
    title: &'a str,
    /// True if it changes nothing.
    read_only_hint: bool,
    /// True if it may destroy something.
    destructive_hint: bool,
    /// True if a second call with the same arguments has no further effect.
    idempotent_hint: bool,
    /// True if it sends anything to another machine.
    open_world_hint: bool,
}

/// A tool definition for OpenAI chat completions.
#[derive(JsonSchema, Serialize)]
struct OpenAiDefinition<'a> {
    /// The kind of tool.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "function"))]
    kind: &'static str,
    /// The function.
    function: OpenAiFunction<'a>,
}

/// A function for OpenAI chat completions.
#[derive(JsonSchema, Serialize)]
struct OpenAiFunction<'a> {
    /// The name of the tool.
    name: &'a str,
    /// The description for models.
    description: String,
    /// The JSON Schema of its arguments.
    parameters: Value,
    /// True if the model must follow the schema; only with `openai-strict`.
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// A tool definition for Anthropic messages.
#[derive(JsonSchema, Serialize)]
struct AnthropicDefinition<'a> {
    /// The name of the tool.
    name: &'a str,
    /// The description for models.
    description: String,
    /// The JSON Schema of its arguments.
    input_schema: Value,
}

/// A function declaration for Gemini.
#[derive(JsonSchema, Serialize)]
struct GeminiDefinition<'a> {
    /// The name of the tool.
    name: &'a str,
    /// The description for models.
    description: String,
    /// The JSON Schema of its arguments.
    parameters: Value,
}

/// Generates the schema of a request type, reduced to the portable subset: one plain object, one type per
/// property, no references, no combinators.
///
/// This must not forbid other properties. Some clients check a call against the schema before they send it.
/// Arguments with the names of other tools (`glob`, `-i`, `head_limit`) would then never reach us, so we
/// could neither accept them nor give a reason.
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
    Value::Object(out)
}

/// Keywords of JSON Schema that every provider supports.
const KEPT: &[&str] = &["type", "description", "items", "enum", "minimum", "maximum"];

fn property(value: Value) -> Value {
    let Value::Object(mut fields) = value else { return value };
    // `schemars` generates an enum with documented variants as one alternative per variant. An optional enum
    // also has `null`.
    let of_enum = fields.remove("anyOf").and_then(|any| any.as_array()?.first()?.as_object().cloned());
    for (name, value) in of_enum.into_iter().flatten() {
        fields.entry(name).or_insert(value);
    }
    if let Some(Value::Array(variants)) = fields.remove("oneOf") {
        let words: Vec<Value> = variants.into_iter().map(|mut variant| variant["const"].take()).collect();
        fields.insert("type".to_owned(), json!("string"));
        fields.insert("enum".to_owned(), Value::Array(words));
    }
    // An optional field has the type `["integer", "null"]`. We need only omit it from `required`.
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
    schema["additionalProperties"] = json!(false);
    schema
}
