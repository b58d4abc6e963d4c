"""Looks up queries as Forage does: requests more results until the cut falls between two scores, then sorts by score and id.

Queries a server with the official Python client (`qdrant-client`), or Qdrant's engine for Python (`qdrant-edge-py`, newer
than Forage's), which it fills with points from the input first.

    python lookups.py PORT COLLECTION VECTOR LIMIT STEP < queries
    python lookups.py engine POINTS VECTOR LIMIT STEP < points and queries

A point is a line with a JSON list of its id, dimensions and weights. A query is a line with dimensions and weights, and is
answered with a line with a JSON list of ids and scores.
"""

import json
import sys
import tempfile


def server(port, collection, vector):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url=f"http://127.0.0.1:{port}", check_compatibility=False, timeout=60)

    def query(ids, weights, limit):
        query_vector = models.SparseVector(indices=ids, values=weights)
        return client.query_points(
            collection, query=query_vector, using=vector, limit=limit, with_payload=False
        ).points

    return query


def engine(points, vector, directory):
    import qdrant_edge as edge

    parameters = {vector: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)}
    shard = edge.EdgeShard.create(directory, edge.EdgeConfig(sparse_vectors=parameters))
    lines = (json.loads(sys.stdin.readline()) for _ in range(points))
    points = [edge.Point(id, {vector: edge.SparseVector(ids, weights)}) for id, ids, weights in lines]
    for start in range(0, len(points), 1000):
        shard.update(edge.UpdateOperation.upsert_points(points[start : start + 1000]))

    def query(ids, weights, limit):
        nearest = edge.Query.Nearest(edge.SparseVector(ids, weights), using=vector)
        return shard.query(edge.QueryRequest(limit=limit, query=nearest))

    return query


def main():
    port, target, vector, limit, step = sys.argv[1:]
    limit, step = int(limit), float(step)
    with tempfile.TemporaryDirectory() as directory:
        if port == "engine":
            query = engine(int(target), vector, directory)
        else:
            query = server(int(port), target, vector)
        # The caller sends all queries before it reads an answer.
        for line in sys.stdin.readlines():
            ids, weights = json.loads(line)
            request_limit = limit + 1
            while True:
                points = query(ids, weights, request_limit)
                ranked = sorted((-round(point.score / step), point.id, point.score) for point in points)
                if len(points) < request_limit or ranked[limit - 1][0] + 1 < ranked[-1][0] or request_limit >= 10_000:
                    break
                request_limit = min(4 * request_limit, 10_000)
            print(json.dumps([(id, score) for _, id, score in ranked[:limit]]))


main()
