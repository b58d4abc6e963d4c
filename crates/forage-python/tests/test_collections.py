"""Queries collections that LlamaIndex, LangChain and FastEmbed filled, through the retrievers for these frameworks.

The tests run against a peer with Qdrant's REST API. If `FORAGE_TEST_QDRANT` names the program of a Qdrant server, they run against
that as well."""

import asyncio
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path

import forage
import numpy as np
import pytest
from fastembed import SparseTextEmbedding
from forage.integrations import langchain, llama_index
from langchain_core.documents import Document
from langchain_qdrant import QdrantVectorStore as LangChainStore
from langchain_qdrant import RetrievalMode
from langchain_qdrant.sparse_embeddings import SparseEmbeddings, SparseVector
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode
from llama_index.vector_stores.qdrant import QdrantVectorStore as LlamaStore
from qdrant_client import QdrantClient, models

REPOSITORY = Path(__file__).parents[3]
LOOKUP = REPOSITORY / "crates/forage-lookup"
IDF = models.SparseVectorParams(modifier=models.Modifier.IDF)
NOTHING_LISTENS = "http://127.0.0.1:1"
QUERY = "ORA-00942"

TEXTS = [
    "ORA-00942: table or view does not exist",
    "The listener refused the connection with ORA-12514",
    "Rollback of a transaction, \u200bafter ORA-00942 was raised twice: ORA-00942",
    # Longer than the excerpt of a text that an agent gets.
    "表またはビューが存在しません。" * 400 + " ORA-00942",
    # These score the same.
    *["a view of the table"] * 5,
]


@pytest.fixture(scope="module", params=["peer", "server"])
def server(request):
    """The address of an empty server."""
    if request.param == "peer":
        child = subprocess.Popen([os.environ["REST_PEER"]], stdout=subprocess.PIPE, text=True)
        yield f"http://127.0.0.1:{child.stdout.readline().strip()}"
        child.kill()
        child.wait()
        return
    if "FORAGE_TEST_QDRANT" not in os.environ:
        pytest.skip("FORAGE_TEST_QDRANT names the program of a Qdrant server")
    sys.path.insert(0, str(REPOSITORY / "bench"))
    qdrant = importlib.import_module("qdrant")
    with qdrant.servers(os.environ["FORAGE_TEST_QDRANT"], 1) as (node,):
        yield node.url()


@pytest.fixture(scope="module")
def bm25(tmp_path_factory):
    """FastEmbed's encoder with local stop word lists, so that it downloads nothing."""
    directory = tmp_path_factory.mktemp("bm25")
    for file in (LOOKUP / "src/stop_words").iterdir():
        shutil.copy(file, directory)
    return SparseTextEmbedding("Qdrant/bm25", specific_model_path=str(directory))


@pytest.fixture
def name():
    return f"c{uuid.uuid4().hex}"


def node(number):
    metadata = {"page": number, "source": f"manual-{number}.pdf"}
    related = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="manual")}
    return TextNode(
        id_=str(uuid.UUID(int=number + 1)),
        text=TEXTS[number],
        metadata=metadata,
        excluded_llm_metadata_keys=["source"],
        relationships=related,
        embedding=[0.5, 1.0],
    )


NODES = [node(number) for number in range(len(TEXTS))]


def fill_with_llama_index(url, name, bm25, nodes=NODES, **settings):
    def encoded(vectors):
        vectors = list(vectors)
        return [vector.indices.tolist() for vector in vectors], [vector.values.tolist() for vector in vectors]

    store = LlamaStore(
        name,
        client=QdrantClient(url=url),
        enable_hybrid=True,
        sparse_doc_fn=lambda texts: encoded(bm25.embed(texts)),
        sparse_query_fn=lambda texts: encoded(bm25.query_embed(texts)),
        **settings,
    )
    store.add(nodes)
    return store


def ids(nodes):
    return [one.node.id_ for one in nodes]


@pytest.mark.parametrize("settings", [{}, {"sparse_vector_name": "text-sparse", "sparse_config": IDF}], ids=["default", "idf"])
def test_llama_index_nodes_round_trip(server, bm25, name, settings):
    store = fill_with_llama_index(server, name, bm25, **settings)
    events = []
    collection = {"url": server, "name": name, "encoder": "fastembed-bm25"}
    retriever = llama_index.ForageKeywordRetriever(collection, top_k=20, on_telemetry=events.append)
    for query in (QUERY, "which table does not exist", "view"):
        found = retriever.retrieve(QueryBundle(query))
        assert ids(found) == ids(retriever.retrieve(query)) == ids(asyncio.run(retriever.aretrieve(query)))
        expected = store.query(VectorStoreQuery(query_str=query, mode=VectorStoreQueryMode.SPARSE, sparse_top_k=20))
        # Scores equal Qdrant's only if Qdrant applies the idf too.
        scores = dict(zip(expected.ids, expected.similarities))
        assert set(ids(found)) == scores.keys() and found
        if settings:
            assert all(abs(one.score - scores[one.node.id_]) < 1e-4 for one in found)
        for one in found:
            stored = next(node for node in NODES if node.id_ == one.node.id_)
            assert one.node.text == stored.text and one.node.metadata == stored.metadata
            assert one.node.relationships == stored.relationships
            assert one.node.excluded_llm_metadata_keys == ["source"]
            assert "score" not in one.get_content("llm") and one.score > 0
    tied = [one for one in retriever.retrieve("view") if one.node.text == TEXTS[4]]
    assert ids(tied) == sorted(ids(tied)) and len(tied) == 5
    assert [event["retrieval.return_count"] for event in events[:2]] == [4, 4]
    assert {event["status"] for event in events} == {"found"} and len(events) == 10
    assert {(event["tool"], event["surface"]) for event in events} == {("keyword_lookup", "python")}
    assert not re.search("ORA|table|view", json.dumps(events))


def test_filter_and_top_k_limit_results(server, bm25, name):
    fill_with_llama_index(server, name, bm25)
    collection = {"url": server, "name": name, "encoder": "fastembed-bm25"}
    retriever = llama_index.ForageKeywordRetriever(collection, filter=["page>=2", "source=manual-2.pdf|manual-3.pdf"])
    assert sorted(ids(retriever.retrieve(QUERY))) == [NODES[2].id_, NODES[3].id_]
    assert len(llama_index.ForageKeywordRetriever(collection, top_k=2).retrieve("view")) == 2
    assert len(llama_index.ForageKeywordRetriever({**collection, "top_k": 2}).retrieve("view")) == 2


class Bm25ForLangChain(SparseEmbeddings):
    def __init__(self, bm25):
        self.bm25 = bm25

    def embed_documents(self, texts):
        return [SparseVector(indices=one.indices.tolist(), values=one.values.tolist()) for one in self.bm25.embed(texts)]

    def embed_query(self, text):
        one = next(iter(self.bm25.query_embed(text)))
        return SparseVector(indices=one.indices.tolist(), values=one.values.tolist())


def test_langchain_documents_round_trip(server, bm25, name):
    point_ids = [node.id_ for node in NODES]
    LangChainStore.from_texts(
        TEXTS,
        metadatas=[node.metadata for node in NODES],
        ids=point_ids,
        url=server,
        collection_name=name,
        retrieval_mode=RetrievalMode.SPARSE,
        sparse_embedding=Bm25ForLangChain(bm25),
    )
    collection = {"url": server, "name": name, "encoder": "fastembed-bm25"}
    events = []
    retriever = langchain.ForageKeywordRetriever(collection=collection, on_telemetry=events.append)
    found = retriever.invoke(QUERY)
    # Texts with the whole name rank before the one with only its first part.
    assert {document.id for document in found[:3]} == {point_ids[0], point_ids[2], point_ids[3]} and found[3].id == point_ids[1]
    for document in found:
        number = point_ids.index(document.id)
        assert document == Document(id=document.id, page_content=TEXTS[number], metadata=NODES[number].metadata)
    assert retriever.invoke(QUERY) == asyncio.run(retriever.ainvoke(QUERY)) == found and len(events) == 3
    scored = langchain.ForageKeywordRetriever(collection=collection, with_score=True).invoke(QUERY)
    assert [document.id for document in scored] == [document.id for document in found]
    assert all(document.metadata["score"] > 0 for document in scored)
    # The retriever for LlamaIndex returns the same documents.
    nodes = llama_index.ForageKeywordRetriever(collection).retrieve(QUERY)
    assert [(one.node.id_, one.node.text, one.node.metadata) for one in nodes] == [
        (document.id, document.page_content, document.metadata) for document in found
    ]


@pytest.mark.parametrize("text_field", ["text", "document", "body"])
def test_foreign_payload_becomes_metadata(server, bm25, name, text_field):
    client = QdrantClient(url=server)
    client.create_collection(name, vectors_config={}, sparse_vectors_config={"text-sparse": IDF})
    payload = {"doc_id": "pump-7", "lines": {"start": 3}, "tags": ["a", "b"], "empty": None}
    vectors = [models.SparseVector(indices=one.indices.tolist(), values=one.values.tolist()) for one in bm25.embed(TEXTS)]
    points = [
        models.PointStruct(id=number, payload={text_field: TEXTS[number], **payload}, vector={"text-sparse": vector})
        for number, vector in enumerate(vectors)
    ]
    client.upsert(name, points, wait=True)
    # A field that no known framework uses must be named.
    field_setting = {"text_field": text_field} if text_field == "body" else {}
    collection = {"url": server, "name": name, "encoder": "fastembed-bm25", **field_setting}
    for one in llama_index.ForageKeywordRetriever(collection).retrieve(QUERY):
        assert (one.node.text, one.node.metadata) == (TEXTS[int(one.node.id_)], payload)
    for document in langchain.ForageKeywordRetriever(collection=collection).invoke(QUERY):
        assert (document.page_content, document.metadata) == (TEXTS[int(document.id)], payload)


def test_bm42_collection_matches_qdrant_scores(server, name):
    cases = json.loads((LOOKUP / "tests/golden/bm42_oracle.json").read_text())["cases"]
    client = QdrantClient(url=server)
    client.create_collection(name, vectors_config={}, sparse_vectors_config={"text-sparse": IDF})

    def vector(weights):
        return models.SparseVector(indices=[id for id, _ in weights], values=[weight for _, weight in weights])

    points = [
        models.PointStruct(id=number, payload={"text": case["text"]}, vector={"text-sparse": vector(case["doc"])})
        for number, case in enumerate(cases)
    ]
    client.upsert(name, points, wait=True)
    retriever = llama_index.ForageKeywordRetriever({"url": server, "name": name, "encoder": "bm42"}, top_k=5)
    queried = [case for case in cases if len(case["text"].split()) > 3 and case["query"]][:20]
    for case in queried:
        weights = vector([(id, 1.0) for id in case["query"]])
        expected = client.query_points(name, query=weights, using="text-sparse", limit=5).points
        scores = {str(point.id): point.score for point in expected}
        found = retriever.retrieve(case["text"])
        np.testing.assert_allclose([one.score for one in found], sorted(scores.values(), reverse=True)[: len(found)], rtol=1e-4)
        assert found[0].node.text == cases[int(found[0].node.id_)]["text"]
    assert len(queried) > 10


def answers(collection, **settings):
    """Yields the results and the telemetry events of both retrievers, blocking and async."""
    events = []
    settings["on_telemetry"] = events.append
    for_llama_index = llama_index.ForageKeywordRetriever(collection, **settings)
    for_langchain = langchain.ForageKeywordRetriever(collection=collection, **settings)
    for retrieve in (
        lambda: for_llama_index.retrieve(QUERY),
        lambda: asyncio.run(for_llama_index.aretrieve(QUERY)),
        lambda: for_langchain.invoke(QUERY),
        lambda: asyncio.run(for_langchain.ainvoke(QUERY)),
    ):
        events.clear()
        yield retrieve(), list(events)


def test_unreachable_server_returns_nothing_and_sends_one_event():
    for found, events in answers({"url": NOTHING_LISTENS, "name": "docs", "encoder": "bm42", "timeout_ms": 1000}):
        assert found == [] and len(events) == 1
        event = events[0]
        assert (event["status"], event["retrieval.status"], event["retrieval.return_count"]) == ("unfinished", "store_unavailable", 0)
        assert event["retrieval.error_type"] and QUERY not in json.dumps(event)


def test_silent_server_times_out(server, bm25, name):
    fill_with_llama_index(server, name, bm25)
    fault = {"on": "/points/query", "reply": "hang", "times": 4}
    request = urllib.request.Request(f"{server}/fault", json.dumps(fault).encode(), {"content-type": "application/json"})
    try:
        urllib.request.urlopen(request).close()
    except urllib.error.HTTPError:
        pytest.skip("a real server can't be made to fail")
    collection = {"url": server, "name": name, "encoder": "fastembed-bm25", "timeout_ms": 300, "idf": "stored"}
    for found, events in answers(collection):
        assert found == [] and [event["retrieval.error_type"] for event in events] == ["timeout"]
    assert llama_index.ForageKeywordRetriever(collection).retrieve(QUERY)


def test_query_without_terms_returns_nothing(server, bm25, name):
    fill_with_llama_index(server, name, bm25)
    retriever = llama_index.ForageKeywordRetriever({"url": server, "name": name, "encoder": "fastembed-bm25"})
    assert [retriever.retrieve(query) for query in ("", " \n", "the of and", "rhinoceros")] == [[], [], [], []]


def test_invalid_configuration_raises(server, bm25, name):
    fill_with_llama_index(server, name, bm25)
    valid = {"url": server, "name": name}
    for invalid, error, message in [
        ({**valid, "nam": "x"}, forage.RequestError, "unknown field `nam`"),
        ({"name": name}, forage.ArgumentError, "set either `url` or `directory`"),
        ({**valid, "directory": "here"}, forage.ArgumentError, "set either `url` or `directory`"),
        ({**valid, "encoder": "splade"}, forage.ArgumentError, "bm42"),
        ({**valid, "top_k": 0}, forage.ArgumentError, "`top_k`"),
        # These are detected by the first query.
        (valid, forage.CollectionError, "does not name its encoder"),
        ({**valid, "name": "other"}, forage.CollectionError, "there is no"),
    ]:
        with pytest.raises(error, match=re.escape(message)):
            llama_index.ForageKeywordRetriever(invalid).retrieve(QUERY)
        with pytest.raises(error, match=re.escape(message)):
            langchain.ForageKeywordRetriever(collection=invalid).invoke(QUERY)


KEY = "AKIAQ7ZJ4RWTNVXK2M5H"


def test_secrets_are_redacted_by_default(server, bm25, name):
    text = f'ORA-00942 with aws_access_key_id = "{KEY}"\nand a line after it'
    secret = TextNode(id_=str(uuid.UUID(int=7)), text=text, metadata={"note": f"key {KEY}"}, embedding=[0.5, 1.0])
    fill_with_llama_index(server, name, bm25, [secret])
    collection = {"url": server, "name": name, "encoder": "fastembed-bm25"}
    [redacted] = llama_index.ForageKeywordRetriever(collection).retrieve(QUERY)
    assert KEY not in redacted.node.model_dump_json() and redacted.node.id_ == secret.id_
    assert "[redacted:" in redacted.node.text and redacted.node.text.endswith("\nand a line after it")
    assert "[redacted:" in redacted.node.metadata["note"]
    [shown] = llama_index.ForageKeywordRetriever(collection, show_secrets=True).retrieve(QUERY)
    assert (shown.node.text, shown.node.metadata) == (text, secret.metadata)


def test_collection_in_directory(tree, command):
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    directory = tree.parent / "collections"
    (tree.parent / "config.toml").write_text(f"retrieval.directory = {json.dumps(str(directory))}\n")
    config_option = ("--config", str(tree.parent / "config.toml"))
    command("sparse", "index", ".", *config_option, cwd=tree)
    collection = {"directory": directory}
    printed = json.loads(command("call", "keyword_lookup", '{"query": "again"}', "--json", *config_option, cwd=tree))
    answer = forage.Workspace(tree, index=False, collection=collection).lookup("again")
    assert [hit.id for hit in answer.hits] == [hit["id"] for hit in printed["hits"]] and answer.found
    # The retriever needs no directory of files.
    found = llama_index.ForageKeywordRetriever(collection).retrieve("again")
    assert ids(found) == [hit.id for hit in answer.hits]
    assert {one.node.metadata["path"] for one in found} == {"src/main.py", "src/retry.py"}
    assert found[0].node.text in (tree / found[0].node.metadata["path"]).read_text()
    without_files = forage.Workspace(collection=collection)
    assert without_files.lookup("again").to_dict()["hits"] == answer.to_dict()["hits"]
    assert [tool["name"] for tool in without_files.tools("mcp")] == ["keyword_lookup"]
    with pytest.raises(forage.PathError, match="no directory"):
        without_files.grep("again")
    with pytest.raises(forage.PathError):
        forage.Workspace()


def test_collection_on_server(server, tree, command, name):
    subprocess.run(["git", "init", "--quiet", tree], check=True)
    (tree.parent / "config.toml").write_text(f'retrieval.url = "{server}"\nretrieval.collection = "{name}"\n')
    config_option = ("--config", str(tree.parent / "config.toml"))
    command("sparse", "index", ".", *config_option, cwd=tree)
    answer = forage.Workspace(tree, index=False, collection={"url": server, "name": name}).lookup("again")
    printed = json.loads(command("call", "keyword_lookup", '{"query": "again"}', "--json", *config_option, cwd=tree))
    for result in (printed, returned := answer.to_dict()):
        result.pop("elapsed_ms")
    assert answer.found and answer.status == "found" and returned == printed


def test_documented_tool_answers_questions(server, bm25, monkeypatch, tmp_path):
    page = (REPOSITORY / "docs/python.md").read_text()
    [block] = [block for block in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "query_engine" in block]
    fill_with_llama_index(server, "docs", bm25, [NODES[0], NODES[2], NODES[4]])
    monkeypatch.chdir(tmp_path)
    names = {"llm": MockLLM()}
    exec(block.replace("http://127.0.0.1:6333", server).replace('"bm42"', '"fastembed-bm25"'), names)
    tool = names["keyword_tool"]
    assert tool.metadata.name == "keyword_search" and tool.metadata.description.startswith("Exact keyword / ID / error-code")
    output = tool(QUERY)
    assert {one.node.id_ for one in output.raw_output.source_nodes} == {NODES[0].id_, NODES[2].id_}
    # The model gets the texts without scores.
    assert "table or view does not exist" in str(output) and "score" not in str(output)
    [event] = map(json.loads, (tmp_path / "telemetry.jsonl").read_text().splitlines())
    assert event["retrieval.return_count"] == 2 and event["latency_ms"] >= 0 and QUERY not in json.dumps(event)
