"""A real Qdrant: built from its public source, started on loopback, and measured beside the embedded store.

    python bench/qdrant.py build CHECKOUT PROGRAM
    python bench/qdrant.py start PROGRAM [--nodes 3] [--directory DIR]
    python bench/qdrant.py measure PROGRAM FORAGE LOOKUPS TREE... [--queries 200] [--python PYTHON]

`build` needs cargo, a C compiler and `protoc`, and half an hour on two processors; CHECKOUT is a clone of
https://github.com/qdrant/qdrant at the version that is wanted. `start` prints the addresses for `QDRANT_URL`, of one node or of
a cluster with consensus, and ends it with Ctrl-C. `measure` fills collections with the TREEs, each a repository, and looks words
of theirs up: FORAGE is a release build, LOOKUPS the example of that name of `forage-lookup`, PYTHON one that has the packages of
`crates/forage-lookup/tests/clients`, for the same queries by the official client. Both ask over REST.
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
PATIENCE = 60


def build(checkout, program):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(Path(checkout).resolve() / "target")}
    command = ["cargo", "build", "--release", "--locked", "--bin", "qdrant"]
    subprocess.run(command, cwd=checkout, env=environment, check=True)
    shutil.copy(Path(checkout) / "target/release/qdrant", program)
    print(subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip())


class Node:
    """A process of the server, with ports and a directory of its own."""

    def __init__(self, program, directory, first):
        directory.mkdir(parents=True)
        with contextlib.ExitStack() as held:
            sockets = [held.enter_context(socket.socket()) for _ in range(3)]
            for each in sockets:
                each.bind(("127.0.0.1", 0))
            self.http, self.grpc, self.peers = [each.getsockname()[1] for each in sockets]
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
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.get("/readyz") is not None:
                cluster = self.get("/cluster") or ""
                if nodes == 1 or cluster.count('"uri"') == nodes and '"leader":null' not in cluster:
                    return
            time.sleep(0.05)
        sys.exit(f"a node did not come up; its log is {self.log.name}")


@contextlib.contextmanager
def servers(program, nodes, directory=None):
    """Nodes that can be asked; one alone is no cluster."""
    with tempfile.TemporaryDirectory() as temporary:
        place, running = Path(directory or temporary), []
        try:
            for number in range(nodes):
                first = False if nodes == 1 else running[0] if running else None
                running.append(Node(program, place / str(number), first))
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


# How each collection is spread: nodes, and the options that make it.
HOMES = {
    "embedded": (0, []),
    "one node": (1, []),
    "three nodes, 6 shards, 2 replicas": (3, ["--shards", "6", "--replicas", "2"]),
}


class Home:
    """A configuration of Forage's, with the collection that it names."""

    def __init__(self, forage, place, url, layout):
        place.mkdir(parents=True)
        self.forage, self.place, self.url, self.layout = forage, place, url, layout
        store = f'url = "{url}"\n' if url else f'directory = "{place / "store"}"\n'
        self.config = place / "config.toml"
        self.config.write_text(f"[retrieval]\n{store}timeout_ms = 60000\n")

    def run(self, *arguments, status=(0,)):
        environment = {"HOME": str(self.place), "PATH": os.environ["PATH"]}
        command = [self.forage, *arguments, "--config", str(self.config), "--json"]
        done = subprocess.run(command, env=environment, cwd=self.place, capture_output=True, text=True)
        if done.returncode not in status:
            sys.exit(f"{command}: {done.stderr}")
        return json.loads(done.stdout)

    def fill(self, trees):
        began = time.monotonic()
        answer = self.run("sparse", "index", *self.layout, *trees)
        seconds = time.monotonic() - began
        answers = answer.get("answers", [answer])
        return sum(one["chunks_written"] for one in answers), seconds

    def look_up(self, program, queries, callers, words=False):
        """The ids of each query's hits, and what the example says of times."""
        place = self.url or str(self.place / "store")
        command = [program, *(["--words"] if words else []), place, "code", "code-superset", str(callers)]
        done = subprocess.run(command, input="\n".join(queries), capture_output=True, text=True, check=True)
        hits = [json.loads(line) for line in done.stdout.splitlines()]
        return {line["query"]: line["ids"] for line in hits}, done.stderr.strip()


def words(trees, count):
    """Identifiers of the trees, chosen by chance, always the same."""
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
        # The first one is what all are compared with.
        if nodes and arguments.only not in name:
            continue
        with contextlib.ExitStack() as stack:
            place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            running = stack.enter_context(servers(arguments.program, nodes)) if nodes else []
            home = Home(forage, place / "home", running[0].url() if running else None, layout)
            chunks, seconds = home.fill(trees)
            print(f"## {name}\nfilled: {chunks} chunks, {seconds:.1f} s, {chunks / seconds:.0f} chunks/s", flush=True)
            # What has been written is put in order in the background.
            time.sleep(10 if nodes else 0)
            for callers in [1, 16] if nodes else [1]:
                found, said = home.look_up(lookups, queries, callers)
                expected = expected or found
                same = sum(found[query] == ids for query, ids in expected.items())
                sets = sum(set(found[query]) == set(ids) for query, ids in expected.items())
                print(f"{callers} callers: {said}; same ids in the same order as embedded: {same} of {len(expected)}, same ids: {sets}", flush=True)
            began = time.monotonic()
            home.run("sparse", "index", *trees)
            print(f"a second filling: {time.monotonic() - began:.1f} s")
            if running and arguments.python:
                found, said = home.look_up(lookups, queries, 1, words=True)
                told = compared(words_expected, [found[query] for query in queries])
                print(f"names as words: {said}; same ids in the same order as embedded, same ids: {told}")
                client(arguments.python, home, running[0].http, queries, words_expected)
            elif not running:
                found, _ = home.look_up(lookups, queries, 1, words=True)
                words_expected = [found[query] for query in queries]


def client(python, home, port, queries, expected):
    """The same queries by the official client: vectors from Forage, everything else its own."""
    vectors = []
    for query in queries:
        vector = home.run("sparse", "encode", query, "--as", "query")
        vectors.append(json.dumps([vector["indices"], vector["values"]]))
    script = HERE.parent / "crates/forage-lookup/tests/clients/lookups.py"
    command = [python, str(script), str(port), "code", "text-sparse", "10", "0.0001"]
    done = subprocess.run(command, input="\n".join(vectors) + "\n", capture_output=True, text=True, check=True)
    found = [[str(id) for id in json.loads(line)] for line in done.stdout.splitlines()]
    print(f"the official client: same ids in the same order as embedded, same ids: {compared(expected, found)}")


def compared(expected, found):
    """How many queries have the same ids in the same order, and how many the same ids."""
    pairs = list(zip(expected, found, strict=True))
    return sum(one == other for one, other in pairs), sum(set(one) == set(other) for one, other in pairs)


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
    command.add_argument("--only", default="", help="of the homes on servers those whose names have this")
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
