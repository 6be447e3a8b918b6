"""Plans that are far from their bound name a question that has a good plan, or are refused with one."""

from __future__ import annotations

import numpy as np
import pytest

from sordino_analysis.planning.coarser_questions import coarser_question
from sordino_analysis.planning.planner import PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.workload import WorkloadError

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


def test_of_two_attributes_the_queries_of_one_are_named() -> None:
    domain = [
        {"name": "x", "kind": "integers", "low": 0, "high": 63},
        {"name": "y", "kind": "integers", "low": 0, "high": 255},
    ]
    workload = parse_specification({"name": "r", "domain": domain, "queries": {"x": "prefix", "y": "prefix"}}).build()
    named = coarser_question(workload, 1.0, 15_000.0)
    assert named == "queries {x: total, y: prefix} have a plan near the bound of its prefix sums, 15"


def test_of_more_bins_than_grids_take_as_many_as_they_take_are_named() -> None:
    def named(bins: int) -> str | None:
        attribute = {"name": "delay", "kind": "integers", "low": 0, "high": bins - 1}
        workload = parse_specification({"name": "p", "domain": [attribute], "queries": "prefix"}).build()
        return coarser_question(workload, 1.0, 241_000.0)

    # Randomised response on the 1,024 bins that are worth it has 89,100.
    assert named((1 << 18) + 1) == "shifted_grids take up to 262,144 wider bins, whose prefix sums have the bound 65.8"
    assert named(1 << 18) == "1,024 wider bins have at most 8.91e+04, by randomized_response"


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
