"""The bound for some types: never 0, rechecked from what is published, and below what any plan has."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sordino_analysis.documents.certificate import SomeTypesBound
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.bounds.trace import trace_bound
from sordino_analysis.optimisation.deadline import Deadline
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.certificates import lower_bound
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning.rechecks import recheck_bound
from sordino_analysis.planning.some_type_certificates import chosen_types, some_types_certificate
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, builtin, parse_specification
from sordino_analysis.request_terms import Objective
from sordino_analysis.vectorized.arrays import array_of, ndarray
from sordino_shared.errors import InvalidValue


def ordinal(name: str, bins: int) -> dict[str, Any]:
    return {"name": name, "kind": "ordinal", "edges": list(range(1, bins))}


def labelled(name: str, members: int) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "labels": [f"l{place}" for place in range(members)]}


def of(domain: list[dict[str, Any]], queries: Any) -> Workload:
    return parse_specification({"name": "w", "domain": domain, "queries": queries}).build()


ONE_CELL = {"matrix": [[1.0 if cell == 1234 else 0.0 for cell in range(3000)]]}
WORKLOADS = {
    "product": of([ordinal("a", 20), ordinal("b", 30), ordinal("c", 5)], {"a": "prefix", "b": "prefix", "c": "prefix"}),
    "mixed marginals": of([labelled(f"b{n}", 2 + n % 3) for n in range(14)], {"kind": "marginals", "width": 2}),
    "one cell": of([ordinal("a", 60), labelled("b", 50)], ONE_CELL),
    "few types": builtin("prefix", 6),
    "weights": of([ordinal("a", 9)], {"stack": [{"queries": "prefix"}, {"queries": "histogram", "weight": 5}]}),
}


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", [0.1, 4.0, 12.0])
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_query_that_varies_has_a_bound_above_0_that_is_proved_again(
    name: str, epsilon: float, objective: Objective
) -> None:
    workload = WORKLOADS[name]
    for most in (16, 128):
        bound = some_types_certificate(workload, epsilon, objective, most)
        assert bound.value > 0
        assert bound.types.shape[0] <= most
        assert recheck_bound(bound, workload, epsilon, objective) == pytest.approx(bound.value, rel=1e-9)


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
def test_of_all_types_it_is_nearly_the_trace_bound_and_of_two_that_of_randomised_response(
    epsilon: float, objective: Objective
) -> None:
    workload = builtin("prefix", 12)
    found = some_types_certificate(workload, epsilon, objective, 128).value
    assert found == pytest.approx(trace_bound(workload.weighted_matrix(), epsilon, objective).value, rel=0.02)
    one = of([labelled("a", 2)], {"matrix": [[0.0, 3.0]]})
    expected = 9 / (4 * math.sinh(epsilon / 2) ** 2)
    assert some_types_certificate(one, epsilon, objective, 16).value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_plans_that_are_cut_short_have_one(name: str, objective: Objective) -> None:
    request = PlanRequest(WORKLOADS[name], PlanningOptions.of(epsilon=4, objective=objective))
    bound = lower_bound(SharedWork(request, Deadline(1e-9)), objective, lambda *told: None)
    assert isinstance(bound, SomeTypesBound)
    assert bound.value > 0


@pytest.mark.parametrize("name", ["product", "one cell", "few types"])
def test_no_plan_has_a_smaller_variance(name: str) -> None:
    """At ε = 4, where weaker bounds end at 0; of very many types it is what the plan publishes."""
    plan = compile_plan(PlanRequest(WORKLOADS[name], PlanningOptions.of(epsilon=4)))
    figures, certificate = plan.analyst.figures, plan.analyst.certificate
    assert 0 < some_types_certificate(WORKLOADS[name], 4.0, "max", 128).value <= figures.max_variance * (1 + 1e-9)
    assert 0 < some_types_certificate(WORKLOADS[name], 4.0, "mean", 128).value <= figures.mean_variance * (1 + 1e-9)
    assert min(certificate.max.value, certificate.mean.value) > 0
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    assert isinstance(certificate.max, SomeTypesBound) == (name != "few types")


def test_the_cell_of_the_only_query_is_among_the_types() -> None:
    codes = chosen_types(WORKLOADS["one cell"], 16).tolist()
    assert list(np.unravel_index(1234, (60, 50))) in codes


def test_a_value_or_a_number_that_is_another_is_found() -> None:
    plan = compile_plan(PlanRequest(WORKLOADS["product"], PlanningOptions.of(epsilon=1)))
    bound = plan.analyst.certificate.max
    assert isinstance(bound, SomeTypesBound)
    exact = recheck_bound(bound, WORKLOADS["product"], 1.0, "max")
    assert exact is not None
    assert bound.queries is not None
    higher = replace(plan.analyst.certificate, max=replace(bound, value=bound.value * (1 + 1e-6)))
    wrong = [
        check.name for check in audit_plan(plan.device, replace(plan.analyst, certificate=higher)) if not check.holds
    ]
    assert wrong == ["lower bound, max"]
    types = ndarray(bound.types).copy()
    types[0, 0] = 60
    outside = {
        "cells of the domain": {"types": array_of(types, "<i8")},
        "queries of a bound": {"queries": array_of(ndarray(bound.queries) + 10**6, "<i8")},
        "sum to 1": {"type_weights": array_of(2 * ndarray(bound.type_weights), "<f8")},
        "or neither": {"queries": None},
        "at most 128": {
            "types": array_of(np.tile(ndarray(bound.types), (2, 1)), "<i8"),
            "type_weights": array_of(np.tile(ndarray(bound.type_weights), 2) / 2, "<f8"),
        },
    }
    for said, changes in outside.items():
        with pytest.raises(InvalidValue, match=said):
            recheck_bound(replace(bound, **changes), WORKLOADS["product"], 1.0, "max")
    assert recheck_bound(bound, WORKLOADS["product"], 1.0, "mean") is None
