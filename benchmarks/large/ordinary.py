"""`python -m benchmarks.large.ordinary [--types 600] [--epsilon 1 2]`: ratios of ordinary questions to their bounds.

Each question is planned for the mean and for the maximum, and each objective is compared with its certified bound.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# Ratios that are aimed at: of the mean at any ε, of the maximum up to ε = 1 and above.
MOST_MEAN, MOST_MAX, MOST_MAX_ABOVE = 1.2, 1.7, 3.0
CATEGORIES = 10


def _line(name: str, types: int) -> dict[str, Any]:
    return {"name": name, "kind": "integers", "low": 0, "high": types - 1}


def _on_a_line(queries: Any) -> Callable[[int], dict[str, Any]]:
    return lambda types: {"domain": [_line("value", types)], "queries": queries}


def _beside_categories(types: int) -> dict[str, Any]:
    category = {"name": "category", "kind": "categorical", "labels": [f"v{label}" for label in range(CATEGORIES)]}
    return {
        "domain": [category, _line("value", types // CATEGORIES)],
        "queries": {"category": "histogram", "value": "prefix"},
    }


def _plane(types: int) -> dict[str, Any]:
    side = round(types**0.5)
    return {"domain": [_line("x", side), _line("y", side)], "queries": {"x": "prefix", "y": "prefix"}}


# A question of about so many types.
QUESTIONS: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "histogram": _on_a_line("histogram"),
    "prefix": _on_a_line("prefix"),
    "ranges": _on_a_line("ranges"),
    "prefix + histogram": _on_a_line({"stack": [{"queries": "prefix"}, {"queries": "histogram"}]}),
    f"{CATEGORIES} categories × prefix": _beside_categories,
    "prefix × prefix": _plane,
}


def _measured(types: int, epsilon: float, names: list[str]) -> Iterator[tuple[str, bool]]:
    """A row of the table for each question, and whether both ratios are as aimed at."""
    from sordino_analysis.planning.planner import PlanRequest, compile_plan
    from sordino_analysis.planning_options import PlanningOptions
    from sordino_analysis.questions.linear import parse_specification

    for name in names:
        workload = parse_specification({"name": "ordinary", **QUESTIONS[name](types)}).build()
        cells, started = [], time.process_time()
        most_max = MOST_MAX if epsilon <= 1 else MOST_MAX_ABOVE
        for objective, most in (("mean", MOST_MEAN), ("max", most_max)):
            summary = compile_plan(
                PlanRequest(workload, PlanningOptions.of(epsilon=epsilon, objective=objective))
            ).summary
            ratio = (summary.ratio_mean if objective == "mean" else summary.ratio_max) or float("inf")
            marked = f"{ratio:.3f}" + (" **above**" if ratio > most else "")
            cells.append((f"{summary.variance:.4g}", marked, ratio <= most))
        shown = " | ".join(f"{variance} | {ratio}" for variance, ratio, _ in cells)
        seconds = time.process_time() - started
        yield f"| {name} | {types:,} | {epsilon:g} | {shown} | {seconds:.1f} |", all(fine for *_, fine in cells)


def main() -> int:
    """Print a row a question; 1 where a ratio is above what is aimed at."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large.ordinary", description=__doc__)
    parser.add_argument("--types", type=int, nargs="+", default=[600, 4096, 1 << 16])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--only", nargs="+", metavar="QUESTION", choices=list(QUESTIONS), default=list(QUESTIONS))
    options = parser.parse_args()
    # One core, and numpy reads this when it is first imported, hence the imports above.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    print(
        "| question | types | ε | mean | to its bound | max | to its bound | both plans, CPU s |\n" + "|---" * 8 + "|"
    )
    fine = True
    for types in options.types:
        for epsilon in options.epsilon:
            for line, reached in _measured(types, epsilon, options.only):
                print(line, flush=True)
                fine = fine and reached
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
