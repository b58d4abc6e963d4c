#!/usr/bin/env python3
"""Times `forage keyword` against the procedure that it computes in one pass, run with real ripgrep processes.

The procedure: one `rg` for each term, where a term with more than 64 KiB of output is too broad; then one `rg` for all
that are left, and as long as that prints 128 KiB or more, the least important term is dropped and `rg` runs again.
Before anything is timed, both must agree on what becomes of every term. No model is asked: `--filter lexical`; the rule is asked for: `--breadth requirement`.
"""

import argparse
import codecs
import json
import sys

sys.dont_write_bytecode = True  # nothing is left behind in the sources
from measure import Bench, Results, Sample, arguments, in_turn

TERM_BYTES = 64 * 1024
EVIDENCE_BYTES = 128 * 1024

# The rule that the procedure is.
KEYWORD = ["keyword", "--filter", "lexical", "--breadth", "requirement"]

# Name, query, terms in order of importance: for the Linux sources.
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
    """The requirement's procedure, with its process times added up."""

    def __init__(self, bench, rg):
        self.bench, self.rg = bench, rg
        self.samples = []

    def ripgrep(self, terms):
        """The bytes that ripgrep prints for `terms`; none if nothing matches."""
        options = ["--no-config", "-C", "10", "-i", "--line-number", "--with-filename"]
        patterns = [argument for term in terms for argument in ("-e", term)]
        self.samples.append(self.bench.run([self.rg, *options, *patterns]))
        # The procedure measures text: what is not UTF-8 counts as the replacement character.
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        size = 0
        with open(self.bench.output(), "rb") as output:
            while chunk := output.read(1 << 16):
                size += len(decoder.decode(chunk).encode())
        return size + len(decoder.decode(b"", final=True).encode())

    def run(self, terms):
        """What becomes of each term, and the bytes of evidence for those that are kept."""
        alone = {term: self.ripgrep([term]) for term in terms}
        usable = [term for term in terms if alone[term] <= TERM_BYTES]
        fates = {term: "dropped" if term in usable else "too_broad" for term in terms}
        evidence = 0
        while usable:
            evidence = self.ripgrep(usable)
            if evidence < EVIDENCE_BYTES:
                break
            usable.pop()
        fates.update((term, "kept") for term in usable)
        # A term without a match adds nothing to the evidence; forage calls it by its name.
        fates.update((term, "no_hits") for term in terms if alone[term] == 0)
        return fates, evidence if usable else 0


def procedure_sample(bench, rg, terms):
    """One run of the procedure as one sample. Only the processes count, not what is done here in between."""
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
    """Compares the decisions. Gives the number of ripgrep runs, the fates, the evidence's bytes, and what differs."""
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
            of_this_fate = ", ".join(f"`{term}`" for term in terms if fates[term] == fate)
            if of_this_fate:
                fate_rows.append([name, fate.replace("_", " "), of_this_fate])
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
