"""Workspaces: directories, and the tools on what is below them.

The methods are made of the tools that the native part has, so that all of them are here.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Optional

from . import _forage
from ._records import Answer, Record, Schemas

METHODS: list[dict[str, Any]] = json.loads(_forage.methods())

SCHEMAS = Schemas()

_TYPES = {"string": str, "integer": int, "boolean": bool, "number": float, "array": list, "object": dict}


def _on_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _json(arguments: dict[str, Any] | str | None) -> str:
    """Arguments as JSON; a model's are that already."""
    if isinstance(arguments, str):
        return arguments or "{}"
    return json.dumps(arguments or {}, default=_path)


def _path(value: Any) -> str:
    """A path as text, which is all that is taken beside JSON's own types."""
    path = os.fspath(value) if isinstance(value, os.PathLike) else None
    if not isinstance(path, str):
        raise TypeError(f"{type(value).__name__} is neither a path nor what JSON has")
    return path


def _settings(given: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in given.items() if value is not None}, default=_path)


class Asked(Answer):
    """The answer to a question: ``answer`` is what the model says, ``text`` that with what must be known of it."""

    __slots__ = ()

    @property
    def found(self) -> bool:
        """Whether there is an answer; one without is an error."""
        return True

    @property
    def answer(self) -> str:
        """What the model says."""
        return str(self.to_dict()["answer"])


class Each(Iterator[Record]):
    """What is found, while it is found. ``answer`` has the counts once all of it was read."""

    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None:
        self._pieces = pieces
        self._of_piece, self._of_answer = piece, answer
        self._ready: deque[str] = deque()
        self.answer: Answer | None = None

    def __iter__(self) -> Each:
        return self

    def __next__(self) -> Record:
        while True:
            piece = self._next()
            if piece is not None:
                return piece
            told = self._pieces.next()
            if told is None:
                raise StopIteration
            self._take(told)

    def _next(self) -> Record | None:
        """One of those that are there; another reader may take the last of them."""
        try:
            return self._of_piece(json.loads(self._ready.popleft()))
        except IndexError:
            return None

    def _take(self, told: tuple[list[str], Any]) -> None:
        pieces, answer = told
        self._ready.extend(pieces)
        if answer is not None:
            self.answer = self._of_answer(answer)

    def close(self) -> None:
        """Ends the search."""
        self._pieces.close()

    def __enter__(self) -> Each:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncEach(AsyncIterator[Record]):
    """The same for ``async for``."""

    def __init__(self, pieces: Any, piece: type[Record], answer: type[Answer]) -> None:
        self._each = Each(pieces, piece, answer)

    @property
    def answer(self) -> Answer | None:
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
                told = await _awaited(lambda _, done: each._pieces.start(done))
            except asyncio.CancelledError:
                each.close()
                raise
            if told is None:
                raise StopAsyncIteration
            each._take(told)

    def close(self) -> None:
        """Ends the search."""
        self._each.close()

    async def __aenter__(self) -> AsyncEach:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


#: Arguments of a workspace that the native part takes by themselves.
_NO_SETTINGS = ("self", "paths", "on_telemetry", "__class__")


class _Opened:
    """What workspaces of either kind have."""

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        index: bool | str | os.PathLike[str] | None = None,
        watch: bool | None = None,
        models: list[dict[str, Any]] | None = None,
        collection: dict[str, Any] | None = None,
        without_model: bool | None = None,
        filter: dict[str, Any] | None = None,
        show_secrets: bool | None = None,
        text_bytes: int | None = None,
        timeout_ms: int | None = None,
        threads: int | None = None,
        max_file_bytes: int | None = None,
        exclude: list[str] | None = None,
        allow_broad_root: bool | None = None,
        on_telemetry: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        settings = {name: value for name, value in locals().items() if name not in _NO_SETTINGS}
        directories = [os.fspath(path) for path in paths]
        self._raw = _forage.RawToolbox(directories, _settings(settings), _watcher(on_telemetry))

    @property
    def roots(self) -> list[str]:
        """The directories, as answers name them."""
        return self._raw.roots()

    def tools(self, format: str = "openai", only: list[str] | None = None) -> list[dict[str, Any]]:
        """Returns the definitions of the tools for a model: ``openai``, ``openai-strict``, ``anthropic``, ``gemini`` or ``mcp``.

        With ``only`` those that it names.
        """
        definitions: list[dict[str, Any]] = json.loads(self._raw.definitions(format, only))
        return definitions

    def close(self) -> None:
        """Ends what goes on in the background, and waits for that, a second and a half at the most; calls that come later are refused."""
        self._raw.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.roots))})"


class Workspace(_Opened):
    """Directories with the tools on what is below them. A call blocks, lets other threads go on meanwhile, and ends with Ctrl-C.

    >>> import forage
    >>> workspace = forage.Workspace(".", index=False)
    >>> answer = workspace.grep("^def main", file_pattern="*.py")
    >>> answer.match_count
    1
    >>> print(answer.text)  # doctest: +ELLIPSIS
    Found 1 match in 1 file:...
    """

    def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool by its name, as a model does: with arguments as a dictionary, or in the JSON that it wrote."""
        return _of_tool(name)(self._raw.call(name, _json(arguments), _forage.Stop(), _on_main_thread()))

    def ask(self, question: str, watch: Callable[[dict[str, Any]], None] | None = None) -> Asked:
        """Answers a question with an agent over the tools. ``watch`` is told of what happens meanwhile, from another thread."""
        told = _watcher(watch)
        return Asked(self._raw.ask(question, _forage.Stop(), _on_main_thread(), told))

    def build_index(self) -> None:
        """Makes the index of lines, or brings it up to date."""
        self._raw.build_index(_forage.Stop(), _on_main_thread())

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncWorkspace(_Opened):
    """The same for ``asyncio``. A call that is cancelled ends its work."""

    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> Answer:
        """Calls a tool by its name, as a model does."""
        given = _json(arguments)
        return _of_tool(name)(await _awaited(lambda stop, done: self._raw.start(name, given, stop, done)))

    async def ask(self, question: str, watch: Callable[[dict[str, Any]], None] | None = None) -> Asked:
        """Answers a question with an agent over the tools. ``watch`` is told of what happens meanwhile, in the event loop."""
        told = None
        if watch is not None:
            loop, inner = asyncio.get_running_loop(), watch
            def hand(event: dict[str, Any]) -> None:
                loop.call_soon_threadsafe(inner, event)

            told = _watcher(hand)
        return Asked(await _awaited(lambda stop, done: self._raw.start_ask(question, stop, told, done)))

    async def build_index(self) -> None:
        """Makes the index of lines, or brings it up to date."""
        stop = _forage.Stop()
        try:
            await asyncio.get_running_loop().run_in_executor(None, self._raw.build_index, stop, False)
        except asyncio.CancelledError:
            stop.cancel()
            raise

    async def aclose(self) -> None:
        """The same as ``close``, while the event loop goes on."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    async def __aenter__(self) -> AsyncWorkspace:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


#: The class of the answers of each tool, by its name and by that of its method.
ANSWERS: dict[str, type[Answer]] = {}


def _of_tool(name: str) -> type[Answer]:
    return ANSWERS.get(name, Answer)


def _watcher(watch: Callable[[dict[str, Any]], None] | None) -> Callable[[str], None] | None:
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
        # A loop that is closed by then has nobody who waits.
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, answer, error)

    start(stop, done)
    try:
        return await future
    except BaseException:
        # Cancelled, or closed by whoever held the coroutine.
        stop.cancel()
        raise


def _signature(schema: dict[str, Any], result: Any) -> inspect.Signature:
    required = schema.get("required", [])
    # What is needed and where it is looked for go without a name.
    fields = sorted(schema["properties"].items(), key=lambda field: (field[0] not in required, field[0] != "path"))
    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)]
    for name, field in fields:
        goes_without = name in required or name == "path"
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if goes_without else inspect.Parameter.KEYWORD_ONLY
        of_type = _TYPES.get(field.get("type"), Any)
        if name in required:
            parameters.append(inspect.Parameter(name, kind, annotation=of_type))
        else:
            parameters.append(inspect.Parameter(name, kind, default=None, annotation=Optional[of_type]))
    return inspect.Signature(parameters, return_annotation=result)


def _documentation(method: dict[str, Any], schema: dict[str, Any]) -> str:
    arguments = "\n".join(
        f"    {name}: {' '.join(field.get('description', '').split())}"
        for name, field in schema["properties"].items()
    )
    return f"{method['title']}.\n\n{method['description']}\n\nArguments:\n{arguments}\n"


def _given(signature: inspect.Signature, tool: str, args: tuple[Any, ...], arguments: dict[str, Any]) -> str:
    # Names are the tool's matter, which says what it takes: here what has no name gets one.
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
    """What the class of a method's answers is called: `keyword_search` has a `KeywordSearchAnswer`."""
    return "".join(part.capitalize() for part in method.split("_")) + "Answer"


def _add(method: dict[str, Any]) -> None:
    tool, name = method["tool"], method["name"]
    arguments_schema = method["arguments"]
    signature = _signature(arguments_schema, Answer)
    schema, called = method["answer"], class_of_answer(name)
    of_answer = ANSWERS[tool] = ANSWERS[name] = SCHEMAS.answer(called, schema)
    # That of another root has no text of its own.
    fields = {field: of for field, of in schema["properties"].items() if field != "other_roots"}
    of_root = SCHEMAS.record(f"{called}OfRoot", {**schema, "properties": fields}, schema["$defs"])
    unread = SCHEMAS.record("UnreadRoot", schema["$defs"]["UnreadRoot"], {})

    def other_roots(self: Answer) -> list[Record]:
        others = self.to_dict().get("other_roots", [])
        return [(of_root if of_root._required <= other.keys() else unread)(other) for other in others]

    setattr(of_answer, "other_roots", property(other_roots, doc="What the other roots have."))

    def call(self: Any, /, *args: Any, **arguments: Any) -> Answer:
        given = _given(signature, name, args, arguments)
        return of_answer(self._raw.call(tool, given, _forage.Stop(), _on_main_thread()))

    async def call_async(self: Any, /, *args: Any, **arguments: Any) -> Answer:
        given = _given(signature, name, args, arguments)
        return of_answer(await _awaited(lambda stop, done: self._raw.start(tool, given, stop, done)))

    made: list[tuple[type[_Opened], str, Any, dict[str, Any], Any]] = [
        (Workspace, name, call, arguments_schema, of_answer),
        (AsyncWorkspace, name, call_async, arguments_schema, of_answer),
    ]
    if method["each"]:
        each_schema, piece = method["each"]["arguments"], method["each"]["piece"]
        of_each = _signature(each_schema, Each)
        of_piece = SCHEMAS.record(piece["title"], piece, piece.get("$defs", {}))

        def each(self: Any, /, *args: Any, **arguments: Any) -> Each:
            given = _given(of_each, name, args, arguments)
            return Each(self._raw.each(tool, given, _forage.Stop()), of_piece, of_answer)

        def each_async(self: Any, /, *args: Any, **arguments: Any) -> AsyncEach:
            given = _given(of_each, name, args, arguments)
            return AsyncEach(self._raw.each(tool, given, _forage.Stop()), of_piece, of_answer)

        made += [
            (Workspace, f"{name}_each", each, each_schema, Each),
            (AsyncWorkspace, f"{name}_each", each_async, each_schema, AsyncEach),
        ]
    for of_class, called, function, takes, result in made:
        function.__name__ = called
        function.__qualname__ = f"{of_class.__name__}.{called}"
        function.__doc__ = _documentation(method, takes)
        function.__signature__ = _signature(takes, result)
        setattr(of_class, called, function)


for _method in METHODS:
    _add(_method)
