#!/usr/bin/env python3
"""Measures how many of the files that fixes change are located by a map of the project.

    map.py answers SETS CHECKOUTS --way WAY --tokens N --tokenizer COMMAND [--program PROGRAM]    prints maps
    map.py score NAME=FILE… --sets SETS                                                           prints their scores

The sets are those of `lines.py sets`. The ways: `map` is `forage list --tokens N`, `symbols` is `forage list --symbols`
of all levels, and `aider` is the repository map of aider (PyPI: aider-chat; run this with its Python). The tokenizer reads
texts separated by NUL, and prints the number of tokens of each on a line (OpenAI's o200k: `gpt-tokenizer` of npm). Lines
of a map beyond N tokens are removed.

A file is placed if the map names its directory, and named if the map has the file itself, with or without definitions.
The seconds are for the whole call. The index of Forage must exist, and aider uses its tags if they exist.
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

# Maximum depth of a listing, more than in any project.
LEVELS = 20


def count(texts, tokenizer):
    """Counts the tokens of each text."""
    result = subprocess.run(tokenizer, shell=True, input="\0".join(texts).encode(), stdout=subprocess.PIPE, check=True)
    return [int(line) for line in result.stdout.split()]


def cut(text, max_tokens, tokenizer):
    """Returns the first lines of a text within a number of tokens, and their tokens."""
    [all_tokens] = count([text], tokenizer)
    if all_tokens <= max_tokens:
        return text, all_tokens
    lines = text.splitlines(keepends=True)[: 2 * max_tokens]
    heads = ["".join(lines[:end]) for end in range(len(lines) + 1)]
    fitting = [(head, tokens) for head, tokens in zip(heads, count(heads, tokenizer)) if tokens <= max_tokens]
    return fitting[-1]


def forage(program, directory, arguments):
    result = subprocess.run([program, "list", *arguments], cwd=directory, stdout=subprocess.PIPE, check=True)
    return result.stdout.decode(errors="replace")


def aider(directory, tokens, tokenizer):
    """Returns aider's map without files in the chat, and without its factor of eight for this case."""
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
        start = time.time()
        if options.way == "map":
            text = forage(options.program, directory, ["--tokens", str(options.tokens)])
        elif options.way == "symbols":
            text = forage(options.program, directory, ["--symbols", "--max-depth", str(LEVELS)])
        else:
            text = aider(directory, options.tokens, options.tokenizer)
        seconds = time.time() - start
        text, tokens = cut(text, options.tokens, options.tokenizer)
        found.append({"set": each["name"], "way": options.way, "text": text, "tokens": tokens, "seconds": seconds})
    json.dump(found, sys.stdout, indent=1)


def named_in_map(text):
    """Returns the directories and files of a map. It has a line for each directory, indented below its parent."""
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
    """Returns the directories and files of a tree in the format of `tree`."""
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
    """Returns the directories and files of aider's map. It has a line for each file, with a colon if definitions follow."""
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
            relevant = [path for query in sets[each["set"]]["queries"] for path in query["relevant"]]
            placed_files = sum(os.path.dirname(path) in directories for path in relevant)
            named_files = sum(path in files for path in relevant)
            if options.by_set:
                print(f"{each['set']}: placed {placed_files}, named {named_files} of {len(relevant)}; {len(directories)} directories, "
                      f"{len(files)} files, {each['tokens']} tokens, {each['seconds']:.2f} s", file=sys.stderr)
            placed, named, all_files = placed + placed_files, named + named_files, all_files + len(relevant)
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
