#!/usr/bin/env python3
"""Compares searches in a running process, as in a server, with ripgrep, ugrep, git grep and codesearch.

The process is `watched_search` (`cargo build --release -p forage-search --example watched_search`). It has an index, and the
kernel notifies it of changes in the tree. So a search needs no walk, and reads no files that can't match. We also measure a
scan in the same process. Like the other programs, it writes the output of `rg -n` to a file. Before the measurement, all must
print the same lines, in any order. A program with other lines is reported and not compared. Limited searches end after 200
lines, which must be the first ones of `rg --sort path`. ripgrep has no such limit and prints all lines. Fuzzy searches are
only compared with our own scan. See bench/fuzzy.py for the differences to ugrep.

Missing programs are skipped. `cindex` builds codesearch's index first, which is not timed.
"""

import argparse
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # no bytecode files in the sources
from keywords import SETS, Procedure, procedure_sample
from measure import Bench, Results, Sample, arguments, in_turn, program
from scan import EIGHT_TERMS, difference

# Name, flags of `watched_search` and pattern, for the Linux sources.
SEARCHES = [
    ("rare literal", "", "rhashtable_walk_peek"),
    ("identifier regex", "", r"EXPORT_SYMBOL_GPL\(\w+_walk"),
    ("anchored call", "", r"kmalloc\(.*GFP_ATOMIC"),
    ("nothing", "", "no_such_text_7f3a"),
    ("word, any case", "iw", "timeout"),
    ("common literal", "", "struct device"),
    ("eight terms, any case", "i", EIGHT_TERMS),
    ("regex without a literal", "", r"\b[A-Z]{4,}[0-9]{3}[a-z]\b"),
]
LIMITED = [
    ("rare literal", "rhashtable_walk_peek"),
    ("common literal", "struct device"),
    ("common word", "return"),
]
FUZZY = [
    ("identifier of 20 characters", "rhashtable_walk_peek"),
    ("identifier of 14 characters", "copy_from_user"),
    ("word of 7 characters", "kmalloc"),
    ("phrase", "interrupt controller"),
]


class Searcher:
    """The running process."""

    def __init__(self, bench, path):
        self.bench = bench
        self.process = subprocess.Popen(
            [path, str(bench.tree)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, mode, flags, *what, kind="search", output="searched"):
        """Runs one search. Returns a sample with the wall time only. It has its own output file, so that we don't measure
        the time to truncate a large file."""
        request = "\t".join([str(self.bench.output(output)), kind, mode, flags, *what]) + "\n"
        start = time.perf_counter()
        self.process.stdin.write(request)
        line = self.process.stdout.readline()
        if not line:
            sys.exit("watched_search has exited")
        return Sample(time.perf_counter() - start, None, None, 0)


def peers(options, flags, pattern):
    """Returns commands that print the same lines as `rg -n`."""
    letters = [f"-{flag}" for flag in flags]
    commands = {"rg": [options.rg, "--no-config", "-n", *letters, pattern]}
    if ugrep := shutil.which("ugrep"):
        commands["ugrep"] = [ugrep, "-r", "-n", "-I", "--ignore-files", "--color=never", *letters, "-e", pattern]
    if git := shutil.which("git"):
        commands["git grep"] = [git, "grep", "--no-index", "-n", "-I", "-P", *letters, "-e", pattern]
    if csearch := shutil.which("csearch"):
        word = rf"\b(?:{pattern})\b" if "w" in flags else pattern
        commands["csearch"] = [csearch, "-n", *(["-i"] if "i" in flags else []), word]
    return commands


def sorted_lines(bench, name):
    """Returns the sorted lines of an output, with paths relative to the tree."""
    root = str(bench.tree).encode() + b"/"
    with open(bench.output(name), "rb") as output:
        return sorted(line.rstrip(b"\r\n").removeprefix(root).removeprefix(b"./") for line in output)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searcher", type=program, default="target/release/examples/watched_search")
    options = arguments(parser)
    bench = Bench(options.tree)
    bench.environment["CSEARCHINDEX"] = str(bench.output("codesearch"))
    if cindex := shutil.which("cindex"):
        bench.run([cindex, str(bench.tree)], "cindex")
    searcher = Searcher(bench, options.searcher)
    others = []
    results = Results("watched", bench, options, "search", "lines")

    def measure(name, lines, commands):
        results.add(name, lines, in_turn(options.runs, commands), "index")

    for name, flags, pattern in SEARCHES:
        print(f"{name}: {pattern}", file=sys.stderr)
        commands = peers(options, flags, pattern)
        for key, command in commands.items():
            bench.run(command, key)
        expected = sorted_lines(bench, "rg")
        searcher.ask("watched", flags, pattern, output="index")
        searcher.ask("scan", flags, pattern, output="scan")
        if sorted_lines(bench, "index") != expected or difference(bench.output("index").open("rb"), bench.output("scan").open("rb")):
            results.differ(name, "lines")
            continue
        for key in [key for key in commands if key != "rg"]:
            lines = sorted_lines(bench, key)
            if lines != expected:
                differ = len(set(lines) ^ set(expected))
                print(f"  {key} prints other lines ({differ:,} of them) and is not compared", file=sys.stderr)
                others.append([name, key, f"{len(lines):,}", f"{differ:,}"])
                del commands[key]
        series = {
            "index": lambda f=flags, p=pattern: searcher.ask("watched", f, p),
            "scan": lambda f=flags, p=pattern: searcher.ask("scan", f, p),
            **{key: lambda c=command: bench.run(c) for key, command in commands.items()},
        }
        measure(name, f"{len(expected):,}", series)
    for name, pattern in LIMITED:
        plain = [options.rg, "--no-config", "-n", pattern]
        bench.run([*plain[:2], "--sort", "path", *plain[2:]], "rg")
        searcher.ask("watched", "m", pattern, output="index")
        with open(bench.output("rg"), "rb") as output:
            first = [line for line, _ in zip(output, range(200))]
        if bench.output("index").read_bytes() != b"".join(first):
            results.differ(f"{name}, at most 200", "first lines")
            continue
        commands = {
            "index": lambda p=pattern: searcher.ask("watched", "m", p),
            "scan": lambda p=pattern: searcher.ask("scan", "m", p),
            "rg, all lines": lambda c=plain: bench.run(c),
        }
        measure(f"{name}, at most 200", f"{len(first)}", commands)
    for name, pattern in FUZZY:
        for key in ("watched", "scan"):
            searcher.ask(key, "2", pattern, output=key)
        if bench.output("watched").read_bytes() != bench.output("scan").read_bytes():
            results.differ(f"{name}, 2 edits", "lines")
            continue
        commands = {mode: lambda m=key, p=pattern: searcher.ask(m, "2", p) for mode, key in (("index", "watched"), ("scan", "scan"))}
        measure(f"{name}, 2 edits", f"{len(sorted_lines(bench, 'scan')):,}", commands)
    for name, _, terms in SETS:
        fates, evidence = Procedure(bench, options.rg).run(terms)
        kept = [argument for term in terms if fates[term] == "kept" for argument in ("-e", term)]
        bench.run([options.rg, "--no-config", "--sort", "path", "-C", "10", "-i", "-n", "--with-filename", *kept], "rg")
        searcher.ask("watched", "", *terms, kind="keywords", output="index")
        # Invalid UTF-8 becomes the replacement character in our output.
        theirs = bench.output("rg").read_bytes().decode(errors="replace")
        if bench.output("index").read_bytes().decode() != theirs:
            results.differ(f"keyword search, {name}", "evidence")
            continue
        commands = {
            "index": lambda t=terms: searcher.ask("watched", "", *t, kind="keywords"),
            "scan": lambda t=terms: searcher.ask("scan", "", *t, kind="keywords"),
            "procedure with rg": lambda t=terms: procedure_sample(bench, options.rg, t),
        }
        measure(f"keyword search, {name}", f"{evidence:,} bytes", commands)
    if others:
        results.add_table("Not compared, because other lines are printed:", ["search", "program", "lines", "others"], others)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
