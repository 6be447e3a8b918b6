"""Which answers of two sides differ, in sentences, none without its band."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import amount, number_span, span
from sordino_shared.quantities import quantity

# At most this many differences are listed.
_MOST_DIFFERENCES = 5


def differences_found(table: AnswerTable) -> tuple[str, ...]:
    """How many answers differ, then those with the largest differences in standard errors."""
    shown = [dict(zip(table.columns, cells, strict=True)) for cells in zip(*table.columns.values(), strict=True)]
    if shown and all(row["verdict"] == "withheld" for row in shown):
        return ("no verdict: the counts of the arms are not those of their weights",)
    told = [row for row in shown if row["verdict"] in ("higher", "lower") and _banded(row) != (None, None)]
    if not told:
        return (f"no difference can be told: {quantity(len(table), 'answer')} with bands that hold 0",)
    told.sort(key=lambda row: -abs(_number(row, "value")) / (_number(row, "standard_error") or 1.0))
    counted = f"{len(told)} of {quantity(len(table), 'answer')} {'differs' if len(told) == 1 else 'differ'}"
    return (counted, *map(_difference, told[:_MOST_DIFFERENCES]))


def _difference(row: Mapping[str, Any]) -> str:
    """The difference with its band; of quantiles the band alone."""
    of, band = str(row.get("unit") or ""), _banded(row)
    less = f"{row['label']} is {row['verdict']}: {row['right']} − {row['left']}"
    if row.get("value") is None:
        return f"{less}: {number_span(band, of)}"
    error = _number(row, "standard_error")
    return f"{less} = {amount(row['value'], of, error)} (band {span(band, of, error)})"


def _number(row: Mapping[str, Any], name: str) -> float:
    return float(row.get(name) or 0.0)


def _banded(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row.get("band_lower"), row.get("band_upper")
