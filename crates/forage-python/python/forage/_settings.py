"""Types of settings and events: dictionaries, so that a program can read them from JSON or TOML."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypedDict, Union


class _Model(TypedDict):
    model: str


class ModelSettings(_Model, total=False):
    """A model and its endpoint.

    ``model`` is its id, as the provider knows it. Give a ``provider`` such as ``"openai"``, whose key comes from the environment
    or as ``api_key``, or a ``base_url``. ``wire`` is the protocol, by default that of the provider or OpenAI's.
    ``allow_insecure`` allows plain ``http`` to another machine.
    """

    provider: str
    base_url: str
    api_key: str
    wire: str
    allow_insecure: bool


class CollectionSettings(TypedDict, total=False):
    """A collection in a ``directory`` or at the ``url`` of a Qdrant server. The configuration describes the same keys in
    ``[retrieval]``.
    """

    directory: Union[str, os.PathLike[str]]
    url: str
    name: str
    api_key: str
    allow_plain_key: bool
    shard_key: str
    timeout_ms: int
    vector: str
    idf: Literal["auto", "stored"]
    encoder: Literal["auto", "code-superset", "fastembed-bm25", "bm42"]
    language: str
    disable_stemmer: bool
    top_k: int
    payload: Sequence[str]
    text_field: str


class FilterSettings(TypedDict, total=False):
    """How ``keyword_search`` filters. The configuration describes the same keys in ``[filter]``."""

    candidates: Literal["terms", "union"]
    breadth: Literal["adaptive", "requirement"]
    term_bytes: int
    evidence_bytes: int
    context_lines: int
    evidence: Literal["requirement", "compact"]
    answer: Literal["paths", "ids"]
    shards: int
    evidence_tokens: int
    prompt_file: Union[str, os.PathLike[str]]


class AskingEvent(TypedDict):
    """A model is asked, in a ``turn`` of at most ``turns``. It must answer now if this is the ``last``."""

    type: Literal["asking"]
    turn: int
    turns: int
    model: str
    last: bool


class TextEvent(TypedDict):
    """A piece of the model's text, while it is written."""

    type: Literal["text"]
    text: str


class SaidEvent(TypedDict):
    """A model has responded, and requests this number of ``calls``. Unknown tokens and costs are ``None``."""

    type: Literal["said"]
    calls: int
    cost_usd: Union[float, None]
    elapsed_ms: int
    input_tokens: Union[int, None]
    output_tokens: Union[int, None]


class FailedEvent(TypedDict):
    """A model failed. ``then`` says what happens next."""

    type: Literal["failed"]
    error: str
    then: str


class CallStartedEvent(TypedDict):
    """A call of a tool has started. ``arguments`` are JSON, as the model wrote them."""

    type: Literal["call_started"]
    number: int
    tool: str
    arguments: str


class CallEndedEvent(TypedDict):
    """A call of a tool has ended, with a result of this number of ``bytes`` or with an ``error``."""

    type: Literal["call_ended"]
    number: int
    tool: str
    bytes: int
    elapsed_ms: int
    error: Union[str, None]


class MadeRoomEvent(TypedDict):
    """This number of old ``results`` was removed from the conversation to make room."""

    type: Literal["made_room"]
    results: int


#: An event while a question is answered.
AskEvent = Union[AskingEvent, TextEvent, SaidEvent, FailedEvent, CallStartedEvent, CallEndedEvent, MadeRoomEvent]


class _Call(TypedDict):
    tool: str
    surface: str
    status: Literal["found", "nothing_found", "unfinished", "cancelled", "error"]
    latency_ms: int


_Retrieval = TypedDict(
    "_Retrieval",
    {
        "retrieval.backend": str,
        "retrieval.tool": str,
        "retrieval.vector": str,
        "retrieval.top_k": int,
        "retrieval.return_count": int,
        "retrieval.latency_ms": float,
        "retrieval.sparse_fallback": bool,
        "retrieval.qdrant_timeout_s": float,
        "retrieval.status": str,
        "retrieval.error_type": str,
    },
    total=False,
)


class TelemetryEvent(_Call, _Retrieval, total=False):
    """A call, without its arguments and its results. The keys that start with ``retrieval.`` are those of a lookup."""

    ts: str
    error_type: str
    result_count: int
    truncated: bool
    timed_out: bool
    cost_usd: float
    models: list[dict[str, Any]]
