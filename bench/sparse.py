#!/usr/bin/env python3
"""Measures keyword lookup with sparse vectors: the speed of FastEmbed's Python package, and how often a lookup finds the
definition of an identifier in six spellings.

    sparse.py chunks      TREE > CHUNKS            prints the text of every chunk as a JSON string, one per line
    sparse.py encode      TREE                     prints how many chunks per second FastEmbed encodes in one process
    sparse.py identifiers TREE > SET               prints random identifiers of the tree in six spellings
    sparse.py queries     SET > QUERIES            prints every query of a set once, one per line
    sparse.py fastembed   TREE QUERIES > ANSWERS   answers queries with FastEmbed's encoding in Qdrant's embedded engine
    sparse.py table       SET NAME=ANSWERS…        prints hit@10 and MRR of each spelling, and the differences of two answers

ANSWERS can come from any program: JSON lines {"query": TEXT, "hits": [[PATH, FIRST LINE, LAST LINE], …]}, best first, with
paths relative to TREE and line numbers from 1. A hit is correct if it contains a line that defines the identifier.

`encode` and `fastembed` need packages: pip install fastembed==0.9.1 qdrant-edge-py==0.9.0.
"""

import argparse
import json
import os
import random
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from measure import table

# Lines of a chunk, and lines between the starts of two chunks.
CHUNK_LINES = 24
STRIDE = 16
# Number of evaluated hits of an answer.
HITS = 10
# An identifier with fewer words has too few spellings, and one that is defined in more chunks is too easy to find.
MIN_WORDS = 3
MAX_CHUNKS = 3
SPELLINGS = ["exact", "other case", "words", "partial words", "fewer words", "lower case"]
VECTOR = "text-sparse"
STOP_WORDS = Path(__file__).resolve().parent.parent / "crates/forage-lookup/src/stop_words/english.txt"

RUST = (
    r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:default|async|const|unsafe|safe|extern(?:\s+\"[^\"]*\")?)\s+)*"
    r"(?:fn|struct|enum|union|trait|type|const|static(?:\s+mut)?|macro_rules!)\s+(\w+)"
)
SCRIPT = (
    r"\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:function\*?|class|interface|enum|type|const)\s+(\w+)"
)
GO = r"(?:func\s+(?:\([^)]*\)\s*)?|type\s+)(\w+)"
DEFINITIONS = {
    ".rs": re.compile(RUST),
    ".py": re.compile(r"\s*(?:async\s+)?(?:def|class)\s+(\w+)"),
    ".go": re.compile(GO),
    **dict.fromkeys([".js", ".mjs", ".jsx", ".ts", ".tsx"], re.compile(SCRIPT)),
}
WORD = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
# The names of tests are sentences, which nobody would look up.
TEST_PATH = re.compile(r"(^|[/_.-])(tests?|benches|testdata|fixtures)([/_.-]|$)")
TEST_ATTRIBUTE = re.compile(r"\s*#\[(\w+::)*(test|bench|rstest|quickcheck|test_case)\b")


def sources(tree):
    """Yields path and lines of every source file in a supported language, ordered by path."""
    for directory, directories, names in os.walk(tree):
        directories[:] = sorted(name for name in directories if not name.startswith(".") and name != "target")
        for name in sorted(names):
            if os.path.splitext(name)[1] not in DEFINITIONS:
                continue
            path = os.path.join(directory, name)
            try:
                # Python's `splitlines` also ends lines at form feeds, unlike the tools that we compare.
                lines = Path(path).read_bytes().decode("utf-8").removesuffix("\n").split("\n")
            except UnicodeDecodeError:
                print(f"{path} is not UTF-8", file=sys.stderr)
                continue
            yield os.path.relpath(path, tree).replace(os.sep, "/"), lines


def windows(count):
    """Yields the first and last line of each chunk of a file, from 1. The first chunk that reaches the end is the last one."""
    for start in range(0, count, STRIDE):
        yield start + 1, min(start + CHUNK_LINES, count)
        if start + CHUNK_LINES >= count:
            break


def chunks(tree):
    """Returns the location of each chunk, and its text."""
    locations, texts = [], []
    for path, lines in sources(tree):
        for first, last in windows(len(lines)):
            locations.append((path, first, last))
            texts.append("\n".join(lines[first - 1 : last]))
    return locations, texts


def is_test(lines, index):
    """Returns whether the definition in this line has a test attribute."""
    while index > 0 and re.match(r"\s*(#\[|//|\)\])", lines[index - 1]):
        index -= 1
        if TEST_ATTRIBUTE.match(lines[index]):
            return True
    return False


def definitions(tree):
    """Returns where each identifier is defined, and in how many chunks. Excludes identifiers of tests."""
    lines_of, chunks_of, test_names = defaultdict(list), defaultdict(int), set()
    for path, lines in sources(tree):
        pattern = DEFINITIONS[os.path.splitext(path)[1]]
        found = [(index, match[1]) for index, line in enumerate(lines) if (match := pattern.match(line))]
        for index, name in found:
            lines_of[name].append([path, index + 1, index + 1])
            if TEST_PATH.search(path) or is_test(lines, index) or name.startswith("test_"):
                test_names.add(name)
        for first, last in windows(len(lines)):
            for name in {name for index, name in found if first <= index + 1 <= last}:
                chunks_of[name] += 1
    return {name: (lines_of[name], chunks_of[name]) for name in lines_of if name not in test_names}


def spellings(identifier, rng):
    """Returns possible spellings of an identifier in a query."""
    words = [word.lower() for word in WORD.findall(identifier)]
    if "_" in identifier.strip("_"):
        other = words[0] + "".join(word.capitalize() for word in words[1:])
    else:
        other = "_".join(words)

    def sample_words(count):
        return " ".join(words[index] for index in sorted(rng.sample(range(len(words)), count)))

    fewer = sample_words(3 if len(words) > 3 else 2)
    return dict(zip(SPELLINGS, [identifier, other, " ".join(words), sample_words(3), fewer, identifier.lower()]))


def identifiers(tree, count, seed):
    """Returns a set of random identifiers with their spellings and the lines that define them."""
    rng = random.Random(seed)
    candidates = {
        name: locations
        for name, (locations, in_chunks) in definitions(tree).items()
        if in_chunks <= MAX_CHUNKS and name.isascii() and len(WORD.findall(name)) >= MIN_WORDS
    }
    if len(candidates) < count:
        sys.exit(f"{tree} has {len(candidates)} suitable identifiers; use a larger tree or a smaller --count")
    print(f"{len(candidates):,} suitable identifiers", file=sys.stderr)
    return [
        {"identifier": name, "spellings": spellings(name, rng), "defining": candidates[name]}
        for name in rng.sample(sorted(candidates), count)
    ]


def encoder():
    """Creates FastEmbed's own encoder. Its model consists of stop words only, so nothing is downloaded."""
    from fastembed.sparse.bm25 import Bm25

    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "english.txt").write_bytes(STOP_WORDS.read_bytes())
        return Bm25("Qdrant/bm25", specific_model_path=directory)


def encode(tree, runs):
    """Measures the encoding speed of the Python package only."""
    _, texts = chunks(tree)
    bm25 = encoder()
    rows = []
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in bm25.embed(texts):
            pass
        rows.append((len(texts) / (time.perf_counter() - wall), len(texts) / (time.process_time() - cpu)))
    cells = [f"{statistics.median(row):,.0f} ({min(row):,.0f}–{max(row):,.0f})" for row in zip(*rows)]
    print(table(["chunks", "runs", "chunks/s (range)", "chunks/s of CPU (range)"], [[f"{len(texts):,}", runs, *cells]]))


def fastembed(tree, queries):
    """Answers every query with FastEmbed's vectors in the embedded engine. Yields queries with their hits."""
    import qdrant_edge as edge

    locations, texts = chunks(tree)
    bm25 = encoder()
    config = edge.EdgeConfig(sparse_vectors={VECTOR: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)})
    with tempfile.TemporaryDirectory() as directory:
        shard = edge.EdgeShard.create(directory, config)
        for start in range(0, len(texts), 1000):
            vectors = bm25.embed(texts[start : start + 1000])
            points = [
                edge.Point(start + index, {VECTOR: edge.SparseVector(vector.indices.tolist(), vector.values.tolist())})
                for index, vector in enumerate(vectors)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        for query in queries:
            vector = next(iter(bm25.query_embed(query)))
            query_vector = edge.SparseVector(vector.indices.tolist(), [1.0] * len(vector.indices))
            nearest = edge.Query.Nearest(query_vector, using=VECTOR)
            # Request more hits, because points with equal scores have no order and the cut could fall between them.
            found = shard.query(edge.QueryRequest(limit=20 * HITS, query=nearest)) if len(vector.indices) else []
            found = sorted(found, key=lambda hit: (-round(hit.score, 4), hit.id))
            yield query, [locations[hit.id] for hit in found[:HITS]]
        shard.close()


def ranks(entries, answers):
    """Returns by spelling the rank of the first correct hit of each identifier, or None if it is not in the first ten."""
    found = {spelling: [] for spelling in SPELLINGS}
    for entry in entries:
        for spelling in SPELLINGS:
            query = entry["spellings"][spelling]
            if query not in answers:
                sys.exit(f"{query!r} has no answer: answer every line of `sparse.py queries`")
            correct = (
                rank
                for rank, (path, first, last) in enumerate(answers[query][:HITS], 1)
                if any(path == where and first <= line <= last for where, line, _ in entry["defining"])
            )
            found[spelling].append(next(correct, None))
    return found


def cell(found):
    """Formats hit@10 in percent and MRR of the first ten."""
    hits = sum(rank is not None for rank in found)
    return f"{100 * hits / len(found):.1f} % / {sum(1 / rank for rank in found if rank) / len(found):.2f}"


def compare(set_file, runs):
    """Prints a table with a column for each file of answers."""
    entries = json.loads(Path(set_file).read_text(encoding="utf-8"))
    columns = {}
    for argument in runs:
        name, _, file = argument.partition("=")
        with open(file, encoding="utf-8") as lines:
            answers = {answer["query"]: answer["hits"] for answer in map(json.loads, lines)}
        columns[name] = ranks(entries, answers)
    rows = [[spelling, *(cell(found[spelling]) for found in columns.values())] for spelling in SPELLINGS]
    print(table([f"hit@{HITS} / MRR, {len(entries)} identifiers", *columns], rows))
    if len(columns) == 2:
        first, second = columns
        print(f"\nIdentifiers that only one of them finds ({first}, {second}):\n")
        for spelling in SPELLINGS:
            pairs = list(zip(columns[first][spelling], columns[second][spelling]))
            print(f"- {spelling}: {sum(a is not None and b is None for a, b in pairs)}, ", end="")
            print(sum(a is None and b is not None for a, b in pairs))


def unique_queries(entries):
    """Returns all queries without duplicates, because spellings can be equal."""
    return list(dict.fromkeys(entry["spellings"][spelling] for entry in entries for spelling in SPELLINGS))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("chunks")
    command.add_argument("tree")
    command = commands.add_parser("encode")
    command.add_argument("tree")
    command.add_argument("--runs", type=int, default=3, help="number of runs (default: 3)")
    command = commands.add_parser("identifiers")
    command.add_argument("tree")
    command.add_argument("--count", type=int, default=300, help="number of identifiers (default: 300)")
    command.add_argument("--seed", type=int, default=1, help="seed of the random sample (default: 1)")
    command = commands.add_parser("queries")
    command.add_argument("set")
    command = commands.add_parser("fastembed")
    command.add_argument("tree")
    command.add_argument("queries", help="a file with one query per line")
    command = commands.add_parser("table")
    command.add_argument("set")
    command.add_argument("answers", nargs="+", metavar="NAME=ANSWERS")
    options = parser.parse_args()
    if options.command == "chunks":
        print("\n".join(map(json.dumps, chunks(options.tree)[1])))
    elif options.command == "encode":
        encode(options.tree, options.runs)
    elif options.command == "identifiers":
        print(json.dumps(identifiers(options.tree, options.count, options.seed), indent=1))
    elif options.command == "queries":
        print("\n".join(unique_queries(json.loads(Path(options.set).read_text(encoding="utf-8")))))
    elif options.command == "fastembed":
        for query, hits in fastembed(options.tree, Path(options.queries).read_text(encoding="utf-8").splitlines()):
            print(json.dumps({"query": query, "hits": hits}))
    else:
        compare(options.set, options.answers)


if __name__ == "__main__":
    main()
