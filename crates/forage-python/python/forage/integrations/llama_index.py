"""A retriever for LlamaIndex: code that answers a query, in nodes with path, lines and score."""

from __future__ import annotations

import asyncio
from typing import Any, Optional

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from forage import AsyncWorkspace, Workspace

from ._code import blocks


class ForageRetriever(BaseRetriever):
    """Ranks the files of a workspace for a query, and hands on the lines that help most.

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
        """``code_tokens`` are those of all nodes together, ``arguments`` further ones of `rank`, such as `path`."""
        super().__init__()
        self._workspace, self._async_workspace = workspace, async_workspace
        self._arguments = {"code_tokens": code_tokens, **arguments}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return _nodes(self._workspace.rank(query_bundle.query_str, **self._arguments))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._async_workspace is None:
            return await asyncio.to_thread(self._retrieve, query_bundle)
        return _nodes(await self._async_workspace.rank(query_bundle.query_str, **self._arguments))


def _nodes(answer: Any) -> list[NodeWithScore]:
    found = blocks(answer)
    return [NodeWithScore(node=TextNode(text=text, metadata=place), score=place["score"]) for text, place in found]
