"""The trace bound of losses with unequal costs, through orbits and from the whole matrix, and its audit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino_analysis.optimisation.bounds import recheck
from sordino_analysis.optimisation.symmetry.pinned_bound import best_member_weight, recheck_pinned
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
@pytest.mark.parametrize(("epsilon", "member"), [(0.5, 0.5), (1.0, 0.5), (1.0, 0.9)])
def test_it_is_the_trace_bound_of_the_whole_matrix(family, epsilon, member):
    """For the same weights of queries and types; `recheck` takes the nuclear norm of all 32 columns."""
    workload = rules(4, 2, 5, **{"class": family})
    operator = workload.operator
    assert operator.invariant_but_pinned
    assert not operator.invariant
    weights = np.arange(1.0, 1 + len(operator.blocks))
    weights /= weights.sum()
    queries = np.empty(workload.queries)
    for block, weight in zip(operator.blocks, weights, strict=True):
        queries[block.queries] = weight / block.queries.size
    types = np.tile([1 - member, member], workload.size // 2) / (workload.size // 2)
    expected = recheck(workload.weighted_matrix(), epsilon, queries, types)
    assert expected > 1
    assert recheck_pinned(operator, epsilon, weights, member) == pytest.approx(expected, rel=1e-7)


def test_rules_without_negations_are_no_class_for_it():
    assert not rules(4, 2, 5, negations=False).operator.invariant_but_pinned


def test_weights_that_are_none_are_refused():
    operator = rules(3, 1, 5).operator
    with pytest.raises(InvalidValue, match="sum to 1"):
        recheck_pinned(operator, 1.0, np.full(len(operator.blocks), 1.0), 0.5)
    with pytest.raises(InvalidValue, match="between 0 and 1"):
        recheck_pinned(operator, 1.0, np.eye(len(operator.blocks))[0], 1.0)


def test_a_weight_of_the_label_makes_the_bound_larger_where_costs_differ():
    """The best of all weights is one of the label that costs five times as much, and of the dear member."""
    operator = rules(16, 3, 5).operator
    weights = np.eye(len(operator.blocks))[-1]
    best = best_member_weight(operator, 1.0, weights)
    found = recheck_pinned(operator, 1.0, weights, best)
    assert 0.9 < best < 1
    assert found > 1.6 * recheck_pinned(operator, 1.0, weights, 0.5)
    assert found >= max(recheck_pinned(operator, 1.0, weights, each) for each in (0.8, 0.95, 0.97, 0.99, 0.999))


@pytest.mark.slow
def test_a_plan_of_many_attributes_with_costs_has_a_bound_and_passes_its_audit():
    workload = rules(16, 3, 5)
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1)))
    bound = plan.analyst.certificate.max
    assert bound.kind == "pinned_characters"
    assert 1 < plan.analyst.figures.max_variance / bound.value < 1.21
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    assert math.isfinite(bound.value)
