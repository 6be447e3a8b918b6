"""`python -m benchmarks.strings.redrawn`: how often a list of many reports is wrong, by new draws of one level.

The levels that choose are drawn once, which fixes the candidates and their weights. The held-out level is then drawn
again and again, of the same devices, and certifies the same candidates. The plan allows a wrong list in 2.5 % of the
draws, and an interval that fails in as many.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

from benchmarks.strings.planted import Planted
from sordino_analysis.evaluation.coarsened.cell_counts import cell_counts
from sordino_analysis.strings.certification import certify, weights_of
from sordino_analysis.strings.held_out import HeldOutCounts
from sordino_analysis.strings.reports import HELD_OUT
from sordino_analysis.strings.search import find_strings
from sordino_analysis.vectorized.coarsened.levels import draw_level, split_fields
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers.coarsened.level import Weights

# ε, devices, bits of code, beam.
CELLS = (("4", 1_000_000, 48, 300), ("2", 1_000_000, 96, 1000))


def redrawn(epsilon: str, users: int, depth: int, beam: int, draws: int, seed: int) -> dict[str, Any]:
    """Counts over draws of the held-out level of one campaign."""
    drawn = Planted.of(epsilon, users, depth, beam, seed)
    found = find_strings(drawn.strings, drawn.reports, beam, drawn.plan.error, drawn.plan.sought)
    text, randomizer, chances = drawn.strings.text, drawn.strings.randomizer, drawn.strings.chances
    level, weights = randomizer.levels[HELD_OUT], Weights(randomizer.low, randomizer.high)
    candidates = np.array([text.index_of(code) for code in found.codes], dtype=np.uint64)
    held = np.array([text.index_of(code) for code in drawn.codes], dtype=np.uint64)
    true = drawn.true_shares()
    shares = np.array([true.get(code, 0.0) for code in found.codes])
    rng, before, wrong, missed, matches = np.random.default_rng(seed + 1), time.process_time(), 0, 0, 0
    for draw in range(draws):
        members = np.zeros((found.counts.reports, len(randomizer.sizes)), dtype=np.uint64)
        members[:, HELD_OUT] = held[rng.choice(drawn.holders, size=len(members), replace=False)]
        fields = draw_level(level, randomizer.sizes, members, weights, SeededRandomness((seed << 30) + draw))
        again = split_fields(level, randomizer.sizes, fields)
        counts = cell_counts(level, level.shape(randomizer.sizes), again, candidates)
        sure = certify(HeldOutCounts(counts, len(again)), chances, weights_of(found.paths.chances), drawn.plan.error)
        low, high = sure.interval.T
        wrong += bool((sure.certified & (shares == 0)).any())
        missed += bool(((shares < low) | (high < shares)).any())
        matches += int(counts[shares == 0].sum())
    nobodys, other = int((shares == 0).sum()), float(chances.other)
    expected = nobodys * found.counts.reports * draws * other
    # Of two strings that nobody holds matches are independent, so that the variances add up.
    beyond = (matches - expected) / (expected * (1 - other)) ** 0.5
    return {
        "epsilon": epsilon,
        "users": users,
        "bits": depth,
        "candidates": len(shares),
        "held_by_nobody": nobodys,
        "draws": draws,
        "wrong_lists": wrong,
        "draws_with_an_interval_that_fails": missed,
        "false_matches_beyond_q_in_standard_errors": round(beyond, 2),
        "cpu_s": round(time.process_time() - before, 1),
    }


def main() -> None:
    """Print a line of JSON for each cell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for cell in CELLS:
        print(json.dumps(redrawn(*cell, given.draws, given.seed)), flush=True)


if __name__ == "__main__":
    main()
