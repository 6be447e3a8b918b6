"""Several arms less one of them: the quantile of the largest error over all answers and arms."""

from __future__ import annotations

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.comparisons.difference import Side, difference
from sordino_analysis.comparisons.several import differences
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness


def sides(plan: sa.Plan, shares: list[float], users: list[int], seed: int) -> list[Side]:
    found = []
    for arm, count in enumerate(users):
        types = np.random.default_rng([seed, arm]).choice(len(shares), count, p=shares)
        payloads = randomize_many(plan.device.randomizer, types, SeededRandomness(1000 * seed + arm))
        total = Aggregate(count, accumulate(plan.device.randomizer, payloads))
        found.append(Side.of_plan(plan.device, plan.analyst, total, 0.95))
    return found


@pytest.fixture(scope="module")
def bit() -> sa.Plan:
    """One share that varies: two queries that are each other less 1."""
    return sa.plan(sa.histogram(2), epsilon=1, mechanism="randomized_response")


@pytest.mark.parametrize(("arms", "quantile"), [(3, 2.212), (4, 2.349), (5, 2.442)])
def test_of_one_answer_it_is_dunnetts_quantile(bit: sa.Plan, arms: int, quantile: float) -> None:
    """Equal arms and many reports: Dunnett (1964), table II, two-sided 95 % for infinite degrees of freedom."""
    base, *others = sides(bit, [0.5, 0.5], [5000] * arms, 1)
    found = differences(base, others, population=True)
    assert {each.quantile for each in found} == {found[0].quantile}
    # The quantile of 20,000 draws has a standard error of .01.
    assert found[0].quantile == pytest.approx(quantile, abs=0.04)


def test_two_arms_are_one_difference(bit: sa.Plan) -> None:
    base, other = sides(bit, [0.3, 0.7], [4000, 4000], 2)
    (found,) = differences(base, [other], population=True)
    assert found.quantile == difference(base, other, population=True).quantile


# By the binomial law of one miss in 20 a count outside comes with chance .008 and .004.
@pytest.mark.parametrize(("times", "fewest", "most"), [(60, 1, 9), pytest.param(300, 5, 27, marks=pytest.mark.slow)])
def test_the_bands_of_all_arms_hold_at_once(times: int, fewest: int, most: int) -> None:
    """Four arms of one law: one time in 20 a band misses, and by its own band of one pair one in 8."""
    plan = sa.plan(sa.prefix(6), epsilon=2)
    missed, alone = 0, 0
    for seed in range(times):
        base, *others = sides(plan, [0.3, 0.2, 0.2, 0.1, 0.1, 0.1], [600] * 4, seed)
        found = differences(base, others, population=True)
        missed += any(verdict != "undecided" for each in found for verdict in each.verdict)
        alone += any(
            verdict != "undecided" for other in others for verdict in difference(base, other, population=True).verdict
        )
    assert fewest <= missed <= most
    assert alone > missed + times // 60
