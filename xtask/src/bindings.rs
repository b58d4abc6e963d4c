//! The types of the packages for other languages, written from the schemas of the tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use crate::cargo::{Workspace, printed};

/// Fields of an answer that its class has by itself.
const OWN: [&str; 3] = ["text", "found", "to_dict"];

/// Path and text of each file.
pub(crate) fn files(workspace: &Workspace) -> Result<Vec<(String, String)>, String> {
    let mut surface = workspace.program("cargo");
    surface.args(["run", "--quiet", "--package", "forage-bindings", "--example", "surface"]);
    let surface = printed(&mut surface, "the surface of the bindings")?;
    let surface: Value = serde_json::from_str(&surface).map_err(|error| error.to_string())?;
    let path = "crates/forage-python/python/forage/__init__.pyi".to_owned();
    Ok(vec![(path, python(&surface)?)])
}

/// The name of the class of a method's answers.
fn class_of_answer(method: &str) -> String {
    method.split('_').map(capitalized).collect::<String>() + "Answer"
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value, bool)> {
    let required = schema["required"].as_array();
    let is_required = move |name: &str| required.is_some_and(|all| all.iter().any(|it| it == name));
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields.map(move |(name, field)| (name, field, is_required(name)))
}

/// The stub of the Python package.
fn python(surface: &Value) -> Result<String, String> {
    let mut stub = PYTHON_HEAD.to_owned();
    let methods = surface["methods"].as_array().ok_or("there are no methods")?;
    for (code, description) in surface["errors"].as_array().into_iter().flatten().filter_map(pair) {
        let name = code.split('_').map(capitalized).collect::<String>() + "Error";
        write!(stub, "\nclass {name}(ForageError):\n    {}\n", documentation(description)).map_err(text)?;
    }
    let mut parts = BTreeMap::new();
    for method in methods {
        for schema in [&method["answer"], &method["piece"]] {
            let own = schema["title"].as_str().filter(|_| std::ptr::eq(schema, &method["piece"]));
            parts.extend(own.map(|name| (name.to_owned(), schema)));
            let definitions = schema["$defs"].as_object().into_iter().flatten();
            parts.extend(definitions.map(|(name, part)| (name.clone(), part)));
        }
    }
    for (name, part) in &parts {
        if part["properties"].is_object() {
            stub += &python_record(name, "Record", part, &[]);
        } else if part["oneOf"][0]["const"].is_string() {
            writeln!(stub, "\n{name} = {}", python_type(part, name)).map_err(text)?;
        }
    }
    let mut blocking = PYTHON_WORKSPACE.to_owned();
    let mut awaited = PYTHON_ASYNC_WORKSPACE.to_owned();
    for method in methods {
        let name = method["name"].as_str().ok_or("a method has no name")?;
        let answer = class_of_answer(name);
        stub += &python_record(&answer, "Answer", &method["answer"], &OWN);
        stub += &python_record(&format!("{answer}OfRoot"), "Record", &method["answer"], &["other_roots"]);
        let arguments = python_arguments(&method["arguments"]);
        let description = documentation(method["description"].as_str().unwrap_or_default());
        for (of_class, begin) in [(&mut blocking, "def"), (&mut awaited, "async def")] {
            write!(of_class, "    {begin} {name}(self, {arguments}) -> {answer}:\n        {description}\n")
                .map_err(text)?;
        }
        let Some(piece) = method["piece"]["title"].as_str() else { continue };
        for (of_class, of) in [(&mut blocking, "Each"), (&mut awaited, "AsyncEach")] {
            writeln!(of_class, "    def {name}_each(self, {arguments}) -> {of}[{piece}]: ...")
                .map_err(text)?;
        }
    }
    stub = stub + &blocking + &awaited;
    let class = |line: &str| Some(line.strip_prefix("class ")?.split(['(', ':']).next()?.to_owned());
    let alias = |line: &str| Some(line.split_once(" = Literal[")?.0.to_owned());
    let names = stub.lines().filter_map(|line| class(line).or_else(|| alias(line)));
    let names: BTreeSet<String> = names.filter(|name| !name.starts_with('_') && name != BUILT_IN).collect();
    let names: Vec<String> = names.iter().map(|name| format!("    {name:?},\n")).collect();
    Ok(stub.replace("__all__: list[str]", &format!("__all__ = [\n    \"__version__\",\n{}]", names.concat())))
}

/// The class that would hide one of Python's own from who imports all names.
const BUILT_IN: &str = "IndexError";

fn text(error: std::fmt::Error) -> String {
    error.to_string()
}

fn pair(value: &Value) -> Option<(&str, &str)> {
    Some((value[0].as_str()?, value[1].as_str()?))
}

fn documentation(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "\\\\");
    format!("\"\"\"{}\"\"\"", text.replace("\"\"\"", "'''").trim_end_matches('"'))
}

fn python_record(name: &str, base: &str, schema: &Value, without: &[&str]) -> String {
    let mut class = format!("\nclass {name}({base}):\n");
    let description = schema["description"].as_str().unwrap_or("What a tool found.");
    class += &format!("    {}\n", documentation(description));
    for (field, of, is_required) in fields(schema).filter(|(field, ..)| !without.contains(&field.as_str())) {
        let of_type = match python_type(of, name) {
            of_type if is_required || of_type.ends_with("None") => of_type,
            of_type => of_type + " | None",
        };
        let told = documentation(of["description"].as_str().unwrap_or_default());
        class += &format!("    @property\n    def {field}(self) -> {of_type}:\n        {told}\n");
    }
    class
}

/// The parameters of a method: what is needed and where it is looked for go without a name.
fn python_arguments(schema: &Value) -> String {
    let (mut required, mut place, mut optional) = (Vec::new(), Vec::new(), vec!["*".to_owned()]);
    for (name, field, is_required) in fields(schema) {
        let of_type = python_type(field, "");
        let or_none = if of_type.ends_with("None") { "" } else { " | None" };
        match (is_required, name.as_str()) {
            (true, _) => required.push(format!("{name}: {of_type}")),
            (false, "path") => place.push(format!("{name}: {of_type}{or_none} = None")),
            (false, _) => optional.push(format!("{name}: {of_type}{or_none} = None")),
        }
    }
    if optional.len() == 1 {
        optional.clear();
    }
    [required, place, optional].concat().join(", ")
}

/// A type; `own` is the class that `Answer` is of.
fn python_type(schema: &Value, own: &str) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        return match reference.rsplit('/').next().unwrap_or_default() {
            "Answer" => format!("{own}OfRoot"),
            // What a model was shown, in any of its forms.
            "ShownRecord" => "dict[str, Any]".to_owned(),
            name => name.to_owned(),
        };
    }
    for any in ["anyOf", "oneOf"] {
        if let Some(alternatives) = schema[any].as_array() {
            return union(alternatives.iter().map(|one| python_type(one, own)));
        }
    }
    if let Some(word) = schema["const"].as_str() {
        return format!("Literal[{word:?}]");
    }
    if let Some(words) = schema["enum"].as_array() {
        return union(words.iter().map(|word| match word.as_str() {
            Some(word) => format!("Literal[{word:?}]"),
            None => "None".to_owned(),
        }));
    }
    let of = |name: &str| match name {
        "string" => "str".to_owned(),
        "integer" => "int".to_owned(),
        "number" => "float".to_owned(),
        "boolean" => "bool".to_owned(),
        "null" => "None".to_owned(),
        // A workspace has a method of that name.
        "array" => format!("builtins.list[{}]", python_type(&schema["items"], own)),
        "object" if schema["additionalProperties"].is_object() => {
            format!("dict[str, {}]", python_type(&schema["additionalProperties"], own))
        }
        "object" => "dict[str, Any]".to_owned(),
        _ => "Any".to_owned(),
    };
    match &schema["type"] {
        Value::String(name) => of(name),
        Value::Array(names) => union(names.iter().filter_map(Value::as_str).map(of)),
        _ => "Any".to_owned(),
    }
}

/// One of several types, `None` behind the others.
fn union(alternatives: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    alternatives.for_each(|one| {
        if !all.contains(&one) {
            all.push(one)
        }
    });
    all.sort_by_key(|one| one == "None");
    let words: Option<Vec<&str>> =
        all.iter().map(|one| one.strip_prefix("Literal[")?.strip_suffix(']')).collect();
    match words {
        Some(words) => format!("Literal[{}]", words.join(", ")),
        None => all.join(" | "),
    }
}

const PYTHON_HEAD: &str = r#"# Written by `cargo xtask generate`; don't edit.
import builtins
import os
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ClassVar, Generic, Literal, TypeVar

__version__: str
__all__: list[str]

class ForageError(Exception):
    """A call has no answer. Each code has a class of its own, which is one of these."""
    code: str
    message: str
    hint: str | None
    transcript: dict[str, Any] | None
    def __init__(self, message: str, hint: str | None = None, transcript: dict[str, Any] | None = None) -> None: ...

class Record:
    """An object of JSON, whose fields are attributes. An optional field that is left out is `None`."""
    def __init__(self, fields: dict[str, Any]) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def to_dict(self) -> dict[str, Any]:
        """Returns what it is made of: the records that `--json` prints."""

class Answer(Record):
    """An answer: `text` for a model or a person, and the records of the tool as attributes."""
    def __init__(self, raw: Any) -> None: ...
    @property
    def text(self) -> str:
        """The answer as a model or a person reads it."""
    @property
    def found(self) -> bool:
        """Whether anything was found."""

class Asked(Answer):
    """The answer to a question; `to_dict()` is the transcript."""
    @property
    def answer(self) -> str:
        """What the model says."""

_Piece = TypeVar("_Piece", bound=Record, covariant=True)

class Each(Iterator[_Piece], Generic[_Piece]):
    """What is found, while it is found. `answer` has the counts once all of it was read."""
    answer: Answer | None
    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None: ...
    def __iter__(self) -> Each[_Piece]: ...
    def __next__(self) -> _Piece: ...
    def __enter__(self) -> Each[_Piece]: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Ends the search."""

class AsyncEach(AsyncIterator[_Piece], Generic[_Piece]):
    """The same for `async for`."""
    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None: ...
    @property
    def answer(self) -> Answer | None: ...
    def __aiter__(self) -> AsyncEach[_Piece]: ...
    async def __anext__(self) -> _Piece: ...
    async def __aenter__(self) -> AsyncEach[_Piece]: ...
    async def __aexit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Ends the search."""
"#;

const PYTHON_WORKSPACE: &str = r#"
class _Opened:
    def __init__(
        self,
        path: str | os.PathLike[str],
        *more: str | os.PathLike[str],
        index: bool | str | os.PathLike[str] | None = None,
        watch: bool | None = None,
        models: builtins.list[dict[str, Any]] | None = None,
        without_model: bool | None = None,
        show_secrets: bool | None = None,
        text_bytes: int | None = None,
        timeout_ms: int | None = None,
        threads: int | None = None,
        max_file_bytes: int | None = None,
        exclude: builtins.list[str] | None = None,
        allow_broad_root: bool | None = None,
    ) -> None: ...
    @property
    def roots(self) -> builtins.list[str]:
        """The directories, as answers name them."""
    def tools(self, format: Literal["openai", "openai-strict", "anthropic", "gemini", "mcp"] = "openai") -> builtins.list[dict[str, Any]]:
        """Returns the definitions of the tools for a model."""
    def close(self) -> None:
        """Ends what goes on in the background; calls that come later are refused."""

class Workspace(_Opened):
    """Directories with the tools on what is below them. A call blocks, and ends with Ctrl-C."""
    def __enter__(self) -> Workspace: ...
    def __exit__(self, *_: object) -> None: ...
    def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool by its name, as a model does: with a dictionary, or in the JSON that it wrote."""
    def ask(self, question: str, watch: Callable[[dict[str, Any]], None] | None = None) -> Asked:
        """Answers a question with an agent over the tools. `watch` is told of what happens meanwhile, from another thread."""
    def build_index(self) -> None:
        """Makes the index of lines, or brings it up to date."""
"#;

const PYTHON_ASYNC_WORKSPACE: &str = r#"
class AsyncWorkspace(_Opened):
    """The same for `asyncio`. A call that is cancelled ends its work."""
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool by its name, as a model does."""
    async def ask(self, question: str, watch: Callable[[dict[str, Any]], None] | None = None) -> Asked:
        """Answers a question with an agent over the tools. `watch` is told of what happens meanwhile, in the event loop."""
    async def build_index(self) -> None:
        """Makes the index of lines, or brings it up to date."""
"#;
