"""`python -m benchmarks.strings`: strings planted around the planned share, found by real reports; cost of decoding.

`certify_cpu_s` is what it takes to count 1,000 strings in all reports of the held-out level and to certify them.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from typing import Any

import numpy as np

from benchmarks.strings.planted import Planted
from sordino_analysis.strings.certification import certify
from sordino_analysis.strings.search import find_strings, held_out_counts

# ε, devices, bits of code, beam.
CELLS = (
    ("1", 1_000_000, 48, 300),
    ("1", 1_000_000, 48, 1000),
    ("1", 1_000_000, 48, 3000),
    ("4", 200_000, 48, 300),
    ("4", 1_000_000, 48, 300),
    ("6", 200_000, 48, 300),
    ("6", 1_000_000, 48, 300),
    ("2", 1_000_000, 96, 1000),
)
_CERTIFIED = 1000


def measured(epsilon: str, users: int, depth: int, beam: int, seed: int) -> dict[str, Any]:
    """One campaign: 24 strings of .6 to 1.25 times the planned share among 4,000 rare ones."""
    drawn = Planted.of(epsilon, users, depth, beam, seed)
    before = time.process_time()
    found = find_strings(drawn.strings, drawn.reports, beam, drawn.plan.error, drawn.plan.sought)
    seconds, true = time.process_time() - before, drawn.true_shares()
    listed = [code for code, sure in zip(found.codes, found.certified.certified.tolist(), strict=True) if sure]
    return {
        "epsilon": epsilon,
        "users": users,
        "bits": depth,
        "beam": beam,
        "planned": drawn.share,
        "listed": len(listed),
        "false": sum(code not in true for code in listed),
        "largest_missed": max(share for code, share in true.items() if code not in listed),
        "cpu_s": round(seconds, 2),
        "certify_cpu_s": round(_certifying(drawn), 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "report_bytes": drawn.strings.randomizer.payload_bytes,
    }


def _certifying(drawn: Planted) -> float:
    before = time.process_time()
    counts = held_out_counts(drawn.strings, drawn.reports, drawn.codes[:_CERTIFIED])
    certify(counts, drawn.strings.chances, np.full(_CERTIFIED, 1 / _CERTIFIED), drawn.plan.error)
    return time.process_time() - before


def main() -> None:
    """Print a line of JSON for each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for cell in CELLS:
        print(json.dumps(measured(*cell, given.seed)), flush=True)


if __name__ == "__main__":
    main()
