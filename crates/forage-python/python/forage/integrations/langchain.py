"""Retrievers for LangChain over files and over a collection, and the tools of a workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Optional, Union

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import ConfigDict, PrivateAttr

from forage import AsyncWorkspace, Workspace

from ._code import CodeBlock, blocks
from ._points import Point, Points
from ._tools import called_tools


class ForageRetriever(BaseRetriever):
    """Ranks the files of a workspace for a query, and returns their most relevant lines.

    >>> import forage
    >>> from forage.integrations.langchain import ForageRetriever
    >>> retriever = ForageRetriever(workspace=forage.Workspace(".", index=False))
    >>> retriever.invoke("where is it tried again")[0].metadata["source"]
    'src/retry.py'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    workspace: Workspace
    #: Without it, async calls run on a thread.
    async_workspace: Optional[AsyncWorkspace] = None
    #: Maximum tokens of code in all documents together.
    code_tokens: int = 4000
    #: Further arguments of `rank`, such as `path` or `languages`.
    arguments: dict[str, Any] = {}
    #: Adds ``score`` to the metadata.
    with_score: bool = False

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        answer = self.workspace.rank(query, code_tokens=self.code_tokens, **self.arguments)
        return _documents(blocks(answer), self.with_score)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_workspace is None:
            return await super()._aget_relevant_documents(query, run_manager=run_manager)
        answer = await self.async_workspace.rank(query, code_tokens=self.code_tokens, **self.arguments)
        return _documents(blocks(answer), self.with_score)


class ForageKeywordRetriever(BaseRetriever):
    """Looks up the terms of a query in a collection of sparse vectors, and returns the points that contain them.

    A document has the id of its point, the whole text, and the payload as metadata. The order is deterministic, best first. If the
    server is unreachable, there are no documents, and ``on_telemetry`` gets an event that says so.

    >>> from forage.integrations.langchain import ForageKeywordRetriever
    >>> collection = {"url": "http://127.0.0.1:1", "name": "docs", "encoder": "bm42"}
    >>> retriever = ForageKeywordRetriever(collection=collection, on_telemetry=lambda event: print(event["retrieval.status"]))
    >>> retriever.invoke("ORA-00942")
    store_unavailable
    []
    """

    #: Settings as for a `forage.Workspace`: the ``url`` of a server or a ``directory``, ``name``, ``encoder``, …
    collection: dict[str, Any]
    #: Maximum number of documents (default: ``top_k`` of the collection's settings).
    top_k: Optional[int] = None
    #: Conditions on payload fields, such as ``["modality=text"]``.
    filter: Optional[list[str]] = None
    #: Return secrets unchanged. By default they are removed from texts and metadata.
    show_secrets: bool = False
    #: Called with an event for each lookup.
    on_telemetry: Optional[Callable[[dict[str, Any]], None]] = None
    #: Adds ``score`` to the metadata.
    with_score: bool = False

    _points: Points = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        self._points = Points(self.collection, self.top_k, self.filter, self.show_secrets, self.on_telemetry)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return _documents(self._points.of(query), self.with_score)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return _documents(await self._points.awaited(query), self.with_score)


def forage_tools(workspace: Workspace, only: Optional[list[str]] = None) -> list[BaseTool]:
    """Returns the tools of a workspace for an agent. ``only`` names the tools to return.

    >>> import forage
    >>> from forage.integrations.langchain import forage_tools
    >>> tools = forage_tools(forage.Workspace(".", index=False), only=["grep_search", "read_file"])
    >>> [tool.name for tool in tools]
    ['grep_search', 'read_file']
    >>> "Retries what failed." in tools[1].invoke({"path": "README.md"})
    True
    """
    return [
        StructuredTool(name=tool.name, description=tool.description, args_schema=tool.schema, func=tool.call)
        for tool in called_tools(workspace, only)
    ]


def _documents(found: Iterable[Union[CodeBlock, Point]], with_score: bool) -> list[Document]:
    return [
        Document(
            id=one.id,
            page_content=one.text,
            metadata={**one.metadata, "score": one.score} if with_score else one.metadata,
        )
        for one in found
    ]
