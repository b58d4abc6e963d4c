#!/usr/bin/env python3
"""What the benchmarks share: one process measured, series in turn, results as data, tables of them.

`measure.py` itself writes the tables of `results/` into README.md; with `--check` it only says whether they are there as
they should be. Python 3.9 or newer, no packages.
"""

import argparse
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Optional

# What a caller's settings could change about the programs that are compared.
IGNORED_VARIABLES = ("RIPGREP_CONFIG_PATH", "GREP_COLORS", "GREP_COLOR")


@dataclass
class Sample:
    """One run of a program."""

    wall: float  # seconds
    cpu: Optional[float]  # seconds, user and system
    peak_rss: Optional[float]  # MiB
    status: int


class Bench:
    """Programs run in one tree, with their output written to a real file.

    The file is on tmpfs where there is one, so that no disk is measured. It is never /dev/null: ripgrep looks for that
    and then stops at the first match.
    """

    def __init__(self, tree):
        self.tree = Path(tree).resolve(strict=True)
        memory = Path("/dev/shm")
        self._keep = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
        self.directory = Path(self._keep.name)
        if self.tree in self.directory.parents:
            sys.exit("the output would be written into the tree that is searched")
        self.environment = {k: v for k, v in os.environ.items() if k not in IGNORED_VARIABLES}

    def run(self, command, output="output"):
        """Runs `command` and measures it; exit statuses 0 and 1 (nothing found) are both fine."""
        errors = self.directory / "errors"
        with open(self.directory / output, "wb") as out, open(errors, "wb") as err:
            begin = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=self.tree, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):
            text = errors.read_text(errors="replace").strip()
            sys.exit(f"{' '.join(command)}\nended with {process.returncode}: {text}")
        # Kilobytes on Linux, bytes on macOS.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, process.returncode)

    def output(self, name="output"):
        """The file with the output of the last run that was given this name."""
        return self.directory / name

    def rss_floor(self):
        """The smallest peak that can be measured: a child inherits the peak of the process that starts it."""
        return self.run([program("true")], "floor").peak_rss


def program(name):
    """The absolute path of a program; the benchmarks run with another working directory."""
    found = shutil.which(name)
    if found is None:
        sys.exit(f"{name} is no program that can be run")
    return os.path.abspath(found)


def in_turn(runs, commands):
    """Runs all `commands` (name -> function that gives a sample) one after the other, `runs` times."""
    series = {name: [] for name in commands}
    for number in range(runs):
        print(f"\r  run {number + 1} of {runs} ", end="", file=sys.stderr, flush=True)
        for name, command in commands.items():
            series[name].append(command())
    print("\r" + " " * 30 + "\r", end="", file=sys.stderr, flush=True)
    return series


def table(columns, rows):
    """A Markdown table."""
    cells = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells)


def first_line(command):
    """The first line that a program prints, for `--version`."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return (result.stdout.splitlines() or ["(unknown version)"])[0]


def machine():
    """What the results of this machine are kept under, and what it is called in tables."""
    name = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0]
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in info.splitlines())}
        name = fields.get("model name", name)
        # Virtual machines hide what a processor is called, not what it is.
        if "cpu family" in fields:
            name += f" (family {fields['cpu family']}, model {fields['model']})"
        elif "CPU part" in fields:
            name += f" (implementer {fields['CPU implementer']}, part {fields['CPU part']})"
    except OSError:
        pass
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    key = "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())
    return {"key": f"{key}-{usable}-{platform.system().lower()}", "processor": name, "logical": usable}


def setting(bench, programs, runs):
    """What was measured on, as data; without a tree where none is searched."""
    return {
        "programs": [first_line([program, "--version"]) for program in programs],
        "tree": bench and bench.tree.name,
        "files": bench and sum(len(files) for _, _, files in os.walk(bench.tree)),
        "machine": machine(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "runs": runs,
        "load": round(os.getloadavg()[0], 1),
        "month": time.strftime("%Y-%m"),
        "floor": bench and round(bench.rss_floor()),
    }


def setting_text(data):
    """The same as a Markdown list."""
    programs, where = "; ".join(data["programs"]), data["machine"]
    lines = [
        f"- {programs}; {data['month']}",
        f"- {where['processor']}, {where['logical']} logical CPUs, {data['system']}, load {data['load']} when it began",
        f"- {data['runs']} rounds, the commands in turn within each",
    ]
    if data["tree"]:
        lines += [
            f"- tree: {data['tree']}, {data['files']:,} files, in the page cache; output to a file",
            f"- peaks up to {data['floor']} MiB can't be distinguished: a process starts with its parent's peak",
        ]
    return "\n".join(lines)


class Results:
    """Samples of programs that took turns: data to be written, and the tables of it."""

    def __init__(self, name, bench, options, of, detail, *, programs=None, by="wall"):
        """`by` is what is compared: the time of the clock, or that of processors (`cpu`)."""
        programs = programs or [options.forage, options.rg]
        self.path = options.data and Path(options.data)
        self.data = {
            "benchmark": name,
            "of": of,
            "detail": detail,
            "by": by,
            "setting": setting(bench, programs, options.runs),
            "rows": [],
            "differing": [],
            "more": [],
        }

    def add(self, what, detail, series, ours):
        """One comparison: the samples of each command, and the command that the others are compared with."""
        samples = {key: [asdict(sample) for sample in taken] for key, taken in series.items()}
        self.data["rows"].append({"what": what, "detail": detail, "ours": ours, "series": samples})

    def differ(self, what, difference):
        """One that was not timed, because the answers are not the same."""
        print(f"  not timed, the answers differ at {difference}", file=sys.stderr)
        self.data["differing"].append(what)

    def add_table(self, title, columns, rows):
        """What else there is to tell."""
        self.data["more"].append({"title": title, "columns": columns, "rows": rows})

    def end(self):
        """Prints the tables and writes the data. Gives the exit status: 1 if any answers differed."""
        print(tables([self.data]))
        if self.path:
            file = self.path / machine()["key"] / f"{self.data['benchmark']}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(self.data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 1 if self.data["differing"] else 0


def times(samples):
    """Median, minimum and maximum of the wall time, median CPU time and highest peak, as cells of a table."""
    walls = [sample["wall"] * 1000 for sample in samples]
    # Of a call to a process that lives on neither is known.
    known = [sample for sample in samples if sample["cpu"] is not None]
    cpu = f"{statistics.median(sample['cpu'] * 1000 for sample in known):.0f}" if known else "–"
    peak = f"{max(sample['peak_rss'] for sample in known):.0f}" if known else "–"
    taken = [f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in (statistics.median(walls), min(walls), max(walls))]
    return [*taken, cpu, peak]


TIME_COLUMNS = ["median ms", "min ms", "max ms", "CPU ms", "peak RSS MiB"]


def ratios(other, ours, by):
    """How many times as much `other` took as `ours`, by round."""
    return [theirs[by] / mine[by] for theirs, mine in zip(other, ours)]


def ratio(taken):
    """The median, the range and the rounds that ours won, as one cell."""
    won = sum(value > 1 for value in taken)
    return f"**{statistics.median(taken):.2f}** ({min(taken):.2f}–{max(taken):.2f}; {won} of {len(taken)})"


def tables(results):
    """The results of one benchmark, on one kind of machine or several, in Markdown."""
    first = results[0]
    parts, by_row = [], {}
    for data in results:
        rows = [
            [row["what"], command, row["detail"], *times(samples)]
            for row in data["rows"]
            for command, samples in row["series"].items()
        ]
        parts += [setting_text(data["setting"]), table([first["of"], "command", first["detail"], *TIME_COLUMNS], rows)]
        for row in data["rows"]:
            ours = row["series"][row["ours"]]
            for command, samples in row["series"].items():
                if command != row["ours"]:
                    cells = by_row.setdefault((row["what"], command, row["ours"]), {})
                    cells[data["setting"]["machine"]["key"]] = ratios(samples, ours, data["by"])
    machines = [data["setting"]["machine"] for data in results]
    rows = []
    for (what, command, _), cells in by_row.items():
        medians = [statistics.median(taken) for taken in cells.values()]
        # What is quicker here and slower there is told of the machine, not of the program.
        mark = " †" if min(medians) < 1 < max(medians) else ""
        rows.append([what, command + mark, *(ratio(cells[m["key"]]) if m["key"] in cells else "–" for m in machines)])
    ours = " or ".join(dict.fromkeys(f"`{ours}`" for _, _, ours in by_row))
    taken = "Time" if first["by"] == "wall" else "Processor time"
    text = f"{taken} of the other divided by that of {ours} in the same round: the median, and in brackets the range and the\n"
    text += "rounds in which it is over 1."
    if any("†" in row[1] for row in rows):
        text += " † Only on one kind of machine."
    parts += [text, table([first["of"], "compared with", *(m["processor"] for m in machines)], rows)]
    for data in results:
        where = f"{data['setting']['machine']['processor']}: " if len(results) > 1 else ""
        for more in data["more"]:
            parts += [where + more["title"], table(more["columns"], more["rows"])]
    differing = [what for data in results for what in data["differing"]]
    if differing:
        parts.append("Not timed, because the answers differ: " + ", ".join(differing) + ".")
    return "\n\n".join(parts)


def arguments(parser, with_rg=True):
    """The arguments that all of them take, parsed and checked."""
    parser.add_argument("--forage", default="forage", help="the forage to measure")
    if with_rg:
        parser.add_argument("--rg", default="rg", help="the ripgrep to compare with")
    parser.add_argument("--tree", required=True, help="the directory to search")
    parser.add_argument("--runs", type=int, default=10, help="rounds (default: 10)")
    parser.add_argument("--data", metavar="DIR", help="write the results below this directory, too")
    parsed = parser.parse_args()
    if parsed.runs < 1:
        parser.error("--runs is at least 1")
    parsed.forage = program(parsed.forage)
    if with_rg:
        parsed.rg = program(parsed.rg)
    return parsed


BEGIN, END = "<!-- results: {} -->\n", "<!-- end of results -->\n"


def rendered(text, directory):
    """The text of results.md with the tables of all results in their places."""
    by_name = {}
    for file in sorted(directory.glob("*/*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        by_name.setdefault(data["benchmark"], []).append(data)
    for name in re.findall(BEGIN.format("(\\w+)"), text):
        if name not in by_name:
            sys.exit(f"results.md has a place for results of {name}, of which there are none")
    for name, results in by_name.items():
        begin = BEGIN.format(name)
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(END)
        if not found or not ended:
            sys.exit(f"results.md has no place for the results of {name}: {begin.strip()} and {END.strip()}")
        text = f"{before}{begin}\n{tables(results)}\n\n{END}{after}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the tables are others")
    options = parser.parse_args()
    here = Path(__file__).parent
    page = here / "results.md"
    text = page.read_text(encoding="utf-8")
    wanted = rendered(text, here / "results")
    if options.check:
        return 0 if text == wanted else "bench/results.md is not made from bench/results: run `cargo xtask generate`"
    if text != wanted:
        page.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
