#!/usr/bin/env python3
"""Keyword lookup over sparse vectors: how fast FastEmbed's Python package encodes, and how often a lookup finds where an
identifier is defined, in six spellings.

    sparse.py chunks      TREE > CHUNKS            prints the text of every chunk, a JSON string a line
    sparse.py encode      TREE                     prints how many chunks a second FastEmbed encodes, in one process
    sparse.py identifiers TREE > SET               prints random identifiers of the tree, spelled in six ways
    sparse.py queries     SET > QUERIES            prints every query of a set once, a line each
    sparse.py fastembed   TREE QUERIES > ANSWERS   answers queries with FastEmbed's encoding in Qdrant's embedded engine
    sparse.py table       SET NAME=ANSWERS…        prints hit@10 and MRR of each spelling, and where two differ

ANSWERS is of any program: JSON lines {"query": TEXT, "hits": [[PATH, FIRST LINE, LAST LINE], …]}, best first, paths
relative to TREE and lines from 1. A hit is good if it has a line that defines the identifier.

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

# Lines of a chunk, and from the start of one to the start of the next.
CHUNK_LINES = 24
STRIDE = 16
# What is looked at of an answer.
HITS = 10
# An identifier of fewer words has too few spellings, one that is defined in more chunks is too easy to find.
FEWEST_WORDS = 3
MOST_CHUNKS = 3
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
# A test has a sentence for a name, and no one looks it up.
TEST_PATH = re.compile(r"(^|[/_.-])(tests?|benches|testdata|fixtures)([/_.-]|$)")
TEST_ATTRIBUTE = re.compile(r"\s*#\[(\w+::)*(test|bench|rstest|quickcheck|test_case)\b")


def sources(tree):
    """Path and lines of every source file in a language whose definitions are known, by path."""
    for directory, directories, names in os.walk(tree):
        directories[:] = sorted(name for name in directories if not name.startswith(".") and name != "target")
        for name in sorted(names):
            if os.path.splitext(name)[1] not in DEFINITIONS:
                continue
            path = os.path.join(directory, name)
            try:
                # Lines as every tool here counts them; Python's splitlines ends them at form feeds, too.
                lines = Path(path).read_bytes().decode("utf-8").removesuffix("\n").split("\n")
            except UnicodeDecodeError:
                print(f"{path} is no UTF-8", file=sys.stderr)
                continue
            yield os.path.relpath(path, tree).replace(os.sep, "/"), lines


def windows(count):
    """First and last line of each chunk of a file, from 1. The last one is the first that reaches the end."""
    for start in range(0, count, STRIDE):
        yield start + 1, min(start + CHUNK_LINES, count)
        if start + CHUNK_LINES >= count:
            break


def chunks(tree):
    """Where each chunk stands, and its text."""
    places, texts = [], []
    for path, lines in sources(tree):
        for first, last in windows(len(lines)):
            places.append((path, first, last))
            texts.append("\n".join(lines[first - 1 : last]))
    return places, texts


def is_test(lines, index):
    """Whether an attribute of the definition in this line says that it is a test."""
    while index > 0 and re.match(r"\s*(#\[|//|\)\])", lines[index - 1]):
        index -= 1
        if TEST_ATTRIBUTE.match(lines[index]):
            return True
    return False


def definitions(tree):
    """Where each identifier is defined, and in how many chunks; identifiers of tests are left out."""
    lines_of, chunks_of, of_tests = defaultdict(list), defaultdict(int), set()
    for path, lines in sources(tree):
        pattern = DEFINITIONS[os.path.splitext(path)[1]]
        found = [(index, match[1]) for index, line in enumerate(lines) if (match := pattern.match(line))]
        for index, name in found:
            lines_of[name].append([path, index + 1, index + 1])
            if TEST_PATH.search(path) or is_test(lines, index) or name.startswith("test_"):
                of_tests.add(name)
        for first, last in windows(len(lines)):
            for name in {name for index, name in found if first <= index + 1 <= last}:
                chunks_of[name] += 1
    return {name: (lines_of[name], chunks_of[name]) for name in lines_of if name not in of_tests}


def spellings(identifier, chance):
    """What someone may type who looks for the identifier."""
    words = [word.lower() for word in WORD.findall(identifier)]
    if "_" in identifier.strip("_"):
        other = words[0] + "".join(word.capitalize() for word in words[1:])
    else:
        other = "_".join(words)


    def some(count):
        return " ".join(words[place] for place in sorted(chance.sample(range(len(words)), count)))

    fewer = some(3 if len(words) > 3 else 2)
    return dict(zip(SPELLINGS, [identifier, other, " ".join(words), some(3), fewer, identifier.lower()]))


def identifiers(tree, count, seed):
    """A set: random identifiers with their spellings and the lines that define them."""
    chance = random.Random(seed)
    fit = {
        name: places
        for name, (places, in_chunks) in definitions(tree).items()
        if in_chunks <= MOST_CHUNKS and name.isascii() and len(WORD.findall(name)) >= FEWEST_WORDS
    }
    if len(fit) < count:
        sys.exit(f"{tree} has {len(fit)} identifiers that fit: give a larger tree or a smaller --count")
    print(f"{len(fit):,} identifiers fit", file=sys.stderr)
    return [
        {"identifier": name, "spellings": spellings(name, chance), "defining": fit[name]}
        for name in chance.sample(sorted(fit), count)
    ]


def encoder():
    """FastEmbed's own class. The model consists of stop words alone, so that none is downloaded."""
    from fastembed.sparse.bm25 import Bm25

    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "english.txt").write_bytes(STOP_WORDS.read_bytes())
        return Bm25("Qdrant/bm25", specific_model_path=directory)


def encode(tree, runs):
    """Measures how fast the Python package encodes, and nothing else."""
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
    """Answers every query with FastEmbed's vectors in the embedded engine; yields it with its hits."""
    import qdrant_edge as edge

    places, texts = chunks(tree)
    bm25 = encoder()
    config = edge.EdgeConfig(sparse_vectors={VECTOR: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf)})
    with tempfile.TemporaryDirectory() as directory:
        shard = edge.EdgeShard.create(directory, config)
        for start in range(0, len(texts), 1000):
            vectors = bm25.embed(texts[start : start + 1000])
            points = [
                edge.Point(start + place, {VECTOR: edge.SparseVector(vector.indices.tolist(), vector.values.tolist())})
                for place, vector in enumerate(vectors)
            ]
            shard.update(edge.UpdateOperation.upsert_points(points))
        shard.optimize()
        for query in queries:
            vector = next(iter(bm25.query_embed(query)))
            wanted = edge.SparseVector(vector.indices.tolist(), [1.0] * len(vector.indices))
            nearest = edge.Query.Nearest(wanted, using=VECTOR)
            # More than is asked for: points of equal scores come in no order, and the cut falls among them.
            found = shard.query(edge.QueryRequest(limit=20 * HITS, query=nearest)) if len(vector.indices) else []
            found = sorted(found, key=lambda hit: (-round(hit.score, 4), hit.id))
            yield query, [places[hit.id] for hit in found[:HITS]]
        shard.close()


def ranks(entries, answers):
    """By spelling, the place of the first good hit of each identifier; None where none of the first ten is."""
    found = {spelling: [] for spelling in SPELLINGS}
    for entry in entries:
        for spelling in SPELLINGS:
            query = entry["spellings"][spelling]
            if query not in answers:
                sys.exit(f"{query!r} has no answer: answer every line of `sparse.py queries`")
            good = (
                place
                for place, (path, first, last) in enumerate(answers[query][:HITS], 1)
                if any(path == where and first <= line <= last for where, line, _ in entry["defining"])
            )
            found[spelling].append(next(good, None))
    return found


def cell(places):
    """hit@10 in percent and MRR of the first ten."""
    hits = sum(place is not None for place in places)
    return f"{100 * hits / len(places):.1f} % / {sum(1 / place for place in places if place) / len(places):.2f}"


def compare(set_file, named):
    """Prints a table with a column for each file of answers."""
    entries = json.loads(Path(set_file).read_text(encoding="utf-8"))
    columns = {}
    for argument in named:
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
    """Spellings of one identifier may be equal, as may those of two."""
    return list(dict.fromkeys(entry["spellings"][spelling] for entry in entries for spelling in SPELLINGS))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("chunks")
    command.add_argument("tree")
    command = commands.add_parser("encode")
    command.add_argument("tree")
    command.add_argument("--runs", type=int, default=3, help="how often everything is encoded (default: 3)")
    command = commands.add_parser("identifiers")
    command.add_argument("tree")
    command.add_argument("--count", type=int, default=300, help="how many (default: 300)")
    command.add_argument("--seed", type=int, default=1, help="another seed, other identifiers (default: 1)")
    command = commands.add_parser("queries")
    command.add_argument("set")
    command = commands.add_parser("fastembed")
    command.add_argument("tree")
    command.add_argument("queries", help="a file with a query a line")
    command = commands.add_parser("table")
    command.add_argument("set")
    command.add_argument("answers", nargs="+", metavar="NAME=ANSWERS")
    given = parser.parse_args()
    if given.command == "chunks":
        print("\n".join(map(json.dumps, chunks(given.tree)[1])))
    elif given.command == "encode":
        encode(given.tree, given.runs)
    elif given.command == "identifiers":
        print(json.dumps(identifiers(given.tree, given.count, given.seed), indent=1))
    elif given.command == "queries":
        print("\n".join(unique_queries(json.loads(Path(given.set).read_text(encoding="utf-8")))))
    elif given.command == "fastembed":
        for query, hits in fastembed(given.tree, Path(given.queries).read_text(encoding="utf-8").splitlines()):
            print(json.dumps({"query": query, "hits": hits}))
    else:
        compare(given.set, given.answers)


if __name__ == "__main__":
    main()
