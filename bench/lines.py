#!/usr/bin/env python3
"""Determines the relevant lines of the fixes in `long_queries.json`, and how many of them an answer shows.

The gold lines of a fix are the whole definitions that enclose its changes. We do not use our own parsers for this. The start
of a definition is what `git diff -W` considers one (by git's drivers for languages, and patterns in this file for languages
without a driver). The end follows from indentation and closing brackets. We do not use the output of `-W` itself: it
continues to the next start, including that definition's comment, and treats any preceding definition as the enclosing one.

    lines.py sets  LIST --clones DIR --checkouts DIR    checks out the revisions, prints query sets with lines
    lines.py answers SETS CHECKOUTS --program PROGRAM --tokens N [--way WAY] --tokenizer COMMAND    runs the queries, prints answers
    lines.py score NAME=FILE… --sets SETS               prints the scores of answers

The sets have the format of `long_queries.py sets` with two more keys for each query. Both contain line numbers by path, for
the file at the revision of the checkout: `lines` has the first and last lines of the gold ranges, and `edits` has the lines
that the fix removes or changes, and the line before each insertion. The gold is the definition that encloses an edit at the
revision. If no edited line of a definition exists yet, it is the existing lines of the definition. Changes of imports and
insertions of whole definitions do not count, because no existing definition encloses them.

The ways: `code` is `forage rank --code=N`, `default` is the answer of `search_index` to the query alone, `lines` is `forage
rank`, and `whole` means whole files in ranking order. `codegraph` is `codegraph explore` (npm: @colbymchenry/codegraph) with an
index of each checkout, which is removed afterwards. `probe` is `probe search --max-tokens N` (npm: @probelabs/probe) with the
words of the question as its query. The tokenizer reads texts separated by NUL, and prints the number of tokens of each on a line
(OpenAI's o200k: `gpt-tokenizer` of npm). Text beyond N tokens counts as not shown.

FILE has a list of {"set", "commit", "files": [path…], "shown": {path: [[first, last]…]}, "tokens"}.
"""

import argparse
import collections
import itertools
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # no bytecode files in the sources
from long_queries import check_out, clone_of, git, is_source, query_of

# Maximum lines of a definition. In a longer one, the gold is AROUND lines before and after each change.
MAX_LINES, AROUND = 200, 100
# Maximum lines of a type that is gold as a whole.
MAX_TYPE_LINES = 60
# Maximum gold lines before and after a change outside of definitions.
NEIGHBORS = 20
# Maximum lines between two ranges that are merged.
GAP = 2
# Minimum share of the changed lines that exist at the revision.
SHARE_MAPPED = 0.6
# Maximum distance from a shown line to a changed line that counts as seen.
NEAR = 3
RESAMPLES = 10_000

# File name suffixes by driver, for git's own drivers and the ones below.
DRIVERS = {
    "bash": "bash sh",
    "cpp": "c m",
    "csharp": "cs",
    "cxx": "cc cpp cxx h hh hpp mm",
    "elixir": "ex exs",
    "erlang": "erl",
    "golang": "go",
    "haskell": "hs hsc",
    "java": "groovy java",
    "kotlin": "kt",
    "perl": "pl pm",
    "php": "php",
    "python": "py pyi pyx",
    "ruby": "rb",
    "rust": "rs",
    "scala": "scala",
    "swift": "swift",
    "typescript": "js jsx mjs mts ts tsx vue",
}
# POSIX extended regular expressions, one per line. A match of a line with `!` does not start a definition.
CONTROL = r"!^[ \t]*(if|else|for|while|do|switch|case|catch|return|throw|try|new|await|yield|delete|typeof|defer|guard|repeat)([^A-Za-z0-9_]|$)"
PATTERNS = {
    # git's `cpp` only knows definitions at the start of a line, but not the members of a class.
    "cxx": "\n".join(
        [
            r"!^[ \t]*[A-Za-z_][A-Za-z_0-9]*:[ \t]*($|/[/*])",
            CONTROL,
            r"!;[ \t]*$",
            r"^[A-Za-z_].*$",
            r"^[ \t]+(template|class|struct|union|enum|namespace)([^A-Za-z0-9_].*)?$",
            r"^[ \t]+[A-Za-z_~][A-Za-z_0-9:<>,*&~ \t]*\(.*$",
        ]
    ),
    "typescript": "\n".join(
        [
            CONTROL,
            r"^[ \t]*((export|default|declare|abstract|async)[ \t]+)*(class|interface|enum|namespace|module|type|function\*?)[ \t].*$",
            r"^(export[ \t]+)?(const|let|var)[ \t].*$",
            # Methods, and variables whose values are functions.
            r"^[ \t]+((public|private|protected|static|override|readonly|abstract|async|get|set|\*)[ \t]*)*[#A-Za-z_$][A-Za-z0-9_$]*(<[^()]*>)?\([^;]*$",
            r"^[ \t]+((public|private|protected|static|override|readonly)[ \t]+)*[#A-Za-z_$][A-Za-z0-9_$]*[ \t]*(:[^=]*)?=[ \t]*(async[ \t]*)?(function|\(|[a-z]+ =>).*$",
        ]
    ),
    "swift": "\n".join(
        [
            r"^[ \t]*((@[A-Za-z]+(\([^)]*\))?|[a-z]+(\([a-z]+\))?)[ \t]+)*(func|init[?!]?|deinit|subscript|class|struct|enum|protocol|extension|actor|macro)([^A-Za-z0-9_].*|$)",
            # Computed properties.
            r"^[ \t]*((@[A-Za-z]+(\([^)]*\))?|[a-z]+(\([a-z]+\))?)[ \t]+)*var[ \t].*\{[ \t]*$",
        ]
    ),
    # A function starts with its signature. The equations follow.
    "haskell": "\n".join(
        [
            r"!^(where|module|import|else|then|in|of|do)([^A-Za-z0-9_']|$)",
            r"^(data|newtype|type|class|instance|deriving)[ \t].*$",
            r"^[a-z_][A-Za-z0-9_']*([ \t]*,[ \t]*[a-z_][A-Za-z0-9_']*)*[ \t]*(::.*)?$",
        ]
    ),
    "scala": r"^[ \t]*((@[A-Za-z]+(\([^)]*\))?|[a-z]+(\[[A-Za-z]+\])?)[ \t]+)*(def|class|object|trait)[ \t].*$",
    "erlang": r"^[a-z][A-Za-z0-9_@]*\(.*$",
}
# Languages in which a definition ends where the indentation ends, without a bracket or keyword.
INDENTED = {"haskell", "python"}

# Definitions that contain definitions.
TYPE = re.compile(
    r"\s*(?:(?:@[\w.]+(?:\([^)]*\))?|(?:pub|private|protected|package)\s*[(\[][\w\s:.]*[)\]]|template\s*<.*>|unsafe|[a-z]+)\s+)*?"
    r"(?:(?:class|interface|trait|impl|object|extension|protocol|actor|instance|record|defmodule|defimpl|defprotocol)\b(?!\s*[=(:.,;])"
    r"|impl\s*<|(?:struct|enum|union)\b[^()]*(?:\{|$)|type\s+\w+(?:\[.*\])?\s+(?:struct|interface)\b)"
)
# Definitions that can contain a whole file.
SPACE = re.compile(r"\s*(?:(?:pub|export|declare|inline|template)\s+)*(?:namespace|module|mod|package)\b|extern\s*\"")
IMPORT = re.compile(
    r"\s*(?:#\s*(?:include|import|pragma once)|#\[macro_use\]|(?:pub(?:\([\w\s:]+\))?\s+)?use\s|import\b|from\s+\S+\s+import\b|"
    r"using\s|global using\s|require(?:_relative|_once)?\b|package\s|extern crate\b|alias\s|"
    r"export\s+(?:\*|\{[^}]*\}?)\s*(?:from\b.*)?$|\}\s*from\b)"
)
OPENS = re.compile(r"(?:[\[{(]|\bdo|->|=>)(?:\s*\|[^|]*\|)?\s*(?://.*|#.*|/\*.*)?$")
# A line that continues a definition without being indented more than its start.
CONTINUES = re.compile(
    r"\s*(?:[{(\[]|\)\s*\S|[}\]]\s*(?:[(.]|else\b|catch\b|finally\b|while\b|rescue\b)|(?:else|elsif|elif|rescue|ensure|catch|"
    r"after|where|throws)\b|:|->|=>|&&|\|\||(?:public|private|protected)\s*:|#\s*(?:if|else|elif|endif|define|undef|pragma)|"
    r"\w+:\s*$|//|/\*|\*)"
)
CLOSES = re.compile(r"\s*(?:[)}\]]+|end\b(?!\s*:))")
COMMENT = re.compile(r"\s*(?:#(?!\s*(?:include|define|if|else|endif|undef))|//|/\*|\*|--|\{-|@\w|\[\w)")

Definition = collections.namedtuple("Definition", "lead first last kind")
Change = collections.namedtuple("Change", "first count text")


def driver_of(path):
    """Returns git's driver for a file, or ours."""
    suffix = path.rsplit(".", 1)[-1].lower()
    return next((driver for driver, suffixes in DRIVERS.items() if suffix in suffixes.split()), "cpp")


def whole_lines(pattern):
    """Converts a pattern for git: with literal tabs, and with the whole line as the first group, which git shows."""
    lines = pattern.replace(r"\t", "\t").split("\n")
    return "\n".join(line if line.startswith("!") else f"^({line[1:]})" for line in lines)


def settings(directory):
    """Returns the options of git that define the drivers."""
    attributes = os.path.join(directory, "attributes")
    with open(attributes, "w") as file:
        for driver, suffixes in DRIVERS.items():
            file.writelines(f"*.{suffix} diff={driver}\n" for suffix in suffixes.split())
    patterns = [f"diff.{driver}.xfuncname={whole_lines(pattern)}" for driver, pattern in PATTERNS.items()]
    return [option for setting in [f"core.attributesFile={attributes}", *patterns] for option in ("-c", setting)]


def lines_of(directory, commit, path):
    """Returns the lines of a file as git counts them."""
    text = git(directory, "cat-file", "blob", f"{commit}:{path}")
    return text.removesuffix("\n").split("\n") if text else []


def hunks(directory, before, after, path):
    """Returns the changes between two commits: the first line and the count of both sides, and the new lines."""
    options = ["-U0", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", "--text", "--histogram"]
    found = []
    for line in git(directory, "diff", *options, before, after, "--", path).split("\n"):
        head = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", line)
        if head:
            numbers = [1 if number is None else int(number) for number in head.groups()]
            found.append((*numbers, []))
        elif found and line.startswith("+"):
            found[-1][4].append(line[1:])
    return found


def starts_of(lines, driver, options, scratch):
    """Returns the numbers of the lines at which git sees the start of a definition.

    git prints the last start before each hunk, so we create a hunk after each line.
    """
    suffix = DRIVERS[driver].split()[0]
    before, after = (os.path.join(scratch, f"{side}.{suffix}") for side in ("before", "after"))
    with open(before, "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    with open(after, "w") as file:
        file.writelines(f"{line}\n\x01{number}\n" for number, line in enumerate(lines, 1))
    command = ["git", *options, "diff", "--no-index", "--text", "--no-color", "--no-ext-diff", "-U0", before, after]
    shown = subprocess.run(command, stdout=subprocess.PIPE).stdout
    found = []
    for number, head in re.findall(rb"^@@ -(\d+),0 \+\S+ @@ ?(.*)$", shown, re.M):
        if head.strip() and lines[int(number) - 1].strip().encode().startswith(head.strip()):
            found.append(int(number))
    return found


def indent_of(line):
    """Returns the number of columns before the first letter."""
    line = line.expandtabs(8)
    return len(line) - len(line.lstrip())


class File:
    """The definitions of a file. Line numbers start with 1."""

    def __init__(self, lines, driver, starts):
        self.lines, self.driver = [None, *lines], driver
        known = set(starts)
        self.definitions = []
        for start in starts:
            first = self.lines[start]
            kind = "space" if SPACE.match(first) else "type" if TYPE.match(first) else "function"
            self.definitions.append(Definition(self.lead_of(start, known), start, self.end_of(start, kind), kind))

    def is_blank(self, number):
        """Returns whether a line is blank or does not exist."""
        return not 0 < number < len(self.lines) or not self.lines[number].strip()

    def lead_of(self, start, known):
        """Returns the first line of the comments and attributes that belong to a start."""
        indent, number = indent_of(self.lines[start]), start
        while not self.is_blank(number - 1):
            line = self.lines[number - 1]
            if indent_of(line) < indent or CLOSES.match(line) and not re.match(r"\s*[)\]]", line):
                break
            if not COMMENT.match(line):
                # A type or a template head on a line of its own belongs to the definition. A statement doesn't.
                if number - 1 in known or re.search(r"[;{},:\\]\s*$", line) or indent_of(line) != indent:
                    break
                if self.driver not in ("cpp", "cxx", "scala"):
                    break
            number -= 1
        return number

    def end_of(self, start, kind):
        """Returns the last line of the definition that starts at a line."""
        first, lines = self.lines[start], self.lines
        indent, last = indent_of(first), start
        ends_by_indent = self.driver in INDENTED
        opened = not ends_by_indent and bool(OPENS.search(first))
        # If only a parameter list is open, it can end inside of a line. Then `;` ends the declaration.
        body = opened and not re.search(r"\($", first.rstrip())
        if self.driver == "ruby":
            # A method with `=` has no `end` (`def a = 1`), nor has a method on one line.
            opened = opened or bool(re.match(r"\s*(?:\w+\s+)*?(?:def|class|module|begin|case|if|unless|while)\b", first))
            opened = opened and not re.search(r"\bend\s*$|\bdef [\w.?!]+(\(.*\))?\s+=\s", first)
        name = re.match(r"\w[\w']*", first)
        for number in range(start + 1, len(lines)):
            line = lines[number]
            if not line.strip():
                continue
            if indent_of(line) > indent:
                # A bracket that a line opens is closed further left.
                if not ends_by_indent and (found := re.search(r"[{(]\s*$|\bdo\s*$", line)):
                    opened, body = True, body or found.group()[0] != "("
                last = number
                continue
            if ends_by_indent:
                same = self.driver == "haskell" and name and re.match(re.escape(name.group()) + r"(?![\w'])", line)
                if same or re.match(r"\s*[)\]}]|\s*where\b", line):
                    last = number
                elif not re.match(r"#|--", line):
                    break
                continue
            if re.search(r"\\\s*$", lines[number - 1]):
                # The continuation of a macro inside of a function.
                last = number
                continue
            after = next((lines[later] for later in range(number + 1, len(lines)) if lines[later].strip()), "")
            if CLOSES.match(line):
                # `) {`, `} else {`, and `): int` with `{` in the next line.
                body_follows = CONTINUES.match(line) and indent_of(line) == indent and re.match(r"\s*\{\s*$", after)
                if OPENS.search(line) and not re.match(r"\s*end\b", line) or body_follows:
                    opened, last = True, number
                    continue
                if re.match(r"\s*\)\s*$", line) and re.match(r"\s*\{\s*$", after):
                    last = number
                    continue
                # Only an open bracket can be closed. Otherwise the line belongs to the enclosing definition.
                return number if opened and indent_of(line) == indent else last
            if opened and (body or not re.search(r";\s*(//.*|/\*.*)?$", lines[last])):
                # Labels, preprocessor conditions, or multi-line strings.
                last = number
                continue
            if indent_of(line) < indent or re.search(r"[;}]\s*$", lines[last]):
                break
            if re.match(r"\s*(?:\{|where\b|:|->|=>|throws\b)", line):
                opened = bool(re.match(r"\s*\{\s*(//.*)?$", line)) or bool(OPENS.search(line))
                last = number
                if re.search(r"\{.*\}\s*$", line):
                    return number
                continue
            break
        return last

    def around(self, number, inserted=None):
        """Returns the definition that encloses a line or, with `inserted` lines after it, the position of the insertion.
        This is the outermost function, or else the innermost type."""
        found = None
        for definition in self.definitions:
            if inserted is None:
                inside = definition.lead <= number <= definition.last
            elif self.driver in INDENTED:
                # The inserted lines determine where the definition ends.
                indents = [indent_of(line) for line in inserted if line.strip()]
                at_end = bool(indents) and indents[0] > indent_of(self.lines[definition.first])
                if self.driver == "haskell" and indents and indents[0] == 0:
                    at_end = self.is_equation(definition, inserted)
                inside = definition.lead <= number < definition.last or number == definition.last and at_end
                if not inside and at_end and definition.last < number:
                    inside = all(self.is_blank(line) for line in range(definition.last + 1, number + 1))
            else:
                inside = definition.lead <= number < definition.last
            if inside and definition.kind == "function":
                return definition
            if inside and definition.kind == "type":
                found = definition
        return found

    def is_equation(self, definition, inserted):
        """Returns whether an inserted line is another equation of a function."""
        name = re.match(r"\w[\w']*", self.lines[definition.first])
        return bool(name) and any(re.match(re.escape(name.group()) + r"(?![\w'])", line) for line in inserted)

    def paragraph(self, number, within=None):
        """Returns the range around a line that is bounded by blank lines and other definitions."""
        first = last = number
        low, high = (within.lead, within.last) if within else (1, len(self.lines) - 1)
        functions = [known for known in self.definitions if known.kind == "function"]
        is_other = lambda line: any(known.lead <= line <= known.last and not known.lead <= number <= known.last for known in functions)
        while first > low and not self.is_blank(first - 1) and not is_other(first - 1) and number - first < NEIGHBORS:
            first -= 1
        while last < high and not self.is_blank(last + 1) and not is_other(last + 1) and last - number < NEIGHBORS:
            last += 1
        return first, last

    def member(self, number, inserted=False):
        """Returns the definition that encloses a line in a type or at the top level, by indentation alone, for definitions
        that git does not know. Returns nothing if it has only one line."""
        within = [known for known in self.definitions if known.kind != "function" and known.first < number < known.last]
        level = 0
        if within:
            outer = within[-1]
            indents = [
                indent_of(self.lines[line])
                for line in range(outer.first + 1, outer.last)
                if not self.is_blank(line) and not re.match(r"\s*[\w ]+:\s*$", self.lines[line])
            ]
            level = min((indent for indent in indents if indent > indent_of(self.lines[outer.first])), default=0)
        start = number
        no_start = re.compile(r"\s*(?:[\[{()}\]]|\w+:\s*$|#|//|/?\*)")
        while start > (within[-1].first + 1 if within else 1) and (
            self.is_blank(start) or indent_of(self.lines[start]) > level or no_start.match(self.lines[start])
        ):
            start -= 1
        if self.is_blank(start) or indent_of(self.lines[start]) != level or IMPORT.match(self.lines[start]):
            return None
        last = self.end_of(start, "function")
        if last == start or not start <= number <= last - inserted:
            return None
        return Definition(self.lead_of(start, set()), start, last, "function")

    def encloses(self, number, inserted=None):
        """Returns the definition that encloses a line or an insertion, by git's starts or by indentation."""
        found = self.around(number, inserted)
        if found is None or found.kind == "type":
            found = self.member(number, inserted is not None) or found
        return found

    def owner(self, number):
        """Returns the top-level line above a line, by indentation."""
        while number > 1 and (indent := indent_of(self.lines[number])):
            above = number - 1
            comment = re.compile(r"\s*(?:--|//|#\s|\{-)")
            while above > 1 and (
                self.is_blank(above) or indent_of(self.lines[above]) >= indent or comment.match(self.lines[above])
            ):
                above -= 1
            if self.is_blank(above) or indent_of(self.lines[above]) >= indent:
                break
            number = above
        return self.lines[number]

    def is_head(self, number, text):
        """Returns whether a change outside of functions affects imports, exports or a copyright notice."""
        written = [line for line in text if line.strip()]
        if written and all(IMPORT.match(line) or COMMENT.match(line) for line in written) and any(map(IMPORT.match, written)):
            return True
        if self.is_blank(number):
            return False
        if re.search(r"\bcopyright\b", self.lines[number], re.I) and COMMENT.match(self.lines[number]):
            return True
        owner = self.owner(number)
        if self.driver == "haskell" and re.match(r"module\b|\{-#", owner):
            return True
        # A line after an import in the same column is not part of it.
        return bool(IMPORT.match(owner)) and (owner is self.lines[number] and not written or owner is not self.lines[number])


def edits_of(file, changes, counts):
    """Returns the lines that a fix removes or changes, and the lines before its insertions, without changes that do not count."""
    edits = set()
    for change in changes:
        if not change.count:
            position = change.first
            definition = file.encloses(position, change.text) if position else None
            if definition is None or definition.kind == "type":
                if not position or file.is_head(position, change.text):
                    counts["imports and the like"] += 1
                    continue
                # An insertion after a definition is a new definition. After a field or a list entry, it is part of the same object.
                before = file.encloses(position)
                if file.is_blank(position) or before and before.kind == "function" or CLOSES.match(file.lines[position]):
                    counts["insertions between definitions"] += 1
                    continue
            while position > 1 and file.is_blank(position):
                position -= 1
            edits.add(position)
            continue
        for number in range(change.first, change.first + change.count):
            if file.is_blank(number):
                continue
            definition = file.encloses(number)
            if (definition is None or definition.kind == "type") and file.is_head(number, [file.lines[number]]):
                counts["imports and the like"] += 1
            else:
                edits.add(number)
    return edits


def gold_of(file, numbers):
    """Returns the ranges of the definitions that enclose lines, with these lines."""
    inside, ranges = collections.defaultdict(list), collections.defaultdict(list)
    for number in sorted(numbers):
        definition = file.encloses(number)
        if definition is None or definition.kind == "type" and definition.last - definition.lead >= MAX_TYPE_LINES:
            ranges[file.paragraph(number, definition)].append(number)
        else:
            inside[definition].append(number)
    for definition, within in inside.items():
        if definition.last - definition.lead < MAX_LINES:
            ranges[(definition.lead, definition.last)] += within
            continue
        for number in within:
            ranges[(max(definition.lead, number - AROUND), min(definition.last, number + AROUND))].append(number)
    return ranges


def mapping(directory, before, revision, path, length):
    """Maps lines of the file before a fix to lines at the revision."""
    known, position, shift = {}, 1, 0
    for first, count, other, other_count, _ in hunks(directory, before, revision, path):
        start = first if count else first + 1
        known.update((number, number + shift) for number in range(position, start))
        position = start + count
        shift = (other + other_count if other_count else other + 1) - position
    known.update((number, number + shift) for number in range(position, length + 1))
    return known


def ranges_of(numbers, lines):
    """Returns the first and last lines of ranges. Merges nearby ranges, and trims blank lines."""
    is_blank = lambda number: not lines[number - 1].strip()
    ranges = []
    for number in sorted(numbers):
        if ranges and number - ranges[-1][1] <= GAP + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    for known in ranges:
        while known[0] <= known[1] and is_blank(known[1]):
            known[1] -= 1
        while known[0] < known[1] and is_blank(known[0]):
            known[0] += 1
    return [known for known in ranges if known[0] <= known[1]]


def lines_of_fix(directory, revision, commit, targets, options, scratch, counts):
    """Returns the gold lines and edits at the revision, and the share of edits that exist there."""
    lines, edits, total, mapped = {}, {}, 0, 0
    for path in filter(is_source, targets):
        old = lines_of(directory, commit + "^1", path)
        driver = driver_of(path)
        changes = [Change(first, count, text) for first, count, _, _, text in hunks(directory, commit + "^1", commit, path)]
        file = File(old, driver, starts_of(old, driver, options, scratch))
        changed = edits_of(file, changes, counts)
        known = mapping(directory, commit + "^1", revision, path, len(old))
        here = sorted({known[number] for number in changed if number in known})
        total += len(changed)
        mapped += sum(number in known for number in changed)
        # The whole definition at the revision. If none of its changed lines exist, the lines that do.
        new = lines_of(directory, revision, path)
        whole = gold_of(File(new, driver, starts_of(new, driver, options, scratch)), here)
        gold = {number for first, last in whole for number in range(first, last + 1)}
        for (first, last), numbers in gold_of(file, changed).items():
            if not any(number in known for number in numbers):
                gold.update(known[number] for number in range(first, last + 1) if number in known)
        gold_ranges = ranges_of(gold, new)
        if gold_ranges:
            lines[path] = gold_ranges
        if here:
            edits[path] = here
    return lines, edits, mapped / total if total else 0.0


def size_of(ranges):
    """Returns the number of lines in the ranges of a task."""
    return sum(last - first + 1 for known in ranges.values() for first, last in known)


def make_sets(options):
    """Converts commits to query sets with lines, and revisions to checkouts."""
    sets, sizes, counts = [], collections.defaultdict(list), collections.Counter()
    with open(options.list) as file:
        known = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        drivers = settings(scratch)
        for entry in known:
            name = entry["name"]
            directory = clone_of(options.clones, name)
            if not os.path.isdir(directory):
                print(f"{name}: skipped because there is no clone", file=sys.stderr)
                continue
            check_out(directory, entry["revision"], os.path.join(options.checkouts, name))
            queries, unmapped, empty = [], 0, 0
            for commit, targets in entry["queries"]:
                result = lines_of_fix(directory, entry["revision"], commit, targets, drivers, scratch, counts)
                lines, edits, share = result
                if not lines:
                    empty += 1
                elif share < SHARE_MAPPED:
                    unmapped += 1
                else:
                    query = query_of(git(directory, "log", "-1", "--format=%B", commit), targets)
                    fields = {"query": query, "relevant": targets, "secondary": [], "category": "lines", "commit": commit}
                    queries.append({**fields, "lines": lines, "edits": edits})
            here = [size_of(query["lines"]) for query in queries]
            sizes[entry["language"]] += here
            print(
                f"{name}: {len(queries)} of {len(entry['queries'])} remain, {unmapped} changed too much, {empty} without gold; "
                f"median gold lines {statistics.median(here) if here else '-'}",
                file=sys.stderr,
            )
            fields_of_entry = {key: entry[key] for key in ("name", "language", "url", "revision")}
            sets.append({**fields_of_entry, "benchmark_root": None, "queries": queries})
    for language, here in [*sorted(sizes.items()), ("all", [size for sizes_of in sizes.values() for size in sizes_of])]:
        print(f"{language}: {len(here)} queries, median gold lines {statistics.median(here) if here else '-'}", file=sys.stderr)
    print("changes: " + ", ".join(f"{count} {reason}" for reason, count in counts.most_common()), file=sys.stderr)
    json.dump(sets, sys.stdout, indent=1)


def numbers_of(ranges):
    """Returns the lines of several ranges, with their paths."""
    return {(path, number) for path, known in ranges.items() for first, last in known for number in range(first, last + 1)}


Measures = collections.namedtuple("Measures", "recall precision f1 shown named edits")


def measures(query, answer):
    """Returns the measures of a task: recall, precision and F1 of lines, the shares of gold files that are shown and named,
    and the share of changed lines that are seen."""
    gold, shown = numbers_of(query["lines"]), numbers_of(answer["shown"])
    both = len(gold & shown)
    recall, precision = both / len(gold), both / len(shown) if shown else 0.0
    f1 = 2 * recall * precision / (recall + precision) if both else 0.0
    paths = list(query["lines"])
    in_gold = {path for path, _ in shown}
    named = set(answer["files"])
    edits = [(path, line) for path, known in query["edits"].items() for line in known]
    seen = sum(any((path, line + off) in shown for off in range(-NEAR, NEAR + 1)) for path, line in edits)
    share = lambda known: sum(path in known for path in paths) / len(paths)
    return Measures(recall, precision, f1, share(in_gold), share(named), seen / len(edits))


def mean_of(values):
    """Returns the mean, or 0 without values."""
    values = list(values)
    return sum(values) / len(values) if values else 0.0


HEAD = re.compile(r"@@ (.+?) (\d+)-(\d+)(?: in .+)?(?:, after .+)?$")
FURTHER = re.compile(r"(.+?):\d+: .* \([a-z ]+\)$")
CHUNK_LINE = re.compile(r" +(\d+): ")


def count_tokens(command, texts):
    """Counts the tokens of each text."""
    process = subprocess.run(command, shell=True, input="\0".join(texts).encode(), stdout=subprocess.PIPE, check=True)
    counts = [int(line.split()[0]) for line in process.stdout.decode().splitlines()]
    if len(counts) != len(texts):
        sys.exit(f"the tokenizer counted {len(counts)} of {len(texts)} texts")
    return counts


def ranked_text(options, root, query):
    """Returns the output of `forage rank` for an agent. For `whole`, only the paths are used."""
    if options.way == "default":
        # The answer that an agent gets without any options.
        command = [options.program, "call", "search_index", json.dumps({"query": query})]
    else:
        arguments = {"code": [f"--code={options.tokens}"], "whole": ["-n", "30"]}.get(options.way, [])
        command = [options.program, "rank", *arguments, "--", query]
    process = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.returncode not in (0, 1):
        sys.exit(f"{root}: {process.stderr.decode('utf-8', 'replace')}")
    return process.stdout.decode("utf-8", "replace")


def shown_as_code(text):
    """Returns the files that an answer with code names, in order, and each line with the location that it shows, if any."""
    files, lines, path, number, last, are_names = [], [], None, 0, 0, False
    for line in text.split("\n"):
        location = None
        if line.startswith("@@ "):
            head = HEAD.match(line)
            path, are_names = head and head.group(1).strip("\""), line.startswith(("@@ files", "@@ further files"))
            if head:
                files.append(path)
                number, last = int(head.group(2)), int(head.group(3))
        elif path and number <= last:
            location = (path, number)
            number += 1
        elif are_names and line:
            further = FURTHER.match(line)
            files.append(further.group(1) if further else line)
        lines.append((line, location))
    return list(dict.fromkeys(files)), lines


def shown_as_lines(root, text):
    """Like `shown_as_code`, for an answer with single lines."""
    files, lines = [], []
    for line in text.split("\n"):
        found = CHUNK_LINE.match(line)
        if not line.startswith(" ") and line and os.path.isfile(os.path.join(root, line)):
            files.append(line)
        lines.append((line, (files[-1], int(found.group(1))) if found and files else None))
    return files, lines


def whole_files(root, files):
    """Yields the lines of files with their locations."""
    for path in files:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            yield path, None
            for number, line in enumerate(file.read().replace("\0", "").split("\n"), 1):
                yield line, (path, number)


GRAPH_FILE = re.compile(r"\*\*`([^`]+)`\*\*")
GRAPH_LINE = re.compile(r"(\d+)\t")
GRAPH_PLACE = re.compile(r"\(([^():\s]+):\d+\)")


def run_peer(command, root, seconds):
    """Returns the output of a program, or an empty text if it fails or takes too long."""
    try:
        process = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    except subprocess.TimeoutExpired:
        return ""
    return process.stdout.decode("utf-8", "replace") if process.returncode == 0 else ""


def codegraph_answer(options, root, query):
    """Returns the files that `codegraph explore` names, and each line with its location."""
    text = run_peer([options.program, "explore", "--", query], root, 300)
    files, lines, path = [], [], None
    for line in text.split("\n"):
        head, number = GRAPH_FILE.match(line), GRAPH_LINE.match(line)
        path = head.group(1) if head else path
        files += [head.group(1)] if head else GRAPH_PLACE.findall(line)
        lines.append((line, (path, int(number.group(1))) if path and number else None))
    return list(dict.fromkeys(files)), lines


def probe_answer(options, root, query):
    """Like `codegraph_answer`, for `probe search`."""
    words = " ".join(re.findall(r"[A-Za-z0-9_]+", query))
    command = [options.program, "search", "--format", "json", "--max-tokens", str(options.tokens), "--", words, "."]
    text = run_peer(command, root, 300)
    files, lines = [], []
    for result in json.loads(text)["results"] if text.strip().startswith("{") else []:
        path = os.path.relpath(os.path.join(root, result["file"]), root)
        files.append(path)
        lines.append((path, None))
        first, last = result["lines"]
        code = result["code"].split("\n")
        # If the middle of a block is left out, we don't know the locations of its lines.
        places = range(first, last + 1) if len(code) == last - first + 1 else []
        lines += itertools.zip_longest(code, [(path, number) for number in places][: len(code)])
    return list(dict.fromkeys(files)), lines


def forage_answer(options, root, query):
    """Like `codegraph_answer`, for `forage rank`."""
    text = ranked_text(options, root, query)
    files, lines = shown_as_code(text) if options.way in ("code", "default") else shown_as_lines(root, text)
    if options.way == "whole":
        lines = list(itertools.islice(whole_files(root, files[:10]), 20_000))
    return files, lines


ANSWERS = {"codegraph": codegraph_answer, "probe": probe_answer}


def ask(options):
    """Runs every query of the sets, and prints the answers."""
    answers = []
    with open(options.sets) as file:
        known = json.load(file)
    for entry in known:
        root = os.path.join(options.checkouts, entry["name"])
        if options.way == "codegraph" and entry["queries"]:
            subprocess.run([options.program, "init", "."], cwd=root, stdout=subprocess.DEVNULL, check=True)
        for query in entry["queries"]:
            files, lines = ANSWERS.get(options.way, forage_answer)(options, root, query["query"])
            # Count each line with its line feed, as in the text.
            counts = count_tokens(options.tokenizer, [line + "\n" for line, _ in lines] or ["\n"])
            shown, tokens = collections.defaultdict(list), 0
            for (_, location), cost in zip(lines, counts):
                if tokens + cost > options.tokens:
                    break
                tokens += cost
                if location:
                    shown[location[0]].append(location[1])
            ranges = {path: [[number, number] for number in numbers] for path, numbers in shown.items()}
            answers.append(
                {"set": entry["name"], "commit": query["commit"], "files": files, "shown": ranges, "tokens": tokens}
            )
        if options.way == "codegraph":
            shutil.rmtree(os.path.join(root, ".codegraph"), ignore_errors=True)
        print(f"{entry['name']}: {len(entry['queries'])}", file=sys.stderr)
    json.dump(answers, sys.stdout)


def read_answers(path, tasks):
    """Reads answers by set and commit."""
    with open(path) as file:
        answers = {(answer["set"], answer["commit"]): answer for answer in json.load(file)}
    unknown = sum(task not in tasks for task in answers)
    if unknown:
        print(f"{path}: {unknown} answers of unknown tasks skipped", file=sys.stderr)
    return {task: answer for task, answer in answers.items() if task in tasks}


def score(options):
    """Prints Markdown tables, and confidence intervals of differences."""
    with open(options.sets) as file:
        tasks = {
            (known["name"], query["commit"]): (known["language"], query)
            for known in json.load(file)
            for query in known["queries"]
        }
    runs = [run.split("=", 1) for run in options.runs]
    answers = [(name, read_answers(path, tasks)) for name, path in runs]
    # If only some programs have an answer to a task, the answers of the others count as empty.
    answered = [task for task in tasks if any(task in known for _, known in answers)]
    if not answered:
        sys.exit("no answer belongs to a task of these sets")
    if len(answered) < len(tasks):
        print(f"{len(tasks) - len(answered)} of {len(tasks)} tasks skipped because they have no answer", file=sys.stderr)
    empty = {"files": [], "shown": {}}
    results = []
    for name, known in answers:
        missing = sum(task not in known for task in answered)
        if missing:
            print(f"{name}: {missing} of {len(answered)} tasks without an answer count as empty answers", file=sys.stderr)
        results.append([measures(tasks[task][1], known.get(task, empty)) for task in answered])
    percent = lambda value: f"{100 * value:.1f}"
    print("| name | tasks | tokens | line recall | precision | F1 | gold files shown | gold files named | edits seen |")
    print("| --- " * 9 + "|")
    for (name, known), values in zip(answers, results):
        means = [percent(mean_of(column)) for column in zip(*values)]
        tokens = mean_of(answer["tokens"] for answer in known.values())
        print(f"| {name} | {len(known)} | {tokens:.0f} | " + " | ".join(means) + " |")
    print("\n| language, line recall | tasks | " + " | ".join(name for name, _ in answers) + " |")
    print("| --- | --- |" + " --- |" * len(answers))
    languages = [tasks[task][0] for task in answered]
    for language in sorted(set(languages)):
        indexes = [index for index, other in enumerate(languages) if other == language]
        cells = [percent(mean_of(values[index].recall for index in indexes)) for values in results]
        print(f"| {language} | {len(indexes)} | " + " | ".join(cells) + " |")
    for (name, _), values in zip(answers[1:], results[1:]):
        print()
        compare(answers[0][0], name, results[0], values)


def compare(first_name, name, first_values, values):
    """Prints the differences to the first answers, with 95 % confidence intervals by bootstrap over tasks."""
    rng, count = random.Random(1), len(values)
    fields = [("line recall", "recall"), ("F1", "f1"), ("edits seen", "edits")]
    all_differences = [
        [100 * (getattr(after, field) - getattr(before, field)) for before, after in zip(first_values, values)]
        for _, field in fields
    ]
    samples = [[] for _ in fields]
    for _ in range(RESAMPLES):
        # Use the same tasks for all three measures.
        sample = rng.choices(range(count), k=count)
        for differences, means in zip(all_differences, samples):
            means.append(sum(map(differences.__getitem__, sample)) / count)
    for (label, _), differences, means in zip(fields, all_differences, samples):
        means.sort()
        low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
        better, worse = (sum(sign * difference > 0 for difference in differences) for sign in (1, -1))
        print(
            f"{name} compared to {first_name}, {label}: {mean_of(differences):+.1f} points, 95 % of samples "
            f"{low:+.1f} to {high:+.1f}; {better} tasks better, {worse} worse"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("sets", help="make query sets with lines, and checkouts")
    command.add_argument("list", help="long_queries.json, or another such list")
    command.add_argument("--clones", required=True)
    command.add_argument("--checkouts", required=True)
    command.set_defaults(run=make_sets)
    command = commands.add_parser("answers", help="run the queries with forage or another program")
    command.add_argument("sets", help="output of `sets`")
    command.add_argument("checkouts")
    command.add_argument("--program", required=True, help="forage, or another one")
    command.add_argument("--tokens", type=int, default=8000)
    command.add_argument("--way", choices=["code", "default", "lines", "whole", *ANSWERS], default="code")
    command.add_argument("--tokenizer", required=True)
    command.set_defaults(run=ask)
    command = commands.add_parser("score", help="print the scores of answers")
    command.add_argument("runs", nargs="+", metavar="NAME=FILE")
    command.add_argument("--sets", required=True, help="output of `sets`")
    command.set_defaults(run=score)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
