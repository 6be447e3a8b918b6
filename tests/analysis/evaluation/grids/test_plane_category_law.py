"""Grids on categories and two ordered attributes against every offset, matrix and report."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.law import PlaneLaw
from sordino_analysis.evaluation.grids.plane_category_law import PlaneCategoryLaw
from sordino_analysis.evaluation.grids.plane_category_levels import PlaneCategoryLevel
from sordino_analysis.evaluation.grids.plane_levels import PlaneLevel
from sordino_shared.errors import InvalidValue

HIGH, LOW = 3.0, 1.0
# Widths on the wire, hits, label bits, and the residues of a comb.
Level = tuple[tuple[int, ...], int, int, tuple[int, int] | None]
# On 3 categories × 4 × 4 types, the category first.
ONE: list[Level] = [
    ((1, 2, 3), 1, 1, None),
    ((0, 2, 1), 3, 2, None),
    ((1, 0, 2), 1, 1, None),
    ((1, 0, 0), 1, 1, None),
    ((0, 1, 2), 1, 0, (2, 2)),
]
# On 3 × 2 × 3 × 2 types, a category between the ordered attributes and one after them.
TWO: list[Level] = [
    ((2, 1, 2, 1), 1, 1, None),
    ((3, 0, 1, 1), 1, 1, None),
    ((0, 1, 2, 0), 1, 1, None),
    ((1, 1, 0, 1), 1, 1, None),
    ((2, 0, 0, 0), 1, 0, (3, 1)),
]
DOMAINS: dict[str, tuple[tuple[int, ...], tuple[int, int], list[Level]]] = {
    "one": ((3, 4, 4), (1, 2), ONE),
    "two": ((3, 2, 3, 2), (0, 2), TWO),
}
SHARES = (0.3, 0.25, 0.15, 0.2, 0.1)


def _likelihoods(hits: int, labels: int) -> tuple[float, float]:
    mass = hits * HIGH + (labels - hits) * LOW
    return labels * HIGH / mass, labels * LOW / mass


@cache
def reports_of(name: str, number: int) -> tuple[Floats, float]:
    """u (reports, k) of every offset, matrix and y of a level of a domain, and the chance of each report."""
    shape, _, levels = DOMAINS[name]
    widths, hits, bits, residues = levels[number]
    counts = [(size + w - 2) // w + 1 if w else 1 for size, w in zip(shape, widths, strict=True)]
    labels = math.prod(residues) if residues else 1 << bits
    high, low = _likelihoods(hits, labels)
    points = np.indices(shape).reshape(len(shape), -1)
    found = []
    for offsets in product(*(range(max(1, width)) for width in widths)):
        cells = [
            (point + o) // w if w else np.zeros_like(point) for point, o, w in zip(points, offsets, widths, strict=True)
        ]
        for told in _labels(cells, counts, bits, residues, DOMAINS[name][1]):
            for y in range(labels):
                shifts = (told - y) % labels if residues else told ^ y
                found.append(np.where(shifts < hits, high, low))
    return np.array(found), 1 / len(found)


def _labels(
    cells: list[np.ndarray], counts: list[int], bits: int, residues: tuple[int, int] | None, axes: tuple[int, int]
) -> Iterator[np.ndarray]:
    """(k,) the labels of all types for each matrix; of a comb the pair of residues by its number."""
    if residues:
        first, second = (cells[axis] % count for axis, count in zip(axes, residues, strict=True))
        yield first * residues[1] + second
        return
    numbers = np.ravel_multi_index(cells, counts)
    cell_bits = max(1, (math.prod(counts) - 1).bit_length())
    for rows in product(range(1 << cell_bits), repeat=bits):
        yield sum((np.bitwise_count(row & numbers) % 2) << bit for bit, row in enumerate(rows)).astype(int)


def level_of(level: Level, axes: tuple[int, int], chance: float) -> PlaneCategoryLevel:
    widths, hits, bits, residues = level
    labels = math.prod(residues) if residues else 1 << bits
    high, low = _likelihoods(hits, labels)
    first, second = (widths[axis] for axis in axes)
    plane = PlaneLevel(
        chance=chance, widths=(first, second), labels=labels, hits=hits, high=high, low=low, residues=residues
    )
    apart = tuple(bool(width) for place, width in enumerate(widths) if place not in axes)
    made = PlaneCategoryLevel(plane=plane, axes=axes, apart=apart)
    assert made.widths == widths
    return made


@cache
def law_of(name: str) -> PlaneCategoryLaw:
    shape, axes, levels = DOMAINS[name]
    made = [level_of(level, axes, share) for level, share in zip(levels, SHARES, strict=True)]
    return PlaneCategoryLaw(made, shape)


def contributions(name: str, queries: Floats) -> Iterator[tuple[float, Floats, Floats]]:
    """Of each level: the chance of a report, u (reports, k) and what it counts for queries (b, k): (reports, b)."""
    law = law_of(name)
    cubes = queries.reshape(-1, *law.shape)
    beta, constant = law.weights(cubes).reshape(queries.shape), law.constants(cubes, cubes)
    for number, (level, factor) in enumerate(zip(law.levels, law.factors, strict=True)):
        likelihoods, chance = reports_of(name, number)
        yield level.chance * chance, likelihoods, constant + factor * (likelihoods - 1) @ beta.T


@pytest.mark.parametrize("name", DOMAINS)
def test_answers_are_unbiased_and_covary_as_stated_over_every_report(name: str) -> None:
    law, random = law_of(name), np.random.default_rng(1)
    size = math.prod(law.shape)
    box = np.zeros(law.shape)
    box[(0, slice(0, 2))] = 1.0
    queries = np.stack([box.ravel(), random.integers(-3, 4, size), random.standard_normal(size)]).astype(float)
    mean, moments = np.zeros((size, 3)), np.zeros((size, 3, 3))
    for chance, likelihoods, counted in contributions(name, queries):
        mean += chance * likelihoods.T @ counted
        pairs = counted[:, :, None] * counted[:, None, :]
        moments += chance * np.tensordot(likelihoods.T, pairs, 1)
    np.testing.assert_allclose(mean, queries.T, atol=1e-11)
    expected = moments - mean[:, :, None] * mean[:, None, :]
    cubes = queries.reshape(3, *law.shape)
    alone = law.variances(cubes).reshape(3, size)
    for one, other in product(range(3), repeat=2):
        both = law.variances((cubes[one] + cubes[other])[None]).reshape(size)
        stated = (both - alone[one] - alone[other]) / 2
        np.testing.assert_allclose(stated, expected[:, one, other], rtol=1e-9, atol=1e-9)
    assert max(law.class_bias(law.classes(cube)) for cube in cubes) < 1e-11


def test_another_law_is_told_apart() -> None:
    """The first level with cells of another width: its answers are biased."""
    law, (shape, axes, levels) = law_of("one"), DOMAINS["one"]
    other = [level_of(((1, 2, 2), 1, 1, None), axes, SHARES[0]), *law.levels[1:]]
    query = np.zeros(shape)
    query[0, :2, :3] = 1.0
    beta = PlaneCategoryLaw(other, shape).weights(query[None]).ravel()
    mean = np.zeros(query.size)
    for number, (level, factor) in enumerate(zip(law.levels, law.factors, strict=True)):
        likelihoods, chance = reports_of("one", number)
        mean += level.chance * chance * factor * likelihoods.T @ ((likelihoods - 1) @ beta)
    assert np.ptp(mean - query.ravel()) > 0.01
    assert len(levels) == len(law.levels)


@pytest.mark.parametrize("name", DOMAINS)
def test_a_random_report_adds_the_stated_mean_and_variance(name: str) -> None:
    law = law_of(name)
    query = np.random.default_rng(4).standard_normal((1, *law.shape))
    mean, square = 0.0, 0.0
    for chance, _, counted in contributions(name, query.reshape(1, -1)):
        mean, square = mean + chance * counted.sum(), square + chance * (counted**2).sum()
    means, variances = law.blanket(query)
    assert means[0] == pytest.approx(mean, abs=1e-10)
    assert variances[0] == pytest.approx(square - mean**2, rel=1e-9)


def test_a_histogram_is_decoded_as_its_queries_are() -> None:
    law, random = law_of("two"), np.random.default_rng(3)
    excess, query = 0.1 * random.standard_normal(law.shape), random.standard_normal(law.shape)
    answer = law.constants(query[None], query[None])[0] + float((law.weights(query[None])[0] * excess).sum())
    histogram = law.histogram(excess)
    assert float((query * histogram).sum()) == pytest.approx(answer, rel=1e-9)
    assert histogram.sum() == pytest.approx(1.0, abs=1e-12)


def test_members_that_no_level_tells_apart_are_refused() -> None:
    law = law_of("one")
    alone = PlaneCategoryLaw([replace(level, apart=(False,)) for level in law.levels], law.shape)
    query = np.zeros(law.shape)
    query[:, :2, :3] = 1.0
    assert alone.variances(query[None]).max() < 100
    query[1, 1, 1] = 0.0
    with pytest.raises(InvalidValue, match="do not tell these members apart"):
        alone.variances(query[None])


def test_a_plane_is_a_law_without_categories() -> None:
    levels = [replace(level, axes=(0, 1), apart=()) for level in law_of("one").levels if any(level.plane.widths)]
    law, plane = PlaneCategoryLaw(levels, (4, 4)), PlaneLaw([level.plane for level in levels], (4, 4))
    assert law.factors == pytest.approx(plane.factors)
    np.testing.assert_allclose(law.inverses[()].matrix.column, plane.matrix.column)
