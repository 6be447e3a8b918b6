"""Looks that hold for any number of reports: the supermartingale by enumeration, false alarms, and whole looks."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.experiments.looks import FIRST_FLOW, always, naive, stopped
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.experiments.always import AlwaysValid, ArmSums, Contributions
from sordino_analysis.experiments.looking import is_decided, look, made
from sordino_analysis.experiments.looks import Looks
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Arm
from tests.analysis.experiments.test_looking import design_of, reported

RULE = AlwaysValid(weights=(0.25, 0.75), low=-0.6, high=1.7, centre=0.1, variance=40.0, level=0.9)


def of_reports(reports: list[tuple[int, float]]) -> tuple[int, ArmSums, ArmSums]:
    """The sums after reports of an arm and a contribution."""
    sides = [[y for arm, y in reports if arm == place] for place in (0, 1)]
    sums = [ArmSums(len(ys), math.fsum(ys), math.fsum(y * y for y in ys)) for ys in sides]
    return len(reports), sums[0], sums[1]


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.9])
def test_no_rate_gains_on_average_whatever_the_law_and_the_looks(chance):
    """Exactly, over all paths of four reports with a look after each, at both signs and all λ's by themselves."""
    wealth = np.zeros((2, len(RULE.rates)))
    outcomes = [
        (arm, y, weight * (chance if y == RULE.high else 1 - chance))
        for arm, weight in enumerate(RULE.weights)
        for y in (RULE.low, RULE.high)
    ]
    for path in itertools.product(outcomes, repeat=4):
        looks = [of_reports([(arm, y) for arm, y, _ in path[: step + 1]]) for step in range(4)]
        total, variation = RULE.sum_of(*looks[-1][1:]), RULE.variation(looks)
        scaled = RULE.rates * RULE.length
        costs = (-np.log1p(-scaled) - scaled) / RULE.length**2
        for side, sign in enumerate((1, -1)):
            wealth[side] += math.prod(p for _, _, p in path) * np.exp(RULE.rates * sign * total - costs * variation)
    # Both arms have one mean, so that μ is 0.
    assert (wealth <= 1 + 1e-12).all()
    assert (wealth > 0.5).any()


def test_the_interval_is_where_the_wealth_is_below_its_limit():
    looks = [of_reports([(0, 1.7), (1, -0.6), (1, 1.7)] * 20), of_reports([(0, 1.7), (1, -0.6), (1, 1.7)] * 60)]
    low, high = RULE.interval(looks)
    total, variation = RULE.sum_of(*looks[-1][1:]), RULE.variation(looks)
    limit = math.log(2 / 0.1)
    assert RULE.log_wealth(total - 180 * low, variation) == pytest.approx(limit, abs=1e-6)
    assert RULE.log_wealth(180 * high - total, variation) == pytest.approx(limit, abs=1e-6)
    assert RULE.log_wealth(total - 180 * (low + 0.01), variation) < limit
    assert RULE.interval([]) == (-math.inf, math.inf)


def test_two_thousand_null_experiments_looked_at_daily():
    """.017 of them alarm by the page: above .026 with chance .001. What people do alarms in .28."""
    assert always(FIRST_FLOW, 0.0, 2000, 1).found <= 0.026
    nulls = FIRST_FLOW.draw(2000, 0.0, 1)
    assert stopped(naive(FIRST_FLOW, *nulls), nulls[0], 0.0).found > 5 * 0.05


def test_at_epsilon_1_it_finds_what_the_normal_mixture_finds():
    """.47 of 2,000, whose standard error is .011."""
    assert always(FIRST_FLOW, FIRST_FLOW.detectable, 2000, 2).found == pytest.approx(0.47, abs=0.04)


def test_ten_reports_are_enough_to_hold():
    """At a rare event normal intervals miss: of 400 experiments of 20 reports none is found to differ by always."""
    few = FIRST_FLOW.__class__(epsilon=4, daily=20, share=0.01, days=10)
    assert always(few, 0.0, 400, 3).found <= 0.02


@pytest.fixture(scope="module")
def counted(plan_of):
    return plan_of("histogram", 3, mechanism="randomized_response")


def test_whole_looks_hold_the_difference_and_pool_what_came_between(counted):
    design = design_of(counted, looks=Looks.ALWAYS, users=16_000)
    shares = ([0.2, 0.4, 0.4], [0.22, 0.39, 0.39])
    before, sums = [], [Aggregate.empty(counted.device.randomizer)] * 2
    for day in range(1, 4):
        sums = [
            total + reported(counted, own, 2000, 10 * day + arm)
            for arm, (total, own) in enumerate(zip(sums, shares, strict=True))
        ]
        found = look(design, counted.device, counted.analyst, sums, before, ended=day == 3)
        before.append(made(found, design))
    (one,) = found["comparisons"]
    assert one["verdict"] == "undecided"
    assert one["lower"] < 0.02 < one["upper"]
    # Wider than the normal mixture at the same share of the information, by little at ε = 1.
    assert 3.0 < one["boundary"] < 4.5
    first = look(design, counted.device, counted.analyst, sums, [], ended=False)["comparisons"][0]
    assert first["lower"] == pytest.approx(one["lower"], abs=0.01)
    assert is_decided(found, design)


def test_sums_and_squares_are_those_of_the_reports(counted):
    estimator = LinearEstimator.of(counted.device, counted.analyst)
    found = Contributions.of(estimator, 1)
    aggregate = reported(counted, [0.2, 0.3, 0.5], 500, 1)
    sums = found.sums_of(aggregate)
    assert sums.total / 500 == pytest.approx(estimator.unbiased(aggregate)[1])
    outputs = np.repeat(np.arange(3), aggregate.sums)
    assert sums.squares == pytest.approx(float((found.values[outputs] ** 2).sum()))
    assert found.centre == 0.0


def test_reports_that_are_not_counted_one_by_one_are_refused(plan_of):
    plan = plan_of("histogram", 8, mechanism="subset_selection")
    with pytest.raises(InvalidValue, match="counted one by one"):
        Contributions.of(LinearEstimator.of(plan.device, plan.analyst), 0)


def test_an_expected_answer_narrows_what_holds(counted):
    """Of an answer of .4, from which c₀ is .4 where nobody expects it: the first refused differences come nearer."""
    estimator = LinearEstimator.of(counted.device, counted.analyst)
    assert Contributions.of(estimator, 1, 0.4).centre == 0.4
    sides = [reported(counted, [0.3, 0.4, 0.3], 8000, seed) for seed in (1, 2)]
    widths = []
    for expect in (None, 0.4, 1.0):
        design = replace(design_of(counted, looks=Looks.ALWAYS, users=16_000), expect=expect)
        (one,) = look(design, counted.device, counted.analyst, sides, [], ended=False)["comparisons"]
        assert one["lower"] < 0 < one["upper"]
        widths.append(one["upper"] - one["lower"])
    assert widths[1] < 0.98 * widths[0]
    assert widths[0] < 0.98 * widths[2]
    for wrong in (-0.1, 1.1):
        with pytest.raises(InvalidValue, match="expected answer lies between 0 and 1"):
            Contributions.of(estimator, 1, wrong)


def test_three_arms_leave_out_the_third(counted):
    arms = (Arm("A", 2**15), Arm("B", 2**14), Arm("C", 2**14))
    design = design_of(counted, looks=Looks.ALWAYS, arms=arms)
    sides = [reported(counted, [0.2, 0.4, 0.4], users, seed) for users, seed in ((8000, 1), (4000, 2), (4000, 3))]
    found = look(design, counted.device, counted.analyst, sides, [], ended=False)["comparisons"]
    assert [one["lower"] < 0 < one["upper"] for one in found] == [True, True]


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_a_level_is_a_probability(level):
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        AlwaysValid(weights=(0.5, 0.5), low=0.0, high=1.0, centre=0.0, variance=1.0, level=level)


@pytest.mark.slow
def test_ten_thousand_null_experiments():
    assert always(FIRST_FLOW, 0.0, 10_000, 1).found <= 0.02
