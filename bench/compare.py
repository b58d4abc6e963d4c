#!/usr/bin/env python3
"""Compares the speed of two builds of Forage in pairs of searches, after checking that both print the same output.

`cargo xtask bench compare A B` builds two commits and calls this script. The build that runs first alternates between rounds. A row
shows the time of the second divided by the time of the first: the median of all pairs, and its 95 % confidence interval (bootstrap
over the pairs). `slower` and `faster` mean that the whole interval is beyond `--tolerance`. The exit status is 1 if any search is
slower, or if any outputs differ.
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

sys.dont_write_bytecode = True  # no bytecode files in the sources
from index import LIMITED, PATTERNS as INDEXED, limited
from measure import Bench, first_line, machine, program, table
from scan import PATTERNS, difference

RESAMPLES = 2000


def interval(values):
    """Returns the 95 % confidence interval of the median by bootstrap. It is the same in every run."""
    rng = random.Random(0)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(RESAMPLES))
    return medians[RESAMPLES // 40], medians[-RESAMPLES // 40 - 1]


def searches():
    """Yields name, arguments, and whether the search may use the index."""
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
    """One build with its own caches, because the two builds can have different index formats."""

    def __init__(self, path, tree):
        self.path = path
        self.indexed, self.plain = Bench(tree), Bench(tree)
        # Next to the tree, because the default directory can be in memory.
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
    parser.add_argument("--tolerance", type=float, default=1.02, help="largest ratio that counts as equal (default: 1.02)")
    parser.add_argument("--data", metavar="FILE", help="also write all samples to this file")
    options = parser.parse_args()
    if options.runs < 5:
        parser.error("--runs must be at least 5 for a meaningful interval")
    return compare(options, [Side(options.first, options.tree), Side(options.second, options.tree)])


def compare(options, sides):
    rows, data, is_worse = [], [], False
    for side in sides:
        built = side.run(["index", "build"], True)
        print(f"{first_line([side.path, '--version'])}: index built in {built.cpu:.1f} s of processor time", file=sys.stderr)
        ranked = side.run(["rank", "page fault handler", "--timeout-ms", "300000"], True)
        print(f"  ranked index built in {ranked.cpu:.1f} s of processor time, {ranked.peak_rss:.0f} MiB", file=sys.stderr)
    for name, arguments, with_index in searches():
        print(f"\r{name:70}", end="", file=sys.stderr, flush=True)
        outputs = []
        for side in sides:
            side.run(arguments, with_index)
            outputs.append((side.indexed if with_index else side.plain).output())
        with open(outputs[0], "rb") as first, open(outputs[1], "rb") as second:
            differing = difference(first, second, ("first", "second"))
        if differing:
            print(f"\n  not timed because the outputs differ at {differing}", file=sys.stderr)
            rows.append([name, "–", "–", "–", "–", "the outputs differ"])
            is_worse = True
            continue
        samples = [[], []]
        for number in range(options.runs):
            for side in (0, 1) if number % 2 == 0 else (1, 0):
                samples[side].append(sides[side].run(arguments, with_index))
        pairs = [second.wall / first.wall for first, second in zip(*samples)]
        low, high = interval(pairs)
        verdict = "slower" if low > options.tolerance else "faster" if high < 1 / options.tolerance else "–"
        is_worse |= verdict == "slower"
        walls = [f"{statistics.median(sample.wall for sample in side) * 1000:.1f}" for side in samples]
        rows.append([name, *walls, f"{statistics.median(pairs):.3f}", f"{low:.3f}–{high:.3f}", verdict])
        data.append({"what": name, "samples": [[asdict(sample) for sample in side] for side in samples]})
    print("\r" + " " * 70 + "\r", end="", file=sys.stderr)
    print(f"- {options.runs} pairs; {machine()['processor']}, load {os.getloadavg()[0]:.1f} at the end\n")
    print(table(["search", "first, median ms", "second, median ms", "second ÷ first", "95 % of the median", ""], rows))
    if options.data:
        text = json.dumps({"machine": machine(), "rows": data}, indent=1)
        Path(options.data).write_text(text + "\n", encoding="utf-8")
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
