"""Looks words up with the official Python client, as Forage does: more than is wanted, until the cut falls between two
scores, then in the order of scores and ids.

    python lookups.py PORT COLLECTION VECTOR LIMIT STEP < queries

A query is a line with a JSON list of dimensions and one of weights; each gets a line with a JSON list of ids. Needs `qdrant-client`.
"""

import json
import sys

from qdrant_client import QdrantClient, models

port, collection, vector, limit, step = sys.argv[1:]
limit, step = int(limit), float(step)
client = QdrantClient(
    host="127.0.0.1", grpc_port=int(port), prefer_grpc=True, check_compatibility=False, timeout=60
)

for line in sys.stdin:
    ids, weights = json.loads(line)
    query = models.SparseVector(indices=ids, values=weights)
    wanted = limit + 1
    while True:
        points = client.query_points(
            collection, query=query, using=vector, limit=wanted, with_payload=False
        ).points
        ranked = sorted((-round(point.score / step), point.id) for point in points)
        if len(points) < wanted or ranked[limit - 1][0] + 1 < ranked[-1][0] or wanted >= 10_000:
            break
        wanted = min(4 * wanted, 10_000)
    print(json.dumps([identity for _, identity in ranked[:limit]]))
