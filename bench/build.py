#!/usr/bin/env python3
"""Measures the processor time of clean builds of Forage and ripgrep, the sizes of the programs, and Forage's slowest crates.

Builds alternate. Each starts with an empty target directory and uses the same cargo and its own Cargo.lock. ripgrep uses its
profile `release`, and Forage uses `release` and `dist`. ripgrep's source is in cargo's registry after `cargo xtask peers`.
`cargo xtask bench compare target/dist/forage target/release/forage` compares the speed of searches between the profiles.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, in_turn, program

UNITS = re.compile(r"const UNIT_DATA = (\[.*?\]);", re.DOTALL)
HEAVIEST = 10


def newest_ripgrep():
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    found = list(home.glob("registry/src/*/ripgrep-[0-9]*"))
    if not found:
        sys.exit("cargo's registry has no source of ripgrep; run `cargo install ripgrep`")
    return max(found, key=lambda path: [int(part) for part in path.name.rsplit("-", 1)[1].split(".")])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ripgrep", metavar="DIR", help="the source of ripgrep (default: the newest in cargo's registry)")
    parser.add_argument("--forage-source", default=Path(__file__).resolve().parent.parent, metavar="DIR")
    parser.add_argument("--runs", type=int, default=1, help="rounds (default: 1)")
    parser.add_argument("--data", metavar="DIR", help="also write the results to this directory")
    options = parser.parse_args()
    cargo, ripgrep = program("cargo"), options.ripgrep or newest_ripgrep()
    results = Results("build", None, options, "build", "", programs=[cargo], by="cpu")
    crates, sizes = {}, {}

    def build(name, source, profile, binary, *arguments):
        bench = Bench(source)
        bench.environment["CARGO_INCREMENTAL"] = "0"
        # A compiler cache would skip work, and other flags would change it.
        for variable in ("RUSTC_WRAPPER", "RUSTC_WORKSPACE_WRAPPER", "RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"):
            bench.environment.pop(variable, None)

        def run():
            with tempfile.TemporaryDirectory() as target:
                bench.environment["CARGO_TARGET_DIR"] = target
                sample = bench.run([cargo, "build", "--profile", profile, "--locked", "--timings", *arguments])
                if sample.status != 0:
                    sys.exit(f"{source} can't be built")
                built, stripped = Path(target, profile, binary), Path(target, "stripped")
                subprocess.run([program("strip"), "-o", stripped, built], check=True)
                sizes[name] = (built.stat().st_size, stripped.stat().st_size)
                if name == "forage":
                    count(Path(target, "cargo-timings", "cargo-timing.html").read_text(encoding="utf-8"))
            return sample

        return run

    def count(timings):
        for unit in json.loads(UNITS.search(timings)[1]):
            crates[unit["name"]] = crates.get(unit["name"], 0) + unit["duration"]

    forage = (options.forage_source, "--package", "forage-cli")
    commands = {
        name: build(name, source, profile, binary, *arguments)
        for name, profile, binary, (source, *arguments) in (
            ("forage", "release", "forage", forage),
            ("forage, dist", "dist", "forage", forage),
            ("ripgrep", "release", "rg", (ripgrep,)),
        )
    }
    results.add("clean build", "–", in_turn(options.runs, commands), "ripgrep")
    mib, ours = 1 << 20, sizes["ripgrep"][1]
    rows = [
        [name, f"{built / mib:.1f}", f"{stripped / mib:.1f}", f"{stripped / ours:.1f}"]
        for name, (built, stripped) in sizes.items()
    ]
    columns = ["program", "MiB as built", "MiB stripped", "stripped, divided by ripgrep's"]
    results.add_table("The sizes of the programs:", columns, rows)
    heaviest = sorted(crates.items(), key=lambda item: -item[1])[:HEAVIEST]
    rows = [[f"`{name}`", f"{seconds / options.runs:.1f}"] for name, seconds in heaviest]
    results.add_table("The heaviest crates of `forage`, with their build scripts:", ["crate", "s"], rows)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
