"""What both benchmarks share: one process measured, series in turn, tables. Python 3.9 or newer, no packages."""

import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

# What a caller's settings could change about the programs that are compared.
IGNORED_VARIABLES = ("RIPGREP_CONFIG_PATH", "GREP_COLORS", "GREP_COLOR")


@dataclass
class Sample:
    """One run of a program."""

    wall: float  # seconds
    cpu: float  # seconds, user and system
    peak_rss: float  # MiB
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


def times(samples):
    """Median, minimum and maximum of the wall time, median CPU time and highest peak, as cells of a table."""
    walls = [sample.wall * 1000 for sample in samples]
    cpu = statistics.median(sample.cpu * 1000 for sample in samples)
    peak = max(sample.peak_rss for sample in samples)
    return [f"{statistics.median(walls):.0f}", f"{min(walls):.0f}", f"{max(walls):.0f}", f"{cpu:.0f}", f"{peak:.0f}"]


TIME_COLUMNS = ["median ms", "min ms", "max ms", "CPU ms", "peak RSS MiB"]


def ratio(other, ours):
    """How many times as long `other` took as `ours` in the same round: median, range, rounds that ours won."""
    ratios = [theirs.wall / mine.wall for theirs, mine in zip(other, ours)]
    won = sum(value > 1 for value in ratios)
    return [f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}–{max(ratios):.2f}", f"{won} of {len(ratios)}"]


RATIO_COLUMNS = ["median ratio", "range", "faster in"]


def table(columns, rows):
    """A Markdown table."""
    cells = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in cells)


def first_line(command):
    """The first line that a program prints, for `--version`."""
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return (result.stdout.splitlines() or ["(unknown version)"])[0]


def setting(bench, forage, rg, runs):
    """What was measured on, as a Markdown list."""
    bench.run([rg, "--files"])
    with open(bench.output(), "rb") as files:
        count = sum(1 for _ in files)
    cpu = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            cpu = next((line.split(":", 1)[1].strip() for line in info if line.startswith("model name")), cpu)
    except OSError:
        pass
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return "\n".join(
        [
            f"- {first_line([forage, '--version'])}; {first_line([rg, '--version'])}",
            f"- tree: {bench.tree.name}, {count:,} files that ripgrep searches, in the page cache",
            f"- {cpu}, {usable} logical CPUs, {platform.system()} {platform.release()}",
            f"- {runs} rounds, the commands in turn within each; output to a file",
        ]
    )


def arguments(parser):
    """The arguments that both benchmarks take, parsed and checked."""
    parser.add_argument("--forage", default="forage", help="the forage to measure")
    parser.add_argument("--rg", default="rg", help="the ripgrep to compare with")
    parser.add_argument("--tree", required=True, help="the directory to search")
    parser.add_argument("--runs", type=int, default=10, help="rounds (default: 10)")
    parsed = parser.parse_args()
    if parsed.runs < 1:
        parser.error("--runs is at least 1")
    parsed.forage, parsed.rg = program(parsed.forage), program(parsed.rg)
    return parsed
