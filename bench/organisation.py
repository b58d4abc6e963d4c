"""Measures a collection with the repositories of an organization on a real Qdrant, compared to a search of all clones.

    python bench/organisation.py QDRANT FORAGE CLONES [--questions 60] [--changed 20] [--skip-changes] [--json FILE]

QDRANT is the program (`bench/qdrant.py build`), FORAGE is a release build, and CLONES is a directory with git repositories in
subdirectories such as `owner/name`. Fills a collection with all repositories, then updates it: without changes, after some
repositories went back to an older commit, and after one was removed. Prints time, points, bytes and memory of each step. Then looks
up words that occur in few files, and compares with `rg` in all clones: the time and the files that each finds. The clones are
restored at the end. FILE gets the input of `bench/capacity.py`.
"""

import argparse
import contextlib
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from qdrant import servers  # noqa: E402

SPREAD = {1: [], 3: ["--shards", "6", "--replicas", "2"]}


def git(tree, *arguments):
    return subprocess.run(["git", "-C", str(tree), *arguments], capture_output=True, text=True, check=False).stdout.strip()


class Organisation:
    def __init__(self, forage, directory, url, clones, layout):
        self.forage, self.directory, self.clones, self.layout = forage, directory, clones, layout
        # Use a separate working directory, because Forage would search one above the clones.
        self.home, self.work = directory / "home", directory / "work"
        self.home.mkdir()
        self.work.mkdir()
        self.config = directory / "config.toml"
        self.config.write_text(f'[retrieval]\nurl = "{url}"\ntimeout_ms = 60000\n')

    def run(self, *arguments, statuses=(0,)):
        """Runs the program. Returns its output, its time in seconds, and its peak memory in MB."""
        environment = {"HOME": str(self.home), "PATH": os.environ["PATH"]}
        command = ["/usr/bin/time", "-f", "%M", "-o", str(self.directory / "memory"), self.forage, *arguments, "--config", str(self.config), "--json"]
        start = time.monotonic()
        result = subprocess.run(command, env=environment, cwd=self.work, capture_output=True, text=True)
        seconds = time.monotonic() - start
        if result.returncode not in statuses:
            sys.exit(f"{command}: {result.returncode} {result.stderr[-2000:]}")
        memory = int((self.directory / "memory").read_text().split()[-1]) // 1024
        return json.loads(result.stdout), seconds, memory

    def fill(self, label, clones):
        answer, seconds, memory = self.run("sparse", "index", *self.layout, "--repositories", str(clones), "--prune", statuses=(0, 2))
        answers = answer.get("answers", [answer])
        failed = [one for one in answers if "error" in one]
        total = lambda key: sum(one.get(key) or 0 for one in answers)
        print(
            f"{label}: {seconds:.1f} s, {len(answers)} repositories, {len(failed)} with an error, {total('files_written')} files and "
            f"{total('chunks_written')} chunks written, {total('files_unchanged')} files unchanged, {total('files_removed')} files removed, {memory} MB"
            + (f", {total('chunks_written') / seconds:.0f} chunks/s" if total("chunks_written") else ""),
            flush=True,
        )
        for one in failed[:5]:
            print(f"  {one.get('repo')}: {one['error'][:200]}")
        return answers, seconds

    def status(self):
        answer, _, _ = self.run("sparse", "status")
        return answer


def size(directory):
    return int(subprocess.run(["du", "-sk", str(directory)], capture_output=True, text=True, check=True).stdout.split()[0]) / 1e6


def sizes(report):
    return {"chunks": report["chunks_written"], "files": report["files_written"]}


def commit_rates(tree):
    """Estimates the commits per day and the new chunks of a commit from the last hundred commits."""
    dates = [int(line) for line in git(tree, "log", "-n", "100", "--format=%ct").splitlines()]
    if len(dates) < 2:
        return {"commits_a_day": 0.0, "chunks_a_commit": 0.0}
    days = max((dates[0] - dates[-1]) / 86_400, 1)
    changed = git(tree, "log", "-n", "100", "--no-merges", "--name-only", "--diff-filter=AM", "--format=").splitlines()
    lines = []
    for name in changed:
        with contextlib.suppress(OSError, UnicodeDecodeError):
            lines.append((tree / name).read_text().count("\n"))
    # A changed file is written completely.
    return {"commits_a_day": len(dates) / days, "chunks_a_commit": sum(count // 16 + 1 for count in lines) / len(dates)}


def repositories(clones):
    return sorted(path.parent for path in clones.rglob(".git") if path.parent != clones)


def words(clones, count):
    """Samples error codes and names in text files of the clones. The sample is the same in every run."""
    rng = random.Random(11)
    found = set()
    for tree in repositories(clones):
        files = [line for line in git(tree, "ls-files").splitlines() if re.search(r"\.(rs|go|py|ts|js|java|kt|rb|php|c|cc|cpp|h|cs|ex|hs|scala|swift|lua|zig|md)$", line)]
        for name in rng.sample(files, min(len(files), 12)):
            with contextlib.suppress(OSError):
                text = (tree / name).read_text(errors="ignore")
                found.update(re.findall(r"\b(?:[A-Z]{1,4}-?\d{3,5}|[A-Z][A-Z0-9]+_[A-Z0-9_]{4,}|[a-z]+(?:_[a-z0-9]+){2,}|[A-Z][a-z]+(?:[A-Z][a-z]+){2,})\b", text)[:6])
    return rng.sample(sorted(found), count)


def questions(organisation, clones, count):
    times, rg_times, common, missing, extra, complete, limited = [], [], 0, 0, 0, 0, 0
    for word in words(clones, count):
        answer, seconds, _ = organisation.run("lookup", word, "--limit", "100", statuses=(0, 1))
        times.append(seconds)
        start = time.monotonic()
        result = subprocess.run(["rg", "-l", "-w", "-F", "--no-messages", word, "."], cwd=clones, capture_output=True, text=True)
        if result.returncode not in (0, 1) or answer["status"] == "store_unavailable":
            sys.exit(f"{word}: {answer['status']}, rg ended with {result.returncode}")
        rg_times.append(time.monotonic() - start)
        expected = {line.removeprefix("./") for line in result.stdout.splitlines()}
        name = answer.get("name") or {}
        payloads = [hit["payload"] for hit in answer["hits"] if hit.get("has") == "whole"]
        found = {f"{payload['repo']}/{payload['path']}" for payload in payloads}
        complete += bool(name.get("complete"))
        if name.get("whole", 0) > len(answer["hits"]):
            limited += 1
            continue
        common += len(expected & found)
        missing += len(expected - found)
        extra += len(found - expected)
        for path in sorted(expected - found)[:2]:
            print(f"  {word}: only rg finds {path}")
    times_text = lambda numbers: f"{statistics.median(numbers) * 1000:.0f} ms, at most {max(numbers) * 1000:.0f} ms"
    print(f"{count} words: forage lookup {times_text(times)} (one process each); rg in all clones {times_text(rg_times)}")
    print(f"files with the whole word: {common} in both, {missing} only with rg, {extra} only in the collection; {limited} words were in more chunks than a page has; all chunks were compared for {complete} of {count} words")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["qdrant", "forage", "clones"]:
        parser.add_argument(name)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--changed", type=int, default=20)
    parser.add_argument("--nodes", type=int, default=1, choices=SPREAD)
    parser.add_argument("--directory", help="directory for the data of the server")
    parser.add_argument("--skip-changes", action="store_true")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    clones = Path(arguments.clones).resolve()
    trees = repositories(clones)
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=arguments.directory)))
        running = stack.enter_context(servers(arguments.qdrant, arguments.nodes, directory / "servers"))
        organisation = Organisation(str(Path(arguments.forage).resolve()), directory, running[0].url(), clones, SPREAD[arguments.nodes])
        answers, seconds = organisation.fill("filling", clones)
        gigabytes, chunks = size(directory / "servers"), organisation.status()["points"]
        print(f"{len(trees)} repositories; the server has {gigabytes:.2f} GB; {chunks} chunks", flush=True)
        # The second run compares recently written files again, because it can't know yet whether they changed.
        organisation.fill("again", clones)
        unchanged, look_seconds = organisation.fill("once more", clones)
        if arguments.json:
            reports = {one["repo"]: one for one in answers}
            measured = {
                "repositories": [{**commit_rates(tree), **sizes(reports[str(tree.relative_to(clones))])} for tree in trees],
                "bytes_of_a_chunk": gigabytes * 1e9 / chunks,
                "node_chunks_a_second": chunks / seconds,
                "filler_chunks_a_second": chunks / seconds,
                # Four repositories run at a time.
                "look_seconds_a_file": look_seconds * 4 / sum(one["files_unchanged"] for one in unchanged),
            }
            Path(arguments.json).write_text(json.dumps(measured, indent=1) + "\n")
        questions(organisation, clones, arguments.questions)
        if arguments.skip_changes:
            return
        # Local changes would be lost.
        clean = [tree for tree in trees if not git(tree, "status", "--porcelain", "-uno")]
        chosen = random.Random(3).sample(clean, min(arguments.changed, len(clean)))
        before = {tree: git(tree, "rev-parse", "HEAD") for tree in chosen}
        branches = {tree: git(tree, "symbolic-ref", "-q", "--short", "HEAD") for tree in chosen}
        try:
            for tree in chosen:
                subprocess.run(["git", "-C", str(tree), "checkout", "-q", "-f", "HEAD~30"], check=False, stderr=subprocess.DEVNULL)
            moved = sum(git(tree, "rev-parse", "HEAD") != commit for tree, commit in before.items())
            organisation.fill(f"after {moved} repositories went back 30 commits", clones)
        finally:
            for tree, commit in before.items():
                subprocess.run(["git", "-C", str(tree), "checkout", "-q", "-f", branches[tree] or commit], check=False, stderr=subprocess.DEVNULL)
        removed = trees[0]
        hidden = removed / ".git-away"
        (removed / ".git").rename(hidden)
        try:
            organisation.fill("restored, with one of them removed", clones)
        finally:
            hidden.rename(removed / ".git")
        print(f"{organisation.status()['points']} chunks")


if __name__ == "__main__":
    main()
