#!/usr/bin/env python3
"""Compares the time of `forage grep` with an index, without one, and of ripgrep, after checking that all print the same lines.

Uses the index in the user's cache directory, which you must create with `forage index build`. The limited searches are calls
of `grep_search` for at most 200 lines, with and without the index. Their outputs are compared too. ripgrep has no equivalent.
"""

import argparse
import json
import sys

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, arguments, in_turn
from scan import EIGHT_TERMS, check, difference

# Name, options (the same for both programs) and pattern, for the Linux sources.
PATTERNS = [
    ("rare literal", ["-s"], "rhashtable_walk_peek"),
    ("identifier regex", ["-s"], r"EXPORT_SYMBOL_GPL\(\w+_walk"),
    ("anchored call", ["-s"], r"kmalloc\(.*GFP_ATOMIC"),
    ("word, any case", ["-i", "-w"], "timeout"),
    ("common literal", ["-s"], "struct device"),
    ("eight terms, any case", ["-i"], EIGHT_TERMS),
    ("regex without a literal", ["-s"], r"\b[A-Z]{4,}[0-9]{3}[a-z]\b"),
]
LIMITED = [
    ("rare literal", "rhashtable_walk_peek"),
    ("common literal", "struct device"),
    ("nothing", "no_such_text_7f3a"),
]


def limited(pattern):
    """Returns the command that searches for at most 200 lines."""
    return ["call", "grep_search", json.dumps({"pattern": pattern, "max_results": 200})]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = arguments(parser)
    bench = Bench(options.tree)
    unindexed = Bench(options.tree)
    unindexed.environment["FORAGE_INDEX"] = "off"

    def runner(command, indexed):
        return lambda: (bench if indexed else unindexed).run(command)

    results = Results("index", bench, options, "search", "lines")

    for name, flags, pattern in PATTERNS:
        print(f"{name}: {' '.join(flags)} {pattern}", file=sys.stderr)
        ours = [options.forage, "grep", "-n", *flags, pattern]
        plain = [options.rg, "--no-config", "-n", *flags, pattern]
        lines, found = check(bench, ours, [*plain[:2], "--sort", "path", *plain[2:]], plain)
        unindexed.run(ours)
        with open(unindexed.output(), "rb") as scanned, open(bench.output("ours"), "rb") as indexed:
            found = found or difference(indexed, scanned)
        if found:
            results.differ(name, found)
            continue
        commands = {"index": runner(ours, True), "scan": runner(ours, False), "rg": runner(plain, True)}
        results.add(name, f"{lines:,}", in_turn(options.runs, commands), "index")
    for name, pattern in LIMITED:
        print(f"limited: {pattern}", file=sys.stderr)
        ours = [options.forage, *limited(pattern)]
        bench.run(ours)
        unindexed.run(ours)
        with open(unindexed.output(), "rb") as scanned, open(bench.output(), "rb") as indexed:
            found = difference(indexed, scanned)
        if found:
            results.differ(f"{name}, at most 200", found)
            continue
        commands = {"index": runner(ours, True), "scan": runner(ours, False)}
        results.add(f"{name}, at most 200", "–", in_turn(options.runs, commands), "index")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
