"""The decoder and its variances: a small domain in full, and the mean of a family without its list."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sordino_analysis.evaluation.grids.families import IntervalFamily, PrefixFamily, RangeFamily
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.mechanisms.grid_levels import designed_levels
from sordino_analysis.mechanisms.hash_response import HashResponse
from tests.analysis.evaluation.grids.test_levels import SIZE, comb_reports, hashed_reports, level_of


def _law(size: int, epsilon: float = 1.0) -> GridLaw:
    shares = [(1, 4, 1, True), (3, 4, 1, True), (7, 8, 3, True), (15, 5, 2, False), (31, 3, 1, False)]
    levels = []
    for chance, (width, labels, hits, hashed) in zip((0.3, 0.2, 0.2, 0.1, 0.2), shares, strict=True):
        one = HashResponse(hits, labels, epsilon).level(width, hashed=hashed)
        levels.append(replace(one, chance=chance))
    return GridLaw(levels, size)


def _all(family: IntervalFamily) -> list[tuple[int, int]]:
    if isinstance(family, PrefixFamily):
        return [(0, stop) for stop in range(1, family.bins + 1)]
    return [(start, stop) for start in range(family.bins) for stop in range(start + 1, family.bins + 1)]


def test_answers_are_unbiased_and_vary_as_stated_over_every_report() -> None:
    levels = [level_of(2, 1, 4, hashed=True), level_of(3, 1, 2, hashed=False), level_of(1, 1, 4, hashed=True)]
    reports = [hashed_reports(2, 1, 2), comb_reports(3, 1, 2), hashed_reports(1, 1, 2)]
    shares = (0.5, 0.3, 0.2)
    shipped = [replace(level, chance=share) for level, share in zip(levels, shares, strict=True)]
    law = GridLaw(shipped, SIZE)
    queries = np.array([[1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 0], [2, -1, 0, 3, 1, 1]], dtype=float)
    weights = law.weights(queries)
    first, second = np.zeros((2, *queries.shape))
    for level, listed in zip(shipped, reports, strict=True):
        for chance, u in listed:
            likelihoods = np.array(u, dtype=float)
            counted = queries @ law.density + level.factor(SIZE) * (weights @ (likelihoods - 1))
            held = level.chance * float(chance) * likelihoods
            first += np.outer(counted, held)
            second += np.outer(counted**2, held)
    np.testing.assert_allclose(first, queries, atol=1e-11)
    np.testing.assert_allclose(law.variances(queries), second - first**2, rtol=1e-10)


@pytest.mark.parametrize("family", [PrefixFamily, RangeFamily])
@pytest.mark.parametrize("bins", [60, 59, 58])
def test_the_mean_over_a_family_is_that_of_its_queries(family: type[IntervalFamily], bins: int) -> None:
    law, asked = _law(60), family(bins, 60)
    ends = [one for one in _all(asked) if one != (0, 60)]
    assert len(ends) == asked.count
    variances = law.variances(asked.rows(ends))
    np.testing.assert_allclose(mean_variances(law, asked), variances.mean(axis=0), rtol=1e-10)


def test_the_answer_about_all_types_has_no_error() -> None:
    law = _law(60)
    assert np.abs(law.variances(np.ones((1, 60)))).max() < 1e-20


def test_a_histogram_is_decoded_as_its_queries_are() -> None:
    law, random = _law(60), np.random.default_rng(1)
    excess, queries = 0.1 * random.standard_normal(60), random.standard_normal((5, 60))
    answers = queries @ law.density + law.weights(queries) @ excess
    histogram = law.histogram(excess)
    np.testing.assert_allclose(queries @ histogram, answers, rtol=1e-9)
    assert histogram.sum() == pytest.approx(1.0, abs=1e-12)


def test_prefix_variances_are_flat_and_the_bias_is_rounding() -> None:
    family = PrefixFamily(1024, 1024)
    law = GridLaw(designed_levels(family, 1.0), 1024)
    ends = family.samples(33)
    queries = family.rows(ends)
    variances = law.variances(queries)
    assert mean_variances(law, family).max() < 24.6
    assert variances.max() < 30.2
    assert law.bias(queries, law.weights(queries)).max() < 1e-11


@pytest.mark.parametrize("family", [PrefixFamily(37, 40), RangeFamily(23, 23), RangeFamily(21, 24)])
def test_gram_and_distances_are_those_of_the_listed_queries(family: IntervalFamily) -> None:
    queries = family.rows(_all(family))
    vectors = np.random.default_rng(2).standard_normal((3, family.size))
    np.testing.assert_allclose(family.gram(vectors), vectors @ queries.T @ queries, atol=1e-10)
    density = vectors[0] / vectors[0].sum()
    expected = ((queries - (queries @ density)[:, None]) ** 2).sum(axis=0)
    np.testing.assert_allclose(family.squared_distances(density), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "family", [PrefixFamily(30, 30), PrefixFamily(30, 32), RangeFamily(30, 30), RangeFamily(30, 32)]
)
def test_the_gram_matrix_of_cells_is_that_of_their_types(family: IntervalFamily) -> None:
    edges = np.array([0, 1, 4, 5, 12, 29, 30, 31, 32][: 7 + family.size - family.bins])
    spread = np.repeat(np.diag(1 / np.diff(edges)), np.diff(edges), axis=1)
    np.testing.assert_allclose(family.cell_gram(edges), spread @ family.gram(spread).T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("family", [PrefixFamily(5, 9), RangeFamily(5, 9), RangeFamily(1, 4), PrefixFamily(9, 9)])
def test_cells_reach_beyond_the_bins_in_any_way(family: IntervalFamily) -> None:
    """Each of the 2^8 or 2^3 ways to cut the types into cells."""
    for cuts in product((False, True), repeat=family.size - 1):
        edges = np.array([0, *(place + 1 for place, cut in enumerate(cuts) if cut), family.size])
        spread = np.repeat(np.diag(1 / np.diff(edges)), np.diff(edges), axis=1)
        np.testing.assert_allclose(family.cell_gram(edges), spread @ family.gram(spread).T, rtol=1e-12, atol=1e-12)
