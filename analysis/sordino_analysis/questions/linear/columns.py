"""The columns of a table of answers that say what its rows are about."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import columns_of_bounds
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_analysis.questions.linear.units import units_of
from sordino_analysis.questions.linear.workload import Workload


def columns_of_queries(workload: Workload, queries: Sequence[int] | None = None) -> dict[str, Sequence[Cell]]:
    """Kind, label, bounds and unit of the given queries, or of all."""
    asked = range(workload.queries) if queries is None else queries
    scopes = [workload.scope(query) for query in asked]
    return {
        "kind": [scope.kind or None for scope in scopes],
        "label": [workload.label(query) for query in asked],
        **columns_of_bounds([bounds_of(workload.domain, scope.sides) for scope in scopes]),
        "unit": [unit or None for unit in units_of(workload, asked)],
    }
