"""The columns of a table of differences."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.comparisons.measures import AnyDifference
from sordino_analysis.estimation.normality import columns_of_laws


def columns_of_difference(found: AnyDifference, left: str, right: str) -> dict[str, Sequence[Cell]]:
    """A row for each query, under the names of docs/results.md; `left` and `right` name the sides."""
    rows = len(found.labels)
    return {
        "left": [left] * rows,
        "right": [right] * rows,
        **found.described,
        **cells_of_estimate(found),
        "left_value": found.left.tolist(),
        "right_value": found.right.tolist(),
        "verdict": list(found.verdict),
        **columns_of_laws(found.normality),
    }
