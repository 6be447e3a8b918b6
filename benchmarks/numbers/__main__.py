"""`python -m benchmarks.numbers`: variances of means over the squared range, beside those of the literature."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.references.means import EVEN_SQUARE, hybrid, piecewise, two_point
from sordino_analysis.documents.number_queries import NumberQueries
from sordino_analysis.documents.plan_summary import LinearSummary
from sordino_analysis.evaluation.variance import answer_moments
from sordino_analysis.mechanisms.request import PlanRequest
from sordino_analysis.mechanisms.single_query import query_kernel
from sordino_analysis.planning.planner import compile_plan
from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.questions.linear import Workload, parse_specification
from sordino_analysis.questions.linear.building import build_workload
from sordino_analysis.requests import request_for
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import Dithered

LOAD = {"name": "load_ms", "kind": "number", "low": 0, "high": 60000, "unit": "ms"}
EPSILONS = (0.5, 1.0, 2.0, 4.0)
# Numbers of values, and of levels.
CELLS = (2, 17, 10_000, 65_536, 2**62)
LEVELS = (9, 17, 25, 33)
QUESTIONS: dict[str, tuple[int, Any]] = {
    "mean and sd": (0, ["mean", "sd"]),
    "mean and share above": (0, ["mean", {"share_above": 20000}]),
    "mean and clipped": (0, ["mean", "clipped"]),
    "mean within a part": (0, {"mean_within": [0, 5000]}),
    "median": (0, {"quantile": 0.5}),
    "mean and median": (0, ["mean", {"quantile": 0.5}]),
    "mean by 2 categories": (2, "mean"),
    "mean by 8 categories": (8, "mean"),
}
# Numbers that one report tells.
SEVERAL = (2, 3, 4, 6)
_MARGIN, _LEVEL = 0.01, 0.95


def asked(attribute: dict[str, Any], queries: Any = "mean", categories: int = 0) -> Any:
    """The workload as it is written."""
    labels = [str(each) for each in range(categories)]
    others = [{"name": "country", "kind": "categorical", "labels": labels}] if categories else []
    return parse_specification({"name": "load time", "domain": [*others, attribute], "queries": {"load_ms": queries}})


def of_epsilon(epsilon: float) -> dict[str, Any]:
    """A mean by every mechanism: the largest variance of any number, and the mean over evenly spread ones."""
    worst, even = _variances(asked(LOAD).build(), epsilon)
    least = float(query_kernel(np.linspace(0, 1, 33), None, PureEpsilon.of(epsilon)).variances.max())
    row: dict[str, Any] = {"epsilon": epsilon}
    for name, law in (("two_point", two_point), ("piecewise", piecewise), ("hybrid", hybrid)):
        row |= {name: max(law(epsilon, 0.0), law(epsilon, 1.0)), f"{name}_even": law(epsilon, EVEN_SQUARE)}
    return row | {"program": least, "plan": worst, "plan_even": even}


def of_question(name: str, epsilon: float) -> dict[str, Any]:
    """A plan as users make it."""
    categories, queries = QUESTIONS[name]
    return {"question": name} | _planned(asked(LOAD, queries, categories), epsilon)


def of_cells(cells: int, epsilon: float) -> dict[str, Any]:
    """The same for a mean of so many whole numbers."""
    attribute = {"name": "load_ms", "kind": "integers", "low": 0, "high": cells - 1}
    return {"cells": cells} | _planned(asked(attribute), epsilon)


def of_several(count: int, epsilon: float) -> dict[str, Any]:
    """Means of so many numbers from one report, and with a device that draws which one 17 levels of it answer.

    Then the variance about the middle of the range is d·(V + 1/4) − 1/4 for V of one mean alone.
    """
    names = [f"x{each}" for each in range(count)]
    attributes = [LOAD | {"name": name} for name in names]
    question = parse_specification({"name": "means", "domain": attributes, "queries": dict.fromkeys(names, "mean")})
    alone = _variances(asked(LOAD).build(), epsilon)[0]
    drawn = count * (alone + 1 / 4) - 1 / 4
    return {"numbers": count} | _planned(question, epsilon) | {"one_drawn": drawn}


def of_levels(levels: int, epsilon: float) -> dict[str, Any]:
    """A mean that is rounded to so many levels."""
    workload = asked(LOAD).build()
    assert isinstance(workload.published, NumberQueries)
    queries = NumberQueries(tuple(replace(each, levels=levels) for each in workload.published.asked))
    options = PlanningOptions.of(epsilon=epsilon, mechanism="query_kernel")
    plan = compile_plan(PlanRequest(build_workload(workload.held_domain, queries), options))
    row = {"levels": levels, "epsilon": epsilon, "variance": plan.relative_variance}
    return row | {"device_bytes": len(plan.device.content)}


def _planned(question: Any, epsilon: float) -> dict[str, Any]:
    began = time.process_time()
    plan = request_for(question, PlanningOptions.of(epsilon=epsilon)).compile(lambda step: None)
    seconds, summary = time.process_time() - began, plan.summary
    assert isinstance(summary, LinearSummary)
    row = {"epsilon": epsilon, "variance": summary.relative(summary.max_variance), "mechanism": summary.mechanism}
    within = summary.users_within(_MARGIN * (summary.scale or 1.0), _LEVEL, difference=False)
    return row | {
        "users": None if within is None or summary.queries > 1 else within[0],
        "device_bytes": summary.device_bytes,
        "seconds": seconds,
    }


def _variances(workload: Workload, epsilon: float) -> tuple[float, float]:
    """The largest, and the mean over numbers that are spread evenly: between knots Δ²/6 of rounding is added."""
    plan = compile_plan(PlanRequest(workload, PlanningOptions.of(epsilon=epsilon)))
    randomizer = plan.device.randomizer
    assert isinstance(randomizer, Dithered)
    inner = answer_moments(randomizer.inner, plan.analyst.decoder, workload).type_variances()[0] / workload.scale**2
    between = (inner[1:] + inner[:-1]) / 2 + (1 / (len(inner) - 1)) ** 2 / 6
    return plan.relative_variance, float(between.mean())


def rows(epsilons: tuple[float, ...], short: bool) -> Iterator[dict[str, Any]]:
    """Everything that is measured; `short` leaves most of it out."""
    yield from map(of_epsilon, epsilons)
    for epsilon in (1.0,) if short else (1.0, 4.0):
        yield from (of_cells(cells, epsilon) for cells in (CELLS[:1] if short else CELLS))
        yield from (of_levels(levels, epsilon) for levels in (LEVELS[:1] if short else LEVELS))
        yield from (of_question(name, epsilon) for name in (list(QUESTIONS)[:1] if short else QUESTIONS))
        yield from (of_several(count, epsilon) for count in (() if short else SEVERAL))


def main() -> None:
    """Print one row a line, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one ε and one row of each kind")
    parser.add_argument("--json", action="store_true", help="one JSON document a row")
    arguments = parser.parse_args()
    for row in rows(EPSILONS[1:2] if arguments.short else EPSILONS, arguments.short):
        if arguments.json:
            print(json.dumps(row), flush=True)
            continue
        cells = (f"{name} {cell:.4g}" if isinstance(cell, float) else f"{name} {cell}" for name, cell in row.items())
        print("  ".join(cells), flush=True)


if __name__ == "__main__":
    main()
