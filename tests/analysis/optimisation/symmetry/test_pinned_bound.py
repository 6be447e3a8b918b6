"""The trace bound of losses with unequal costs, through orbits and from the whole matrix, and its audit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.symmetry.pinned_bound import recheck_pinned
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_shared.errors import InvalidValue


def rules(indicators, width, miss, **queries):
    names = [*(f"a{number}" for number in range(indicators)), "crashed"]
    domain = [{"name": name, "kind": "categorical", "labels": ["off", "on"]} for name in names]
    label, cost = {"attribute": "crashed", "positive": "on"}, {"miss": miss, "false_alarm": 1}
    asked = {"class": "conjunctions", "width": width, "label": label, "cost": cost} | queries
    return parse_specification({"name": "w", "domain": domain, "queries": asked}).build()


@pytest.mark.parametrize("family", ["conjunctions", "clauses", "parities"])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_it_is_the_trace_bound_of_the_whole_matrix(family, epsilon):
    """For the same weights of queries and even types; `recheck` takes the nuclear norm of all 32 columns."""
    workload = rules(4, 2, 5, **{"class": family})
    operator = workload.operator
    assert operator.invariant_but_pinned
    assert not operator.invariant
    weights = np.arange(1.0, 1 + len(operator.blocks))
    weights /= weights.sum()
    queries = np.empty(workload.queries)
    for block, weight in zip(operator.blocks, weights, strict=True):
        queries[block.queries] = weight / block.queries.size
    even = np.full(workload.size, 1 / workload.size)
    expected = recheck(workload.weighted_matrix(), epsilon, queries, even)
    assert expected > 1
    assert recheck_pinned(operator, epsilon, weights) == pytest.approx(expected, rel=1e-7)


def test_rules_without_negations_are_no_class_for_it():
    assert not rules(4, 2, 5, negations=False).operator.invariant_but_pinned


def test_weights_that_are_none_are_refused():
    operator = rules(3, 1, 5).operator
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_pinned(operator, 1.0, np.full(len(operator.blocks), 1.0))


@pytest.mark.slow
def test_a_plan_of_many_attributes_with_costs_has_a_bound_and_passes_its_audit():
    workload = rules(16, 3, 5)
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1)))
    bound = plan.analyst.certificate.max
    assert bound.kind == "character_orbits"
    assert 1 < plan.analyst.figures.max_variance / bound.value < 2
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    assert math.isfinite(bound.value)
