#!/usr/bin/env python3
"""Measures whether history, imports and names bring the other files of a fix among the first files of a ranking.

    companions.py sets CLONES CHECKOUTS > sets.json         chooses commits of each clone, and checks out their past
    companions.py rank sets.json CHECKOUTS > ranked.json    ranks 40 files for each message (--program PROGRAM)
    companions.py score sets.json ranked.json CHECKOUTS     prints the scores

CLONES has a directory with a git repository for each project. Each is checked out at up to 400 first parents before its
head, so that neither the files nor the history show what comes later. A query is the message of a later commit. Its
gold files are the sources that it modified, without tests, documentation, examples and copies of others' code.

`score` fits a logistic regression (scikit-learn) that orders the 40 files and the files that often changed with the
first five. It is fitted to five sixths of the projects and evaluated on the rest, six times. Its values are groups that
can be left out: the rank and score; the kind of the file (source, test, extension); history (how often it changed with
the first five in the last 4,000 commits); and text (imports, mentions, equal names, the same directory).
"""

import argparse
import collections
import json
import math
import os
import random
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # no bytecode files in the sources

SOURCE = re.compile(r"\.(py|rs|go|java|kt|ts|tsx|js|jsx|c|h|cc|cpp|hpp|rb|php|ex|exs|hs|cs|swift|scala|vue|fish|jq)$")
OTHER = re.compile(
    r"(^|/)(tests?|__tests__|spec|testing|testdata|fixtures|examples?|benches?|docs?|vendor|third_party)(/|$)"
    r"|(_test|\.test|\.spec|_spec|Test|Tests)\.\w+$|(^|/)test_"
)
IMPORT = re.compile(
    r"^\s*(import|from|use|pub use|mod|pub mod|#\s*include|require|require_relative|const .*require|export .* from"
    r"|package|open|alias|using|\} from)\b.*$",
    re.M,
)
TRAILER = re.compile(r"(?m)^(Signed-off-by|Co-authored-by|Reviewed-by|Reviewers?|Fixes|Closes|Change-Id|Summary|Test Plan).*$")
UNSUITABLE = re.compile(r"(?i)\b(release|bump|version|merge|revert|format|typo|lint|changelog|rename)\b")
# Names of files that stand for their directory.
ENTRIES = ("__init__", "index", "mod", "lib", "main")
KINDS = ("several", "one")


def git(directory, *arguments):
    result = subprocess.run(["git", "-C", directory, *arguments], stdout=subprocess.PIPE, check=True)
    return result.stdout.decode(errors="replace")


def choose(clone, directory):
    """Returns the queries of a clone: those with two to six gold files, and those with one. None if there are too few."""
    length = int(git(clone, "rev-list", "--count", "--first-parent", "HEAD"))
    if length < 700:
        return None
    base = git(clone, "rev-parse", f"HEAD~{min(400, length // 4)}").strip()
    present = set(git(clone, "ls-tree", "-r", "--name-only", base).splitlines())
    if len(present) > 9000:
        return None
    queries = {kind: [] for kind in KINDS}
    log = git(clone, "log", "--first-parent", "--no-renames", "--name-status", "--format=%x01%H%x02%B%x03", f"{base}..HEAD")
    for commit in log.split("\x01")[1:]:
        revision, rest = commit.split("\x02", 1)
        message, files = rest.split("\x03", 1)
        message = re.sub(r"\s+", " ", TRAILER.sub("", message)).strip()
        files = [line.split("\t") for line in files.strip().splitlines()]
        if len(files) > 30 or len(message) < 40 or UNSUITABLE.search(message[:80]):
            continue
        gold = [file[-1] for file in files if file[0] == "M" and SOURCE.search(file[-1]) and not OTHER.search(file[-1])]
        gold = [path for path in gold if path in present]
        if 1 <= len(gold) <= 6:
            kind = "one" if len(gold) == 1 else "several"
            queries[kind].append({"commit": revision, "query": message[:1500], "gold": gold})
    if len(queries["several"]) < 6:
        return None
    if not os.path.exists(directory):
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", clone, directory], check=True)
        subprocess.run(["git", "-C", directory, "checkout", "--quiet", "--detach", base], check=True)
    for kind, count in zip(KINDS, (14, 8)):
        random.shuffle(queries[kind])
        del queries[kind][count:]
    return {"base": base, **queries}


def rank(program, directory, query):
    """Returns [path, score] of the first 40 files."""
    command = [program, "rank", "--json", "-m", "40", "--timeout-ms", "120000", "-"]
    result = subprocess.run(command, cwd=directory, input=query.encode(), stdout=subprocess.PIPE, check=False)
    return [
        [file["path"], file["score"]]
        for line in result.stdout.decode().splitlines()
        for file in json.loads(line).get("files", [])
    ]


class Project:
    """The history and the texts of a checkout."""

    def __init__(self, directory, base):
        self.directory = directory
        log = git(directory, "log", "--no-merges", "--no-renames", "-n", "4000", "--name-only", "--format=%x01%H", base)
        commits = [commit.split("\n\n", 1)[1].strip().split("\n") for commit in log.split("\x01")[1:] if "\n\n" in commit]
        self.commits = [files for files in commits if 1 < len(files) <= 30]
        self.changes = collections.defaultdict(list)
        for number, files in enumerate(self.commits):
            for path in files:
                self.changes[path].append(number)
        self.texts = {}

    def words(self, path):
        """Returns the words of a file, and those of its imports."""
        if path not in self.texts:
            try:
                with open(os.path.join(self.directory, path), errors="replace") as file:
                    text = file.read(200_000)
            except OSError:
                text = ""
            imports = " ".join(match.group(0) for match in IMPORT.finditer(text))
            self.texts[path] = set(re.findall(r"\w+", text)), set(re.findall(r"\w+", imports))
        return self.texts[path]

    def together(self, path, other):
        """Returns the share of the changes of `path` that also changed `other`, and their Jaccard index."""
        changes, others = self.changes.get(path, []), set(self.changes.get(other, []))
        both = sum(number in others for number in changes)
        if both < 2:
            return 0, 0
        return both / (len(changes) + 5), both / (len(changes) + len(others) - both + 5)

    def companions(self, first, ranked):
        """Returns sources outside of the ranking that often changed with its first files."""
        counts = collections.Counter()
        for path in first:
            for number in self.changes.get(path, [])[:300]:
                counts.update(other for other in self.commits[number] if other not in ranked)
        often = [path for path, count in counts.most_common(60) if count >= 3 and SOURCE.search(path) and not OTHER.search(path)]
        return [path for path in often if os.path.exists(os.path.join(self.directory, path))][:15]


def stem(path):
    name = re.sub(r"\.\w+$", "", os.path.basename(path))
    return os.path.basename(os.path.dirname(path)) or name if name in ENTRIES else name


def values(project, ranked):
    """Returns the candidates, and the values of each in groups."""
    first = [path for path, _ in ranked[:5]]
    paths = [path for path, _ in ranked]
    candidates = paths + project.companions(first, set(paths))
    result = []
    for place, path in enumerate(candidates):
        is_ranked = place < len(paths)
        best = total = 0
        relations = [0] * 4
        for number, other in enumerate(first):
            if other == path:
                continue
            weight = 1 / (1 + 0.3 * number)
            share, jaccard = project.together(other, path)
            best, total = max(best, share * weight), total + jaccard * weight
            (words, imports), (other_words, other_imports) = project.words(path), project.words(other)
            found = stem(path) in other_imports, stem(other) in imports, stem(path) in other_words, stem(other) in words
            relations = [sum + weight * is_found for sum, is_found in zip(relations, found)]
        others = [other for other in first if other != path]
        result.append({
            "rank": [math.log1p(place if is_ranked else 45), ranked[place][1] / ranked[0][1] if is_ranked else 0],
            "kind": [
                bool(OTHER.search(path)),
                bool(SOURCE.search(path)),
                os.path.splitext(path)[1] == os.path.splitext(first[0])[1],
            ],
            "history": [best, total, math.log1p(len(project.changes.get(path, []))), not is_ranked],
            "text": [
                *(min(value, 3) for value in relations),
                sum(os.path.dirname(other) == os.path.dirname(path) for other in others),
                any(stem(other) == stem(path) for other in others),
            ],
        })
    return candidates, result


def order(tasks, groups):
    """Orders the candidates of each task by models that were fitted to other projects."""
    import numpy
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold

    rows = [numpy.array([sum((row[group] for group in groups), []) for row in task["values"]], float) for task in tasks]
    orders = {}
    for fitted, evaluated in GroupKFold(6).split(tasks, groups=[task["project"] for task in tasks]):
        values = numpy.concatenate([rows[number] for number in fitted])
        labels = [path in tasks[number]["gold"] for number in fitted for path in tasks[number]["candidates"]]
        mean, deviation = values.mean(0), values.std(0) + 1e-9
        model = LogisticRegression(max_iter=500).fit((values - mean) / deviation, labels)
        for number in evaluated:
            scores = model.predict_proba((rows[number] - mean) / deviation)[:, 1]
            orders[number] = [tasks[number]["candidates"][place] for place in numpy.argsort(-scores, kind="stable")]
    return [orders[number] for number in range(len(tasks))]


def line(name, tasks, orders):
    cells = [name]
    for kind in KINDS:
        of_kind = [(task["gold"], paths) for task, paths in zip(tasks, orders) if task["kind"] == kind]
        figures = [sum(paths[0] in gold for gold, paths in of_kind)]
        figures += [sum(set(gold) <= set(paths[:limit]) for gold, paths in of_kind) for limit in (10, 18)]
        cells += [f"{100 * figure / len(of_kind):.1f}" for figure in figures]
    return "| " + " | ".join(cells) + " |"


def score(sets, ranked, checkouts):
    tasks = []
    for name, chosen in sets.items():
        project = Project(os.path.join(checkouts, name), chosen["base"])
        for kind in KINDS:
            for query in chosen[kind]:
                if files := ranked.get(query["commit"]):
                    candidates, rows = values(project, files)
                    task = {"project": name, "kind": kind, "gold": query["gold"]}
                    tasks.append({**task, "ranked": files, "candidates": candidates, "values": rows})
    counts = [sum(task["kind"] == kind for task in tasks) for kind in KINDS]
    print(f"{len(sets)} projects; {counts[0]} commits with several gold files, {counts[1]} with one\n")
    print("| order | several: first | all in 10 | all in 18 | one: first | in 10 | in 18 |\n|---|---:|---:|---:|---:|---:|---:|")
    ranking = [[path for path, _ in task["ranked"]] for task in tasks]
    print(line("`forage rank`", tasks, ranking))
    for groups in (("rank", "kind"), ("rank", "kind", "history"), ("rank", "kind", "text"), ("rank", "kind", "history", "text")):
        print(line(", ".join(groups), tasks, order(tasks, groups)), flush=True)
    ideal = [sorted(paths, key=lambda path, gold=task["gold"]: path not in gold) for task, paths in zip(tasks, ranking)]
    print(line("ideal order of the 40", tasks, ideal))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("sets", "rank", "score"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--program", default="forage")
    options = parser.parse_args()
    if options.step == "sets":
        random.seed(7)
        clones, checkouts = options.paths
        os.makedirs(checkouts, exist_ok=True)
        names = [name for name in sorted(os.listdir(clones)) if os.path.isdir(os.path.join(clones, name))]
        chosen = {name: choose(os.path.join(clones, name), os.path.join(checkouts, name)) for name in names}
        json.dump({name: queries for name, queries in chosen.items() if queries}, sys.stdout)
        return
    with open(options.paths[0]) as file:
        sets = json.load(file)
    if options.step == "rank":
        answers = {}
        for name, chosen in sets.items():
            for query in (query for kind in KINDS for query in chosen[kind]):
                answers[query["commit"]] = rank(options.program, os.path.join(options.paths[1], name), query["query"])
        json.dump(answers, sys.stdout)
        return
    with open(options.paths[1]) as file:
        score(sets, json.load(file), options.paths[2])


if __name__ == "__main__":
    main()
