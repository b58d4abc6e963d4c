#!/usr/bin/env python3
"""Measures the recall of redaction, its marks in ordinary code, and its costs.

    cargo build --release -p forage-redact --example redact
    bench/redaction.py cases FILE.jsonl      # {"rule", "kind": "tp" | "fp", "text", "secret", "regex", "also"} on each line
    bench/redaction.py marks DIR...          # marks per million lines of source trees, with every marked line
    bench/redaction.py cost FILE             # milliseconds for a text, median of nine
    bench/redaction.py share FORAGE ROOT     # share of a keyword search whose model answers immediately

gitleaks generates the cases for its own rules. In a checkout of it (MIT), change `utils.Validate` and
`utils.ValidateWithPaths` to print their arguments as JSON instead of checking them, with the match of `Rule.Regex` as the
secret, and run `cmd/generate/config`. This repository does not contain the cases. A false positive of one rule can be a
true positive of another: `also` names the rules of gitleaks that match the text, with keywords, entropy and allow lists.
"""

import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # no bytecode files in the sources
from fake_model import FakeModel, serve

PROGRAM = os.environ.get("FORAGE_REDACT", "target/release/examples/redact")
# Rules whose regex starts without a vendor name match a token by its format. These rules match no token.
NO_TOKEN = {"curl-auth-header", "curl-auth-user", "kubernetes-secret-yaml", "nuget-config-password", "pkcs12-file",
            "private-key", "sidekiq-sensitive-url", "freemius-secret-key"}
NEUTRAL = ['connect("%s")', "%s", "value: %s", "| a | %s | b |", "curl -d %s http://h/x", "x = foo('%s', 1)"]


def redact(texts):
    lines = "\n".join(json.dumps({"text": text}) for text in texts) + "\n"
    run = subprocess.run([PROGRAM], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.split("\n") if line]


def cases(path):
    with open(path) as file:
        rows = [json.loads(line) for line in file]
    missed, found, total, wrong, negatives = collections.Counter(), 0, 0, [], 0
    for row, result in zip(rows, redact([row["text"] for row in rows])):
        secret = row.get("secret", "")
        if row["kind"] == "fp":
            negatives += 1
            if result["text"] != row["text"]:
                wrong.append((row["rule"], row["text"], result["text"], row.get("also", "")))
            continue
        total += 1
        if result["text"] != row["text"] and not (secret and secret in result["text"]):
            found += 1
        else:
            missed[row["rule"]] += 1
    print(f"true positives: {found} of {total} = {100 * found / total:.2f} %; missed by rule: {dict(missed.most_common())}")
    unmatched = sum(not also for *_, also in wrong)
    print(f"false positives: {len(wrong)} of {negatives}; {unmatched} in which gitleaks finds nothing by any of its rules")
    for rule, text, result, also in sorted(wrong, key=lambda row: row[3] != ""):
        print(f"  {rule}: {text[:120]!r} => {result[:120]!r}" + (f" (also {also})" if also else ""))
    secrets_by_rule = collections.defaultdict(list)
    for row in rows:
        if row["kind"] == "tp" and row.get("secret") and row.get("regex") and r"[\w.-]{0,50}?" not in row["regex"]:
            if row["rule"] not in NO_TOKEN and row["secret"] not in secrets_by_rule[row["rule"]] and len(secrets_by_rule[row["rule"]]) < 8:
                secrets_by_rule[row["rule"]].append(row["secret"])
    framed_secrets = [(rule, secret, frame % secret) for rule, secrets in secrets_by_rule.items() for secret in secrets for frame in NEUTRAL]
    missed_rules = collections.Counter(
        rule for (rule, secret, _), result in zip(framed_secrets, redact([text for *_, text in framed_secrets])) if secret in result["text"])
    print(f"token formats in neutral text: {len(secrets_by_rule) - len(missed_rules)} of {len(secrets_by_rule)} rules completely; missed: {dict(missed_rules)}")


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
        for (path, text), result in zip(texts, redact([text for _, text in texts])):
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
    print(f"{len(data)} bytes: {statistics.median(times):.2f} ms (minimum {min(times):.2f}, maximum {max(times):.2f})")


def process(data):
    start = time.perf_counter()
    subprocess.run([PROGRAM, "--text", "1"], input=data, stdout=subprocess.DEVNULL, check=True)
    return 1000 * (time.perf_counter() - start)


class Model(FakeModel):
    """Stores the messages of the last request, and answers immediately."""

    sent = ""

    def message(self, request):
        type(self).sent = "\n".join(str(message["content"]) for message in request["messages"])
        return super().message(request)


# Terms for the Linux sources. Broader ones are refused.
SEARCHES = [
    ["tcp_retransmit_skb", "rto_min", "tcp_rto_max", "retransmit.{0,20}timer", "icsk_rto"],
    ["futex_wait_setup", "futex_q"],
    ["dentry_kill", "shrink_dcache", "d_invalidate", "dput_to_list", "lockref_put_or_lock", "d_walk"],
]


def share(forage, root):
    address = serve(Model)
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home, "FORAGE_API_KEY": "k"}
        environment = {name: value for name, value in environment.items() if not name.startswith("XDG_")}
        subprocess.run([forage, "index", "build", "--root", root], env=environment, stdout=subprocess.DEVNULL, check=True)
        for terms in SEARCHES:
            command = [forage, "keyword", "how is it done", *terms, "--root", root, "--model", "m", "--base-url", address]
            times = []
            for _ in range(9):
                start = time.perf_counter()
                subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                times.append(1000 * (time.perf_counter() - start))
            assert Model.sent, "the model got no request"
            search_ms = statistics.median(times)
            # A separate process also compiles the rules, so this is an upper bound of the share of redaction.
            redaction_ms = statistics.median(process(Model.sent.encode()) for _ in range(25))
            print(f"{terms}: {search_ms:.0f} ms with an index; {len(Model.sent)} bytes redacted by a separate process:",
                  f"{redaction_ms:.1f} ms, {100 * redaction_ms / search_ms:.1f} %")
            Model.sent = ""


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    {"cases": lambda: cases(arguments[0]), "marks": lambda: marks(arguments), "cost": lambda: cost(arguments[0]),
     "share": lambda: share(*arguments)}[command]()
