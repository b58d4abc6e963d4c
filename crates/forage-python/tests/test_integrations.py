"""Tests the retrievers and tools through the public interfaces of LangChain and LlamaIndex."""

import asyncio

import forage
import pytest
from forage.integrations import langchain, llama_index
from langchain_core.runnables import RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from llama_index.core.retrievers import BaseRetriever

QUESTION = "where is it tried again"


def test_langchain_retriever(tree):
    workspace = forage.Workspace(tree, index=False)
    retriever = langchain.ForageRetriever(workspace=workspace, code_tokens=500, arguments={"file_pattern": "*.py"})
    documents = retriever.invoke(QUESTION)
    assert documents[0].metadata["source"] == "src/retry.py" and "Tries again." in documents[0].page_content
    assert documents[0].metadata["start_line"] == 1
    chain = retriever | RunnableLambda(lambda found: [document.metadata["source"] for document in found])
    assert chain.invoke(QUESTION)[0] == "src/retry.py"
    assert asyncio.run(retriever.ainvoke(QUESTION)) == documents
    async_retriever = langchain.ForageRetriever(workspace=workspace, async_workspace=forage.AsyncWorkspace(tree, index=False))
    assert asyncio.run(async_retriever.ainvoke(QUESTION))[0].metadata["source"] == "src/retry.py"
    assert documents[0].id == "src/retry.py:1-5" and retriever.invoke(QUESTION) == documents
    assert documents[0].metadata.keys() == {"source", "start_line", "end_line"}
    scored = langchain.ForageRetriever(workspace=workspace, with_score=True).invoke(QUESTION)
    assert scored[0].metadata["score"] > 0


def test_llama_index_retriever(tree):
    retriever = llama_index.ForageRetriever(forage.Workspace(tree, index=False), code_tokens=500, file_pattern="*.py")
    assert isinstance(retriever, BaseRetriever)
    nodes = retriever.retrieve(QUESTION)
    assert nodes[0].metadata["source"] == "src/retry.py" and "Tries again." in nodes[0].get_content()
    assert nodes[0].score > 0 and nodes[0].node.id_ == "src/retry.py:1-5"
    assert nodes[0].metadata.keys() == {"source", "start_line", "end_line"}
    assert retriever.retrieve(QUESTION) == asyncio.run(retriever.aretrieve(QUESTION)) == nodes


def test_langchain_tools(tree):
    workspace = forage.Workspace(tree, index=False)
    tools = langchain.forage_tools(workspace)
    definitions = workspace.tools("mcp")
    assert [convert_to_openai_tool(tool)["function"]["name"] for tool in tools] == [tool["name"] for tool in definitions]
    grep, read = langchain.forage_tools(workspace, only=["grep_search", "read_file"])
    converted = convert_to_openai_tool(grep)["function"]
    definition = next(tool for tool in definitions if tool["name"] == "grep_search")
    assert converted["description"] == definition["description"]
    assert converted["parameters"]["properties"] == definition["inputSchema"]["properties"]
    assert grep.invoke({"pattern": "again"}) == asyncio.run(grep.ainvoke({"pattern": "again"})) == workspace.grep("again").text
    called = {"type": "tool_call", "id": "1", "name": "read_file", "args": {"path": "src/mian.py"}}
    refused = read.invoke(called).content
    assert refused.startswith("Error: ") and "src/main.py" in refused
    with pytest.raises(forage.ArgumentError, match="readfile"):
        langchain.forage_tools(workspace, only=["readfile"])


def test_llama_index_tools(tree):
    workspace = forage.Workspace(tree, index=False)
    grep, read = llama_index.forage_tools(workspace, only=["grep_search", "read_file"])
    definition = workspace.tools("mcp", only=["grep_search"])[0]
    converted = grep.metadata.to_openai_tool(skip_length_check=True)["function"]
    assert (converted["name"], converted["description"]) == (definition["name"], definition["description"])
    assert converted["parameters"]["properties"] == definition["inputSchema"]["properties"]
    assert converted["parameters"]["required"] == definition["inputSchema"]["required"]
    expected = workspace.grep("again").text
    assert str(grep.call(pattern="again")) == str(asyncio.run(grep.acall(pattern="again"))) == expected
    refused = str(read(path="src/mian.py"))
    assert refused.startswith("Error: ") and "src/main.py" in refused
