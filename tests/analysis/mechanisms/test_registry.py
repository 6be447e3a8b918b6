"""The promise of the registry: no plan is worse than a mechanism that is known, and none beats the bound."""

import pytest

from sordino_analysis.mechanisms.registry import mechanism_names
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.request_terms import Effort

# Two mechanisms this close are one up to rounding.
SAME = 1e-6
EPSILONS = ["0.25", "1", "4", "8"]


def line(name, bins):
    return {"name": name, "kind": "ordinal", "edges": [float(edge) for edge in range(1, bins)]}


WORKLOADS = {
    "prefix": ([line("a", 9)], "prefix"),
    "histogram": ([line("a", 6)], "histogram"),
    "ranges": ([line("a", 6)], "ranges"),
    "matrix": ([line("a", 5)], {"matrix": [[1, 2, 0, -1, 0], [0, 1, 1, 0, 3], [2, 2, 2, 2, 2]]}),
    "square": ([line("a", 3), line("b", 3)], "ranges"),
    "parities": ([line(name, 2) for name in "abcd"], {"kind": "parities", "width": 2}),
    "marginals": ([line("a", 2), line("b", 3), line("c", 2)], {"kind": "marginals", "width": 2}),
}


def request_of(workload, epsilon, objective, mechanism=None):
    domain, queries = WORKLOADS[workload]
    built = parse_specification({"name": workload, "domain": domain, "queries": queries}).build()
    return PlanRequest(
        built, PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism=mechanism, effort=Effort.QUICK)
    )


def figures_of_all(workload, epsilon, objective, plan):
    """Of every candidate that applies, by name; what the planner left out is forced. What is biased is left out."""
    evaluated = {report.name: report.figures for report in plan.candidates if report.applies}
    for name in set(mechanism_names()) - set(evaluated):
        try:
            forced = compile_plan(request_of(workload, epsilon, objective, name))
        except PlanError:
            continue
        evaluated[name] = forced.analyst.figures
    return evaluated


def check(workload, epsilon, objective):
    plan = compile_plan(request_of(workload, epsilon, objective))
    bounds, name = plan.analyst.certificate, f"{objective}_variance"
    evaluated = figures_of_all(workload, epsilon, objective, plan)
    for mechanism, figures in evaluated.items():
        assert getattr(plan.analyst.figures, name) <= getattr(figures, name) * (1 + SAME), mechanism
        # What directions state as their bias could buy them at most this share of a variance.
        share = 1 - 1e-8 if figures.bias_bound < 1e-8 else 1 - 1e-3
        assert figures.max_variance >= bounds.max.value * share, mechanism
        assert figures.mean_variance >= bounds.mean.value * share, mechanism


@pytest.mark.slow
@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("workload", WORKLOADS)
def test_no_plan_is_above_a_candidate_and_no_candidate_below_the_bound(workload, epsilon, objective):
    check(workload, epsilon, objective)
