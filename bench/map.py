#!/usr/bin/env python3
"""How many of the files that fixes need are placed by a map of the project.

    map.py answers SETS CHECKOUTS --way WAY --tokens N --tokenizer COMMAND [--program PROGRAM]    prints maps
    map.py score NAME=FILE… --sets SETS                                                           prints their shares

The sets are those of `lines.py sets`. The ways: `map` is `forage list --tokens N`, `symbols` is `forage list --symbols`
of all levels, and `aider` is the repository map of aider (PyPI: aider-chat; run this with its Python). The tokenizer reads
texts with NUL between them and prints the tokens of each on a line (OpenAI's o200k: `gpt-tokenizer` of npm). Lines of a
map beyond N tokens are cut.

A file is placed if the map names its directory, and named if the map has the file itself, with or without definitions.
The seconds are those of the whole call: a map is made from an index that exists, aider's from its tags if it has them.
FILE has a list of {"set", "way", "text", "tokens", "seconds"}.
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # no bytecode files in the sources

# Levels of a listing, more than any project has.
LEVELS = 20


def count(texts, tokenizer):
    """The tokens of each text."""
    done = subprocess.run(tokenizer, shell=True, input="\0".join(texts).encode(), stdout=subprocess.PIPE, check=True)
    return [int(line) for line in done.stdout.split()]


def cut(text, most, tokenizer):
    """The first lines of a text within so many tokens, and their tokens."""
    [all_tokens] = count([text], tokenizer)
    if all_tokens <= most:
        return text, all_tokens
    lines = text.splitlines(keepends=True)[: 2 * most]
    heads = ["".join(lines[:end]) for end in range(len(lines) + 1)]
    fitting = [(head, tokens) for head, tokens in zip(heads, count(heads, tokenizer)) if tokens <= most]
    return fitting[-1]


def forage(program, directory, arguments):
    done = subprocess.run([program, "list", *arguments], cwd=directory, stdout=subprocess.PIPE, check=True)
    return done.stdout.decode(errors="replace")


def aider(directory, tokens, tokenizer):
    """The map that aider draws with no file in the chat, without its factor of eight for that case."""
    from aider.io import InputOutput
    from aider.repomap import RepoMap

    class Counter:
        def token_count(self, text):
            return count([text], tokenizer)[0]

    files = []
    for top, directories, names in os.walk(directory):
        directories[:] = [name for name in directories if not name.startswith(".")]
        files += [os.path.join(top, name) for name in names if not os.path.islink(os.path.join(top, name))]
    io = InputOutput(pretty=False, yes=True)
    options = {"map_tokens": tokens, "root": directory, "main_model": Counter(), "io": io, "map_mul_no_files": 1}
    with contextlib.redirect_stdout(sys.stderr):  # its messages
        return RepoMap(**options).get_repo_map([], sorted(files)) or ""


def answers(options):
    with open(options.sets) as file:
        sets = json.load(file)
    found = []
    for each in sets:
        directory = os.path.join(os.path.abspath(options.checkouts), each["name"])
        if options.way == "map":
            subprocess.run([options.program, "index", "build", "--ranked"], cwd=directory, stdout=sys.stderr, check=True)
        began = time.time()
        if options.way == "map":
            text = forage(options.program, directory, ["--tokens", str(options.tokens)])
        elif options.way == "symbols":
            text = forage(options.program, directory, ["--symbols", "--max-depth", str(LEVELS)])
        else:
            text = aider(directory, options.tokens, options.tokenizer)
        seconds = time.time() - began
        text, tokens = cut(text, options.tokens, options.tokenizer)
        found.append({"set": each["name"], "way": options.way, "text": text, "tokens": tokens, "seconds": seconds})
    json.dump(found, sys.stdout, indent=1)


def named_in_map(text):
    """The directories and files of a map: a line per directory, indented below those around it."""
    directories, files, above = set(), set(), []
    for line in text.splitlines():
        found = re.match(r"( *)(\S.*?)/ \([\d,]+[^)]*\) ?(.*)$", line)
        if not found or line.startswith(("[", "…")):
            continue
        level = len(found[1]) // 2
        path = "" if level == 0 else os.path.join(above[level - 1], found[2])
        above[level:] = [path]
        directories.add(path)
        files |= {os.path.join(path, part.split(":")[0]) for part in found[3].split("; ") if part}
    return directories, files


def named_in_tree(text):
    """The directories and files of a tree as `tree` draws it."""
    directories, files, above = {""}, set(), []
    for line in text.splitlines():
        found = re.match(r"((?:│   |    )*)(?:├── |└── )(.*)$", line)
        if not found:
            continue
        level = len(found[1]) // 4
        name = found[2].split(" (")[0]
        path = os.path.join(above[level - 1] if level else "", name.split("/")[0])
        if "/" in name:
            above[level:] = [path]
            directories.add(path)
        else:
            files.add(path)
    return directories, files


def named_by_aider(text):
    """The directories and files of aider's map: a line per file, with a colon if its definitions follow."""
    files = {line.rstrip(":") for line in text.splitlines() if re.match(r"[^\s│⋮]", line)}
    return {os.path.dirname(path) for path in files}, files


READERS = {"map": named_in_map, "symbols": named_in_tree, "aider": named_by_aider}


def score(options):
    with open(options.sets) as file:
        sets = {each["name"]: each for each in json.load(file)}
    print("| | placed | named | directories | tokens | seconds |")
    print("|---|---|---|---|---|---|")
    for name, path in (each.split("=", 1) for each in options.answers):
        with open(path) as file:
            maps = json.load(file)
        placed = named = all_files = all_directories = 0
        for each in maps:
            directories, files = READERS[each["way"]](each["text"])
            wanted = [path for query in sets[each["set"]]["queries"] for path in query["relevant"]]
            its = sum(os.path.dirname(path) in directories for path in wanted)
            own = sum(path in files for path in wanted)
            if options.by_set:
                print(f"{each['set']}: placed {its}, named {own} of {len(wanted)}; {len(directories)} directories, "
                      f"{len(files)} files, {each['tokens']} tokens, {each['seconds']:.2f} s", file=sys.stderr)
            placed, named, all_files = placed + its, named + own, all_files + len(wanted)
            all_directories += len(directories)
        tokens = max(each["tokens"] for each in maps)
        seconds = max(each["seconds"] for each in maps)
        mean = all_directories / len(maps)
        print(f"| {name} | {placed / all_files:.0%} | {named / all_files:.0%} | {mean:.0f} | {tokens:,} | {seconds:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("answers")
    command.add_argument("sets")
    command.add_argument("checkouts")
    command.add_argument("--way", choices=sorted(READERS), default="map")
    command.add_argument("--tokens", type=int, default=1_000)
    command.add_argument("--tokenizer", required=True)
    command.add_argument("--program", default="forage")
    command = commands.add_parser("score")
    command.add_argument("answers", nargs="+", metavar="NAME=FILE")
    command.add_argument("--sets", required=True)
    command.add_argument("--by-set", action="store_true")
    options = parser.parse_args()
    {"answers": answers, "score": score}[options.command](options)


if __name__ == "__main__":
    main()
