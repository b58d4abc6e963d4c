#!/usr/bin/env python3
"""Compares the time of `forage keyword`, which needs one pass, with the equivalent procedure with ripgrep processes.

The procedure: run `rg` for each term. A term with more than 64 KiB of output is too broad. Then run `rg` for all remaining
terms. While that prints 128 KiB or more, drop the least important term and run `rg` again. Before the measurement, both must
agree on the fate of every term. `--filter lexical` needs no model, and `--breadth requirement` selects this procedure.
"""

import argparse
import codecs
import json
import sys

sys.dont_write_bytecode = True  # no bytecode files in the sources
from measure import Bench, Results, Sample, arguments, in_turn

TERM_BYTES = 64 * 1024
EVIDENCE_BYTES = 128 * 1024

# The options that select the procedure.
KEYWORD = ["keyword", "--filter", "lexical", "--breadth", "requirement"]

# Name, query, and terms in order of importance, for the Linux sources.
SETS = [
    (
        "broad terms",
        "How does the kernel reclaim memory under pressure?",
        ["page fault", "oom_kill", "swap cache", "shrink_slab", "kswapd", "mem_cgroup_charge", "reclaim", "vmscan"],
    ),
    (
        "specific terms",
        "How do pages get onto the LRU lists, and off them again?",
        [
            "try_to_unmap",
            "lru_add_drain",
            "mem_cgroup_charge",
            "pagevec",
            "putback_lru",
            "swap_readpage",
            "oom_score_adj",
            "shrink_slab",
        ],
    ),
]


class Procedure:
    """The requirement's procedure. Collects the samples of its processes."""

    def __init__(self, bench, rg):
        self.bench, self.rg = bench, rg
        self.samples = []

    def ripgrep(self, terms):
        """Returns the number of bytes that ripgrep prints for `terms`, 0 if nothing matches."""
        options = ["--no-config", "-C", "10", "-i", "--line-number", "--with-filename"]
        patterns = [argument for term in terms for argument in ("-e", term)]
        self.samples.append(self.bench.run([self.rg, *options, *patterns]))
        # The procedure measures decoded text, in which invalid UTF-8 becomes the replacement character.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        size = 0
        with open(self.bench.output(), "rb") as output:
            while chunk := output.read(1 << 16):
                size += len(decoder.decode(chunk).encode())
        return size + len(decoder.decode(b"", final=True).encode())

    def run(self, terms):
        """Returns the fate of each term, and the bytes of evidence for the kept terms."""
        sizes = {term: self.ripgrep([term]) for term in terms}
        usable = [term for term in terms if sizes[term] <= TERM_BYTES]
        fates = {term: "dropped" if term in usable else "too_broad" for term in terms}
        evidence = 0
        while usable:
            evidence = self.ripgrep(usable)
            if evidence < EVIDENCE_BYTES:
                break
            usable.pop()
        fates.update((term, "kept") for term in usable)
        # A term without a match adds nothing to the evidence. Forage reports it with its own fate.
        fates.update((term, "no_hits") for term in terms if sizes[term] == 0)
        return fates, evidence if usable else 0


def procedure_sample(bench, rg, terms):
    """Runs the procedure and returns one sample. Only the processes count, not the work of this script."""
    procedure = Procedure(bench, rg)
    procedure.run(terms)
    samples = procedure.samples
    return Sample(
        sum(sample.wall for sample in samples),
        sum(sample.cpu for sample in samples),
        max(sample.peak_rss for sample in samples),
        0,
    )


def check(bench, options, query, terms):
    """Compares the decisions. Returns the number of ripgrep runs, the fates, the bytes of evidence, and the differences."""
    procedure = Procedure(bench, options.rg)
    fates, evidence = procedure.run(terms)
    bench.run([options.forage, *KEYWORD, "--json", query, *terms], "records")
    try:
        records = json.loads(bench.output("records").read_bytes())
        ours = {record["term"]: record["fate"] for record in records["terms"]}
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"forage keyword --json prints no records with terms[].term and .fate: {error!r}")
    differences = [
        f"{term!r}: forage says {ours.get(term, 'nothing')}, the procedure {fate}"
        for term, fate in fates.items()
        if ours.get(term) != fate
    ]
    if records.get("evidence_bytes", evidence) != evidence:
        differences.append(f"forage counts {records['evidence_bytes']} bytes of evidence, the procedure {evidence}")
    return len(procedure.samples), fates, evidence, differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options = arguments(parser)
    bench = Bench(options.tree)
    results = Results("keywords", bench, options, "terms", "evidence bytes")
    fate_rows = []
    for name, query, terms in SETS:
        print(f"{name}: {', '.join(terms)}", file=sys.stderr)
        processes, fates, evidence, differences = check(bench, options, query, terms)
        if differences:
            results.differ(name, "\n  " + "\n  ".join(differences))
            continue
        for fate in ("kept", "dropped", "too_broad", "no_hits"):
            matching = ", ".join(f"`{term}`" for term in terms if fates[term] == fate)
            if matching:
                fate_rows.append([name, fate.replace("_", " "), matching])
        command = [options.forage, *KEYWORD, query, *terms]
        series = in_turn(
            options.runs,
            {
                "forage keyword": lambda c=command: bench.run(c),
                f"procedure, {processes} × rg": lambda t=terms: procedure_sample(bench, options.rg, t),
            },
        )
        results.add(name, f"{evidence:,}", series, "forage keyword")
    results.add_table("What became of the terms, the same on both sides:", ["terms", "fate", ""], fate_rows)
    return results.end()


if __name__ == "__main__":
    sys.exit(main())
