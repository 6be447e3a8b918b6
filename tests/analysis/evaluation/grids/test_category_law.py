"""Grids on categories and one ordered attribute against every offset, matrix and report, in rationals."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.category_families import CategoryFamily, CategoryPart
from sordino_analysis.evaluation.grids.category_law import CategoryLaw
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.evaluation.grids.category_means import category_mean_variances
from sordino_analysis.evaluation.grids.families import IntervalFamily, PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_shared.errors import InvalidValue

HIGH, LOW = 3, 1
Report = tuple[Fraction, tuple[Fraction, ...]]
Level = tuple[tuple[int, ...], int, int, int]
# (widths on the wire, hits, label bits, residues), on 3 categories × 6 bins; residues are those of a comb.
ONE = [((1, 2), 1, 2, 0), ((0, 3), 3, 2, 0), ((1, 0), 1, 2, 0), ((1, 1), 1, 1, 0), ((0, 2), 1, 0, 3)]
# The same on 2 × 4 × 2 types, the ordered attribute in the middle.
TWO = [((1, 2, 1), 1, 2, 0), ((1, 3, 0), 1, 1, 0), ((0, 2, 1), 1, 2, 0), ((0, 1, 0), 1, 1, 0), ((1, 0, 1), 1, 2, 0)]
DOMAINS = {"one": ((3, 6), 1, ONE), "two": ((2, 4, 2), 1, TWO)}


def _likelihoods(hits: int, labels: int) -> tuple[Fraction, Fraction]:
    mass = hits * HIGH + (labels - hits) * LOW
    return Fraction(labels * HIGH, mass), Fraction(labels * LOW, mass)


@cache
def reports_of(shape: tuple[int, ...], level: Level) -> tuple[Report, ...]:
    """(chance of an even draw, u of every type) of all offsets, matrices and y; what is alike is put together."""
    widths, hits, bits, residues = level
    counts = [(size + w - 2) // w + 1 if w else 1 for size, w in zip(shape, widths, strict=True)]
    cell_bits = max(1, (math.prod(counts) - 1).bit_length())
    labels = residues or 1 << bits
    high, low = _likelihoods(hits, labels)
    found: dict[tuple[Fraction, ...], Fraction] = {}
    offsets = list(product(*(range(max(1, width)) for width in widths)))
    matrices = [()] if residues else list(product(range(1 << cell_bits), repeat=bits))
    chance = Fraction(1, len(offsets) * len(matrices) * labels)
    for drawn in offsets:
        points = [
            [(x + o) // w if w else 0 for x, o, w in zip(point, drawn, widths, strict=True)]
            for point in product(*map(range, shape))
        ]
        cells = [int(np.ravel_multi_index(point, counts)) for point in points]
        for rows in matrices:
            told = [c % residues for c in cells] if residues else [_parity(rows, cell) for cell in cells]
            for y in range(labels):
                shifts = [(t - y) % residues if residues else t ^ y for t in told]
                u = tuple(high if shift < hits else low for shift in shifts)
                found[u] = found.get(u, Fraction(0)) + chance
    return tuple((share, u) for u, share in found.items())


def _parity(rows: tuple[int, ...], cell: int) -> int:
    return sum(((row & cell).bit_count() % 2) << bit for bit, row in enumerate(rows))


def level_of(level: Level, axis: int, chance: float) -> CategoryLevel:
    widths, hits, bits, residues = level
    labels = residues or 1 << bits
    high, low = map(float, _likelihoods(hits, labels))
    line = GridLevel(
        chance=chance, width=widths[axis] or 1, labels=labels, hits=hits, high=high, low=low, hashed=not residues
    )
    apart = tuple(bool(width) for place, width in enumerate(widths) if place != axis)
    made = CategoryLevel(line=line, axis=axis, apart=apart, whole=not widths[axis])
    assert made.widths == widths
    return made


def law_of(name: str) -> CategoryLaw:
    shape, axis, levels = DOMAINS[name]
    shares = (0.3, 0.25, 0.15, 0.2, 0.1)
    made = [level_of(level, axis, share) for level, share in zip(levels, shares, strict=True)]
    return CategoryLaw(made, shape)


def _matrix(law: CategoryLaw, levels: list[Level]) -> list[list[Fraction]]:
    """M by enumeration: 11ᵀ + Σ p f E[(u_x − 1)(u_z − 1)] of an even draw, for f as it is decoded with."""
    types = math.prod(law.shape)
    found = [[Fraction(1)] * types for _ in range(types)]
    for level, factor, made in zip(levels, law.factors, law.levels, strict=True):
        weight = Fraction(made.chance) * Fraction(factor)
        for chance, u in reports_of(law.shape, level):
            for x, z in product(range(types), repeat=2):
                found[x][z] += weight * chance * u[x] * (u[z] - 1)
    return found


@pytest.mark.parametrize("name", DOMAINS)
def test_the_matrix_is_that_of_every_offset_and_map(name: str) -> None:
    law, types = law_of(name), math.prod(DOMAINS[name][0])
    expected = np.array(_matrix(law, DOMAINS[name][2]), dtype=float)
    units = np.eye(types).reshape(types, *law.shape)
    inverse = np.stack([law.weights(unit[None] + 0.0).ravel() for unit in units], axis=1)
    # M β = v − ⟨a, v⟩ for each unit v.
    centre = np.array([law.classes(unit).total(law.classes(unit).values * law.centre) for unit in units])
    np.testing.assert_allclose(expected @ inverse, np.eye(types) - centre, atol=1e-12)


@pytest.mark.parametrize("name", DOMAINS)
def test_answers_are_unbiased_and_vary_as_stated_over_every_report(name: str) -> None:
    law, levels, random = law_of(name), DOMAINS[name][2], np.random.default_rng(1)
    one = np.zeros(law.shape)
    one[(0, slice(0, 2))] = 1.0
    for query in (one, np.ones(law.shape), random.integers(-3, 4, law.shape).astype(float)):
        beta, constant = law.weights(query[None]).ravel(), law.constants(query[None], query[None])[0]
        first, second = np.zeros((2, query.size))
        for level, factor, made in zip(levels, law.factors, law.levels, strict=True):
            for chance, u in reports_of(law.shape, level):
                likelihoods = np.array(u, dtype=float)
                counted = constant + factor * float(beta @ (likelihoods - 1))
                held = made.chance * float(chance) * likelihoods
                first += held * counted
                second += held * counted**2
        np.testing.assert_allclose(first, query.ravel(), atol=1e-12)
        np.testing.assert_allclose(law.variances(query[None]).ravel(), second - first**2, rtol=1e-10, atol=1e-12)
        assert law.class_bias(law.classes(query)) < 1e-12


def test_a_level_that_merges_two_cells_is_told_apart() -> None:
    """The page's trap: with one bit too few for a cell's number, M is another one."""
    law, levels = law_of("one"), [*ONE]
    merged = [((1, 4), 1, 2, 0), *levels[1:]]
    expected = np.array(_matrix(law, merged), dtype=float)
    unit = np.zeros(law.shape)
    unit[0, 0] = 1.0
    assert np.abs(expected @ law.weights(unit[None]).ravel() - unit.ravel()).max() > 0.1


@pytest.mark.parametrize("family", [PrefixFamily, RangeFamily])
@pytest.mark.parametrize("bins", [6, 5])
def test_the_mean_over_all_queries_is_that_of_each_query(family: type[IntervalFamily], bins: int) -> None:
    law, line = law_of("one"), family(bins, 6)
    parts = (CategoryPart((True,), line, bins == 6, 0.7), CategoryPart((False,), line, weight=1.6))
    asked = CategoryFamily((3, 6), 1, parts)
    ends = [(0, b) for b in range(1, bins + 1)]
    if family is RangeFamily:
        ends = [(a, b) for a in range(bins) for b in range(a + 1, bins + 1)]
    intervals = line.rows(ends)
    total, count = np.zeros((3, 6)), 0
    for member, row in product(range(3), intervals):
        query = np.zeros((3, 6))
        query[member] = row
        total, count = total + 0.7 * law.variances(query[None])[0], count + 1
    for row in intervals:
        if row.sum() < 6:
            total, count = total + 1.6 * law.variances(np.tile(row, (3, 1))[None])[0], count + 1
    assert count == asked.count
    np.testing.assert_allclose(np.tile(category_mean_variances(law, asked), (3, 1)), total / count, rtol=1e-9)


def test_the_mean_over_queries_about_two_categories_is_that_of_each_query() -> None:
    law, line = law_of("two"), PrefixFamily(4, 4)
    kinds = [(True, True), (True, False), (False, True)]
    asked = CategoryFamily((2, 4, 2), 1, tuple(CategoryPart(kind, line, whole=True) for kind in kinds))
    total, count = np.zeros((2, 4, 2)), 0
    for kind, stop in product(kinds, range(1, 5)):
        for first, second in product(*(range(2) if named else [slice(None)] for named in kind)):
            query = np.zeros((2, 4, 2))
            query[first, :stop, second] = 1.0
            total, count = total + law.variances(query[None])[0], count + 1
    assert count == asked.count
    expected = np.broadcast_to(category_mean_variances(law, asked)[None, :, None], (2, 4, 2))
    np.testing.assert_allclose(expected, total / count, rtol=1e-9)


def test_a_histogram_is_decoded_as_its_queries_are() -> None:
    law, random = law_of("two"), np.random.default_rng(3)
    excess, query = 0.1 * random.standard_normal(law.shape), random.standard_normal(law.shape)
    answer = law.constants(query[None], query[None])[0] + float((law.weights(query[None])[0] * excess).sum())
    histogram = law.histogram(excess)
    assert float((query * histogram).sum()) == pytest.approx(answer, rel=1e-9)
    assert histogram.sum() == pytest.approx(1.0, abs=1e-12)


def test_weights_by_two_toeplitz_systems_are_those_of_a_dense_matrix() -> None:
    levels = [((1, 1), 1, 2, 0), ((1, 7), 1, 2, 0), ((1, 64), 3, 3, 0), ((0, 20), 1, 2, 0), ((0, 90), 1, 0, 3)]
    made = [level_of(level, 1, 0.2) for level in levels]
    law = CategoryLaw(made, (5, 300))
    dense: Floats = np.ones((1500, 1500))
    distances = np.abs(np.subtract.outer(np.arange(300), np.arange(300)))
    for level, factor in zip(made, law.factors, strict=True):
        blocks = np.eye(5) if level.apart[0] else np.ones((5, 5))
        dense += 0.2 * factor * np.kron(blocks, level.kernel(300)[distances])
    query = np.zeros((5, 300))
    query[3, 40:170] = 1.0
    centred = query - (query @ law.centre).sum()
    np.testing.assert_allclose(law.weights(query[None]).ravel(), np.linalg.solve(dense, centred.ravel()), atol=1e-9)


def test_members_that_no_level_tells_apart_are_refused() -> None:
    law = law_of("one")
    alone = CategoryLaw([replace(level, apart=(False,)) for level in law.levels if not level.whole], (3, 6))
    query = np.zeros((3, 6))
    query[:, :2] = 1.0
    assert alone.variances(query[None]).max() < 100
    query[1, 1] = 0.0
    with pytest.raises(InvalidValue, match="do not tell these members apart"):
        alone.variances(query[None])


def test_a_line_is_a_law_without_categories() -> None:
    lines = [replace(level, axis=0, apart=()) for level in law_of("one").levels if not level.whole]
    law, line = CategoryLaw(lines, (6,)), GridLaw([level.line for level in lines], 6)
    queries = PrefixFamily(6, 6).rows([(0, 1), (0, 3), (0, 5)])
    np.testing.assert_allclose(law.variances(queries), line.variances(queries), rtol=1e-9)
    np.testing.assert_allclose(law.weights(queries), line.weights(queries), atol=1e-12)
    excess = np.random.default_rng(2).standard_normal(6)
    np.testing.assert_allclose(law.histogram(excess), line.histogram(excess), atol=1e-12)
