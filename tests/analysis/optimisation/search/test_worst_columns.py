"""Prices of rows for the worst query, and where rounds of new rows end."""

from dataclasses import replace

import numpy as np
import pytest

from sordino_analysis.optimisation.factorization import factorize
from sordino_analysis.optimisation.search import joint, search_kernel
from sordino_analysis.optimisation.search.images import NO_IMAGES, reflected
from sordino_analysis.optimisation.search.objectives import variances
from sordino_analysis.optimisation.search.pace import Pace
from sordino_analysis.optimisation.search.schedule import SCHEDULES
from sordino_analysis.optimisation.search.tuning import Start
from sordino_analysis.optimisation.search.worst_columns import OwnPrices, own_prices
from sordino_analysis.progress import ignore_progress
from sordino_analysis.questions.linear import builtin
from sordino_analysis.request_terms import Effort

BOOST = 3.0


def worst(matrix, epsilon, **options):
    design = search_kernel(matrix, epsilon, factorize(matrix, "max", 0.02), **options)
    kernel = design.low[:, None] * np.where(design.members, np.exp(epsilon), 1.0)
    np.testing.assert_allclose(kernel.sum(axis=0), 1.0, rtol=1e-9)
    np.testing.assert_allclose(design.decoder @ kernel, matrix, atol=1e-7)
    return float(variances(kernel, design.decoder, matrix).max())


def some_prices(queries=5, types=6):
    generator = np.random.default_rng(1)
    weights = generator.dirichlet(np.ones(queries * types)).reshape(queries, types)
    return OwnPrices(generator.normal(size=(queries, types)), weights, generator.uniform(1, 2, types), BOOST)


def test_gains_after_flips_are_those_of_the_flipped_sets():
    prices, sets = some_prices(), np.random.default_rng(2).random((7, 6)) < 0.4
    gains, flipped = prices.flips(sets)
    np.testing.assert_allclose(gains, prices.gains(sets))
    for place in range(6):
        moved = sets.copy()
        moved[:, place] ^= True
        np.testing.assert_allclose(flipped[:, place], prices.gains(moved))


def test_prices_of_half_the_rows_are_those_of_all():
    matrix = builtin("prefix", 6).operator.dense()
    matrix = matrix - matrix.mean(axis=1, keepdims=True)
    images, generator = reflected(matrix), np.random.default_rng(3)
    members = generator.random((8, 6)) < 0.4
    weights, pressure = generator.uniform(0.5, 1, 8), generator.random(matrix.shape)
    pressure = images.of_squares(pressure)
    half = own_prices(matrix, members, weights, BOOST, pressure, images)
    every = own_prices(matrix, images.all_rows(members), np.tile(weights, 2), BOOST, pressure, NO_IMAGES)
    np.testing.assert_allclose(half.answers, every.answers, atol=1e-6)
    np.testing.assert_allclose(half.columns, every.columns, atol=1e-6)


def test_a_row_that_is_added_at_its_price_lowers_the_sum_of_the_variances_by_its_gain():
    """Σ Λ Var of the best decoders, less what the columns' sums cost, is D(θ) = Σ_q w_qᵀM_q⁻¹w_q + νᵀ(Σ θ v − 1)."""
    matrix, generator = builtin("prefix", 5).operator.dense(), np.random.default_rng(4)
    members, weights = generator.random((12, 5)) < 0.4, generator.uniform(0.5, 1, 12)
    pressure = generator.random(matrix.shape)
    prices = own_prices(matrix, members, weights, BOOST, pressure, NO_IMAGES)

    def value(theta):
        rows = 1 + BOOST * members
        total = float(prices.columns @ (rows.T @ theta - 1))
        for row, own in zip(matrix, prices.weights, strict=True):
            total += float(row @ np.linalg.solve((rows.T * (theta / (rows @ own))) @ rows, row))
        return total

    step = 1e-6
    for place in range(len(members)):
        moved = np.where(np.arange(len(members)) == place, step, 0.0)
        slope = (value(weights + moved) - value(weights - moved)) / (2 * step)
        gain = prices.gains(members[[place]])[0] * (1 + BOOST * members[place]).mean()
        assert gain == pytest.approx(-slope, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_rounds_of_new_rows_end_near_the_optimum(exact_optimum, small_matrix, epsilon):
    matrix = small_matrix("prefix", 8)
    exact = exact_optimum(matrix, epsilon, "max")
    assert exact * (1 - 1e-5) <= worst(matrix, epsilon) <= 1.005 * exact


def test_a_round_that_gains_nothing_is_followed_by_softer_prices(monkeypatch):
    """The rounds for 128 prefix sums at ε = 4 ended after the first one, which added 18 rows and lost."""
    sharpness, grown = [], joint.grown

    def losing_at_first(point, decoder, matrix, epsilon, sharp, new_rows, images):
        sharpness.append(sharp)
        if len(sharpness) < 2:
            raise_weights = np.where(np.arange(len(point.weights)) % 2, 1.0, 1.02)
            return replace(point, weights=point.weights * raise_weights, free=10 * point.free)
        return grown(point, decoder, matrix, epsilon, sharp, new_rows, images)

    standard = SCHEDULES[Effort.STANDARD]
    short = replace(standard, new_rows=replace(standard.new_rows, evaluations=(2, 2)))
    monkeypatch.setattr(joint, "grown", losing_at_first)
    monkeypatch.setitem(joint.SCHEDULES, Effort.STANDARD, short)
    matrix = builtin("prefix", 12).operator.dense()
    assert worst(matrix, 2.0) < 1.1
    last = standard.last_sharpness
    assert sharpness[:2] == [last, last / 4]


@pytest.mark.parametrize(("allowed", "begun_from"), [(0.0, [0, 0, 2, 2]), (0.01, [0, 1, 2, 2])])
def test_a_round_goes_on_from_one_that_lost_no_more_than_allowed(monkeypatch, allowed, begun_from):
    """Polished rows lose .1 % by the first round, and with its new rows gain 2 % by those that follow."""
    matrix = builtin("prefix", 6).operator.dense()
    search = joint._Search(matrix, 2.0, factorize(matrix, "max", 0.2), Pace(ignore_progress), lambda: False)
    points, begun = [search.begin(Start(1.0, 4.0, 0.0), 0, SCHEDULES[Effort.QUICK])], []
    values = [1.0, 1.001, 0.98, 0.995, 0.98]

    def noted(point, *_):
        begun.append(next(place for place, known in enumerate(points) if known is point))
        points.append(replace(point))
        return points[-1]

    monkeypatch.setattr(joint, "grown", noted)
    monkeypatch.setattr(search.descents, "settled", lambda point, *_: point)
    monkeypatch.setattr(search.descents, "decoder", lambda _: None)
    monkeypatch.setattr(
        search.descents, "worst", lambda point: next(v for p, v in zip(points, values, strict=False) if p is point)
    )
    rows = replace(SCHEDULES[Effort.STANDARD].new_rows, allowed_loss=allowed)
    best = search._with_worst_rows(points[0], replace(SCHEDULES[Effort.STANDARD], worst_rounds=4, new_rows=rows))
    assert begun == begun_from
    assert best is points[2]


@pytest.mark.slow
def test_a_thorough_search_ends_below_a_standard_one_over_many_types():
    """Over 128 types at ε = 4 a thorough search ended at .622 and a standard one at .620."""
    matrix = builtin("prefix", 96).operator.dense()
    thorough, standard = (worst(matrix, 4.0, effort=effort) for effort in (Effort.THOROUGH, Effort.STANDARD))
    assert thorough <= 0.995 * standard


@pytest.mark.slow
def test_rounds_of_new_rows_lower_the_largest_variance_and_seeds_end_alike(monkeypatch):
    """Proved for every kernel over 32 types at ε = 4: .298; a cone program over 508 rows has .3112."""
    matrix = builtin("prefix", 32).operator.dense()
    found = [worst(matrix, 4.0, seed=seed) for seed in range(3)]
    assert min(found) > 0.298
    assert max(found) <= 0.316
    assert max(found) <= 1.02 * min(found)
    monkeypatch.setitem(joint.SCHEDULES, Effort.STANDARD, replace(SCHEDULES[Effort.STANDARD], worst_rounds=0))
    assert worst(matrix, 4.0) > 1.05 * max(found)


@pytest.mark.slow
def test_seeds_end_alike_over_many_types():
    """Seeds 0, 1 and 2 ended at .675, .626 and .619 over 128 types, by starts that short runs chose."""
    matrix = builtin("prefix", 96).operator.dense()
    found = [worst(matrix, 4.0, seed=seed) for seed in range(2)]
    assert max(found) <= 1.02 * min(found)
