#!/usr/bin/env python3
"""Compares the time of `forage grep -Z` with `ugrep -Z`, after comparing the lines that both print.

The two programs have different semantics. Forage finds every line with a part within the edit distance. ugrep requires
the first character of a match to be equal (as its manual says), and even then does not find every line. So we verify the
lines for a literal with the standard dynamic programming algorithm in this file: every line that Forage prints must be
within the distance, and every line that only ugrep prints must be beyond it. For lines that only Forage prints, we count
whether ugrep's rule excludes them or ugrep missed them. For a regular expression, we only compare the numbers of lines.
Forage prints at most 10,000 lines. A search with more lines is reported and not timed.
"""

import argparse
import json
import sys

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, arguments, in_turn, program

# Name, pattern, and whether it is a literal, for the Linux sources.
PATTERNS = [
    ("identifier of 20 characters", "rhashtable_walk_peek", True),
    ("phrase of two words", "page fault", True),
    ("longer phrase", "interrupt controller", True),
    ("regex with literal parts", r"static int [a-z]+_probe\(struct platform_device", False),
]
EDITS = [1, 2, 3]
MAX_LINES = "10000"


def distance(needle, line, first_must_match=False):
    """Returns the minimum number of edits between `needle` and a part of `line`."""
    row = list(range(len(needle) + 1))
    if first_must_match:
        row[1:] = [len(needle) + 1] * len(needle)
    best = row[-1]
    for character in line:
        before, row = row, [0]
        for i, expected in enumerate(needle, 1):
            if first_must_match and i == 1:
                row.append(0 if character == expected else len(needle) + 1)
                # Text can still be inserted after the first character.
                row[1] = min(row[1], before[1] + 1)
            else:
                row.append(min(before[i - 1] + (character != expected), before[i] + 1, row[i - 1] + 1))
        best = min(best, row[-1])
    return best


def lines_of(path):
    """Returns the lines of an output: their texts by path and number."""
    lines = {}
    with open(path, "rb") as output:
        for line in output:
            name, number, text = line.rstrip(b"\n").split(b":", 2)
            lines[(name.removeprefix(b"./"), int(number))] = text.decode("utf-8", "replace")
    return lines


def lines_of_records(path):
    """Returns the lines of Forage's answer, and whether there are more."""
    answer = json.loads(path.read_bytes())
    matches = [match["data"] for match in answer["matches"]]
    lines = {(match["path"]["text"].encode(), match["line_number"]): match["lines"]["text"] for match in matches}
    return lines, answer["truncated"]


def compare(bench, ours, theirs, needle, edits):
    """Runs both programs. Returns the numbers of lines of each and of both, and a list of errors."""
    bench.run(ours, "ours")
    bench.run(theirs, "theirs")
    mine, is_cut = lines_of_records(bench.output("ours"))
    other = lines_of(bench.output("theirs"))
    if is_cut:
        return (len(mine), len(other), "–", "–"), [f"more than {MAX_LINES} lines of Forage"]
    only_mine, only_other = mine.keys() - other.keys(), other.keys() - mine.keys()
    errors, missed = [], "–"
    if needle is not None:
        errors += [f"{location} is beyond the distance" for location, text in mine.items() if distance(needle, text) > edits]
        errors += [f"{location} is missing in Forage's answer" for location in only_other if distance(needle, other[location]) <= edits]
        missed = sum(distance(needle, mine[location], True) <= edits for location in only_mine)
    return (len(mine), len(other), len(mine) - len(only_mine), missed), errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ugrep", type=program, default="ugrep", help="the program ugrep")
    options = arguments(parser, with_rg=False)
    bench = Bench(options.tree)
    results = Results("fuzzy", bench, options, "search", "lines", programs=[options.forage, options.ugrep])
    line_rows = []
    for name, pattern, is_text in PATTERNS:
        for edits in EDITS:
            search = f"{name}, {edits} edit{'s' if edits > 1 else ''}"
            print(search, file=sys.stderr)
            text = ["-F"] if is_text else []
            commands = {
                "forage": [
                    options.forage, "grep", "--json", "--max-results", MAX_LINES, *text, "-Z", str(edits), pattern,
                ],
                "ugrep": [
                    options.ugrep, "-r", "-p", "-n", "-I", "--ignore-files", "--color=never", *text, f"-Z{edits}", "-e", pattern,
                ],
            }  # fmt: skip
            counts, errors = compare(bench, *commands.values(), pattern if is_text else None, edits)
            line_rows.append([search, *counts])
            if errors:
                results.differ(search, f"{len(errors)} lines, such as {errors[:3]}")
                continue
            series = in_turn(options.runs, {key: lambda c=command: bench.run(c) for key, command in commands.items()})
            results.add(search, f"{counts[0]:,}", series, "forage")
    columns = ["search", "lines of forage", "lines of ugrep", "in both", "missed by ugrep by its own rule"]
    results.add_table("The lines:", columns, line_rows)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
