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
    /// Description of the tool.
    pub description: String,
    /// The arguments as a JSON schema.
    pub arguments: Value,
    /// The records of an answer as a JSON schema; that of another root is `#/$defs/Answer`.
    pub answer: Value,
    /// Second method that streams all results.
    pub each: Option<EachMethod>,
}

/// A method that streams all results.
#[derive(Clone, Debug, Serialize)]
pub struct EachMethod {
    /// The arguments as a JSON schema.
    pub arguments: Value,
    /// One streamed result as a JSON schema.
    pub piece: Value,
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
            each: tool.piece_schema().map(|piece| EachMethod { arguments: tool.each_schema(), piece }),
        })
        .collect()
}
