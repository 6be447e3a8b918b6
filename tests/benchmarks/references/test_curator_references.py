"""Mechanisms of the literature: private by their integers, and as good as the papers say where that can be checked."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from benchmarks.references.figures import determinant_figure, volume_figure
from benchmarks.references.multiplicative_weights import multiplicative_weights
from sordino_analysis.curator.ball_law import BallLaw
from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.projections import Projection, isotropic
from sordino_analysis.curator.rounding import integer_strategy
from sordino_analysis.curator.second_moments import nearest_of_unit_vectors, release_second_moments
from sordino_analysis.curator.signed_sums import moved, projection_of
from sordino_analysis.curator.strategy import squared_sensitivity
from sordino_analysis.documents.curator_part import SignedSums
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.optimisation.gaussian.covariance import optimal_covariance
from sordino_analysis.optimisation.gaussian.ellipsoids import minimum_ellipsoid, recursive_covariance
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon

RHO = Zcdp.of("0.5")
PREFIX = np.tril(np.ones((16, 16)))
SIGNS = np.random.default_rng(0).choice([-1.0, 1.0], (40, 24))


def seeded(seed: int = 1) -> CuratorNoise:
    return CuratorNoise(SeededRandomness(seed), seeded_for_tests=True)


def signed(separation: float) -> Projection:
    return projection_of(SignedSums(3, 30, separation), SIGNS)


def test_the_least_ellipsoid_of_a_box_is_a_ball_and_holds_all_points() -> None:
    corners = np.array(list(product((-1.0, 1.0), repeat=3))).T
    shape = minimum_ellipsoid(corners)
    assert shape == pytest.approx(3 * np.eye(3), abs=0.05)
    points = np.random.default_rng(1).normal(size=(4, 30))
    reached = np.einsum("ij,ij->j", points, np.linalg.solve(minimum_ellipsoid(points), points))
    assert reached.max() <= 1 + 1e-9


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("matrix", [PREFIX, SIGNS], ids=["prefix", "signs"])
def test_the_recursion_is_private_and_never_beats_the_optimum(matrix, neighbours) -> None:
    best, equal = (recursive_covariance(matrix, neighbours, budgets) for budgets in ("best", "equal"))
    optimum = optimal_covariance(matrix, neighbours, gap=0.002)
    assert optimum.lower <= best.upper <= equal.upper
    for found in (best, equal):
        coordinates = found.basis.T @ (matrix - matrix.mean(axis=1, keepdims=True) * (neighbours == "replace"))
        steps = (
            np.array([coordinates[:, x] - coordinates[:, y] for x, y in combinations(range(matrix.shape[1]), 2)]).T
            if neighbours == "replace"
            else coordinates
        )
        assert np.einsum("ij,ij->j", steps, np.linalg.solve(found.covariance, steps)).max() <= 1 + 1e-6
    strategy = integer_strategy(matrix, best)
    assert strategy.squared_sensitivity == squared_sensitivity(strategy.rows, neighbours)
    assert np.sqrt(strategy.variances(RHO).mean()) <= 1.003 * best.upper / np.sqrt(2 * RHO.rho)


@pytest.mark.parametrize("guarantee", [RHO, PureEpsilon.of("1")], ids=["rho", "epsilon"])
def test_a_projection_measures_integers_with_the_stated_noise(guarantee) -> None:
    """200 measurements of 40 numbers: the mean square is within five standard errors of the variance."""
    mechanism, counts = isotropic(SIGNS), np.arange(24)
    law = mechanism.law(guarantee)
    assert counts.sum() > 0
    noise = np.array([law.drawn(seeded(seed)) for seed in range(200)])
    each = (noise**2).mean(axis=1) / law.variances()[0]
    assert abs(each.mean() - 1) < 5 * each.std() / 200**0.5 < 0.4
    if guarantee is RHO:
        assert law.variance == squared_sensitivity(SIGNS.astype(int), "replace") / (2 * RHO.exact)


def test_projections_answer_of_a_histogram_and_come_to_the_truth_with_people() -> None:
    counts = np.random.default_rng(2).multinomial(400, np.ones(24) / 24)
    for mechanism in (isotropic(SIGNS), signed(0.0), signed(0.1)):
        errors = []
        for times in (1, 10_000):
            answers = mechanism.release(times * counts, RHO, seeded())
            assert np.abs(answers).max() <= 1 + 1e-9
            errors.append(np.sqrt(np.mean((answers - SIGNS @ counts / 400) ** 2)))
        assert errors[1] < min(0.002, errors[0])


def test_the_coarse_release_moves_nobody_by_more_than_half_of_alpha() -> None:
    for alpha in (0.3, 2.5):
        found = moved(SIGNS, alpha)
        assert (np.sqrt(((found - SIGNS) ** 2).mean(axis=0)) <= alpha / 2 + 1e-12).all()
    assert len(np.unique(found, axis=1).T) < 24


def test_queries_of_no_whole_numbers_are_refused() -> None:
    with pytest.raises(InvalidValue, match="whole numbers"):
        isotropic(SIGNS / 2)
    with pytest.raises(InvalidValue, match="whole numbers"):
        multiplicative_weights(SIGNS / 2, np.ones(24, dtype=np.int64), 2, RHO, seeded())


def test_second_moments_are_unbiased_and_projected_ones_are_moments() -> None:
    """200 releases: the mean of every entry is within 5.5 of its standard errors, and the noise is as stated."""
    generator = np.random.default_rng(5)
    points = np.rint(generator.normal(size=(300, 4)) * 200).astype(np.int64)
    points = points[(points**2).sum(axis=1) <= 2**20]
    truth = points.T @ points / len(points) / 2**20
    found = [release_second_moments(points, 2**10, RHO, seeded(seed)) for seed in range(200)]
    errors = np.array([each.unbiased for each in found]) - truth
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0)).max() < 5.5 / 200**0.5
    stated = np.sqrt(2 / (2 * RHO.rho)) / len(points)
    assert errors[:, 0, 0].std() == pytest.approx(stated, rel=0.25)
    assert errors[:, 0, 1].std() == pytest.approx(stated / 2**0.5, rel=0.25)
    for each in found[:20]:
        values = np.linalg.eigvalsh(each.projected)
        assert values.min() >= -1e-12
        assert values.sum() <= 1 + 1e-12
        assert np.linalg.norm(each.projected - truth) <= np.linalg.norm(each.unbiased - truth) + 1e-12
    assert np.trace(nearest_of_unit_vectors(np.eye(3))) == pytest.approx(1)


def test_second_moments_under_epsilon_have_a_ball_on_their_entries() -> None:
    """300 releases: the mean square of the noise is within five of its standard errors of the ball's variance."""
    points = np.array([[3, 1, -2], [0, 4, 1], [-1, -1, 4]] * 50)
    truth = points.T @ points / len(points) / 25
    found = [release_second_moments(points, 5, PureEpsilon.of("1"), seeded(seed)) for seed in range(300)]
    errors = np.array([each.unbiased[np.triu_indices(3)] for each in found]) - truth[np.triu_indices(3)]
    each = (errors * len(points) * 25) ** 2
    stated = BallLaw.of(6, 25.0).variance
    assert abs(each.mean() / stated - 1) < 5 * each.mean(axis=1).std() / stated / 300**0.5 < 0.5
    vectors = [np.array(v) for v in product(range(-5, 6), repeat=2) if v[0] ** 2 + v[1] ** 2 <= 25]
    assert max(np.abs(np.outer(x, x) - np.outer(y, y)).max() for x, y in combinations(vectors, 2)) <= 25
    with pytest.raises(InvalidValue, match=r"from 0\.001 to 64"):
        release_second_moments(points, 5, PureEpsilon.of("65"), seeded())


def test_second_moments_differ_by_no_more_than_their_bound_and_longer_vectors_are_refused() -> None:
    vectors = [np.array(v) for v in product(range(-5, 6), repeat=2) if v[0] ** 2 + v[1] ** 2 <= 25]
    worst = max(np.linalg.norm(np.outer(x, x) - np.outer(y, y)) ** 2 for x, y in combinations(vectors, 2))
    assert worst <= 2 * 5**4
    with pytest.raises(InvalidValue, match="clip"):
        release_second_moments(np.array([[6, 0]]), 5, RHO, seeded())


def test_multiplicative_weights_learn_and_refuse_more_rounds_than_rho() -> None:
    counts = np.zeros(24, dtype=np.int64)
    counts[:3] = 100_000
    truth = SIGNS @ counts / counts.sum()
    errors = [
        np.sqrt(np.mean((multiplicative_weights(SIGNS, counts, rounds, RHO, seeded()) - truth) ** 2))
        for rounds in (1, 12)
    ]
    assert errors[1] < 0.3 * np.sqrt(np.mean((SIGNS.mean(axis=1) - truth) ** 2))
    assert errors[1] < errors[0]
    with pytest.raises(InvalidValue, match="too little"):
        multiplicative_weights(SIGNS, counts, 3, Zcdp(2), seeded())


def test_figures_are_those_of_cubes_and_simplices() -> None:
    assert determinant_figure(np.eye(8)) == pytest.approx(1)
    one = volume_figure(np.array([[0.0, 1.0]]), 1.0)
    assert one == pytest.approx(1 / math.e)
    assert volume_figure(PREFIX, 0.5) == pytest.approx(2 * volume_figure(PREFIX, 1.0))
