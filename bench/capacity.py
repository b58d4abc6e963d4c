"""What ten thousand repositories take, by simulation from what was measured of a hundred.

    python bench/capacity.py MEASURED [--repositories 10000] [--lines 1e9] [--days 1] [--seed 1]

MEASURED is what `bench/organisation.py … --json MEASURED` wrote: chunks, files and commits of each repository, and how fast one node
and one filler were. Repositories are drawn from the measured ones, with the sizes stretched until they have the lines that are asked
for. Filling is simulated event by event: so many repositories at a time, each as fast as its share allows, the nodes with as many
chunks a second as they were measured with. Then days of commits follow, each a round of `sparse index --repositories` behind the
other, and how old a commit is when it can be found is counted.
"""

import argparse
import heapq
import json
import random
import statistics

LINES_OF_A_CHUNK = 16
AT_A_TIME = 4
# Chunks a second whose ids and hashes a filler reads to compare them: assumed, by pages of 2,000 that take a tenth of a second.
COMPARED = 20_000


def drawn(measured, count, lines, chosen):
    """Repositories as the measured ones, which together have so many lines."""
    base = measured["repositories"]
    made = []
    for _ in range(count):
        one = chosen.choice(base)
        # Nothing is drawn twice as it is: sizes of repositories are spread as a lognormal distribution is.
        stretch = chosen.lognormvariate(0, 0.5)
        made.append({"chunks": one["chunks"] * stretch, "files": one["files"] * stretch, "commits": one["commits_a_day"], "changed": one["chunks_a_commit"]})
    scale = lines / LINES_OF_A_CHUNK / sum(one["chunks"] for one in made)
    for one in made:
        one["chunks"] *= scale
        one["files"] *= scale
    return made


def filled(repositories, fillers, rate_of_filler, rate_of_store):
    """Seconds until all are there, and the share of the time in which all places were taken."""
    slots = fillers * AT_A_TIME
    rate = min(rate_of_filler * fillers, rate_of_store) / slots
    running, now = [], 0.0
    waiting = list(repositories)
    for one in waiting[:slots]:
        heapq.heappush(running, now + one["chunks"] / rate)
    for one in waiting[slots:]:
        now = heapq.heappop(running)
        heapq.heappush(running, now + one["chunks"] / rate)
    # From here on some places are empty.
    end = max(running)
    return end, now / end


def rounds(repositories, fillers, look, rate, days, chosen):
    """Lengths of rounds in seconds, chunks written, and the age of commits when they can be found."""
    now, end = 0.0, days * 86_400
    lengths, written, ages = [], 0.0, []
    last = 0.0
    while now < end:
        since, busy = now - last, 0.0
        last = now
        for one in repositories:
            mean = one["commits"] * since / 86_400
            commits = 0
            # A Poisson number, by its arrivals.
            arrival = chosen.expovariate(1) if mean > 0 else mean + 1
            while mean > 0 and arrival < mean:
                commits += 1
                ages.append(since * (1 - arrival / mean))
                arrival += chosen.expovariate(1)
            busy += look * one["files"]
            if commits:
                chunks = min(commits * one["changed"], one["chunks"])
                written += chunks
                # A repository that has changed is compared with the collection, which gives its points page by page.
                busy += AT_A_TIME * (chunks / rate + one["chunks"] / COMPARED)
        length = max(1.0, busy / (fillers * AT_A_TIME))
        lengths.append(length)
        now += length
    # A commit waits for the end of the round after which it came, too.
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
    chosen = random.Random(arguments.seed)
    repositories = drawn(measured, arguments.repositories, arguments.lines, chosen)
    chunks = sum(one["chunks"] for one in repositories)
    commits = sum(one["commits"] for one in repositories)
    print(f"{len(repositories)} repositories, {chunks / 1e6:.1f} million chunks, the largest {max(one['chunks'] for one in repositories) / 1e3:.0f} thousand; {commits:.0f} commits a day")
    print("| machines | shards | copies | GB on each | fillers | to fill | places in use | a round, longest | chunks written a day | a commit is found after |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for machines, copies, fillers in [(1, 1, 1), (3, 2, 3), (6, 2, 6), (12, 2, 12)]:
        gigabytes = chunks * measured["bytes_of_a_chunk"] * copies / machines / 1e9
        store = measured["node_chunks_a_second"] * machines / copies
        seconds, busy = filled(repositories, fillers, measured["filler_chunks_a_second"], store)
        mean, longest, written, age = rounds(repositories, fillers, measured["look_seconds_a_file"], measured["filler_chunks_a_second"], arguments.days, chosen)
        print(
            f"| {machines} | {machines * 2 if machines > 1 else 1} | {copies} | {gigabytes:.0f} | {fillers} | {seconds / 3600:.1f} h | {busy:.0%} "
            f"| {mean / 60:.1f} min, {longest / 60:.1f} min | {written / 1e6:.2f} million | {age / 60:.1f} min |"
        )


if __name__ == "__main__":
    main()
