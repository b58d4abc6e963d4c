"""Measures the overhead of a call in Python compared to Rust, and the speed of the encoder compared to FastEmbed's.

    target/peers/bindings/python/bin/python bench/python.py RUST SITE STOP_WORDS [--rounds 2000] [--runs 5]

RUST is `target/release/examples/timed_calls` (`cargo build --release --package forage-bindings --example timed_calls`). SITE is the
directory with a release build of the package (`maturin build --release`, `pip install --target`). STOP_WORDS is
`crates/forage-lookup/src/stop_words`. Both programs make the same calls, including text and records, in alternating runs. Prints the
medians. The vectors of both encoders are compared before they are timed.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("rust")
parser.add_argument("site")
parser.add_argument("stop_words")
parser.add_argument("--rounds", type=int, default=2000)
parser.add_argument("--runs", type=int, default=5)
options = parser.parse_args()
sys.path.insert(0, options.site)

import forage  # noqa: E402
import numpy as np  # noqa: E402
from fastembed import SparseTextEmbedding as FastEmbeds  # noqa: E402
from forage.sparse import SparseTextEmbedding  # noqa: E402

tree = Path(tempfile.mkdtemp())
(tree / "small.py").write_text("".join(f"def function_{n}():\n    return {n}\n\n\n" for n in range(5)))


def median(method, arguments):
    times = []
    for _ in range(options.rounds):
        start = time.perf_counter_ns()
        answer = method(**arguments)
        len(answer.text), answer.to_dict()
        times.append(time.perf_counter_ns() - start)
    return statistics.median(times) / 1000


workspace = forage.Workspace(tree, index=False)
for tool, method, arguments in [
    ("read_file", workspace.read, {"path": "small.py"}),
    ("grep_search", workspace.grep, {"pattern": "function_3"}),
    ("list_directory", workspace.list, {"path": "."}),
]:
    runs = []
    for _ in range(options.runs):
        rust = [options.rust, str(tree), tool, json.dumps(arguments), str(options.rounds)]
        rust = float(subprocess.run(rust, check=True, capture_output=True, text=True).stdout)
        runs.append((rust, median(method, arguments)))
    rust, python = (statistics.median(run[side] for run in runs) for side in (0, 1))
    overheads = sorted(python - rust for rust, python in runs)
    print(f"{tool}: Rust {rust:.0f} µs, Python {python:.0f} µs; {overheads[0]:.0f} to {overheads[-1]:.0f} µs more")

lists = tempfile.mkdtemp()
for file in Path(options.stop_words).iterdir():
    shutil.copy(file, lists)
theirs, ours = FastEmbeds("Qdrant/bm25", specific_model_path=lists), SparseTextEmbedding("Qdrant/bm25")
texts = [text for file in sorted(Path(forage.__file__).parent.rglob("*.py*")) for text in file.read_text(errors="replace").split("\n\n")] * 40
weights = lambda vector: {int(index): np.float32(value) for index, value in zip(vector.indices, vector.values)}  # noqa: E731
assert all(weights(their_vector) == weights(our_vector) for their_vector, our_vector in zip(theirs.embed(texts[:2000]), ours.embed(texts[:2000])))
runs = []
for _ in range(options.runs):
    times = []
    for embed in (lambda: theirs.embed(texts), lambda: ours.embed(texts), lambda: ours.embed(texts, parallel=0)):
        start = time.perf_counter()
        count = sum(1 for _ in embed())
        times.append(count / (time.perf_counter() - start))
    runs.append(times)
fastembed, one_thread, all_threads = (statistics.median(run[side] for run in runs) for side in range(3))
print(f"documents a second, {len(texts)} of them: FastEmbed {fastembed:.0f}, here {one_thread:.0f} ({one_thread / fastembed:.1f} times), all threads {all_threads:.0f}")
