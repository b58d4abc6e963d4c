#!/usr/bin/env python3
"""Measures how `forage keyword` deals with terms that match much, in both breadths, without a model.

    shown        of the labelled files that any term matches (`rg -il` says which), how many stand in the request, and how
                 many bytes it has. Questions as `filter.py` takes them, and the same server that plays the model.
    identifiers  identifiers with at least seven letters, drawn from a tree by how often they occur: how many of them are
                 refused when they are the only term.

Nothing is timed. The same seed draws the same identifiers.
"""

import argparse
import collections
import http.server
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
from filter import Peer, ask, cases_of, shown_files

BREADTHS = ["requirement", "adaptive"]
CLASSES = [(20, 49), (50, 99), (100, 199), (200, None)]
IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def matched(rg, tree, terms):
    """Files that any term matches."""
    patterns = [argument for term in terms for argument in ("-e", term)]
    run = subprocess.run([rg, "--no-config", "-il", *patterns], cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return {os.path.normpath(path) for path in run.stdout.decode("utf-8", "replace").splitlines()}


def evidence_bytes(body):
    """Bytes between the fences of a request."""
    user = body["messages"][1]["content"]
    begin = user.index("\n", user.index("===== BEGIN ")) + 1
    return len(user[begin : user.rindex("===== END ")].encode())


def shown(options, url, directory):
    rows = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
    for file in options.cases:
        for case in cases_of(file):
            tree = options.trees.get(case["tree"])
            if tree is None:
                continue
            # Some sets name lines of a file, too.
            case["relevant"] = [entry if isinstance(entry, str) else entry["path"] for entry in case["relevant"]]
            hits = matched(options.rg, tree, case["terms"])
            labelled = [path for path in case["relevant"] if path in hits]
            for breadth in BREADTHS:
                settings = {"breadth": breadth, "evidence": options.evidence}
                bodies, records = ask(options, url, case, settings, directory)
                row = rows[case["tree"]][breadth]
                row["questions"] += 1
                row["labelled"] += len(case["relevant"])
                row["matched"] += len(labelled)
                row["refused"] += not bodies
                seen = {}
                for body in bodies:
                    seen.update(shown_files(body["messages"][1]["content"], tree))
                    row["bytes"] += evidence_bytes(body)
                    row["most"] = max(row["most"], evidence_bytes(body))
                row["files"] += len(seen)
                row["shown"] += sum(path in seen for path in labelled)
                for path in labelled:
                    if path not in seen and options.verbose:
                        print(f"{case['tree']} {breadth}: {path} is not shown: {case['query']} {case['terms']}", file=sys.stderr)
    print("| tree | breadth | questions | refused | labelled | matched by a term | shown | files shown | KiB, mean | KiB, most |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for breadth in BREADTHS:
        rows["all"][breadth] = sum((row[breadth] for tree, row in rows.items() if tree != "all"), collections.Counter())
        rows["all"][breadth]["most"] = max(row[breadth]["most"] for tree, row in rows.items() if tree != "all")
    for tree, row in rows.items():
        for breadth in BREADTHS:
            r = row[breadth]
            part = 100 * r["shown"] / r["matched"] if r["matched"] else 0
            print(
                f"| {tree} | {breadth} | {r['questions']} | {r['refused']} | {r['labelled']} | {r['matched']} "
                f"| {r['shown']} ({part:.1f} %) | {r['files']:,} | {r['bytes'] / r['questions'] / 1024:.1f} | {r['most'] / 1024:.1f} |"
            )


def identifiers_of(rg, tree, minimum=7):
    """How often each identifier occurs in the tree's text files, without regard to case."""
    files = subprocess.run([rg, "--no-config", "--files"], cwd=tree, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    counts = collections.Counter()
    for path in files.splitlines():
        with open(os.path.join(os.fsencode(tree), path), "rb") as file:
            text = file.read()
        if b"\0" in text[:8192]:
            continue
        words = IDENTIFIER.findall(text)
        counts.update(word.lower() for word in words if sum(byte not in b"_0123456789" for byte in word) >= minimum)
    return counts


def identifiers(options, url, directory):
    totals = collections.defaultdict(collections.Counter)
    print("| tree | occurrences | drawn | refused, requirement | refused, adaptive | refused, lexical |")
    print("|---|---|---|---|---|---|")
    for name, tree in options.trees.items():
        counts = identifiers_of(options.rg, tree)
        for least, most in CLASSES:
            words = sorted(word for word, n in counts.items() if n >= least and (most is None or n <= most))
            drawn = random.Random(f"{options.seed} {name} {least}").sample(words, min(options.draw, len(words)))
            row = collections.Counter(drawn=len(drawn))
            for word in drawn:
                case = {"tree": name, "query": "q", "terms": [word.decode()]}
                for breadth in BREADTHS:
                    bodies, records = ask(options, url, case, {"breadth": breadth}, directory)
                    if not bodies:
                        row[breadth] += 1
                        if breadth == "adaptive":
                            print(f"{name}: {word.decode()}: {records}", file=sys.stderr)
                bodies, records = ask(options, url, case, {"mode": "lexical"}, directory)
                row["lexical"] += not records.get("files")
            label = f"{least}–{most}" if most else f"{least} and more"
            totals[label].update(row)
            print(f"| {name} | {label} | {row['drawn']} | {row['requirement']} | {row['adaptive']} | {row['lexical']} |", flush=True)
    for label, row in totals.items():
        print(f"| all | {label} | {row['drawn']} | {row['requirement']} | {row['adaptive']} | {row['lexical']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", choices=["shown", "identifiers"])
    parser.add_argument("--forage", required=True, type=os.path.abspath)
    parser.add_argument("--rg", default="rg")
    parser.add_argument("--tree", action="append", default=[], metavar="NAME=PATH", help="a tree; may be repeated")
    parser.add_argument("--cases", action="append", default=[], help="questions for `shown`; may be repeated")
    parser.add_argument("--evidence", default="requirement", help="`filter.evidence` for `shown`")
    parser.add_argument("--draw", type=int, default=15, help="identifiers of each class and tree")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--verbose", action="store_true", help="name what is not shown")
    options = parser.parse_args()
    options.trees = {name: os.path.realpath(path) for name, path in (tree.split("=", 1) for tree in options.tree)}
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Peer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    with tempfile.TemporaryDirectory() as directory:
        (shown if options.measure == "shown" else identifiers)(options, url, directory)


if __name__ == "__main__":
    main()
