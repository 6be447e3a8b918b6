"""False alarms of `sordino audit --empirical` over correct samplers, and how often it finds broken ones.

    python -m benchmarks.empirical_audit [--runs 200]

A bound above the claim is a false alarm of a correct sampler, and a find of a broken one. Five of 100 runs may err.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from time import process_time

from sordino_analysis.conformance.empirical import Sampler, empirical_bound, reference_sampler
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import RandomizedResponse, SubsetSelection
from tests.analysis.conformance.samplers import (
    ONE,
    direction_part,
    drawn_again,
    label_chosen,
    label_part,
    part_of,
    table_part,
    transposed,
)

_RUNS, _BROKEN_RUNS = 200, 20
Broken = Callable[[DevicePart, int], Sampler]


def _response(size: int) -> DevicePart:
    return part_of(RandomizedResponse.for_guarantee(size, ONE), size)


def _subset() -> DevicePart:
    return part_of(SubsetSelection(8, 2, 60, int(2**60 * 0.47)), 8)


# Name, part, draws of one run.
_CORRECT: tuple[tuple[str, DevicePart, int], ...] = (
    ("randomised response, 2 values", _response(2), 20_000),
    ("randomised response, 16 values", _response(16), 20_000),
    ("subset selection, 8 values", _subset(), 20_000),
    ("directions, 16 values", direction_part(), 20_000),
    ("table of 8 values", table_part(), 20_000),
    ("labels, 16 values", label_part(), 20_000),
)
_FAULTS: tuple[tuple[str, DevicePart, Broken, int], ...] = (
    ("the seed is drawn again", direction_part(), drawn_again, 20_000),
    ("the table is transposed", table_part(), transposed, 40_000),
    ("the label is chosen", label_part(), label_chosen, 20_000),
    ("the same with the default of 100,000", label_part(), label_chosen, 100_000),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=_RUNS, help="runs of each correct sampler")
    runs = parser.parse_args(arguments).runs
    os.nice(10)
    print(
        "| correct sampler | draws | runs | above the claim | mean bound ÷ claim | CPU-s |\n|---|---|---|---|---|---|"
    )
    for name, part, draws in _CORRECT:
        begun = process_time()
        found = [empirical_bound(part, reference_sampler(part, 1000 + run), draws, run) for run in range(runs)]
        alarms = sum(not each.holds for each in found)
        share = sum(each.bound / each.claimed for each in found) / runs
        print(f"| {name} | {draws:,} | {runs} | {alarms} | {share:.3f} | {process_time() - begun:.0f} |", flush=True)
    print("\n| fault | draws | runs | found | least bound, of ε = 1 |\n|---|---|---|---|---|")
    for name, part, broken, draws in _FAULTS:
        found = [empirical_bound(part, broken(part, 1 + run), draws, run) for run in range(_BROKEN_RUNS)]
        finds = sum(not each.holds for each in found)
        least = min(each.bound for each in found)
        print(f"| {name} | {draws:,} | {_BROKEN_RUNS} | {finds} | {least:.2f} |", flush=True)


if __name__ == "__main__":
    main()
