#!/usr/bin/env python3
"""What a clean release build of Forage costs beside ripgrep's, in processor seconds, and its heaviest crates.

Both are built from an empty target directory, in turn, with the same cargo, each with its own Cargo.lock and profile `release`.
ripgrep's source is what cargo's registry has of it (`cargo xtask peers` brings it there).
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is left behind in the sources
from measure import Bench, Results, in_turn, program

UNITS = re.compile(r"const UNIT_DATA = (\[.*?\]);", re.DOTALL)
HEAVIEST = 10


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ripgrep", required=True, metavar="DIR", help="the source of ripgrep")
    parser.add_argument("--forage-source", default=Path(__file__).resolve().parent.parent, metavar="DIR")
    parser.add_argument("--runs", type=int, default=1, help="rounds (default: 1)")
    parser.add_argument("--data", metavar="DIR", help="write the results into this directory, too")
    options = parser.parse_args()
    cargo = program("cargo")
    results = Results("build", Bench(options.forage_source), options, "build", "", programs=[cargo], by="cpu")
    heaviest = {}

    def build(source, *arguments):
        bench = Bench(source)
        bench.environment["CARGO_INCREMENTAL"] = "0"

        def run():
            with tempfile.TemporaryDirectory() as target:
                bench.environment["CARGO_TARGET_DIR"] = target
                command = [cargo, "build", "--release", "--locked", "--timings", *arguments]
                sample = bench.run(command)
                units = UNITS.search(Path(target, "cargo-timings", "cargo-timing.html").read_text(encoding="utf-8"))
                for unit in json.loads(units[1]):
                    heaviest[unit["name"]] = heaviest.get(unit["name"], 0) + unit["duration"]
            return sample

        return run

    ours = build(options.forage_source, "--package", "forage")
    theirs = build(options.ripgrep)

    def theirs_alone():
        kept = dict(heaviest)
        sample = theirs()
        heaviest.clear()
        heaviest.update(kept)
        return sample

    series = in_turn(options.runs, {"forage": ours, "ripgrep": theirs_alone})
    results.add("release build", "–", series, "ripgrep")
    crates = sorted(heaviest.items(), key=lambda item: -item[1])[:HEAVIEST]
    rows = [[f"`{name}`", f"{taken / options.runs:.1f}"] for name, taken in crates]
    results.add_table("The heaviest crates of it, with their build scripts:", ["crate", "s"], rows)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
