#!/usr/bin/env python3
"""Measures the costs of building each of the two indexes of a tree from scratch: time, processor time, memory and size.

Each round builds both, alternating, in a new cache directory next to the tree. For comparison, it also reads the tree
without an index, which is a lower bound of the costs.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, arguments, in_turn

NOTHING = "no_such_text_7f3a"


def size(directory):
    """Returns the size of all files in megabytes."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = arguments(parser)
    bench = Bench(options.tree)
    results = Results("indexes", bench, options, "index", "MB", by="cpu")
    sizes = {}

    def build(name, *command):
        def run():
            with tempfile.TemporaryDirectory(prefix=".bench-cache-", dir=bench.tree.parent) as cache:
                bench.environment["XDG_CACHE_HOME"] = cache
                sample = bench.run([options.forage, *command])
                if sample.status != 0:
                    sys.exit(f"{name}: the command failed or found nothing")
                sizes[name] = f"{size(Path(cache)):.0f}"
            return sample

        return run

    commands = {
        "instant": build("instant", "index", "build"),
        "ranked": build("ranked", "rank", "page fault handler", "--timeout-ms", "300000"),
        "reading all": lambda: bench.run([options.rg, "--no-config", NOTHING]),
    }
    series = in_turn(options.runs, commands)
    results.add("build", " and ".join(f"{sizes[name]} ({name})" for name in sizes), series, "instant")
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
