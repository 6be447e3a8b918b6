"""Sampled marginals: subset selection where there is one marginal, and closed forms where there are several."""

import math
from itertools import combinations

import numpy as np
import pytest

from sordino_analysis.mechanisms.sampled_marginals import _families
from sordino_analysis.optimisation.symmetry.orbit_rows import row_shape
from sordino_analysis.optimisation.symmetry.subset_sizes import best_mixture
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification
from sordino_analysis.questions.linear.characters import Characters
from sordino_analysis.vectorized.orbits import row_members


def planned(shape, queries, epsilon, objective="mean"):
    domain = [
        {"name": f"a{i}", "kind": "categorical", "labels": [f"v{j}" for j in range(size)]}
        for i, size in enumerate(shape)
    ]
    workload = parse_specification({"name": "asked", "domain": domain, "queries": queries}).build()
    return compile_plan(
        PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism="sampled_marginals"))
    )


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (7,)])
def test_the_one_marginal_of_all_attributes_is_a_histogram_by_subset_selection(shape, epsilon):
    queries = {"kind": "marginals", "width": len(shape), "exactly": True}
    plan = planned(shape, queries, str(epsilon))
    best = best_mixture(math.prod(shape), epsilon, "mean")
    assert plan.analyst.figures.mean_variance == pytest.approx(best.value, rel=1e-6)
    assert plan.analyst.figures.bias_bound < 1e-9


@pytest.mark.parametrize(("attributes", "width"), [(3, 2), (5, 2), (4, 3)])
def test_a_random_cell_of_a_random_marginal_has_the_variance_of_its_characters(attributes, width):
    """λ_U = û² C(d−|U|, w−|U|)/C(d, w), û = (e^ε − 1)/(e^ε + K − 1), and Σ (1/λ_U − 1)/K² over the parts U of a set."""
    epsilon, cells = 6.0, 2**width
    plan = planned((2,) * attributes, {"kind": "marginals", "width": width, "exactly": True}, "6")
    coefficient = math.expm1(epsilon) / (math.exp(epsilon) + cells - 1)
    expected = 0.0
    for involved in range(1, width + 1):
        shared = math.comb(attributes - involved, width - involved) / math.comb(attributes, width)
        expected += math.comb(width, involved) * (1 / (coefficient**2 * shared) - 1) / cells**2
    assert plan.analyst.figures.mean_variance == pytest.approx(expected, rel=1e-5)
    assert plan.summary.ratio_mean >= 1


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 3), (5,)])
def test_shares_count_all_subsets_of_a_size(sizes):
    """What the rows tell, by their shares, is the mean over all subsets, those without the first cell included."""
    characters = Characters(sizes, len(sizes))
    shape = row_shape(sizes, characters)
    for size, family in enumerate(_families(shape, 1.3, len(characters.orbits)), start=1):
        every = np.zeros((math.comb(shape.cells, size), shape.cells), dtype=bool)
        np.put_along_axis(every, np.array(list(combinations(range(shape.cells), size))), True, axis=1)
        mean = shape.profiles(every, 1.3, len(characters.orbits)).mean(axis=0)
        assert family.shares.sum() == pytest.approx(1)
        own = family.shares @ shape.profiles(family.sets, 1.3, len(characters.orbits))
        assert own == pytest.approx(mean, rel=1e-8)
        assert family.profile == pytest.approx(mean, rel=1e-8)


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize("epsilon", ["0.25", "8"])
def test_marginals_of_attributes_of_several_sizes_are_unbiased_and_above_the_bound(epsilon, objective):
    plan = planned((3, 2, 4), {"kind": "marginals", "width": 2}, epsilon, objective)
    figures, bounds = plan.analyst.figures, plan.analyst.certificate
    assert figures.bias_bound < 1e-8
    assert figures.max_variance >= bounds.max.value
    assert figures.mean_variance >= bounds.mean.value


def test_a_large_marginal_has_its_cells_one_by_one():
    plan = planned((40, 30), {"kind": "marginals", "width": 2, "exactly": True}, "8")
    sizes = {int(row_members(row).sum()) for row in plan.device.randomizer.rows}
    assert sizes == {1}


def test_queries_in_an_order_are_no_marginals():
    with pytest.raises(PlanError, match="not parities or marginals"):
        compile_plan(
            PlanRequest(
                builtin("prefix", 8), PlanningOptions.of(epsilon=1, objective="max", mechanism="sampled_marginals")
            )
        )
