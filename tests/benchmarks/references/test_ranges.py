"""Any range and any quantile of a closed round, against the values that the devices held."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks.references.ranges import RangeEstimator
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.protocol import DevicePart

BINS, USERS = 1024, 200_000


@cache
def plan() -> tuple[DevicePart, AnalystPart]:
    compiled = compile_plan(PlanRequest(builtin("ranges", BINS), PlanningOptions.of(epsilon=1.0, objective="mean")))
    return compiled.device, compiled.analyst


@cache
def cells(users: int = USERS) -> np.ndarray:
    return (np.random.default_rng(1).beta(2, 5, users) * BINS).astype(np.int64)


@cache
def closed_round(seed: int = 2, factor: float = 1.0, users: int = USERS) -> RangeEstimator:
    device, analyst = plan()
    # Devices of another law hold the high weight back; the round is decoded as if they did not.
    randomizer = replace(device.randomizer, high=int(device.randomizer.high * factor))
    reports = randomize_many(randomizer, cells(users), SeededRandomness(seed))
    return RangeEstimator(device, analyst, Aggregate(users, accumulate(device.randomizer, reports)))


def scores(estimator: RangeEstimator, count: int = 60, users: int = USERS) -> np.ndarray:
    random = np.random.default_rng(3)
    ends = [(int(a), int(b)) for a, b in np.sort(random.integers(0, BINS + 1, (count, 2)), axis=1) if a < b]
    found = estimator.ranges(ends)
    held = cells(users)
    truth = np.array([((start <= held) & (held < stop)).mean() for start, stop in ends])
    return np.asarray((found.value - truth) / found.standard_error)


def test_ranges_are_as_far_off_as_stated_and_those_of_another_law_are_not() -> None:
    # One seed in ten thousand by Bonferroni.
    threshold = norm.isf(0.5e-4 / 60)
    assert np.abs(scores(closed_round())).max() < threshold
    assert np.abs(scores(closed_round(factor=0.75))).max() > threshold


def test_errors_scatter_by_the_standard_error() -> None:
    # Standard errors are in proportion to 1/√n whatever n is: a tenth of the users shows as much.
    few = USERS // 10
    found = np.array([scores(closed_round(seed, users=few), 1, few)[0] for seed in range(10, 34)])
    # χ² with 24 degrees of freedom leaves this range with a chance of 1e-4.
    assert 6.9 < (found**2).sum() < 59


def test_quantiles_lie_in_their_bands() -> None:
    values = np.sort(cells())
    for share in (0.05, 0.5, 0.9):
        found, truth = closed_round().quantile(share), int(values[int(np.ceil(share * USERS)) - 1])
        first, last = found.band
        assert first <= truth <= last
        assert first <= found.bin <= last
        assert last - first < BINS // 2


def test_the_band_is_wider_than_the_interval_and_widest_for_all_ranges() -> None:
    prefixes, ranges = (closed_round().ranges([(0, 300)], prefixes=only) for only in (True, False))
    widths = [float(np.ptp(each)) for each in (ranges.interval, prefixes.band, ranges.band)]
    assert widths == sorted(widths)
    assert widths[2] / widths[0] == pytest.approx(
        norm.isf(0.025 / (BINS * (BINS + 1) // 2)) / norm.isf(0.025), rel=1e-6
    )


def test_cumulative_shares_increase_to_one() -> None:
    found = closed_round().cumulative
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found[-1] == pytest.approx(1.0, abs=0.05)


def test_ends_and_shares_out_of_range_are_refused() -> None:
    for ends in ((3, 3), (-1, 4), (0, BINS + 1)):
        with pytest.raises(EstimationError, match="start < stop"):
            closed_round().ranges([ends])
    with pytest.raises(EstimationError, match="share of a quantile"):
        closed_round().quantile(1.0)
    device, analyst = plan()
    with pytest.raises(EstimationError, match="no report"):
        RangeEstimator(device, analyst, Aggregate.empty(device.randomizer))
