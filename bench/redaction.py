#!/usr/bin/env python3
"""What redaction finds, what it marks in ordinary code, and what it costs.

    cargo build --release -p forage-llm --example redact
    bench/redaction.py cases FILE.jsonl      # {"rule", "kind": "tp" | "fp", "text", "secret", "regex"} on each line
    bench/redaction.py marks DIR...          # marks per million lines of source trees, with every marked line
    bench/redaction.py cost FILE             # milliseconds for a text, median of nine

The cases are those that gitleaks generates for its own rules: in a checkout of it (MIT), let `utils.Validate` and
`utils.ValidateWithPaths` print their arguments as JSON, with what `Rule.Regex` finds as the secret, in place of
checking them, and run `cmd/generate/config`. They are not kept here.
"""

import collections
import json
import os
import statistics
import subprocess
import sys
import time

PROGRAM = os.environ.get("FORAGE_REDACT", "target/release/examples/redact")
# A rule has a form of its own where its regex begins with no name of a vendor's; these find no token.
NO_TOKEN = {"curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "nuget-config-password", "pkcs12-file",
            "private-key", "sidekiq-sensitive-url", "freemius-secret-key"}
NEUTRAL = ['connect("%s")', "%s", "value: %s", "| a | %s | b |", "curl -d %s http://h/x", "x = foo('%s', 1)"]


def redacted(texts):
    lines = "\n".join(json.dumps({"text": text}) for text in texts) + "\n"
    run = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def cases(path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    missed, found, total, wrong, negatives = collections.Counter(), 0, 0, [], 0
    for row, result in zip(rows, redacted([row["text"] for row in rows])):
        secret = row.get("secret", "")
        if row["kind"] == "fp":
            negatives += 1
            if result["text"] != row["text"]:
                wrong.append((row["rule"], row["text"], result["text"]))
            continue
        total += 1
        if result["text"] != row["text"] and not (secret and secret in result["text"]):
            found += 1
        else:
            missed[row["rule"]] += 1
    print(f"true positives: {found} of {total} = {100 * found / total:.2f} %; missed by rule: {dict(missed.most_common())}")
    print(f"false positives: {len(wrong)} of {negatives}")
    for rule, text, result in wrong:
        print(f"  {rule}: {text[:120]!r} => {result[:120]!r}")
    own = collections.defaultdict(list)
    for row in rows:
        if row["kind"] == "tp" and row.get("secret") and row.get("regex") and r"[\w.-]{0,50}?" not in row["regex"]:
            if row["rule"] not in NO_TOKEN and row["secret"] not in own[row["rule"]] and len(own[row["rule"]]) < 8:
                own[row["rule"]].append(row["secret"])
    placed = [(rule, secret, frame % secret) for rule, secrets in own.items() for secret in secrets for frame in NEUTRAL]
    bad = collections.Counter(
        rule for (rule, secret, _), result in zip(placed, redacted([text for *_, text in placed])) if secret in result["text"])
    print(f"forms of their own in neutral text: {len(own) - len(bad)} of {len(own)} rules wholly; missed: {dict(bad)}")


def marks(roots):
    for root in roots:
        texts, lines = [], 0
        for directory, names, files in os.walk(root):
            names[:] = [name for name in names if name not in (".git", "target", "node_modules")]
            for name in files:
                path = os.path.join(directory, name)
                if os.path.islink(path) or os.path.getsize(path) > 2_000_000:
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                try:
                    text = data.decode()
                except UnicodeDecodeError:
                    continue
                if "\0" not in text:
                    texts.append((path, text))
                    lines += text.count("\n")
        count = 0
        for (path, text), result in zip(texts, redacted([text for _, text in texts])):
            for before, after in zip(text.split("\n"), result["text"].split("\n")):
                if before != after:
                    count += after.count("[redacted:") - before.count("[redacted:")
                    print(f"  {path}: {before.strip()[:120]} => {after.strip()[:120]}")
        print(f"{root}: {len(texts)} files, {lines} lines, {count} marks, {1e6 * count / max(lines, 1):.0f} per million lines")


def cost(path):
    with open(path, "rb") as file:
        data = file.read()

    def timed(rounds):
        start = time.perf_counter()
        subprocess.run([PROGRAM, "--text", str(rounds)], input=data, stdout=subprocess.DEVNULL, check=True)
        return time.perf_counter() - start

    times = [(timed(101) - timed(1)) * 10 for _ in range(9)]
    print(f"{len(data)} bytes: {statistics.median(times):.2f} ms (least {min(times):.2f}, most {max(times):.2f})")


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    {"cases": lambda: cases(arguments[0]), "marks": lambda: marks(arguments), "cost": lambda: cost(arguments[0])}[command]()
