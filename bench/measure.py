#!/usr/bin/env python3
"""Shared code of the benchmarks: measures processes, alternates commands, stores results as JSON, and formats tables.

As a program, `measure.py` writes the tables of `results/` into results.md. With `--check` it only verifies that they are
current. Python 3.9 or newer, no packages.
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

# Environment variables that would change the behavior of the compared programs.
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

    The file is on tmpfs if available, so that we do not measure a disk. It is never /dev/null, because ripgrep detects
    that and stops at the first match.
    """

    def __init__(self, tree):
        self.tree = Path(tree).resolve(strict=True)
        memory = Path("/dev/shm")
        self._keep = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
        self.directory = Path(self._keep.name)
        if self.tree in self.directory.parents:
            sys.exit("the output would be in the searched tree")
        self.environment = {k: v for k, v in os.environ.items() if k not in IGNORED_VARIABLES}

    def run(self, command, output="output"):
        """Runs and measures `command`. The exit statuses 0 and 1 (nothing found) are both valid."""
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
            sys.exit(f"{' '.join(command)}\nfailed with status {process.returncode}: {text}")
        # Kilobytes on Linux, bytes on macOS.
        unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
        return Sample(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, process.returncode)

    def output(self, name="output"):
        """Returns the file with the output of the last run with this name."""
        return self.directory / name

    def rss_floor(self):
        """Returns the smallest peak that can be measured, because a child inherits the peak of its parent."""
        return self.run([program("true")], "floor").peak_rss


def program(name):
    """Returns the absolute path of a program, because the benchmarks run with another working directory."""
    found = shutil.which(name)
    if found is None:
        sys.exit(f"there is no program {name}")
    return os.path.abspath(found)


def in_turn(runs, commands):
    """Runs all `commands` (name -> function that returns a sample) one after the other, `runs` times."""
    series = {name: [] for name in commands}
    for number in range(runs):
        print(f"\r  run {number + 1} of {runs} ", end="", file=sys.stderr, flush=True)
        for name, command in commands.items():
            series[name].append(command())
    print("\r" + " " * 30 + "\r", end="", file=sys.stderr, flush=True)
    return series


def table(columns, rows):
    """Formats a Markdown table."""
    cells = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells)


def first_line(command):
    """Returns the first line that a program prints, for `--version`."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return (result.stdout.splitlines() or ["(unknown version)"])[0]


def machine():
    """Describes this machine: the key of its results, and its name in tables."""
    name = platform.processor() or platform.machine()
    try:
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n\n", 1)[0]
        fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in info.splitlines())}
        name = fields.get("model name", name)
        # Virtual machines hide the name of the processor, but not its model.
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
    """Returns the conditions of a measurement as data. The tree is optional."""
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
    """Formats the conditions as a Markdown list."""
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
    """Samples of alternating programs, as data for a file and as tables."""

    def __init__(self, name, bench, options, of, detail, *, programs=None, by="wall"):
        """`by` selects the compared time: wall time, or processor time (`cpu`)."""
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
        """Adds a comparison: the samples of each command, and the command to compare the others with."""
        samples = {key: [asdict(sample) for sample in values] for key, values in series.items()}
        self.data["rows"].append({"what": what, "detail": detail, "ours": ours, "series": samples})

    def differ(self, what, difference):
        """Adds a comparison that was not timed because the answers differ."""
        print(f"  not timed because the answers differ at {difference}", file=sys.stderr)
        self.data["differing"].append(what)

    def add_table(self, title, columns, rows):
        """Adds another table."""
        self.data["more"].append({"title": title, "columns": columns, "rows": rows})

    def end(self):
        """Prints the tables and writes the data. Returns the exit status: 1 if any answers differed."""
        print(tables([self.data]))
        if self.path:
            file = self.path / machine()["key"] / f"{self.data['benchmark']}.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(self.data, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 1 if self.data["differing"] else 0


def times(samples):
    """Returns the cells of a table: median, minimum and maximum of the wall time, median CPU time, and highest peak."""
    walls = [sample["wall"] * 1000 for sample in samples]
    # Both are unknown for calls to a running process.
    known = [sample for sample in samples if sample["cpu"] is not None]
    cpu = f"{statistics.median(sample['cpu'] * 1000 for sample in known):.0f}" if known else "–"
    peak = f"{max(sample['peak_rss'] for sample in known):.0f}" if known else "–"
    values = [f"{value:.2f}" if value < 10 else f"{value:.0f}" for value in (statistics.median(walls), min(walls), max(walls))]
    return [*values, cpu, peak]


TIME_COLUMNS = ["median ms", "min ms", "max ms", "CPU ms", "peak RSS MiB"]


def ratios(other, ours, by):
    """Returns the time of `other` divided by that of `ours`, by round."""
    return [theirs[by] / mine[by] for theirs, mine in zip(other, ours)]


def ratio(values):
    """Formats the median, the range and the number of rounds that ours won."""
    won = sum(value > 1 for value in values)
    return f"**{statistics.median(values):.2f}** ({min(values):.2f}–{max(values):.2f}; {won} of {len(values)})"


def tables(results):
    """Formats the results of one benchmark on one or more kinds of machines in Markdown."""
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
        medians = [statistics.median(values) for values in cells.values()]
        # A result that is faster on one machine and slower on another depends on the machine, so we mark it.
        mark = " †" if min(medians) < 1 < max(medians) else ""
        rows.append([what, command + mark, *(ratio(cells[m["key"]]) if m["key"] in cells else "–" for m in machines)])
    ours = " or ".join(dict.fromkeys(f"`{ours}`" for _, _, ours in by_row))
    kind = "Time" if first["by"] == "wall" else "Processor time"
    text = f"{kind} of the other divided by that of {ours} in the same round: the median, and in brackets the range and the\n"
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
    """Adds the arguments of all benchmarks, then parses and checks them."""
    parser.add_argument("--forage", default="forage", help="the forage to measure")
    if with_rg:
        parser.add_argument("--rg", default="rg", help="the ripgrep to compare with")
    parser.add_argument("--tree", required=True, help="the directory to search")
    parser.add_argument("--runs", type=int, default=10, help="rounds (default: 10)")
    parser.add_argument("--data", metavar="DIR", help="also write the results to this directory")
    parsed = parser.parse_args()
    if parsed.runs < 1:
        parser.error("--runs must be at least 1")
    parsed.forage = program(parsed.forage)
    if with_rg:
        parsed.rg = program(parsed.rg)
    return parsed


BEGIN, END = "<!-- results: {} -->\n", "<!-- end of results -->\n"


def rendered(text, directory):
    """Returns the text of results.md with the tables of all results inserted."""
    by_name = {}
    for file in sorted(directory.glob("*/*.json")):
        data = json.loads(file.read_text(encoding="utf-8"))
        by_name.setdefault(data["benchmark"], []).append(data)
    for name in re.findall(BEGIN.format("(\\w+)"), text):
        if name not in by_name:
            sys.exit(f"results.md has markers for the results of {name}, but there are none")
    for name, results in by_name.items():
        begin = BEGIN.format(name)
        before, found, rest = text.partition(begin)
        _, has_end, after = rest.partition(END)
        if not found or not has_end:
            sys.exit(f"results.md has no markers for the results of {name}: {begin.strip()} and {END.strip()}")
        text = f"{before}{begin}\n{tables(results)}\n\n{END}{after}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the tables are outdated")
    options = parser.parse_args()
    here = Path(__file__).parent
    page = here / "results.md"
    text = page.read_text(encoding="utf-8")
    expected = rendered(text, here / "results")
    if options.check:
        return 0 if text == expected else "bench/results.md does not match bench/results: run `cargo xtask generate`"
    if text != expected:
        page.write_text(expected, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
