#!/usr/bin/env python3
"""Creates long queries (as long as a bug report) with known answers, and ranks them with raw BM25 for comparison.

The queries are messages of commits that fix a bug. The answers are the source files that the fix changes, in the tree at one
revision before all of the commits. This directory contains no texts of the projects: `long_queries.json` has revisions,
commits and paths, and the rest comes from clones. No weight was fitted on any of these repositories.
`long_queries_check.json` has other commits of the same repositories (`make --without long_queries.json`), as a test set for
decisions that were based on the first list.

    long_queries.py make   --clones DIR [--without FILE]            selects commits, prints a list like long_queries.json
    long_queries.py sets   LIST --clones DIR --checkouts DIR        checks out the revisions, prints query sets
    long_queries.py bm25   SETS CHECKOUTS [--chunks FILE]           prints the ranks of raw BM25
    long_queries.py table  NAME=RANKS…                              prints tables of the ranks

The directory of clones has one for each repository by name (`git clone --bare URL NAME`). `evaluate SETS CHECKOUTS`
reads the query sets, and `table` reads the file that its `--ranks FILE` writes.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys

# Name, URL, language, date of the revision, date of the last commit, and kind of commits. The range is two years, so that
# there are enough commits and the tree still matches them. It ends earlier if our clone did, and is longer for projects
# with few fixes.
REPOSITORIES = [
    ("git", "https://github.com/git/git", "C", "2024-01-01", "2026-01-01", "plain"),
    ("redis", "https://github.com/redis/redis", "C", "2022-01-01", "2024-10-01", "plain"),
    ("rocksdb", "https://github.com/facebook/rocksdb", "C++", "2024-01-01", "2026-01-01", "plain"),
    ("hermes", "https://github.com/facebook/hermes", "C++", "2024-01-01", "2026-01-01", "plain"),
    ("efcore", "https://github.com/dotnet/efcore", "C#", "2023-01-01", "2026-01-01", "plain"),
    ("elixir", "https://github.com/elixir-lang/elixir", "Elixir", "2022-01-01", "2026-01-01", "plain"),
    ("gvisor", "https://github.com/google/gvisor", "Go", "2024-01-01", "2026-01-01", "plain"),
    ("tailscale", "https://github.com/tailscale/tailscale", "Go", "2024-01-01", "2026-01-01", "plain"),
    ("cabal", "https://github.com/haskell/cabal", "Haskell", "2022-01-01", "2026-01-01", "plain"),
    ("kafka", "https://github.com/apache/kafka", "Java", "2022-10-01", "2024-10-01", "plain"),
    ("spring-framework", "https://github.com/spring-projects/spring-framework", "Java", "2024-01-01", "2026-01-01", "plain"),
    ("exposed", "https://github.com/JetBrains/Exposed", "Kotlin", "2022-01-01", "2026-01-01", "plain"),
    ("symfony", "https://github.com/symfony/symfony", "PHP", "2022-10-01", "2024-10-01", "merges"),
    ("mypy", "https://github.com/python/mypy", "Python", "2024-01-01", "2026-01-01", "plain"),
    ("rubocop", "https://github.com/rubocop/rubocop", "Ruby", "2022-01-01", "2026-01-01", "plain"),
    ("cargo", "https://github.com/rust-lang/cargo", "Rust", "2024-01-01", "2026-01-01", "merges"),
    ("swift-nio", "https://github.com/apple/swift-nio", "Swift", "2022-01-01", "2026-01-01", "plain"),
    ("angular-cli", "https://github.com/angular/angular-cli", "TypeScript", "2022-01-01", "2026-01-01", "plain"),
    ("angular-components", "https://github.com/angular/components", "TypeScript", "2022-01-01", "2026-01-01", "plain"),
]

# Maximum queries of a repository, so that none dominates.
MAX_QUERIES = 12
# Minimum words of a cleaned message, so that it describes the problem.
MIN_WORDS = 50
# Maximum source files that a fix changes. More are not the answer to one question.
MAX_TARGETS = 4
# Maximum bytes of an indexed file (`limits::FILE_BYTES`).
FILE_BYTES = 1 << 20

SOURCE = set(
    "bash c cc clj cljs cpp cs cxx dart erl ex exs fs go groovy h hh hpp hs hsc java js jsx kt lua m mjs ml mm mts php pl "
    "pm py pyi pyx rb rs scala sh swift ts tsx vue zig".split()
)
# Words in names of directories and files that contain tests, examples, documentation or third-party code.
EXCLUDED_WORDS = set(
    "test tests testing testdata testsuite spec specs fixture fixtures mock mocks e2e bench benches benchmark benchmarks "
    "example examples sample samples demo demos doc docs documentation playground vendor vendored third thirdparty deps "
    "contrib changelog changelogs dunit t".split()
)
# Words for a fix in the subject, or in the rest of the message if a new feature would not have them.
FIXES = re.compile(
    r"\b(fix(e[sd]|ing)?|bugs?|regress\w*|crash\w*|panic\w*|incorrect\w*|correct(ly|s|ed)?|wrong\w*|broken|breaks?|leak\w*|"
    r"deadlock\w*|hangs?|overflow\w*|fail(s|ed|ing|ures?)?|races?|exceptions?|errors?|segfault\w*|corrupt\w*|avoid\w*|"
    r"prevent\w*|ensure\w*|don't|do not|properly|missing)\b",
    re.I,
)
BROKEN = re.compile(
    r"\b(this (commit |change |pr |patch )?fixes|fix (this|it|that) by|bugs?|regress(ion|ed)|crash(es|ed)?|panics?|"
    r"deadlocks?|segfaults?|corrupt(s|ed|ion)?)\b",
    re.I,
)
# Subjects of commits that are not fixes of code.
NOT_FIXES = re.compile(
    r"(revert|bump|merge (branch|remote|tag)|release|update dependenc|upgrade|changelog|polish)\b|"
    r"(docs?|chore|refactor|tests?|ci|build|feat|feature|perf|style|deps)\s*(\([^)]*\))?!?:|feature #|minor #|.*\btypos?\b",
    re.I,
)

TRAILER = re.compile(
    r"\s*([\w-]+[ -](by|on|to|from)|reviewers?|fix(e[sd])?|close[sd]?|resolve[sd]?|updates?|relate[sd]( to)?|part of|see( also)?|"
    r"issues?|refs?|references?|links?|bug|cc|change-id|differential revision|fbshipit-source-id|piperorigin-revid|"
    r"pull request resolved|futurecopybara\S*|original [\w ]+|message-id|tasks?|pr|prs|github pr|author|date|commit)"
    r"\s*(:|#|GH-|gh-|https?://|\[).*|\s*(fix(e[sd])?|close[sd]?|resolve[sd]?|updates?|for|see)\s+\S*#\d+\S*\s*|"
    r"\s*\(cherry[ -]picked .*|this pr was (merged|submitted|squashed).*|\s*discussion\s*|\s*\|.*|\s*[-*] \[[ xX]\].*|"
    r"\s*[-=*_]{3,}\s*|\s*co-authored.*|\s*signed-off.*",
    re.I,
)
# Entries of a ChangeLog (`* path (function):`) and lines of a diff.
CHANGES = re.compile(r"\s*[*-] [\w./-]+\.\w+( \([^)]*\))?:.*|diff --git .*|index [0-9a-f]+\.\..*|@@ .*|(\+\+\+|---) \S.*")
# Sections of a message that a bug report would not have: test instructions, and lists of commits.
NO_REPORT = re.compile(
    r"[\s#*]*(test plan|how (should|to|can) .*(test|review).*|tests?|testing|test results?|checklist|committer checklist.*|"
    r"commits|release notes?|additional information|benchmarks?)\b[\s:*?]*",
    re.I,
)
HEADING = re.compile(r"#{1,6} \S|[*_]{2}[^*_]+[*_]{2}:?\s*$|(summary|motivation|modifications?|results?|problem|solution)\s*:?\s*$", re.I)
WORD = re.compile(r"[A-Za-z0-9_]+")


def git(directory, *arguments, environment=None, check=True):
    """Returns the output of git."""
    command = ["git", "--git-dir", directory, *arguments]
    done = subprocess.run(command, check=check, stdout=subprocess.PIPE, env={**os.environ, **(environment or {})})
    return done.stdout.decode("utf-8", "replace")


def clone_of(clones, name):
    """Returns the git directory of a clone, bare or not."""
    directory = os.path.join(clones, name)
    return os.path.join(directory, ".git") if os.path.isdir(os.path.join(directory, ".git")) else directory


def name_words(name):
    """Splits a name into words in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+[a-z]*", name)]


def is_source(path):
    """Returns whether a file can be the answer to a question."""
    *directories, name = path.split("/")
    stem, _, extension = name.rpartition(".")
    if not stem or extension.lower() not in SOURCE or any(part.startswith(".") for part in path.split("/")):
        return False
    # `spring-test` and `IntegrationTests` are for tests, `testable` is not.
    return not any(word in EXCLUDED_WORDS for part in [*directories, stem] for word in name_words(part))


def changes(directory, commit):
    """Returns the paths that a commit changes relative to its first parent, with their status letters."""
    listed = git(directory, "diff-tree", "-r", "-z", "--no-renames", "--name-status", "--no-commit-id", commit + "^1", commit)
    fields = listed.rstrip("\0").split("\0")
    return list(zip(fields[0::2], fields[1::2]))


def at_date(directory, date):
    """Returns the last commit of the main line before a date."""
    return git(directory, "rev-list", "--first-parent", "-1", f"--before={date}T00:00:00Z", "HEAD").strip()


def clean_lines(message):
    """Returns the lines of a message without trailers, ChangeLog entries, diffs, tables, comments and test sections."""
    message = re.sub(r"<!--.*?-->", " ", message.replace("\r", ""), flags=re.S)
    lines, skips = [], False
    for line in message.split("\n"):
        if NO_REPORT.fullmatch(line) or re.match(r"test plan\b", line, re.I):
            skips = True
        elif HEADING.match(line):
            skips = False
        if not skips and not TRAILER.fullmatch(line) and not CHANGES.fullmatch(line):
            lines.append(line)
    return lines


def without_prefix(subject):
    """Removes the component from a subject: `net/http: …`, `fix(css): …`, `[Console] …`, `bug #1 [Console] …`."""
    subject = re.sub(r"^(Auto merge of|Merge pull request|bug) #\d+\b\s*", "", subject)
    before = None
    while before != subject:
        before = subject
        subject = re.sub(r"^\s*\[[^\]]*\]\s*", "", subject)
        # Up to three words and a colon name a component (`tests, docs: …`). A sentence with a colon is longer.
        subject = re.sub(r"^[^\s:]+(\s+[^\s:]+){0,2}:\s+", "", subject)
    return subject


def fold(name):
    """Normalizes the spelling of a name: `ArrayNode`, `array_node`, `array-node`."""
    return re.sub(r"[-_]", "", name.lower())


def path_parts(path):
    """Returns the normalized directories and file name without its suffix."""
    *directories, name = path.split("/")
    return [fold(part) for part in [*directories, name.rpartition(".")[0]]]


def has_run(parts, run):
    """Returns whether a list contains a run of elements."""
    return any(parts[at : at + len(run)] == run for at in range(len(parts) - len(run) + 1))


def without_paths(text, targets):
    """Removes names and paths of the target files from a text: file names with suffixes, and two or more consecutive
    components of a path, in any notation (`a/b`, `a.b.C`, `a::b`, `A\\\\B`)."""
    names = {target.lower().rsplit("/", 1)[-1] for target in targets}
    paths = [path_parts(target) for target in targets]

    def replace(found):
        match_text = found.group()
        pieces = re.split(r"(/|\\+|::|\.|->|#)", match_text)
        lower = [piece.lower() for piece in pieces[0::2]]
        folded = [fold(piece) for piece in lower]
        keep = [True] * len(lower)
        for at in range(len(lower) - 1):
            if f"{lower[at]}.{lower[at + 1]}" in names:
                keep[at] = keep[at + 1] = False
            if all(folded[at : at + 2]) and any(has_run(parts, folded[at : at + 2]) for parts in paths):
                keep[at] = keep[at + 1] = False
        # Names with several dots (`config.d.ts`), which the pieces do not show.
        if any(match_text.lower().endswith(name) and name.count(".") > 1 for name in names):
            return " "
        # Remove the whole path of a removed file.
        if not keep[-1] and "/" in match_text:
            return " "
        return match_text if all(keep) else " ".join(piece for piece, entry_fields in zip(pieces[0::2], keep) if entry_fields)

    return re.sub(r"[\w@+-]+(?:(?:/|\\+|::|\.|->|#)[\w@+-]+)+", replace, text)


def without_names(text, targets):
    """Removes words that are the bare name of a target file from a text (`KafkaConsumer`, `sequencer`)."""
    names = {path_parts(target)[-1] for target in targets}
    return re.sub(r"[A-Za-z0-9_]+(?:-[A-Za-z0-9_]+)*", lambda found: " " if fold(found.group()) in names else found.group(), text)


def query_of(message, targets, names=True):
    """Creates a query from a message."""
    subject, _, body = message.strip().partition("\n")
    # The body of a merge repeats the title of the pull request.
    subject = "" if re.match(r"Auto merge of|Merge pull request", subject) else without_prefix(subject)
    lines = [without_prefix(subject), *clean_lines(body)]
    lines = [without_prefix(line) if line.startswith("[") else line for line in lines]
    if len(lines) > 1:
        first = next((index for index, line in enumerate(lines) if line.strip()), 0)
        lines[first] = without_prefix(lines[first])
    text = "\n".join(lines)
    text = re.sub(r"https?://\S+", " ", text)
    text = re.sub(r"</?[a-z][a-z0-9]*(\s[^<>]*)?>", " ", text)
    text = re.sub(r"\(?\b[\w./-]*#\d+\)?|\b[A-Z]{3,}-\d+\b:?", " ", text)
    text = without_paths(text, targets)
    if not names:
        text = without_names(text, targets)
    return re.sub(r"\s+", " ", text).strip()


def count_words(text):
    """Counts the words of a text."""
    return len(re.findall(r"[A-Za-z][A-Za-z']+", text))


def make(options):
    """Selects commits, and prints the list."""
    sets, without = [], set()
    if options.without:
        with open(options.without) as file:
            without = {commit for entry in json.load(file) for commit, _ in entry["queries"]}
    for name, url, language, since, until, kind in REPOSITORIES:
        directory = clone_of(options.clones, name)
        revision, last = at_date(directory, since), at_date(directory, until)
        tree = {}
        for line in git(directory, "ls-tree", "-r", "-l", "-z", revision).split("\0"):
            if line:
                fields, path = line.split("\t", 1)
                mode, _, _, size = fields.split()
                # Exclude links, and objects that are missing in the clone.
                tree[path] = int(size) if mode.startswith("100") and size.isdigit() else FILE_BYTES + 1
        merges = "--merges" if kind == "merges" else "--no-merges"
        listed = git(directory, "log", merges, "--format=%H%n%B%x00", f"{revision}..{last}")
        # The order by hash is arbitrary but reproducible.
        commits = sorted(entry.strip().split("\n", 1) for entry in listed.split("\0") if "\n" in entry.strip())
        chosen, seen, counts = [], set(), collections.Counter()
        for commit, message in commits:
            if len(chosen) == MAX_QUERIES:
                break
            if commit in without:
                # The same text can exist twice, on two branches.
                seen.add(query_of(message, [path for _, path in changes(directory, commit) if is_source(path)], names=False))
                continue
            subject = message.split("\n", 1)[0]
            counts["commits"] += 1
            if NOT_FIXES.match(subject) or NOT_FIXES.match(without_prefix(subject)):
                continue
            if not (FIXES.search(subject) or BROKEN.search(message)):
                continue
            if count_words(query_of(message, [])) < MIN_WORDS:
                continue
            counts["long"] += 1
            touched = changes(directory, commit)
            targets = sorted(path for _, path in touched if is_source(path))
            if not 1 <= len(targets) <= MAX_TARGETS or any(tree.get(path, FILE_BYTES + 1) > FILE_BYTES for path in targets):
                continue
            query = query_of(message, targets, names=False)
            if count_words(query) < MIN_WORDS or query in seen:
                continue
            seen.add(query)
            chosen.append([commit, targets])
        print(f"{name}: {len(chosen)} of {dict(counts)}", file=sys.stderr)
        sets.append({"name": name, "url": url, "language": language, "revision": revision, "until": last, "queries": chosen})
    # One line for each query, so that diffs of the set are readable.
    print("[")
    for index, entry in enumerate(sets):
        head = json.dumps({key: value for key, value in entry.items() if key != "queries"})[:-1]
        queries = ",\n".join("    " + json.dumps(query) for query in entry["queries"])
        print(f'  {head}, "queries": [\n{queries}\n  ]}}' + ("," if index + 1 < len(sets) else ""))
    print("]")


def check_out(directory, revision, target):
    """Writes the files of a revision. `git archive` would omit files that the project doesn't ship."""
    if os.path.isdir(target):
        return
    partial = target + ".partly"
    os.makedirs(partial, exist_ok=True)
    environment = {"GIT_INDEX_FILE": os.path.abspath(partial) + ".index", "GIT_LFS_SKIP_SMUDGE": "1"}
    git(directory, "read-tree", revision, environment=environment)
    # If a large file is missing in the clone, git reports it and writes the others.
    git(directory, "--work-tree", partial, "checkout-index", "--all", "--force", environment=environment, check=False)
    os.remove(environment["GIT_INDEX_FILE"])
    os.rename(partial, target)


def make_sets(options):
    """Converts commits to query sets, and revisions to checkouts."""
    sets = []
    with open(options.list) as file:
        known = json.load(file)
    for entry in known:
        directory = clone_of(options.clones, entry["name"])
        check_out(directory, entry["revision"], os.path.join(options.checkouts, entry["name"]))
        queries = []
        for commit, targets in entry["queries"]:
            message = git(directory, "log", "-1", "--format=%B", commit)
            query = query_of(message, targets, names=not options.no_names)
            queries.append({"query": query, "relevant": targets, "secondary": [], "category": "long", "commit": commit})
        entry_fields = {key: entry[key] for key in ("name", "language", "url", "revision")}
        sets.append({**entry_fields, "benchmark_root": None, "queries": queries})
    json.dump(sets, sys.stdout, indent=1)


def files_of(root):
    """Yields the same files as `evaluate`, without hidden, large and binary files and links."""
    for directory, directories, names in os.walk(root):
        directories[:] = [name for name in directories if not name.startswith(".")]
        for name in names:
            path = os.path.join(directory, name)
            if name.startswith(".") or os.path.islink(path) or os.path.getsize(path) > FILE_BYTES:
                continue
            with open(path, "rb") as file:
                content = file.read()
            if b"\0" not in content:
                yield os.path.relpath(path, root), content.decode("utf-8", "replace")


PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def tokens_of(word, form, cache={}):
    """Returns the tokens of a word: its parts, itself, or both."""
    known = cache.get((word, form))
    if known is None:
        parts = [part.lower() for part in PARTS.findall(word)]
        whole = word.lower().strip("_")
        if form == "words":
            known = [whole] if whole else []
        elif form == "parts" or len(parts) < 2:
            known = parts
        else:
            known = [*parts, whole]
        cache[(word, form)] = known
    return known


def bm25_ranks(known, root, form, chunks):
    """Returns the ranks of the targets of all queries of a repository (Robertson and Zaragoza 2009: k1 1.2, b 0.75)."""
    all_tokens = lambda text: (token for word in WORD.findall(text) for token in tokens_of(word, form))
    queries = [collections.Counter(all_tokens(query["query"])) for query in known["queries"]]
    query_tokens = set().union(*queries)
    units, paths = [], []
    postings = collections.defaultdict(list)
    for path, text in files_of(root):
        if chunks is None:
            pieces = [text]
        else:
            lines = text.split("\n")
            pieces = ["\n".join(lines[start - 1 : end]) for start, end in chunks.get(path, [])]
        for piece in pieces:
            frequencies, length = collections.Counter(), 0
            for word, count in collections.Counter(WORD.findall(piece)).items():
                for token in tokens_of(word, form):
                    length += count
                    if token in query_tokens:
                        frequencies[token] += count
            if length:
                for token, count in frequencies.items():
                    postings[token].append((len(units), count))
                units.append(length)
                paths.append(path)
    mean = sum(units) / max(len(units), 1)
    all_ranks = []
    for query, entry in zip(queries, known["queries"]):
        scores = collections.defaultdict(float)
        for token, times in query.items():
            found = postings.get(token, [])
            idf = math.log(1 + (len(units) - len(found) + 0.5) / (len(found) + 0.5))
            for unit, count in found:
                # A word counts as often as it occurs in the query.
                scores[unit] += times * idf * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * units[unit] / mean))
        best = {}
        for unit, score in scores.items():
            best[paths[unit]] = max(best.get(paths[unit], 0.0), score)
        order = {path: rank for rank, path in enumerate(sorted(best, key=lambda path: (-best[path], path)), 1)}
        all_ranks.append([order.get(target) for target in entry["relevant"]])
    return all_ranks


def bm25(options):
    """Prints the ranks of raw BM25 in the format of `evaluate --ranks`."""
    with open(options.sets) as file:
        sets = json.load(file)
    chunks = collections.defaultdict(lambda: None)
    if options.chunks:
        with open(options.chunks) as file:
            chunks.update(json.load(file))
    work = [
        (known, os.path.join(options.checkouts, known["name"]), options.form, chunks[known["name"]]) for known in sets
    ]
    with concurrent.futures.ProcessPoolExecutor(options.processes) as pool:
        results = list(pool.map(bm25_ranks, *zip(*work)))
    rows = [
        {"repository": known["name"], "language": known["language"], "ranks": ranks}
        for known, result in zip(sets, results)
        for ranks in result
    ]
    json.dump(rows, sys.stdout)


def measures(ranks):
    """Returns the measures of a query: whether any target is in the first 1, 5 and 10, the shares of targets that are, and the
    reciprocal rank."""
    first = min((rank for rank in ranks if rank), default=None)
    hit = [float(first is not None and first <= cut) for cut in (1, 5, 10)]
    share = [sum(rank is not None and rank <= cut for rank in ranks) / len(ranks) for cut in (1, 5, 10)]
    return [*hit, *share, 1 / first if first else 0.0]


def mean_of(rows):
    """Returns the means of columns."""
    return [sum(column) / len(rows) for column in zip(*rows)]


def table(options):
    """Prints Markdown tables."""
    runs = []
    for run in options.runs:
        name, path = run.split("=", 1)
        with open(path) as file:
            rows = json.load(file)
        runs.append((name, rows, [measures(row["ranks"]) for row in rows]))
    print("| ranking | any@1 | any@5 | any@10 | all@1 | all@5 | all@10 | MRR |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, _, values in runs:
        *shares, reciprocal = mean_of(values)
        print(f"| {name} | " + " | ".join(f"{100 * share:.1f}" for share in shares) + f" | {reciprocal:.3f} |")
    for key in ("language", "repository"):
        print(f"\n| {key} | queries | " + " | ".join(f"{name}, any@5 | {name}, any@10" for name, _, _ in runs) + " |")
        print("| --- | --- |" + " --- | --- |" * len(runs))
        for group in sorted({row[key] for row in runs[0][1]}):
            cells = []
            for _, rows, values in runs:
                mean = mean_of([value for row, value in zip(rows, values) if row[key] == group])
                cells += [f"{100 * mean[1]:.0f}", f"{100 * mean[2]:.0f}"]
            print(f"| {group} | {sum(row[key] == group for row in runs[0][1])} | " + " | ".join(cells) + " |")
    if len(runs) > 1:
        # Bootstrap over repositories and their queries, because queries of one repository are similar.
        rng = random.Random(1)
        groups = collections.defaultdict(list)
        for row, first, last in zip(runs[0][1], runs[0][2], runs[-1][2]):
            groups[row["repository"]].append([100 * (after - before) for before, after in zip(first, last)])
        names, samples = list(groups), []
        for _ in range(2000):
            sample_rows = [rng.choice(groups[name]) for name in rng.choices(names, k=len(names)) for _ in groups[name]]
            samples.append(mean_of(sample_rows))
        print()
        for at, name in [(0, "any@1"), (1, "any@5"), (2, "any@10"), (4, "all@5")]:
            ordered = sorted(sample[at] for sample in samples)
            all_rows = [row for group in groups.values() for row in group]
            difference = mean_of(all_rows)[at]
            better, worse = (sum(sign * row[at] > 0 for row in all_rows) for sign in (1, -1))
            print(
                f"{runs[-1][0]} compared to {runs[0][0]}, {name}: {difference:+.1f} points, 95 % of samples "
                f"{ordered[50]:+.1f} to {ordered[1949]:+.1f}; {better} queries better, {worse} worse"
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make", help="select commits")
    command.add_argument("--clones", required=True)
    command.add_argument("--without", help="a list of commits to exclude")
    command.set_defaults(run=make)
    command = commands.add_parser("sets", help="make query sets and checkouts")
    command.add_argument("list", help="long_queries.json, or another such list")
    command.add_argument("--clones", required=True)
    command.add_argument("--checkouts", required=True)
    command.add_argument("--no-names", action="store_true", help="also remove bare names of files")
    command.set_defaults(run=make_sets)
    command = commands.add_parser("bm25", help="ranks of raw BM25")
    command.add_argument("sets")
    command.add_argument("checkouts")
    command.add_argument("--chunks", help="JSON with first and last lines by repository and path: rank files by their best chunk")
    command.add_argument("--form", choices=["parts", "words", "both"], default="parts", help="tokens of an identifier")
    command.add_argument("--processes", type=int, default=1)
    command.set_defaults(run=bm25)
    command = commands.add_parser("table", help="tables of ranks")
    command.add_argument("runs", nargs="+", metavar="NAME=RANKS")
    command.set_defaults(run=table)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
