#!/usr/bin/env python3
"""Compares two builds of Forage on the same searches, pair by pair, after checking that both print the same.

`cargo xtask bench compare A B` builds two commits and calls this. In each round either of the two comes first in turn. A row says how
many times as long the second took as the first: the median of all pairs and an interval that holds the true median with 95 %
(bootstrap over the pairs). `slower` and `faster` are what lies wholly beyond `--tolerance`. The exit status is 1 if anything
is slower, or if any answers differ.
"""

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is left behind in the sources
from index import LIMITED, PATTERNS as INDEXED, limited
from measure import Bench, first_line, machine, program, table
from scan import PATTERNS, difference

RESAMPLES = 2000


def interval(values):
    """The middle 95 % of the medians of samples that are drawn from these, with replacement; the same on every run."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]


def searches():
    """Name, arguments, and whether the index may be used."""
    for name, flags, pattern in PATTERNS:
        yield f"scan: {name}", ["grep", "-n", *flags, pattern], False
    for name, pattern in LIMITED:
        yield f"scan: {name}, at most 200", limited(pattern), False
    for name, flags, pattern in INDEXED:
        yield f"index: {name}", ["grep", "-n", *flags, pattern], True
    for name, pattern in LIMITED:
        yield f"index: {name}, at most 200", limited(pattern), True
    yield "ranked: page fault handler", ["rank", "page fault handler"], True


class Side:
    """One build, with caches of its own: the two may write their indexes differently."""

    def __init__(self, path, tree):
        self.path = path
        self.indexed, self.plain = Bench(tree), Bench(tree)
        # Beside the tree, not in memory.
        self._keep = tempfile.TemporaryDirectory(prefix=".bench-cache-", dir=self.plain.tree.parent)
        for bench in (self.indexed, self.plain):
            bench.environment["XDG_CACHE_HOME"] = self._keep.name
        self.plain.environment["FORAGE_INDEX"] = "off"

    def run(self, arguments, with_index, output="output"):
        return (self.indexed if with_index else self.plain).run([self.path, *arguments], output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=program)
    parser.add_argument("second", type=program)
    parser.add_argument("--tree", required=True, help="the directory to search")
    parser.add_argument("--runs", type=int, default=15, help="pairs of each search (default: 15)")
    parser.add_argument("--tolerance", type=float, default=1.02, help="a ratio that is called none (default: 1.02)")
    parser.add_argument("--data", metavar="FILE", help="write all samples here, too")
    options = parser.parse_args()
    if options.runs < 5:
        parser.error("--runs is at least 5: fewer say nothing")
    return compare(options, [Side(options.first, options.tree), Side(options.second, options.tree)])


def compare(options, sides):
    rows, data, is_worse = [], [], False
    for side in sides:
        built = side.run(["index", "build"], True)
        print(f"{first_line([side.path, '--version'])}: index built in {built.cpu:.1f} s of processors", file=sys.stderr)
        ranked = side.run(["rank", "page fault handler", "--timeout-ms", "300000"], True)
        print(f"  ranked index built in {ranked.cpu:.1f} s of processors, {ranked.peak_rss:.0f} MiB", file=sys.stderr)
    for name, arguments, with_index in searches():
        print(f"\r{name:70}", end="", file=sys.stderr, flush=True)
        outputs = []
        for side in sides:
            side.run(arguments, with_index)
            outputs.append((side.indexed if with_index else side.plain).output())
        with open(outputs[0], "rb") as first, open(outputs[1], "rb") as second:
            differing = difference(first, second, ("first", "second"))
        if differing:
            print(f"\n  not timed, the outputs differ at {differing}", file=sys.stderr)
            rows.append([name, "–", "–", "–", "–", "the outputs differ"])
            is_worse = True
            continue
        taken = [[], []]
        for number in range(options.runs):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                taken[side].append(sides[side].run(arguments, with_index))
        pairs = [second.wall / first.wall for first, second in zip(*taken)]
        low, high = interval(pairs)
        verdict = "slower" if low > options.tolerance else "faster" if high < 1 / options.tolerance else "–"
        is_worse |= verdict == "slower"
        walls = [f"{statistics.median(sample.wall for sample in side) * 1000:.1f}" for side in taken]
        rows.append([name, *walls, f"{statistics.median(pairs):.3f}", f"{low:.3f}–{high:.3f}", verdict])
        data.append({"what": name, "samples": [[asdict(sample) for sample in side] for side in taken]})
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    print(f"- {options.runs} pairs; {machine()['processor']}, load {os.getloadavg()[0]:.1f} at the end\n")
    print(table(["search", "first, median ms", "second, median ms", "second ÷ first", "95 % of the median", ""], rows))
    if options.data:
        text = json.dumps({"machine": machine(), "rows": data}, indent=1)
        Path(options.data).write_text(text + "\n", encoding="utf-8")
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
