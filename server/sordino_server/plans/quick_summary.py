"""A short search for a plan, done in a process of its own."""

from __future__ import annotations

from sordino_analysis.planning_options import PlanningOptions


def quick_summary(specification: str, options: PlanningOptions) -> str:
    """The summary, as JSON, of the plan that a search with these options finds for a stored workload (JSON)."""
    # Imported here since the process that answers requests imports this module, and must not hold the planner.
    from sordino_analysis.requests import StoredRequest

    return StoredRequest(specification, options).compile().summary.text()
