#!/usr/bin/env python3
"""Measures the overhead of the server: time from a client's write to its read, over pipes, and from start to first answer.

Most calls are for `noop`, a tool of the test server (`cargo build --release -p forage-cli --example mcp_fixtures`) that does
nothing. It uses the whole path of a call: parsing, queue, thread, rendering. The client is this script on plain pipes. Its
own time is measured with `cat` instead of the server, and not subtracted. We also measure real tools with the shipped
binary, on a tree with one small file. On a virtual machine, waking a thread on another processor takes most of the time.
So we also measure `noop` on one processor if the system supports it. Python 3.9 or newer, no packages.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REVISION = "2025-11-25"


def pipes(command, directory):
    process = subprocess.Popen(
        command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
    )
    return process, process.stdin.fileno(), process.stdout.fileno()


def line_of(fd):
    data = b""
    while not data.endswith(b"\n"):
        piece = os.read(fd, 1 << 16)
        if not piece:
            sys.exit("the server has exited")
        data += piece
    return data


def message(id, method, params):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


INITIALIZE = message(
    0, "initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
)
# Runs the following command on the first processor.
ON_ONE_PROCESSOR = [sys.executable, "-c", "import os,sys; os.sched_setaffinity(0, {0}); os.execv(sys.argv[1], sys.argv[1:])"]
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def times(command, directory, calls, name, arguments, handshake=True):
    process, write, read = pipes(command, directory)
    if handshake:
        os.write(write, INITIALIZE)
        line_of(read)
        os.write(write, INITIALIZED)
    durations = []
    for id in range(1, calls + 501):
        line = message(id, "tools/call", {"name": name, "arguments": arguments})
        start = time.perf_counter()
        os.write(write, line)
        answer = line_of(read)
        durations.append(time.perf_counter() - start)
        if handshake and id == 1:
            result = json.loads(answer)["result"]
            if result.get("isError"):
                sys.exit(f"{name} failed: {answer.decode()}")
    process.stdin.close()
    process.wait()
    # Exclude the first calls, because they start threads.
    return sorted(durations[500:])


def first_answer(command, directory):
    start = time.perf_counter()
    process, write, read = pipes(command, directory)
    os.write(write, INITIALIZE)
    line_of(read)
    durations = time.perf_counter() - start
    process.stdin.close()
    process.wait()
    return durations


def percentile(durations, fraction):
    return durations[min(int(len(durations) * fraction), len(durations) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", default="target/release/forage")
    parser.add_argument("--fixtures", default="target/release/examples/mcp_fixtures")
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    forage, fixtures = (str(Path(path).resolve(strict=True)) for path in (options.forage, options.fixtures))
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, ".git").mkdir()
        Path(directory, "a.txt").write_text("a needle\n")
        cases = [
            ("client alone (`cat`)", ["cat"], "noop", {}, False),
            ("`noop`", [fixtures, "--root", directory], "noop", {}, True),
            ("`read_file`", [forage, "mcp"], "read_file", {"path": "a.txt"}, True),
            ("`grep_search`", [forage, "mcp"], "grep_search", {"pattern": "needle"}, True),
        ]
        if hasattr(os, "sched_setaffinity"):
            cases.insert(2, ("`noop`, the server on one processor", [*ON_ONE_PROCESSOR, *cases[1][1]], "noop", {}, True))
        rows = {name: [] for name, *_ in cases}
        starts = []
        for _ in range(options.rounds):
            for name, command, tool, arguments, handshake in cases:
                rows[name].append(times(command, directory, options.calls, tool, arguments, handshake))
            starts += [first_answer([forage, "mcp"], directory) for _ in range(20)]
        load = os.getloadavg()
        print(f"{options.rounds} rounds of {options.calls:,} calls one after the other; load {load[0]:.1f} at the end.")
        print("Median of the rounds, and the best and worst round.\n")
        print("| call | p50 µs | p99 µs |\n|---|---|---|")
        for name, rounds in rows.items():
            cells = []
            for fraction in (0.5, 0.99):
                values = sorted(percentile(durations, fraction) * 1e6 for durations in rounds)
                cells.append(f"{statistics.median(values):.0f} ({values[0]:.0f} to {values[-1]:.0f})")
            print(f"| {name} | {cells[0]} | {cells[1]} |")
        starts.sort()
        print(
            f"\nStart to first answer (`initialize`), {len(starts)} starts: p50 {percentile(starts, 0.5) * 1e3:.1f} ms, "
            f"p90 {percentile(starts, 0.9) * 1e3:.1f} ms."
        )


if __name__ == "__main__":
    main()
