"""Distributions that somebody asks of two rounds: what their bands hold, and what has none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.comparisons.matching import NotComparable
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.errors import InvalidValue

COUNTRY = {"name": "country", "kind": "categorical", "labels": ["DE", "FR"]}
DELAY = {"name": "delay", "kind": "ordinal", "edges": [10.0 * edge for edge in range(1, 12)], "unit": "min"}


@pytest.fixture(scope="module")
def plan() -> sa.Plan:
    """Of two attributes, of which one may be missing: no listed query is a step of the distribution."""
    domain = [DELAY | {"missing": True}, COUNTRY]
    asked = {"name": "n", "domain": domain, "queries": "histogram"}
    return sa.plan(sa.workload(asked), epsilon=4, mechanism="randomized_response")


def users(mean: float, seed: int, absent: float = 0.3, count: int = 4000) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    delays = np.where(rng.random(count) < absent, np.nan, rng.normal(mean, 15, count))
    return {"delay": delays, "country": rng.choice(["DE", "FR"], count)}


def test_a_distribution_is_all_steps_with_one_band(plan: sa.Plan) -> None:
    sides = [sa.simulate(plan, users(mean, mean), seed=mean) for mean in (40, 70)]
    found = sa.compare(sides[0], sides[1], distribution="delay", population=True)
    # Twelve bins, the last of which ends with those who have a number.
    assert len(found.labels) == 12
    assert found.labels[3] == "delay ≤ 40 min"
    assert found.verdicts[5] == "lower"
    alone = sa.compare(sides[0], sides[1], distribution="delay")
    assert alone.table.terms["compared"] == 12
    # The sum of the cells up to a step, which the plan lists.
    cells = [side.estimate.uncut[: 2 * 4].sum() for side in sides]
    assert found.values[3] == pytest.approx(cells[1] - cells[0])
    narrow, wide = found.found.interval, found.band
    assert (np.diff(wide) > np.diff(narrow)).all()


# A band misses one pair in 20: 3 of 6 or more with chance .002, 8 of 60 or more with .008.
@pytest.mark.parametrize(("times", "most"), [(6, 2), pytest.param(60, 7, marks=pytest.mark.slow)])
def test_bands_of_distributions_of_one_law_hold(plan: sa.Plan, times: int, most: int) -> None:
    """Twelve steps at once, which intervals that hold one by one do not."""
    missed, alone = 0, 0
    for seed in range(times):
        sides = [sa.simulate(plan, users(50, 2 * seed + arm, count=1000), seed=2 * seed + arm) for arm in (0, 1)]
        found = sa.compare(sides[0], sides[1], distribution="delay", population=True)
        missed += any(verdict != "undecided" for verdict in found.verdicts)
        ends = found.population_intervals
        assert ends is not None
        alone += bool(((ends[:, 0] > 0) | (ends[:, 1] < 0)).any())
    assert missed <= most
    assert alone > missed + times // 15


def test_what_has_no_distribution_is_refused(plan: sa.Plan) -> None:
    side = sa.simulate(plan, users(40, 1), seed=1)
    other = sa.simulate(plan, users(40, 2), seed=2)
    with pytest.raises(WorkloadError, match="no ordered attribute of this name; it has delay"):
        sa.compare(side, other, distribution="country")
    with pytest.raises(InvalidValue, match="give only or distribution"):
        sa.compare(side, other, only=["x"], distribution="delay")
    with pytest.raises(NotComparable, match="share reports"):
        sa.compare(side, side, distribution="delay")
    colours = {"name": "c", "domain": [COUNTRY], "queries": "histogram"}
    plain = sa.simulate(sa.plan(sa.workload(colours), epsilon=4), {"country": ["DE"] * 50}, seed=1)
    with pytest.raises(WorkloadError, match="it has none: compare queries"):
        sa.compare(plain, plain, distribution="country")
