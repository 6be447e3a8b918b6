"""Randomized response and subset selection against formulas from the papers."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.mechanisms.subset_selection import SubsetSelectionMechanism, _proposal
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification


@pytest.mark.parametrize(("size", "epsilon"), [(2, "1"), (5, "0.3"), (40, "4")])
def test_randomized_response_on_histograms_has_the_known_variance(plan_of, size, epsilon):
    """Var of one bin is q(1−q)/(p−q)² for users of another type and p(1−p)/(p−q)² for its own."""
    boost = np.exp(float(epsilon))
    p, q = boost / (boost + size - 1), 1 / (boost + size - 1)
    plan = plan_of("histogram", size, epsilon, mechanism="randomized_response")
    other, own = q * (1 - q) / (p - q) ** 2, p * (1 - p) / (p - q) ** 2
    assert plan.analyst.figures.max_variance == pytest.approx(max(own, other), rel=1e-9)
    assert plan.analyst.figures.mean_variance == pytest.approx((own + (size - 1) * other) / size, rel=1e-9)
    assert plan.analyst.figures.bias_bound < 1e-12


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize(
    ("kind", "size", "epsilon"), [("histogram", 30, "1"), ("prefix", 23, "0.5"), ("ranges", 9, "3")]
)
def test_the_subset_size_is_the_best_of_all(kind, size, epsilon, objective):
    request = PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, objective=objective))

    def value(proposal):
        figures = proposal.law(request).profile().figures()
        return figures.max_variance if objective == "max" else figures.mean_variance

    found = SubsetSelectionMechanism().propose(SharedWork(request), lambda fraction: None)
    assert value(found) == min(value(_proposal(request, d)) for d in range(1, size))


def test_subset_selection_attains_the_mean_bound_on_histograms_at_the_right_size():
    """k/(e^ε + 1) a whole number: e^ε = 3, k = 8, d = 2 (Ye and Barg 2018)."""
    request = PlanRequest(
        builtin("histogram", 8),
        PlanningOptions.of(epsilon="1.098612288", objective="mean", mechanism="subset_selection"),
    )
    plan = compile_plan(request)
    assert plan.device.randomizer.subset_size == 2
    assert plan.summary.ratio_mean == pytest.approx(1.0, abs=2e-3)
    assert plan.summary.ratio_mean >= 1.0


def test_two_types_are_left_to_randomized_response():
    with pytest.raises(PlanError, match="it is randomized response"):
        compile_plan(
            PlanRequest(
                builtin("histogram", 2), PlanningOptions.of(epsilon=1, objective="max", mechanism="subset_selection")
            )
        )


def test_more_types_than_are_planned_are_refused_with_the_size_that_works():
    line = {"kind": "ordinal", "edges": list(map(float, range(1100)))}
    square = {
        "name": "square",
        "domain": [{"name": "a", **line}, {"name": "b", **line}],
        "queries": {"a": "prefix", "b": "total"},
    }
    workload = parse_specification(square).build()
    with pytest.raises(PlanError, match=r"1212201 types, and at most 1048576 .* use at most 952 bins"):
        compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1, objective="max")))
