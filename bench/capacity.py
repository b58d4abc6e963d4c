"""Simulates the costs of ten thousand repositories from measurements of one hundred.

    python bench/capacity.py MEASURED [--repositories 10000] [--lines 1e9] [--days 1] [--seed 1]

MEASURED is the file that `bench/organisation.py … --json MEASURED` wrote: chunks, files and commits of each repository, and the speed
of one node and one filler. We sample repositories from the measured ones, and scale their sizes to the requested number of lines.
The simulation of filling is event-driven: a fixed number of repositories at a time share the measured throughput of fillers and
nodes. Then it simulates days of commits with consecutive rounds of `sparse index --repositories`, and measures the age of commits
when they can be found.
"""

import argparse
import heapq
import json
import random
import statistics

LINES_OF_A_CHUNK = 16
AT_A_TIME = 4
# Chunks per second whose ids and hashes a filler reads for comparison. An assumption: 0.1 seconds for a page of 2,000.
COMPARED = 20_000


def sample(measured, count, lines, rng):
    """Samples repositories that resemble the measured ones and have this number of lines in total."""
    base = measured["repositories"]
    repositories = []
    for _ in range(count):
        one = rng.choice(base)
        # Repositories that are sampled repeatedly get different sizes. Sizes of repositories have a lognormal distribution.
        stretch = rng.lognormvariate(0, 0.5)
        repositories.append({"chunks": one["chunks"] * stretch, "files": one["files"] * stretch, "commits": one["commits_a_day"], "changed": one["chunks_a_commit"]})
    scale = lines / LINES_OF_A_CHUNK / sum(one["chunks"] for one in repositories)
    for one in repositories:
        one["chunks"] *= scale
        one["files"] *= scale
    return repositories


def fill(repositories, fillers, rate_of_filler, rate_of_store):
    """Returns the seconds until all repositories are indexed, and the fraction of time in which all slots were in use."""
    slots = fillers * AT_A_TIME
    rate = min(rate_of_filler * fillers, rate_of_store) / slots
    running, now = [], 0.0
    waiting = list(repositories)
    for one in waiting[:slots]:
        heapq.heappush(running, now + one["chunks"] / rate)
    for one in waiting[slots:]:
        now = heapq.heappop(running)
        heapq.heappush(running, now + one["chunks"] / rate)
    # From now on, some slots are empty.
    end = max(running)
    return end, now / end


def rounds(repositories, fillers, look, rate, days, rng):
    """Returns the mean and maximum length of rounds in seconds, chunks written per day, and the age of commits when they are found."""
    now, end = 0.0, days * 86_400
    lengths, written, ages = [], 0.0, []
    last = 0.0
    while now < end:
        since, busy = now - last, 0.0
        last = now
        for one in repositories:
            mean = one["commits"] * since / 86_400
            commits = 0
            # A Poisson distribution, sampled by arrivals.
            arrival = rng.expovariate(1) if mean > 0 else mean + 1
            while mean > 0 and arrival < mean:
                commits += 1
                ages.append(since * (1 - arrival / mean))
                arrival += rng.expovariate(1)
            busy += look * one["files"]
            if commits:
                chunks = min(commits * one["changed"], one["chunks"])
                written += chunks
                # A changed repository is compared with the collection, whose points are read in pages.
                busy += AT_A_TIME * (chunks / rate + one["chunks"] / COMPARED)
        length = max(1.0, busy / (fillers * AT_A_TIME))
        lengths.append(length)
        now += length
    # A commit also waits for the end of the current round.
    mean_length = statistics.mean(lengths)
    return mean_length, max(lengths), written / days, statistics.median(ages) + mean_length if ages else mean_length


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured")
    parser.add_argument("--repositories", type=int, default=10_000)
    parser.add_argument("--lines", type=float, default=1e9)
    parser.add_argument("--days", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with open(arguments.measured) as file:
        measured = json.load(file)
    rng = random.Random(arguments.seed)
    repositories = sample(measured, arguments.repositories, arguments.lines, rng)
    chunks = sum(one["chunks"] for one in repositories)
    commits = sum(one["commits"] for one in repositories)
    print(f"{len(repositories)} repositories, {chunks / 1e6:.1f} million chunks, the largest {max(one['chunks'] for one in repositories) / 1e3:.0f} thousand; {commits:.0f} commits a day")
    print("| machines | shards | copies | GB on each | indexers | first indexing run | slots in use | mean and longest round | chunks written a day | delay until a commit is found |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for machines, copies, fillers in [(1, 1, 1), (3, 2, 3), (6, 2, 6), (12, 2, 12)]:
        gigabytes = chunks * measured["bytes_of_a_chunk"] * copies / machines / 1e9
        store = measured["node_chunks_a_second"] * machines / copies
        seconds, busy = fill(repositories, fillers, measured["filler_chunks_a_second"], store)
        mean, longest, written, age = rounds(repositories, fillers, measured["look_seconds_a_file"], measured["filler_chunks_a_second"], arguments.days, rng)
        print(
            f"| {machines} | {machines * 2 if machines > 1 else 1} | {copies} | {gigabytes:.0f} | {fillers} | {seconds / 3600:.1f} h | {busy:.0%} "
            f"| {mean / 60:.1f} min, {longest / 60:.1f} min | {written / 1e6:.2f} million | {age / 60:.1f} min |"
        )


if __name__ == "__main__":
    main()
