"""Plans of few types publish the least variance that a kernel has, and are as good as it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sordino_analysis.documents.certificate import ListedRowsBound
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.arrays import array_of, ndarray


def plan_of(bits: int, queries: dict[str, object], epsilon: float, objective: str = "max") -> CompiledPlan:
    names = [f"a{number}" for number in range(bits)]
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    workload = parse_specification({"name": "w", "domain": domain, "queries": queries}).build()
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective)))


def rules(width: int, miss: int) -> dict[str, object]:
    label, cost = {"attribute": "a2", "positive": "on"}, {"miss": miss, "false_alarm": 1}
    return {"class": "conjunctions", "width": width, "label": label, "cost": cost}


MARGINALS = {"kind": "marginals", "width": 2, "exactly": True}


@pytest.mark.parametrize(
    ("queries", "epsilon"), [(MARGINALS, 4), (MARGINALS, 1), (rules(1, 5), 4), (rules(1, 5), 1), (rules(2, 1), 4)]
)
def test_plans_of_8_types_are_within_a_hundredth_of_their_bound(queries: dict[str, object], epsilon: float) -> None:
    plan = plan_of(3, queries, epsilon)
    assert isinstance(plan.analyst.certificate.max, ListedRowsBound)
    assert plan.summary.ratio_max is not None
    assert 1 - 1e-6 <= plan.summary.ratio_max <= 1.01
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))


def test_the_mean_has_one_too_whose_weights_are_products() -> None:
    plan = plan_of(3, rules(1, 5), 1, "mean")
    bound = plan.analyst.certificate.mean
    assert isinstance(bound, ListedRowsBound)
    assert plan.summary.ratio_mean is not None
    assert 1 - 1e-6 <= plan.summary.ratio_mean <= 1.01
    weights = ndarray(bound.weights).copy()
    weights[0, 0] += weights[0, 1]
    weights[0, 1] = 0
    changed = replace(bound, weights=array_of(weights, "<f8"))
    certificate = replace(plan.analyst.certificate, mean=changed)
    wrong = [
        check.name
        for check in audit_plan(plan.device, replace(plan.analyst, certificate=certificate))
        if not check.holds
    ]
    assert wrong == ["lower bound, mean"]


def test_a_bound_that_claims_more_or_whose_numbers_changed_is_refused() -> None:
    plan = plan_of(3, MARGINALS, 4)
    bound = plan.analyst.certificate.max
    assert isinstance(bound, ListedRowsBound)
    numerators = ndarray(bound.numerators).copy()
    numerators[0, 0] *= 1.01
    for changed in (
        replace(bound, value=bound.value * (1 + 1e-6)),
        replace(bound, numerators=array_of(numerators, "<f8")),
        replace(bound, weights=array_of(2 * ndarray(bound.weights), "<f8")),
    ):
        certificate = replace(plan.analyst.certificate, max=changed)
        checks = audit_plan(plan.device, replace(plan.analyst, certificate=certificate))
        assert [check.name for check in checks if not check.holds] == ["lower bound, max"]
