#!/usr/bin/env python3
"""Compares the time of `forage grep` with ripgrep, after checking that both print the same lines.

Three commands alternate: `forage grep` (every match, in path order), `rg --sort path` (the same output, for which ripgrep
uses only one thread) and plain `rg` (the same lines in the order in which its threads find them).
"""

import argparse
import re
import sys
from itertools import zip_longest

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, arguments, in_turn

EIGHT_TERMS = "page fault|oom_kill|swap cache|shrink_slab|kswapd|mem_cgroup_charge|reclaim|vmscan"

# Name, options (the same for both programs) and pattern, for the Linux sources.
PATTERNS = [
    ("rare literal", ["-s"], "rhashtable_walk_peek"),
    ("common literal", ["-s"], "struct device"),
    ("word, any case", ["-i", "-w"], "timeout"),
    ("eight terms, any case", ["-i"], EIGHT_TERMS),
    ("eight terms, any case, 10 lines around", ["-i", "-C", "10"], EIGHT_TERMS),
    ("regex without a literal", ["-s"], r"\b[A-Z]{4,}[0-9]{3}[a-z]\b"),
]

BINARY = re.compile(rb'^(.*): binary file matches \(found "\\0" byte around offset \d+\)$')
SEPARATOR = b"--\n"


def binary_files(path):
    """Returns the files in which ripgrep found a NUL byte after a match. Forage skips and counts such files."""
    with open(path, "rb") as lines:
        return {found.group(1) for line in lines if (found := BINARY.match(line.rstrip(b"\n")))}


def without(path, files):
    """Yields the lines of a ripgrep output without those of `files`."""
    if not files:
        with open(path, "rb") as lines:
            yield from lines
        return
    names = b"|".join(re.escape(name) for name in files)
    excluded_line = re.compile(rb"(?:" + names + rb")(?:[:-]\d+[:-]|: binary file matches)")
    separate = has_lines = False
    with open(path, "rb") as lines:
        for line in lines:
            if line == SEPARATOR:
                separate = has_lines
            elif not excluded_line.match(line):
                if separate:
                    yield SEPARATOR
                separate, has_lines = False, True
                yield line


def difference(ours, theirs, names=("forage", "rg")):
    """Describes the first difference of two sequences of lines. Returns None if they are equal."""
    for number, (mine, other) in enumerate(zip_longest(ours, theirs), 1):
        if mine != other:
            shown = [b"(the end)" if line is None else line[:300] for line in (mine, other)]
            return f"line {number}:\n  {names[0]}: {shown[0]!r}\n  {names[1]}: {shown[1]!r}"
    return None


def check(bench, ours, rg_sorted, rg_plain):
    """Runs the three commands once, which also fills the page cache. Returns the number of lines, and the difference if any."""
    bench.run(ours, "ours")
    bench.run(rg_sorted, "sorted")
    bench.run(rg_plain, "plain")
    if bench.output("sorted").stat().st_size != bench.output("plain").stat().st_size:
        return 0, "rg and rg --sort path print different numbers of bytes: the tree changes, or ripgrep is broken"
    binary = binary_files(bench.output("sorted"))
    if binary:
        print(f"  {len(binary)} binary files with matches are excluded from the comparison", file=sys.stderr)
    with open(bench.output("ours"), "rb") as lines:
        found = difference(lines, without(bench.output("sorted"), binary))
    with open(bench.output("ours"), "rb") as lines:
        return sum(1 for _ in lines), found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = arguments(parser)
    bench = Bench(options.tree)
    results = Results("scan", bench, options, "search", "lines")
    for name, flags, pattern in PATTERNS:
        print(f"{name}: {' '.join(flags)} {pattern}", file=sys.stderr)
        # Without a path both programs search the working directory, and print paths without `./`.
        commands = {
            "forage grep": [options.forage, "grep", "-n", *flags, pattern],
            "rg --sort path": [options.rg, "--no-config", "--sort", "path", "-n", *flags, pattern],
            "rg": [options.rg, "--no-config", "-n", *flags, pattern],
        }
        lines, found = check(bench, *commands.values())
        if found:
            results.differ(name, found)
            continue
        series = in_turn(options.runs, {key: lambda c=command: bench.run(c) for key, command in commands.items()})
        results.add(name, f"{lines:,}", series, "forage grep")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
