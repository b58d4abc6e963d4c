#!/usr/bin/env python3
"""Measures the precision of the rules for paths on the file lists of real projects.

    paths.py lists --clones DIR --archives DIR > lists.json    prints the files of each clone's newest commit, and of each unpacked archive
    evaluate --paths lists.json > found.jsonl                  prints the findings of each rule, and whether the project confirms them
    paths.py sample found.jsonl --judged path_rules.json       prints locations without a judgment, up to 40 per rule
    paths.py table found.jsonl --judged path_rules.json        prints the precision per rule, without and with the project's evidence

`path_rules.json` has human judgments by rule, project and location: whether the rule is right (true) or wrong.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys

# Maximum number of judged locations of a rule.
SAMPLE_SIZE = 40


def lists(options):
    """Prints the paths of each project. The name of an archive is used without its version."""
    found = {}
    for name in sorted(os.listdir(options.clones)):
        for directory in (os.path.join(options.clones, name), os.path.join(options.clones, name, "repo")):
            command = ["git", "--git-dir", directory, "ls-tree", "-r", "--name-only", "-z", "HEAD"]
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if result.returncode == 0:
                found["git:" + name] = [path for path in result.stdout.decode(errors="replace").split("\0") if path]
                break
    for name in sorted(os.listdir(options.archives)):
        top = os.path.join(options.archives, name)
        paths = []
        for directory, directories, files in os.walk(top):
            directories[:] = [each for each in directories if not each.startswith(".")]
            paths += [os.path.relpath(os.path.join(directory, file), top) for file in files if not file.startswith(".")]
        found["archive:" + name.rsplit("-", 1)[0]] = sorted(paths)
    json.dump(found, sys.stdout)


def read_findings(path):
    """Returns the findings by rule: project, location, files, and whether the project confirms it."""
    rules = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            found = json.loads(line)
            rules[found["rule"]].append((found["project"], found["place"], found["files"], found["borne_out"]))
    return rules


def read_judgments(path):
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)


def sample(options):
    """Prints locations of each rule, one of each project first, so that no project dominates."""
    known = read_judgments(options.judged)
    for rule, found in sorted(read_findings(options.found).items()):
        rng = random.Random(rule)
        by_project = collections.defaultdict(list)
        for project, location, files, _ in found:
            by_project[project].append((location, files))
        chosen = []
        queues = [(project, rng.sample(entries, len(entries))) for project, entries in sorted(by_project.items())]
        rng.shuffle(queues)
        while queues and len(chosen) < SAMPLE_SIZE:
            chosen += [(project, *entries.pop()) for project, entries in queues[: SAMPLE_SIZE - len(chosen)]]
            queues = [(project, entries) for project, entries in queues if entries]
        for project, location, files in chosen:
            if location not in known.get(rule, {}).get(project, {}):
                print(json.dumps([rule, project, location, files]))


def table(options):
    """Prints the precision per rule over the judged locations: of all findings, and of findings that the project confirms."""
    known = read_judgments(options.judged)
    print("| rule | projects | places | judged | right by the word alone | right with evidence | right places that are lost |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rule, found in sorted(read_findings(options.found).items()):
        all_findings, confirmed = [], []
        lost = 0
        for project, location, _, is_confirmed in found:
            is_right = known.get(rule, {}).get(project, {}).get(location)
            if is_right is None:
                continue
            all_findings.append(is_right)
            if is_confirmed:
                confirmed.append(is_right)
            else:
                lost += is_right
        share = lambda rights: f"{sum(rights)} of {len(rights)}"
        projects = len({project for project, *_ in found})
        print(f"| {rule} | {projects} | {len(found)} | {len(all_findings)} | {share(all_findings)} | {share(confirmed)} | {lost} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("lists")
    command.add_argument("--clones", required=True)
    command.add_argument("--archives", required=True)
    command.set_defaults(run=lists)
    for name, run in (("sample", sample), ("table", table)):
        command = commands.add_parser(name)
        command.add_argument("found")
        command.add_argument("--judged", required=True)
        command.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
