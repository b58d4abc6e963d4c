#!/usr/bin/env python3
"""Measures how `forage keyword` handles terms with many matches, in both settings of `filter.breadth`, without a model.

    shown        counts the labelled files with a match of any term (by `rg -il`) that are in the request, and the bytes of the
                 request. Uses the questions and the scripted model of `filter.py`.
    identifiers  samples identifiers with at least seven letters from a tree by frequency, and counts the ones that are refused
                 as the only term.

Nothing is timed. The same seed selects the same identifiers.
"""

import argparse
import collections
import os
import random
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from fake_model import serve
from filter import Peer, ask, cases_of, shown_files

BREADTHS = ["requirement", "adaptive"]
CLASSES = [(20, 49), (50, 99), (100, 199), (200, None)]
IDENTIFIER = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*")


def matched(rg, tree, terms):
    """Returns the files with a match of any term."""
    patterns = [argument for term in terms for argument in ("-e", term)]
    run = subprocess.run([rg, "--no-config", "-il", *patterns], cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return {os.path.normpath(path) for path in run.stdout.decode("utf-8", "replace").splitlines()}


def evidence_bytes(body):
    """Returns the number of bytes between the fences of a request."""
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
            # Some sets also name lines of a file.
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
                    row["maximum"] = max(row["maximum"], evidence_bytes(body))
                row["files"] += len(seen)
                row["shown"] += sum(path in seen for path in labelled)
                for path in labelled:
                    if path not in seen and options.verbose:
                        print(f"{case['tree']} {breadth}: {path} is not shown: {case['query']} {case['terms']}", file=sys.stderr)
    print("| tree | breadth | questions | refused | labelled | matched by a term | shown | files shown | KiB, mean | KiB, most |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for breadth in BREADTHS:
        rows["all"][breadth] = sum((row[breadth] for tree, row in rows.items() if tree != "all"), collections.Counter())
        rows["all"][breadth]["maximum"] = max(row[breadth]["maximum"] for tree, row in rows.items() if tree != "all")
    for tree, row in rows.items():
        for breadth in BREADTHS:
            r = row[breadth]
            percentage = 100 * r["shown"] / r["matched"] if r["matched"] else 0
            print(
                f"| {tree} | {breadth} | {r['questions']} | {r['refused']} | {r['labelled']} | {r['matched']} "
                f"| {r['shown']} ({percentage:.1f} %) | {r['files']:,} | {r['bytes'] / r['questions'] / 1024:.1f} | {r['maximum'] / 1024:.1f} |"
            )


def identifiers_of(rg, tree, minimum=7):
    """Counts the identifiers in the tree's text files, ignoring case."""
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
        for minimum, maximum in CLASSES:
            words = sorted(word for word, n in counts.items() if n >= minimum and (maximum is None or n <= maximum))
            sample = random.Random(f"{options.seed} {name} {minimum}").sample(words, min(options.draw, len(words)))
            row = collections.Counter(sample=len(sample))
            for word in sample:
                case = {"tree": name, "query": "q", "terms": [word.decode()]}
                for breadth in BREADTHS:
                    bodies, records = ask(options, url, case, {"breadth": breadth}, directory)
                    if not bodies:
                        row[breadth] += 1
                        if breadth == "adaptive":
                            print(f"{name}: {word.decode()}: {records}", file=sys.stderr)
                bodies, records = ask(options, url, case, {"mode": "lexical"}, directory)
                row["lexical"] += not records.get("files")
            label = f"{minimum}–{maximum}" if maximum else f"{minimum} and more"
            totals[label].update(row)
            print(f"| {name} | {label} | {row['sample']} | {row['requirement']} | {row['adaptive']} | {row['lexical']} |", flush=True)
    for label, row in totals.items():
        print(f"| all | {label} | {row['sample']} | {row['requirement']} | {row['adaptive']} | {row['lexical']} |")


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
    parser.add_argument("--verbose", action="store_true", help="print the files that are not shown")
    options = parser.parse_args()
    options.trees = {name: os.path.realpath(path) for name, path in (tree.split("=", 1) for tree in options.tree)}
    url = serve(Peer)
    with tempfile.TemporaryDirectory() as directory:
        (shown if options.measure == "shown" else identifiers)(options, url, directory)


if __name__ == "__main__":
    main()
