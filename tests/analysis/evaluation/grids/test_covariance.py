"""The covariance of decoded histograms against every offset, map and label in rationals, and against variances."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.covariance import GridCovariance
from sordino_analysis.evaluation.grids.families import RangeFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.mechanisms.grid_levels import designed_levels

TYPES = 12
Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Listed:
    """A level in rationals: a hashed one has 2^bits labels, a comb `labels`."""

    chance: Fraction
    width: int
    hits: int
    labels: int
    ratio: Fraction
    hashed: bool

    @property
    def likelihoods(self) -> tuple[Fraction, Fraction]:
        mass = self.hits * self.ratio + self.labels - self.hits
        return self.labels * self.ratio / mass, self.labels / mass

    @property
    def factor(self) -> Fraction:
        if not self.hashed:
            return Fraction(1)
        (high, low), density = self.likelihoods, Fraction(self.hits, self.labels)
        even = density * (high - 1) ** 2 + (1 - density) * (low - 1) ** 2
        own = density * high * (high - 1) ** 2 + (1 - density * high) * (low - 1) ** 2
        return 1 / (1 + (own / even - 1) * min(Fraction(1), Fraction(self.width, TYPES)))

    def reports(self) -> dict[int, int]:
        """How many of all offsets, maps and labels have the same set of types."""
        found: dict[int, int] = {}
        cell_bits = ((TYPES + self.width - 2) // self.width).bit_length()
        bits = (self.labels - 1).bit_length()
        maps = product(range(1 << cell_bits), repeat=bits) if self.hashed else [()]
        for rows, offset in product(list(maps), range(self.width)):
            cells = [(x + offset) // self.width for x in range(TYPES)]
            own = [sum(((row & c).bit_count() % 2) << bit for bit, row in enumerate(rows)) for c in cells]
            for y in range(self.labels):
                shifted = [one ^ y for one in own] if self.hashed else [(c - y) % self.labels for c in cells]
                held = sum((one < self.hits) << x for x, one in enumerate(shifted))
                found[held] = found.get(held, 0) + 1
        return found

    def shipped(self) -> GridLevel:
        high, low = map(float, self.likelihoods)
        return GridLevel(
            chance=float(self.chance),
            width=self.width,
            labels=self.labels,
            hits=self.hits,
            high=high,
            low=low,
            hashed=self.hashed,
        )


def _levels(epsilon: float) -> list[Listed]:
    ratio = Fraction(math.exp(epsilon)).limit_denominator(100)
    shapes = [(1, 1, 4, True), (3, 3, 4, True), (2, 2, 3, False), (5, 1, 2, True)]
    chances = [Fraction(share, 10) for share in (4, 3, 2, 1)]
    return [Listed(chance, *shape[:3], ratio, shape[3]) for chance, shape in zip(chances, shapes, strict=True)]


def _enumerated(levels: list[Listed], shares: list[Fraction] | None) -> Matrix:
    """The covariance of one report's histogram, from the decoder's definition and from every report."""
    moments = [[Fraction(0)] * TYPES for _ in range(TYPES)]
    means = [[Fraction(0)] * TYPES for _ in range(TYPES)]
    for level in levels:
        pairs, triples, scale = _sums_over_reports(level, shares)
        for i, j in product(range(TYPES), repeat=2):
            means[i][j] += scale * level.factor * pairs[i][j]
            moments[i][j] += scale * level.factor**2 * triples[i][j]
    if shares is not None:
        for i, j in product(range(TYPES), repeat=2):
            moments[i][j] -= sum(means[x][i] * shares[x] * means[x][j] for x in range(TYPES))
    inverse = _inverse([[1 + each for each in row] for row in means])
    flat = [sum(row) for row in inverse]
    whole = sum(flat)
    centre = [(2 * one - Fraction(1, TYPES)) / (2 * whole - 1) for one in flat]
    decode = [[inverse[i][j] - centre[i] * flat[j] for j in range(TYPES)] for i in range(TYPES)]
    return _times(_times(decode, moments), [list(row) for row in zip(*decode, strict=True)])


def _sums_over_reports(level: Listed, shares: list[Fraction] | None) -> tuple[Matrix, Matrix, Fraction]:
    """Σ u_i (u_j − 1) and Σ ⟨h, u⟩ (u_i − 1)(u_j − 1), summed in whole numbers, and the chance of one report."""
    (high, low), reports = level.likelihoods, level.reports()
    whole, parts = math.lcm(high.denominator, low.denominator), 1
    held_by = [1] * TYPES
    if shares is not None:
        parts = math.lcm(*(share.denominator for share in shares))
        held_by = [int(share * parts) for share in shares]
    pairs, triples = [[0] * TYPES for _ in range(TYPES)], [[0] * TYPES for _ in range(TYPES)]
    for held, times in reports.items():
        u = [int((high if held >> x & 1 else low) * whole) for x in range(TYPES)]
        less = [one - whole for one in u]
        drawn = whole * parts if shares is None else sum(map(int.__mul__, held_by, u))
        for i in range(TYPES):
            of_pair, of_triple = times * u[i], times * drawn * less[i]
            for j in range(TYPES):
                pairs[i][j] += of_pair * less[j]
                triples[i][j] += of_triple * less[j]
    scale = level.chance / sum(reports.values())
    scaled = [[Fraction(one, whole**2) for one in row] for row in pairs]
    return scaled, [[Fraction(one, whole**3 * parts) for one in row] for row in triples], scale


def _inverse(matrix: Matrix) -> Matrix:
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for place in range(size):
        rows[place] = [each / rows[place][place] for each in rows[place]]
        for other in range(size):
            if other != place:
                share = rows[other][place]
                rows[other] = [a - share * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [row[size:] for row in rows]


def _times(one: Matrix, other: Matrix) -> Matrix:
    columns = list(zip(*other, strict=True))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in one]


@pytest.mark.parametrize(("epsilon", "of_users"), [(0.5, True), (4.0, True), (8.0, True), (4.0, False)])
def test_the_covariance_is_that_of_every_report(epsilon: float, of_users: bool) -> None:
    levels = _levels(epsilon)
    shares = [Fraction(one, 30) for one in (9, 0, 1, 2, 0, 0, 3, 5, 1, 0, 8, 1)]
    law = GridLaw([level.shipped() for level in levels], TYPES)
    found = GridCovariance(law, np.array(shares, dtype=float) if of_users else None).matrix()
    expected = np.array(_enumerated(levels, shares if of_users else None), dtype=float)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
    assert np.abs(found.sum(axis=1)).max() < 1e-12 * np.abs(expected).max()


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_its_forms_are_the_exact_variances(epsilon: float) -> None:
    size, random = 256, np.random.default_rng(5)
    law = GridLaw(designed_levels(RangeFamily(size, size), epsilon), size)
    queries = (random.random((200, size)) < random.random((200, 1))).astype(float)
    histogram = random.dirichlet(np.full(size, 0.1))
    forms = (GridCovariance(law, histogram).product(queries) * queries).sum(axis=1)
    np.testing.assert_allclose(forms, law.variances(queries) @ histogram, rtol=1e-9)
    even = (GridCovariance(law, None).product(queries) * queries).sum(axis=1)
    np.testing.assert_allclose(even, law.blanket(queries)[1], rtol=1e-9)


def test_it_is_linear_in_the_shares() -> None:
    law = GridLaw([replace(level.shipped(), chance=0.25) for level in _levels(1.0)], TYPES)
    first, second = np.eye(TYPES)[0], np.full(TYPES, 1 / TYPES)
    mixed = GridCovariance(law, 0.3 * first + 0.7 * second).matrix()
    apart = 0.3 * GridCovariance(law, first).matrix() + 0.7 * GridCovariance(law, second).matrix()
    np.testing.assert_allclose(mixed, apart, atol=1e-11 * np.abs(mixed).max())
