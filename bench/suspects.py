#!/usr/bin/env python3
"""How often is the commit that caused a failure among the first suspects?

A case is a fix whose message names the commit that introduced the fault (`Fixes: ID`, "This reverts commit ID",
"Follow-up to ID", "regression in ID"). The failure is the message without ids, trailers and the culprit's subject. The
history ends at the fix's parent. The culprit must be among the newest N commits there without merges, with an N of 100
to 300 that depends on the fix's id only.

    bench/suspects.py cases DIRECTORY > cases.json       # git repositories below DIRECTORY, named owner+name/repo
    bench/suspects.py run cases.json DIRECTORY --forage target/release/forage

`run` prints the share of cases whose culprit is among the first one, three, five and ten, for Forage and for two
baselines: the most recent commits, and the commits whose subjects have most words of the failure. The weights were
chosen on the projects in CHOSEN; the figures that count are those of KEPT.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

CHOSEN = (
    "curl+curl rails+rails netty+netty rust-lang+cargo tailscale+tailscale swaywm+wlroots mpv-player+mpv "
    "angular+angular-cli u-boot+u-boot pypa+pip wagtail+wagtail"
).split()
KEPT = (
    "git+git fish-shell+fish-shell laravel+framework NetworkManager+NetworkManager openzfs+zfs containers+podman "
    "rubocop+rubocop sqlalchemy+sqlalchemy symfony+symfony scipy+scipy cockpit-project+cockpit libuv+libuv "
    "haskell+cabal iterative+dvc celery+celery"
).split()
# Cases per project, so that no project decides.
CAP = {"chosen": 24, "kept": 18}
# Words that a message must have after cleaning.
WORDS = 12
# Ids contain a digit and a letter; a plain number or word is none.
ID = re.compile(r"\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b")
HEX = r"([0-9a-f]{7,40})\b"
INTRODUCED = [
    re.compile(pattern, re.I | re.M)
    for pattern in (
        r'^fixes:? +(?:commit )?"?' + HEX,
        r"this reverts commit " + HEX,
        r"follow[- ]?up (?:to|for|of|from) (?:commit )?" + HEX,
        r"(?:regression|regressed|bug|introduced|broken|broke|caused)\s+(?:\w+\s+){0,2}(?:in|by|with|since|from)\s+"
        r"(?:commit\s+|change\s+)?\[?" + HEX,
    )
]
TRAILER = re.compile(
    r"^\s*[A-Z][A-Za-z-]+(-by|-By|-off|-to|-Id|-id): |^(Fixes|Closes|Ref|Refs|Bug|Link|Reported)[:\s-]+\S+$"
    r"|^(Cc|CC|Link|Message-ID|\(cherry)"
)


def git(repository, *arguments, given=None):
    command = ["git", "-C", repository, *arguments]
    return subprocess.run(command, input=given, capture_output=True).stdout.decode("utf8", "replace")


def failure(message, subject):
    """Removes what names the culprit from a message."""
    text = message
    if ID.search(text):
        text = re.sub(r'\b[0-9a-f]{7,40}\b[\s:,]*[(\["“][^)\]]{5,160}?[)\]”"]', " ", text, flags=re.S)
    text = re.sub(r"^(Reapply|Partially revert|Revert) [\"“].*", "", text)
    lines = []
    for line in text.split("\n"):
        if ID.search(line) or re.search(r"this reverts commit|follow[- ]?up (to|for|of)", line, re.I):
            continue
        if not TRAILER.search(line):
            lines.append(line)
    text = "\n".join(lines)
    for part in (subject, subject.split(": ", 1)[-1]):
        if len(part) > 8:
            text = re.sub(r"\s+".join(map(re.escape, part.split())), " ", text, flags=re.I)
    return re.sub(r'^\s*revert:?[\s":]*', "", text.strip(), flags=re.I).strip()


def number(text):
    return int(hashlib.sha1(text.encode()).hexdigest(), 16)


def cases_of(repository, name, cap):
    log = git(repository, "log", "--no-merges", "--since=12 years", "--format=%H%x00%B%x01", "HEAD")
    fixes = []
    for record in log.split("\x01"):
        fix, _, message = record.strip("\n").partition("\0")
        ids = {found.group(1) for pattern in INTRODUCED for found in pattern.finditer(message)}
        ids = {found for found in ids if ID.fullmatch(found)}
        if len(ids) == 1:
            fixes.append((fix, message, ids.pop()))
    known = git(repository, "cat-file", "--batch-check", given="\n".join(fix[2] for fix in fixes).encode() + b"\n")
    pairs = [
        (fix, message, line.split()[0])
        for (fix, message, _), line in zip(fixes, known.split("\n"))
        if " commit " in line
    ]
    found, seen = [], set()
    for fix, message, culprit in sorted(pairs, key=lambda pair: number(pair[0])):
        if len(found) >= cap:
            break
        window = 100 + number(fix + "n") % 201
        newest = git(repository, "rev-list", "--no-merges", "-n", str(window), fix + "^").split()
        subject = git(repository, "log", "-1", "--format=%s", culprit).strip()
        text = failure(message, subject)
        if culprit in seen or culprit not in newest or len(text.split()) < WORDS:
            continue
        seen.add(culprit)
        case = {"project": name, "fix": fix, "culprit": culprit, "text": text, "window": window}
        found.append(case | {"revert": bool(re.search("this reverts commit", message, re.I))})
    return found


def make(arguments):
    cases = []
    for half, names in (("chosen", CHOSEN), ("kept", KEPT)):
        for name in names:
            repository = os.path.join(arguments.directory, name, "repo")
            if os.path.isdir(repository):
                cases += [case | {"half": half} for case in cases_of(repository, name, CAP[half])]
    json.dump(cases, sys.stdout, indent=1)


def words(text):
    return set(re.findall(r"[a-z_][a-z0-9_]{2,}", text.lower()))


def place(ids, culprit):
    return ids.index(culprit) if culprit in ids else len(ids) + 1000


def baselines(repository, case):
    """Ranks the same 300 commits that Forage looks at by default."""
    log = git(repository, "log", "--no-merges", "-n", "300", "--format=%H %s", case["fix"] + "^").splitlines()
    recent = [line.split(" ", 1)[0] for line in log]
    asked = words(case["text"])
    common = {line.split(" ", 1)[0]: len(words(line.partition(" ")[2]) & asked) for line in log}
    return {
        "most recent": place(recent, case["culprit"]),
        "words of subjects": place(sorted(recent, key=lambda commit: -common[commit]), case["culprit"]),
    }


def suspects(forage, checkout, case):
    """Asks Forage. Returns the place of the culprit and the seconds."""
    command = [forage, "history", "--suspects", "-", "-p", case["fix"] + "^:", "--json"]
    began = time.monotonic()
    answer = subprocess.run(command, input=case["text"].encode(), capture_output=True, cwd=checkout)
    took = time.monotonic() - began
    # Status 1: nothing ties a commit to it.
    if answer.returncode not in (0, 1):
        raise SystemExit(f"{case['fix']}: {answer.stderr.decode()}")
    ids = re.findall(r'"id":\s*"([0-9a-f]{40,64})"', answer.stdout.decode())
    return place(ids, case["culprit"]), took


def table(rows):
    for name, places in rows.items():
        shares = [sum(place < first for place in places) / len(places) for first in (1, 3, 5, 10)]
        print(f"  {name:20}" + "".join(f"{100 * share:8.1f}" for share in shares))


def run(arguments):
    with open(arguments.cases, encoding="utf8") as file:
        cases = json.load(file)
    by_half, seconds = {}, []
    with tempfile.TemporaryDirectory() as temporary:
        for case in cases:
            repository = os.path.join(arguments.directory, case["project"], "repo")
            checkout = os.path.join(temporary, case["project"])
            if not os.path.isdir(checkout):
                # Forage reads no objects outside of its root; a local clone links them.
                subprocess.run(["git", "clone", "-q", "-l", "-n", repository, checkout], check=True)
            found, took = suspects(os.path.abspath(arguments.forage), checkout, case)
            seconds.append(took)
            for half in (case["half"], case["half"] + (", reverts" if case["revert"] else ", other fixes")):
                rows = by_half.setdefault(half, {})
                for name, at in (baselines(repository, case) | {"forage": found}).items():
                    rows.setdefault(name, []).append(at)
    for half in sorted(by_half):
        rows = by_half[half]
        print(f"{half} ({len(rows['forage'])} cases): among the first 1, 3, 5, 10, in percent")
        table(rows)
    seconds.sort()
    if seconds:
        print(f"seconds: median {seconds[len(seconds) // 2]:.2f}, slowest {seconds[-1]:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("cases")
    command.add_argument("directory")
    command.set_defaults(run=make)
    command = commands.add_parser("run")
    command.add_argument("cases")
    command.add_argument("directory")
    command.add_argument("--forage", required=True)
    command.set_defaults(run=run)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
