"""Moments of a level against every offset, matrix and report, in rationals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.levels import GridLevel, WindowSums

SIZE = 6
HIGH, LOW = 3, 1
# (width, hits, label bits) of hashed levels; (width, hits, labels) of combs.
HASHED = [(1, 1, 1), (2, 1, 2), (3, 3, 2), (5, 1, 2), (11, 1, 1)]
COMBS = [(1, 1, 2), (1, 1, 3), (2, 2, 5), (3, 1, 2), (4, 1, 3), (9, 1, 2)]

Report = tuple[Fraction, list[Fraction]]


def _likelihoods(hits: int, labels: int) -> tuple[Fraction, Fraction]:
    mass = hits * HIGH + (labels - hits) * LOW
    return Fraction(labels * HIGH, mass), Fraction(labels * LOW, mass)


def _report(shifted: list[int], hits: int, labels: int, chance: Fraction) -> Report:
    high, low = _likelihoods(hits, labels)
    return chance, [high if one < hits else low for one in shifted]


def _parity(word: int) -> int:
    return word.bit_count() % 2


def hashed_reports(width: int, hits: int, bits: int) -> list[Report]:
    """(chance of an even draw, u of every type) of every offset, matrix and y."""
    cell_bits = ((SIZE + width - 2) // width).bit_length()
    matrices = list(product(range(1 << cell_bits), repeat=bits))
    chance = Fraction(1, width * len(matrices) << bits)
    found = []
    for offset, rows, y in product(range(width), matrices, range(1 << bits)):
        cells = [(x + offset) // width for x in range(SIZE)]
        labels = [sum(_parity(row & cell) << bit for bit, row in enumerate(rows)) for cell in cells]
        found.append(_report([label ^ y for label in labels], hits, 1 << bits, chance))
    return found


def comb_reports(width: int, hits: int, labels: int) -> list[Report]:
    """The same of a comb."""
    found = []
    for offset, y in product(range(width), range(labels)):
        shifted = [((x + offset) // width - y) % labels for x in range(SIZE)]
        found.append(_report(shifted, hits, labels, Fraction(1, width * labels)))
    return found


def _kernel(reports: list[Report]) -> list[list[Fraction]]:
    """E[u_x' − 1 | x]."""
    pairs = [[(x, z) for z in range(SIZE)] for x in range(SIZE)]
    return [[sum((c * u[x] * (u[z] - 1) for c, u in reports), Fraction(0)) for x, z in row] for row in pairs]


def _second_moments(reports: list[Report], weights: list[int]) -> list[Fraction]:
    squares = [(c, u, sum(b * (v - 1) for b, v in zip(weights, u, strict=True)) ** 2) for c, u in reports]
    return [sum((c * u[x] * square for c, u, square in squares), Fraction(0)) for x in range(SIZE)]


def level_of(width: int, hits: int, labels: int, *, hashed: bool) -> GridLevel:
    high, low = map(float, _likelihoods(hits, labels))
    return GridLevel(chance=1.0, width=width, labels=labels, hits=hits, high=high, low=low, hashed=hashed)


CASES = [
    *(
        (level_of(width, hits, 1 << bits, hashed=True), hashed_reports(width, hits, bits))
        for width, hits, bits in HASHED
    ),
    *((level_of(*comb, hashed=False), comb_reports(*comb)) for comb in COMBS),
]


@pytest.mark.parametrize(("level", "reports"), CASES)
def test_likelihoods_of_every_type_sum_to_one(level: GridLevel, reports: list[Report]) -> None:
    assert all(sum(chance * u[x] for chance, u in reports) == 1 for x in range(SIZE))


@pytest.mark.parametrize(("level", "reports"), CASES)
def test_the_kernel_is_that_of_every_report(level: GridLevel, reports: list[Report]) -> None:
    expected = np.array(_kernel(reports), dtype=float)
    distances = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE)))
    np.testing.assert_allclose(level.kernel(SIZE)[distances], expected, atol=1e-13)


@pytest.mark.parametrize(("level", "reports"), CASES)
def test_second_moments_are_those_of_every_report(level: GridLevel, reports: list[Report]) -> None:
    weights = [3, -1, 4, 1, -5, 2]
    found = level.second_moments(WindowSums.of(np.array(weights, dtype=float)))
    np.testing.assert_allclose(found, np.array(_second_moments(reports, weights), dtype=float), rtol=1e-13)


def test_the_factor_is_the_mean_of_second_moments_over_those_off_the_cell() -> None:
    level = level_of(2, 1, 4, hashed=True)
    sums = WindowSums.of(np.random.default_rng(0).standard_normal(500))
    own = level.second_moments(sums).mean()
    off = level.spread * (sums.windows(2) ** 2).sum() / 2
    assert own * level.factor(500) == pytest.approx(off, rel=2e-3)
