"""Lifts: Fieller's sets where ends are even, on the same side of 0 as differences, and how often they hold."""

from __future__ import annotations

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.comparisons.difference import Side, difference
from sordino_analysis.comparisons.lifts import Answered, lifts
from sordino_analysis.estimation.fieller import JointErrors, fieller_set
from sordino_analysis.evaluation.accumulate import Aggregate

CAMPAIGNS = 150


def answered(values: np.ndarray, below: np.ndarray, above: np.ndarray) -> Answered:
    return Answered(values, np.column_stack([values - below, values + above]))


def test_of_even_ends_they_are_fiellers_sets() -> None:
    rng = np.random.default_rng(1)
    base, other = rng.uniform(1, 5, 200), rng.uniform(-5, 5, 200)
    errors = rng.uniform(0.05, 0.4, (2, 200))
    value, ends = lifts(answered(base, 2 * errors[0], 2 * errors[0]), answered(other, 2 * errors[1], 2 * errors[1]))
    np.testing.assert_allclose(value, other / base - 1)
    for row in range(200):
        joint = JointErrors(numerator=errors[1, row] ** 2, covariance=0.0, denominator=errors[0, row] ** 2)
        held = fieller_set(other[row], base[row], joint, 2.0)
        np.testing.assert_allclose(ends[row], [held.low - 1, held.high - 1], rtol=1e-9)


def test_of_uneven_ends_a_ratio_is_kept_where_the_recovered_difference_holds_0() -> None:
    rng = np.random.default_rng(2)
    base, other = rng.uniform(1, 3, 300), rng.uniform(-2, 4, 300)
    below, above = rng.uniform(0.05, 0.9, (2, 2, 300))
    _, ends = lifts(answered(base, below[0], above[0]), answered(other, below[1], above[1]))
    for row, (low, high) in enumerate(ends + 1):

        def holds(ratio: float, row: int = row) -> bool:
            off = other[row] - ratio * base[row]
            # What the base's error adds changes sides with the sign of the ratio.
            sides = (above[0], below[0]) if ratio >= 0 else (below[0], above[0])
            down, up = (
                np.hypot(own[row], ratio * side[row]) for own, side in zip((below[1], above[1]), sides, strict=True)
            )
            return bool(off - down <= 0 <= off + up)

        step = 1e-6 * max(1.0, abs(low), abs(high))
        assert [holds(ratio) for ratio in (low - step, low + step, high - step, high + step)] == [
            False,
            True,
            True,
            False,
        ]


def test_a_base_that_may_be_0_has_no_lift() -> None:
    value, ends = lifts(
        answered(np.array([1.0, 1.0, -1.0]), np.array([1.0, 0.9, 0.1]), np.ones(3)),
        answered(np.ones(3), np.ones(3), np.ones(3)),
    )
    assert np.isnan(value).tolist() == [True, False, True]
    assert np.isnan(ends).tolist() == [[True, True], [False, False], [True, True]]


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    return sa.plan(sa.histogram(3), epsilon=2, mechanism="randomized_response")


def sides(plan: sa.Plan, shares: tuple[list[float], list[float]], rng: np.random.Generator) -> list[Side]:
    """Arms of 3,000 users who are drawn from two laws, by the law of a report."""
    gain = (np.exp(2) - 1) / (np.exp(2) + 2)
    found = []
    for own in shares:
        told = gain * np.array(own) + (1 - gain) / 3
        sums = rng.multinomial(3000, told / told.sum())
        found.append(Side.of_plan(plan.device, plan.analyst, Aggregate(3000, sums), 0.95))
    return found


def test_lifts_hold_with_their_level_and_lie_as_differences_do(plan: sa.Plan) -> None:
    """.95 of 150 campaigns: 133 or fewer with chance .002 for each; 1.4 errors hold .84, 139 with .003."""
    laws = ([0.5, 0.3, 0.2], [0.6, 0.3, 0.1])
    truth, rng = np.array([0.2, 0.0, -0.5]), np.random.default_rng(3)
    held, narrow = np.zeros(3), np.zeros(3)
    for _ in range(CAMPAIGNS):
        found = difference(*sides(plan, laws, rng), population=True)
        low, high = found.lift_interval.T
        held += (low <= truth) & (truth <= high)
        middle = (low + high) / 2
        narrow += np.abs(middle - truth) <= (high - low) / 2 * 1.4 / 1.96
        banded = found.lift_band
        assert ((banded[:, 0] > 0) == (found.band[:, 0] > 0)).all()
        assert ((banded[:, 1] < 0) == (found.band[:, 1] < 0)).all()
    assert (held > 133).all(), held
    assert (narrow < 139).all(), narrow
