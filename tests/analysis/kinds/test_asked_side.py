"""Quantiles and distributions that somebody asks of two rounds: what they hold, and what has none."""

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
QUANTILES = ("delay:0.5", "delay:0.9")


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


# Sets of quantiles hold .98 of the time or more: 4 of 6 or fewer with chance .006, 17 of 20 or fewer with .007.
@pytest.mark.parametrize(("times", "fewest"), [(6, 5), pytest.param(20, 18, marks=pytest.mark.slow)])
def test_the_shift_among_those_with_a_number_is_held(plan: sa.Plan, times: int, fewest: int) -> None:
    """Truly 30 min, and one side has more users without a number, which counts of all would take for a shift."""
    held, told = 0, 0
    for seed in range(times):
        sides = [
            sa.simulate(plan, users(mean, 2 * seed + side, absent), seed=2 * seed + side)
            for side, (mean, absent) in enumerate([(40, 0.1), (70, 0.5)])
        ]
        found = sa.compare(sides[0], sides[1], quantiles=QUANTILES)
        assert found.labels == ["0.5 quantile of delay", "0.9 quantile of delay"]
        held += bool(((found.band[:, 0] <= 30) & (found.band[:, 1] >= 30)).all())
        told += found.verdicts[0] == "higher"
    assert held >= fewest
    assert told >= fewest


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


def test_what_has_no_quantile_and_no_distribution_is_refused(plan: sa.Plan) -> None:
    side = sa.simulate(plan, users(40, 1), seed=1)
    other = sa.simulate(plan, users(40, 2), seed=2)
    for wrong, said in (
        ({"quantiles": ["delay:1.5"]}, "between 0 and 1"),
        ({"quantiles": ["load:0.5"]}, "no ordered attribute 'load'"),
        ({"quantiles": []}, "1 to "),
        ({"distribution": "country"}, "no ordered attribute of this name; it has delay"),
    ):
        with pytest.raises(WorkloadError, match=said):
            sa.compare(side, other, **wrong)
    with pytest.raises(InvalidValue, match="one of only, quantiles and distribution"):
        sa.compare(side, other, quantiles=["delay:0.5"], distribution="delay")
    with pytest.raises(NotComparable, match="share reports"):
        sa.compare(side, side, quantiles=["delay:0.5"])
    colours = {"name": "c", "domain": [COUNTRY], "queries": "histogram"}
    plain = sa.simulate(sa.plan(sa.workload(colours), epsilon=4), {"country": ["DE"] * 50}, seed=1)
    with pytest.raises(WorkloadError, match="it has none: compare queries"):
        sa.compare(plain, plain, distribution="country")
