"""Random characters: parities in closed form, arcs against every arc, and what is refused."""

import numpy as np
import pytest

from sordino_analysis.mechanisms.fourier import FourierMechanism
from sordino_analysis.mechanisms.mechanism import SharedWork
from sordino_analysis.optimisation.symmetry.character_rows import _arc
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import builtin, parse_specification


def workload_of(shape, queries):
    domain = [
        {"name": f"a{i}", "kind": "categorical", "labels": [f"v{j}" for j in range(size)]}
        for i, size in enumerate(shape)
    ]
    return parse_specification({"name": "asked", "domain": domain, "queries": queries}).build()


def planned(shape, queries, epsilon, objective="mean"):
    return compile_plan(
        PlanRequest(
            workload_of(shape, queries), PlanningOptions.of(epsilon=epsilon, objective=objective, mechanism="fourier")
        )
    )


@pytest.mark.parametrize("objective", ["max", "mean"])
@pytest.mark.parametrize(("attributes", "width", "count"), [(4, 1, 4), (5, 2, 15), (4, 4, 15)])
def test_parities_are_randomized_response_of_one_of_them(attributes, width, count, objective):
    """Each of N parities is drawn with chance 1/N: variance N/tanh²(ε/2) − 1, for every query and type."""
    plan = planned((2,) * attributes, {"kind": "parities", "width": width}, "1", objective)
    expected = count / np.tanh(0.5) ** 2 - 1
    figures = plan.analyst.figures
    assert figures.mean_variance == pytest.approx(expected, rel=1e-5)
    assert figures.max_variance == pytest.approx(expected, rel=2e-3)
    assert figures.bias_bound < 1e-9
    assert plan.summary.ratio >= 1
    assert len(plan.device.randomizer.rows) == width


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("key", [((2, 1), (2, 1)), ((7, 2),), ((2, 1), (3, 1)), ((4, 2), (6, 3)), ((4, 1), (6, 1))])
def test_the_arc_tells_most_of_all_arcs(key, epsilon):
    """Against every set of cells whose angle is at most some angle from a start."""
    shape = tuple(size for size, _ in key)
    cells = np.indices(shape).reshape(len(shape), -1)
    turns = sum(r * z / size for (size, r), z in zip(key, cells, strict=True)) % 1
    wave = np.exp(-2j * np.pi * turns)

    def told(members):
        levels = np.where(members, np.exp(epsilon), 1.0)
        return abs((levels * wave).sum() / levels.sum())

    rounded = np.round(turns, 9) % 1
    others = [told(rounded < end) for end in np.unique(rounded)[1:]]
    arc = _arc([((size, False), frequency) for size, frequency in key], epsilon)
    assert told(arc.ravel()) == pytest.approx(max(others))


@pytest.mark.parametrize("objective", ["max", "mean"])
def test_marginals_of_attributes_of_several_sizes_are_unbiased_and_above_the_bound(objective):
    plan = planned((3, 2, 4), {"kind": "marginals", "width": 2}, "2", objective)
    assert plan.analyst.figures.bias_bound < 1e-9
    assert plan.summary.ratio >= 1


def test_only_characters_that_queries_need_are_drawn():
    plan = planned((2,) * 5, {"kind": "parities", "width": 3, "exactly": True}, "1")
    assert [row.shape for row in plan.device.randomizer.rows] == [(2, 2, 2)]


def test_many_attributes_need_no_matrix():
    plan = planned((2,) * 14, {"kind": "marginals", "width": 2}, "1")
    assert plan.summary.ratio_mean < 1.3


def test_where_it_does_not_apply_it_says_why():
    def reason(workload):
        return FourierMechanism().reason_against(
            SharedWork(PlanRequest(workload, PlanningOptions.of(epsilon=1, objective="max")))
        )

    assert reason(builtin("prefix", 8)) == "the queries are not parities or marginals"
    wide = workload_of((601,), {"kind": "marginals", "width": 1})
    assert reason(wide) == "300 orbits of characters; a device holds 256 rows"
