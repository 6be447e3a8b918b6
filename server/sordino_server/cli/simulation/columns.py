"""A workload on one column of a CSV file, with bins or categories found in the file."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from sordino_analysis.analyst.tables import ColumnError, Table, is_absent, number_in
from sordino_shared.domains import MISSING, OTHER

MOST_CATEGORIES = 256


def inferred_specification(
    table: Table, column: str, kind: str, edges: Sequence[float] | None, bins: int
) -> dict[str, Any]:
    """A workload on one column, with `missing` and `other`: bins if most values are numbers, categories if not.

    Without `edges` the range of the numbers is cut into equal bins. Raises `ColumnError` where that cannot be done.
    """
    present = [text.strip() for text in table.columns[column] if not is_absent(text.strip())]
    numbers = [number for number in map(number_in, present) if number is not None]
    attribute: dict[str, Any] = {"name": column, "missing": True, "other": True}
    if edges is not None or 2 * len(numbers) > len(present):
        cuts = list(edges) if edges is not None else _equal_bins(table.path, column, numbers, bins)
        attribute |= {"kind": "ordinal", "edges": cuts}
    else:
        attribute |= {"kind": "categorical", "labels": _categories(table.path, column, present)}
    return {"name": f"{column}, {kind}", "domain": [attribute], "queries": kind}


def _equal_bins(path: Path, column: str, numbers: Sequence[float], bins: int) -> list[float]:
    low, high = min(numbers), max(numbers)
    step = (high - low) / bins
    edges = [float(f"{low + index * step:.6g}") for index in range(1, bins)]
    if any(b <= a for a, b in pairwise(edges)) or step == 0:
        raise ColumnError(path, f"column {column!r} cannot be cut into {bins} equal bins: give --edges or fewer --bins")
    return edges


def _categories(path: Path, column: str, present: Sequence[str]) -> list[str]:
    labels = sorted(set(present) - {MISSING, OTHER})
    if not 1 <= len(labels) <= MOST_CATEGORIES:
        raise ColumnError(
            path,
            f"column {column!r} has {len(labels)} different values that are no numbers, and 1 to {MOST_CATEGORIES} can "
            "be counted: list those that matter in a workload file (--spec), the rest becomes `other`",
        )
    return labels
