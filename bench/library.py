#!/usr/bin/env python3
"""Compares the time of a program that uses the library with `forage call grep_search`, after checking that both find the same lines.

Build the program with `cargo build --release --package forage-tools --example grep`. Both use the index in the user's cache
directory, which you must create with `forage index build`. Each search starts a new process.
"""

import argparse
import json
import sys

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, arguments, in_turn, program

# For the Linux sources.
PATTERNS = [
    ("rare literal", "rhashtable_walk_peek"),
    ("identifier regex", r"EXPORT_SYMBOL_GPL\(\w+_walk"),
    ("common literal", "struct device"),
    ("nothing", "no_such_text_7f3a"),
]


def lines_of_library(text):
    *lines, total = text.removesuffix("\n").split("\n")
    return [tuple(line.split(":", 2)[:2]) for line in lines], total


def lines_of_command(text):
    answer = json.loads(text)
    lines = [(file["path"], str(line["line_number"])) for file in answer["files"] for line in file["lines"]]
    return lines, f"{answer['match_count']} matches in {answer['file_count']} files"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--example", required=True, help="the example `grep` of forage-tools")
    options = arguments(parser, with_rg=False)
    example = program(options.example)
    bench = Bench(options.tree)
    results = Results("library", bench, options, "search", "found", programs=[options.forage])
    for name, pattern in PATTERNS:
        request = json.dumps({"pattern": pattern, "context_lines": 0})
        library, command = [example, ".", pattern], [options.forage, "call", "grep_search", "--json", request]
        bench.run(library, "library")
        bench.run(command, "command")
        found = lines_of_library(bench.output("library").read_text(errors="replace"))
        expected = lines_of_command(bench.output("command").read_text(errors="replace"))
        if found != expected:
            results.differ(name, f"{found[1]} of the library, {expected[1]} of the command")
            continue
        commands = {"library": lambda c=library: bench.run(c), "command": lambda c=command: bench.run(c)}
        results.add(name, found[1], in_turn(options.runs, commands), "library")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
