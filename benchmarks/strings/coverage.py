"""`python -m benchmarks.strings.coverage`: how often lists are right and intervals hold, over many campaigns.

Each campaign has strings of .6 to 1.25 times the planned share among many rare ones. A list is wrong where it has a
string that no reporter holds; intervals of a campaign hold where each has the true share of the reporters. The plan
allows 2.5 % of each.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.strings.planted import Planted
from sordino_analysis.strings.search import find_strings

# ε, devices, bits of code, beam.
CELLS = (("4", 20_000, 48, 100), ("4", 20_000, 24, 100), ("2", 200_000, 96, 100), ("1", 300_000, 48, 100))


def covered(epsilon: str, users: int, depth: int, beam: int, campaigns: int, seed: int) -> dict[str, Any]:
    """Counts over some campaigns, each with a salt and strings of its own."""
    wrong = missed = listed = 0
    before = time.process_time()
    for campaign in range(campaigns):
        drawn = Planted.of(epsilon, users, depth, beam, seed + campaign)
        found = find_strings(drawn.strings, drawn.reports, beam, drawn.plan.error, drawn.plan.sought)
        true = drawn.true_shares()
        shares = np.array([true.get(code, 0.0) for code in found.codes])
        low, high = found.certified.interval.T
        sure = found.certified.certified
        listed += int(sure.sum())
        wrong += bool((sure & (shares == 0)).any())
        missed += bool(((shares < low) | (high < shares)).any())
    return {
        "epsilon": epsilon,
        "users": users,
        "bits": depth,
        "beam": beam,
        "campaigns": campaigns,
        "wrong_lists": wrong,
        "campaigns_with_an_interval_that_fails": missed,
        "listed": listed,
        "cpu_s": round(time.process_time() - before, 1),
    }


def main() -> None:
    """Print a line of JSON for each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for cell in CELLS:
        print(json.dumps(covered(*cell, given.campaigns, given.seed)), flush=True)


if __name__ == "__main__":
    main()
