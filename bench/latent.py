#!/usr/bin/env python3
"""Learns the places of words that the ranking has for what a text is about (`crates/forage-rank/src/latent.bin`).

    latent.py LIST --clones DIR --into FILE

LIST has projects with revisions, as `latent.json`; DIR has a clone of each by name, with its history (`git clone --bare URL
NAME`). Nothing but these decides: none of the sets that the ranking is measured on has any of the projects. Needs the packages
numpy, scipy and jax; takes some ten minutes.

1. Words are stems, as the program has them, that at least four projects have. What is near what in blocks of code, documentation
   and messages of commits gives them places: latent semantic analysis (Deerwester and others, 1990), all dimensions alike.
2. From there they are moved so that a text is nearest to the file that it is about, of 256 of the same project: the message of a
   commit to one of the three files or fewer that it changed, the documentation of a definition to its code (cross entropy over the
   batch, in both directions). Words are left out at random, and from a part of the texts those that the file has as well, so that
   what is learned is of use where a question has none of the words.
3. A byte for each part of a place, and one each for what a word counts in a file and in a question.
"""
import argparse
import collections
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
from functools import lru_cache

DIMENSIONS = 128
LEAST_PROJECTS, LEAST_BLOCKS, MOST_WORDS = 4, 8, 12_000
COMMITS, FILES, DEFINITIONS = 4_000, 9_000, 12_000
BLOCK_LINES, BLOCKS_OF_A_FILE, BLOCKS = 40, 6, 4_500
CODE_LINES = 25
# What a text counts beside a block when the first places are found.
TEXT_SHARE = 0.7
BATCH, EPOCHS = 256, 3
LEFT_OUT, WITHOUT_COMMON = 0.4, 0.3
STAYS = 0.1
RATES = {"places": 0.002, "in_file": 0.01, "in_question": 0.01, "sharpness": 0.01}
# Of a part of a place in the table; what is beyond is cut, one in ten thousand.
LARGEST = 0.45
SEED = 1

SOURCE = set(
    "bash c cc clj cpp cs cxx dart erl ex exs go groovy h hh hpp hs java js jsx kt lua m mjs ml mm php pl pm py rb rs "
    "scala sh swift ts tsx vue zig".split()
)
ASIDE = re.compile(
    r"(^|/|_|-)(tests?|specs?|testdata|fixtures?|vendor|third[-_]?party|node_modules|docs?|examples?|changelogs?)(/|_|-|\.|$)", re.I
)
SILENT = set(
    "a about above after again all also an and any are as at be because been before being below between both but by can could "
    "did do does doing don down during each else e.g etc few for from further had has have having he her here how i if in into is it "
    "its itself just let like may me might more most must my no nor not now of off on once only or other our out over own same she "
    "should so some such than that the their them then there these they this those through to too under until up upon use used "
    "uses using very via was we were what when where which while who why will with within without would yes you your self "
    "fix fixes fixed add adds added change changes changed update updates updated make makes made cleanup minor improve "
    "allow allows support supports issue pr commit bug instead new old given return returns returned returning true false null none "
    "whether one two first second note see todo param params parameters author since default".split()
)
DEFINITION = re.compile(
    r"^\s*(?:(?:pub(?:\([a-z]+\))?|public|private|protected|internal|static|final|abstract|async|export|default|override|open|inline|"
    r"const|unsafe|extern|virtual|suspend|sealed|data|func|local|template\s*<[^>]*>)\s+)*"
    r"(?:(?:fn|func|function|def|defp|defmodule|class|struct|interface|trait|enum|type|protocol|record|object|module)\s+"
    r"(?:\([^)]*\)\s*)?([A-Za-z_][A-Za-z0-9_.]*)|"
    r"(?:[A-Za-z_][\w:<>,\[\]\*&\. ]*\s[\*&]*)?([A-Za-z_]\w*)\s*\([^;]*(?:\{|,|\)\s*(?:\{|$|const|throws|override)))"
)
NO_NAME = set("if for while switch return catch else elif when match case do try with sizeof".split())
COMMENT = re.compile(r"^\s*(?:///?!?|##?|--+\|?|\*|;;+)\s?(.*)$")
STEMS = os.path.join(os.path.dirname(__file__), "../crates/forage-rank/src/tokens/stem.rs")
with open(STEMS, encoding="utf-8") as file:
    ENDINGS = re.findall(r'\("(\w+)", "(\w*)", (\d)\),', file.read())


@lru_cache(maxsize=None)
def stem(word):
    """As the program has it."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    for ending, put, least in ENDINGS:
        rest = word[: -len(ending)]
        if not word.endswith(ending) or len(rest) < int(least) or not re.search("[aeiouy]", rest):
            continue
        if put:
            return rest + put
        if rest[-1:] == rest[-2:-1] and rest[-1] not in "aeioulsz":
            return rest[:-1]
        return rest[:-1] if rest.endswith("e") and len(rest) > 3 else rest
    return word


def stems(text):
    found = []
    for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", word):
            part = part.lower()
            if 2 <= len(part) <= 24 and part not in SILENT:
                found.append(stem(part))
    return found


def files(clone, revision):
    """Sources in an order of chance, with their texts."""
    listed = subprocess.run(["git", "--git-dir", clone, "ls-tree", "-r", "-z", revision], stdout=subprocess.PIPE, check=True)
    chosen = []
    for entry in listed.stdout.decode("utf-8", "replace").split("\0"):
        head, _, path = entry.partition("\t")
        if " blob " in head and path.rpartition(".")[2].lower() in SOURCE and not ASIDE.search(path):
            chosen.append((head.split()[2], path))
    random.Random(SEED).shuffle(chosen)
    process = subprocess.Popen(["git", "--git-dir", clone, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for blob, path in chosen[:FILES]:
        process.stdin.write(blob.encode() + b"\n")
        process.stdin.flush()
        header = process.stdout.readline().split()
        if len(header) == 3:
            text = process.stdout.read(int(header[2]) + 1)[:-1]
            if len(text) < 200_000:
                yield path, text.decode("utf-8", "replace")
    process.stdin.close()
    process.wait()


def definitions(text):
    """What is written above or in a definition, and its first lines."""
    told, lines = [], text.split("\n")
    for nth, line in enumerate(lines):
        comment, bare = COMMENT.match(line), line.strip()
        if comment or bare.startswith(("/*", '"""')):
            told.append(comment.group(1) if comment else bare.strip('/*" '))
            continue
        if bare.startswith(("@", "#[", "*/", "template")):
            continue
        found = DEFINITION.match(line) if 0 < len(line) < 300 else None
        name = found and (found.group(1) or found.group(2))
        if name and name not in NO_NAME:
            start = nth
            if not told and nth + 1 < len(lines) and lines[nth + 1].strip().startswith(('"""', "'''")):
                told, start = [line.strip(" \"'") for line in lines[nth + 1 : nth + 5]], nth + 5
            before = [bool(re.match(r"[@\\]|Copyright|:param", line.strip())) for line in told] + [True]
            if told := told[: before.index(True)]:
                yield " ".join(told), name + " " + "\n".join(lines[start : start + CODE_LINES])
        told = []


def commits(clone, revision):
    """Messages with the paths that they are about, the newest first."""
    command = ["git", "--git-dir", clone, "log", "--no-merges", "--no-renames", "--name-only", f"-{COMMITS}", "--format=%x01%B%x02"]
    log = subprocess.run([*command, revision], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")
    for commit in log.split("\x01")[1:]:
        message, _, paths = commit.partition("\x02")
        first, *more = message.strip().split("\n\n")
        parts = [part for part in more[:2] if not re.match(r"[\w-]+: ", part)]
        yield " ".join([re.sub(r"^[\w/.,()\- ]{1,40}: ", "", first), *parts]), paths.split("\n")


def read(source):
    """Blocks, bags of files, and texts with what each is about."""
    name, clone, revision = source
    blocks, bags, of_path, documented = [], [], {}, []
    for path, text in files(clone, revision):
        of_path[path] = len(bags)
        words = stems(path)
        bags.append(collections.Counter(words * 4 + stems(text)))
        lines = text.split("\n")
        starts = list(range(0, len(lines), BLOCK_LINES))
        random.Random(path).shuffle(starts)
        for start in starts[:BLOCKS_OF_A_FILE]:
            block = words + stems("\n".join(lines[start : start + BLOCK_LINES]))
            if len(blocks) < BLOCKS and len(block) >= 25:
                blocks.append(collections.Counter(block))
        if len(documented) < DEFINITIONS:
            for told, code in definitions(text):
                documented.append((collections.Counter(stems(told)[:30]), collections.Counter(words + stems(code))))
    changed = []
    for message, paths in commits(clone, revision):
        about = [of_path[path] for path in paths if path in of_path]
        if 0 < len(about) <= 3:
            changed.append((collections.Counter(stems(message)[:60]), about))
    print(f"{name}: {len(bags)} files, {len(changed)} commits, {len(documented)} definitions", file=sys.stderr)
    return name, blocks, bags, changed, documented[:DEFINITIONS]


def matrix(bags, number_of):
    import numpy
    import scipy.sparse

    rows, columns, values = [], [], []
    for nth, bag in enumerate(bags):
        for word, count in bag.items():
            if word in number_of:
                rows.append(nth)
                columns.append(number_of[word])
                values.append(1 + numpy.log(count))
    shape = (len(bags), len(number_of))
    return scipy.sparse.csr_matrix((numpy.array(values, numpy.float32), (rows, columns)), shape=shape)


def first_places(projects):
    """Words, their rarities, and their places by latent semantic analysis."""
    import numpy
    import scipy.sparse
    from scipy.sparse.linalg import svds

    having, blocks_with, blocks, texts = collections.defaultdict(set), collections.Counter(), [], []
    for name, of_project, bags, changed, documented in projects:
        blocks += of_project
        texts += [told + bag for told, bag in documented]
        texts += [message + collections.Counter(dict.fromkeys(bags[about[0]], 1)) for message, about in changed[::4]]
        blocks_with.update(word for block in of_project for word in block)
        for bag in of_project + texts[-len(documented) :]:
            for word in bag:
                having[word].add(name)
    words = [word for word, names in having.items() if len(names) >= LEAST_PROJECTS and blocks_with[word] >= LEAST_BLOCKS]
    words = sorted(sorted(words, key=lambda word: (-len(having[word]), -blocks_with[word], word))[:MOST_WORDS])
    number_of = {word: nth for nth, word in enumerate(words)}
    rarity = numpy.log(len(blocks) / numpy.array([blocks_with[word] for word in words]))

    def weighed(bags, share):
        rows = matrix(bags, number_of) @ scipy.sparse.diags(rarity)
        lengths = numpy.sqrt(rows.multiply(rows).sum(axis=1)).A1
        return scipy.sparse.diags(share / numpy.maximum(lengths, 1e-9)) @ rows

    rows = scipy.sparse.vstack([weighed(blocks, 1.0), weighed(texts, TEXT_SHARE)]).tocsr()
    _, _, places = svds(rows, k=DIMENSIONS, random_state=SEED)
    places = places.T / (numpy.linalg.norm(places.T, axis=1, keepdims=True) + 1e-9)
    print(f"{len(words)} words, {rows.shape[0]} blocks and texts", file=sys.stderr)
    return words, rarity, places.astype(numpy.float32)


def moved(projects, words, rarity, places):
    """Places, and what words count in files and questions, learned from texts with what they are about."""
    import jax
    import jax.numpy as numerics
    import numpy

    number_of = {word: nth for nth, word in enumerate(words)}
    data, jobs = {}, []
    for name, _, bags, changed, documented in projects:
        changed = [(text, about) for text, about in changed if sum(word in number_of for word in text) >= 3]
        documented = [
            pair for pair in documented
            if sum(word in number_of for word in pair[0]) >= 3 and sum(word in number_of for word in pair[1]) >= 4
        ]
        data[name] = (
            matrix(bags, number_of),
            matrix([text for text, _ in changed], number_of),
            [about for _, about in changed],
            matrix([told for told, _ in documented], number_of),
            matrix([code for _, code in documented], number_of),
        )
        jobs += [(name, True)] * (len(changed) // BATCH) + [(name, False)] * (len(documented) // BATCH // 2)

    def unit(rows):
        return rows / numerics.sqrt(numerics.sum(rows * rows, axis=1, keepdims=True) + 1e-6)

    def loss(learned, texts, about, same, start):
        of_files = unit((about * numerics.exp(learned["in_file"])) @ learned["places"])
        of_files = unit(of_files - of_files.mean(0))
        of_texts = unit((texts * numerics.exp(learned["in_question"])) @ learned["places"])
        near = numerics.where(same, -1e9, of_texts @ of_files.T * numerics.exp(learned["sharpness"]))
        wrong = -numerics.diag(jax.nn.log_softmax(near, axis=1)).mean() - 0.5 * numerics.diag(jax.nn.log_softmax(near, axis=0)).mean()
        moves = [(learned[name] - start[name]) ** 2 for name in ("in_file", "in_question")]
        stays = numerics.sum((learned["places"] - start["places"]) ** 2, axis=1).mean() + sum(move.mean() for move in moves)
        return wrong + STAYS * stays

    @jax.jit
    def step(learned, mean, square, nth, rate, *batch):
        # Adam (Kingma and Ba, 2015).
        value, slope = jax.value_and_grad(loss)(learned, *batch)
        mean = {name: 0.9 * mean[name] + 0.1 * slope[name] for name in slope}
        square = {name: 0.999 * square[name] + 0.001 * slope[name] ** 2 for name in slope}
        go = {name: mean[name] / (1 - 0.9**nth) / (numerics.sqrt(square[name] / (1 - 0.999**nth)) + 1e-8) for name in slope}
        return {name: learned[name] - rate * RATES[name] * go[name] for name in slope}, mean, square, value

    counts = numerics.log(numerics.array(rarity, dtype=numerics.float32))
    start = {"places": numerics.array(places), "in_file": counts, "in_question": counts, "sharpness": numerics.array(2.5)}
    learned, chance = start, numpy.random.default_rng(SEED)
    mean = square = {name: numerics.zeros_like(value) for name, value in start.items()}
    total, values = EPOCHS * len(jobs), []
    for nth in range(1, total + 1):
        if nth % len(jobs) == 1:
            random.Random(nth).shuffle(jobs)
        name, is_changed = jobs[nth % len(jobs)]
        bags, messages, about, told, code = data[name]
        if is_changed:
            chosen = chance.choice(messages.shape[0], BATCH, replace=False)
            files_of = numpy.array([about[one][chance.integers(len(about[one]))] for one in chosen])
            texts, rows = messages[chosen].toarray(), bags[files_of].toarray()
            same = (files_of[None, :] == files_of[:, None]) & ~numpy.eye(BATCH, dtype=bool)
        else:
            chosen = chance.choice(told.shape[0], BATCH, replace=False)
            texts, rows, same = told[chosen].toarray(), code[chosen].toarray(), numpy.zeros((BATCH, BATCH), bool)
        texts = texts * (chance.random(texts.shape, dtype=numpy.float32) > LEFT_OUT)
        rows = rows * (chance.random(rows.shape, dtype=numpy.float32) > LEFT_OUT)
        texts = texts * ~((rows > 0) & (chance.random((BATCH, 1)) < WITHOUT_COMMON))
        texts[texts.sum(1) == 0, 0] = 1e-3
        rate = min(1, nth / 100) * (1 - 0.9 * nth / total)
        learned, mean, square, value = step(learned, mean, square, nth, rate, texts, rows, same, start)
        values.append(float(value))
        if nth % 200 == 0:
            print(f"{nth} of {total}: {sum(values[-200:]) / 200:.3f}", file=sys.stderr)
    return numpy.array(learned["places"]), *(numpy.exp(numpy.array(learned[name])) for name in ("in_file", "in_question"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--clones", required=True)
    parser.add_argument("--into", required=True)
    arguments = parser.parse_args()
    import numpy

    with open(arguments.list, encoding="utf-8") as file:
        known = json.load(file)
    clone = lambda name: os.path.join(arguments.clones, name)
    with multiprocessing.Pool() as pool:
        projects = pool.map(read, [(one["name"], clone(one["name"]), one["revision"]) for one in known], chunksize=1)
    words, rarity, places = first_places(projects)
    places, in_file, in_question = moved(projects, words, rarity, places)
    lengths = numpy.linalg.norm(places, axis=1)
    parts = numpy.clip(numpy.round(places / lengths[:, None] * 127 / LARGEST), -127, 127).astype(numpy.int8)
    weights = [numpy.round(count * lengths / (count * lengths).max() * 200) for count in (in_file, in_question)]
    text = "\n".join(words).encode()
    with open(arguments.into, "wb") as file:
        file.write(len(words).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)
        file.write(numpy.stack(weights, axis=1).astype(numpy.uint8).tobytes() + parts.tobytes())


if __name__ == "__main__":
    main()
