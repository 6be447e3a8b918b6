"""Plans that are far from their bound name a question that has a good plan, or are refused with one."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from sordino_analysis.planning.coarser_questions import coarser, coarser_question, least_known
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_analysis.request_terms import Objective

BINS = 4096


def of_rows(rows: list[np.ndarray]) -> Workload:
    attribute = {"name": "delay", "kind": "integers", "low": 0, "high": BINS - 1}
    matrix = [row.astype(float).tolist() for row in rows]
    return parse_specification({"name": "m", "domain": [attribute], "queries": {"matrix": matrix}}).build()


def test_smooth_rows_are_planned_like_sums_of_neighbours() -> None:
    places = np.arange(BINS) / (BINS - 1)
    plan = compile_plan(PlanRequest(of_rows([places, places**2]), PlanningOptions.of(epsilon=1, objective="mean")))
    assert plan.summary.mechanism == "shifted_grids"
    # Sets of types have 3,770 times the square of an entry.
    assert plan.summary.max_variance < 1.6
    assert plan.summary.lower_bound_mean > 0.3


def test_rows_that_are_constant_on_few_runs_are_refused_with_their_ends() -> None:
    rows = [np.arange(BINS) // 1024 == block for block in range(4)]
    with pytest.raises(PlanError, match=r"but at 1024, 2048, 3072: an attribute of these 4 bins has the same answers"):
        compile_plan(PlanRequest(of_rows(rows), PlanningOptions.of(epsilon=1, objective="mean")))


def test_rows_without_any_order_are_refused_unless_a_mechanism_is_named() -> None:
    workload = of_rows(list(np.random.default_rng(0).integers(0, 2, (8, BINS))))
    with pytest.raises(PlanError, match=r"merge types to at most 2048; or name the mechanism"):
        compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1, objective="mean")))
    options = PlanningOptions.of(epsilon=1, objective="mean", mechanism="subset_selection")
    plan = compile_plan(PlanRequest(workload, options))
    assert any("wider bins have at most" in warning for warning in plan.summary.warnings)


def asked(domain: list[dict[str, Any]], queries: Any) -> Workload:
    return parse_specification({"name": "r", "domain": domain, "queries": queries}).build()


def integers(name: str, bins: int, **member: bool) -> dict[str, Any]:
    return {"name": name, "kind": "integers", "low": 0, "high": bins - 1, **member}


LINE = [integers("delay", 1024, missing=True)]
PLANE = [integers("x", 63), integers("y", 300), {"name": "c", "kind": "categorical", "labels": ["a", "b"]}]
WEIGHED = {"stack": [{"queries": "prefix", "weight": 40}, {"queries": "ranges"}]}
ROWS = {"matrix": np.random.default_rng(3).random((3, 256)).round(3).tolist()}


@pytest.mark.parametrize(
    ("domain", "queries", "epsilon", "objective"),
    [
        (LINE, "prefix", 6.0, "max"),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                (LINE, WEIGHED, 5.0, "mean"),
                (LINE, "prefix", 6.0, "mean"),
                (LINE, WEIGHED, 5.0, "max"),
                ([integers("delay", 256)], ROWS, 5.0, "max"),
                (PLANE, {"x": "prefix", "y": "prefix", "c": "histogram"}, 1.0, "mean"),
                (PLANE, {"stack": [{"queries": {"x": "prefix", "y": "prefix", "c": "total"}}]}, 4.0, "mean"),
            ]
        ),
    ],
)
def test_a_plan_of_the_advised_question_has_the_stated_figure(
    domain: list[dict[str, Any]], queries: Any, epsilon: float, objective: Objective
) -> None:
    """Whatever ε and the weights of a stack are: no more, and not so much less that it would be another promise."""
    found = coarser(asked(domain, queries), epsilon, objective, variance=4 * least_known_of(domain, queries, epsilon))
    assert found is not None
    options = PlanningOptions.of(epsilon=epsilon, objective=objective, effort="quick", time_limit=1.0)
    summary = compile_plan(PlanRequest(found.workload, options)).summary
    stated = float(str(found).split("at most ")[1].split(",")[0])
    assert summary.variance <= stated * (1 + 1e-9)
    # What is searched for may have less.
    assert stated < 2.5 * summary.variance


def least_known_of(domain: list[dict[str, Any]], queries: Any, epsilon: float) -> float:
    """About the variance of a question of a quarter of the bins."""
    line = [integers("delay", 64)]
    return least_known(asked(line, queries if isinstance(queries, str) else "prefix"), epsilon, "max")[0]


def test_of_two_ordered_attributes_the_histogram_of_one_is_named() -> None:
    workload = asked(PLANE, {"x": "prefix", "y": "prefix", "c": "histogram"})
    found = coarser(workload, 1.0, "mean", 15_000.0)
    assert found is not None
    assert re.fullmatch(
        r"prefix of 'y' with the histogram of 8 wide bins of 'x' has at most 2\d\.\d, by category_grids", str(found)
    )
    summary = compile_plan(PlanRequest(found.workload, PlanningOptions.of(epsilon=1.0, objective="mean"))).summary
    assert (summary.mechanism, summary.variance) == ("category_grids", pytest.approx(found.figure))
    assert summary.variance < 1.25 * summary.lower_bound_mean


def test_of_few_bins_no_wide_ones_are_named() -> None:
    """A histogram of eight bins of an attribute that has five would be no coarser question."""
    domain = [integers("y", 300), integers("x", 5, missing=True), integers("z", 40)]
    workload = asked(domain, {"x": "prefix", "y": "prefix", "z": "prefix"})
    found = coarser(workload, 1.0, "mean", 15_000.0)
    assert found is not None
    assert found.words == "prefix of 'y' with the histogram of 'x' and 8 wide bins of 'z' has"
    assert found.workload.domain.shape == (300, 6, 8)


def test_of_several_attributes_one_alone_is_named() -> None:
    workload = asked(PLANE, {"stack": [{"queries": {"x": "prefix", "y": "prefix", "c": "histogram"}}]})
    named = coarser_question(workload, 1.0, "mean", 15_000.0)
    assert named is not None
    assert re.fullmatch(r"prefix of 'y' alone has at most 17\.\d, by shifted_grids", named)
    # Of fewer bins where that is no gain, and nothing where nothing is.
    fewer = coarser_question(workload, 1.0, "mean", 20.0)
    assert fewer is not None
    assert re.fullmatch(r"prefix of 'y' alone, in \d+ wider bins, has at most [\d.]+, by \w+", fewer)
    assert coarser_question(workload, 1.0, "mean", 1.0) is None


def test_of_more_bins_than_grids_take_as_many_as_they_take_are_named() -> None:
    workload = asked([integers("delay", (1 << 18) + 1)], "prefix")
    named = coarser_question(workload, 1.0, "mean", 160_000.0)
    # The plan of these has as much: `sordino plan --workload prefix --size 4096 --epsilon 1 --objective mean`.
    expected = "shifted_grids take up to 262,144 wider bins, and 4,096 wider bins have at most 33.7, by shifted_grids"
    assert named == expected


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ({"stack": [{"queries": "prefix", "weight": 0}, {"queries": "histogram"}]}, "greater than 0"),
        ({"stack": [{"queries": "prefix"}] * 20_000}, "at most 256 parts, not 20,000"),
    ],
)
def test_stacks_that_are_no_question_are_refused(queries: dict[str, object], message: str) -> None:
    attribute = {"name": "delay", "kind": "integers", "low": 0, "high": 4095}
    with pytest.raises(WorkloadError, match=message):
        parse_specification({"name": "s", "domain": [attribute], "queries": queries}).build()


def test_prefix_sums_of_hashed_items_are_refused_for_want_of_an_order() -> None:
    stack = {"stack": [{"queries": "prefix"}, {"queries": "histogram"}]}
    with pytest.raises(WorkloadError, match="prefix needs an order and attribute 'page' is hashed"):
        parse_specification(
            {"name": "s", "domain": [{"name": "page", "kind": "hashed", "bits": 16}], "queries": stack}
        ).build()
