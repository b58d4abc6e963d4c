#!/usr/bin/env python3
"""Compares parallel with sequential tool calls in one turn of `forage ask`, for tools that wait and tools that compute.

A local scripted model requests the calls of one turn and then answers. We compare the wall time that `forage ask --json`
reports for the tools of this turn, with `--parallel N` and with `--parallel 1`.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True  # no bytecode files in the sources
from fake_model import FakeModel, serve


def calls_of(turn):
    """Returns four calls: with equal waiting time, with equal processor time, or with very different processor time."""
    grep = lambda pattern: ("grep_search", {"pattern": pattern, "max_results": 5})
    heavy = [r"\w+_\w+\([a-z]+, \w+->\w+\)zz", r"[A-Z]{3}_\w+ +\w+;zz", r"(\w+) \w+ \w+ = NULL;zz", r"\d+\.\d+\.\d+ \w+zz"]
    return {
        "waiting": [("keyword_search", {"query": f"question {i}", "search_terms": ["needle"]}) for i in range(4)],
        "computing": [grep(pattern) for pattern in heavy],
        "one long, three short": [grep(heavy[0])] + [("list_directory", {"path": p}) for p in (".", "./", "././")],
    }[turn]


class Model(FakeModel):
    turn, wait, waits = "waiting", 1.0, 0
    lock = threading.Lock()

    def message(self, request):
        if "tools" not in request:
            # The request of the filter of keyword_search has no tools. It is the call that waits.
            with self.lock:
                type(self).waits += 1
            time.sleep(self.wait)
            return super().message(request)
        if any(m["role"] == "tool" for m in request["messages"]):
            return {"content": "done"}
        calls = [
            {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for i, (name, arguments) in enumerate(calls_of(self.turn))
        ]
        return {"content": None, "tool_calls": calls}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", required=True)
    parser.add_argument("--tree", required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=4)
    parser.add_argument("--wait", type=float, default=1.0, help="seconds that each waiting call waits")
    parser.add_argument("--turns", nargs="*", default=["waiting", "computing", "one long, three short"])
    options = parser.parse_args()
    url = serve(Model)
    Model.wait = options.wait
    home, small = tempfile.mkdtemp(), tempfile.mkdtemp()
    with open(os.path.join(small, "a.txt"), "w") as file:
        file.write("a needle\n")
    environment = {"HOME": home, "PATH": os.environ["PATH"]}

    def tools_ms(parallel):
        # Waiting calls must do nothing else, so their tree has only one file.
        tree = small if Model.turn == "waiting" else options.tree
        command = [options.forage, "ask", "q", "--json", "--quiet", "--root", tree, "--model", "m", "--base-url",
                   url, "--parallel", str(parallel), "--total-ms", "600000", "--timeout-ms", "120000"]
        result = subprocess.run(command, capture_output=True, env=environment, cwd=tree, stdin=subprocess.DEVNULL)
        if result.returncode != 0:
            sys.exit(f"forage ask failed ({result.returncode}): {result.stderr.decode()} {result.stdout.decode()[:2000]}")
        turn = json.loads(result.stdout)["turns"][0]
        errors = [call["error"] for call in turn["calls"] if call["error"]]
        if errors or len(turn["calls"]) != 4:
            sys.exit(f"a call failed: {errors}")
        return turn["tools_ms"]

    print(f"| turn | sequential, median ms | parallel {options.parallel}, median ms | median ratio | range |")
    print("| --- | --- | --- | --- | --- |")
    for turn in options.turns:
        Model.turn, Model.waits = turn, 0
        tools_ms(options.parallel)  # fills the page cache
        if turn == "waiting" and Model.waits != 4:
            sys.exit(f"{Model.waits} calls waited, not 4")
        rounds = []
        for index in range(options.runs):
            # Alternate, so that a change in the machine's speed affects both.
            order = [1, options.parallel] if index % 2 == 0 else [options.parallel, 1]
            rounds.append({parallel: tools_ms(parallel) for parallel in order})
        ratios = [times[options.parallel] / times[1] for times in rounds]
        sequential, parallel_ms = (statistics.median(times[n] for times in rounds) for n in (1, options.parallel))
        print(f"| {turn} | {sequential:.0f} | {parallel_ms:.0f} | {statistics.median(ratios):.2f} | "
              f"{min(ratios):.2f}–{max(ratios):.2f} |", flush=True)


if __name__ == "__main__":
    main()
