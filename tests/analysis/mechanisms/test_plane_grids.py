"""Plans of prefix sums of two attributes: their figures, and answers from simulated devices."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.accumulate import accumulate
from sordino_analysis.evaluation.grids import plane_prefixes
from sordino_analysis.evaluation.grids.law import PlaneLaw
from sordino_analysis.evaluation.grids.plane_answers import PlaneAnswers
from sordino_analysis.evaluation.grids.plane_prefixes import plane_of
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import Coarsened

# So many that devices a tenth off are several standard errors away.
REPORTS = 1_600_000


def plane(first: int, second: int) -> Workload:
    sizes = {"delay": first, "size": second}
    domain = [{"name": name, "kind": "integers", "low": 0, "high": size - 1} for name, size in sizes.items()]
    return parse_specification({"name": "plane", "domain": domain, "queries": "prefix"}).build()


@cache
def planned(first: int, second: int) -> CompiledPlan:
    return compile_plan(PlanRequest(plane(first, second), PlanningOptions.of(epsilon=1.0, objective="mean")))


def test_a_plan_of_64_by_64_types_is_of_grids_and_says_what_its_figures_are_about() -> None:
    summary, device = planned(64, 64).summary, planned(64, 64).device
    assert summary.mechanism == "plane_grids"
    assert summary.mean_variance < 83
    assert summary.lower_bound_mean == pytest.approx(53.637, abs=1e-3)
    assert summary.max_variance_over == "36 of 4095 prefix sums spread over all, and 13 at the ends"
    assert summary.mean_variance_over == "36 of 4095 prefix sums spread over all"
    assert summary.uniform_mean_variance is not None
    assert summary.uniform_mean_variance < summary.mean_variance
    assert summary.device_bytes < 4000
    assert device.randomizer.payload_bytes <= 12
    assert summary.bias_bound < 1e-9
    reasons = {row.name: row.reason for row in summary.candidates}
    assert "its formula gives at least 2134, and plane_grids has less" in (reasons["subset_selection"] or "")


def test_an_audit_makes_every_claim_again_and_refuses_a_higher_bound() -> None:
    plan = planned(64, 64)
    certificate = plan.analyst.certificate
    more = replace(certificate, mean=replace(certificate.mean, value=1.001 * certificate.mean.value))
    checks = {check.name: check.holds for check in audit_plan(plan.device, replace(plan.analyst, certificate=more))}
    assert not checks.pop("lower bound, mean")
    assert all(checks.values())


def test_an_audit_refuses_figures_that_are_about_other_queries() -> None:
    plan = planned(64, 64)
    figures = plan.analyst.figures
    for field, value in (("max_variance_over", None), ("mean_variance_over", "all"), ("uniform_mean_variance", None)):
        other = replace(plan.analyst, figures=replace(figures, **{field: value}))
        assert not all(check.holds for check in audit_plan(plan.device, other))


def test_answers_of_simulated_devices_are_as_far_off_as_stated_and_another_law_is_not() -> None:
    plan = planned(64, 64)
    randomizer, workload = plan.device.randomizer, plan.request.workload
    asked = plane_of(workload.operator)
    assert isinstance(randomizer, Coarsened)
    assert asked is not None
    answers = PlaneAnswers.of(randomizer, workload)
    random = np.random.default_rng(3)
    members = (random.beta(2, 5, (2, REPORTS)) * 64).astype(np.int64)
    cells = members[0] * 64 + (members[0] + members[1]) % 64
    histogram = np.bincount(cells, minlength=4096) / REPORTS
    truth = answers.workload.operator.matvec(histogram)
    error = np.sqrt(answers.mixed_variances(histogram) / REPORTS)

    def scores(devices: Coarsened) -> np.ndarray:
        reports = randomize_many(devices, cells, SeededRandomness(4))
        return np.asarray((answers.decode(accumulate(randomizer, reports) / REPORTS) - truth) / error)

    # A right plan fails one seed in a thousand at most: Bonferroni over the 36 listed queries.
    threshold = norm.isf(0.5e-3 / len(truth))
    assert np.abs(scores(randomizer)).max() < threshold
    # Devices that hold the other weight back by a tenth shrink every answer.
    assert np.abs(scores(replace(randomizer, high=int(randomizer.high * 0.9)))).max() > threshold


def test_two_attributes_that_look_alike_are_evaluated_once_and_figures_are_those_of_every_query(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    randomizer, workload = planned(64, 64).device.randomizer, planned(64, 64).request.workload
    asked = plane_of(workload.operator)
    assert isinstance(randomizer, Coarsened)
    assert asked is not None
    answers = PlaneAnswers.of(randomizer, workload)
    weights, solved, told = PlaneLaw.weights, [], []

    def counted(law: PlaneLaw, queries: Floats) -> Floats:
        solved.append(len(queries))
        return weights(law, queries)

    monkeypatch.setattr(PlaneLaw, "weights", counted)
    profile = answers.profile(told.append)
    low, high = answers.extremes()
    # 21 of 36 listed queries and 7 of the 13 at the ends; extremes need no system more.
    assert sum(solved) == 28
    fractions = [progress.fraction for progress in told]
    assert fractions == sorted(fractions)
    assert len(set(fractions)) > 7
    every = answers.law.variances(np.array([asked.query(stops) for stops in asked.listed]))
    assert profile.variance == pytest.approx(every.max(axis=(1, 2)), rel=1e-9)
    assert profile.type_variance == pytest.approx(every.mean(axis=0).ravel(), rel=1e-9)
    ends = answers.law.variances(np.array([asked.query(stops) for stops in asked.at_the_ends]))
    assert profile.sought == pytest.approx(ends.max(), rel=1e-9)
    mirrored = np.arange(36).reshape(6, 6).T.ravel()
    assert low[mirrored] == pytest.approx(low)
    assert (low < high).all()


def test_attributes_of_different_sizes_have_every_query_listed_where_they_are_few() -> None:
    plan = planned(16, 40)
    assert plan.summary.mechanism == "plane_grids"
    assert plan.summary.max_variance_over is None
    assert plan.summary.mean_variance_over is None
    assert plan.summary.mean_variance < 50


def test_an_attribute_of_two_bins_beside_many_is_planned_from_grids() -> None:
    summary = planned(2, 1500).summary
    assert summary.mechanism == "plane_grids"
    assert summary.mean_variance < 1.6 * summary.lower_bound_mean


def test_the_mean_over_some_queries_overstates_that_over_all_by_a_tenth_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = planned(16, 40)
    whole, randomizer = plan.analyst.figures, plan.device.randomizer
    asked = plane_of(plan.request.workload.operator)
    assert isinstance(randomizer, Coarsened)
    assert asked is not None
    monkeypatch.setattr(plane_prefixes, "_ALL_LISTED", 512)
    some = PlaneAnswers.of(randomizer, plan.request.workload).profile().figures()
    assert some.mean_variance_over == "36 of 639 prefix sums spread over all"
    assert whole.mean_variance < some.mean_variance < 1.1 * whole.mean_variance
    assert whole.uniform_mean_variance is not None
    assert some.uniform_mean_variance is not None
    assert whole.uniform_mean_variance < some.uniform_mean_variance < 1.1 * whole.uniform_mean_variance
    assert some.max_variance == pytest.approx(whole.max_variance, rel=0.05)
