"""Bands of all ranges at once, and ends that the simplex cuts: of ranges on demand, quantiles and the population."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.coverage.campaigns import aggregates
from sordino_analysis.estimation import linear_on_demand, ranges_at_once
from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.cumulative import FunctionEnds, rising_ends
from sordino_analysis.estimation.intervals import (
    bonferroni_quantile,
    difference_quantiles,
    normal_quantile,
    simultaneous_quantiles,
)
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.questions.linear.boxes import Box

BINS = 16
SMOOTH = np.exp(-((np.arange(BINS) - 5.0) ** 2) / 12)
CELLS = {
    "point": np.eye(BINS)[5],
    "smooth": SMOOTH / SMOOTH.sum(),
    "even": np.full(BINS, 1 / BINS),
}
EVERY = [(first, last) for first in range(BINS) for last in range(first, BINS) if (first, last) != (0, BINS - 1)]


@pytest.fixture
def plan(plan_of):
    return plan_of("prefix", BINS, "1", mechanism="subset_selection")


def test_differences_are_drawn_as_the_answers_that_they_are() -> None:
    """20,000 draws of all pairs one by one, against 4,000 of their sums: .95 and .99 quantiles within .03."""
    root = np.random.default_rng(1).standard_normal((9, 4)) * np.array([3.0, 1.0, 0.3, 0.1])
    starts, stops = np.triu_indices(9, 1)
    expected = simultaneous_quantiles(root[stops] - root[starts], [0.95, 0.99])
    assert difference_quantiles(root @ root.T, [0.95, 0.99]) == pytest.approx(expected, rel=0.03)
    # Two sums that are the same differ by nothing, and a sum that is known has no error.
    same = np.vstack([root[:1], root[:1], np.zeros((1, 4))])
    assert difference_quantiles(same @ same.T, [0.95])[0] == pytest.approx(normal_quantile(0.95), abs=0.1)


def _of_campaigns(plan, shares: np.ndarray, users: int, campaigns: int) -> tuple[float, float, float]:
    """How often intervals of all ranges hold, how often all bands do, and the mean width of both to Bonferroni's."""
    held, at_once, widths = [], [], []
    boxes = [Box("range", ((first, last),)) for first, last in EVERY]
    for counts, aggregate in aggregates(plan.device.randomizer, shares, users, campaigns, seed=3):
        answerer = answerer_of(plan.device, plan.analyst, aggregate)
        answers = answerer.shares(boxes, answerer.compared("range"), 0.95).answers
        truth = np.array([counts[first : last + 1].sum() / users for first, last in EVERY])
        inner, outer = (np.array([getattr(one, name) for one in answers]) for name in ("interval", "band"))
        best = np.array([one.best for one in answers])
        assert (outer[:, 0] <= inner[:, 0]).all()
        assert (inner[:, 0] <= best).all()
        assert (best <= inner[:, 1]).all()
        assert (inner[:, 1] <= outer[:, 1]).all()
        held.append((inner[:, 0] <= truth + 1e-9) & (truth <= inner[:, 1] + 1e-9))
        at_once.append(((outer[:, 0] <= truth + 1e-9) & (truth <= outer[:, 1] + 1e-9)).all())
        errors = np.array([one.standard_error for one in answers])
        widths.append(np.diff(outer).mean() / (2 * bonferroni_quantile(0.95, len(EVERY)) * errors).mean())
    return float(np.mean(held)), float(np.sum(at_once)), float(np.mean(widths))


@pytest.mark.parametrize(("kind", "width"), [("point", 0.6), ("even", 0.98)])
def test_the_band_of_all_ranges_on_demand_holds_and_is_narrower_than_bonferronis(plan, kind, width) -> None:
    """Of 12 campaigns bands of 95 % hold in 8 at least, but in 2·10⁻⁴ of such tests."""
    held, at_once, widths = _of_campaigns(plan, CELLS[kind], 20_000, 12)
    assert held > 0.9
    assert at_once >= binom.ppf(1e-4, 12, 0.95)
    assert widths < width


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(CELLS))
@pytest.mark.parametrize("users", [300, 20_000])
def test_the_band_of_all_ranges_on_demand_holds_in_every_cell(plan, kind, users) -> None:
    held, at_once, _ = _of_campaigns(plan, CELLS[kind], users, 400)
    assert held >= 0.94
    assert at_once >= binom.ppf(1e-3, 400, 0.95)


def test_what_all_ranges_say_is_worked_out_once(plan, monkeypatch) -> None:
    calls = []
    whole = ranges_at_once.every_range
    monkeypatch.setattr(linear_on_demand, "every_range", lambda *given: calls.append(1) or whole(*given))
    _, aggregate = next(iter(aggregates(plan.device.randomizer, CELLS["smooth"], 5_000, 1, seed=1)))
    answerer = answerer_of(plan.device, plan.analyst, aggregate)
    found = [answer(answerer, plan.device.domain, "range", ["3..7"]).answers[0] for _ in range(3)]
    assert len(calls) == 1
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("kind", ["prefix", "ranges"])
def test_intervals_are_not_cut_where_no_users_have_the_answers_and_a_warning_says_so(plan_of, kind) -> None:
    """Reports of F that falls by half: no fake-free campaign has them."""
    plan = plan_of(kind, BINS, "1", mechanism="subset_selection")
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    shares = np.where(np.arange(BINS) % 2 == 0, 2.0, -2.0) / BINS + 1 / BINS
    randomizer = plan.device.randomizer
    _, aggregate = next(iter(aggregates(randomizer, CELLS["even"], 20_000, 1, seed=1)))
    # The sums of sets that hold a type rise and fall with the shares of that type.
    moved = aggregate.sums + np.rint((shares - 1 / BINS) * 0.3 * aggregate.sums.mean() * BINS).astype(np.int64)
    found = estimator.estimate(Aggregate(aggregate.count, moved))
    assert found.cut is None
    assert any("intervals are not cut" in each for each in found.warnings)
    assert (found.lower <= found.best).all()
    answerer = answerer_of(plan.device, plan.analyst, Aggregate(aggregate.count, moved))
    asked = answer(answerer, plan.device.domain, "range", ["3..7"])
    assert any("intervals are not cut" in each for each in asked.warnings)
    plain = estimator.estimate(aggregate)
    assert plain.cut is not None
    assert not any("intervals are not cut" in each for each in plain.warnings)


def test_an_interval_is_cut_where_it_is_shorter_and_nowhere_else(plan) -> None:
    # Many users leave the simplex little to say.
    for kind, users in (("point", 20_000), ("even", 5_000_000)):
        for _, aggregate in aggregates(plan.device.randomizer, CELLS[kind], users, 2, seed=2):
            found = LinearEstimator.of(plan.device, plan.analyst).estimate(aggregate)
            reach = normal_quantile(0.95) * found.standard_error
            assert found.cut is not None
            np.testing.assert_array_equal(found.cut, found.upper - found.lower < 2 * reach - 1e-12)
            assert found.cut.all() if kind == "point" else not found.cut.any()


def test_the_population_is_within_intervals_that_the_simplex_cuts(plan) -> None:
    """15 steps in 60 campaigns of users who are drawn: nine in ten hold at least, and they are shorter for a point."""
    estimator, generator = LinearEstimator.of(plan.device, plan.analyst), np.random.default_rng(5)
    for kind, most in (("point", 0.7), ("smooth", 1.06)):
        held, lengths = [], []
        truth = np.cumsum(CELLS[kind])[:-1]
        for seed in range(60 if kind == "smooth" else 5):
            drawn = generator.multinomial(2_000, CELLS[kind]) / 2_000
            _, aggregate = next(iter(aggregates(plan.device.randomizer, drawn, 2_000, 1, seed=seed)))
            found = estimator.estimate(aggregate)
            held.append((found.population_lower <= truth + 1e-9) & (truth <= found.population_upper + 1e-9))
            assert (found.population_lower <= found.best).all()
            plain = 2 * normal_quantile(0.95) * found.population_standard_error
            lengths.append(((found.population_upper - found.population_lower) / plain).mean())
        assert np.mean(held) > 0.9
        assert np.mean(lengths) < most


SHARES = (0.1, 0.5, 0.9)


def _medians(plan, shares: np.ndarray, users: int, campaigns: int) -> tuple[np.ndarray, float]:
    """How often the intervals of quantiles hold, (3,), and bins in them on average."""
    held, bins = [], []
    for counts, aggregate in aggregates(plan.device.randomizer, shares, users, campaigns, seed=9):
        function = answerer_of(plan.device, plan.analyst, aggregate)._function(0, 0.95)
        found = [function.quantile(share) for share in SHARES]
        truth = [int(np.argmax(np.cumsum(counts) >= share * users - 1e-9)) for share in SHARES]
        for one in found:
            assert one.band[0] <= one.interval[0] <= one.value <= one.interval[1] <= one.band[1]
        held.append([one.interval[0] <= x <= one.interval[1] for one, x in zip(found, truth, strict=True)])
        bins.append([one.interval[1] - one.interval[0] + 1 for one in found])
    return np.mean(held, axis=0), float(np.mean(bins))


def test_quantiles_hold_with_ends_that_are_cut(plan) -> None:
    """Of 30 campaigns 22 hold at least, but in 10⁻⁵ of such tests at .95."""
    held, _ = _medians(plan, CELLS["smooth"], 3_000, 30)
    assert (held >= binom.ppf(1e-5, 30, 0.95) / 30).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(CELLS))
def test_quantiles_hold_in_every_cell(plan, kind) -> None:
    held, _ = _medians(plan, CELLS[kind], 3_000, 500)
    assert (held >= 0.94).all()


def test_rising_functions_cut_ends_and_bands_are_widened_to_them() -> None:
    middle = np.array([0.2, 0.5, 0.4, 0.8])
    one, every, outer = (np.stack([middle - each, middle + each], axis=1) for each in (0.12, 0.2, 0.15))
    found = rising_ends(one, every, outer)
    assert found is not None
    # F(1) is .35 at least, and so is F(2); F(2) is .55 at most, and so is F(1).
    np.testing.assert_allclose(found.one, [[0.08, 0.32], [0.38, 0.55], [0.35, 0.52], [0.68, 0.92]])
    assert rising_ends(one, every, outer - np.array([[0], [0], [1], [0]])) is None
    # The test of one bin leaves bins that the band alone excludes: the band is widened to them.
    inner = FunctionEnds(np.array([[0.1, 0.3], [0.4, 0.6], [0.7, 0.9]]), np.array([[0.1, 0.3], [0.5, 0.6], [0.7, 0.9]]))
    assert inner.bins(0.45) == ((1, 1), (1, 1))
    wider = FunctionEnds(np.array([[0.1, 0.5], [0.4, 0.6], [0.7, 0.9]]), inner.every)
    assert wider.bins(0.45) == ((1, 1), (1, 1))
    assert replace(wider, cut=True).bins(0.45) == ((0, 2), (0, 2))
