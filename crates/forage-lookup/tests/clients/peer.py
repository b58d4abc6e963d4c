"""Sends the same requests to the peer and to the official client's in-memory collections. Fails if the answers differ.

    python peer.py PORT
"""

import random
import sys
import uuid

from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import UnexpectedResponse

VECTOR = "text-sparse"
DIMENSIONS = 60


def points(rng):
    for number in range(400):
        ids = sorted(rng.sample(range(DIMENSIONS), rng.randint(1, 8)))
        yield models.PointStruct(
            id=number if number % 3 else str(uuid.UUID(int=rng.getrandbits(128))),
            vector={VECTOR: models.SparseVector(indices=ids, values=[0.1 + round(rng.random(), 3) for _ in ids])},
            payload={
                "repo": f"r{number % 3}",
                "n": number,
                "half": number / 2,
                "lines": {"start": number * 10},
                "tags": ["a", f"t{number % 4}"],
                "flag": number % 2 == 0,
            },
        )


def field(key, **match):
    return models.FieldCondition(key=key, **match)


def filters(all_points):
    value = lambda value: models.MatchValue(value=value)
    return [
        None,
        models.Filter(must=[field("repo", match=models.MatchAny(any=["r0", "r2"]))]),
        models.Filter(must=[field("n", range=models.Range(gte=10, lt=200))]),
        models.Filter(must=[field("lines.start", match=value(30))]),
        models.Filter(should=[field("tags", match=value("t1")), field("flag", match=value(True))]),
        models.Filter(
            must_not=[field("repo", match=value("r1"))],
            must=[models.HasIdCondition(has_id=[point.id for point in all_points[:100]])],
        ),
    ]


def pages(client, filter):
    found, offset = [], None
    while True:
        page, offset = client.scroll("code", scroll_filter=filter, limit=17, offset=offset)
        found += [(str(point.id), point.payload) for point in page]
        if offset is None:
            return sorted(found, key=lambda point: point[0])


def assert_refused(status, call):
    try:
        call()
    except UnexpectedResponse as error:
        assert error.status_code == status, error
    else:
        raise AssertionError(f"not refused with {status}")


def main():
    peer = QdrantClient(url=f"http://127.0.0.1:{sys.argv[1]}")
    clients = [peer, QdrantClient(":memory:")]
    rng = random.Random(5)
    all_points = list(points(rng))
    assert_refused(404, lambda: peer.get_collection("code"))
    for client in clients:
        idf = models.SparseVectorParams(modifier=models.Modifier.IDF)
        client.create_collection("code", sparse_vectors_config={VECTOR: idf})
        client.upsert("code", all_points, wait=True)
        assert client.get_collection("code").points_count == len(all_points)
        assert client.collection_exists("code") and not client.collection_exists("other")
    peer.create_payload_index("code", "repo", models.PayloadSchemaType.KEYWORD)
    assert_refused(409, lambda: peer.create_collection("code"))
    compared = 0
    for filter in filters(all_points):
        for _ in range(30):
            ids = sorted(rng.sample(range(DIMENSIONS), rng.randint(1, 5)))
            query = models.SparseVector(indices=ids, values=[1.0] * len(ids))
            options = {"query_filter": filter, "limit": 1000, "with_payload": ["n", "lines.start"]}
            answers = [client.query_points("code", query=query, using=VECTOR, **options).points for client in clients]
            peer_hits, memory_hits = ({str(hit.id): hit for hit in answer} for answer in answers)
            assert peer_hits.keys() == memory_hits.keys(), (filter, ids)
            for hit, other in ((peer_hits[name], memory_hits[name]) for name in peer_hits):
                assert abs(hit.score - other.score) < 1e-5 and hit.payload == other.payload, (hit, other)
                compared += 1
        assert len({client.count("code", count_filter=filter).count for client in clients}) == 1
        assert pages(clients[0], filter) == pages(clients[1], filter)
    assert compared > 5_000, compared
    query = models.SparseVector(indices=[1], values=[1.0])
    assert_refused(400, lambda: peer.query_points("code", query=query, using="other"))
    request = models.QueryRequest(query=query, using=VECTOR, limit=3, with_vector=[VECTOR])
    batches = [client.query_batch_points("code", [request] * 2) for client in clients]
    assert all(len(batch) == 2 and len(batch[0].points[0].vector[VECTOR].indices) for batch in batches)
    for client in clients:
        client.delete("code", [1, 2, 999])
        deleted = models.Filter(must=[field("repo", match=models.MatchValue(value="r2"))])
        client.delete("code", models.FilterSelector(filter=deleted))
    assert len({client.count("code").count for client in clients}) == 1
    assert peer.retrieve("code", [4])[0].payload["n"] == 4
    assert peer.delete_collection("code")


main()
