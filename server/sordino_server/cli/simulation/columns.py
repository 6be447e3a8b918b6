"""A workload on one column of a CSV file, with bins or categories found in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from sordino_analysis.analyst.tables import ColumnError, Table, is_absent, number_in
from sordino_shared.domains import MISSING, OTHER

MOST_CATEGORIES = 256


@dataclass(frozen=True, kw_only=True)
class Binning:
    """How a column becomes an attribute: at `edges`, in `bins` bins of equal width or of equal counts, or by value."""

    edges: Sequence[float] | None = None
    bins: int = 32
    quantiles: bool = False
    categorical: bool = False


def inferred_specification(table: Table, column: str, kind: str, binning: Binning) -> dict[str, Any]:
    """A workload on one column, with `missing` and `other`: bins if most values are numbers, categories if not.

    Raises `ColumnError` where the column cannot be cut or counted like that.
    """
    present = [text.strip() for text in table.columns[column] if not is_absent(text.strip())]
    numbers = [number for number in map(number_in, present) if number is not None]
    attribute: dict[str, Any] = {"name": column, "missing": True, "other": True}
    if not binning.categorical and (binning.edges is not None or 2 * len(numbers) > len(present)):
        attribute |= {"kind": "ordinal", "edges": _edges(table.path, column, numbers, binning)}
    else:
        attribute |= {"kind": "categorical", "labels": _categories(table.path, column, present)}
    return {"name": f"{column}, {kind}", "domain": [attribute], "queries": kind}


def _edges(path: Path, column: str, numbers: Sequence[float], binning: Binning) -> list[float]:
    if binning.edges is not None:
        return list(binning.edges)
    return (_equal_counts if binning.quantiles else _equal_bins)(path, column, numbers, binning.bins)


def _equal_bins(path: Path, column: str, numbers: Sequence[float], bins: int) -> list[float]:
    low, high = min(numbers), max(numbers)
    step = (high - low) / bins
    edges = [float(f"{low + index * step:.6g}") for index in range(1, bins)]
    if any(b <= a for a, b in pairwise(edges)) or step == 0:
        raise ColumnError(path, f"column {column!r} cannot be cut into {bins} equal bins: give --edges or fewer --bins")
    return edges


def _equal_counts(path: Path, column: str, numbers: Sequence[float], bins: int) -> list[float]:
    """Edges at values of the column, with as nearly equal counts between them as ties allow; at most bins − 1."""
    ordered = sorted(numbers)
    edges = {ordered[len(ordered) * index // bins - 1] for index in range(1, bins) if len(ordered) * index >= bins}
    edges.discard(ordered[-1])
    if not edges:
        raise ColumnError(path, f"column {column!r} has one value: there is nothing to cut; give --edges")
    return sorted(edges)


def _categories(path: Path, column: str, present: Sequence[str]) -> list[str]:
    labels = sorted(set(present) - {MISSING, OTHER})
    if not 1 <= len(labels) <= MOST_CATEGORIES:
        raise ColumnError(
            path,
            f"column {column!r} has {len(labels)} different values, and 1 to {MOST_CATEGORIES} can "
            "be counted: list those that matter in a workload file (--spec), the rest becomes `other`",
        )
    return labels
