#!/usr/bin/env python3
"""Compares the uses of names that `grep_search` finds with the references that language servers find.

    uses.py --forage FORAGE --server 'clangd' --tree TREE --glob 'src/*.c' --names 12

Samples names of functions and types that the files define and that occur in 3 to 60 lines. Requests all references of the definition
from the server (`textDocument/references`), and all lines with the name from Forage. Recall is the share of the server's lines that
Forage finds. Precision is the share of Forage's lines of code that the server finds. If several definitions have the same name,
Forage finds the uses of all of them. References by another word than the name (`Self`) are counted separately. Python 3.9 or newer,
no packages.
"""

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import unquote, urlparse

sys.dont_write_bytecode = True  # no bytecode files in the sources

LANGUAGES = {
    ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".py": "python", ".ts": "typescript", ".tsx": "typescriptreact",
    ".js": "javascript", ".go": "go", ".rs": "rust",
}  # fmt: skip


class Server:
    """A language server on stdin and stdout."""

    def __init__(self, command, tree, settings):
        self.tree, self.opened = tree, set()
        self.process = subprocess.Popen(
            command, shell=True, cwd=tree, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.answers, self.ids, self.changed = {}, 0, threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()
        folder = {"uri": tree.as_uri(), "name": tree.name}
        options = {
            "processId": None,
            "rootUri": tree.as_uri(),
            "workspaceFolders": [folder],
            "initializationOptions": settings,
            "capabilities": {"workspace": {"configuration": True, "workspaceFolders": True}, "window": {"workDoneProgress": True}},
        }
        self.ask("initialize", options, 120)
        self.send({"method": "initialized", "params": {}})

    def send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def ask(self, method, params, seconds):
        self.ids += 1
        number = self.ids
        self.send({"id": number, "method": method, "params": params})
        with self.changed:
            if not self.changed.wait_for(lambda: number in self.answers, seconds):
                raise TimeoutError(method)
            return self.answers.pop(number)

    def _read(self):
        out = self.process.stdout
        while True:
            length = 0
            while line := out.readline().strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not length:
                return
            message = json.loads(out.read(length))
            if "method" in message and "id" in message:
                # Servers request settings from clients. We have none.
                items = (message.get("params") or {}).get("items", [])
                self.send({"id": message["id"], "result": [None] * len(items) if items else None})
            elif "id" in message:
                with self.changed:
                    self.answers[message["id"]] = message.get("result")
                    self.changed.notify_all()

    def open(self, path):
        """Opens a file, which some servers require before requests about it."""
        if path in self.opened:
            return
        self.opened.add(path)
        text = path.read_text(errors="replace")
        document = {"uri": path.as_uri(), "languageId": LANGUAGES[path.suffix], "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def references(self, path, line, column, name):
        """Returns the lines that refer to a definition by name, and the number of lines with another word such as `Self`."""
        params = {
            "textDocument": {"uri": path.as_uri()},
            "position": {"line": line - 1, "character": column},
            "context": {"includeDeclaration": True},
        }
        found = self.ask("textDocument/references", params, 180) or []
        lines, others = set(), set()
        for location in found:
            file = Path(unquote(urlparse(location["uri"]).path))
            if self.tree not in file.parents:
                continue
            start = location["range"]["start"]
            text = file.read_text(errors="replace").splitlines()[start["line"]]
            by_name = text[start["character"] :].startswith(name)
            (lines if by_name else others).add((str(file.relative_to(self.tree)), start["line"] + 1))
        return lines, len(others - lines)


def records(forage, tree, tool, request):
    run = subprocess.run(
        [forage, "--json", "call", tool, json.dumps(request)], cwd=tree, capture_output=True, check=False
    )
    return json.loads(run.stdout)


def uses(forage, tree, name):
    answer = records(forage, tree, "grep_search", {"pattern": name, "output": "uses", "max_results": 10000})
    assert answer["totals_exact"] and not answer["next_cursor"], name
    lines = {(file["path"], line["line_number"]): line["mention"] for file in answer["files"] for line in file["lines"]}
    assert len(lines) == answer["match_count"], name
    return lines, answer["definition_count"]


def candidates(forage, tree, paths):
    """Yields definitions of functions and types with names of at least four letters: path, line, column, name."""
    for path in paths:
        outline = records(forage, tree, "read_file", {"path": str(path.relative_to(tree)), "outline": True})
        lines = path.read_text(errors="replace").splitlines()
        for entry in outline.get("outline", []):
            name, line = entry["name"], entry["line"]
            if entry["kind"] in ("function", "type") and len(name) > 3 and name in lines[line - 1]:
                yield path, line, lines[line - 1].index(name), name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forage", required=True)
    parser.add_argument("--server", required=True, help="the command of a language server on stdio")
    parser.add_argument("--settings", type=json.loads, default={}, help="the server's initializationOptions as JSON")
    parser.add_argument("--tree", required=True, type=lambda text: Path(text).resolve(strict=True))
    parser.add_argument("--glob", required=True, help="files whose definitions are sampled, and that the server opens")
    parser.add_argument("--names", type=int, default=12)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--open", type=int, default=400, help="number of files to open in the server before the first request")
    parser.add_argument("--wait", type=float, default=20, help="seconds for the server to read the project")
    options = parser.parse_args()
    tree, forage = options.tree, str(Path(options.forage).resolve())
    paths = sorted(path for path in tree.glob(options.glob) if path.is_file() and path.suffix in LANGUAGES)
    rng = random.Random(options.seed)
    found = list(candidates(forage, tree, rng.sample(paths, min(len(paths), 60))))
    rng.shuffle(found)
    server = Server(options.server, tree, options.settings)
    for path in paths[: options.open]:
        server.open(path)
    time.sleep(options.wait)
    total = {"server": 0, "recalled": 0, "ours": 0, "right": 0}
    seen, by_other_words = set(), 0
    print("| name | lines of the server | of these found by Forage | lines of code of Forage | of these found by the server | definitions |")
    print("| --- | --- | --- | --- | --- | --- |")
    for path, line, column, name in found:
        if len(seen) == options.names:
            break
        ours, definitions = uses(forage, tree, name)
        if name in seen or not 3 <= len(ours) <= 60:
            continue
        if path not in server.opened:
            server.open(path)
            time.sleep(2)
        theirs, others = server.references(path, line, column, name)
        if not theirs:
            continue
        seen.add(name)
        code = {location for location, mention in ours.items() if mention in ("code", "definition")}
        by_other_words += others
        row = [len(theirs), len(theirs & ours.keys()), len(code), len(code & theirs)]
        for key, value in zip(total, row):
            total[key] += value
        print(f"| `{name}` | {row[0]} | {row[1]} | {row[2]} | {row[3]} | {definitions} |")
        for missing in sorted(theirs - ours.keys()):
            print(f"missing: {missing}", file=sys.stderr)
    recall = total["recalled"] / max(total["server"], 1)
    precision = total["right"] / max(total["ours"], 1)
    print(f"\n{len(seen)} names: recall {recall:.3f}, precision {precision:.3f}; {by_other_words} references by other words")


if __name__ == "__main__":
    main()
