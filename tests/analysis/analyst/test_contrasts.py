"""Weighted sums of answers and the covariance of their errors, against draws, each other and listed answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.integer_kernels import probabilities
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.randomizers import FiniteKernel

HELD = np.array([1500, 900, 450, 150])


@pytest.fixture(scope="module")
def histogram() -> sa.Plan:
    return sa.plan(sa.histogram(4), epsilon=1, mechanism="optimised_kernel")


def drawn(plan: sa.Plan, rng: np.random.Generator) -> sa.Aggregate:
    assert isinstance(plan.device.randomizer, FiniteKernel)
    kernel = probabilities(plan.device.randomizer)
    counts = [rng.multinomial(n, column / column.sum()) for n, column in zip(HELD, kernel.T, strict=True)]
    return sa.Aggregate(int(HELD.sum()), np.sum(counts, axis=0))


@pytest.mark.parametrize(
    ("draws", "contrasts", "within", "least", "most"),
    [(400, 60, 0.22, 0.86, 1), pytest.param(1500, 150, 0.12, 0.89, 0.99, marks=pytest.mark.slow)],
)
def test_the_variance_of_a_contrast_is_that_of_draws_and_intervals_hold(
    histogram: sa.Plan, draws: int, contrasts: int, within: float, least: float, most: float
) -> None:
    """400 draws: a variance within 22 %, of 1,500 within 12 %; .95 of 60 intervals above .86, of 150 above .89 (three
    standard errors each, so that one seed in 150 is a false alarm).
    """
    rng, truth, found = np.random.default_rng(1), float(HELD[0] - 2 * HELD[2]) / HELD.sum(), []
    labels = sa.estimate(histogram, drawn(histogram, rng)).labels
    weights = {labels[0]: 1, labels[2]: -2}
    estimator = LinearEstimator.of(histogram.device, histogram.analyst)
    for place in range(draws):
        aggregate = drawn(histogram, rng)
        unbiased = estimator.unbiased(aggregate)
        value = unbiased[0] - 2 * unbiased[2]
        if place < contrasts:
            answer = sa.estimate(histogram, aggregate)
            np.testing.assert_allclose(answer.uncut, unbiased)
            contrast = answer.contrast(weights)
            assert contrast.value == pytest.approx(value, abs=5e-4)
            found.append((value, contrast.standard_error, contrast.interval[0] <= truth <= contrast.interval[1]))
        else:
            found.append((value, np.nan, np.nan))
    values, errors, inside = np.array(found, dtype=float).T
    assert np.var(values) == pytest.approx(np.nanmean(errors**2), rel=within)
    assert least < np.nanmean(inside) <= most
    apart = np.sqrt(np.var(values) * 0.6)
    assert np.mean(np.abs(values - truth) < 1.96 * apart) < 0.92  # an error that is off is noticed


def test_covariances_give_the_variance_of_every_contrast(histogram: sa.Plan) -> None:
    estimate = sa.estimate(histogram, drawn(histogram, np.random.default_rng(2)))
    covariance = estimate.covariance(estimate.labels)
    np.testing.assert_allclose(np.diag(covariance), estimate.standard_errors**2)
    np.testing.assert_allclose(covariance, covariance.T)
    for weights in ([1, -1, 0, 0], [0.5, 2, -3, 1]):
        contrast = estimate.contrast(dict(zip(estimate.labels, weights, strict=True)))
        assert contrast.standard_error**2 == pytest.approx(np.array(weights) @ covariance @ np.array(weights))


def test_a_contrast_that_is_a_range_is_the_range(plan: sa.Plan, minutes: np.ndarray) -> None:
    estimate = sa.simulate(plan, minutes, seed=1).estimate
    first, _, last = estimate.labels
    (answer,) = estimate.answer("range", "0..60")
    for contrast in (estimate.contrast({last: 1, first: -1}), estimate.contrast({("range", "0..60"): 1})):
        assert contrast.value == pytest.approx(answer.uncut)
        assert contrast.standard_error == pytest.approx(answer.standard_error)
        # The range's is at .96 before the simplex cuts it, up to 4.8 % longer; a contrast reads unbiased answers.
        assert contrast.interval == pytest.approx(answer.interval, abs=0.11 * answer.standard_error)
        of_range = answer.population_interval
        assert contrast.population_interval == pytest.approx(of_range, abs=0.11 * answer.population_standard_error)
    assert contrast.table.numbers("coverage")[0] == pytest.approx(0.95, abs=0.002)
    both = estimate.contrast({("range", "0..15"): 1, first: 1})
    assert both.value == pytest.approx(estimate.uncut[1])


def test_what_is_the_same_for_everybody_is_refused(histogram: sa.Plan) -> None:
    estimate = sa.estimate(histogram, drawn(histogram, np.random.default_rng(3)))
    with pytest.raises(InvalidValue, match="the same answer whatever the users hold"):
        estimate.contrast(dict.fromkeys(estimate.labels, 1))


def test_rows_of_a_matrix_and_marginals_have_contrasts() -> None:
    domain = [{"name": "v", "kind": "ordinal", "edges": [1, 2], "unit": "ms"}]
    rows = {"matrix": [[1, 1.5, 3], [1, 0, 0]], "labels": ["mean", "low"]}
    plan = sa.plan(sa.workload({"name": "v", "domain": domain, "queries": rows}), epsilon=1, effort="quick")
    estimate = sa.simulate(plan, [0.5, 1.5, 2.5] * 2000, seed=2).estimate
    contrast = estimate.contrast({"mean": 1, "low": 2})
    assert contrast.value == pytest.approx(estimate.uncut[0] + 2 * estimate.uncut[1])
    assert contrast.unit == ""
    assert estimate.contrast({"mean": 2}).unit == "ms"
    assert abs(contrast.value - (5.5 / 3 + 2 / 3)) < 6 * contrast.standard_error
    bits = [{"name": f"b{j}", "kind": "categorical", "labels": ["off", "on"]} for j in range(4)]
    asked = sa.workload({"name": "m", "domain": bits, "queries": {"kind": "marginals", "width": 2}})
    marginals = sa.simulate(
        sa.plan(asked, epsilon=2, effort="quick"), [dict.fromkeys(("b0", "b1", "b2", "b3"), "on")] * 3000, seed=1
    )
    found = marginals.estimate.contrast({"b0: on, b1: on": 1, "b0: off, b1: off": -1})
    assert abs(found.value - 1) < 6 * found.standard_error
    with pytest.raises(SordinoError, match="a marginal is of 1 to 2 different attributes"):
        marginals.estimate.contrast({"b0: on": 1, "b1: on": 1, "b2: on": 1})


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({}, "give weights of queries"),
        ({"late": 1}, "no query 'late'; it has 'delay ≤ 0 min'"),
        ({"delay ≤ 0 min": 0}, "every weight is 0"),
        ({"delay ≤ 0 min": float("nan")}, "is a finite number, not nan"),
        ({"delay ≤ 0 min": "1"}, "is a finite number, not '1'"),
        ({("quantile", "0.5"): 1}, "one of range, rectangle, cell, marginal, not 'quantile'"),
        ({("range", "7..9"): 1}, "7 is no edge"),
        ({5: 1}, "name a query by its label"),
        ([1, -1], "give weights of queries"),
    ],
)
def test_wrong_weights_say_what_to_give(plan: sa.Plan, minutes: np.ndarray, weights: Any, said: str) -> None:
    estimate = sa.simulate(plan, minutes[:500], seed=1).estimate
    with pytest.raises(InvalidValue, match=said):
        estimate.contrast(weights)


def test_what_the_reports_do_not_determine_is_refused() -> None:
    asked = sa.workload(
        {"name": "x", "domain": [{"name": "v", "kind": "ordinal", "edges": [1, 2]}], "queries": {"matrix": [[1, 0, 0]]}}
    )
    estimate = sa.simulate(sa.plan(asked, epsilon=1, mechanism="query_kernel"), [0.5] * 500, seed=1).estimate
    with pytest.raises(SordinoError, match=r"do not determine the answer to '.*≤ 2"):
        estimate.contrast({("range", "..2"): 1})
    with pytest.raises(InvalidValue, match="a list of 1 to 50 queries"):
        estimate.covariance([])
    items = {
        "name": "n",
        "domain": [{"name": "n", "kind": "integers", "low": 0, "high": 99_999}],
        "queries": "histogram",
    }
    run = sa.simulate(sa.plan(sa.workload(items), epsilon=4), [7] * 300 + [8] * 300, seed=1)
    with pytest.raises(SordinoError, match="single items"):
        run.estimate.contrast({"7": 1, "8": -1})
