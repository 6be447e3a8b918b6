"""Plans of prefix sums and ranges over many types: their figures, their size, and answers from simulated devices."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.grids.answers import GridAnswers, listed_on_a_line
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened

# Worst-type mean and largest variance at ε = 1, bounds, bytes of a report.
TARGETS = {
    ("prefix", 1024): (25.0, 30.5, 22.5, 8),
    ("prefix", 4096): (35.0, 42.0, 31.0, 8),
    ("ranges", 1024): (39.5, 47.0, 37.0, 8),
    ("ranges", 4096): (56.5, 66.0, 53.0, 8),
}
REPORTS = 400_000


def many_bins(kind: str, count: int, **member: bool) -> Workload:
    attribute = {"name": "delay", "kind": "integers", "low": 0, "high": count - 1, **member}
    return parse_specification({"name": "delays", "domain": [attribute], "queries": kind}).build()


@cache
def planned(kind: str, count: int, epsilon: float = 1.0, objective: Objective = "mean") -> CompiledPlan:
    options = PlanningOptions.of(epsilon=epsilon, objective=objective)
    return compile_plan(PlanRequest(many_bins(kind, count), options))


@pytest.mark.parametrize(("kind", "count"), [*list(TARGETS)[:3], pytest.param("ranges", 4096, marks=pytest.mark.slow)])
def test_plans_reach_their_targets(kind: str, count: int) -> None:
    mean, worst, bound, report = TARGETS[kind, count]
    summary, device = planned(kind, count).summary, planned(kind, count).device
    assert summary.mechanism == "shifted_grids"
    assert summary.mean_variance <= mean
    assert summary.max_variance <= worst
    assert summary.lower_bound_mean >= bound
    assert summary.device_bytes < 3000
    assert device.randomizer.payload_bytes <= report
    assert summary.bias_bound < 1e-9


@pytest.mark.slow
def test_a_plan_at_a_larger_epsilon_descends_the_exact_variance() -> None:
    summary = planned("prefix", 4096, epsilon=2.0).summary
    # 7.29 without the descent.
    assert summary.mean_variance <= 7.2
    assert summary.ratio_mean is not None
    assert summary.ratio_mean < 1.2


@pytest.mark.slow
def test_a_plan_of_65536_types_reaches_its_targets() -> None:
    summary = planned("prefix", 1 << 16).summary
    assert summary.mean_variance <= 58
    assert summary.max_variance <= 70
    assert summary.lower_bound_max >= 52.7
    assert summary.device_bytes < 3000


def test_the_largest_variance_says_which_queries_it_is_about() -> None:
    assert planned("prefix", 1024).analyst.figures.max_variance_over is None
    over = planned("prefix", 4096).analyst.figures.max_variance_over
    assert over == "1027 of 4095 intervals spread over all, and 64 near the worst"


def test_mechanisms_of_single_types_are_left_out_by_their_formula_whatever_the_size() -> None:
    reasons = {row.name: row.reason for row in planned("prefix", 4096).summary.candidates}
    for name in ("subset_selection", "randomized_response"):
        assert "its formula gives at least 2514, and shifted_grids has less" in (reasons[name] or "")


@pytest.mark.slow
@pytest.mark.parametrize("types", [2048, 2049, 4096])
def test_mechanisms_of_single_types_win_at_a_large_epsilon_whatever_the_size(types: int) -> None:
    summary = planned("prefix", types, epsilon=8.0, objective="max").summary
    rows = {row.name: row.max_variance for row in summary.candidates}
    assert summary.mechanism == "subset_selection"
    assert rows["randomized_response"] is not None
    assert summary.max_variance <= rows["randomized_response"] <= rows["shifted_grids"]


@pytest.mark.slow
def test_ranges_of_many_types_are_compared_by_formulas_too() -> None:
    workload = many_bins("ranges", 4096)
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=9.0, mechanism="randomized_response")))
    assert plan.summary.queries == 8_390_655
    assert plan.summary.max_variance < 0.7
    assert plan.analyst.figures.max_variance_over is None
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


def test_an_audit_makes_every_claim_again_and_refuses_a_higher_bound() -> None:
    plan = planned("prefix", 1024)
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    certificate = plan.analyst.certificate
    more = replace(certificate, max=replace(certificate.max, value=1.001 * certificate.max.value))
    checks = {check.name: check.holds for check in audit_plan(plan.device, replace(plan.analyst, certificate=more))}
    assert not checks["lower bound, max"]


def reports_sum(randomizer: Coarsened, cells: np.ndarray, seed: int) -> np.ndarray:
    return accumulate(randomizer, randomize_many(randomizer, cells, SeededRandomness(seed)))


def z_scores(device: DevicePart, analyst_of: CompiledPlan, sums: np.ndarray, truth: np.ndarray) -> np.ndarray:
    estimator = LinearEstimator.of(device, analyst_of.analyst)
    found = estimator.estimate(Aggregate(REPORTS, sums))
    return np.asarray((found.unbiased - truth) / found.standard_error)


def test_answers_of_simulated_devices_are_as_far_off_as_stated_and_another_law_is_not() -> None:
    plan = planned("prefix", 4096)
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Coarsened)
    cells = (np.random.default_rng(3).beta(2, 5, REPORTS) * 4096).astype(np.int64)
    truth = listed_on_a_line(plan.request.workload).truth(cells)
    scores = z_scores(plan.device, plan, reports_sum(randomizer, cells, 4), truth)
    # A right plan fails one seed in a thousand at most: Bonferroni over the listed queries.
    threshold = norm.isf(0.5e-3 / len(scores))
    assert np.abs(scores).max() < threshold
    # Devices that hold the other weight back by a tenth: an ε of .9 sold as 1 shrinks every answer.
    weaker = replace(randomizer, high=int(randomizer.high * 0.9))
    shrunk = z_scores(plan.device, plan, reports_sum(weaker, cells, 4), truth)
    assert np.abs(shrunk).max() > threshold


def test_any_interval_is_answered_without_a_list() -> None:
    plan = planned("ranges", 1024)
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Coarsened)
    answers = GridAnswers.of(randomizer, plan.request.workload)
    cells = np.random.default_rng(5).integers(0, 1024, REPORTS)
    mean = reports_sum(randomizer, cells, 6) / REPORTS
    histogram, query = answers.histogram(mean), np.zeros(1024)
    query[137:711] = 1.0
    error = (answers.variance(query, np.bincount(cells, minlength=1024) / REPORTS) / REPORTS) ** 0.5
    assert histogram.sum() == pytest.approx(1.0, abs=1e-9)
    # One seed in a hundred thousand.
    assert abs(query @ histogram - ((cells >= 137) & (cells < 711)).mean()) < norm.isf(0.5e-5) * error


def test_members_that_are_in_no_interval_are_types_like_others() -> None:
    workload = many_bins("prefix", 700, missing=True, other=True)
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, objective="mean")))
    assert plan.summary.k == 702
    assert plan.summary.queries == 700
    assert plan.summary.mechanism == "shifted_grids"
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
