"""Integer strategies: sensitivity by brute force, answers unbiased with the stated variance, near the certificate."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from sordino_analysis.curator.certificate import CuratorCertificate, certify, cover_size
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.rounding import integer_strategy
from sordino_analysis.curator.strategy import IntegerStrategy, squared_sensitivity
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.covariance import optimal_covariance
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

RHO = Zcdp.of("0.024356")
WORKLOADS = {
    "prefix": np.tril(np.ones((64, 64)))[:-1],
    "ranges": np.array([[float(a <= x < b) for x in range(16)] for a in range(16) for b in range(a + 1, 17)]),
    "histogram": np.eye(16),
    "signs": np.random.default_rng(0).choice([-1.0, 1.0], (20, 30)),
    "halves": np.random.default_rng(1).choice([0.0, 0.5, 1.25], (9, 20)),
}


def planned(name: str, neighbours="replace"):
    matrix = WORKLOADS[name]
    optimum = optimal_covariance(matrix, neighbours, gap=0.002)
    return matrix, optimum, integer_strategy(matrix, optimum)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_sensitivity_is_that_of_the_integers_and_the_error_is_near_the_certificate(name: str, neighbours) -> None:
    matrix, optimum, strategy = planned(name, neighbours)
    columns = [[int(entry) for entry in column] for column in strategy.rows.T]
    pairs = combinations(columns, 2) if neighbours == "replace" else ((column, [0] * len(column)) for column in columns)
    assert strategy.squared_sensitivity == max(sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) for pair in pairs)
    strategy.check_decodes(matrix)
    certificate = certify(matrix, optimum)
    assert certificate is not None
    ratio = np.sqrt(strategy.variances(RHO).mean() / certificate.mean_variance(RHO))
    assert 1 <= ratio <= 1.02


def test_one_more_in_an_entry_of_a_maximal_pair_is_refused() -> None:
    _, _, strategy = planned("prefix")
    columns = strategy.rows.astype(object)
    x, y = max(combinations(range(64), 2), key=lambda pair: ((columns[:, pair[0]] - columns[:, pair[1]]) ** 2).sum())
    row = int(np.abs(columns[:, x] - columns[:, y]).argmax())
    raised = strategy.rows.copy()
    raised[row, x] += 1 if columns[row, x] > columns[row, y] else -1
    with pytest.raises(InvalidValue, match="do not run it"):
        replace(strategy, rows=raised)


def test_sensitivities_beyond_doubles_are_exact() -> None:
    rows = np.array([[2**60, -(2**60), 1], [3, 5, 7]], dtype=np.int64)
    assert squared_sensitivity(rows, "replace") == 2**122 + 4
    assert squared_sensitivity(rows, "add-remove") == 2**120 + 25


def test_released_answers_are_unbiased_with_the_stated_variance() -> None:
    """4,000 releases of 63 answers: the sum of squared errors over its mean is within five standard errors."""
    matrix, _, strategy = planned("prefix")
    counts = np.random.default_rng(2).multinomial(500, np.full(64, 1 / 64))
    noise = CuratorNoise(SeededRandomness(3), seeded_for_tests=True)
    drawn = noise.gaussian(strategy.gaussian(RHO).variance, 4000 * len(strategy.rows)).reshape(-1, 4000)
    measured = (strategy.rows @ counts)[:, None] + drawn
    answers = strategy.decoder @ measured + 500 * strategy.offset[:, None]
    errors = (answers - (matrix @ counts)[:, None]) / np.sqrt(strategy.variances(RHO))[:, None]
    assert np.abs(errors.mean(axis=1)).max() < 5.5 / np.sqrt(4000)
    each = (errors**2).mean(axis=0)
    assert abs(each.mean() - 1) < 5 * each.std() / np.sqrt(4000) < 0.1


def test_the_noise_variance_is_a_ratio_of_integers() -> None:
    _, _, strategy = planned("histogram")
    assert strategy.gaussian(RHO).variance == Fraction(strategy.squared_sensitivity * 10**9, 2 * 24356000)
    with pytest.raises(InvalidValue, match="releases nothing"):
        strategy.gaussian(Zcdp(0))


def test_weighted_queries_get_less_noise_and_their_weighted_mean_is_near_the_certificate() -> None:
    matrix = WORKLOADS["prefix"]
    weights = np.where(np.arange(63) < 20, 2.5, 0.5)
    weights *= 63 / weights.sum()
    weighted = np.sqrt(weights)[:, None] * matrix
    optimum = optimal_covariance(weighted, gap=0.002)
    strategy = integer_strategy(matrix, optimum, weights)
    plain = planned("prefix")[2]
    assert strategy.variances(RHO)[:20].mean() < plain.variances(RHO)[:20].mean()
    certificate = certify(weighted, optimum)
    assert certificate is not None
    ratio = np.sqrt(np.mean(weights * strategy.variances(RHO)) / certificate.mean_variance(RHO))
    assert 1 <= ratio <= 1.02


def test_a_decoder_of_another_workload_and_a_known_part_of_a_secret_total_are_refused() -> None:
    matrix, _, strategy = planned("histogram")
    with pytest.raises(InvalidValue, match="would be biased"):
        strategy.check_decodes(matrix + np.arange(16) * 1e-3)
    with pytest.raises(InvalidValue, match="no query has a known part"):
        IntegerStrategy(
            neighbours="add-remove",
            rows=np.eye(2, dtype=np.int64),
            squared_sensitivity=1,
            decoder=np.eye(2),
            offset=np.ones(2),
        ).check_decodes(np.eye(2) + 1)


def test_entries_that_are_no_dyadic_fractions_are_refused() -> None:
    matrix = np.array([[0.0, 1 / 3, 1.0]])
    with pytest.raises(InvalidValue, match="multiple of 2"):
        integer_strategy(matrix, optimal_covariance(matrix))


def chi_square_bound(variance: float, shift: float) -> float:
    """χ² of N(shift, variance) against N(0, variance)."""
    return float(np.expm1(shift**2 / variance))


def test_the_certificate_is_below_a_gaussian_of_the_same_guarantee_and_scales_with_it() -> None:
    """One query 0/1: γ = 1 and the least variance is 1/(e^{2ρ} − 1), where the Gaussian needs 1/2ρ."""
    matrix = np.array([[0.0, 1.0]])
    certificate = certify(matrix, optimal_covariance(matrix))
    assert certificate is not None
    assert certificate.norm == pytest.approx(1)
    for rho in (0.01, 0.5, 2.0):
        bound = certificate.mean_variance(Zcdp.of(rho))
        assert bound == pytest.approx(1 / np.expm1(2 * rho))
        assert bound < 1 / (2 * rho)
        assert chi_square_bound(1 / (2 * rho), 1) == pytest.approx(np.expm1(2 * rho))


def test_a_certificate_needs_a_member_of_every_weighted_pair() -> None:
    histogram = np.eye(32)
    optimum = optimal_covariance(histogram)
    best = certify(histogram, optimum)
    assert best is not None
    assert best.holds_from_n == 31
    norms = []
    for users in (1, 4, 8, 16):
        found = certify(histogram, optimum, users)
        assert found is not None
        assert found.holds_from_n <= users
        norms.append(found.norm)
    assert norms == sorted(norms)
    assert norms[0] == pytest.approx(1.132, abs=5e-4)
    assert norms[-1] < best.norm == pytest.approx(1.392, abs=5e-4)
    assert certify(histogram, optimum, 0) is None
    assert CuratorCertificate.of(histogram, np.full(32, 1 / 32)).holds_from_n == 0


def test_covers_against_all_subsets() -> None:
    """Greedy covers have a member in each pair, so they are never smaller than the least cover, and here equal."""
    generator = np.random.default_rng(4)
    for _ in range(10):
        pairs = np.triu(generator.random((8, 8)) < 0.4, 1)
        pairs |= pairs.T
        least = next(
            size
            for size in range(9)
            for cover in combinations(range(8), size)
            if not pairs[np.ix_(rest := np.setdiff1d(np.arange(8), cover), rest)].any()
        )
        assert least <= cover_size(pairs) <= least + 1
    assert cover_size(~np.eye(6, dtype=bool)) == 5


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("small", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
def test_rows_of_uneven_size_take_more_bits_or_are_refused_in_words(small: list[float], neighbours) -> None:
    """Of 10⁶ and 1 the 12 bits that are enough elsewhere leave the small row nothing."""
    for large in (1e4, 1e6):
        matrix = np.array([[large, 0.0, 0.0], small])
        strategy = integer_strategy(matrix, optimal_covariance(matrix, neighbours, gap=0.002))
        strategy.check_decodes(matrix)
    if small[1]:
        matrix = np.array([[1e9, 0.0, 0.0], small])
        with pytest.raises(InvalidValue, match=r"differ too much in size: with 24 bits .* multiply the small rows"):
            integer_strategy(matrix, optimal_covariance(matrix, neighbours, gap=0.002))
