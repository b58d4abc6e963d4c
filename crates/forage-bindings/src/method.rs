//! The methods of a workspace, one for each tool of the registry.

use forage_tools::ToolNames;
use forage_tools::registry::TOOLS;
use serde::Serialize;
use serde_json::Value;

/// A method that calls a tool.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// The tool.
    pub tool: String,
    /// A short title.
    pub title: String,
    /// What the tool does.
    pub description: String,
    /// The arguments as a JSON schema.
    pub arguments: Value,
    /// The records of an answer as a JSON schema; that of another root is `#/$defs/Answer`.
    pub answer: Value,
    /// What a second method hands over piece by piece, as a JSON schema, where there is one.
    pub piece: Option<Value>,
}

/// Returns a method for each tool, in the order of the registry.
pub fn methods() -> Vec<Method> {
    let names = ToolNames::of(TOOLS);
    TOOLS
        .iter()
        .map(|tool| Method {
            name: tool.method().to_owned(),
            tool: tool.name().to_owned(),
            title: tool.title().to_owned(),
            description: names.fill(tool.description()),
            arguments: tool.whole_schema(),
            answer: tool.answer_schema(),
            piece: tool.piece_schema(),
        })
        .collect()
}
