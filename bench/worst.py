#!/usr/bin/env python3
"""Measures the time of the worst known inputs after their deadline and after cancellation.

Each row is a call of `forage mcp` on a tree that is created for it, in a new server. With a deadline, the table shows the
time of the call after the deadline: wall time and processor time. For a call that is cancelled after a third of a second,
it shows the processor time in two seconds, starting 100 ms after the cancellation. The best of several runs counts, because
other load on the machine can delay a run. With `--base`, another program is measured in every run too.

    python3 bench/worst.py --forage target/release/forage --base ~/forage-before --runs 3

The exit status is 1 if a call ends more than 300 ms after its deadline, or uses more than 50 ms of processor time starting
100 ms after its cancellation.
"""

import argparse
import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # no bytecode files in the sources
from mcp import INITIALIZE, INITIALIZED, message

# Maximum seconds of a call after its deadline, and maximum processor time after a cancellation.
MARGIN, BURN = 0.3, 0.05
# Seconds until a call is cancelled, until its work must have ended after that, and of the measurement.
CANCEL_AFTER, GRACE, OBSERVED = 0.35, 0.1, 2.0
# Seconds after which a call is killed.
TIMEOUT = 60.0
TICKS = os.sysconf("SC_CLK_TCK")


def one_letter(root):
    (root / "a.txt").write_bytes(b"a" * (2 << 20))


def non_ascii_letters(root):
    (root / "a.txt").write_text("aé" * 700_000)


def short_lines(root):
    (root / "a.txt").write_text((("a" * 44) + "\n") * 150_000)


def line_feeds(root):
    (root / "a.txt").write_bytes(b"\n" * (400 << 20))


def words(root):
    for number in range(3_000):
        text = "".join(f"fn word{number}_{line}() {{ word{number // 2}(other{line}) }}\n" for line in range(150))
        (root / f"{number}.rs").write_text(text)


def names(root):
    for number in range(FILES):
        (root / f"{number:07}.txt").touch()


def rules(root):
    (root / ".gitignore").write_text("".join(f"**/{number}*{number}?[ab]*/x{number}\n" for number in range(200_000)))
    for number in range(2_000):
        (root / f"{number}").mkdir()
        (root / f"{number}" / "a.txt").write_text("text\n")


def small(root):
    (root / "a.txt").write_text("text\n" * 10)


FILES = 100_000
A = "a" * 16_000
TERMS = [A + end for end in ("b?c", "d?e", "[fg]h", "i?j")]


def keyword(terms):
    return {"query": "which letters", "search_terms": terms}


# Tool, description of the input, tree, arguments.
ROWS = [
    ("grep_search", "16,000 letters, in a line of their prefixes", one_letter,
     {"pattern": A + "b?c", "ignore_case": True}),
    ("grep_search", "16,000 letters, at every position of a line", one_letter, {"pattern": A, "ignore_case": True}),
    ("grep_search", "thousands of states at every position", one_letter, {"pattern": "(a?){3000}a{3000}[bc]?[de]"}),
    ("grep_search", "word boundaries next to letters beyond ASCII", non_ascii_letters,
     {"pattern": r"\B(é?a){2000}\B[^aé]"}),
    ("grep_search", "thousands of states, short lines", short_lines, {"pattern": "(a?){3000}a{3000}[bc]?[de]"}),
    ("grep_search", "200,000 rules of one file", rules, {"pattern": "text"}),
    ("grep_search", "five thousand folded classes", small, {"pattern": r"\pL" * 5_000, "ignore_case": True}),
    ("Search", "every match scans the whole line", one_letter, {"pattern": "a.*b|a"}),
    ("Search", "3,000 letters with four edits", one_letter, {"pattern": "abcd" * 750, "fuzzy": 4}),
    ("Search", "a regex with three edits", non_ascii_letters,
     {"pattern": r"(\w\d|a\wé)\w{60}\d\d\d\b", "fuzzy": 3}),
    ("Search", "words in a long line", non_ascii_letters, {"pattern": r"(é?a){2000}[^aé]", "word_regexp": True}),
    ("Search", "the best of many matches", short_lines, {"pattern": "a+a*a+", "fuzzy": 1}),
    ("keyword_search", "four literals of 16,000 letters", one_letter, keyword(TERMS)),
    ("keyword_search", "one letter", one_letter, keyword(["a", "a+", "aa*a"])),
    ("keyword_search", "58 terms that are too large", small, keyword([rf"(\w{{50}}){{{20 + n}}}" for n in range(58)])),
    ("keyword_search", "64 terms that are nearly too large", small,
     keyword([rf"\w{{{150 + n}}}" for n in range(64)])),
    ("keyword_search", "64 terms of thousands of folded classes", small,
     keyword([r"\pL" * 5_000 + f"{n}" for n in range(64)])),
    ("keyword_search", "64 terms of thousands of parts", words,
     keyword(["[abcd]" * 2_500 + f"{n}" for n in range(64)])),
    ("keyword_search", "64 terms that all match a file of words", words, keyword([f"word{n}" for n in range(64)])),
    ("list_directory", "a directory of many files", names, {"path": "."}),
    ("list_directory", "the same, including ignored files", names,
     {"path": ".", "recursive": True, "include_ignored": True}),
    ("read_file", "after the end of a file of line feeds", line_feeds,
     {"path": "a.txt", "start_line": 4_000_000_000}),
    ("search_index", "the first search in many files", names, {"query": "which words"}),
    ("search_index", "a question of a thousand words", words, {"query": " ".join(f"word{n}" for n in range(1_000))}),
]


class Server:
    """A server process for one call."""

    def __init__(self, program, root, home, deadline, has_index):
        config = home / "config.toml"
        # A server builds its index in the background. This work does not belong to a call.
        index = "" if has_index else 'index = "off"\n'
        config.write_text(f'filter = "lexical"\n{index}[tools.search]\nenabled = true\n')
        limit = str(int(deadline * 1e3))
        command = [program, "mcp", "--root", str(root), "--config", str(config), "--timeout-ms", limit]
        self.process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0,
            env={"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "PATH": os.environ["PATH"]},
        )
        self.rest = b""
        self.write(INITIALIZE)
        self.answer(0, 10)
        self.write(INITIALIZED)

    def write(self, line):
        os.write(self.process.stdin.fileno(), line)

    def answer(self, number, seconds):
        """Returns the answer to a request, or nothing after a timeout."""
        end_time = time.perf_counter() + seconds
        while True:
            line, feed, rest = self.rest.partition(b"\n")
            if feed:
                self.rest = rest
                parsed = json.loads(line)
                if parsed.get("id") == number and "method" not in parsed:
                    return parsed
                continue
            remaining = end_time - time.perf_counter()
            if remaining <= 0 or not select.select([self.process.stdout], [], [], remaining)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 1 << 16)
            if not piece:
                sys.exit("the server has exited")
            self.rest += piece

    def cpu(self):
        """Returns the processor time so far in seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def with_deadline(program, row, root, deadline):
    """Returns wall time and processor time after the deadline in seconds, and the kind of answer."""
    tool, _, _, arguments = row
    if tool == "Search":
        arguments = {**arguments, "timeout_ms": int(deadline * 1e3)}
    with tempfile.TemporaryDirectory() as home:
        server = Server(program, root, pathlib.Path(home), deadline, tool == "search_index")
        try:
            start = time.perf_counter()
            server.write(message(1, "tools/call", {"name": tool, "arguments": arguments}))
            answer = server.answer(1, deadline)
            at_deadline = server.cpu()
            if answer is None:
                answer = server.answer(1, TIMEOUT)
            wall = time.perf_counter() - start
            cpu = server.cpu() - at_deadline
        finally:
            server.end()
    text = "killed" if answer is None else json.dumps(answer)
    marks = ("time limit", "call ended before", "being built", "no time", "time ran out", "time of", "did not finish",
             "in time", "out of time")
    is_refused = answer and ("error" in answer or answer["result"].get("isError"))
    kind = "cut" if any(mark in text for mark in marks) else "refused" if is_refused else "all"
    return max(wall - deadline, 0.0), cpu if wall > deadline else 0.0, kind if answer else "killed"


def cancelled(program, row, root):
    """Returns the processor time in seconds, starting after the grace period. Returns nothing if the call ended before its
    cancellation."""
    tool, _, _, arguments = row
    with tempfile.TemporaryDirectory() as home:
        server = Server(program, root, pathlib.Path(home), 100, False)
        try:
            server.write(message(1, "tools/call", {"name": tool, "arguments": arguments}))
            if server.answer(1, CANCEL_AFTER) is not None:
                return None
            server.write(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n')
            time.sleep(GRACE)
            before = server.cpu()
            time.sleep(OBSERVED)
            return server.cpu() - before
        finally:
            server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", required=True)
    parser.add_argument("--base", default=os.environ.get("FORAGE_BASE"), help="another program to compare with")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--deadline", type=float, default=1.0, help="seconds")
    parser.add_argument("--only", default="", help="measure only rows whose tool or description contains this")
    arguments = parser.parse_args()
    programs = {"forage": os.path.abspath(arguments.forage)}
    if arguments.base:
        programs["base"] = os.path.abspath(arguments.base)
    head = "".join(f" {name}: beyond, wall s | CPU s | says | cancelled, CPU s |" for name in programs)
    print(f"| tool | input |{head}\n|---|---|{'--:|--:|---|--:|' * len(programs)}")
    late = []
    for row in ROWS:
        tool, description, tree, _ = row
        if arguments.only not in f"{tool} {description}":
            continue
        with tempfile.TemporaryDirectory() as directory:
            root = pathlib.Path(directory, "project")
            root.mkdir()
            (root / ".git").mkdir()
            tree(root)
            samples = {name: ([], []) for name in programs}
            for _ in range(arguments.runs):
                for name, program in programs.items():
                    samples[name][0].append(with_deadline(program, row, root, arguments.deadline))
                    samples[name][1].append(cancelled(program, row, root))
        cells = []
        for name, (deadlines, cancels) in samples.items():
            wall, cpu, kind = min(deadlines)
            burns = [burn for burn in cancels if burn is not None]
            burn = min(burns) if burns else None
            cells.append(f"{wall:.2f} | {cpu:.2f} | {kind} | {'over before' if burn is None else f'{burn:.2f}'}")
            if name == "forage" and (wall > MARGIN or (burn or 0.0) > BURN):
                late.append(f"{tool}: {description}")
        print(f"| {tool} | {description} | {' | '.join(cells)} |", flush=True)
    if late:
        sys.exit("too late: " + "; ".join(late))


if __name__ == "__main__":
    main()
