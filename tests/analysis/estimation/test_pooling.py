"""Pooled answers are those of all reports together, and their variance is the sum of the regions'."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.estimation.pooling import RegionEstimate, pooled
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

SIZES = (4000, 1000)


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    delay = {"name": "delay", "kind": "ordinal", "edges": [0, 15, 60]}
    return sa.plan(sa.workload({"name": "delays", "domain": [delay], "queries": "prefix"}), epsilon=1)


def region(name: str, found: sa.Estimate, population: np.ndarray) -> RegionEstimate:
    return RegionEstimate(
        campaign=name,
        users=found.users,
        level=found.level,
        compared=len(found.values),
        bias_bound=0.0,
        labels=tuple(found.labels),
        units=tuple(found.units),
        values=found.uncut,
        standard_errors=found.standard_errors,
        population_standard_errors=population,
    )


def test_regions_with_one_plan_give_the_answers_of_all_reports(plan: sa.Plan) -> None:
    sums, regions = [], []
    for seed, users in enumerate(SIZES):
        cells = np.random.default_rng(seed).integers(0, 2 + 2 * (1 - seed), users)
        sums.append(sa.aggregate(plan, randomize_many(plan.device.randomizer, cells, SeededRandomness(seed))))
        found = sa.estimate(plan, sums[-1])
        regions.append(region(str(seed), found, 2 * found.standard_errors))
    together, all_reports = pooled(regions), sa.estimate(plan, sums[0] + sums[1])
    assert together.users == all_reports.users == sum(SIZES)
    np.testing.assert_allclose(together.uncut, all_reports.uncut, atol=1e-12)
    np.testing.assert_allclose(together.values, all_reports.values, atol=1e-12)
    # Both are estimates of the same error, from histograms that differ a little.
    np.testing.assert_allclose(together.standard_errors, all_reports.standard_errors, rtol=0.03)
    np.testing.assert_allclose(together.population_standard_errors, 2 * together.standard_errors)
    equal_weights = np.mean([each.values for each in regions], axis=0)
    assert np.abs(equal_weights - all_reports.values).max() > 0.05


def test_intervals_hold_as_often_as_they_say() -> None:
    """10,000 answers of normal regions: 95 ± .9 %, four standard errors, and a band of three queries at least 95 %."""
    draw = np.random.default_rng(7)
    errors, users = np.array([[0.02, 0.03, 0.01], [0.06, 0.05, 0.09]]), np.array([3000, 1000])
    truth = np.array([0.2, 0.5, 0.9])
    held, all_held, narrow = 0, 0, 0
    for _ in range(3334):
        regions = [
            RegionEstimate(
                campaign=str(each),
                users=int(users[each]),
                level=0.95,
                compared=3,
                bias_bound=0.0,
                labels=("a", "b", "c"),
                units=("share", "share", "ms"),
                values=truth + errors[each] * draw.standard_normal(3),
                standard_errors=errors[each],
                population_standard_errors=errors[each],
            )
            for each in range(2)
        ]
        found = pooled(regions)
        inside = (found.intervals[:, 0] <= truth) & (truth <= found.intervals[:, 1])
        assert (found.intervals[:2] >= 0).all()
        assert (found.intervals[:2] <= 1).all()
        assert np.array_equal(found.values, np.append(np.clip(found.uncut[:2], 0, 1), found.uncut[2]))
        held += int(inside.sum())
        all_held += bool(((found.band[:, 0] <= truth) & (truth <= found.band[:, 1])).all())
        # A law that is off: errors averaged instead of added in squares would be wider by half.
        narrow += int((np.abs(found.values - truth) <= 0.9 * 1.96 * found.standard_errors).sum())
    assert abs(held / 10_002 - 0.95) < 0.009
    assert all_held / 3334 > 0.938
    assert abs(narrow / 10_002 - 0.95) > 0.009


def test_what_cannot_be_pooled() -> None:
    one = RegionEstimate(
        campaign="a",
        users=10,
        level=0.95,
        compared=1,
        bias_bound=0.0,
        labels=("q",),
        units=("share",),
        values=np.array([0.5]),
        standard_errors=np.array([0.1]),
        population_standard_errors=np.array([0.1]),
    )
    other = replace(one, campaign="b")
    for regions, words in (
        ([one], "two estimates"),
        ([one, one], "twice"),
        ([one, replace(other, labels=("r",))], "other queries"),
        ([one, replace(other, level=0.9)], "level"),
        ([one, replace(other, users=0)], "no users"),
    ):
        with pytest.raises(InvalidValue, match=words):
            pooled(regions)
