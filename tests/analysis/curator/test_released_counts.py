"""Releases with a secret number of people: counts that hold, and neighbours that differ in nothing but noise."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.curator.noise import CuratorNoise
from sordino_analysis.curator.plan import CuratorPlan, plan_release
from sordino_analysis.curator.release import measure, release
from sordino_analysis.curator.released_counts import Measured, ratio_interval, released_counts
from sordino_analysis.guarantees.concentrated import Zcdp
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.errors import InvalidValue

RHO = Zcdp.of("0.02")
COUNTS = np.array([120, 0, 40, 7, 33, 90, 10, 100])
RUNS = 250


def planned(queries: object = "prefix") -> CuratorPlan:
    attribute = {"name": "delay", "kind": "ordinal", "edges": [0, 5, 10, 15, 30, 60, 90]}
    workload = parse_specification({"name": "delays", "domain": [attribute], "queries": queries}).build()
    return plan_release(workload, RHO, "mean", neighbours="add-remove")


def seeded(seed: int) -> CuratorNoise:
    return CuratorNoise(SeededRandomness(seed), seeded_for_tests=True)


def test_intervals_and_the_band_hold_as_often_as_they_say() -> None:
    """Seeded; thresholds are 5 binomial standard errors, a false alarm in a million for each if .95 is true."""
    plan = planned()
    truth = plan.workload.operator.matvec(COUNTS.astype(float))
    found = [released_counts(plan, measure(plan, COUNTS, seeded(seed))) for seed in range(RUNS)]
    inside = np.mean([(each.lower <= truth) & (truth <= each.upper) for each in found], axis=0)
    together = np.mean([((each.band_lower <= truth) & (truth <= each.band_upper)).all() for each in found])
    margin = 5 * np.sqrt(0.95 * 0.05 / RUNS)
    assert np.abs(inside - 0.95).max() < margin
    assert abs(together - 0.95) < margin


def test_answers_are_the_truth_without_noise_and_consistent_ones_are_true_of_some_people() -> None:
    plan = planned()
    exact = plan.workload.operator.matvec(COUNTS.astype(float))
    assert np.abs(released_counts(plan, plan.strategy.rows @ COUNTS).unbiased - exact).max() < 1e-6
    noisy = released_counts(plan, measure(plan, COUNTS, seeded(1)))
    assert (np.diff(noisy.best, prepend=0) >= -1e-9).all()


def test_a_constant_query_counts_people_and_is_noisy() -> None:
    plan = planned({"matrix": [[1.0] * 8, [1.0] + [0.0] * 7]})
    found = released_counts(plan, measure(plan, COUNTS, seeded(1)))
    assert found.standard_error[0] > 1
    assert abs(found.unbiased[0] - COUNTS.sum()) < 6 * found.standard_error[0]


def test_neighbours_with_the_same_noise_differ_in_noisy_answers_alone() -> None:
    plan, more = planned(), COUNTS + np.eye(8, dtype=np.int64)[3]
    one, two = (released_counts(plan, measure(plan, counts, seeded(9))) for counts in (COUNTS, more))
    assert (one.standard_error == two.standard_error).all()
    assert one.upper - one.lower == pytest.approx(two.upper - two.lower)
    assert (one.unbiased != two.unbiased).any()


def test_the_number_of_users_is_no_part_of_a_plan_for_add_remove() -> None:
    workload = planned().workload
    with pytest.raises(InvalidValue, match="secret"):
        plan_release(workload, RHO, "mean", 400, neighbours="add-remove")


def test_shares_of_a_noisy_number_of_people_hold_as_often_as_they_say() -> None:
    """Seeded; each is within 5 binomial standard errors of .95."""
    plan = planned()
    truth = plan.workload.operator.matvec(COUNTS / COUNTS.sum())
    found = [released_counts(plan, measure(plan, COUNTS, seeded(seed))) for seed in range(RUNS)]
    inside = np.mean([(each.share_lower <= truth) & (truth <= each.share_upper) for each in found], axis=0)
    assert np.abs(inside - 0.95).max() < 5 * np.sqrt(0.95 * 0.05 / RUNS)
    assert np.mean([each.share_upper - each.share_lower for each in found]) < 0.4
    errors = np.array([(each.people - COUNTS.sum()) / each.people_standard_error for each in found])
    assert abs((errors**2).mean() - 1) < 5 * np.sqrt(2 / RUNS)


def test_a_total_that_may_be_zero_leaves_shares_open() -> None:
    answer, none = Measured(np.ones(1), np.ones(1)), Measured(np.array(-5.0), np.array(1.0))
    assert ratio_interval(answer, none, np.zeros(1), 1.96) == (-np.inf, np.inf)
    plan = planned()
    found = released_counts(plan, np.zeros(len(plan.strategy.rows), dtype=np.int64))
    assert (found.share_lower == 0).all()
    assert (found.share_upper == 1).all()


def test_add_remove_needs_less_noise_than_replace_and_answers_the_number_of_people() -> None:
    plan = planned()
    other = plan_release(plan.workload, RHO, "mean")
    everyone = np.vstack([plan.workload.operator.dense(), np.ones(8)])
    assert plan.strategy.decoder @ plan.strategy.rows == pytest.approx(everyone, abs=1e-9)
    here, there = plan.summary(), other.summary()
    assert here.mean_variance < there.mean_variance
    assert (here.neighbours, here.holds_from_n) == ("add-remove", 0)
    assert here.ratio_mean is not None
    assert 1 <= here.ratio_mean <= 1.02**2


def test_plans_and_measurements_of_another_kind_are_refused() -> None:
    plan = planned()
    with pytest.raises(InvalidValue, match="known number"):
        released_counts(plan_release(plan.workload, RHO, "mean"), np.zeros(7, dtype=np.int64))
    with pytest.raises(InvalidValue, match="secret"):
        release(plan, COUNTS, seeded(1))
    with pytest.raises(InvalidValue, match="level"):
        released_counts(plan, measure(plan, COUNTS, seeded(1)), level=0.0)
    with pytest.raises(InvalidValue, match="measures"):
        released_counts(plan, np.zeros(3, dtype=np.int64))
