//! Generates the stub of the Python package.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Surface, TypeNames, fields, pascal, type_of};

/// Fields of an answer that its class defines on its own.
const OWN: [&str; 3] = ["text", "found", "to_dict"];

pub(super) fn stub(surface: &Surface) -> String {
    let mut stub = HEAD.to_owned();
    for error in &surface.errors {
        let description = documentation(&error.description);
        stub += &format!("\nclass {}(ForageError):\n    {description}\n", error.name);
    }
    for (name, part) in surface.records() {
        stub += &record(name, "Record", part, &[]);
    }
    for (name, part) in surface.words() {
        stub += &format!("\n{name} = {}\n", type_of(&Python::RECORDS, part, name));
    }
    let mut blocking = WORKSPACE.to_owned();
    let mut awaited = ASYNC_WORKSPACE.to_owned();
    for method in &surface.methods {
        let (name, answer) = (&method.name, pascal(&method.name) + "Answer");
        stub += &record(&answer, "Answer", &method.answer, &OWN);
        if let Some(item) = method.item() {
            let item = type_of(&Python::RECORDS, item, &answer);
            stub += &format!(
                "    def __iter__(self) -> Iterator[{item}]: ...\n    def __len__(self) -> int: ...\n"
            );
        }
        stub += &record(&format!("{answer}OfRoot"), "Record", &method.answer, &["other_roots"]);
        let arguments = parameters(&method.arguments);
        let signature = format!("def {name}(self, {arguments}) -> {answer}:\n");
        blocking += &format!("    {signature}{}", docstring(&method.docstring, &method.python));
        awaited += &format!("    async {signature}{}", docstring(&method.docstring, ""));
        let Some(each) = &method.each else { continue };
        let arguments = parameters(&each.arguments);
        for (of_class, of) in [(&mut blocking, "Each"), (&mut awaited, "AsyncEach")] {
            *of_class +=
                &format!("    def {name}_each(self, {arguments}) -> {of}[{}, {answer}]:\n", each.item());
            *of_class += &docstring(&each.docstring, "");
        }
    }
    stub = stub + &blocking + &awaited;
    let class = |line: &str| Some(line.strip_prefix("class ")?.split(['(', ':']).next()?.to_owned());
    let alias = |line: &str| Some(line.split_once(" = Literal[")?.0.to_owned());
    let imported = |line: &str| {
        let (name, again) = line.strip_prefix("    ")?.split_once(" as ")?;
        (again.strip_suffix(',') == Some(name)).then(|| name.to_owned())
    };
    let names =
        stub.lines().filter_map(|line| class(line).or_else(|| alias(line)).or_else(|| imported(line)));
    let names: BTreeSet<String> = names.filter(|name| !name.starts_with('_')).collect();
    let names: Vec<String> = names.iter().map(|name| format!("    {name:?},\n")).collect();
    stub.replace("__all__: list[str]", &format!("__all__ = [\n    \"__version__\",\n{}]", names.concat()))
}

/// Formats the docstring of a method as the package composes it.
fn docstring(text: &str, example: &str) -> String {
    let indented = |text: &str, indent: &str| {
        let line = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") };
        text.lines().map(line).collect::<String>()
    };
    let mut text = indented(text, "        ");
    if !example.is_empty() {
        text += &format!("\n        Example:\n{}", indented(example, "            "));
    }
    format!("        \"\"\"{}        \"\"\"\n", text.trim_start().replace('\\', "\\\\"))
}

fn documentation(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "\\\\");
    // A quote at the end would end the docstring one character early.
    format!("\"\"\"{}\"\"\"", text.replace("\"\"\"", "'''").trim_end_matches('"'))
}

/// Words that can't be names in Python.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

fn record(name: &str, base: &str, schema: &Value, without: &[&str]) -> String {
    let mut class = format!("\nclass {name}({base}):\n");
    let description = schema["description"].as_str().unwrap_or("The records of an answer.");
    class += &format!("    {}\n", documentation(description));
    for (field, of, is_required) in fields(schema).filter(|(field, ..)| !without.contains(&field.as_str())) {
        let of_type = match type_of(&Python::RECORDS, of, name) {
            of_type if is_required || of_type.ends_with("None") => of_type,
            of_type => of_type + " | None",
        };
        let description = documentation(of["description"].as_str().unwrap_or_default());
        assert!(!KEYWORDS.contains(&field.as_str()), "{name}.{field}: Python reserves this name");
        class += &format!("    @property\n    def {field}(self) -> {of_type}:\n        {description}\n");
    }
    class
}

/// Formats the parameters of a method. The required ones, the query and the location to search are
/// positional.
fn parameters(schema: &Value) -> String {
    let (mut required, mut place, mut optional) = (Vec::new(), Vec::new(), vec!["*".to_owned()]);
    for (name, field, is_required) in fields(schema) {
        let of_type = type_of(&Python::ARGUMENTS, field, "");
        let or_none = if of_type.ends_with("None") { "" } else { " | None" };
        match (is_required, name.as_str()) {
            (true, _) => required.push(format!("{name}: {of_type}")),
            // A query is optional where other code can take its place.
            (false, "query" | "path") => place.push(format!("{name}: {of_type}{or_none} = None")),
            (false, _) => optional.push(format!("{name}: {of_type}{or_none} = None")),
        }
    }
    if optional.len() == 1 {
        optional.clear();
    }
    [required, place, optional].concat().join(", ")
}

struct Python {
    /// The name of the type of lists.
    list: &'static str,
}

impl Python {
    /// A workspace has a method named `list`, so we need the qualified name.
    const RECORDS: Self = Self { list: "builtins.list" };
    const ARGUMENTS: Self = Self { list: "Sequence" };
}

impl TypeNames for Python {
    fn plain(&self, name: &str) -> String {
        match name {
            "string" => "str",
            "integer" => "int",
            "number" => "float",
            "boolean" => "bool",
            "null" => "None",
            "object" => "dict[str, Any]",
            _ => "Any",
        }
        .to_owned()
    }

    fn list(&self, of: String) -> String {
        format!("{}[{of}]", self.list)
    }

    fn map(&self, of: String) -> String {
        format!("dict[str, {of}]")
    }

    fn union(&self, all: Vec<String>) -> String {
        let words: Option<Vec<&str>> =
            all.iter().map(|one| one.strip_prefix("Literal[")?.strip_suffix(']')).collect();
        words.map_or_else(|| all.join(" | "), |words| format!("Literal[{}]", words.join(", ")))
    }

    fn word(&self, word: &str) -> String {
        format!("Literal[{word:?}]")
    }

    fn other_root(&self, own: &str) -> String {
        format!("{own}OfRoot")
    }
}

const HEAD: &str = include_str!("head.pyi.txt");

/// The classes, without the docstrings of their own methods, which editors take from the source.
const WORKSPACE: &str = include_str!("workspace.pyi.txt");

const ASYNC_WORKSPACE: &str = include_str!("async_workspace.pyi.txt");
