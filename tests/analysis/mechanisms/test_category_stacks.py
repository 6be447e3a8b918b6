"""Plans of stacks beside categories: within each category and of all users, and several attributes of categories."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from sordino_analysis.estimation.answer_on_demand import ShareAnswer
from sordino_analysis.estimation.answers_on_demand import answer, answerer_of
from sordino_analysis.estimation.linear import LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate, accumulate
from sordino_analysis.planning.audit import audit_plan
from sordino_analysis.planning.planner import CompiledPlan, PlanRequest, compile_plan
from sordino_analysis.planning_options import PlanError, PlanningOptions
from sordino_analysis.questions.linear import parse_specification
from sordino_analysis.vectorized.randomizers import randomize_many
from sordino_analysis.vectorized.randomness import SeededRandomness
from sordino_shared.randomizers import Coarsened, GridPartition

REPORTS = 200_000


def categorical(name: str, count: int) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "labels": [f"v{number}" for number in range(count)]}


def integers(name: str, count: int) -> dict[str, Any]:
    return {"name": name, "kind": "integers", "low": 0, "high": count - 1}


@cache
def planned(weight: float) -> CompiledPlan:
    """The distribution of the delay within each of 4 carriers, and that of all users."""
    parts = [
        {"queries": {"carrier": "histogram", "delay": "prefix"}},
        {"queries": {"carrier": "total", "delay": "prefix"}, "weight": weight},
    ]
    return compiled([categorical("carrier", 4), integers("delay", 256)], {"stack": parts})


def compiled(domain: list[dict[str, Any]], queries: Any) -> CompiledPlan:
    workload = parse_specification({"name": "delays", "domain": domain, "queries": queries}).build()
    return compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, objective="mean")))


def error_of_all(plan: CompiledPlan) -> float:
    """The standard error of the share of all users up to a delay, from so many reports."""
    randomizer = plan.device.randomizer
    cells = np.random.default_rng(5).integers(0, 4 * 256, REPORTS)
    sums = accumulate(randomizer, randomize_many(randomizer, cells, SeededRandomness(6)))
    answerer = answerer_of(plan.device, plan.analyst, Aggregate(REPORTS, sums))
    (found,) = answer(answerer, plan.device.domain, "range", ["delay:..150"]).answers
    assert isinstance(found, ShareAnswer)
    assert abs(found.uncut - np.mean(cells % 256 <= 150)) < 4.5 * found.standard_error
    return found.standard_error


def test_levels_without_the_category_make_answers_about_all_users_better() -> None:
    plan = planned(8.0)
    assert plan.summary.mechanism == "category_grids"
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Coarsened)
    told = {level.partition.widths[0] for level in randomizer.levels if isinstance(level.partition, GridPartition)}
    assert told == {0, 1}
    assert all(check.holds for check in audit_plan(plan.device, plan.analyst))
    assert plan.summary.ratio_mean is not None
    assert plan.summary.ratio_mean < 1.5
    without = compiled([categorical("carrier", 4), integers("delay", 256)], {"carrier": "histogram", "delay": "prefix"})
    assert error_of_all(plan) < 0.75 * error_of_all(without)


@pytest.mark.slow
def test_totals_alone_are_planned_as_on_a_line() -> None:
    domain = [categorical("carrier", 2), integers("delay", 600)]
    beside = compiled(domain, {"carrier": "total", "delay": "prefix"}).summary
    alone = compiled([integers("delay", 600)], "prefix").summary
    assert beside.mechanism == "category_grids"
    assert beside.mean_variance < 1.02 * alone.mean_variance
    assert beside.lower_bound_mean <= alone.lower_bound_mean


def test_two_attributes_of_categories_are_told_together_and_apart() -> None:
    domain = [categorical("carrier", 2), integers("delay", 100), categorical("os", 3)]
    kinds = (("histogram", "total"), ("total", "histogram"))
    parts = [{"queries": {"carrier": a, "delay": "prefix", "os": b}} for a, b in kinds]
    plan = compiled(domain, {"stack": parts})
    assert plan.summary.mechanism == "category_grids"
    assert plan.summary.ratio_mean is not None
    assert plan.summary.ratio_mean < 1.4
    randomizer = plan.device.randomizer
    random = np.random.default_rng(7)
    cells = np.ravel_multi_index(
        (
            random.integers(0, 2, REPORTS),
            (random.beta(2, 3, REPORTS) * 100).astype(int),
            random.integers(0, 3, REPORTS),
        ),
        (2, 100, 3),
    )
    aggregate = Aggregate(REPORTS, accumulate(randomizer, randomize_many(randomizer, cells, SeededRandomness(8))))
    estimator = LinearEstimator.of(plan.device, plan.analyst)
    found = estimator.estimate(aggregate)
    scores = (found.unbiased - estimator.workload.truth(cells)) / found.standard_error
    # One seed in a thousand, by Bonferroni over the listed queries.
    assert np.abs(scores).max() < 5.2
    answerer = answerer_of(plan.device, plan.analyst, aggregate)
    (share,) = answer(answerer, plan.device.domain, "rectangle", ["os:v2,delay:10..60"]).answers
    members = np.unravel_index(cells, (2, 100, 3))
    truth = np.mean((members[2] == 2) & (members[1] >= 10) & (members[1] <= 60))
    assert isinstance(share, ShareAnswer)
    assert abs(share.uncut - truth) < 4.5 * share.standard_error


def test_several_ordered_attributes_beside_categories_are_refused_in_words() -> None:
    domain = [categorical("carrier", 4), *(integers(name, 12) for name in ("delay", "size", "age"))]
    queries = {"carrier": "total", "delay": "prefix", "size": "prefix", "age": "prefix"}
    workload = parse_specification({"name": "three", "domain": domain, "queries": queries}).build()
    with pytest.raises(PlanError, match="3 ordered attributes at once: use `total` for all but one"):
        compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=1.0, mechanism="category_grids")))
