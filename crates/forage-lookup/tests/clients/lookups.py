"""Looks words up as Forage does: more than is wanted, until the cut falls between two scores, then in the order of scores
and ids. Asks a server with the official Python client (`qdrant-client`), or Qdrant's engine as Python has it
(`qdrant-edge-py`, newer than Forage's), filled with points that come first.

    python lookups.py PORT COLLECTION VECTOR LIMIT STEP < queries
    python lookups.py engine POINTS VECTOR LIMIT STEP < points and queries

A point is a line with a JSON list of its id, dimensions and weights; a query is one with dimensions and weights, and gets a
line with a JSON list of ids and scores.
"""

import json
import sys
import tempfile


def server(port, collection, vector):
    from qdrant_client import QdrantClient, models

    client = QdrantClient(url=f"http://127.0.0.1:{port}", check_compatibility=False, timeout=60)

    def query(ids, weights, limit):
        wanted = models.SparseVector(indices=ids, values=weights)
        return client.query_points(
            collection, query=wanted, using=vector, limit=limit, with_payload=False
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
    port, place, vector, limit, step = sys.argv[1:]
    limit, step = int(limit), float(step)
    with tempfile.TemporaryDirectory() as directory:
        if port == "engine":
            query = engine(int(place), vector, directory)
        else:
            query = server(int(port), place, vector)
        # Whoever asks reads no answer before it has sent all queries.
        for line in sys.stdin.readlines():
            ids, weights = json.loads(line)
            wanted = limit + 1
            while True:
                points = query(ids, weights, wanted)
                ranked = sorted((-round(point.score / step), point.id, point.score) for point in points)
                if len(points) < wanted or ranked[limit - 1][0] + 1 < ranked[-1][0] or wanted >= 10_000:
                    break
                wanted = min(4 * wanted, 10_000)
            print(json.dumps([(identity, score) for _, identity, score in ranked[:limit]]))


main()
