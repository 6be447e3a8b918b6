"""What a table of answers tells in sentences, none without its band, which holds every answer that one picks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sordino_analysis.answers.table import AnswerTable
from sordino_analysis.figures import SHARE, amount, number_span, span
from sordino_shared.quantities import quantity

# At most this many differences are listed.
_MOST_DIFFERENCES = 5
# The median is where half of the users are.
_HALF = 0.5


@dataclass(frozen=True)
class BandedShare:
    """A share with the band that holds all answers at once."""

    label: str
    value: float
    low: float
    high: float

    @property
    def text(self) -> str:
        """The label, the share, and the ends of its band."""
        error = (self.high - self.low) / 2
        ends = span((self.low, self.high), SHARE, error)
        return f"{self.label}: {amount(self.value, SHARE, error)} (band {ends})"


def findings(table: AnswerTable) -> tuple[str, ...]:
    """Of a histogram which share is the largest, of a distribution between which steps the median lies.

    Of a comparison which answers differ. Nothing of other tables, of tables without a band, and of the shares of a
    list that leaves queries out.
    """
    if "verdict" in table.columns and "right" in table.columns and "band_lower" in table.columns:
        return _differences(table)
    if table.terms.get("unlisted") or not {"value", "band_lower"} <= table.columns.keys() or len(table) < 2:
        return ()
    if set(table.cells("unit")) != {SHARE}:
        return ()
    kinds = set(table.cells("kind"))
    if kinds == {"histogram"}:
        return _largest(_statements(table))
    if kinds == {"prefix"} and len({each.attribute for bounds in table.bounds() for each in bounds}) == 1:
        return _median(_statements(table))
    return ()


def _differences(table: AnswerTable) -> tuple[str, ...]:
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


def _statements(table: AnswerTable) -> list[BandedShare]:
    rows = zip(table.cells("label"), table.numbers("value"), table.ends("band_"), strict=True)
    return [BandedShare(str(label), value, *band) for label, value, band in rows if band is not None]


def _largest(found: Sequence[BandedShare]) -> tuple[str, ...]:
    """The largest share if its band is above all others, else how many may be the largest."""
    first = max(found, key=lambda each: each.value)
    rivals = [each for each in found if each is not first and each.high >= first.low]
    if not rivals:
        return (f"the largest share is {first.text}",)
    if len(rivals) == len(found) - 1:
        return ("which share is the largest cannot be told: all bands overlap",)
    labels = ", ".join(each.label for each in (first, *rivals)[:4]) + (", …" if len(rivals) > 3 else "")
    return (f"the largest share is one of {len(rivals) + 1}, whose bands overlap: {labels}",)


def _median(found: Sequence[BandedShare]) -> tuple[str, ...]:
    """The last step that is surely below half of the users, and the first one that is surely above."""
    below = [each for each in found if each.high < _HALF]
    above = [each for each in found if each.low > _HALF]
    if not below and not above:
        return ("between which steps the median lies cannot be told",)
    said = []
    if below:
        said.append(f"less than half have {below[-1].text}")
    if above:
        said.append(f"more than half have {above[0].text}")
    return ("; ".join(said),)
