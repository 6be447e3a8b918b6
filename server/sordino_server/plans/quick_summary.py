"""A short search for a plan, run by the process that answers questions on demand: only that one imports this module."""

from __future__ import annotations

from sordino_analysis.planning_options import PlanningOptions
from sordino_analysis.requests import StoredRequest


def quick_summary(specification: str, options: str) -> str:
    """The summary, as JSON, of the plan that a search with these options (JSON) finds for a stored workload (JSON)."""
    request = StoredRequest(specification, PlanningOptions.model_validate_json(options))
    return request.compile().summary.text()
