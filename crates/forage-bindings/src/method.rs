//! The methods of a workspace, one for each tool of the registry.

use forage_base::Hint;
use forage_tools::registry::TOOLS;
use forage_tools::{Manner, Plain, ToolNames};
use serde::Serialize;
use serde_json::Value;

/// A method that calls a tool.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// Name of the method.
    pub name: String,
    /// Name of the tool.
    pub tool: String,
    /// A short title.
    pub title: String,
    /// Description of the tool.
    pub description: String,
    /// JSON schema of the arguments.
    pub arguments: Value,
    /// JSON schema of the answer's records. Answers of other roots refer to `#/$defs/Answer`.
    pub answer: Value,
    /// The method that streams all results, if there is one.
    pub each: Option<EachMethod>,
}

/// A method that streams all results.
#[derive(Clone, Debug, Serialize)]
pub struct EachMethod {
    /// JSON schema of the arguments.
    pub arguments: Value,
    /// JSON schema of one streamed result.
    pub piece: Value,
}

/// Formats calls as the methods of a package.
#[derive(Debug)]
pub enum MethodCalls {
    /// `read(path="a.rs")`.
    Python,
    /// `read({ path: "a.rs" })`, with camel-case names.
    JavaScript,
}

impl MethodCalls {
    fn method(&self, id: &str, name: &str) -> String {
        let method = TOOLS.iter().find(|tool| tool.id() == id).map_or(name, |tool| tool.method());
        match self {
            Self::Python => method.to_owned(),
            Self::JavaScript => {
                let mut words = method.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
            }
        }
    }
}

impl Manner for MethodCalls {
    fn tool(&self, id: &str, name: &str) -> String {
        format!("{}()", self.method(id, name))
    }

    fn call(&self, id: &str, name: &str, arguments: &[(&str, String)]) -> String {
        let method = self.method(id, name);
        let Self::JavaScript = self else { return Plain.call(id, &method, arguments) };
        let fields = arguments.iter().map(|(argument, value)| match value.parse::<u64>() {
            Ok(_) => format!("{argument}: {value}"),
            Err(_) => format!("{argument}: {value:?}"),
        });
        format!("{method}({{ {} }})", fields.collect::<Vec<_>>().join(", "))
    }

    fn go_on(&self, cursor: &str) -> String {
        match self {
            Self::Python => Plain.go_on(cursor),
            Self::JavaScript => format!("repeat the call with cursor: \"{cursor}\""),
        }
    }

    fn hint(&self, hint: Hint) -> &'static str {
        Plain.hint(hint)
    }
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
