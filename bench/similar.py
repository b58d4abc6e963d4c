#!/usr/bin/env python3
"""How often `forage rank --like` finds the copy of a definition among its first five answers.

    similar.py make SOURCES --out SET [--each 60] [--seed 1]     copies definitions into other files of SOURCES/LANGUAGE
    similar.py run SET --forage FORAGE [--by rank] [--show 3]    asks for each, and prints the recall by kind and language

SOURCES has a directory per language (python, javascript, rust, go) with unpacked packages. `make` writes three trees per
language, in each the same sources and one kind of copies, each of another file:

- moved: unchanged, apart from its indentation;
- renamed: with new names for its parameters, its local variables and itself;
- edited: a quarter of its simple statements, at least two, deleted, preceded by a statement of another function, or replaced
  by one; and with a new name for itself.

A definition is a function of 8 to 80 lines with at least six simple statements that occurs once, in a file that is not
generated. The query is the original,
by its lines. An answer is right if it overlaps at least half of the copy, and the copy makes up at least half of it or is
alone in it. `--by rank` asks `forage rank` with the text of the definition instead, as was possible before; there a file is
right, and that of the original does not count. The parsers here are the packages `tree-sitter`, `tree-sitter-python`,
`-javascript`, `-typescript`, `-rust` and `-go`, with no part of Forage. Python 3.9 or newer.
"""

import argparse
import collections
import importlib
import json
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

KINDS = ["moved", "renamed", "edited"]
SUFFIXES = {"python": [".py"], "javascript": [".js", ".ts", ".mjs"], "rust": [".rs"], "go": [".go"]}
# Tests and generated code are copies of each other.
SKIPPED = re.compile(
    r"(^|/)(dist|tests?|testing|testdata|vendor|node_modules|examples?|benches|docs?|typings|locale)/|[._](pb|min|test|spec|gen)\.|_test\.go$|/test_"
)
FUNCTIONS = {
    "python": {"function_definition"},
    "javascript": {"function_declaration", "method_definition"},
    "rust": {"function_item"},
    "go": {"function_declaration", "method_declaration"},
}
STATEMENTS = {
    "expression_statement", "return_statement", "assert_statement", "raise_statement", "delete_statement",
    "lexical_declaration", "variable_declaration", "throw_statement",
    "let_declaration",
    "short_var_declaration", "assignment_statement", "inc_statement", "dec_statement", "var_declaration", "defer_statement",
}  # fmt: skip
# Fields and nodes whose names are local variables.
DECLARED = {
    "python": [("assignment", "left"), ("for_statement", "left"), ("for_in_clause", "left"), ("named_expression", "name"),
               ("as_pattern", "alias"), ("augmented_assignment", "left"), ("parameters", None), ("lambda_parameters", None)],
    "javascript": [("variable_declarator", "name"), ("formal_parameters", None), ("arrow_function", "parameter"),
                   ("for_in_statement", "left"), ("catch_clause", "parameter")],
    "rust": [("let_declaration", "pattern"), ("parameter", "pattern"), ("closure_parameters", None),
             ("for_expression", "pattern"), ("match_pattern", None), ("let_condition", "pattern")],
    "go": [("short_var_declaration", "left"), ("parameter_declaration", "name"), ("var_spec", "name"), ("range_clause", "left")],
}  # fmt: skip
# Nodes in a declaration that are not names of variables.
NO_VARIABLES = {
    "type", "attribute", "subscript", "member_expression", "default_value", "type_annotation", "call", "call_expression",
    "selector_expression", "index_expression", "scoped_identifier", "tuple_struct_pattern_type", "field_expression",
}  # fmt: skip
WORDS = (
    "amber basin cedar delta ember fjord grove harbor inlet jasper kelp lagoon meadow nectar orchid pebble quartz ripple "
    "saddle thicket umbra valley willow yarrow zephyr anchor beacon canyon drift estuary fathom glacier hollow island juniper"
).split()


def parser_of(language, path):
    from tree_sitter import Language, Parser

    if path.suffix == ".ts":
        return Parser(Language(importlib.import_module("tree_sitter_typescript").language_typescript()))
    return Parser(Language(importlib.import_module(f"tree_sitter_{language}").language()))


def walk(node):
    yield node
    for child in node.children:
        yield from walk(child)


def text_of(node):
    return node.text.decode(errors="replace")


class Function:
    """A function in a file, with its own syntax tree."""

    def __init__(self, language, path, source, node):
        self.language, self.path = language, path
        self.first, self.last = node.start_point[0] + 1, node.end_point[0] + 1
        lines = source.split("\n")[self.first - 1 : self.last]
        indent = len(lines[0]) - len(lines[0].lstrip())
        self.text = "\n".join(line[indent:] if not line[:indent].strip() else line.lstrip() for line in lines)
        self.is_method = node.type == "method_definition" or (
            language == "rust" and any(child.type == "self_parameter" for child in node.child_by_field_name("parameters").children)
        )
        self.name = text_of(node.child_by_field_name("name"))
        self.statements = sum(map(is_simple, walk(node)))

    def tree(self):
        """Parses the text alone, as it is copied. Returns its root, and the text around it."""
        before, after = ("class Copied {\n", "\n}") if self.is_method and self.language == "javascript" else ("", "")
        if self.is_method and self.language == "rust":
            before, after = "impl Copied {\n", "\n}"
        source = before + self.text + after
        return parser_of(self.language, self.path).parse(source.encode()).root_node, source

    def moved(self, number):
        return self.wrapped(self.text, number)

    def wrapped(self, text, number):
        if self.is_method:
            head = {"javascript": "class Copied%d {", "rust": "impl Copied%d {"}[self.language] % number
            return head + "\n" + "\n".join("    " + line if line else line for line in text.split("\n")) + "\n}"
        return text

    def renamed(self, number, choose):
        root, source = self.tree()
        names = {self.name}
        for node in walk(root):
            for kind, field in DECLARED[self.language]:
                if node.type == kind:
                    for part in node.children_by_field_name(field) if field else [node]:
                        names |= set(declared(part))
        shorthand = {text_of(node) for node in walk(root) if node.type.startswith("shorthand_property")}
        names -= shorthand | {"self", "cls", "this", "_", "constructor", "super", "None", "Some", "Ok", "Err"}
        fresh = {name: self.fresh(name, choose) for name in sorted(names)}
        edits = []
        for node in walk(root):
            if node.type in ("identifier", "shorthand_field_identifier", "field_identifier", "property_identifier"):
                name = text_of(node)
                is_own_name = name == self.name and node.parent.child_by_field_name("name") == node
                if name in fresh and (is_own_name or is_variable(node)):
                    edits.append((node.start_byte, node.end_byte, fresh[name]))
        text = edited_bytes(source, edits)
        if self.language == "rust":
            text = re.sub(r"\{(\w+)([:}])", lambda found: "{" + fresh.get(found[1], found[1]) + found[2], text)
        return self.wrapped(self.inner(text, source), number)

    def fresh(self, name, choose):
        words = choose.sample(WORDS, 2)
        if "_" in name or self.language in ("python", "rust"):
            return "_".join(words)
        return words[0] + words[1].capitalize() if name[0].islower() else words[0].capitalize() + words[1].capitalize()

    def edited(self, number, choose, others):
        root, source = self.tree()
        simple = [node for node in walk(root) if is_simple(node)]
        chosen = choose.sample(simple, min(len(simple), max(2, len(simple) // 4)))
        edits = []
        for node in chosen:
            indent = " " * node.start_point[1]
            foreign = choose.choice(others).replace("\n", "\n" + indent)
            way = choose.choice(["delete", "insert", "replace"])
            if way == "insert":
                edits.append((node.start_byte, node.start_byte, foreign + "\n" + indent))
            elif way == "replace" or self.language == "python":
                edits.append((node.start_byte, node.end_byte, foreign if way == "replace" else "pass"))
            else:
                edits.append((node.start_byte, node.end_byte, ""))
        own = next(node for node in walk(root) if node.type in FUNCTIONS[self.language]).child_by_field_name("name")
        edits.append((own.start_byte, own.end_byte, self.fresh(self.name, choose)))
        text = "\n".join(line for line in self.inner(edited_bytes(source, edits), source).split("\n") if line.strip() not in ("", ";"))
        return self.wrapped(text, number)

    def inner(self, text, source):
        return "\n".join(text.split("\n")[1:-1]) if source != self.text else text


def is_simple(node):
    """Returns true for a statement without other ones in it."""
    return node.type in STATEMENTS and not any(child.type in STATEMENTS for child in walk(node) if child != node)


def declared(node):
    if node.type in NO_VARIABLES:
        return
    if node.type == "identifier":
        name = text_of(node)
        if name[0].islower() or name[0] == "_":
            yield name
    for at, child in enumerate(node.children):
        if node.field_name_for_child(at) not in ("type", "value", "right", "condition"):
            yield from declared(child)


def is_variable(node):
    """Returns true if an identifier is not a member or the name of an argument."""
    parent = node.parent
    for kind, field in [("attribute", "attribute"), ("keyword_argument", "name"), ("member_expression", "property"),
                        ("selector_expression", "field"), ("field_expression", "field")]:  # fmt: skip
        if parent.type == kind and parent.child_by_field_name(field) == node:
            return False
    return node.type == "identifier"


def edited_bytes(source, edits):
    data = source.encode()
    for start, end, text in sorted(set(edits), reverse=True):
        data = data[:start] + text.encode() + data[end:]
    return data.decode(errors="replace")


def functions_of(language, tree):
    """Functions to copy, and simple statements to insert."""
    functions, statements = [], []
    for path in sorted(tree.rglob("*")):
        if path.suffix not in SUFFIXES[language] or not path.is_file():
            continue
        source = path.read_text(errors="replace")
        is_generated = re.search("generated|DO NOT EDIT", source[:2_000])
        if is_generated or len(source) > 200_000 or "\r" in source or "\t" in source and language == "python":
            continue
        root = parser_of(language, path).parse(source.encode()).root_node
        for node in walk(root):
            if node.type in FUNCTIONS[language] and not node.has_error and 8 <= node.end_point[0] - node.start_point[0] + 1 <= 80:
                function = Function(language, path, source, node)
                if function.statements >= 6:
                    functions.append(function)
            if is_simple(node) and len(text_of(node)) < 120 and text_of(node)[:1] not in "'\"" and len(statements) < 5_000:
                statements.append(text_of(node))
    texts = collections.Counter(function.text for function in functions)
    return [function for function in functions if texts[function.text] == 1], statements


def make(arguments):
    gold = []
    for language in SUFFIXES:
        choose = random.Random(arguments.seed)
        trees = {kind: arguments.out / kind / language for kind in KINDS}
        sources = arguments.sources / language
        for path in sorted(sources.rglob("*")):
            relative = path.relative_to(sources)
            if path.is_file() and path.suffix in SUFFIXES[language] and not SKIPPED.search(relative.as_posix()):
                for tree in trees.values():
                    (tree / relative).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(path, tree / relative)
        tree = trees["moved"]
        functions, statements = functions_of(language, tree)
        files = sorted({function.path for function in functions})
        chosen = choose.sample(functions, arguments.each)
        print(f"{language}: {len(functions)} functions in {len(files)} files", file=sys.stderr)
        for number, function in enumerate(chosen):
            into = choose.choice([path for path in files if path != function.path and path.suffix == function.path.suffix])
            copies = {
                "moved": function.moved(number),
                "renamed": function.renamed(number, choose),
                "edited": function.edited(number, choose, statements),
            }
            for kind, copy in copies.items():
                target = trees[kind] / into.relative_to(tree)
                before = target.read_text(errors="replace").rstrip("\n") + "\n\n\n"
                target.write_text(before + copy + "\n")
                first = before.count("\n") + 1
                gold.append({
                    "kind": kind, "language": language,
                    "path": function.path.relative_to(tree).as_posix(), "lines": [function.first, function.last],
                    "copy": into.relative_to(tree).as_posix(), "at": [first, first + copy.count("\n")],
                })  # fmt: skip
    (arguments.out / "gold.json").write_text(json.dumps(gold, indent=1))


def is_right(item, path, first, last):
    start, end = item["at"]
    common = min(last, end) - max(first, start) + 1
    return path == item["copy"] and common >= (end - start + 1) / 2 and common >= (last - first + 1) / 2


def run(arguments):
    gold = json.loads((arguments.set / "gold.json").read_text())
    ranks, seconds, missed = collections.defaultdict(list), [], collections.Counter()
    for item in gold:
        tree = arguments.set / item["kind"] / item["language"]
        first, last = item["lines"]
        command = [arguments.forage, "rank", "--json", "--root", str(tree)]
        text = None
        if arguments.by == "rank":
            text = "\n".join((tree / item["path"]).read_text(errors="replace").split("\n")[first - 1 : last])
            command += ["-m", "6", "-"]
        else:
            command += ["-m", "5", "--like", f"{item['path']}:{first}-{last}"]
        began = time.monotonic()
        done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=tree)
        seconds.append(time.monotonic() - began)
        if done.returncode > 1:
            sys.exit(f"{command}: {done.stderr}{done.stdout}")
        records = json.loads(done.stdout)
        if arguments.by == "rank":
            found = [file["path"] == item["copy"] for file in records["files"] if file["path"] != item["path"]]
        else:
            similar = records.get("similar", [])
            found = [is_right(item, one["path"], one["start_line"], one["end_line"]) for one in similar]
        rank = found[:5].index(True) + 1 if True in found[:5] else None
        ranks[item["kind"], item["language"]].append(rank)
        if rank is None and missed[item["kind"]] < arguments.show:
            missed[item["kind"]] += 1
            print(f"missed ({item['kind']}): {tree}/{item['path']}:{first} in {item['copy']}:{item['at'][0]}", file=sys.stderr)
    print("| kind | language | definitions | first | among five |\n|---|---|---|---|---|")
    for kind in KINDS:
        for language in [*SUFFIXES, "all"]:
            of = [rank for (k, l), all in ranks.items() if k == kind and language in (l, "all") for rank in all]
            if of:
                share = lambda wanted: f"{100 * sum(map(wanted, of)) / len(of):.1f} %"  # noqa: E731
                print(f"| {kind} | {language} | {len(of)} | {share(lambda r: r == 1)} | {share(lambda r: r is not None)} |")
    print(f"\nSeconds per call: median {statistics.median(seconds):.2f}, maximum {max(seconds):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("make")
    command.add_argument("sources", type=Path)
    command.add_argument("--out", type=Path, required=True)
    command.add_argument("--each", type=int, default=60)
    command.add_argument("--seed", type=int, default=1)
    command.set_defaults(run=make)
    command = commands.add_parser("run")
    command.add_argument("set", type=Path)
    command.add_argument("--forage", required=True)
    command.add_argument("--by", choices=["like", "rank"], default="like")
    command.add_argument("--show", type=int, default=0)
    command.set_defaults(run=run)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
