#!/usr/bin/env python3
"""Which lines the fixes of `long_queries.json` are about, and how many of them an answer shows.

The gold lines of a fix are the whole definitions that enclose what it changes. No parser of ours has a part in it: where
a definition begins is what `git diff -W` takes for it (git's drivers by language, and patterns here for the languages
that git has none for), where it ends is told by indentation and closing brackets. `-W` itself goes on to the next
beginning, over the comment of what follows, and takes what precedes for what encloses; what it gives is not used as it is.

    lines.py sets  LIST --clones DIR --checkouts DIR    checks the revisions out, prints query sets with lines
    lines.py answers SETS CHECKOUTS --program PROGRAM --tokens N [--way WAY] --tokenizer COMMAND    asks, prints answers
    lines.py score NAME=FILE… --sets SETS               prints what answers amount to

The sets are those of `long_queries.py sets` with two more keys for each query, both by path and in lines of the file as
it is at the revision that is checked out: `lines` has the first and last lines of the gold, `edits` the lines that the
fix removes or changes, and the line before what it inserts. The gold is what encloses an edit at the revision; where no
edit of a definition is there yet, it is those lines of the definition that are. A change of imports counts for nothing,
nor does the insertion of a whole definition: neither is inside of anything that was there.

The ways: `code` is `forage rank --code=N`, `default` what `search_index` answers to the query alone, `lines` is `forage rank`, `whole` are whole files in the order of the ranking;
`codegraph` is `codegraph explore` (npm: @colbymchenry/codegraph), which is given an index of each checkout that is removed
again, and `probe` is `probe search --max-tokens N` (npm: @probelabs/probe), whose query are the words of the question.
The tokenizer reads texts with NUL between them and prints the tokens of each on a line (OpenAI's o200k: `gpt-tokenizer` of
npm); what is beyond N tokens counts as not shown.

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

# A definition that is longer is narrowed to so many lines before and after each change in it.
MOST_LINES, AROUND = 200, 100
# A type without long members is gold as a whole up to so many lines.
WHOLE_TYPE = 60
# Lines before and after a change outside of definitions that are gold at most.
NEIGHBOURS = 20
# Lines between two ranges that are one.
GAP = 2
# Share of the changed lines that must be there at the revision.
SHARE_MAPPED = 0.6
# Lines between a shown line and a changed one that counts as seen.
NEAR = 3
RESAMPLES = 10_000

# Suffixes of git's own drivers, and of those below.
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
# Extended regular expressions of POSIX, by line; what a line with `!` matches is no beginning.
CONTROL = r"!^[ \t]*(if|else|for|while|do|switch|case|catch|return|throw|try|new|await|yield|delete|typeof|defer|guard|repeat)([^A-Za-z0-9_]|$)"
PATTERNS = {
    # git's `cpp` knows what starts a line, and not the members of a class.
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
            # Methods, and what is a function by its value.
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
    # A signature begins a function, its equations follow.
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
# What ends where its lines are no longer indented, and not with a bracket or a word.
INDENTED = {"haskell", "python"}

# What has definitions inside.
TYPE = re.compile(
    r"\s*(?:(?:@[\w.]+(?:\([^)]*\))?|(?:pub|private|protected|package)\s*[(\[][\w\s:.]*[)\]]|template\s*<.*>|unsafe|[a-z]+)\s+)*?"
    r"(?:(?:class|interface|trait|impl|object|extension|protocol|actor|instance|record|defmodule|defimpl|defprotocol)\b(?!\s*[=(:.,;])"
    r"|impl\s*<|(?:struct|enum|union)\b[^()]*(?:\{|$)|type\s+\w+(?:\[.*\])?\s+(?:struct|interface)\b)"
)
# What has a file inside, more or less.
SPACE = re.compile(r"\s*(?:(?:pub|export|declare|inline|template)\s+)*(?:namespace|module|mod|package)\b|extern\s*\"")
IMPORT = re.compile(
    r"\s*(?:#\s*(?:include|import|pragma once)|#\[macro_use\]|(?:pub(?:\([\w\s:]+\))?\s+)?use\s|import\b|from\s+\S+\s+import\b|"
    r"using\s|global using\s|require(?:_relative|_once)?\b|package\s|extern crate\b|alias\s|"
    r"export\s+(?:\*|\{[^}]*\}?)\s*(?:from\b.*)?$|\}\s*from\b)"
)
OPENS = re.compile(r"(?:[\[{(]|\bdo|->|=>)(?:\s*\|[^|]*\|)?\s*(?://.*|#.*|/\*.*)?$")
# A line that is no further indented than the beginning and goes on with it all the same.
GOES_ON = re.compile(
    r"\s*(?:[{(\[]|\)\s*\S|[}\]]\s*(?:[(.]|else\b|catch\b|finally\b|while\b|rescue\b)|(?:else|elsif|elif|rescue|ensure|catch|"
    r"after|where|throws)\b|:|->|=>|&&|\|\||(?:public|private|protected)\s*:|#\s*(?:if|else|elif|endif|define|undef|pragma)|"
    r"\w+:\s*$|//|/\*|\*)"
)
CLOSES = re.compile(r"\s*(?:[)}\]]+|end\b(?!\s*:))")
COMMENT = re.compile(r"\s*(?:#(?!\s*(?:include|define|if|else|endif|undef))|//|/\*|\*|--|\{-|@\w|\[\w)")

Definition = collections.namedtuple("Definition", "lead first last kind")
Change = collections.namedtuple("Change", "first count text")


def driver_of(path):
    """git's driver for a file, or ours."""
    suffix = path.rsplit(".", 1)[-1].lower()
    return next((driver for driver, suffixes in DRIVERS.items() if suffix in suffixes.split()), "cpp")


def whole_lines(pattern):
    """A pattern as git wants it: with tabs as such, and what it shows (the whole line) as the first group."""
    lines = pattern.replace(r"\t", "\t").split("\n")
    return "\n".join(line if line.startswith("!") else f"^({line[1:]})" for line in lines)


def settings(directory):
    """Options of git by which it knows the drivers."""
    attributes = os.path.join(directory, "attributes")
    with open(attributes, "w") as file:
        for driver, suffixes in DRIVERS.items():
            file.writelines(f"*.{suffix} diff={driver}\n" for suffix in suffixes.split())
    patterns = [f"diff.{driver}.xfuncname={whole_lines(pattern)}" for driver, pattern in PATTERNS.items()]
    return [option for setting in [f"core.attributesFile={attributes}", *patterns] for option in ("-c", setting)]


def lines_of(directory, commit, path):
    """The lines of a file as git counts them."""
    text = git(directory, "cat-file", "blob", f"{commit}:{path}")
    return text.removesuffix("\n").split("\n") if text else []


def hunks(directory, before, after, path):
    """What changes from one commit to another: the first line and how many, of both sides, and the new lines."""
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


def beginnings(lines, driver, options, scratch):
    """Numbers of the lines at which a definition begins for git.

    It says of each hunk which beginning is the last before it, so there is a hunk after each line.
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
    """Columns before the first letter."""
    line = line.expandtabs(8)
    return len(line) - len(line.lstrip())


class File:
    """The definitions of a file. Lines are counted from 1."""

    def __init__(self, lines, driver, starts):
        self.lines, self.driver = [None, *lines], driver
        known = set(starts)
        self.definitions = []
        for start in starts:
            first = self.lines[start]
            kind = "space" if SPACE.match(first) else "type" if TYPE.match(first) else "function"
            self.definitions.append(Definition(self.lead_of(start, known), start, self.end_of(start, kind), kind))

    def is_blank(self, number):
        """Whether there is nothing in a line, or no line."""
        return not 0 < number < len(self.lines) or not self.lines[number].strip()

    def lead_of(self, start, known):
        """The first line of comments and the like that belong to a beginning."""
        indent, number = indent_of(self.lines[start]), start
        while not self.is_blank(number - 1):
            line = self.lines[number - 1]
            if indent_of(line) < indent or CLOSES.match(line) and not re.match(r"\s*[)\]]", line):
                break
            if not COMMENT.match(line):
                # A type or a template's head alone in its line is a part of what follows; a statement isn't.
                if number - 1 in known or re.search(r"[;{},:\\]\s*$", line) or indent_of(line) != indent:
                    break
                if self.driver not in ("cpp", "cxx", "scala"):
                    break
            number -= 1
        return number

    def end_of(self, start, kind):
        """The last line of what begins at one."""
        first, lines = self.lines[start], self.lines
        indent, last = indent_of(first), start
        ends_by_indent = self.driver in INDENTED
        opened = not ends_by_indent and bool(OPENS.search(first))
        # A list of parameters that is alone opened may end inside of a line: `;` is the end of such a declaration.
        body = opened and not re.search(r"\($", first.rstrip())
        if self.driver == "ruby":
            # A method with `=` has no end (`def a = 1`), nor one that ends in its line.
            opened = opened or bool(re.match(r"\s*(?:\w+\s+)*?(?:def|class|module|begin|case|if|unless|while)\b", first))
            opened = opened and not re.search(r"\bend\s*$|\bdef [\w.?!]+(\(.*\))?\s+=\s", first)
        name = re.match(r"\w[\w']*", first)
        for number in range(start + 1, len(lines)):
            line = lines[number]
            if not line.strip():
                continue
            if indent_of(line) > indent:
                # What a line has opened is closed further left.
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
                # The rest of a macro inside of a function.
                last = number
                continue
            after = next((lines[later] for later in range(number + 1, len(lines)) if lines[later].strip()), "")
            if CLOSES.match(line):
                # `) {`, `} else {`, and `): int` with `{` in the next line.
                body_follows = GOES_ON.match(line) and indent_of(line) == indent and re.match(r"\s*\{\s*$", after)
                if OPENS.search(line) and not re.match(r"\s*end\b", line) or body_follows:
                    opened, last = True, number
                    continue
                if re.match(r"\s*\)\s*$", line) and re.match(r"\s*\{\s*$", after):
                    last = number
                    continue
                # Only what was opened is closed: else the line belongs to what is around.
                return number if opened and indent_of(line) == indent else last
            if opened and (body or not re.search(r";\s*(//.*|/\*.*)?$", lines[last])):
                # Labels, conditions of a preprocessor, text of several lines.
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
        """What encloses a line or, with lines that are inserted after it, that place: the outermost function, or the
        innermost type that has none."""
        found = None
        for definition in self.definitions:
            if inserted is None:
                inside = definition.lead <= number <= definition.last
            elif self.driver in INDENTED:
                # Where it ends is told by what is inserted.
                indents = [indent_of(line) for line in inserted if line.strip()]
                at_end = bool(indents) and indents[0] > indent_of(self.lines[definition.first])
                if self.driver == "haskell" and indents and indents[0] == 0:
                    at_end = self.clause(definition, inserted)
                inside = definition.lead <= number < definition.last or number == definition.last and at_end
                if not inside and at_end and definition.last < number:
                    inside = all(self.is_blank(between) for between in range(definition.last + 1, number + 1))
            else:
                inside = definition.lead <= number < definition.last
            if inside and definition.kind == "function":
                return definition
            if inside and definition.kind == "type":
                found = definition
        return found

    def clause(self, definition, inserted):
        """Whether a line that is inserted is one more equation of a function."""
        name = re.match(r"\w[\w']*", self.lines[definition.first])
        return bool(name) and any(re.match(re.escape(name.group()) + r"(?![\w'])", line) for line in inserted)

    def paragraph(self, number, within=None):
        """Lines around one without a blank one, and without definitions that it isn't in."""
        first = last = number
        low, high = (within.lead, within.last) if within else (1, len(self.lines) - 1)
        functions = [known for known in self.definitions if known.kind == "function"]
        taken = lambda at: any(known.lead <= at <= known.last and not known.lead <= number <= known.last for known in functions)
        while first > low and not self.is_blank(first - 1) and not taken(first - 1) and number - first < NEIGHBOURS:
            first -= 1
        while last < high and not self.is_blank(last + 1) and not taken(last + 1) and last - number < NEIGHBOURS:
            last += 1
        return first, last

    def member(self, number, inserted=False):
        """What encloses a line in a type, or in nothing, by indentation alone: what git knows no beginning of. Nothing
        when that is a line that stands for itself."""
        within = [known for known in self.definitions if known.kind != "function" and known.first < number < known.last]
        level = 0
        if within:
            outer = within[-1]
            indents = [
                indent_of(self.lines[at])
                for at in range(outer.first + 1, outer.last)
                if not self.is_blank(at) and not re.match(r"\s*[\w ]+:\s*$", self.lines[at])
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
        """What encloses a line or a place, as git has it or by indentation."""
        found = self.around(number, inserted)
        if found is None or found.kind == "type":
            found = self.member(number, inserted is not None) or found
        return found

    def owner(self, number):
        """The line that one is under, by indentation."""
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
        """Whether a change outside of functions is one of imports, exports or a copyright."""
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
        # What follows an import in its own column is no part of it.
        return bool(IMPORT.match(owner)) and (owner is self.lines[number] and not written or owner is not self.lines[number])


def edits_of(file, changes, counts):
    """Lines that a fix removes or changes, and the line before what it inserts, without what counts for nothing."""
    edits = set()
    for change in changes:
        if not change.count:
            at = change.first
            definition = file.encloses(at, change.text) if at else None
            if definition is None or definition.kind == "type":
                if not at or file.is_head(at, change.text):
                    counts["imports and the like"] += 1
                    continue
                # After a definition comes another. After a field or an entry of a list comes a part of the same thing.
                before = file.encloses(at)
                if file.is_blank(at) or before and before.kind == "function" or CLOSES.match(file.lines[at]):
                    counts["insertions between definitions"] += 1
                    continue
            while at > 1 and file.is_blank(at):
                at -= 1
            edits.add(at)
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
    """Ranges of what encloses lines, and for each which of the lines."""
    inside, ranges = collections.defaultdict(list), collections.defaultdict(list)
    for number in sorted(numbers):
        definition = file.encloses(number)
        if definition is None or definition.kind == "type" and definition.last - definition.lead >= WHOLE_TYPE:
            ranges[file.paragraph(number, definition)].append(number)
        else:
            inside[definition].append(number)
    for definition, within in inside.items():
        if definition.last - definition.lead < MOST_LINES:
            ranges[(definition.lead, definition.last)] += within
            continue
        for number in within:
            ranges[(max(definition.lead, number - AROUND), min(definition.last, number + AROUND))].append(number)
    return ranges


def mapping(directory, before, revision, path, length):
    """For lines of the file before a fix those of the revision."""
    known, at, shift = {}, 1, 0
    for first, count, other, other_count, _ in hunks(directory, before, revision, path):
        start = first if count else first + 1
        known.update((number, number + shift) for number in range(at, start))
        at = start + count
        shift = (other + other_count if other_count else other + 1) - at
    known.update((number, number + shift) for number in range(at, length + 1))
    return known


def ranges_of(numbers, lines):
    """First and last lines of runs, those that are near each other as one, without blank lines at the ends."""
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
    """Gold lines and edits at the revision, and the share of the edits that are there."""
    lines, edits, total, mapped = {}, {}, 0, 0
    for path in filter(is_source, targets):
        old = lines_of(directory, commit + "^1", path)
        driver = driver_of(path)
        changes = [Change(first, count, text) for first, count, _, _, text in hunks(directory, commit + "^1", commit, path)]
        file = File(old, driver, beginnings(old, driver, options, scratch))
        changed = edits_of(file, changes, counts)
        known = mapping(directory, commit + "^1", revision, path, len(old))
        here = sorted({known[number] for number in changed if number in known})
        total += len(changed)
        mapped += sum(number in known for number in changed)
        # The whole definition as it is at the revision. Where no changed line of one is there, what is there of it.
        new = lines_of(directory, revision, path)
        whole = gold_of(File(new, driver, beginnings(new, driver, options, scratch)), here)
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
    """How many lines there are in the ranges of a task."""
    return sum(last - first + 1 for known in ranges.values() for first, last in known)


def make_sets(options):
    """Turns commits into query sets with lines, and revisions into checkouts."""
    sets, sizes, counts = [], collections.defaultdict(list), collections.Counter()
    with open(options.list) as file:
        known = json.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        drivers = settings(scratch)
        for entry in known:
            name = entry["name"]
            directory = clone_of(options.clones, name)
            if not os.path.isdir(directory):
                print(f"{name}: no clone, left out", file=sys.stderr)
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
                    described = {"query": query, "relevant": targets, "secondary": [], "category": "lines", "commit": commit}
                    queries.append({**described, "lines": lines, "edits": edits})
            here = [size_of(query["lines"]) for query in queries]
            sizes[entry["language"]] += here
            print(
                f"{name}: {len(queries)} of {len(entry['queries'])} remain, {unmapped} changed too much, {empty} without gold; "
                f"median gold lines {statistics.median(here) if here else '-'}",
                file=sys.stderr,
            )
            kept = {key: entry[key] for key in ("name", "language", "url", "revision")}
            sets.append({**kept, "benchmark_root": None, "queries": queries})
    for language, here in [*sorted(sizes.items()), ("all", [size for sizes_of in sizes.values() for size in sizes_of])]:
        print(f"{language}: {len(here)} queries, median gold lines {statistics.median(here) if here else '-'}", file=sys.stderr)
    print("changes: " + ", ".join(f"{count} {what}" for what, count in counts.most_common()), file=sys.stderr)
    json.dump(sets, sys.stdout, indent=1)


def numbers_of(ranges):
    """The lines of several ranges, with their paths."""
    return {(path, number) for path, known in ranges.items() for first, last in known for number in range(first, last + 1)}


Measures = collections.namedtuple("Measures", "recall precision f1 shown named edits")


def measures(query, answer):
    """Of one task: recall, precision and F1 of lines, shares of the gold's files that are shown and that are named, and
    of the changed lines that are seen."""
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
    """The mean, 0 of nothing."""
    values = list(values)
    return sum(values) / len(values) if values else 0.0


HEAD = re.compile(r"@@ (.+?) (\d+)-(\d+)(?: in .+)?(?:, after .+)?$")
FURTHER = re.compile(r"(.+?):\d+: .* \([a-z ]+\)$")
CHUNK_LINE = re.compile(r" +(\d+): ")


def count_tokens(command, texts):
    """Tokens of each text."""
    done = subprocess.run(command, shell=True, input="\0".join(texts).encode(), stdout=subprocess.PIPE, check=True)
    counted = [int(line.split()[0]) for line in done.stdout.decode().splitlines()]
    if len(counted) != len(texts):
        sys.exit(f"the tokenizer counted {len(counted)} of {len(texts)} texts")
    return counted


def ranked_text(options, root, query):
    """What `forage rank` prints for an agent, with paths alone for `whole`."""
    if options.way == "default":
        # What an agent gets that asks for nothing but an answer.
        command = [options.program, "call", "search_index", json.dumps({"query": query})]
    else:
        arguments = {"code": [f"--code={options.tokens}"], "whole": ["-n", "30"]}.get(options.way, [])
        command = [options.program, "rank", *arguments, "--", query]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode not in (0, 1):
        sys.exit(f"{root}: {done.stderr.decode('utf-8', 'replace')}")
    return done.stdout.decode("utf-8", "replace")


def shown_as_code(text):
    """Files that an answer with code names in their order, and for each of its lines the place that it shows, or nothing."""
    files, lines, path, number, last, are_names = [], [], None, 0, 0, False
    for line in text.split("\n"):
        place = None
        if line.startswith("@@ "):
            head = HEAD.match(line)
            path, are_names = head and head.group(1).strip("\""), line.startswith(("@@ files", "@@ further files"))
            if head:
                files.append(path)
                number, last = int(head.group(2)), int(head.group(3))
        elif path and number <= last:
            place = (path, number)
            number += 1
        elif are_names and line:
            further = FURTHER.match(line)
            files.append(further.group(1) if further else line)
        lines.append((line, place))
    return list(dict.fromkeys(files)), lines


def shown_as_lines(root, text):
    """The same of an answer with single lines."""
    files, lines = [], []
    for line in text.split("\n"):
        found = CHUNK_LINE.match(line)
        if not line.startswith(" ") and line and os.path.isfile(os.path.join(root, line)):
            files.append(line)
        lines.append((line, (files[-1], int(found.group(1))) if found and files else None))
    return files, lines


def whole_files(root, files):
    """The lines of files, and what each shows."""
    for path in files:
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            yield path, None
            for number, line in enumerate(file.read().replace("\0", "").split("\n"), 1):
                yield line, (path, number)


GRAPH_FILE = re.compile(r"\*\*`([^`]+)`\*\*")
GRAPH_LINE = re.compile(r"(\d+)\t")
GRAPH_PLACE = re.compile(r"\(([^():\s]+):\d+\)")


def run_peer(command, root, seconds):
    """What a program prints, nothing where it fails or takes too long."""
    try:
        done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=seconds)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def codegraph_answer(options, root, query):
    """Files that `codegraph explore` names, and the place that each of its lines shows."""
    text = run_peer([options.program, "explore", "--", query], root, 300)
    files, lines, path = [], [], None
    for line in text.split("\n"):
        head, number = GRAPH_FILE.match(line), GRAPH_LINE.match(line)
        path = head.group(1) if head else path
        files += [head.group(1)] if head else GRAPH_PLACE.findall(line)
        lines.append((line, (path, int(number.group(1))) if path and number else None))
    return list(dict.fromkeys(files)), lines


def probe_answer(options, root, query):
    """The same of `probe search`."""
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
        # What it leaves out in the middle of a block has no place.
        places = range(first, last + 1) if len(code) == last - first + 1 else []
        lines += itertools.zip_longest(code, [(path, number) for number in places][: len(code)])
    return list(dict.fromkeys(files)), lines


def forage_answer(options, root, query):
    """The same of `forage rank`."""
    text = ranked_text(options, root, query)
    files, lines = shown_as_code(text) if options.way in ("code", "default") else shown_as_lines(root, text)
    if options.way == "whole":
        lines = list(itertools.islice(whole_files(root, files[:10]), 20_000))
    return files, lines


ANSWERS = {"codegraph": codegraph_answer, "probe": probe_answer}


def ask(options):
    """Asks every question of some sets."""
    answers = []
    with open(options.sets) as file:
        known = json.load(file)
    for entry in known:
        root = os.path.join(options.checkouts, entry["name"])
        if options.way == "codegraph" and entry["queries"]:
            subprocess.run([options.program, "init", "."], cwd=root, stdout=subprocess.DEVNULL, check=True)
        for query in entry["queries"]:
            files, lines = ANSWERS.get(options.way, forage_answer)(options, root, query["query"])
            # With its line feed, as it is in the text.
            counted = count_tokens(options.tokenizer, [line + "\n" for line, _ in lines] or ["\n"])
            shown, tokens = collections.defaultdict(list), 0
            for (_, place), cost in zip(lines, counted):
                if tokens + cost > options.tokens:
                    break
                tokens += cost
                if place:
                    shown[place[0]].append(place[1])
            ranges = {path: [[number, number] for number in numbers] for path, numbers in shown.items()}
            answers.append(
                {"set": entry["name"], "commit": query["commit"], "files": files, "shown": ranges, "tokens": tokens}
            )
        if options.way == "codegraph":
            shutil.rmtree(os.path.join(root, ".codegraph"), ignore_errors=True)
        print(f"{entry['name']}: {len(entry['queries'])}", file=sys.stderr)
    json.dump(answers, sys.stdout)


def read_answers(path, tasks):
    """Answers by set and commit."""
    with open(path) as file:
        answers = {(answer["set"], answer["commit"]): answer for answer in json.load(file)}
    strange = sum(task not in tasks for task in answers)
    if strange:
        print(f"{path}: {strange} answers to no task, left out", file=sys.stderr)
    return {task: answer for task, answer in answers.items() if task in tasks}


def score(options):
    """Prints tables of Markdown, and how sure differences are."""
    with open(options.sets) as file:
        tasks = {
            (known["name"], query["commit"]): (known["language"], query)
            for known in json.load(file)
            for query in known["queries"]
        }
    runs = [run.split("=", 1) for run in options.runs]
    answers = [(name, read_answers(path, tasks)) for name, path in runs]
    # What one was asked and another wasn't, or failed at, counts: that one shows nothing.
    asked = [task for task in tasks if any(task in known for _, known in answers)]
    if not asked:
        sys.exit("no answer is to a task of these sets")
    if len(asked) < len(tasks):
        print(f"{len(tasks) - len(asked)} of {len(tasks)} tasks have no answer at all, left out", file=sys.stderr)
    nothing = {"files": [], "shown": {}}
    results = []
    for name, known in answers:
        missing = sum(task not in known for task in asked)
        if missing:
            print(f"{name}: {missing} of {len(asked)} tasks without an answer, counted as nothing shown", file=sys.stderr)
        results.append([measures(tasks[task][1], known.get(task, nothing)) for task in asked])
    percent = lambda value: f"{100 * value:.1f}"
    print("| name | tasks | tokens | line recall | precision | F1 | gold files shown | gold files named | edits seen |")
    print("| --- " * 9 + "|")
    for (name, known), values in zip(answers, results):
        means = [percent(mean_of(column)) for column in zip(*values)]
        tokens = mean_of(answer["tokens"] for answer in known.values())
        print(f"| {name} | {len(known)} | {tokens:.0f} | " + " | ".join(means) + " |")
    print("\n| language, line recall | tasks | " + " | ".join(name for name, _ in answers) + " |")
    print("| --- | --- |" + " --- |" * len(answers))
    languages = [tasks[task][0] for task in asked]
    for language in sorted(set(languages)):
        at = [nth for nth, other in enumerate(languages) if other == language]
        cells = [percent(mean_of(values[nth].recall for nth in at)) for values in results]
        print(f"| {language} | {len(at)} | " + " | ".join(cells) + " |")
    for (name, _), values in zip(answers[1:], results[1:]):
        print()
        compare(answers[0][0], name, results[0], values)


def compare(first_name, name, first_values, values):
    """Prints the differences of one to the first, and where 95 % of samples of tasks have them."""
    chance, count = random.Random(1), len(values)
    fields = [("line recall", "recall"), ("F1", "f1"), ("edits seen", "edits")]
    all_differences = [
        [100 * (getattr(after, field) - getattr(before, field)) for before, after in zip(first_values, values)]
        for _, field in fields
    ]
    samples = [[] for _ in fields]
    for _ in range(RESAMPLES):
        # The same tasks for all three.
        drawn = chance.choices(range(count), k=count)
        for differences, means in zip(all_differences, samples):
            means.append(sum(map(differences.__getitem__, drawn)) / count)
    for (label, _), differences, means in zip(fields, all_differences, samples):
        means.sort()
        low, high = means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES) - 1]
        better, worse = (sum(sign * difference > 0 for difference in differences) for sign in (1, -1))
        print(
            f"{name} beside {first_name}, {label}: {mean_of(differences):+.1f} points, 95 % of samples "
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
    command = commands.add_parser("answers", help="ask forage, or another program")
    command.add_argument("sets", help="what `sets` printed")
    command.add_argument("checkouts")
    command.add_argument("--program", required=True, help="forage, or another one")
    command.add_argument("--tokens", type=int, default=8000)
    command.add_argument("--way", choices=["code", "default", "lines", "whole", *ANSWERS], default="code")
    command.add_argument("--tokenizer", required=True)
    command.set_defaults(run=ask)
    command = commands.add_parser("score", help="what answers amount to")
    command.add_argument("runs", nargs="+", metavar="NAME=FILE")
    command.add_argument("--sets", required=True, help="what `sets` printed")
    command.set_defaults(run=score)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
