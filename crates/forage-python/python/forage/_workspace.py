"""Workspaces: directories, and the tools that search them.

The methods are created from the tools of the native module.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from types import GenericAlias
from typing import Any, Literal, Optional, Union

from . import _forage
from ._records import Answer, Record, Schemas
from ._settings import AskEvent, CollectionSettings, FilterSettings, ModelSettings, TelemetryEvent

METHODS: list[dict[str, Any]] = json.loads(_forage.methods())

SCHEMAS = Schemas()

_TYPES = {"string": str, "integer": int, "boolean": bool, "number": float, "object": dict}


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _json(arguments: dict[str, Any] | str | None) -> str:
    """Returns arguments as JSON. A string is JSON that a model wrote."""
    if isinstance(arguments, str):
        return arguments or "{}"
    return json.dumps(arguments or {}, default=_path)


def _path(value: Any) -> str:
    """Returns a path as a string. Refuses other types that JSON can't represent."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else None
    if not isinstance(path, str):
        raise TypeError(f"{type(value).__name__} is neither a path nor a JSON value")
    return path


def _settings(settings: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in settings.items() if value is not None}, default=_path)


class Asked(Answer):
    """The answer to a question. ``text`` adds notes to it, and ``to_dict()`` returns the transcript."""

    __slots__ = ()

    @property
    def found(self) -> bool:
        """Whether there is an answer; one without is an error."""
        return True

    @property
    def answer(self) -> str:
        """The answer of the model."""
        return str(self.to_dict()["answer"])


class Each(Iterator[Record]):
    """The results of a search that runs while they are read. Leave it, or ``close`` it, to end the search."""

    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None:
        self._pieces = pieces
        self._piece_class, self._answer_class = piece, answer
        self._ready: deque[str] = deque()
        self._answer: Answer | None = None

    @property
    def answer(self) -> Answer | None:
        """The answer with the counts, once all results have been read."""
        return self._answer

    def __iter__(self) -> Each:
        return self

    def __next__(self) -> Record:
        while True:
            piece = self._next()
            if piece is not None:
                return piece
            batch = self._pieces.next()
            if batch is None:
                raise StopIteration
            self._take(batch)

    def _next(self) -> Record | None:
        """Returns a result that has arrived. Another reader may have taken the last one."""
        try:
            return self._piece_class(json.loads(self._ready.popleft()))
        except IndexError:
            return None

    def _take(self, batch: tuple[list[str], Any]) -> None:
        pieces, answer = batch
        self._ready.extend(pieces)
        if answer is not None:
            self._answer = self._answer_class(answer)

    def close(self) -> None:
        """Ends the search."""
        self._pieces.close()

    def __enter__(self) -> Each:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEach(AsyncIterator[Record]):
    """The results of a search for ``async for``. Otherwise like :class:`Each`."""

    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None:
        self._each = Each(pieces, piece, answer)

    @property
    def answer(self) -> Answer | None:
        """The answer with the counts, once all results have been read."""
        return self._each.answer

    def __aiter__(self) -> AsyncEach:
        return self

    async def __anext__(self) -> Record:
        each = self._each
        while True:
            piece = each._next()
            if piece is not None:
                return piece
            try:
                batch = await _awaited(lambda _, done: each._pieces.start(done))
            except asyncio.CancelledError:
                each.close()
                raise
            if batch is None:
                raise StopAsyncIteration
            each._take(batch)

    def close(self) -> None:
        """Ends the search."""
        self._each.close()

    async def __aenter__(self) -> AsyncEach:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


#: Arguments of a workspace that are passed to the native module separately.
_NO_SETTINGS = ("self", "paths", "on_telemetry", "__class__")


class _Opened:
    """Base of both kinds of workspaces."""

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
    ) -> None:
        """Opens directories. Settings that are omitted are as on the command line, but its configuration file is not read.

        Args:
            paths: The directories, each widened to the git repository that contains it. There may be none if you only use
                `lookup` on a `collection`.
            index: Whether to use indexes, or the directory to store them in.
            watch: Watch the tree and keep its index in memory, for a long-running program.
            models: The models for `keyword_search` and `ask`, in order of preference.
            collection: The collection for `lookup`.
            without_model: Let `keyword_search` rank its results without a model.
            filter: How `keyword_search` filters.
            show_secrets: Return secrets unchanged. By default they are removed from every answer.
            text_bytes: Maximum bytes of an answer's text, 2000 to 100000.
            timeout_ms: Time limit of every call in milliseconds, 100 to 300000.
            threads: Threads of a call, up to 256 (default: one per processor).
            max_file_bytes: Do not search files that are larger than this.
            exclude: Globs of files that are excluded everywhere.
            allow_broad_root: Allow a root as broad as a home directory.
            on_telemetry: Called with an event for each call, on the thread that makes the call.
        """
        settings = {name: value for name, value in locals().items() if name not in _NO_SETTINGS}
        directories = [os.fspath(path) for path in paths]
        self._raw = _forage.RawToolbox(directories, _settings(settings), _watcher(on_telemetry))

    @property
    def roots(self) -> list[str]:
        """The directories, as answers name them."""
        return self._raw.roots()

    def tools(
        self,
        format: Literal["openai", "openai-strict", "anthropic", "gemini", "mcp"] = "openai",
        only: Sequence[str] | None = None,
    ) -> list[dict[str, Any]]:
        """Returns the definitions of the tools for a model.

        Args:
            format: The form that the model's provider expects.
            only: Names of tools to define, including those that are off by default (default: all that are on).

        Example:
            >>> [tool["name"] for tool in workspace.tools("mcp", only=["grep_search"])]
            ['grep_search']
        """
        named = None if only is None else list(only)
        definitions: list[dict[str, Any]] = json.loads(self._raw.definitions(format, named))
        return definitions

    def close(self) -> None:
        """Refuses further calls and ends background work. Waits up to 1.5 seconds for an index that is being written."""
        self._raw.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.roots))})"


class Workspace(_Opened):
    """Directories, and the tools that search them. Calls let other threads run, and Ctrl-C ends them.

    >>> import forage
    >>> workspace = forage.Workspace(".", index=False)
    >>> answer = workspace.grep("^def main", file_pattern="*.py")
    >>> answer.match_count
    1
    >>> print(answer.text)  # doctest: +ELLIPSIS
    Found 1 match in 1 file:...
    """

    def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool as a model does.

        Args:
            name: Name of the tool, as in its definition.
            arguments: Arguments of the tool, as a dictionary or as the JSON that the model wrote.

        Example:
            >>> workspace.call("grep_search", '{"pattern": "retry"}').found
            True
        """
        return _answer_class(name)(self._raw.call(name, _json(arguments), _forage.Stop(), _on_main_thread()))

    def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked:
        """Answers a question with an agent that uses the tools. The workspace needs `models`.

        Args:
            question: The question.
            watch: Called with each event while the question is answered, on another thread.
        """
        callback = _watcher(watch)
        return Asked(self._raw.ask(question, _forage.Stop(), _on_main_thread(), callback))

    def build_index(self) -> None:
        """Builds the index, or updates it."""
        self._raw.build_index(_forage.Stop(), _on_main_thread())

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncWorkspace(_Opened):
    """Directories, and the tools that search them, for ``asyncio``. Cancelling a call ends its work."""

    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool as a model does.

        Args:
            name: Name of the tool, as in its definition.
            arguments: Arguments of the tool, as a dictionary or as the JSON that the model wrote.
        """
        arguments_json = _json(arguments)
        return _answer_class(name)(await _awaited(lambda stop, done: self._raw.start(name, arguments_json, stop, done)))

    async def ask(self, question: str, watch: Callable[[AskEvent], object] | None = None) -> Asked:
        """Answers a question with an agent that uses the tools. The workspace needs `models`.

        Args:
            question: The question.
            watch: Called with each event while the question is answered, in the event loop.
        """
        callback = None
        if watch is not None:
            loop, inner = asyncio.get_running_loop(), watch

            def forward(event: AskEvent) -> None:
                loop.call_soon_threadsafe(inner, event)

            callback = _watcher(forward)
        return Asked(await _awaited(lambda stop, done: self._raw.start_ask(question, stop, callback, done)))

    async def build_index(self) -> None:
        """Builds the index, or updates it."""
        stop = _forage.Stop()
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._raw.build_index, stop, False)
        except asyncio.CancelledError:
            stop.cancel()
            raise

    async def aclose(self) -> None:
        """Like ``close``, without blocking the event loop."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    async def __aenter__(self) -> AsyncWorkspace:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


#: The class of the answers of each tool, by its name.
ANSWERS: dict[str, type[Answer]] = {}


def _answer_class(name: str) -> type[Answer]:
    return ANSWERS.get(name, Answer)


def _watcher(watch: Callable[[Any], object] | None) -> Callable[[str], object] | None:
    return None if watch is None else lambda event: watch(json.loads(event))


async def _awaited(start: Callable[[Any, Callable[[Any, Any], None]], None]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    stop = _forage.Stop()

    def settle(answer: Any, error: Any) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(answer)
        else:
            future.set_exception(error)

    def done(answer: Any, error: Any) -> None:
        # Nothing awaits the result after the loop has been closed.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer, error)

    start(stop, done)
    try:
        return await future
    except BaseException:
        # The task was cancelled, or the owner of the coroutine closed it.
        stop.cancel()
        raise


def _annotation(schema: dict[str, Any]) -> Any:
    """Returns the type annotation of a parameter."""
    if "anyOf" in schema:
        return Union[tuple(_annotation(one) for one in schema["anyOf"])]
    if "enum" in schema:
        return Literal[tuple(schema["enum"])]
    if schema.get("type") == "array":
        return GenericAlias(Sequence, (_annotation(schema.get("items", {})),))
    return _TYPES.get(schema.get("type", ""), Any)


def _signature(schema: dict[str, Any], result: Any) -> inspect.Signature:
    required = schema.get("required", [])
    # Required parameters, the query and the location to search are also positional.
    positions = {"query": 0, "path": 1}
    order = lambda field: (field[0] not in required, positions.get(field[0], 2))  # noqa: E731
    fields = sorted(schema["properties"].items(), key=order)
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, field in fields:
        is_positional = name in required or name in positions
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if is_positional else inspect.Parameter.KEYWORD_ONLY
        annotation = _annotation(field)
        if name in required:
            parameters.append(inspect.Parameter(name, kind, annotation=annotation))
        else:
            parameters.append(inspect.Parameter(name, kind, default=None, annotation=Optional[annotation]))
    return inspect.Signature(parameters, return_annotation=result)


def _documentation(docstring: str, example: str) -> str:
    if not example:
        return docstring
    lines = "\n".join(f"    {line}" for line in example.splitlines())
    return f"{docstring}\n\nExample:\n{lines}\n"


def _arguments_json(signature: inspect.Signature, tool: str, args: tuple[Any, ...], arguments: dict[str, Any]) -> str:
    # The native module checks the names. We only name the positional arguments.
    if args:
        try:
            bound = signature.bind_partial(None, *args)
        except TypeError as error:
            raise TypeError(f"{tool}: {error}") from None
        for name, value in bound.arguments.items():
            if name == "self":
                continue
            if name in arguments:
                raise TypeError(f"{tool}: {name!r} is given twice")
            arguments[name] = value
    return _json({name: value for name, value in arguments.items() if value is not None})


def class_of_answer(method: str) -> str:
    """Returns the name of the class of a method's answers: `KeywordSearchAnswer` for `keyword_search`."""
    return "".join(part.capitalize() for part in method.split("_")) + "Answer"


def _add(method: dict[str, Any]) -> None:
    tool, name = method["tool"], method["name"]
    arguments_schema = method["arguments"]
    signature = _signature(arguments_schema, Answer)
    schema, class_name = method["answer"], class_of_answer(name)
    answer_class = ANSWERS[tool] = SCHEMAS.answer(class_name, schema, method["items"])
    # The answer of another root has no text.
    fields = {field: field_schema for field, field_schema in schema["properties"].items() if field != "other_roots"}
    root_class = SCHEMAS.record(f"{class_name}OfRoot", {**schema, "properties": fields}, schema["$defs"])
    unread = SCHEMAS.record("UnreadRoot", schema["$defs"]["UnreadRoot"], {})

    def other_roots(self: Answer) -> list[Record]:
        others = self.to_dict().get("other_roots", [])
        return [(root_class if root_class._required <= other.keys() else unread)(other) for other in others]

    setattr(answer_class, "other_roots", property(other_roots, doc="The answers of the other roots."))

    def call(self: Any, /, *args: Any, **arguments: Any) -> Answer:
        arguments_json = _arguments_json(signature, name, args, arguments)
        return answer_class(self._raw.call(name, arguments_json, _forage.Stop(), _on_main_thread(), True))

    async def call_async(self: Any, /, *args: Any, **arguments: Any) -> Answer:
        arguments_json = _arguments_json(signature, name, args, arguments)
        return answer_class(await _awaited(lambda stop, done: self._raw.start(name, arguments_json, stop, done, True)))

    example = method["python"]
    methods: list[tuple[type[_Opened], str, Any, dict[str, Any], Any, str]] = [
        (Workspace, name, call, arguments_schema, answer_class, _documentation(method["docstring"], example)),
        (AsyncWorkspace, name, call_async, arguments_schema, answer_class, method["docstring"]),
    ]
    if method["each"]:
        each_schema, piece = method["each"]["arguments"], method["each"]["piece"]
        each_signature = _signature(each_schema, Each)
        piece_class = SCHEMAS.record(piece["title"], piece, piece.get("$defs", {}))

        def each(self: Any, /, *args: Any, **arguments: Any) -> Each:
            arguments_json = _arguments_json(each_signature, name, args, arguments)
            return Each(self._raw.each(name, arguments_json, _forage.Stop()), piece_class, answer_class)

        def each_async(self: Any, /, *args: Any, **arguments: Any) -> AsyncEach:
            arguments_json = _arguments_json(each_signature, name, args, arguments)
            return AsyncEach(self._raw.each(name, arguments_json, _forage.Stop()), piece_class, answer_class)

        docstring = method["each"]["docstring"]
        methods += [
            (Workspace, f"{name}_each", each, each_schema, Each, docstring),
            (AsyncWorkspace, f"{name}_each", each_async, each_schema, AsyncEach, docstring),
        ]
    for owner, method_name, function, parameters, result, docstring in methods:
        function.__name__ = method_name
        function.__qualname__ = f"{owner.__name__}.{method_name}"
        function.__doc__ = docstring
        function.__signature__ = _signature(parameters, result)
        setattr(owner, method_name, function)


for _method in METHODS:
    _add(_method)
