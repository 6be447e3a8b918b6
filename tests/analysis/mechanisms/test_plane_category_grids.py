"""Plans of categories and two ordered attributes: their figures, and answers from simulated devices."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from sordino_analysis.estimation.answer_on_demand import ShareAnswer
from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.evaluation.grids.plane_category_answers import PlaneCategoryAnswers
from sordino_analysis.evaluation.grids.plane_families import plane_category_family_of
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.plane_category_grids import PlaneCategoryGridsMechanism
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import Coarsened

REPORTS = 200_000
EACH = {"c": "histogram", "x": "prefix", "y": "prefix"}


def asked(members: int, first: int, second: int, queries: Any, **member: bool) -> Workload:
    domain: list[dict[str, Any]] = [
        {"name": "x", "kind": "integers", "low": 0, "high": first - 1, **member},
        {"name": "c", "kind": "categorical", "labels": [f"v{number}" for number in range(members)]},
        {"name": "y", "kind": "integers", "low": 0, "high": second - 1},
    ]
    return parse_specification({"name": "plane beside", "domain": domain, "queries": queries}).build()


@cache
def planned(members: int, first: int, second: int, objective: Objective = "mean") -> CompiledPlan:
    workload = asked(members, first, second, EACH)
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, objective=objective)))


def test_a_plan_is_of_these_grids_and_says_what_its_figures_are_about() -> None:
    summary, device = planned(3, 16, 20).summary, planned(3, 16, 20).device
    assert summary.mechanism == "plane_category_grids"
    assert summary.mean_variance < 1.55 * summary.lower_bound_mean
    assert summary.lower_bound_mean > 20
    assert summary.max_variance_over == "36 of 320 rectangles of any member spread over all, and 14 at the ends"
    assert summary.mean_variance_over == "36 of 320 rectangles of any member spread over all"
    assert summary.device_bytes < 4000
    assert device.randomizer.payload_bytes <= 12
    assert summary.bias_bound < 1e-9
    reasons = {row.name: row.reason for row in summary.candidates}
    assert "and plane_category_grids has less" in (reasons["subset_selection"] or "")


@pytest.mark.slow
def test_a_plan_of_8_by_64_by_64_types_reaches_its_target() -> None:
    """At most 1.15 times what the plane of 64 × 64 types has for the worst query, 108.1."""
    worst, mean = planned(8, 64, 64, "max").summary, planned(8, 64, 64).summary
    assert worst.mechanism == mean.mechanism == "plane_category_grids"
    assert worst.max_variance <= 1.15 * 108.1
    assert mean.mean_variance <= 86
    assert mean.lower_bound_mean == pytest.approx(62.199, abs=1e-3)
    assert max(mean.device_bytes, worst.device_bytes) < 16_000


def test_an_audit_makes_every_claim_again_and_refuses_a_higher_bound() -> None:
    plan = planned(3, 16, 20)
    certificate = plan.analyst.certificate
    more = replace(certificate, mean=replace(certificate.mean, value=1.001 * certificate.mean.value))
    checks = {check.name: check.holds for check in audit_plan(plan.device, replace(plan.analyst, certificate=more))}
    assert not checks.pop("lower bound, mean")
    assert all(checks.values())


@cache
def _users() -> np.ndarray:
    random = np.random.default_rng(3)
    members = random.choice(3, REPORTS, p=[0.5, 0.3, 0.2])
    x = (random.beta(2 + members, 5) * 16).astype(np.int64)
    y = (random.beta(2, 2) * 20 + x).astype(np.int64) % 20
    return np.asarray(np.ravel_multi_index((x, members, y), (16, 3, 20)))


def _randomizer() -> Coarsened:
    randomizer = planned(3, 16, 20).device.randomizer
    assert isinstance(randomizer, Coarsened)
    return randomizer


@cache
def _aggregate() -> Aggregate:
    return Aggregate(REPORTS, accumulate(_randomizer(), randomize_many(_randomizer(), _users(), SeededRandomness(4))))


def test_answers_of_simulated_devices_are_as_far_off_as_stated_and_another_law_is_not() -> None:
    plan = planned(3, 16, 20)
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    truth = estimator.workload.truth(_users())

    def scores(aggregate: Aggregate) -> np.ndarray:
        found = estimator.estimate(aggregate)
        return np.asarray((found.unbiased - truth) / found.standard_error)

    # A right plan fails one seed in a thousand at most: Bonferroni over the listed queries.
    threshold = norm.isf(0.5e-3 / len(truth))
    assert np.abs(scores(_aggregate())).max() < threshold
    # Devices that hold the other weight back by a third shrink every answer.
    weaker = replace(_randomizer(), high=int(_randomizer().high * 0.67))
    reports = randomize_many(weaker, _users(), SeededRandomness(4))
    assert np.abs(scores(Aggregate(REPORTS, accumulate(_randomizer(), reports)))).max() > threshold


@pytest.mark.parametrize("box", ["c:v1,x:3..9,y:2..17", "x:0..7,y:4..4", "c:v2,y:0..11"])
def test_a_rectangle_within_a_member_or_among_all_is_answered_on_demand(box: str) -> None:
    plan = planned(3, 16, 20)
    answerer = answerer_of(plan.device, plan.analyst, _aggregate())
    (share,) = answer(answerer, plan.device.domain, "rectangle", [box]).answers
    x, c, y = np.unravel_index(_users(), (16, 3, 20))
    truths = {
        "c:v1,x:3..9,y:2..17": (c == 1) & (x >= 3) & (x <= 9) & (y >= 2) & (y <= 17),
        "x:0..7,y:4..4": (x <= 7) & (y == 4),
        "c:v2,y:0..11": (c == 2) & (y <= 11),
    }
    assert isinstance(share, ShareAnswer)
    # One seed in 100,000.
    assert abs(share.uncut - truths[box].mean()) < 4.5 * share.standard_error


@pytest.mark.slow
def test_figures_are_those_of_every_query() -> None:
    """Of 96 types, all of whose queries are listed."""
    workload = asked(3, 4, 8, {"stack": [{"queries": EACH}, {"queries": EACH | {"c": "total"}, "weight": 2}]})
    request = PlanRequest(workload, PlanningOptions.of(epsilon=1.0, objective="mean"))
    proposal = PlaneCategoryGridsMechanism().propose(SharedWork(request), lambda progress: None)
    assert isinstance(proposal.randomizer, Coarsened)
    answers = PlaneCategoryAnswers.of(proposal.randomizer, workload)
    assert answers.workload.operator.shape == workload.operator.shape == (3 * 32 + 31, 96)
    rows = {workload.label(row): workload.operator.take(np.array([row]))[0] for row in range(127)}
    assert len(rows) == 127
    for row in range(127):
        expected_row = rows[answers.workload.label(row)]
        np.testing.assert_array_equal(answers.workload.operator.take(np.array([row]))[0], expected_row)
    every = answers.type_variances()
    profile = answers.profile()
    # They count once in the mean.
    weights = np.repeat([1.0, 2.0], [96, 31]) * 127 / 158
    assert profile.weights == pytest.approx(weights)
    assert profile.variance == pytest.approx(every.max(axis=1), rel=1e-9)
    expected = (weights @ every / 127).reshape(4, 3, 8).mean(axis=1)
    assert profile.type_variance == pytest.approx(expected.ravel(), rel=1e-9)
    assert profile.over is None
    assert profile.mean_over is None
    low, high = answers.extremes()
    assert (low < 0).all()
    assert (high > 1).all()


@pytest.mark.slow
def test_ranges_and_members_without_order_are_planned_too() -> None:
    queries = {"c": "histogram", "x": "ranges", "y": "prefix"}
    workload = asked(2, 16, 16, queries, missing=True)
    family = plane_category_family_of(workload)
    assert family is not None
    assert family.count == workload.queries == 2 * 136 * 16
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, mechanism="plane_category_grids")))
    assert plan.summary.mean_variance < 60
    assert plan.summary.bias_bound < 1e-9


def test_queries_that_are_spread_have_about_the_mean_of_all() -> None:
    plan = planned(3, 16, 20)
    answers = PlaneCategoryAnswers.of(_randomizer(), plan.request.workload)
    part = answers.family.parts[0]
    some = [part.query(answers.family.shape, answers.family.axes, one) for one in part.spread(6)]
    every = [part.query(answers.family.shape, answers.family.axes, one) for one in part.all()[::3]]
    found, expected = (answers.law.variances(np.array(each)).mean() for each in (some, every))
    assert found == pytest.approx(expected, rel=0.1)


def test_too_many_types_are_refused_with_a_number_that_is_planned() -> None:
    request = PlanRequest(asked(3, 2000, 100, EACH), PlanningOptions.of(epsilon=1.0))
    reason = PlaneCategoryGridsMechanism().reason_against(SharedWork(request))
    assert reason is not None
    assert "3 categories × 2000 × 100 types are 600000, and at most 262144 are planned" in reason
    assert "for example 873 and 100 of them" in reason


def test_three_ordered_attributes_are_refused_in_words() -> None:
    domain = [{"name": name, "kind": "integers", "low": 0, "high": 11} for name in "abc"]
    workload = parse_specification({"name": "three", "domain": domain, "queries": "prefix"}).build()
    request = PlanRequest(workload, PlanningOptions.of(epsilon=1.0))
    reason = PlaneCategoryGridsMechanism().reason_against(SharedWork(request))
    assert reason is not None
    assert "3 ordered attributes at once: use `total` for all but two" in reason
