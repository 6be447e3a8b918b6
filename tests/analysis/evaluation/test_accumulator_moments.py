"""The law of every statistic, against all its outputs written out with their probabilities."""

from itertools import combinations
from math import comb, pi, sqrt

import numpy as np
import pytest

from sordino_analysis.evaluation.randomizers import for_randomizer
from sordino_analysis.evaluation.randomizers.directions import DIRECTION_ERROR, half_sphere_mean
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_analysis.vectorized.directions import directions
from sordino_analysis.vectorized.kernels import kernel_table
from sordino_analysis.vectorized.randomizers import randomize_many, split_pair
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import (
    DenseRows,
    FiniteKernel,
    Pair,
    RandomizedResponse,
    SeededDirection,
    SubsetSelection,
)

EPSILON = PureEpsilon.of("1.3")


def kernel_with_null_output():
    table = np.array([[9000, 5000, 4000], [20000, 30000, 25000], [30000, 25000, 31000]], dtype=np.uint64)
    return FiniteKernel(16, DenseRows(array_of(table, "<u8")))


TWO_ROWS = np.array([[20000, 30000, 25000], [45536, 35536, 40536]], dtype=np.uint64)


def enumerated(randomizer):
    """(statistics (outputs, p), probabilities (outputs, k)) by the definition of the randomizer."""
    k, whole = randomizer.size, float(1 << randomizer.bits)
    if isinstance(randomizer, FiniteKernel):
        return np.eye(randomizer.outputs), kernel_table(randomizer) / whole
    if isinstance(randomizer, RandomizedResponse):
        law = np.full((k, k), randomizer.other_weight / whole)
        np.fill_diagonal(law, randomizer.own_weight / whole)
        return np.eye(k), law
    d, include = randomizer.subset_size, randomizer.include_weight / whole
    subsets = np.array([[cell in chosen for cell in range(k)] for chosen in combinations(range(k), d)], dtype=float)
    law = np.where(subsets == 1, include / comb(k - 1, d - 1), (1 - include) / comb(k - 1, d))
    return subsets, law


FINITE = [
    kernel_with_null_output(),
    RandomizedResponse.for_guarantee(2, EPSILON),
    RandomizedResponse.for_guarantee(5, EPSILON),
    SubsetSelection.for_guarantee(2, 1, EPSILON),
    SubsetSelection.for_guarantee(3, 2, EPSILON),
    *(SubsetSelection.for_guarantee(6, size, EPSILON) for size in range(1, 6)),
]


@pytest.mark.parametrize("randomizer", FINITE, ids=lambda r: f"{r.kind}-{r.size}-{getattr(r, 'subset_size', '')}")
def test_mean_variance_and_covariance_are_those_of_the_enumerated_outputs(randomizer):
    statistics, law = enumerated(randomizer)
    rng = np.random.default_rng(5)
    rows, histogram = rng.normal(size=(4, statistics.shape[1])), rng.dirichlet(np.ones(randomizer.size))
    values = rows @ statistics.T
    means = values @ law
    found = for_randomizer(randomizer).moments
    np.testing.assert_allclose(found.means(rows), means, atol=1e-12)
    np.testing.assert_allclose(found.variances(rows), values**2 @ law - means**2, atol=1e-12)
    covariance = (values * (law @ histogram)) @ values.T - (means * histogram) @ means.T
    np.testing.assert_allclose(found.covariance(rows, histogram), covariance, atol=1e-12)
    assert not found.mean_error(rows).any()


def direction(vectors, kept, bits=30):
    weights = np.round(np.array(kept) * 2.0**bits).astype(np.uint64)
    return SeededDirection(bits, array_of(np.array(vectors), "<i4"), array_of(weights, "<u8"))


def test_one_dimension_is_a_coin_and_exact():
    found = for_randomizer(direction([[5], [-7], [0]], [0.75, 0.75, 0.75])).moments
    rows = np.array([[2.0], [-1.0]])
    np.testing.assert_allclose(found.means(rows), [[1.0, -1.0, 0.0], [-0.5, 0.5, 0.0]])
    np.testing.assert_allclose(found.variances(rows), [[3.0, 3.0, 4.0], [0.75, 0.75, 1.0]])
    assert not found.mean_error(rows).any()


def test_directions_in_space_have_the_moments_of_many_drawn_ones():
    """2·10^5 seeded draws: every mean is within 5 standard errors, which a right law misses once in 10^5 runs."""
    randomizer = direction([[10, 20, -20], [-1, 0, 4], [0, 0, 0]], [0.8, 0.55, 0.5])
    seeds = np.random.default_rng(8).integers(0, 256, size=(200_000, 16), dtype=np.uint8)
    drawn = directions(seeds, 3).astype(float)
    unit = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    rows, histogram = np.array([[1.0, 2.0, -1.0], [0.0, 1.0, 1.0]]), np.array([0.5, 0.3, 0.2])
    found, values = for_randomizer(randomizer).moments, unit @ rows.T
    kept = np.array([0.8, 0.55, 0.5])
    signs = np.where(drawn @ ndarray(randomizer.vectors).T >= 0, 1.0, -1.0)
    # The bit says the sign with chance `kept`, so given the seed its mean is (2·kept − 1) times the sign.
    signed = values[:, :, None] * (signs * (2 * kept - 1))[:, None, :]
    error = signed.std(axis=0) / np.sqrt(len(seeds))
    assert (np.abs(signed.mean(axis=0) - found.means(rows)) <= 5 * error + 1e-9).all()
    second = np.einsum("nb,nc->bc", values, values) / len(seeds)
    expected = second - (found.means(rows) * histogram) @ found.means(rows).T
    np.testing.assert_allclose(found.covariance(rows, histogram), expected, atol=0.02)
    np.testing.assert_allclose(found.variances(rows), np.diag(second)[:, None] - found.means(rows) ** 2, atol=0.02)


@pytest.mark.parametrize(("dimension", "mean"), [(1, 1.0), (2, 2 / pi), (3, 0.5), (10_000, sqrt(2 / (pi * 10_000)))])
def test_the_mean_of_a_half_sphere(dimension, mean):
    assert half_sphere_mean(dimension) == pytest.approx(mean, rel=1e-4 if dimension > 3 else 1e-12)


def test_what_a_plan_states_for_directions_covers_the_worst_that_shared_measures_and_not_much_more():
    worst_in_the_plane = 1.1e-4
    assert worst_in_the_plane < DIRECTION_ERROR < 2 * worst_in_the_plane
    found = for_randomizer(direction([[10, 0], [0, 3]], [0.75, 0.6])).moments
    longest = 0.5 * half_sphere_mean(2)
    np.testing.assert_allclose(found.mean_error(np.array([[3.0, 4.0]])), 5 * longest * DIRECTION_ERROR)


def test_a_pair_has_the_moments_of_its_enumerated_outputs():
    pair = Pair(kernel_with_null_output(), FiniteKernel(16, DenseRows(array_of(TWO_ROWS, "<u8"))))
    law, rng = for_randomizer(pair).moments, np.random.default_rng(8)
    rows, histogram = rng.normal(size=(3, pair.accumulator_size)), rng.dirichlet(np.ones(3))
    parts = [kernel_table(part) / 2.0**16 for part in (pair.first, pair.second)]
    outputs = [(a, b) for a in range(pair.first.outputs) for b in range(pair.second.outputs)]
    chances = np.array([parts[0][a] * parts[1][b] for a, b in outputs])
    values = np.array([rows[:, a] + rows[:, pair.first.outputs + b] for a, b in outputs]).T
    means = values @ chances
    covariances = [(values * chances[:, x]) @ values.T - np.outer(means[:, x], means[:, x]) for x in range(3)]
    assert np.allclose(law.means(rows), means)
    assert np.allclose(law.variances(rows).T, [np.diag(covariance) for covariance in covariances])
    assert np.allclose(law.covariance(rows, histogram), np.tensordot(histogram, covariances, axes=1))


def test_a_pair_of_directions_has_the_moments_of_many_drawn_ones_and_not_of_independent_entries():
    # 4·10⁵ draws a type: a moment of entries below 4 is off by 0.03 with a chance below 10⁻⁶.
    pair = Pair(direction([[3, 4, 0], [0, 1, 2]], [0.9, 0.8]), direction([[1, 0, 2], [-2, 1, 1]], [0.7, 0.95]))
    law, rng, draws = for_randomizer(pair).moments, np.random.default_rng(9), 400_000
    rows, histogram = rng.uniform(-1, 1, size=(3, pair.accumulator_size)), np.array([0.3, 0.7])
    covariance = np.zeros((3, 3))
    for cell in range(2):
        payloads = randomize_many(pair, np.full(draws, cell), SeededRandomness(cell))
        parts = []
        for part in split_pair(pair, payloads):
            drawn = directions(part[:, :16], 3).astype(float)
            parts.append(drawn / np.linalg.norm(drawn, axis=1)[:, None] * (2.0 * part[:, 16:] - 1))
        statistics = np.column_stack([*parts, (parts[0] * parts[1]).sum(axis=1)])
        values = rows @ statistics.T
        assert np.allclose(values.mean(axis=1), law.means(rows)[:, cell], atol=0.01)
        assert np.allclose(values.var(axis=1), law.variances(rows)[:, cell], atol=0.01)
        covariance += histogram[cell] * np.cov(values)
    assert np.allclose(law.covariance(rows, histogram), covariance, atol=0.01)
    without = rows.copy()
    without[:, -1] = 0
    assert not np.allclose(law.covariance(without, histogram), covariance, atol=0.05)


def test_an_unknown_randomizer_has_no_server_half():
    with pytest.raises(AssertionError, match="Expected code to be unreachable"):
        for_randomizer(object())
