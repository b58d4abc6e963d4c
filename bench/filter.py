#!/usr/bin/env python3
"""Measures the requests of `forage keyword` in each form, without a model: their tokens, and the labelled files in them.

A local server acts as the model. It stores the bodies of the requests and answers that nothing is relevant, so nothing
leaves the machine. For every question and form, this script counts the tokens of the request, and determines which of the
files that are labelled as relevant it contains: with context lines, as one line, or not at all. A file without a match of
any term can't be in any form. So the relevant figure is the loss relative to the requirement's form, which shows every
file with a match.

The cases are a JSON file of one of these kinds:

    [{"tree": "linux", "query": "…", "terms": ["…"], "relevant": ["mm/oom_kill.c"]}]
    [{"name": "tokio", "queries": [{"query": "…", "relevant": ["…"], "secondary": ["…"]}]}]

Questions of the second kind have no terms. Their terms are the words of the question (see `terms_of`).
"""

import argparse
import collections
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # no bytecode files in the sources
from fake_model import FakeModel, serve

# Name and settings of `[filter]`.
FORMS = [
    ("requirement", {"evidence": "requirement", "answer": "paths"}),
    ("requirement, ids", {"evidence": "requirement", "answer": "ids"}),
    ("compact", {"evidence": "compact", "answer": "paths"}),
    ("compact, ids", {"evidence": "compact", "answer": "ids"}),
    ("compact, ids, 6,000 tokens", {"evidence": "compact", "answer": "ids", "evidence_tokens": 6000}),
    ("compact, ids, 2,000 tokens", {"evidence": "compact", "answer": "ids", "evidence_tokens": 2000}),
]

STOP_WORDS = set(
    "a an and are as at be by can do does for from has have how in into is it its like of on onto or over that the their "
    "them this to under up using via what when where which while who why with within without".split()
)


def terms_of(query):
    """Derives terms from the words of a question, because the labelled questions have none: pairs of adjacent words as in
    an identifier, then single words, longest first. An agent would write better terms, but all forms get the same ones."""
    words = [word for word in re.findall(r"[a-z0-9]+", query.lower()) if word not in STOP_WORDS]
    pairs = [f"{left}[_ -]?{right}" for left, right in zip(words, words[1:])]
    singles = sorted((word for word in set(words) if len(word) >= 4), key=lambda word: (-len(word), word))
    return (pairs + singles)[:12]


class Peer(FakeModel):
    """Stores the requests."""

    bodies = []

    def message(self, request):
        Peer.bodies.append(request)
        return super().message(request)


class Tokens:
    """Counts tokens with a command that reads a JSON list of texts and prints a JSON list of counts, or estimates them from bytes."""

    BYTES = 3.2

    def __init__(self, command):
        self.command = command
        self.name = "the tokenizer" if command else f"bytes / {self.BYTES}"

    def count(self, texts):
        if not self.command:
            return [round(len(text.encode()) / self.BYTES) for text in texts]
        output = subprocess.run(self.command, shell=True, input=json.dumps(texts).encode(), stdout=subprocess.PIPE, check=True)
        return json.loads(output.stdout)


def shown_files(user, tree):
    """Returns the paths in a request, relative to the tree, and how they are shown."""
    begin = user.index("===== BEGIN ")
    evidence = user[user.index("\n", begin) : user.rindex("===== END ")]
    heading = re.compile(r"(?:FILE (?:F\d+ )?|F\d+ )(.*)")
    entry = re.compile(r"(.*?) \((?:[^\n]*?×\d+|ranked high)\)( \d+: .*)?$")
    shown = {}
    for line in evidence.split("\n"):
        if not (found := heading.match(line)):
            continue
        path, how = found[1], "context"
        if compact := entry.match(path):
            path, how = compact[1], "line" if compact[2] else "context"
        shown[os.path.relpath(path, tree) if path.startswith("/") else path] = how
    return shown


def cases_of(file):
    with open(file, encoding="utf-8") as text:
        for entry in json.load(text):
            if "terms" in entry:
                yield entry
                continue
            for query in entry["queries"]:
                terms = terms_of(query["query"])
                yield {"tree": entry["name"], "query": query["query"], "terms": terms, "relevant": query["relevant"]}


def ask(options, url, case, settings, directory):
    """Runs one search. Returns the bodies of its requests, and the records of its answer."""
    config = os.path.join(directory, "config.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("[filter]\n")
        for name, value in settings.items():
            file.write(f"{name} = {json.dumps(value)}\n")
        file.write(f'[[models]]\nprovider = "peer"\nmodel = "none"\nbase_url = "{url}"\n')
    environment = {"PATH": "", "HOME": directory, "FORAGE_CONFIG": config}
    tree = options.trees[case["tree"]]
    Peer.bodies.clear()
    command = [options.forage, "--root", tree, "--timeout-ms", "120000", "--json", "keyword", case["query"], *case["terms"]]
    run = subprocess.run(command, cwd=tree, env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    if run.returncode == 2:
        return [], {"error": run.stderr.decode()}
    return list(Peer.bodies), json.loads(run.stdout)


def percent(part, whole):
    return f"{100 * part / whole:.0f} %" if whole else "–"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--forage", required=True, type=os.path.abspath)
    parser.add_argument("--cases", required=True, action="append", help="questions, see above; may be repeated")
    parser.add_argument("--tree", action="append", default=[], metavar="NAME=PATH", help="path of a tree of the cases; may be repeated")
    parser.add_argument("--tokenizer", help="command that reads a JSON list of texts and prints a JSON list of counts")
    parser.add_argument("--form", action="append", help="measure only this form and the requirement's; may be repeated")
    parser.add_argument("--requests", help="directory to write the requests to, for inspection")
    options = parser.parse_args()
    options.trees = {name: os.path.realpath(path) for name, path in (tree.split("=", 1) for tree in options.tree)}
    tokens = Tokens(options.tokenizer)
    base = FORMS[0][0]
    forms = [form for form in FORMS if not options.form or form[0] in [base, *options.form]]
    url = serve(Peer)

    cases = [case for file in options.cases for case in cases_of(file) if case["tree"] in options.trees]
    by_tree = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as directory:
        for number, case in enumerate(cases):
            row = {"case": case, "forms": {}}
            for name, settings in forms:
                bodies, records = ask(options, url, case, settings, directory)
                if not bodies:
                    print(f"{case['tree']}: {case['query']}: no request: {records.get('error', 'no hits')[:120]}", file=sys.stderr)
                    break
                shown = {}
                for body in bodies:
                    shown.update(shown_files(body["messages"][1]["content"], options.trees[case["tree"]]))
                counts = tokens.count([message["content"] for body in bodies for message in body["messages"]])
                row["forms"][name] = {
                    "tokens": sum(counts),
                    "requests": len(bodies),
                    "shown": shown,
                    "candidates": records["candidate_files"],
                }
                if options.requests:
                    os.makedirs(options.requests, exist_ok=True)
                    file = os.path.join(options.requests, f"{number:03}-{name.replace(', ', '-').replace(' ', '_')}.txt")
                    with open(file, "w", encoding="utf-8") as output:
                        for body in bodies:
                            output.write("\n\n".join(message["content"] for message in body["messages"]))
            else:
                by_tree[case["tree"]].append(row)
            print(f"{number + 1}/{len(cases)}", end="\r", file=sys.stderr)

    print(f"Tokens by {tokens.name}, system prompt and question included; medians and sums over the questions.\n")
    print("| tree | questions | form | tokens, median | tokens, largest | sum | relative to requirement | requests |")
    print("|---|---|---|---|---|---|---|---|")
    for tree, rows in by_tree.items():
        whole = sum(row["forms"][base]["tokens"] for row in rows)
        for name, _ in forms:
            values = [row["forms"][name] for row in rows]
            total = sum(value["tokens"] for value in values)
            print(
                f"| {tree} | {len(rows)} | {name} | {statistics.median(value['tokens'] for value in values):,.0f} "
                f"| {max(value['tokens'] for value in values):,} | {total:,} | {total / whole:.2f} "
                f"| {sum(value['requests'] for value in values) / len(values):.1f} |"
            )
    print("\nLabelled files with a match of any term, and the ones that are in the request.\n")
    print("| tree | labelled | matched | form | with context | as one line | not shown | matching files shown |")
    print("|---|---|---|---|---|---|---|---|")
    for tree, rows in by_tree.items():
        labelled = sum(len(row["case"]["relevant"]) for row in rows)
        matched = sum(path in row["forms"][base]["shown"] for row in rows for path in row["case"]["relevant"])
        for name, _ in forms:
            how = collections.Counter(
                row["forms"][name]["shown"].get(path, "none")
                for row in rows
                for path in row["case"]["relevant"]
                if path in row["forms"][base]["shown"]
            )
            files = sum(len(row["forms"][name]["shown"]) for row in rows)
            candidates = sum(row["forms"][name]["candidates"] for row in rows)
            print(
                f"| {tree} | {labelled} | {matched} | {name} | {how['context']} | {how['line']} | {how['none']} "
                f"| {percent(files, candidates)} |"
            )


if __name__ == "__main__":
    main()
