"""Bounds by shortest paths against the linear program, and real campaigns whose intervals they cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import binom

from benchmarks.coverage.campaigns import aggregates
from sordino_analysis.estimation.intervals import normal_quantile
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.estimation.range_bounds import RangesOfTypes
from sordino_analysis.questions.linear.operators import Intervals, Prefix, Ranges

TYPES = 12


def _programmed(ranges: RangesOfTypes, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The least and the largest answer of all histograms within the bounds."""
    rows = Intervals(ranges.starts, ranges.stops, ranges.size).dense()
    within = {"A_ub": np.vstack([rows, -rows]), "b_ub": np.concatenate([upper, -lower])}
    found = []
    for row in rows:
        ends = [
            linprog(sign * row, **within, A_eq=np.ones((1, ranges.size)), b_eq=[1.0], bounds=(0, None))
            for sign in (1, -1)
        ]
        if ends[0].status == 2:
            return None
        found.append((ends[0].fun, -ends[1].fun))
    low, high = np.array(found).T
    return low, high


@pytest.mark.parametrize("prefixes", [True, False])
@pytest.mark.parametrize("draws", [12, pytest.param(50, marks=pytest.mark.slow)])
def test_paths_are_the_sharpest_bounds(prefixes: bool, draws: int) -> None:
    random, refused = np.random.default_rng(2), 0
    for _ in range(draws):
        starts = np.zeros(8, dtype=int) if prefixes else random.integers(0, TYPES - 1, 8)
        stops = np.array([random.integers(start + 1, TYPES + 1) for start in starts])
        ranges = RangesOfTypes(starts, stops, TYPES)
        truth = Intervals(starts, stops, TYPES).matvec(random.dirichlet(np.full(TYPES, 0.3)))
        middle = truth + 0.15 * random.standard_normal(8)
        half = 0.25 * random.random(8)
        found, expected = ranges.bounds(middle - half, middle + half), _programmed(ranges, middle - half, middle + half)
        assert (found is None) == (expected is None)
        refused += found is None
        if found is not None and expected is not None:
            np.testing.assert_allclose(np.array(found), np.array(expected), atol=1e-9)
    assert 0 < refused < draws


@pytest.mark.parametrize("prefixes", [True, False])
def test_ranges_that_are_not_listed_have_the_bounds_of_all_histograms(prefixes: bool) -> None:
    """Their ends are edges of listed ranges, or between two of these."""
    random = np.random.default_rng(4)
    starts = np.zeros(5, dtype=int) if prefixes else np.array([0, 0, 2, 5, 7])
    stops = np.array([2, 5, 7, 9, 11])
    listed, asked = RangesOfTypes(starts, stops, TYPES), (np.array([2, 3, 6]), np.array([7, 4, 10]))
    middle = Intervals(starts, stops, TYPES).matvec(random.dirichlet(np.ones(TYPES)))
    implied = listed.implied(middle - 0.1, middle + 0.1)
    both = RangesOfTypes(np.append(starts, asked[0]), np.append(stops, asked[1]), TYPES)
    apart = np.full(3, 2.0)
    expected = _programmed(both, np.append(middle - 0.1, -apart), np.append(middle + 0.1, apart))
    assert implied is not None
    assert expected is not None
    np.testing.assert_allclose(np.array(implied.of(*asked)), np.array(expected)[:, 5:], atol=1e-9)


def test_rows_of_families_are_read_as_ranges() -> None:
    for operator in (Prefix(7, 8), Ranges(6, 8)):
        ranges = RangesOfTypes.of(operator)
        assert ranges is not None
        np.testing.assert_array_equal(Intervals(ranges.starts, ranges.stops, 8).dense(), operator.dense())


# Bins, users' shares and users; a point, and users that leave the simplex no room.
CELLS = {
    "point": np.eye(16)[5],
    "two": 0.6 * np.eye(16)[3] + 0.3 * np.eye(16)[9] + 0.1 / 16,
    "smooth": np.exp(-((np.arange(16) - 5.0) ** 2) / 12) / np.exp(-((np.arange(16) - 5.0) ** 2) / 12).sum(),
    "even": np.full(16, 1 / 16),
}


def _checked(plan_of, kind: str, shares: np.ndarray, users: int, campaigns: int, least: float) -> float:
    """The mean length of the intervals as a share of ± 1.96 standard errors; each campaign's ends are in order."""
    plan = plan_of(kind, 16, "1", mechanism="subset_selection" if kind == "prefix" else None)
    estimator, operator = LinearEstimator.of(plan.device, plan.analyst), plan.request.workload.operator
    held, at_once, lengths, cuts = [], 0, [], 0
    for counts, aggregate in aggregates(plan.device.randomizer, shares, users, campaigns, seed=5):
        found, truth = estimator.estimate(aggregate), operator.matvec(counts / users)
        cuts += found.cut is not None
        for low, high in ((found.lower, found.upper), (found.band_lower, found.band_upper)):
            assert (low <= found.best + 1e-9).all()
            assert (found.best <= high + 1e-9).all()
        assert (found.band_lower <= found.lower).all()
        assert (found.upper <= found.band_upper).all()
        held.append((found.lower <= truth + 1e-12) & (truth <= found.upper + 1e-12))
        at_once += bool(((found.band_lower <= truth + 1e-12) & (truth <= found.band_upper + 1e-12)).all())
        lengths.append((found.upper - found.lower) / (2 * normal_quantile(0.95) * found.standard_error))
    # The wider band contradicts the simplex in a hundredth of campaigns at most.
    assert cuts >= binom.ppf(1e-4, campaigns, 0.99)
    assert np.mean(held) >= least
    assert at_once >= binom.ppf(1e-4, campaigns, 0.95)
    return float(np.mean(lengths))


def test_cut_intervals_of_real_reports_hold_and_are_short_for_a_point(plan_of) -> None:
    assert _checked(plan_of, "prefix", CELLS["point"], 20_000, 25, 0.94) < 0.7
    assert _checked(plan_of, "prefix", CELLS["even"], 20_000, 10, 0.9) < 1.05


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["prefix", "ranges"])
@pytest.mark.parametrize("shares", list(CELLS))
def test_cut_intervals_of_real_reports_hold_in_every_cell(plan_of, kind, shares) -> None:
    assert _checked(plan_of, kind, CELLS[shares], 20_000, 500, 0.94) < 1.05
