"""The retrievers in the frameworks that they are for, by the interfaces that their users call."""

import asyncio

import forage
from forage.integrations import langchain, llama_index
from langchain_core.runnables import RunnableLambda
from llama_index.core.retrievers import BaseRetriever

QUESTION = "where is it tried again"


def test_langchain(tree):
    workspace = forage.Workspace(tree, index=False)
    retriever = langchain.ForageRetriever(workspace=workspace, code_tokens=500, arguments={"file_pattern": "*.py"})
    documents = retriever.invoke(QUESTION)
    assert documents[0].metadata["source"] == "src/retry.py" and "Tries again." in documents[0].page_content
    assert documents[0].metadata["start_line"] == 1
    chain = retriever | RunnableLambda(lambda found: [document.metadata["source"] for document in found])
    assert chain.invoke(QUESTION)[0] == "src/retry.py"
    assert asyncio.run(retriever.ainvoke(QUESTION)) == documents
    awaited = langchain.ForageRetriever(workspace=workspace, async_workspace=forage.AsyncWorkspace(tree, index=False))
    assert asyncio.run(awaited.ainvoke(QUESTION))[0].metadata["source"] == "src/retry.py"


def test_llama_index(tree):
    retriever = llama_index.ForageRetriever(forage.Workspace(tree, index=False), code_tokens=500, file_pattern="*.py")
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUESTION)
    assert nodes[0].metadata["source"] == "src/retry.py" and "Tries again." in nodes[0].get_content()
    assert nodes[0].score > 0
    assert [node.get_content() for node in asyncio.run(retriever.aretrieve(QUESTION))] == [node.get_content() for node in nodes]
