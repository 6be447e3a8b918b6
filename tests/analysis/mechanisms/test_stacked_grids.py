"""Plans of several kinds of queries about one ordered attribute: their figures, bounds, and answers from devices."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.grids.answers import listed_on_a_line
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.levels import GridLevel
from sordino_analysis.evaluation.grids.stacked import StackFamily, family_of
from sordino_analysis.mechanisms.stack_levels import levels_of
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.request_terms import Objective
from sordino_shared.randomizers import Coarsened
from tests.analysis.evaluation.grids.test_stacked import stacked
from tests.analysis.mechanisms.test_shifted_grids import reports_sum

# Even weights, ε = 1: the worst prefix sum, the worst cell, the mean over all, the bound of the mean.
TARGETS = {4096: (44.0, 12.2, 22.0, 20.6), 1 << 16: (73.0, 15.5, 34.6, 32.9)}


REPORTS = 100_000


@cache
def planned(bins: int, epsilon: float = 1.0, objective: Objective = "mean") -> CompiledPlan:
    workload = stacked(bins, ("prefix", 1.0), ("histogram", 1.0))
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective)))


@pytest.mark.parametrize("bins", [4096, pytest.param(1 << 16, marks=pytest.mark.slow)])
def test_prefix_sums_and_cells_together_reach_their_targets(bins: int) -> None:
    prefix, cell, mean, bound = TARGETS[bins]
    plan, half = planned(bins), len(planned(bins).profile.variance) // 2
    summary = plan.summary
    assert summary.mechanism == "shifted_grids"
    assert plan.profile.variance[:half].max() <= prefix
    assert plan.profile.variance[half:].max() <= cell
    assert summary.uniform_mean_variance is not None
    assert summary.uniform_mean_variance <= mean
    assert summary.lower_bound_mean >= bound
    assert summary.device_bytes < 3000
    assert plan.device.randomizer.payload_bytes <= 8
    assert not summary.warnings


def test_the_largest_variance_says_which_queries_it_is_about() -> None:
    over = planned(4096).analyst.figures.max_variance_over
    assert over == "645 of 8191 queries spread over all, and 64 near the worst"


@pytest.mark.slow
def test_the_worst_queries_of_both_parts_are_alike_where_the_worst_counts() -> None:
    workload = stacked(1024, ("prefix", 1.0), ("histogram", 4.0))
    family = family_of(workload)
    assert isinstance(family, StackFamily)
    mean, balanced = (_worst(levels_of(family, 1.0, objective), family) for objective in ("mean", "max"))
    assert mean.max() > 1.1 * mean.min()
    assert balanced.max() < 0.99 * mean.max()


def _worst(levels: list[GridLevel], family: StackFamily) -> np.ndarray:
    law = GridLaw(levels, family.size)
    parts = zip(family.families, family.shares, strict=True)
    return np.array([share * law.variances(part.rows(part.samples(9))).max() for part, share in parts])


def test_a_plan_without_time_is_the_structured_one() -> None:
    workload = stacked(1024, ("prefix", 1.0), ("histogram", 1.0))
    options = PlanningOptions.of(epsilon=1.0, objective="mean", time_limit=0.001)
    hurried = compile_plan(PlanRequest(workload, options)).summary
    assert hurried.cut_short == "time limit"
    assert hurried.mean_variance <= 1.2 * planned(1024).summary.mean_variance


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
@pytest.mark.parametrize("objective", ["max", "mean"])
def test_plans_of_about_2048_types_are_alike(epsilon: float, objective: Objective) -> None:
    values = []
    for bins in (2047, 2048, 2049, 2050):
        summary = planned(bins, epsilon, objective).summary
        values.append(summary.max_variance if objective == "max" else summary.mean_variance)
    assert max(values) <= 1.15 * min(values)


def test_an_audit_makes_every_claim_again_and_refuses_a_higher_bound_and_other_shares() -> None:
    plan = planned(1024)
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    certificate = plan.analyst.certificate
    assert certificate.mean.kind == "stacks"
    more = replace(certificate, mean=replace(certificate.mean, value=1.001 * certificate.mean.value))
    # What the worst query's shares prove is more, and is nothing about the mean.
    others = replace(certificate, mean=certificate.max)
    for changed in (more, others):
        checks = {c.name: c.holds for c in audit_plan(plan.device, replace(plan.analyst, certificate=changed))}
        assert not checks["lower bound, mean"]


def test_answers_of_simulated_devices_are_as_far_off_as_stated_and_another_law_is_not() -> None:
    plan = planned(1024)
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Coarsened)
    cells = (np.random.default_rng(3).beta(2, 5, REPORTS) * 1024).astype(np.int64)
    truth = listed_on_a_line(plan.request.workload).truth(cells)
    estimator = LinearEstimator.of(plan.device, plan.analyst)

    def largest(of: Coarsened) -> float:
        found = estimator.estimate(Aggregate(REPORTS, reports_sum(of, cells, 4)))
        return float(np.abs((found.unbiased - truth) / found.standard_error).max())

    # A right plan fails one seed in a thousand at most: Bonferroni over the listed queries.
    threshold = norm.isf(0.5e-3 / len(truth))
    assert largest(randomizer) < threshold
    # An ε of .8 sold as 1 shrinks every answer.
    assert largest(replace(randomizer, high=int(randomizer.high * 0.82))) > threshold


def test_a_closed_round_answers_ranges_cells_means_and_groups_on_demand() -> None:
    plan = planned(1024)
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Coarsened)
    cells = (np.random.default_rng(5).beta(2, 5, REPORTS) * 1024).astype(np.int64)
    answerer = answerer_of(plan.device, plan.analyst, Aggregate(REPORTS, reports_sum(randomizer, cells, 6)))
    [mean] = answer(answerer, plan.device.domain, "mean", ["delay"]).answers
    assert mean.interval[0] < cells.mean() < mean.interval[1]
    assert mean.standard_error < 3.5 * 1024 / REPORTS**0.5
    [share] = answer(answerer, plan.device.domain, "range", ["delay:175..325"]).answers
    assert share.band[0] < ((cells >= 175) & (cells <= 325)).mean() < share.band[1]
