"""Moments and answers of grids on 4 × 3 types against every offset, matrix and report, in rationals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.law import PlaneLaw
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel

SHAPE = (4, 3)
TYPES = list(product(range(4), range(3)))
HIGH, LOW = 3, 1
Report = tuple[Fraction, list[Fraction]]
# (widths, hits, label bits) of hashed levels; (widths, residues) of combs.
HASHED = [((1, 2), 1, 2), ((2, 3), 3, 2), ((3, 0), 1, 2), ((0, 2), 1, 1), ((7, 1), 1, 1)]
COMBS = [((1, 1), (2, 2)), ((2, 1), (3, 2)), ((3, 0), (2, 1)), ((0, 2), (1, 3)), ((5, 2), (2, 4))]


def _likelihoods(hits: int, labels: int) -> tuple[Fraction, Fraction]:
    mass = hits * HIGH + (labels - hits) * LOW
    return Fraction(labels * HIGH, mass), Fraction(labels * LOW, mass)


def _cells(widths: tuple[int, int]) -> list[list[tuple[int, int]]]:
    """The coordinates of every type, for every pair of offsets; 0 on an attribute that is left out."""
    offsets = product(*(range(max(1, width)) for width in widths))
    return [
        [tuple((x + o) // w if w else 0 for x, o, w in zip(point, both, widths, strict=True)) for point in TYPES]  # type: ignore[misc]  # pairs
        for both in offsets
    ]


def _hashed_reports(widths: tuple[int, int], hits: int, bits: int) -> list[Report]:
    """(chance of an even draw, u of every type) of every pair of offsets, matrix and y."""
    counts = [(size + w - 2) // w + 1 if w else 1 for size, w in zip(SHAPE, widths, strict=True)]
    cell_bits = max(1, (math.prod(counts) - 1).bit_length())
    matrices = list(product(range(1 << cell_bits), repeat=bits))
    cells = _cells(widths)
    high, low = _likelihoods(hits, 1 << bits)
    chance = Fraction(1, len(cells) * len(matrices) << bits)
    found = []
    for points, rows, y in product(cells, matrices, range(1 << bits)):
        numbers = [a * counts[1] + b for a, b in points]
        labels = [sum(((row & cell).bit_count() % 2) << bit for bit, row in enumerate(rows)) for cell in numbers]
        found.append((chance, [high if label ^ y < hits else low for label in labels]))
    return found


def _comb_reports(widths: tuple[int, int], residues: tuple[int, int]) -> list[Report]:
    """The same of a comb."""
    cells, labels = _cells(widths), math.prod(residues)
    high, low = _likelihoods(1, labels)
    chance = Fraction(1, len(cells) * labels)
    return [
        (chance, [high if (a % residues[0], b % residues[1]) == told else low for a, b in points])
        for points, told in product(cells, product(*map(range, residues)))
    ]


def _level(widths: tuple[int, int], hits: int, labels: int, residues: tuple[int, int] | None = None) -> PlaneLevel:
    high, low = map(float, _likelihoods(hits, labels))
    return PlaneLevel(chance=1.0, widths=widths, labels=labels, hits=hits, high=high, low=low, residues=residues)


CASES = [(_level(w, hits, 1 << bits), ("hashed", w, hits, bits)) for w, hits, bits in HASHED] + [
    (_level(w, 1, math.prod(g), g), ("comb", w, g)) for w, g in COMBS
]


@cache
def _reports(case: tuple) -> tuple[Report, ...]:
    """Reports that are alike in every type are put together."""
    listed = _hashed_reports(*case[1:]) if case[0] == "hashed" else _comb_reports(*case[1:])
    together: dict[tuple[Fraction, ...], Fraction] = {}
    for chance, u in listed:
        together[tuple(u)] = together.get(tuple(u), Fraction(0)) + chance
    return tuple((chance, list(u)) for u, chance in together.items())


@pytest.mark.parametrize(("level", "case"), CASES)
def test_the_kernel_is_that_of_every_report(level: PlaneLevel, case: tuple) -> None:
    reports = _reports(case)
    kernel = level.kernel(SHAPE)
    for x, z in product(range(12), repeat=2):
        expected = sum((chance * u[x] * (u[z] - 1) for chance, u in reports), Fraction(0))
        apart = tuple(abs(a - b) for a, b in zip(TYPES[x], TYPES[z], strict=True))
        assert kernel[apart] == pytest.approx(float(expected), abs=1e-13)


@pytest.mark.parametrize(("level", "case"), CASES)
def test_second_moments_are_those_of_every_report(level: PlaneLevel, case: tuple) -> None:
    weights = [3, -1, 4, 1, -5, 2, 6, 0, -2, 7, 1, -3]
    expected = [Fraction(0)] * 12
    for chance, u in _reports(case):
        square = sum(b * (v - 1) for b, v in zip(weights, u, strict=True)) ** 2
        expected = [old + chance * v * square for old, v in zip(expected, u, strict=True)]
    found = level.second_moments(np.array(weights, dtype=float).reshape(SHAPE))
    np.testing.assert_allclose(found.ravel(), np.array(expected, dtype=float), rtol=1e-12)


def test_answers_are_unbiased_and_vary_as_stated_over_every_report() -> None:
    chosen = [(CASES[place], share) for place, share in ((0, 0.3), (1, 0.2), (2, 0.15), (5, 0.2), (8, 0.15))]
    law = PlaneLaw([replace(level, chance=share) for (level, _), share in chosen], SHAPE)
    for query in (np.outer([1, 1, 0, 0], [1, 1, 0]), np.outer([1, 0, 0, 0], [1, 1, 1]), np.arange(12.0).reshape(SHAPE)):
        queries = query.astype(float)[None]
        beta = law.weights(queries)[0]
        first, second = np.zeros((2, 12))
        for (level, case), share in chosen:
            for chance, u in _reports(case):
                likelihoods = np.array(u, dtype=float)
                counted = beta.sum() + level.factor(SHAPE) * float(beta.ravel() @ (likelihoods - 1))
                first += share * float(chance) * likelihoods * counted
                second += share * float(chance) * likelihoods * counted**2
        np.testing.assert_allclose(first, query.ravel(), atol=1e-9)
        np.testing.assert_allclose(law.variances(queries).ravel(), second - first**2, rtol=1e-8)


def test_a_histogram_is_decoded_as_its_queries_are() -> None:
    law = PlaneLaw([replace(CASES[0][0], chance=0.6), replace(CASES[6][0], chance=0.4)], SHAPE)
    random = np.random.default_rng(1)
    excess, query = 0.1 * random.standard_normal(SHAPE), random.standard_normal(SHAPE)
    beta = law.weights(query[None])[0]
    answer = float(beta.sum() + (beta * excess).sum())
    assert float((query * law.histogram(excess)).sum()) == pytest.approx(answer, rel=1e-9)
