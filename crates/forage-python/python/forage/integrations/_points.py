"""Looked-up points of a collection for the retrievers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple, Optional

from forage import AsyncWorkspace, LookupAnswer, Workspace


class Point(NamedTuple):
    """A point. ``metadata`` is the payload without the text, or the metadata that LlamaIndex or LangChain stored in the payload."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float
    #: The payload as it is stored.
    payload: dict[str, Any]


class Points:
    """Looks up the terms of queries in a collection. A failed lookup returns no points, for example if the server is unreachable."""

    def __init__(
        self,
        collection: dict[str, Any],
        top_k: Optional[int],
        filter: Optional[list[str]],
        show_secrets: bool,
        on_telemetry: Optional[Callable[[dict[str, Any]], None]],
    ) -> None:
        collection = {"payload": ["*"], **collection}
        settings: dict[str, Any] = {
            "collection": collection,
            "show_secrets": show_secrets,
            "on_telemetry": on_telemetry,
        }
        self._workspace, self._async_workspace = Workspace(**settings), AsyncWorkspace(**settings)
        self._text_field: str = collection.get("text_field") or "text"
        self._arguments: dict[str, Any] = {"max_results": top_k, "filter": filter}

    def of(self, query: str) -> list[Point]:
        if not query.strip():
            return []
        return self._points(self._workspace.lookup(query, **self._arguments))

    async def awaited(self, query: str) -> list[Point]:
        if not query.strip():
            return []
        return self._points(await self._async_workspace.lookup(query, **self._arguments))

    def _points(self, answer: LookupAnswer) -> list[Point]:
        return [self._point(hit.id, hit.score, hit.to_dict()["payload"]) for hit in answer.hits]

    def _point(self, id: str, score: float, payload: dict[str, Any]) -> Point:
        node = _node(payload)
        text = payload.get(self._text_field)
        if not isinstance(text, str):
            # LlamaIndex stores the text in the node.
            text = str(node.get("text") or (node.get("text_resource") or {}).get("text") or "")
        metadata = node.get("metadata")
        if metadata is None and "page_content" in payload:
            metadata = payload.get("metadata")
        if not isinstance(metadata, dict):
            # FastEmbed and others store another copy of the text in a field of their own.
            copies = ("document", "page_content")
            metadata = {
                name: value
                for name, value in payload.items()
                if name != self._text_field and not (name in copies and value == text)
            }
        return Point(id, text, metadata, score, payload)


def _node(payload: dict[str, Any]) -> dict[str, Any]:
    """Returns the node that LlamaIndex stored in a payload, or an empty dictionary."""
    try:
        node = json.loads(payload.get("_node_content", "{}"))
    except (TypeError, ValueError):
        node = {}
    return node if isinstance(node, dict) else {}
