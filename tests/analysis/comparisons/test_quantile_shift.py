"""Shifts of quantiles between two arms: how often their sets hold, and what has no quantiles."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sordino_analysis as sa
from sordino_analysis.comparisons.difference import Side
from sordino_analysis.comparisons.matching import NotComparable
from sordino_analysis.comparisons.quantile_shift import quantile_shift, quantile_shifts
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.panel.means import PooledMean
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

BINS = 16


@pytest.fixture(scope="module")
def prefix() -> sa.Plan:
    return sa.plan(
        sa.prefix([float(edge) for edge in range(1, BINS)], name="delay", unit="min"), epsilon=2, effort="quick"
    )


def side(plan: sa.Plan, shares: np.ndarray, users: int, seed: int) -> Side:
    types = np.random.default_rng(seed).choice(len(shares), users, p=shares)
    payloads = randomize_many(plan.device.randomizer, types, SeededRandomness(seed))
    total = Aggregate(users, accumulate(plan.device.randomizer, payloads))
    # Without the laws of reports, which shifts do not use and which take long.
    mean = PooledMean.of(LinearEstimator.of(plan.device, plan.analyst), total, 2, 0.95, lawful=False, judged=False)
    return Side(workload=mean.estimator.workload, parts=mean.parts, aggregates=(total,), users=users, level=0.95)


def law(mean: float, spread: float) -> np.ndarray:
    cells = np.exp(-(((np.arange(BINS) - mean) / spread) ** 2) / 2)
    return cells / cells.sum()


def quantile(shares: np.ndarray, share: float) -> int:
    return int(np.searchsorted(shares.cumsum(), share))


def number_plan(queries: object, mechanism: str | None = None) -> sa.Plan:
    load = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}
    asked = sa.workload({"name": "load", "domain": [load], "queries": {"load_ms": queries}})
    return sa.plan(asked, epsilon=4, mechanism=mechanism, effort="quick")


def drawn(plan: sa.Plan, mean: float, seed: int) -> sa.Simulation:
    values = np.random.default_rng(seed).normal(mean, 3000, 20_000)
    return sa.simulate(plan, values, seed=seed, strict=False)


@pytest.mark.parametrize(
    ("queries", "mechanism", "bins"),
    [
        ({"quantile": 0.5, "bins": 64}, "shifted_grids", 64),
        pytest.param(["mean", {"quantile": [0.5], "bins": 12}], None, 12, marks=pytest.mark.slow),
    ],
)
def test_quantiles_of_numbers_are_shifted(queries: object, mechanism: str | None, bins: int) -> None:
    """Medians are 9,000 ms apart, and their bins 938 and 5,000 ms wide: a false alarm of one seed in 20 at most."""
    plan = number_plan(queries, mechanism)
    sides = [drawn(plan, mean, seed) for seed, mean in ((1, 20_000), (2, 29_000))]
    found = sa.quantile_shift(*sides, 0.5)
    assert found.interval[0] <= 9000 <= found.interval[1]
    assert found.interval[1] - found.interval[0] < 6 * 60000 / bins
    assert (found.verdict, found.label, found.unit) == ("higher", "0.5 quantile of load_ms", "ms")


def test_several_shifts_hold_together(prefix: sa.Plan) -> None:
    sides = [side(prefix, law(mean, 3), 3000, int(mean)) for mean in (7, 9)]
    found = quantile_shifts(*sides, [0.25, 0.5, 0.75])
    for (own, wide), share in zip(found, (0.25, 0.5, 0.75), strict=True):
        assert own == quantile_shift(*sides, share)
        assert wide.level == pytest.approx(1 - 0.05 / 3)
        assert wide.bins[0] <= own.bins[0] <= own.bins[1] <= wide.bins[1]
    assert any(own.bins != wide.bins for own, wide in found)


LAWS = {
    "same": (law(7, 3), law(7, 3)),
    "moved": (law(6, 2), law(8, 2)),
    "wider": (law(8, 2), law(8, 4)),
    "even": (np.full(BINS, 1 / BINS), law(8, 3)),
    "at the end": (law(0, 3), law(2, 3)),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_the_true_shift_is_held(prefix: sa.Plan, name: str, share: float) -> None:
    """60 campaigns of 4,000 an arm: .95 or more of them hold; fewer than 51 with chance .001."""
    held, length = 0, 0
    laws = LAWS[name]
    truth = quantile(laws[1], share) - quantile(laws[0], share)
    for seed in range(60):
        sides = [side(prefix, shares, 4000, 1000 * arm + seed) for arm, shares in enumerate(laws)]
        found = quantile_shift(*sides, share)
        held += found.bins[0] <= truth <= found.bins[1]
        length += found.bins[1] - found.bins[0]
    assert held >= 51
    # A set of everything would hold, too.
    assert length / 60 < 9


def test_a_shift_is_told_in_units_and_with_a_verdict(prefix: sa.Plan) -> None:
    sides = [side(prefix, law(mean, 2), 40_000, int(mean)) for mean in (8, 13)]
    found = quantile_shift(*sides, 0.5)
    assert found.verdict == "higher"
    assert found.interval[0] < 5 < found.interval[1] < 9
    assert found.unit == "min"
    back = quantile_shift(sides[1], sides[0], 0.5)
    assert back.verdict == "lower"
    assert back.interval == (-found.interval[1], -found.interval[0])
    assert back.bins == (-found.bins[1], -found.bins[0])
    ends = quantile_shift(*sides, 0.001)
    assert math.isinf(ends.interval[0]) or ends.interval[0] < 0


def test_a_histogram_has_the_same_shift() -> None:
    asked = sa.histogram([float(edge) for edge in range(1, BINS)], name="delay")
    plan = sa.plan(asked, epsilon=4, effort="quick")
    sides = [side(plan, law(mean, 2), 20_000, int(mean)) for mean in (8, 12)]
    found = quantile_shift(*sides, 0.5)
    assert found.bins[0] <= 4 <= found.bins[1]
    assert found.verdict == "higher"


def test_by_hand_two_bins_and_one_step() -> None:
    """F̂ of each side has one step: the quantile is in the bin that its score does not refuse."""
    plan = sa.plan(sa.prefix([0.0], name="v"), epsilon=4, effort="quick")
    sides = [side(plan, np.array(shares), 3000, seed) for seed, shares in enumerate(([0.8, 0.2], [0.2, 0.8]))]
    assert quantile_shift(*sides, 0.5).bins == (1, 1)
    assert quantile_shift(*sides, 0.1).bins == (0, 0)


def test_what_has_no_quantiles_is_refused(prefix: sa.Plan) -> None:
    one = side(prefix, law(9, 3), 500, 1)
    for share in (0.0, 1.0, 1.5):
        with pytest.raises(InvalidValue, match="between 0 and 1"):
            quantile_shift(one, one, share)
    colours = sa.workload(
        {"name": "c", "domain": [{"name": "c", "kind": "categorical", "labels": ["a", "b"]}], "queries": "histogram"}
    )
    plan = sa.plan(colours, epsilon=1, effort="quick")
    two = side(plan, np.array([0.5, 0.5]), 500, 1)
    with pytest.raises(NotComparable, match="one ordered attribute"):
        quantile_shift(two, two, 0.5)
    means = drawn(number_plan("mean"), 20_000, 1)
    with pytest.raises(NotComparable, match="no attribute has quantiles"):
        sa.quantile_shift(means, means, 0.5)
    with pytest.raises(NotComparable, match="domains differ"):
        quantile_shift(one, two, 0.5)
