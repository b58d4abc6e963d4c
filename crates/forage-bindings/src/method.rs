//! The methods of a workspace, one for each tool of the registry.

use forage_base::Hint;
use forage_tools::registry::{AnyTool, TOOLS};
use forage_tools::{Phrasing, Plain};
use serde::Serialize;
use serde_json::{Value, json};

use crate::guide::{Guide, PARAMETERS, TEXT_OR_LIST, docstring, guide};

/// A method that calls a tool.
#[derive(Clone, Debug, Serialize)]
pub struct Method {
    /// Name of the method.
    pub name: String,
    /// Name of the tool.
    pub tool: String,
    /// Purpose in one line.
    pub summary: String,
    /// Further details that a caller should know; may be empty.
    pub details: String,
    /// Docstring for Python: the summary, the details and the parameters.
    pub docstring: String,
    /// Example in Python, as a doctest; empty if there is none.
    pub python: String,
    /// Example in TypeScript; empty if there is none.
    pub typescript: String,
    /// JSON schema of the parameters.
    pub arguments: Value,
    /// JSON schema of the answer's records. This may refer to itself as `#/$defs/Answer` for the answers of
    /// further roots.
    pub answer: Value,
    /// The answer's field that is iterated over, or empty if an answer has no such field.
    pub items: String,
    /// The method that streams all results, if there is one.
    pub each: Option<EachMethod>,
}

/// A method that streams all results.
#[derive(Clone, Debug, Serialize)]
pub struct EachMethod {
    /// See [`Method::docstring`].
    pub docstring: String,
    /// JSON schema of the parameters.
    pub arguments: Value,
    /// JSON schema of one streamed result.
    pub piece: Value,
}

/// Formats calls in a package's syntax, for example to suggest how to continue.
#[derive(Clone, Copy, Debug)]
pub enum MethodCalls {
    /// `read(path="a.rs")`.
    Python,
    /// `read({ path: "a.rs" })`, with camel-case names.
    JavaScript,
}

impl MethodCalls {
    fn method(self, id: &str, name: &str) -> String {
        self.cased(TOOLS.iter().find(|tool| tool.id() == id).map_or(name, |tool| &*tool.spec().method))
    }

    /// Converts a name to the language's case, for example `file_pattern` to `filePattern` in JavaScript.
    pub(crate) fn cased(self, name: &str) -> String {
        match self {
            Self::Python => name.to_owned(),
            Self::JavaScript => {
                let mut words = name.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                words.fold(first, |name, word| {
                    let (initial, rest) = word.split_at(word.len().min(1));
                    name + &initial.to_uppercase() + rest
                })
            }
        }
    }

    /// Replaces a tool's argument names in a message with the method's parameter names. Note that this
    /// replaces only names in backquotes.
    pub(crate) fn in_parameters(self, tool: &dyn AnyTool, message: &str) -> String {
        let schema = tool.whole_schema();
        let arguments = schema["properties"].as_object().into_iter().flatten();
        arguments.fold(message.to_owned(), |message, (argument, _)| {
            let parameter = self.argument(tool.id(), argument);
            match parameter == *argument {
                true => message,
                false => message.replace(&format!("`{argument}`"), &format!("`{parameter}`")),
            }
        })
    }
}

/// Looks up the parameter for a tool's argument. Most have the same name.
fn parameter_of<'a>(id: &str, argument: &'a str) -> &'a str {
    let renamed = guide(id).map_or(&[][..], |guide| guide.renamed);
    renamed.iter().find(|(own, _)| *own == argument).map_or(argument, |(_, parameter)| parameter)
}

/// Converts the arguments of a method to those of its tool.
pub(crate) fn arguments_of(id: &str, mut parameters: Value) -> Value {
    let renamed = guide(id).map_or(&[][..], |guide| guide.renamed);
    if let Some(fields) = parameters.as_object_mut() {
        for (argument, parameter) in renamed {
            if let Some(value) = fields.remove(*parameter) {
                fields.insert((*argument).to_owned(), value);
            }
        }
    }
    parameters
}

impl Phrasing for MethodCalls {
    fn tool(&self, id: &str, name: &str) -> String {
        format!("{}()", self.method(id, name))
    }

    fn argument(&self, id: &str, argument: &str) -> String {
        self.cased(parameter_of(id, argument))
    }

    fn call(&self, id: &str, name: &str, arguments: &[(&str, String)]) -> String {
        let method = self.method(id, name);
        let named = |argument: &str| self.argument(id, argument);
        let Self::JavaScript = self else {
            let arguments: Vec<_> =
                arguments.iter().map(|(argument, value)| (named(argument), value.clone())).collect();
            let arguments: Vec<_> =
                arguments.iter().map(|(argument, value)| (argument.as_str(), value.clone())).collect();
            return Plain.call(id, &method, &arguments);
        };
        let fields = arguments.iter().map(|(argument, value)| match value.parse::<u64>() {
            Ok(_) => format!("{}: {value}", named(argument)),
            Err(_) => format!("{}: {value:?}", named(argument)),
        });
        format!("{method}({{ {} }})", fields.collect::<Vec<_>>().join(", "))
    }

    fn continuation(&self, cursor: &str) -> String {
        match self {
            Self::Python => Plain.continuation(cursor),
            Self::JavaScript => format!("repeat the call with cursor: \"{cursor}\""),
        }
    }

    fn hint(&self, hint: Hint) -> &'static str {
        Plain.hint(hint)
    }
}

/// Lists a method for each tool, in the order of the registry.
pub fn methods() -> Vec<Method> {
    TOOLS.iter().map(|tool| method_of(*tool)).collect()
}

fn method_of(tool: &dyn AnyTool) -> Method {
    let guide = guide(tool.id());
    let text =
        |text: fn(&Guide) -> &'static str| guide.map_or_else(String::new, |guide| text(guide).to_owned());
    let name = &*tool.spec().method;
    let summary = guide.map_or_else(|| format!("{}.", tool.spec().title), |guide| guide.summary.to_owned());
    let details = text(|guide| guide.details);
    let arguments = parameters(tool.id(), &tool.whole_schema());
    let each = tool.piece_schema().map(|piece| {
        let arguments = parameters(tool.id(), &tool.each_schema());
        let summary = format!("Like `{name}`, but iterates over all results as they are found.");
        EachMethod { docstring: docstring(&summary, "", &arguments), arguments, piece }
    });
    Method {
        name: name.to_owned(),
        tool: tool.name().to_owned(),
        docstring: docstring(&summary, &details, &arguments),
        summary,
        details,
        python: text(|guide| guide.python),
        typescript: text(|guide| guide.typescript),
        arguments,
        answer: tool.answer_schema(),
        items: text(|guide| guide.items),
        each,
    }
}

/// Converts the schema of a tool's arguments to that of a method's parameters.
fn parameters(id: &str, schema: &Value) -> Value {
    let mut converted = schema.clone();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(argument, field)| {
        let name = parameter_of(id, argument);
        let mut field = field.clone();
        if let Some((_, description)) = PARAMETERS.iter().find(|(own, _)| *own == name) {
            field["description"] = (*description).into();
        }
        if TEXT_OR_LIST.contains(&name) {
            let description = field["description"].take();
            let text = json!({ "type": "string" });
            field =
                json!({ "description": description, "anyOf": [text, { "type": "array", "items": text }] });
        }
        (name.to_owned(), field)
    });
    converted["properties"] = Value::Object(fields.collect());
    converted
}
