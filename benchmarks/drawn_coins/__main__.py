"""Fake reports against prefix sums over many bins: those that choose their coins, and those that get drawn ones.

    sordino plan --workload prefix --size 1024 --epsilon 1 --objective mean --output prefix
    python -m benchmarks.drawn_coins prefix

Each cheat raises one answer: it sends the output that adds most to it. With a token it has one coin, and picks the best
output that the coin leaves; without, it picks the best of all the coins that it tried.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.manipulation import drawn_manipulation
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.protocol import DevicePart
from sordino_shared.randomness import CoinStream, ShakeRandomness

# So many draws of the device's own part reach every label of a few.
_LABELS = 24


def answers_of(device: DevicePart, estimator: LinearEstimator, number: int) -> np.ndarray:
    """(outputs, Q) what one report adds to each answer, of the outputs that a coin leaves."""
    seed, size = b"benchmark" + number.to_bytes(4, "big"), device.domain.size
    payloads = {
        device.randomizer.randomize(secret * 43 % size, ShakeRandomness(secret), CoinStream(seed))
        for secret in range(_LABELS)
    }
    sums = (accumulate(device.randomizer, np.frombuffer(payload, dtype=np.uint8)[None]) for payload in payloads)
    return np.array([np.asarray(estimator.unbiased(Aggregate(1, each))) for each in sums])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plan", type=Path, help="a folder of `sordino plan --output`")
    parser.add_argument("--coins", type=int, default=400)
    given = parser.parse_args()
    device = DevicePart.read((given.plan / "device.cbor").read_bytes())
    analyst = AnalystPart.read((given.plan / "analyst.cbor").read_bytes())
    estimator = LinearEstimator.of(device, analyst)
    workload = build_workload(device.domain, analyst.queries)
    least, most = workload.operator.entry_range()
    # The listed queries, which grids have answers for.
    moves = []
    for number in range(given.coins):
        found = answers_of(device, estimator, number)
        moves.append(np.maximum(found.max(axis=0) - least, most - found.min(axis=0)))
    table = np.array(moves)
    bound = drawn_manipulation(device, analyst, workload)
    error = table.std(axis=0).max() / np.sqrt(given.coins)
    print(f"chosen coins: at most {bound.most:.2f} times the share, met {table.max():.2f}")
    print(f"drawn coins: at most {bound.mean:.2f}, met {table.mean(axis=0).max():.2f} ± {error:.2f}")


if __name__ == "__main__":
    main()
