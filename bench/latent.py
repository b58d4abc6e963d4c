#!/usr/bin/env python3
"""Learns the word vectors of the ranking (`crates/forage-rank/src/latent.bin`).

    latent.py LIST --clones DIR --into FILE

LIST has projects with revisions, like `latent.json`. DIR has a clone of each by name, with its history (`git clone --bare URL
NAME`). This is the only input, and none of these projects is in a set that measures the ranking. Requires the packages numpy,
scipy and jax. Takes about ten minutes.

1. Words are stems, as in the program, that occur in at least four projects. The initial vectors come from co-occurrence in blocks
   of code, documentation and commit messages: latent semantic analysis (Deerwester and others, 1990) without singular values.
2. Training moves the vectors so that a text is nearest to its file among 256 of the same project: a commit message to one of the
   at most three files that it changed, and the documentation of a definition to its code (cross entropy over the batch, in both
   directions). It drops random words, and in a fraction of the texts all words that the file contains too, so that the vectors help
   with questions that share no word with the code.
3. The table has a byte for each component of a vector, and one byte each for the weights of a word in a file and in a question.
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
MIN_PROJECTS, MIN_BLOCKS, MAX_WORDS = 4, 8, 12_000
COMMITS, FILES, DEFINITIONS = 4_000, 9_000, 12_000
BLOCK_LINES, BLOCKS_OF_A_FILE, BLOCKS = 40, 6, 4_500
CODE_LINES = 25
# Weight of a text relative to a block in the latent semantic analysis.
TEXT_SHARE = 0.7
BATCH, EPOCHS = 256, 3
DROPOUT, COMMON_DROPOUT = 0.4, 0.3
REGULARIZATION = 0.1
RATES = {"vectors": 0.002, "in_file": 0.01, "in_question": 0.01, "sharpness": 0.01}
# Maximum component of a vector in the table. One in ten thousand is larger, and is clipped.
MAX_COMPONENT = 0.45
SEED = 1

SOURCE = set(
    "bash c cc clj cpp cs cxx dart erl ex exs go groovy h hh hpp hs java js jsx kt lua m mjs ml mm php pl pm py rb rs "
    "scala sh swift ts tsx vue zig".split()
)
EXCLUDED = re.compile(
    r"(^|/|_|-)(tests?|specs?|testdata|fixtures?|vendor|third[-_]?party|node_modules|docs?|examples?|changelogs?)(/|_|-|\.|$)", re.I
)
STOP_WORDS = set(
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
KEYWORDS = set("if for while switch return catch else elif when match case do try with sizeof".split())
COMMENT = re.compile(r"^\s*(?:///?!?|##?|--+\|?|\*|;;+)\s?(.*)$")
STEMS = os.path.join(os.path.dirname(__file__), "../crates/forage-rank/src/tokens/stem.rs")
with open(STEMS, encoding="utf-8") as file:
    ENDINGS = re.findall(r'\("(\w+)", "(\w*)", (\d)\),', file.read())


@lru_cache(maxsize=None)
def stem(word):
    """Returns the stem of a word as the program computes it."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")):
        return word
    for ending, replacement, min_length in ENDINGS:
        rest = word[: -len(ending)]
        if not word.endswith(ending) or len(rest) < int(min_length) or not re.search("[aeiouy]", rest):
            continue
        if replacement:
            return rest + replacement
        if rest[-1:] == rest[-2:-1] and rest[-1] not in "aeioulsz":
            return rest[:-1]
        return rest[:-1] if rest.endswith("e") and len(rest) > 3 else rest
    return word


def stems(text):
    found = []
    for word in re.findall(r"[A-Za-z][A-Za-z0-9]*", text):
        for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", word):
            part = part.lower()
            if 2 <= len(part) <= 24 and part not in STOP_WORDS:
                found.append(stem(part))
    return found


def files(clone, revision):
    """Yields sources in random order, with their texts."""
    listed = subprocess.run(["git", "--git-dir", clone, "ls-tree", "-r", "-z", revision], stdout=subprocess.PIPE, check=True)
    chosen = []
    for entry in listed.stdout.decode("utf-8", "replace").split("\0"):
        head, _, path = entry.partition("\t")
        if " blob " in head and path.rpartition(".")[2].lower() in SOURCE and not EXCLUDED.search(path):
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
    """Yields the documentation of definitions, and their first lines."""
    documentation, lines = [], text.split("\n")
    for index, line in enumerate(lines):
        comment, bare = COMMENT.match(line), line.strip()
        if comment or bare.startswith(("/*", '"""')):
            documentation.append(comment.group(1) if comment else bare.strip('/*" '))
            continue
        if bare.startswith(("@", "#[", "*/", "template")):
            continue
        found = DEFINITION.match(line) if 0 < len(line) < 300 else None
        name = found and (found.group(1) or found.group(2))
        if name and name not in KEYWORDS:
            start = index
            if not documentation and index + 1 < len(lines) and lines[index + 1].strip().startswith(('"""', "'''")):
                documentation, start = [line.strip(" \"'") for line in lines[index + 1 : index + 5]], index + 5
            before = [bool(re.match(r"[@\\]|Copyright|:param", line.strip())) for line in documentation] + [True]
            if documentation := documentation[: before.index(True)]:
                yield " ".join(documentation), name + " " + "\n".join(lines[start : start + CODE_LINES])
        documentation = []


def commits(clone, revision):
    """Yields commit messages with the changed paths, newest first."""
    command = ["git", "--git-dir", clone, "log", "--no-merges", "--no-renames", "--name-only", f"-{COMMITS}", "--format=%x01%B%x02"]
    log = subprocess.run([*command, revision], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8", "replace")
    for commit in log.split("\x01")[1:]:
        message, _, paths = commit.partition("\x02")
        first, *more = message.strip().split("\n\n")
        paragraphs = [part for part in more[:2] if not re.match(r"[\w-]+: ", part)]
        yield " ".join([re.sub(r"^[\w/.,()\- ]{1,40}: ", "", first), *paragraphs]), paths.split("\n")


def read(source):
    """Returns blocks, bags of words of files, and texts with their files or code."""
    name, clone, revision = source
    blocks, bags, index_by_path, documented = [], [], {}, []
    for path, text in files(clone, revision):
        index_by_path[path] = len(bags)
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
            for documentation, code in definitions(text):
                documented.append((collections.Counter(stems(documentation)[:30]), collections.Counter(words + stems(code))))
    changed = []
    for message, paths in commits(clone, revision):
        about = [index_by_path[path] for path in paths if path in index_by_path]
        if 0 < len(about) <= 3:
            changed.append((collections.Counter(stems(message)[:60]), about))
    print(f"{name}: {len(bags)} files, {len(changed)} commits, {len(documented)} definitions", file=sys.stderr)
    return name, blocks, bags, changed, documented[:DEFINITIONS]


def matrix(bags, index_of):
    import numpy
    import scipy.sparse

    rows, columns, values = [], [], []
    for index, bag in enumerate(bags):
        for word, count in bag.items():
            if word in index_of:
                rows.append(index)
                columns.append(index_of[word])
                values.append(1 + numpy.log(count))
    shape = (len(bags), len(index_of))
    return scipy.sparse.csr_matrix((numpy.array(values, numpy.float32), (rows, columns)), shape=shape)


def initial_vectors(projects):
    """Returns words, their inverse document frequencies, and their vectors by latent semantic analysis."""
    import numpy
    import scipy.sparse
    from scipy.sparse.linalg import svds

    projects_with, blocks_with, blocks, texts = collections.defaultdict(set), collections.Counter(), [], []
    for name, project_blocks, bags, changed, documented in projects:
        blocks += project_blocks
        texts += [documentation + bag for documentation, bag in documented]
        texts += [message + collections.Counter(dict.fromkeys(bags[about[0]], 1)) for message, about in changed[::4]]
        blocks_with.update(word for block in project_blocks for word in block)
        for bag in project_blocks + texts[-len(documented) :]:
            for word in bag:
                projects_with[word].add(name)
    words = [word for word, names in projects_with.items() if len(names) >= MIN_PROJECTS and blocks_with[word] >= MIN_BLOCKS]
    words = sorted(sorted(words, key=lambda word: (-len(projects_with[word]), -blocks_with[word], word))[:MAX_WORDS])
    index_of = {word: index for index, word in enumerate(words)}
    idf = numpy.log(len(blocks) / numpy.array([blocks_with[word] for word in words]))

    def weighted(bags, share):
        rows = matrix(bags, index_of) @ scipy.sparse.diags(idf)
        lengths = numpy.sqrt(rows.multiply(rows).sum(axis=1)).A1
        return scipy.sparse.diags(share / numpy.maximum(lengths, 1e-9)) @ rows

    rows = scipy.sparse.vstack([weighted(blocks, 1.0), weighted(texts, TEXT_SHARE)]).tocsr()
    _, _, vectors = svds(rows, k=DIMENSIONS, random_state=SEED)
    vectors = vectors.T / (numpy.linalg.norm(vectors.T, axis=1, keepdims=True) + 1e-9)
    print(f"{len(words)} words, {rows.shape[0]} blocks and texts", file=sys.stderr)
    return words, idf, vectors.astype(numpy.float32)


def train(projects, words, idf, vectors):
    """Trains the vectors, and the weights of words in files and questions, on texts with their files or code."""
    import jax
    import jax.numpy as numerics
    import numpy

    index_of = {word: index for index, word in enumerate(words)}
    data, jobs = {}, []
    for name, _, bags, changed, documented in projects:
        changed = [(text, about) for text, about in changed if sum(word in index_of for word in text) >= 3]
        documented = [
            pair for pair in documented
            if sum(word in index_of for word in pair[0]) >= 3 and sum(word in index_of for word in pair[1]) >= 4
        ]
        data[name] = (
            matrix(bags, index_of),
            matrix([text for text, _ in changed], index_of),
            [about for _, about in changed],
            matrix([documentation for documentation, _ in documented], index_of),
            matrix([code for _, code in documented], index_of),
        )
        jobs += [(name, True)] * (len(changed) // BATCH) + [(name, False)] * (len(documented) // BATCH // 2)

    def unit(rows):
        return rows / numerics.sqrt(numerics.sum(rows * rows, axis=1, keepdims=True) + 1e-6)

    def loss(parameters, texts, about, same, start):
        file_vectors = unit((about * numerics.exp(parameters["in_file"])) @ parameters["vectors"])
        file_vectors = unit(file_vectors - file_vectors.mean(0))
        text_vectors = unit((texts * numerics.exp(parameters["in_question"])) @ parameters["vectors"])
        similarity = numerics.where(same, -1e9, text_vectors @ file_vectors.T * numerics.exp(parameters["sharpness"]))
        entropy = -numerics.diag(jax.nn.log_softmax(similarity, axis=1)).mean() - 0.5 * numerics.diag(jax.nn.log_softmax(similarity, axis=0)).mean()
        changes = [(parameters[name] - start[name]) ** 2 for name in ("in_file", "in_question")]
        penalty = numerics.sum((parameters["vectors"] - start["vectors"]) ** 2, axis=1).mean() + sum(move.mean() for move in changes)
        return entropy + REGULARIZATION * penalty

    @jax.jit
    def step(parameters, mean, variance, index, rate, *batch):
        # Adam (Kingma and Ba, 2015).
        value, gradient = jax.value_and_grad(loss)(parameters, *batch)
        mean = {name: 0.9 * mean[name] + 0.1 * gradient[name] for name in gradient}
        variance = {name: 0.999 * variance[name] + 0.001 * gradient[name] ** 2 for name in gradient}
        update = {name: mean[name] / (1 - 0.9**index) / (numerics.sqrt(variance[name] / (1 - 0.999**index)) + 1e-8) for name in gradient}
        return {name: parameters[name] - rate * RATES[name] * update[name] for name in gradient}, mean, variance, value

    counts = numerics.log(numerics.array(idf, dtype=numerics.float32))
    start = {"vectors": numerics.array(vectors), "in_file": counts, "in_question": counts, "sharpness": numerics.array(2.5)}
    parameters, rng = start, numpy.random.default_rng(SEED)
    mean = variance = {name: numerics.zeros_like(value) for name, value in start.items()}
    total, values = EPOCHS * len(jobs), []
    for index in range(1, total + 1):
        if index % len(jobs) == 1:
            random.Random(index).shuffle(jobs)
        name, is_changed = jobs[index % len(jobs)]
        bags, messages, about, documentation, code = data[name]
        if is_changed:
            chosen = rng.choice(messages.shape[0], BATCH, replace=False)
            file_indexes = numpy.array([about[one][rng.integers(len(about[one]))] for one in chosen])
            texts, rows = messages[chosen].toarray(), bags[file_indexes].toarray()
            same = (file_indexes[None, :] == file_indexes[:, None]) & ~numpy.eye(BATCH, dtype=bool)
        else:
            chosen = rng.choice(documentation.shape[0], BATCH, replace=False)
            texts, rows, same = documentation[chosen].toarray(), code[chosen].toarray(), numpy.zeros((BATCH, BATCH), bool)
        texts = texts * (rng.random(texts.shape, dtype=numpy.float32) > DROPOUT)
        rows = rows * (rng.random(rows.shape, dtype=numpy.float32) > DROPOUT)
        texts = texts * ~((rows > 0) & (rng.random((BATCH, 1)) < COMMON_DROPOUT))
        texts[texts.sum(1) == 0, 0] = 1e-3
        rate = min(1, index / 100) * (1 - 0.9 * index / total)
        parameters, mean, variance, value = step(parameters, mean, variance, index, rate, texts, rows, same, start)
        values.append(float(value))
        if index % 200 == 0:
            print(f"{index} of {total}: {sum(values[-200:]) / 200:.3f}", file=sys.stderr)
    return numpy.array(parameters["vectors"]), *(numpy.exp(numpy.array(parameters[name])) for name in ("in_file", "in_question"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list")
    parser.add_argument("--clones", required=True)
    parser.add_argument("--into", required=True)
    arguments = parser.parse_args()
    import numpy

    with open(arguments.list, encoding="utf-8") as file:
        entries = json.load(file)
    clone = lambda name: os.path.join(arguments.clones, name)
    with multiprocessing.Pool() as pool:
        projects = pool.map(read, [(one["name"], clone(one["name"]), one["revision"]) for one in entries], chunksize=1)
    words, idf, vectors = initial_vectors(projects)
    vectors, in_file, in_question = train(projects, words, idf, vectors)
    lengths = numpy.linalg.norm(vectors, axis=1)
    components = numpy.clip(numpy.round(vectors / lengths[:, None] * 127 / MAX_COMPONENT), -127, 127).astype(numpy.int8)
    weights = [numpy.round(count * lengths / (count * lengths).max() * 200) for count in (in_file, in_question)]
    text = "\n".join(words).encode()
    with open(arguments.into, "wb") as file:
        file.write(len(words).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)
        file.write(numpy.stack(weights, axis=1).astype(numpy.uint8).tobytes() + components.tobytes())


if __name__ == "__main__":
    main()
