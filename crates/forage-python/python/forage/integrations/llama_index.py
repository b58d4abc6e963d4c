"""Retrievers for LlamaIndex over files and over a collection, and the tools of a workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Optional

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import BaseNode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import FunctionTool, ToolMetadata
from llama_index.core.vector_stores.utils import metadata_dict_to_node
from pydantic import BaseModel

from forage import AsyncWorkspace, RankAnswer, Workspace

from ._code import blocks
from ._points import Point, Points
from ._tools import called_tools


class ForageRetriever(BaseRetriever):
    """Ranks the files of a workspace for a query, and returns their most relevant lines.

    >>> import forage
    >>> from forage.integrations.llama_index import ForageRetriever
    >>> retriever = ForageRetriever(forage.Workspace(".", index=False))
    >>> retriever.retrieve("where is it tried again")[0].metadata["source"]
    'src/retry.py'
    """

    def __init__(
        self,
        workspace: Workspace,
        async_workspace: Optional[AsyncWorkspace] = None,
        code_tokens: int = 4000,
        **arguments: Any,
    ) -> None:
        """``code_tokens`` limits the code of all nodes together. ``arguments`` are further arguments of `rank`, such as `path`."""
        super().__init__()
        self._workspace, self._async_workspace = workspace, async_workspace
        self._arguments = {"code_tokens": code_tokens, **arguments}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _code_nodes(self._workspace.rank(query_bundle.query_str, **self._arguments))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_workspace is None:
            return await asyncio.to_thread(self._retrieve, query_bundle)
        return _code_nodes(await self._async_workspace.rank(query_bundle.query_str, **self._arguments))


class ForageKeywordRetriever(BaseRetriever):
    """Looks up the terms of a query in a collection of sparse vectors, and returns the points that contain them.

    A node has the id of its point, the whole text, and the payload as metadata. In a collection that LlamaIndex filled, it is the
    original node. The order is deterministic, best first. If the server is unreachable, there are no nodes, and ``on_telemetry``
    gets an event that says so.

    >>> from forage.integrations.llama_index import ForageKeywordRetriever
    >>> collection = {"url": "http://127.0.0.1:1", "name": "docs", "encoder": "bm42"}
    >>> retriever = ForageKeywordRetriever(collection, on_telemetry=lambda event: print(event["retrieval.status"]))
    >>> retriever.retrieve("ORA-00942")
    store_unavailable
    []
    """

    def __init__(
        self,
        collection: dict[str, Any],
        top_k: Optional[int] = None,
        filter: Optional[list[str]] = None,
        show_secrets: bool = False,
        on_telemetry: Optional[Callable[[dict[str, Any]], None]] = None,
    ) -> None:
        """``collection`` has settings as for a `forage.Workspace`: the ``url`` of a server or a ``directory``, ``name``, ``encoder``, …

        ``filter`` has conditions on payload fields, such as ``["modality=text"]``. Secrets are removed from texts and metadata
        unless ``show_secrets`` is true. ``on_telemetry`` is called with an event for each lookup.
        """
        super().__init__()
        self._points = Points(collection, top_k, filter, show_secrets, on_telemetry)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(point) for point in self._points.of(query_bundle.query_str)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(point) for point in await self._points.awaited(query_bundle.query_str)]


def forage_tools(workspace: Workspace, only: Optional[list[str]] = None) -> list[FunctionTool]:
    """Returns the tools of a workspace for an agent. ``only`` names the tools to return.

    >>> import forage
    >>> from forage.integrations.llama_index import forage_tools
    >>> tools = forage_tools(forage.Workspace(".", index=False), only=["grep_search", "read_file"])
    >>> [tool.metadata.name for tool in tools]
    ['grep_search', 'read_file']
    >>> "Retries what failed." in str(tools[1](path="README.md"))
    True
    """
    return [
        FunctionTool(
            fn=tool.call,
            metadata=ToolMetadata(name=tool.name, description=tool.description, fn_schema=_arguments(tool.schema)),
        )
        for tool in called_tools(workspace, only)
    ]


def _code_nodes(answer: RankAnswer) -> list[NodeWithScore]:
    return [
        NodeWithScore(node=TextNode(id_=block.id, text=block.text, metadata=block.metadata), score=block.score)
        for block in blocks(answer)
    ]


def _node(point: Point) -> NodeWithScore:
    node: BaseNode = TextNode(text=point.text, metadata=point.metadata)
    if "_node_content" in point.payload:
        try:
            # This restores relationships and the list of metadata that is hidden from models.
            node = metadata_dict_to_node(point.payload, point.text or None)
        except ValueError:
            # Written by another version.
            pass
    node.id_ = point.id
    return NodeWithScore(node=node, score=point.score)


def _arguments(schema: dict[str, Any]) -> type[BaseModel]:
    """Creates a pydantic model with this JSON schema. It validates nothing, because the tool itself checks its arguments."""

    class Arguments(BaseModel):
        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any, /) -> dict[str, Any]:
            return schema

    return Arguments
