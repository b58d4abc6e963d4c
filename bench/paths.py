#!/usr/bin/env python3
"""The precision of the rules about paths, over the file lists of real projects.

    paths.py lists --clones DIR --archives DIR > lists.json    the files of each clone's newest commit, and of each unpacked archive
    evaluate --paths lists.json > found.jsonl                  what each rule finds, and what the project bears out
    paths.py sample found.jsonl --judged path_rules.json       places that are not judged yet, up to 40 a rule
    paths.py table found.jsonl --judged path_rules.json        precision per rule, without and with the project's evidence

`path_rules.json` has, by rule and project, the places where somebody who looked at their files said that the rule is right (true) or wrong.
"""

import argparse
import collections
import json
import os
import random
import subprocess
import sys

# Places of a rule that are judged.
SAMPLED = 40


def lists(options):
    """Prints the paths of each project. An archive is known by its name without its version."""
    found = {}
    for name in sorted(os.listdir(options.clones)):
        for directory in (os.path.join(options.clones, name), os.path.join(options.clones, name, "repo")):
            command = ["git", "--git-dir", directory, "ls-tree", "-r", "--name-only", "-z", "HEAD"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            if done.returncode == 0:
                found["git:" + name] = [path for path in done.stdout.decode(errors="replace").split("\0") if path]
                break
    for name in sorted(os.listdir(options.archives)):
        top = os.path.join(options.archives, name)
        paths = []
        for directory, directories, files in os.walk(top):
            directories[:] = [each for each in directories if not each.startswith(".")]
            paths += [os.path.relpath(os.path.join(directory, file), top) for file in files if not file.startswith(".")]
        found["archive:" + name.rsplit("-", 1)[0]] = sorted(paths)
    json.dump(found, sys.stdout)


def places(path):
    """The findings by rule: project, place, files, borne out."""
    rules = collections.defaultdict(list)
    with open(path) as file:
        for line in file:
            found = json.loads(line)
            rules[found["rule"]].append((found["project"], found["place"], found["files"], found["borne_out"]))
    return rules


def judged(path):
    if not os.path.exists(path):
        return {}
    with open(path) as file:
        return json.load(file)


def sample(options):
    """Prints places of each rule, one of a project first, so that no project dominates."""
    known = judged(options.judged)
    for rule, found in sorted(places(options.found).items()):
        order = random.Random(rule)
        by_project = collections.defaultdict(list)
        for project, place, files, _ in found:
            by_project[project].append((place, files))
        chosen = []
        queues = [(project, order.sample(own, len(own))) for project, own in sorted(by_project.items())]
        order.shuffle(queues)
        while queues and len(chosen) < SAMPLED:
            chosen += [(project, *own.pop()) for project, own in queues[: SAMPLED - len(chosen)]]
            queues = [(project, own) for project, own in queues if own]
        for project, place, files in chosen:
            if place not in known.get(rule, {}).get(project, {}):
                print(json.dumps([rule, project, place, files]))


def table(options):
    """Prints precision per rule over the judged places: of the word alone, and of the word where the project bears it out."""
    known = judged(options.judged)
    print("| rule | projects | places | judged | right by the word alone | right with evidence | right places that are lost |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for rule, found in sorted(places(options.found).items()):
        alone, borne = [], []
        lost = 0
        for project, place, _, is_borne_out in found:
            right = known.get(rule, {}).get(project, {}).get(place)
            if right is None:
                continue
            alone.append(right)
            if is_borne_out:
                borne.append(right)
            else:
                lost += right
        share = lambda rights: f"{sum(rights)} of {len(rights)}"
        projects = len({project for project, *_ in found})
        print(f"| {rule} | {projects} | {len(found)} | {len(alone)} | {share(alone)} | {share(borne)} | {lost} |")


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
