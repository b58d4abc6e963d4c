"""Builds a real Qdrant from its public source, starts it on loopback, and compares it with the embedded store.

    python bench/qdrant.py build CHECKOUT PROGRAM
    python bench/qdrant.py start PROGRAM [--nodes 3] [--directory DIR]
    python bench/qdrant.py measure PROGRAM FORAGE LOOKUPS TREE... [--queries 200] [--python PYTHON]

`build` requires cargo, a C compiler and `protoc`, and takes half an hour on two processors. CHECKOUT is a clone of
https://github.com/qdrant/qdrant at the required version. `start` prints the addresses for `QDRANT_URL`, of one node or of a
cluster with consensus. Stop it with Ctrl-C. `measure` fills collections with the repositories TREE..., and looks up words of
their files: FORAGE is a release build, LOOKUPS is the example of this name in `forage-lookup`, and PYTHON is a Python with the
packages of `crates/forage-lookup/tests/clients`, which runs the same queries with the official client. Both use REST.
"""

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT = 60


def build(checkout, program):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(Path(checkout).resolve() / "target")}
    command = ["cargo", "build", "--release", "--locked", "--bin", "qdrant"]
    subprocess.run(command, cwd=checkout, env=environment, check=True)
    shutil.copy(Path(checkout) / "target/release/qdrant", program)
    print(subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip())


class Node:
    """A process of the server with its own ports and directory."""

    def __init__(self, program, directory, first):
        directory.mkdir(parents=True)
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
            for each_socket in sockets:
                each_socket.bind(("127.0.0.1", 0))
            self.http, self.grpc, self.peers = [each_socket.getsockname()[1] for each_socket in sockets]
        command = [str(Path(program).resolve())]
        if first is not False:
            command += ["--uri", f"http://127.0.0.1:{self.peers}"]
        if first:
            command += ["--bootstrap", f"http://127.0.0.1:{first.peers}"]
        settings = {
            "SERVICE__HOST": "127.0.0.1",
            "SERVICE__HTTP_PORT": self.http,
            "SERVICE__GRPC_PORT": self.grpc,
            "CLUSTER__P2P__PORT": self.peers,
            "CLUSTER__ENABLED": str(first is not False).lower(),
            "STORAGE__STORAGE_PATH": "storage",
            "STORAGE__SNAPSHOTS_PATH": "snapshots",
            "TELEMETRY_DISABLED": "true",
            "LOG_LEVEL": "WARN",
        }
        environment = {**os.environ, **{f"QDRANT__{name}": str(value) for name, value in settings.items()}}
        self.log = open(directory / "log", "w")
        self.process = subprocess.Popen(command, cwd=directory, env=environment, stdout=self.log, stderr=self.log)

    def url(self):
        return f"http://127.0.0.1:{self.http}"

    def get(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.http}{path}", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def wait(self, nodes):
        end = time.monotonic() + TIMEOUT
        while time.monotonic() < end:
            if self.get("/readyz") is not None:
                cluster = self.get("/cluster") or ""
                if nodes == 1 or cluster.count('"uri"') == nodes and '"leader":null' not in cluster:
                    return
            time.sleep(0.05)
        sys.exit(f"a node did not start; its log is {self.log.name}")


@contextlib.contextmanager
def servers(program, nodes, directory=None):
    """Starts nodes that are ready for queries. A single node is no cluster."""
    with tempfile.TemporaryDirectory() as temporary:
        top, running = Path(directory or temporary), []
        try:
            for number in range(nodes):
                first = False if nodes == 1 else running[0] if running else None
                running.append(Node(program, top / str(number), first))
                for node in running:
                    node.wait(len(running) if nodes > 1 else 1)
            yield running
        finally:
            for node in running:
                node.process.terminate()
            for node in running:
                node.process.wait()


def start(program, nodes, directory):
    with servers(program, nodes, directory) as running:
        for node in running:
            print(node.url(), flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


# The stores to measure: the number of nodes, and the options that create the collection.
HOMES = {
    "embedded": (0, []),
    "one node": (1, []),
    "three nodes, 6 shards, 2 replicas": (3, ["--shards", "6", "--replicas", "2"]),
}


class Home:
    """A configuration of Forage, and its collection."""

    def __init__(self, forage, directory_path, url, layout):
        directory_path.mkdir(parents=True)
        self.forage, self.directory, self.url, self.layout = forage, directory_path, url, layout
        store = f'url = "{url}"\n' if url else f'directory = "{directory_path / "store"}"\n'
        self.config = directory_path / "config.toml"
        self.config.write_text(f"[retrieval]\n{store}timeout_ms = 60000\n")

    def run(self, *arguments, status=(0,)):
        environment = {"HOME": str(self.directory), "PATH": os.environ["PATH"]}
        command = [self.forage, *arguments, "--config", str(self.config), "--json"]
        result = subprocess.run(command, env=environment, cwd=self.directory, capture_output=True, text=True)
        if result.returncode not in status:
            sys.exit(f"{command}: {result.stderr}")
        return json.loads(result.stdout)

    def fill(self, trees):
        start_time = time.monotonic()
        answer = self.run("sparse", "index", *self.layout, *trees)
        seconds = time.monotonic() - start_time
        answers = answer.get("answers", [answer])
        return sum(report["chunks_written"] for report in answers), seconds

    def look_up(self, program, queries, callers, words=False):
        """Returns the ids of each query's hits, and the times that the example reports."""
        store = self.url or str(self.directory / "store")
        command = [program, *(["--words"] if words else []), store, "code", "code-superset", str(callers)]
        result = subprocess.run(command, input="\n".join(queries), capture_output=True, text=True, check=True)
        hits = [json.loads(line) for line in result.stdout.splitlines()]
        return {line["query"]: line["ids"] for line in hits}, result.stderr.strip()


def words(trees, count):
    """Samples identifiers of the trees. The sample is the same in every run."""
    found = set()
    for tree in trees:
        for path in sorted(Path(tree).rglob("*")):
            if path.is_file() and path.stat().st_size < 100_000 and ".git" not in path.parts:
                text = path.read_text(errors="ignore")
                found.update(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b|\bE\d{4}\b", text)[:20])
    return random.Random(7).sample(sorted(found), count)


def measure(arguments):
    queries = words(arguments.tree, arguments.queries)
    trees = [str(Path(tree).resolve()) for tree in arguments.tree]
    forage, lookups = (str(Path(program).resolve()) for program in (arguments.forage, arguments.lookups))
    expected, words_expected = None, None
    for name, (nodes, layout) in HOMES.items():
        # All others are compared with the first one.
        if nodes and arguments.only not in name:
            continue
        with contextlib.ExitStack() as stack:
            directory_path = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            running = stack.enter_context(servers(arguments.program, nodes)) if nodes else []
            home = Home(forage, directory_path / "home", running[0].url() if running else None, layout)
            chunks, seconds = home.fill(trees)
            print(f"## {name}\nfilled: {chunks} chunks, {seconds:.1f} s, {chunks / seconds:.0f} chunks/s", flush=True)
            # The server optimizes new data in the background.
            time.sleep(10 if nodes else 0)
            for callers in [1, 16] if nodes else [1]:
                found, times = home.look_up(lookups, queries, callers)
                expected = expected or found
                same = sum(found[query] == ids for query, ids in expected.items())
                sets = sum(set(found[query]) == set(ids) for query, ids in expected.items())
                print(f"{callers} callers: {times}; same ids in the same order as embedded: {same} of {len(expected)}, same ids: {sets}", flush=True)
            start_time = time.monotonic()
            home.run("sparse", "index", *trees)
            print(f"second filling: {time.monotonic() - start_time:.1f} s")
            if running and arguments.python:
                found, times = home.look_up(lookups, queries, 1, words=True)
                equal = compare(words_expected, [found[query] for query in queries])
                print(f"names as words: {times}; same ids in the same order as embedded, same ids: {equal}")
                client(arguments.python, home, running[0].http, queries, words_expected)
            elif not running:
                found, _ = home.look_up(lookups, queries, 1, words=True)
                words_expected = [found[query] for query in queries]


def client(python, home, port, queries, expected):
    """Runs the same queries with the official client. Only the vectors come from Forage."""
    vectors = []
    for query in queries:
        vector = home.run("sparse", "encode", query, "--as", "query")
        vectors.append(json.dumps([vector["indices"], vector["values"]]))
    script = HERE.parent / "crates/forage-lookup/tests/clients/lookups.py"
    command = [python, str(script), str(port), "code", "text-sparse", "10", "0.0001"]
    result = subprocess.run(command, input="\n".join(vectors) + "\n", capture_output=True, text=True, check=True)
    found = [[str(id) for id in json.loads(line)] for line in result.stdout.splitlines()]
    print(f"the official client: same ids in the same order as embedded, same ids: {compare(expected, found)}")


def compare(expected, found):
    """Counts the queries with the same ids in the same order, and those with the same ids."""
    pairs = list(zip(expected, found, strict=True))
    return sum(expected_ids == found_ids for expected_ids, found_ids in pairs), sum(set(expected_ids) == set(found_ids) for expected_ids, found_ids in pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("build")
    command.add_argument("checkout")
    command.add_argument("program")
    command = commands.add_parser("start")
    command.add_argument("program")
    command.add_argument("--nodes", type=int, default=1)
    command.add_argument("--directory")
    command = commands.add_parser("measure")
    for name in ["program", "forage", "lookups"]:
        command.add_argument(name)
    command.add_argument("tree", nargs="+")
    command.add_argument("--queries", type=int, default=200)
    command.add_argument("--python")
    command.add_argument("--only", default="", help="measure only server stores whose names contain this")
    arguments = parser.parse_args()
    match arguments.command:
        case "build":
            build(arguments.checkout, arguments.program)
        case "start":
            start(arguments.program, arguments.nodes, arguments.directory)
        case "measure":
            measure(arguments)


if __name__ == "__main__":
    main()
