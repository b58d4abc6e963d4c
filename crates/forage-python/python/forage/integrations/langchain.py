"""A retriever for LangChain: code that answers a query, in documents with path, lines and score."""

from __future__ import annotations

from typing import Any, Optional

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from forage import AsyncWorkspace, Workspace

from ._code import blocks


class ForageRetriever(BaseRetriever):
    """Ranks the files of a workspace for a query, and hands on the lines that help most.

    >>> import forage
    >>> from forage.integrations.langchain import ForageRetriever
    >>> retriever = ForageRetriever(workspace=forage.Workspace(".", index=False))
    >>> retriever.invoke("where is it tried again")[0].metadata["source"]
    'src/retry.py'
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    workspace: Workspace
    #: Without one, awaited calls are made by a thread.
    async_workspace: Optional[AsyncWorkspace] = None
    #: Tokens of code, of all documents together.
    code_tokens: int = 4000
    #: Further arguments of `rank`, such as `path` or `languages`.
    arguments: dict[str, Any] = {}

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return _documents(self.workspace.rank(query, code_tokens=self.code_tokens, **self.arguments))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if self.async_workspace is None:
            return await super()._aget_relevant_documents(query, run_manager=run_manager)
        return _documents(await self.async_workspace.rank(query, code_tokens=self.code_tokens, **self.arguments))


def _documents(answer: Any) -> list[Document]:
    return [Document(page_content=text, metadata=place) for text, place in blocks(answer)]
