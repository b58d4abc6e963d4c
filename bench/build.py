#!/usr/bin/env python3
"""What a clean release build of Forage costs beside ripgrep's, in processor seconds, and its heaviest crates.

Both are built from an empty target directory, in turn, with the same cargo, each with its own Cargo.lock and profile `release`.
ripgrep's source is what cargo's registry has of it (`cargo xtask peers` brings it there).
"""

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # nothing is left behind in the sources
from measure import Bench, Results, in_turn, program

UNITS = re.compile(r"const UNIT_DATA = (\[.*?\]);", re.DOTALL)
HEAVIEST = 10


def newest_ripgrep():
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    found = list(home.glob("registry/src/*/ripgrep-[0-9]*"))
    if not found:
        sys.exit("cargo's registry has no source of ripgrep: `cargo install ripgrep` brings it there")
    return max(found, key=lambda path: [int(part) for part in path.name.rsplit("-", 1)[1].split(".")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ripgrep", metavar="DIR", help="the source of ripgrep (default: the newest in cargo's registry)")
    parser.add_argument("--forage-source", default=Path(__file__).resolve().parent.parent, metavar="DIR")
    parser.add_argument("--runs", type=int, default=1, help="rounds (default: 1)")
    parser.add_argument("--data", metavar="DIR", help="write the results below this directory, too")
    options = parser.parse_args()
    cargo, ripgrep = program("cargo"), options.ripgrep or newest_ripgrep()
    results = Results("build", None, options, "build", "", programs=[cargo], by="cpu")
    crates = {}

    def build(source, *arguments, tell=None):
        bench = Bench(source)
        bench.environment["CARGO_INCREMENTAL"] = "0"
        # What is taken from elsewhere was not built, and what is built otherwise costs something else.
        for variable in ("RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"):
            bench.environment.pop(variable, None)

        def run():
            with tempfile.TemporaryDirectory() as target:
                bench.environment["CARGO_TARGET_DIR"] = target
                sample = bench.run([cargo, "build", "--release", "--locked", "--timings", *arguments])
                if sample.status != 0:
                    sys.exit(f"{source} can't be built")
                if tell:
                    tell(Path(target, "cargo-timings", "cargo-timing.html").read_text(encoding="utf-8"))
            return sample

        return run

    def count(timings):
        for unit in json.loads(UNITS.search(timings)[1]):
            crates[unit["name"]] = crates.get(unit["name"], 0) + unit["duration"]

    commands = {
        "forage": build(options.forage_source, "--package", "forage", tell=count),
        "ripgrep": build(ripgrep),
    }
    series = in_turn(options.runs, commands)
    results.add("release build", "–", series, "ripgrep")
    heaviest = sorted(crates.items(), key=lambda item: -item[1])[:HEAVIEST]
    rows = [[f"`{name}`", f"{taken / options.runs:.1f}"] for name, taken in heaviest]
    results.add_table("The heaviest crates of it, with their build scripts:", ["crate", "s"], rows)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
