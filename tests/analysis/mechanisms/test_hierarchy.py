"""Trees: near their published variances, as small as promised, and worth their levels."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.hierarchy import HierarchyMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_shared.protocol import DevicePart


def proposed(kind, size, epsilon, objective):
    request = PlanRequest(builtin(kind, size), PlanningOptions.of(epsilon=epsilon, objective=objective))
    return request, HierarchyMechanism().propose(SharedWork(request), lambda *told: None)


def test_prefix_128_is_far_below_the_best_flat_mechanism(plan_of):
    """17.2 for the mean and 26.3 for the maximum at ε = 1, where subset selection has 76 and 150."""
    request, found = proposed("prefix", 128, "1", "mean")
    assert 13.0 < found.variance(request) < 17.4
    request, found = proposed("prefix", 128, "1", "max")
    assert 14.0 < found.variance(request) < 27.0
    flat = plan_of("prefix", 128, "1", "max", "subset_selection").analyst.figures
    assert flat.max_variance > 4 * found.variance(request)


@pytest.mark.parametrize("epsilon", ["0.25", "1", "2", "4", "8"])
@pytest.mark.parametrize("size", [100, 128])
def test_the_device_part_stays_within_64_kib_at_128_types(size, epsilon):
    request, found = proposed("prefix", size, epsilon, "mean")
    part = DevicePart(request.workload.domain, request.guarantee, found.randomizer)
    assert len(part.content) <= 64 << 10


@pytest.mark.parametrize("epsilon", ["0.001", "0.5", "4", "16"])
@pytest.mark.parametrize(("kind", "size"), [("prefix", 3), ("histogram", 7), ("ranges", 6), ("prefix", 37)])
def test_it_is_unbiased_at_every_epsilon(kind, size, epsilon):
    request, found = proposed(kind, size, epsilon, "mean")
    figures = found.law(request).profile().figures()
    assert figures.bias_bound <= 1e-11 * np.sqrt(figures.max_variance) + 1e-9


def test_pairs_that_alone_are_asked_about_are_told_as_a_histogram_of_pairs():
    """The other levels get next to nothing, and what is left is the best kernel of four nodes."""
    line = {"name": "v", "kind": "ordinal", "edges": [float(edge) for edge in range(1, 8)]}
    rows = np.kron(np.eye(4), [1.0, 1.0]).tolist()
    workload = parse_specification({"name": "pairs", "domain": [line], "queries": {"matrix": rows}}).build()
    request = PlanRequest(workload, PlanningOptions.of(epsilon=1, objective="mean", mechanism="hierarchy"))
    found = compile_plan(request).analyst.figures.mean_variance
    four = PlanRequest(
        builtin("histogram", 4), PlanningOptions.of(epsilon=1, objective="mean", mechanism="subset_selection")
    )
    assert found == pytest.approx(compile_plan(four).analyst.figures.mean_variance, rel=2e-3)


def test_types_of_several_attributes_are_in_no_order():
    line = {"kind": "ordinal", "edges": [1.0, 2.0]}
    domain = [{"name": "a", **line}, {"name": "b", **line}]
    workload = parse_specification({"name": "square", "domain": domain, "queries": "prefix"}).build()
    for mechanism in ("hierarchy", "haar"):
        with pytest.raises(PlanError, match="2 attributes have no one order"):
            compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1, objective="max", mechanism=mechanism)))
