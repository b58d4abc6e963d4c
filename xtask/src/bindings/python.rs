//! Generates the stub of the Python package.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Surface, TypeNames, fields, pascal, type_of};

/// Fields of an answer that its class defines itself.
const OWN: [&str; 3] = ["text", "found", "to_dict"];

/// A class that would hide a built-in exception after `import *`.
const BUILT_IN: &str = "IndexError";

pub(super) fn stub(surface: &Surface<'_>) -> String {
    let mut stub = HEAD.to_owned();
    for (code, description) in &surface.errors {
        let description = documentation(description);
        stub += &format!("\nclass {}Error(ForageError):\n    {description}\n", pascal(code));
    }
    for (name, part) in surface.records() {
        stub += &record(name, "Record", part, &[]);
    }
    for (name, part) in surface.words() {
        stub += &format!("\n{name} = {}\n", type_of(&Python, part, name));
    }
    let mut blocking = WORKSPACE.to_owned();
    let mut awaited = ASYNC_WORKSPACE.to_owned();
    for method in &surface.methods {
        let (name, answer) = (method.name, pascal(method.name) + "Answer");
        stub += &record(&answer, "Answer", method.answer, &OWN);
        stub += &record(&format!("{answer}OfRoot"), "Record", method.answer, &["other_roots"]);
        let arguments = parameters(method.arguments);
        let description = documentation(method.description);
        for (of_class, begin) in [(&mut blocking, "def"), (&mut awaited, "async def")] {
            *of_class +=
                &format!("    {begin} {name}(self, {arguments}) -> {answer}:\n        {description}\n");
        }
        let Some((arguments, piece)) = method.each else { continue };
        let arguments = parameters(arguments);
        for (of_class, of) in [(&mut blocking, "Each"), (&mut awaited, "AsyncEach")] {
            *of_class += &format!("    def {name}_each(self, {arguments}) -> {of}[{piece}]: ...\n");
        }
    }
    stub = stub + &blocking + &awaited;
    let class = |line: &str| Some(line.strip_prefix("class ")?.split(['(', ':']).next()?.to_owned());
    let alias = |line: &str| Some(line.split_once(" = Literal[")?.0.to_owned());
    let names = stub.lines().filter_map(|line| class(line).or_else(|| alias(line)));
    let names: BTreeSet<String> = names.filter(|name| !name.starts_with('_') && name != BUILT_IN).collect();
    let names: Vec<String> = names.iter().map(|name| format!("    {name:?},\n")).collect();
    stub.replace("__all__: list[str]", &format!("__all__ = [\n    \"__version__\",\n{}]", names.concat()))
}

fn documentation(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('\\', "\\\\");
    format!("\"\"\"{}\"\"\"", text.replace("\"\"\"", "'''").trim_end_matches('"'))
}

fn record(name: &str, base: &str, schema: &Value, without: &[&str]) -> String {
    let mut class = format!("\nclass {name}({base}):\n");
    let description = schema["description"].as_str().unwrap_or("What a tool found.");
    class += &format!("    {}\n", documentation(description));
    for (field, of, is_required) in fields(schema).filter(|(field, ..)| !without.contains(&field.as_str())) {
        let of_type = match type_of(&Python, of, name) {
            of_type if is_required || of_type.ends_with("None") => of_type,
            of_type => of_type + " | None",
        };
        let told = documentation(of["description"].as_str().unwrap_or_default());
        class += &format!("    @property\n    def {field}(self) -> {of_type}:\n        {told}\n");
    }
    class
}

/// Returns the parameters of a method. Required ones and the location to search are positional.
fn parameters(schema: &Value) -> String {
    let (mut required, mut place, mut optional) = (Vec::new(), Vec::new(), vec!["*".to_owned()]);
    for (name, field, is_required) in fields(schema) {
        let of_type = type_of(&Python, field, "");
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

struct Python;

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
        // A workspace has a method of that name.
        format!("builtins.list[{of}]")
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
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ClassVar, Generic, Literal, TypeVar

__version__: str
__all__: list[str]

class ForageError(Exception):
    """A call has no answer. Each code has a class of its own, which is one of these."""
    code: str
    message: str
    hint: str | None
    text: str
    transcript: dict[str, Any] | None
    def __init__(self, message: str, hint: str | None = None, text: str | None = None, transcript: dict[str, Any] | None = None) -> None: ...

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

const WORKSPACE: &str = r#"
class _Opened:
    def __init__(
        self,
        *paths: str | os.PathLike[str],
        index: bool | str | os.PathLike[str] | None = None,
        watch: bool | None = None,
        models: builtins.list[dict[str, Any]] | None = None,
        collection: dict[str, Any] | None = None,
        without_model: bool | None = None,
        filter: dict[str, Any] | None = None,
        show_secrets: bool | None = None,
        text_bytes: int | None = None,
        timeout_ms: int | None = None,
        threads: int | None = None,
        max_file_bytes: int | None = None,
        exclude: builtins.list[str] | None = None,
        allow_broad_root: bool | None = None,
        on_telemetry: Callable[[dict[str, Any]], None] | None = None,
    ) -> None: ...
    @property
    def roots(self) -> builtins.list[str]:
        """The directories, as answers name them."""
    def tools(
        self,
        format: Literal["openai", "openai-strict", "anthropic", "gemini", "mcp"] = "openai",
        only: builtins.list[str] | None = None,
    ) -> builtins.list[dict[str, Any]]:
        """Returns the definitions of the tools for a model; with `only` those that it names."""
    def close(self) -> None:
        """Ends what goes on in the background, and waits for that, a second and a half at the most; calls that come later are refused."""

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

const ASYNC_WORKSPACE: &str = r#"
class AsyncWorkspace(_Opened):
    """The same for `asyncio`. A call that is cancelled ends its work."""
    async def aclose(self) -> None:
        """The same as `close`, while the event loop goes on."""
    async def __aenter__(self) -> AsyncWorkspace: ...
    async def __aexit__(self, *_: object) -> None: ...
    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool by its name, as a model does."""
    async def ask(self, question: str, watch: Callable[[dict[str, Any]], None] | None = None) -> Asked:
        """Answers a question with an agent over the tools. `watch` is told of what happens meanwhile, in the event loop."""
    async def build_index(self) -> None:
        """Makes the index of lines, or brings it up to date."""
"#;
