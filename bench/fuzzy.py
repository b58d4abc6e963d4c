#!/usr/bin/env python3
"""Times `forage grep -Z` against `ugrep -Z`, after comparing the lines that both print.

The two do not mean quite the same. Forage finds every line of which some part is at most so many edits away. ugrep takes
the first character of a match as given (its manual says so), and does not find every line even then. So the lines of a
plain text are judged by a third party, the textbook's dynamic programming in this file: every line that Forage prints
must be near enough, and every line that only ugrep prints must be too far away. The lines that only Forage prints are
counted by whether ugrep's rule leaves them out or ugrep missed them. Of a regular expression only the numbers of lines
are compared. Forage prints at most 10,000 lines; a search with more is named and not timed.
"""

import argparse
import json
import sys

sys.dont_write_bytecode = True  # nothing is left behind in the sources
from measure import Bench, Results, arguments, in_turn, program

# Name, pattern, whether it is plain text: for the Linux sources.
PATTERNS = [
    ("identifier of 20 characters", "rhashtable_walk_peek", True),
    ("phrase of two words", "page fault", True),
    ("longer phrase", "interrupt controller", True),
    ("regex with literal parts", r"static int [a-z]+_probe\(struct platform_device", False),
]
EDITS = [1, 2, 3]
MAX_LINES = "10000"


def distance(needle, line, first_is_given=False):
    """The least number of edits between `needle` and some part of `line`."""
    row = list(range(len(needle) + 1))
    if first_is_given:
        row[1:] = [len(needle) + 1] * len(needle)
    best = row[-1]
    for character in line:
        before, row = row, [0]
        for i, wanted in enumerate(needle, 1):
            if first_is_given and i == 1:
                row.append(0 if character == wanted else len(needle) + 1)
                # Behind the given first character, text may still be inserted.
                row[1] = min(row[1], before[1] + 1)
            else:
                row.append(min(before[i - 1] + (character != wanted), before[i] + 1, row[i - 1] + 1))
        best = min(best, row[-1])
    return best


def lines_of(path):
    """The lines of an output, each as (path and number, text)."""
    lines = {}
    with open(path, "rb") as output:
        for line in output:
            name, number, text = line.rstrip(b"\n").split(b":", 2)
            lines[(name.removeprefix(b"./"), int(number))] = text.decode("utf-8", "replace")
    return lines


def lines_of_records(path):
    """The lines of Forage's answer, and whether there are more."""
    answer = json.loads(path.read_bytes())
    matches = [match["data"] for match in answer["matches"]]
    lines = {(match["path"]["text"].encode(), match["line_number"]): match["lines"]["text"] for match in matches}
    return lines, answer["truncated"]


def compare(bench, ours, theirs, needle, edits):
    """Runs both; the numbers of lines of each and of both, and what is wrong with them, if anything is."""
    bench.run(ours, "ours")
    bench.run(theirs, "theirs")
    mine, is_cut = lines_of_records(bench.output("ours"))
    other = lines_of(bench.output("theirs"))
    if is_cut:
        return (len(mine), len(other), "–", "–"), [f"more than {MAX_LINES} of ours"]
    only_mine, only_other = mine.keys() - other.keys(), other.keys() - mine.keys()
    wrong, missed = [], "–"
    if needle is not None:
        wrong += [f"{place} is too far away" for place, text in mine.items() if distance(needle, text) > edits]
        wrong += [f"{place} should be in ours" for place in only_other if distance(needle, other[place]) <= edits]
        missed = sum(distance(needle, mine[place], True) <= edits for place in only_mine)
    return (len(mine), len(other), len(mine) - len(only_mine), missed), wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ugrep", type=program, default="ugrep", help="a real ugrep")
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
            counts, wrong = compare(bench, *commands.values(), pattern if is_text else None, edits)
            line_rows.append([search, *counts])
            if wrong:
                results.differ(search, f"{len(wrong)} lines, such as {wrong[:3]}")
                continue
            series = in_turn(options.runs, {key: lambda c=command: bench.run(c) for key, command in commands.items()})
            results.add(search, f"{counts[0]:,}", series, "forage")
    columns = ["search", "lines of forage", "lines of ugrep", "in both", "missed by ugrep by its own rule"]
    results.add_table("The lines:", columns, line_rows)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
