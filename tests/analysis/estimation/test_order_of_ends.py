"""Whatever the counts: best guesses lie in their intervals, these in the bands, and all shares in [0, 1]."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage.campaigns import aggregates
from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.cumulative import DistributionFunction, FunctionEnds, rising_ends
from sordino_analysis.estimation.linear import LinearEstimator
from tests.analysis.estimation.test_answers_on_demand import compiled

# The last type has no number.
NUMBERS = {"name": "n", "kind": "integers", "low": 0, "high": 6, "missing": True}
RANGES = ("..2", "1..5", "6..6")
PLANS = (("prefix", "subset_selection"), ("histogram", "randomized_response"), ("ranges", "subset_selection"))


def check(asked: str, mechanism: str, seed: int) -> None:
    """A campaign of random size, of users who are spread at random or of one type."""
    plan, random = compiled([NUMBERS], asked, mechanism), np.random.default_rng(seed)
    users = int(random.choice([1, 2, 7, 300, 1_000_000]))
    shares = np.eye(8)[random.integers(8)] if random.random() < 0.3 else random.dirichlet(np.full(8, 0.4))
    _, aggregate = next(iter(aggregates(plan.device.randomizer, shares, users, 1, seed=seed)))
    found = LinearEstimator.of(plan.device, plan.analyst).estimate(aggregate)
    orders = [[found.band_lower, found.lower, found.best, found.upper, found.band_upper]]
    orders.append([found.population_lower, found.best, found.population_upper])
    answerer = answerer_of(plan.device, plan.analyst, aggregate)
    asked_ranges = answer(answerer, plan.device.domain, "range", RANGES).answers
    orders += [[one.band[0], one.interval[0], one.best, one.interval[1], one.band[1]] for one in asked_ranges]
    for order in orders:
        assert (np.diff(np.stack([np.zeros_like(order[0]), *order, np.ones_like(order[0])]), axis=0) >= 0).all()
    function = answerer._function(0, 0.95)
    for share in (0.05, 0.5, 0.95):
        one = function.quantile(share)
        assert one.band[0] <= one.interval[0] <= one.value <= one.interval[1] <= one.band[1]


@pytest.mark.parametrize(("asked", "mechanism"), PLANS)
def test_ends_are_in_order_whatever_the_counts(asked: str, mechanism: str) -> None:
    for seed in range(12):
        check(asked, mechanism, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("asked", "mechanism"), PLANS)
def test_ends_are_in_order_whatever_many_counts(asked: str, mechanism: str) -> None:
    for seed in range(1000):
        check(asked, mechanism, seed)


def check_quantiles(functions: int) -> None:
    """Of functions that may fall, with ends of any width around them, cut and not."""
    random = np.random.default_rng(8)
    for _ in range(functions):
        values = np.cumsum(random.normal(0.2, 0.3, 5))
        widths = random.exponential(0.2, (3, 5)).cumsum(axis=0)
        one, every, outer = (np.stack([values - width, values + width], axis=1) for width in widths)
        ends = rising_ends(one, every, outer) or FunctionEnds(one, every)
        function = DistributionFunction.of(values, ends, ends, best=np.sort(random.random(5)))
        found = function.quantile(float(random.random()))
        assert found.band[0] <= found.interval[0] <= found.value <= found.interval[1] <= found.band[1]
        assert found.population[0] <= found.value <= found.population[1]


def test_a_quantile_is_within_its_interval_for_random_counts() -> None:
    check_quantiles(2_000)


@pytest.mark.slow
def test_a_quantile_is_within_its_interval_for_very_many_random_counts() -> None:
    check_quantiles(100_000)
