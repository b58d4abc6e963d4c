//! Generates the stub of the Python package.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Surface, TypeNames, fields, pascal, type_of};

/// Fields of an answer that its class defines on its own.
const OWN: [&str; 3] = ["text", "found", "to_dict"];

pub(super) fn stub(surface: &Surface<'_>) -> String {
    let mut stub = HEAD.to_owned();
    for error in &surface.errors {
        let description = documentation(error.description);
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
        let (name, answer) = (method.name, pascal(method.name) + "Answer");
        stub += &record(&answer, "Answer", method.answer, &OWN);
        if let Some((_, items)) = method.items {
            let item = type_of(&Python::RECORDS, &items["items"], &answer);
            stub += &format!(
                "    def __iter__(self) -> Iterator[{item}]: ...\n    def __len__(self) -> int: ...\n"
            );
        }
        stub += &record(&format!("{answer}OfRoot"), "Record", method.answer, &["other_roots"]);
        let arguments = parameters(method.arguments);
        let signature = format!("def {name}(self, {arguments}) -> {answer}:\n");
        blocking += &format!("    {signature}{}", docstring(method.docstring, method.python));
        awaited += &format!("    async {signature}{}", docstring(method.docstring, ""));
        let Some(each) = &method.each else { continue };
        let arguments = parameters(each.arguments);
        for (of_class, of) in [(&mut blocking, "Each"), (&mut awaited, "AsyncEach")] {
            *of_class +=
                &format!("    def {name}_each(self, {arguments}) -> {of}[{}, {answer}]:\n", each.piece);
            *of_class += &docstring(each.docstring, "");
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
        class += &format!("    @property\n    def {field}(self) -> {of_type}:\n        {description}\n");
    }
    class
}

/// Formats the parameters of a method. The required ones and the location to search are positional.
fn parameters(schema: &Value) -> String {
    let (mut required, mut place, mut optional) = (Vec::new(), Vec::new(), vec!["*".to_owned()]);
    for (name, field, is_required) in fields(schema) {
        let of_type = type_of(&Python::ARGUMENTS, field, "");
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

    fn of_root(&self, own: &str) -> String {
        format!("{own}OfRoot")
    }
}

const HEAD: &str = r#"import builtins
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, ClassVar, Generic, Literal, TypeVar

from ._settings import (
    AskEvent as AskEvent,
    AskingEvent as AskingEvent,
    CallEndedEvent as CallEndedEvent,
    CallStartedEvent as CallStartedEvent,
    CollectionSettings as CollectionSettings,
    FailedEvent as FailedEvent,
    FilterSettings as FilterSettings,
    MadeRoomEvent as MadeRoomEvent,
    ModelSettings as ModelSettings,
    SaidEvent as SaidEvent,
    TelemetryEvent as TelemetryEvent,
    TextEvent as TextEvent,
)

__version__: str
__all__: list[str]

class ForageError(Exception):
    """A call has no answer. Each code has its own subclass."""
    code: str
    message: str
    hint: str | None
    text: str
    transcript: dict[str, Any] | None
    def __init__(self, message: str, hint: str | None = None, text: str | None = None, transcript: dict[str, Any] | None = None) -> None: ...

class Record:
    """An object with the fields of a JSON object as attributes. An optional field that is absent is `None`."""
    def __init__(self, fields: dict[str, Any]) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON object: what `--json` prints."""

class Answer(Record):
    """An answer: `text` for a model or a person, and the records of the tool as attributes. True if anything was found."""
    def __init__(self, raw: Any) -> None: ...
    def __bool__(self) -> bool: ...
    @property
    def text(self) -> str:
        """The answer as a model or a person reads it."""
    @property
    def found(self) -> bool:
        """Whether anything was found."""

class Asked(Answer):
    """The answer to a question; `to_dict()` returns the transcript."""
    @property
    def answer(self) -> str:
        """The answer of the model."""

_Piece = TypeVar("_Piece", bound=Record, covariant=True)
_Answer = TypeVar("_Answer", bound=Answer, covariant=True)

class Each(Iterator[_Piece], Generic[_Piece, _Answer]):
    """The results of a search that runs while they are read. `answer` has the counts once all have been read."""
    @property
    def answer(self) -> _Answer | None: ...
    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None: ...
    def __iter__(self) -> Each[_Piece, _Answer]: ...
    def __next__(self) -> _Piece: ...
    def __enter__(self) -> Each[_Piece, _Answer]: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Ends the search."""

class AsyncEach(AsyncIterator[_Piece], Generic[_Piece, _Answer]):
    """The results of a search for `async for`."""
    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None: ...
    @property
    def answer(self) -> _Answer | None: ...
    def __aiter__(self) -> AsyncEach[_Piece, _Answer]: ...
    async def __anext__(self) -> _Piece: ...
    async def __aenter__(self) -> AsyncEach[_Piece, _Answer]: ...
    async def __aexit__(self, *_: object) -> None: ...
    def close(self) -> None:
        """Ends the search."""
"#;

/// The classes, without the docstrings of their own methods, which editors take from the source.
const WORKSPACE: &str = r#"
class _Opened:
    def __init__(
        self,
        *paths: str | os.PathLike[str],
        index: bool | str | os.PathLike[str] | None = None,
        watch: bool | None = None,
        models: Sequence[ModelSettings] | None = None,
        collection: CollectionSettings | None = None,
        without_model: bool | None = None,
        filter: FilterSettings | None = None,
        show_secrets: bool | None = None,
        text_bytes: int | None = None,
        timeout_ms: int | None = None,
        threads: int | None = None,
        max_file_bytes: int | None = None,
        exclude: Sequence[str] | None = None,
        allow_broad_root: bool | None = None,
        on_telemetry: Callable[[TelemetryEvent], object] | None = None,
    ) -> None: ...
    @property
    def roots(self) -> builtins.list[str]: ...
    def tools(
        self,
        format: Literal["openai", "openai-strict", "anthropic", "gemini", "mcp"] = "openai",
        only: Sequence[str] | None = None,
    ) -> builtins.list[dict[str, Any]]: ...
    def close(self) -> None: ...

class Workspace(_Opened):
    def __enter__(self) -> Workspace: ...
    def __exit__(self, *_: object) -> None: ...
    def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer: ...
    def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked: ...
    def build_index(self) -> None: ...
"#;

const ASYNC_WORKSPACE: &str = r#"
class AsyncWorkspace(_Opened):
    async def aclose(self) -> None: ...
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer: ...
    async def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked: ...
    async def build_index(self) -> None: ...
"#;
