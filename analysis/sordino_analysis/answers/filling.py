"""Fill the columns of a table from an estimate, whose arrays are named as the columns are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sordino_analysis.answers.columns import COLUMNS, Cell, cells_of_bounds
from sordino_analysis.documents.attribute_bounds import AttributeBounds

# Two columns that an estimate may have as one array (Q, 2), or as a pair.
_PAIRS = {
    "interval": ("lower", "upper"),
    "band": ("band_lower", "band_upper"),
    "population_interval": ("population_lower", "population_upper"),
    "group_interval": ("group_lower", "group_upper"),
    "share_interval": ("share_lower", "share_upper"),
    "lift_interval": ("lift_lower", "lift_upper"),
    "lift_band": ("lift_band_lower", "lift_band_upper"),
}
_ARRAYS = [column.name for column in COLUMNS if column.place == "answer" and column.type in ("number", "truth")]


def cells_of_estimate(estimate: object, rows: Sequence[int] | None = None) -> dict[str, list[Cell]]:
    """The columns of numbers that an estimate of Q answers has, all Q rows or some; attributes that are None have none.

    An attribute of a column's name is an array (Q,), `interval`, `band`, `population_interval` and `share_interval` are
    arrays (Q, 2).
    """
    found: dict[str, Any] = {name: getattr(estimate, name, None) for name in _ARRAYS}
    for name, ends in _PAIRS.items():
        if (pair := getattr(estimate, name, None)) is not None:
            found |= dict(zip(ends, np.asarray(pair).T, strict=True))
    chosen = slice(None) if rows is None else list(rows)
    return {name: array[chosen].tolist() for name, array in found.items() if isinstance(array, np.ndarray)}


def cells_of_answers(answers: Sequence[object]) -> dict[str, list[Cell]]:
    """The columns of answers that are objects of their own: each attribute of a column's name, pairs as two columns."""
    names = [column.name for column in COLUMNS if column.place == "answer"]
    found = {name: [getattr(each, name, None) for each in answers] for name in names}
    for name, ends in _PAIRS.items():
        if not any(hasattr(each, name) for each in answers):
            continue
        pairs = [getattr(each, name, None) or (None, None) for each in answers]
        found |= {end: [pair[place] for pair in pairs] for place, end in enumerate(ends)}
    return found


def columns_of_bounds(bounds: Sequence[Sequence[AttributeBounds]]) -> dict[str, list[Cell]]:
    """The columns that say what each row is about."""
    cells = [cells_of_bounds(each) for each in bounds]
    names = dict.fromkeys(name for each in cells for name in each)
    return {name: [each.get(name) for each in cells] for name in names}
