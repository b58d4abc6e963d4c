#!/usr/bin/env python3
"""Creates query sets from bug reports with known answers: the issue that a commit fixes, and the source files that it changes.

This directory contains no texts of issues: `reports.json` has repositories, revisions (the tree before all of the fixes),
numbers of issues, commits and paths. With the texts, you can create query sets:

    reports.py sets LIST --texts FILE --checkouts DIR [--forms]    prints query sets for `evaluate`
    reports.py table NAME=RANKS…                                   prints the results of `evaluate --ranks` by language
    reports.py shown CASES --forage FILE --checkouts DIR [--whole]  prints how often `keyword_search` shows a correct file to its
                                                                   model; `evaluate --terms 8=CASES` writes CASES

FILE has a JSON object on each line: `repo` (owner/name), `issue`, `title`, `body`, as in `gh issue view N --json title,body`.
DIR has a checkout of each revision with its history, by name (`git clone URL NAME; git checkout REVISION`).

With `--forms`, each text is inserted into the project's issue template (`.github/ISSUE_TEMPLATE`), so that it is surrounded by
headings, check boxes and versions, like real reports. Use it for texts without them.
"""

import argparse
import collections
import glob
import json
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True
from fake_model import serve
from filter import Peer, ask, shown_files

PLAIN_FORM = """### Describe the bug

{body}

### Steps to reproduce

See above.

### Expected behavior

It should work.

### Environment

- OS: Ubuntu 22.04
- Version: 1.2.3
"""


def form_of(checkout):
    """Returns the issue template for bugs, by its name, or else the first one that is not for another purpose."""
    found = sorted(glob.glob(f"{checkout}/.github/ISSUE_TEMPLATE/*")) + glob.glob(f"{checkout}/.github/ISSUE_TEMPLATE.md")
    found = [path for path in found if path.endswith((".md", ".yml", ".yaml")) and "config" not in os.path.basename(path)]
    bugs = [path for path in found if "bug" in path.lower()]
    others = [path for path in found if not re.search("feature|doc|proposal|question|idea|enh", path.lower())]
    return (bugs or others or found or [None])[0]


def fill_in(path, body):
    if path is None:
        return PLAIN_FORM.format(body=body)
    with open(path, errors="replace") as file:
        text = file.read()
    if path.endswith(".md"):
        text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
        lines = text.split("\n")
        for index, line in enumerate(lines):
            if re.match(r"\s*(#+ |\*\*.+\*\*|\d+\. )", line):
                return "\n".join([*lines[: index + 1], "", body, "", *lines[index + 1 :]])
        return f"{body}\n\n{text}"
    parts, is_inserted = [], False
    for item in re.split(r"\n\s*- type:\s*", text)[1:]:
        kind = item.split("\n")[0].strip()
        named = re.search(r"\blabel:\s*[\"']?(.+?)[\"']?\s*\n", item)
        label = named.group(1) if named else "Details"
        if kind == "markdown":
            continue
        if kind == "checkboxes":
            boxes = re.findall(r"- label:\s*[>|]?-?\s*[\"']?(.+)", item)
            parts.append(f"### {label}\n\n" + "\n".join(f"- [X] {box}" for box in boxes))
        elif kind == "textarea" and not is_inserted:
            parts.append(f"### {label}\n\n{body}")
            is_inserted = True
        elif kind == "textarea":
            value = re.search(r"value:\s*\|\n((?:\s{6,}.*\n?)+)", item)
            value_text = re.sub(r"^\s+", "", value.group(1), flags=re.M) if value else "_No response_"
            parts.append(f"### {label}\n\n{value_text}")
        else:
            parts.append(f"### {label}\n\n1.2.3")
    return "\n\n".join(parts if is_inserted else [*parts, body])


def sets(arguments):
    with open(arguments.texts) as file:
        texts = {(text["repo"], text["issue"]): text for text in map(json.loads, file)}
    result = []
    with open(arguments.list) as file:
        repositories = json.load(file)
    for repository in repositories:
        repo = repository["url"].removeprefix("https://github.com/")
        form = form_of(os.path.join(arguments.checkouts, repository["name"])) if arguments.forms else None
        queries = []
        for issue, commit, paths in repository["reports"]:
            text = texts.get((repo, issue))
            if text is None:
                continue
            body = fill_in(form, text["body"]) if arguments.forms else text["body"]
            query = f"{text['title']}\n\n{body}".strip()
            queries.append({"query": query, "relevant": paths, "secondary": [], "category": "report", "commit": commit})
        if queries:
            result.append({key: repository[key] for key in ("name", "language", "revision")} | {"queries": queries})
    json.dump(result, sys.stdout)


def table(arguments):
    def share(queries, cut):
        return 100 * sum(any(rank and rank <= cut for rank in query["ranks"]) for query in queries) / max(len(queries), 1)

    print("| | queries | any@1 | any@3 | any@5 | any@10 | any@20 |\n| --- | --- | --- | --- | --- | --- | --- |")
    for run in arguments.ranks:
        name, path = run.split("=", 1)
        with open(path) as file:
            ranks = json.load(file)
        for title, is_python in (("Python", True), ("other languages", False)):
            queries = [query for query in ranks if (query["language"].lower() == "python") == is_python]
            row = " | ".join(f"{share(queries, cut):.1f}" for cut in (1, 3, 5, 10, 20))
            print(f"| {name}, {title} | {len(queries)} | {row} |")


def shown(arguments):
    """Prints how often a correct file is in the request. A local server acts as the model, as in `filter.py`. The query is the title
    of a report or, with --whole, its text up to the maximum length of a query."""
    with open(arguments.cases, encoding="utf-8") as file:
        cases = json.load(file)
    arguments.trees = {case["tree"]: os.path.realpath(os.path.join(arguments.checkouts, case["tree"])) for case in cases}
    url = serve(Peer)
    print("| candidates | reports | shown | with context | every right file | files, mean | bytes, mean | no request |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for candidates in ("terms", "union"):
        row = collections.Counter()
        with tempfile.TemporaryDirectory() as directory:
            for case in cases:
                if arguments.whole:
                    case["query"] = case["text"].encode()[:8000].decode(errors="ignore")
                settings = {"evidence": "compact", "candidates": candidates}
                bodies, _ = ask(arguments, url, case, settings, directory)
                users = [body["messages"][1]["content"] for body in bodies]
                files = {}
                for user in users:
                    files.update(shown_files(user, arguments.trees[case["tree"]]))
                relevant = [entry if isinstance(entry, str) else entry["path"] for entry in case["relevant"]]
                hits = [files[path] for path in relevant if path in files]
                row.update(any=bool(hits), context="context" in hits, every=len(hits) == len(relevant), none=not bodies)
                row.update(files=len(files), bytes=sum(len(user.encode()) for user in users))
        count = max(len(cases), 1)
        share = " | ".join(f"{100 * row[key] / count:.1f}" for key in ("any", "context", "every"))
        print(f"| {candidates} | {count} | {share} | {row['files'] / count:.0f} | {row['bytes'] / count:,.0f} | {row['none']} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("sets")
    command.add_argument("list")
    command.add_argument("--texts", required=True)
    command.add_argument("--checkouts", required=True)
    command.add_argument("--forms", action="store_true")
    command.set_defaults(run=sets)
    command = commands.add_parser("table")
    command.add_argument("ranks", nargs="+")
    command.set_defaults(run=table)
    command = commands.add_parser("shown")
    command.add_argument("cases")
    command.add_argument("--forage", required=True, type=os.path.abspath)
    command.add_argument("--checkouts", required=True)
    command.add_argument("--whole", action="store_true")
    command.set_defaults(run=shown)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
