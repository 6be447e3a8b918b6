"""In what unit the answers of queries are: shares of the users, or numbers of an attribute."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sordino_analysis.figures import SHARE
from sordino_analysis.questions.linear.workload import Workload
from sordino_shared.domains import Integers, Ordered

# A whole workload of another unit than shares is a matrix, whose rows can be looked at; so many at a time.
_ROWS_AT_ONCE = 256


def units_of(workload: Workload, queries: Iterable[int]) -> list[str]:
    """The unit of each query's answer: SHARE, the unit of an attribute, or "" where there is none.

    A row that has a number within each bin of the one attribute, which is ordered, is a mean of it, and has its unit.
    """
    given = list(queries)
    if workload.has_units:
        return [workload.scope(query).unit or "" for query in given]
    shares = workload.operator.shares()
    other = {query: "" for query in given if not shares[query]}
    unit = _unit_of_bins(workload)
    matrix = [query for query in other if unit and workload.scope(query).kind == "matrix"]
    for start in range(0, len(matrix), _ROWS_AT_ONCE):
        rows = np.array(matrix[start : start + _ROWS_AT_ONCE])
        within = _within_bins(workload, workload.operator.take(rows))
        other |= {int(query): unit for query in rows[within]}
    return [other.get(query, SHARE) for query in given]


def _unit_of_bins(workload: Workload) -> str:
    """The unit of the one attribute, if it is ordered."""
    attribute = workload.domain.attributes[0]
    return attribute.unit if len(workload.domain.attributes) == 1 and isinstance(attribute, Ordered) else ""


def _within_bins(workload: Workload, rows: np.ndarray) -> np.ndarray:
    """(m,) whether each of the `rows` (m, k) has a number of each bin; what has no number may count anything."""
    attribute = workload.domain.attributes[0]
    assert isinstance(attribute, Ordered)
    if isinstance(attribute, Integers):
        low = high = attribute.low + np.arange(attribute.bins, dtype=float)
    else:
        edges = np.array([float(edge) for edge in attribute.edges])
        low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
    held = rows[:, : attribute.bins]
    return np.asarray(((low <= held) & (held <= high)).all(axis=1))
