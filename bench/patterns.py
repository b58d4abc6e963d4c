#!/usr/bin/env python3
"""Compares code patterns of `forage grep --ast` with ast-grep, in lines found and in time.

    patterns.py --forage FORAGE --ast-grep AST_GREP --tree TREE --language rust [--index] [--runs 3]
                [--pattern PATTERN]...

The patterns are those of the language in PATTERNS, or of `--pattern`. Results are equal if they cover the same lines of the
same files. Both programs skip ignored and hidden files. Times are median ratios of the wall time of the whole program, in
pairs. With `--index`, Forage uses its trigram index, which is built before the first run. Python 3.9 or newer, no packages.
"""

import argparse
import json
import statistics
import subprocess
import time
from pathlib import Path

PATTERNS = {
    "c": [
        "malloc($A)", "free($A)", "sizeof($A)", "memcpy($A, $B, $C)", "if ($A == NULL) $B", "return $A;",
        "$A->$B", "for ($A; $B; $C) $D", "strlen($A)", "$A = $B;", "while ($A) $B", "assert($A)",
        "printf($$$)", "if ($A) return $B;", "goto $A;", "$A[$B] = $C", "!$A", "$A & $B",
    ],
    "cpp": [
        "std::move($A)", "return $A;", "$A.size()", "$A->$B($$$)", "throw $A($B)", "if ($A) $B", "new $A($$$)",
        "delete $A;", "$A.push_back($B)", "static_cast<$T>($A)", "$A == $B", "for (auto $A : $B) $C",
        "$A.begin()", "assert($A)", "std::forward<$T>($A)", "$A::$B($$$)", "nullptr",
    ],
    "csharp": [
        "$A.ToString()", "throw new $A($$$)", "return $A;", "await $A", "if ($A == null) $B", "new $A()", "nameof($A)",
        "$A.Add($B)", "typeof($A)", "$A ?? $B", "foreach (var $A in $B) $C", "$A.Equals($B)", "is null",
        "$A.Length", "lock ($A) $B", "string.IsNullOrEmpty($A)", "$A = $B;",
    ],
    "go": [
        "errors.New($A)", "fmt.Errorf($$$)", "if err != nil { $$$ }", "return $A, nil", "defer $A()", "go $A($$$)",
        "append($A, $B)", "make($A, $B)", "len($A)", "$A := $B", "for $A := range $B { $$$ }", "$A.Lock()",
        "func $A() { $$$ }", "panic($A)", "strings.Split($A, $B)", "$A.Close()", "nil",
    ],
    "java": [
        "new $A()", "return $A;", "throw new $A($$$);", "$A.equals($B)", "if ($A == null) $B", "$A.size()",
        "System.out.println($A)", "$A.get($B)", "synchronized ($A) { $$$ }", "@Override", "$A instanceof $B",
        "for ($T $A : $B) $C", "$A.toString()", "List<$T> $A = $B;", "$A == $B", "super($$$)", "this.$A = $B;",
    ],
    "javascript": [
        "require($A)", "console.log($$$)", "$A === $B", "return $A", "new Error($A)", "function $A($$$) { $$$ }",
        "$A.map($B)", "typeof $A", "if (!$A) return", "module.exports = $A", "$A => $B", "await $A", "throw $A",
        "$A.length", "var $A = $B", "$A.forEach($B)", "$A ? $B : $C", "Object.keys($A)", "$A[$B]",
    ],
    "kotlin": [
        "return $A", "throw $A($$$)", "$A.let { $$$ }", "val $A = $B", "if ($A) $B", "$A!!", "listOf($$$)",
        "$A.map { $$$ }", "when ($A) { $$$ }", "$A ?: $B", "require($A)", "$A as $B", "fun $A() { $$$ }",
        "$A.size", "check($A)", "println($A)", "$A == $B",
    ],
    "php": [
        "new $A($$$)", "$this->$A($$$)", "return $A;", "throw new $A($$$);", "isset($A)", "array_map($A, $B)",
        "if ($A) { $$$ }", "count($A)", "foreach ($A as $B) { $$$ }", "sprintf($$$)", "$A === null", "self::$A",
        "is_array($A)", "in_array($A, $B)", "echo $A;", "$A ?? $B", "function $A() { $$$ }",
    ],
    "python": [
        "isinstance($A, $B)", "raise $A($$$)", "return $A", "self.$A = $B", "len($A)", "$A.append($B)", "print($$$)",
        "for $A in $B: $$$", "if $A is None: $$$", "def $A(self): $$$", "$A.join($B)", "os.path.join($$$)",
        "with open($$$) as $A: $$$", "lambda $A: $B", "yield $A", "$A == $B", "import $A", "super().$A($$$)",
        "await $A", "assert $A", "$A[$B]", "$A if $B else $C",
    ],
    "ruby": [
        "raise $A, $B", "$A.each do |$B| $$$ end", "require $A", "attr_reader $A", "$A.nil?", "return $A", "$A.map { $$$ }",
        "$A.to_s", "def $A; $$$ end", "puts $A", "$A.new($$$)", "$A == $B", "$A || $B", "$A.freeze", "yield $A",
        "$A ||= $B", "@$A = $B",
    ],
    "rust": [
        "$A.unwrap()", "$A.clone()", "Some($A)", "return $A;", "vec![$$$]", "$A?", "if let Some($A) = $B { $$$ }",
        "fn $A() { $$$ }", "assert_eq!($A, $B)", "$A.iter().map($B)", "unsafe { $$$ }", "match $A { $$$ }",
        "Box::new($A)", "&mut $A", "$A as usize", "$A.len()", "panic!($$$)", "impl $A for $B { $$$ }", "let $A = $B;",
    ],
    "typescript": [
        "import { $$$ } from $A", "const $A = $B", "return $A", "await $A", "new $A($$$)", "$A as $B", "throw new Error($A)",
        "$A === undefined", "export const $A = $B", "$A.push($B)", "($A) => $B", "$A?.$B", "typeof $A", "$A!",
        "if ($A) return $B", "$A.map($B)", "class $A { $$$ }", "interface $A { $$$ }", "this.$A = $B", "$A || $B",
    ],
}  # fmt: skip


def run(command, tree):
    start_time = time.monotonic()
    result = subprocess.run(command, cwd=tree, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return result.stdout.decode("utf-8", "replace"), time.monotonic() - start_time


def theirs(arguments, pattern):
    language = {"csharp": "cs"}.get(arguments.language, arguments.language)
    command = [arguments.ast_grep, "run", "-p", pattern, "-l", language, "--json=stream", "."]
    text, seconds = run(command, arguments.tree)
    lines = set()
    for line in text.splitlines():
        match = json.loads(line)
        start, end = match["range"]["start"]["line"], match["range"]["end"]["line"]
        # A match that ends at the start of a line does not cover it.
        last = end - 1 if match["range"]["end"]["column"] == 0 and end > start else end
        lines.update((str(Path(match["file"])), number + 1) for number in range(start, last + 1))
    return lines, seconds


def ours(arguments, pattern):
    file_type = {"csharp": "cs", "typescript": "ts", "javascript": "js"}.get(arguments.language, arguments.language)
    globs = {"ts": ["*.ts", "*.cts", "*.mts"], "js": ["*.js", "*.cjs", "*.mjs", "*.jsx"]}.get(file_type)
    filters = [word for glob in globs for word in ("-g", glob)] if globs else ["-t", file_type]
    command = [arguments.forage, "--root", ".", "grep", "--ast", pattern, *filters, "--json", "-C", "0"]
    lines, seconds, cursor = set(), 0, []
    while cursor is not None:
        text, page_seconds = run([*command, "--max-results", "10000", *cursor], arguments.tree)
        answer = json.loads(text) if text.startswith("{") else {"files": []}
        matches = ((file["path"], line) for file in answer["files"] for line in file["lines"])
        lines.update((path, line["line_number"]) for path, line in matches if line["type"] == "match")
        # A page has at most 10,000 lines. ast-grep has no limit.
        cursor = ["--cursor", answer["next_cursor"]] if answer.get("next_cursor") else None
        seconds += page_seconds
    return lines, seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--forage", required=True)
    parser.add_argument("--ast-grep", required=True)
    parser.add_argument("--tree", required=True, type=Path)
    parser.add_argument("--language", required=True, choices=PATTERNS)
    parser.add_argument("--index", action="store_true")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--pattern", action="append", help="a pattern to use instead of those of the language; may be repeated")
    arguments = parser.parse_args()
    arguments.forage = str(Path(arguments.forage).resolve())
    arguments.ast_grep = str(Path(arguments.ast_grep).resolve())
    if arguments.index:
        run([arguments.forage, "index"], arguments.tree)
    patterns = arguments.pattern or PATTERNS[arguments.language]
    equal, ratios = 0, []
    for pattern in patterns:
        times = []
        for _ in range(arguments.runs):
            (expected, their_time), (found, our_time) = theirs(arguments, pattern), ours(arguments, pattern)
            times.append(our_time / their_time)
        ratios.append(statistics.median(times))
        if expected == found:
            equal += 1
            continue
        missing, extra = sorted(expected - found), sorted(found - expected)
        print(f"{pattern}: {len(expected)} lines, {len(missing)} missing {missing[:3]}, {len(extra)} extra {extra[:3]}")
    print(f"{arguments.language}: {equal} of {len(patterns)} equal; our time / theirs: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
