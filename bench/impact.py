#!/usr/bin/env python3
"""Compares the edges of `grep_search` with `output: "impact"` with the references that a compiler's language server finds.

    impact.py --forage FORAGE --server 'pyright-langserver --stdio' --tree TREE --glob 'src/**/*.py' --names 100

Samples functions, methods and types of the files. For each, requests all references from the server
(`textDocument/references`) and the edges of the first step from Forage. An edge is a definition that uses another one, so
references are grouped by the innermost definition around them, as Forage's outline has it. Imports, comments and
recursive uses are no edges, and neither are references that the server resolves to another definition. An edge of Forage is
right if the server finds one of its lines. It is undecided if the server knows no definition of the name there, for example of a
method of an untyped parameter: it is neither right nor wrong. Recall is the share of the server's edges that Forage finds,
including references by another word than the name. Edges that Forage only lists by name count as not found. Needs the server and
Python 3.9, no packages.
"""

import argparse
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlparse

from uses import LANGUAGES, Server, records

sys.dont_write_bytecode = True  # no bytecode files in the sources

# The keywords of functions, methods and types.
KINDS = {"def", "class", "function", "method", "interface", "type", "enum", "fn", "struct", "trait", "func"}


def outline(forage, tree, path, cache):
    if path not in cache:
        answer = records(forage, tree, "read_file", {"path": path, "outline": True})
        cache[path] = answer.get("outline", [])
    return cache[path]


def around(entries, line):
    """Returns the first line of the innermost definition around a line, or 0."""
    starts = [entry["start_line"] for entry in entries if entry["start_line"] <= line <= entry["end_line"]]
    return max(starts, default=0)


def candidates(forage, tree, paths, kinds, cache):
    """Yields definitions: path, line of the name, first line, name, and the name after those of the definitions around it."""
    for path in paths:
        lines = (tree / path).read_text(errors="replace").splitlines()
        around, seen = [], set()
        for entry in outline(forage, tree, path, cache):
            around = [*around[: entry["depth"]], entry["name"]]
            symbol = " > ".join(around)
            name, line = entry["name"], entry["line"]
            # Overloads and alternatives are one definition.
            if entry["kind"] in kinds and not name.startswith("__") and name != "constructor" and name in lines[line - 1] and symbol not in seen:
                seen.add(symbol)
                yield path, line, entry["start_line"], name, symbol


def locations(server, tree, method, path, line, name):
    """Returns the lines that refer to a name, or that define it: path and line."""
    text = (tree / path).read_text(errors="replace").splitlines()[line - 1]
    found, is_known = set(), False
    for match in re.finditer(rf"\b{re.escape(name)}\b", text):
        params = {
            "textDocument": {"uri": (tree / path).as_uri()},
            "position": {"line": line - 1, "character": match.start()},
            "context": {"includeDeclaration": False},
        }
        answer = server.ask(f"textDocument/{method}", params, 180) or []
        answer = [answer] if isinstance(answer, dict) else answer
        is_known |= bool(answer)
        found |= {location for it in answer if (location := server.place(it))}
        if method == "references":
            break
    return found, is_known


def is_aside(tree, path, line, texts):
    """Checks whether a line is a comment, or belongs to a statement that imports or re-exports names."""
    if path not in texts:
        marked, is_open = set(), False
        for number, text in enumerate((tree / path).read_text(errors="replace").splitlines(), 1):
            words = text.split()
            begins = bool(words) and words[0] in ("import", "from") and "import" in words or text.startswith(
                ("import ", "import{", "export {", "export *", "export type {", "__all__")
            )
            if begins or is_open or text.lstrip().startswith(("*", "/*", "//", "#")):
                marked.add(number)
            opened = sum(map(text.count, "([{")) > sum(map(text.count, ")]}"))
            is_open = begins and opened or is_open and not (set(")]}") & set(text))
        texts[path] = marked
    return line in texts[path]


def means(server, tree, path, line, name, is_it):
    """Checks whether one of the names on a line means a definition. A line with another word, such as an alias, does."""
    places, is_known = locations(server, tree, "definition", path, line, name)
    return not is_known or any(map(is_it, places))


class Judge(Server):
    def place(self, location):
        file = Path(unquote(urlparse(location.get("uri") or location["targetUri"]).path))
        if self.tree in file.parents:
            place = location.get("range") or location["targetSelectionRange"]
            return str(file.relative_to(self.tree)), place["start"]["line"] + 1
        return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", required=True)
    parser.add_argument("--server", required=True, help="the command of a language server on stdio")
    parser.add_argument("--tree", required=True, type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--glob", required=True, help="files whose definitions are sampled")
    parser.add_argument("--open", default=None, help="glob of the files that the server opens (default: the same)")
    parser.add_argument("--names", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wait", type=float, default=10, help="seconds for the server to read the project")
    parser.add_argument("--verbose", action="store_true", help="list wrong and missing edges")
    options = parser.parse_args()
    tree, forage = options.tree, str(Path(options.forage).resolve())
    paths = [str(path.relative_to(tree)) for path in sorted(tree.glob(options.glob)) if path.suffix in LANGUAGES]
    outlines, texts = {}, {}
    found = list(candidates(forage, tree, paths, KINDS, outlines))
    random.Random(options.seed).shuffle(found)
    server = Judge(options.server, tree, {})
    for path in sorted(tree.glob(options.open or options.glob)):
        if path.suffix in LANGUAGES:
            server.open(path)
    time.sleep(options.wait)
    right, undecided, all_edges, missing = Counter(), Counter(), Counter(), Counter()
    names = recalled = of_server = by_name = 0
    shares = {"members": [], "others": []}
    for path, line, start, name, symbol in found:
        if names == options.names:
            break
        try:
            theirs, _ = locations(server, tree, "references", path, line, name)
        except TimeoutError:
            print(f"timeout: {path}:{line} {name}", file=sys.stderr)
            continue
        theirs = {it for it in theirs if it != (path, line) and not is_aside(tree, *it, texts)}
        entries = [it for it in outline(forage, tree, path, outlines) if it["name"] == name]
        is_it = lambda it: it[0] == path and any(entry["start_line"] <= it[1] <= entry["end_line"] for entry in entries)
        # Some servers also return uses of the same member of other types, e.g. of an interface.
        theirs = {it for it in theirs if means(server, tree, *it, name, is_it)}
        request = {"pattern": name, "path": path, "output": "impact", "max_results": 10000}
        answer = records(forage, tree, "grep_search", request)
        impact = answer["impact"]
        edges = [it for it in impact["edges"] if it["step"] == 1 and it["used_path"] == path and it["used"] == symbol]
        if not edges and not theirs:
            continue
        names += 1
        by_name += impact["name_only_counts"][0]
        ours = set()
        for edge in edges:
            all_edges[edge["reason"]] += 1
            hits = {(edge["path"], number) for number in edge["lines"]} & theirs
            if hits:
                right[edge["reason"]] += 1
                # Several definitions may begin on one line, so we take the one around the line of the use.
                ours |= {(it[0], around(outline(forage, tree, it[0], outlines), it[1])) for it in hits}
                continue
            meant = [locations(server, tree, "definition", edge["path"], number, name) for number in edge["lines"]]
            if any(is_it(it) for places, _ in meant for it in places):
                right[edge["reason"]] += 1
            elif not any(is_known for _, is_known in meant):
                undecided[edge["reason"]] += 1
            elif options.verbose:
                print(f"wrong: {name} {path}:{start} {edge['reason']}: {edge['path']}:{edge['lines']}", file=sys.stderr)
        groups = {(it[0], around(outline(forage, tree, it[0], outlines), it[1])) for it in theirs}
        groups.discard((path, start))
        of_server += len(groups)
        recalled += len(groups & ours)
        if groups:
            shares["members" if " > " in symbol else "others"].append((len(groups & ours), len(groups)))
        for it in sorted(groups - ours):
            entries = outline(forage, tree, it[0], outlines)
            lines = sorted(at for file, at in theirs if file == it[0] and around(entries, at) == it[1])
            text = (tree / it[0]).read_text(errors="replace").splitlines()
            is_named = any(name in text[at - 1] for at in lines)
            missing["by the name" if is_named else "by another word"] += 1
            if options.verbose:
                print(f"missing: {name} {path}:{start}: {it[0]} {lines}", file=sys.stderr)
    print("| reason | edges | right | undecided | precision of the others |")
    print("| --- | --- | --- | --- | --- |")
    for reason in [*sorted(all_edges), "all"]:
        of = (lambda counter: sum(counter.values())) if reason == "all" else (lambda counter: counter[reason])
        decided = of(all_edges) - of(undecided)
        print(f"| {reason} | {of(all_edges)} | {of(right)} | {of(undecided)} | {of(right) / max(decided, 1):.3f} |")
    print(
        f"\n{names} definitions, {of_server} edges of the server: recall {recalled / max(of_server, 1):.3f}; missing {dict(missing)}; "
        f"{by_name} lines by name only"
    )
    for kind, counts in shares.items():
        found, all_of_kind = (sum(column) for column in zip(*counts)) if counts else (0, 0)
        mean = sum(found / all_of_kind for found, all_of_kind in counts) / max(len(counts), 1)
        print(f"{kind}: {found} of {all_of_kind} edges of {len(counts)} definitions found; mean by definition {mean:.3f}")
    server.process.kill()


if __name__ == "__main__":
    main()
