"""How a number of an answer is written for a reader: a share in per cent, any other number in its unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sordino_analysis.percentages import percent

# The unit of an answer that is a share of the users.
SHARE = "share"
_DIGITS = 4
# Of an end of a bin, which is a number that somebody chose, all digits.
_ALL_DIGITS = 15
# Numbers beyond these powers of ten are written with one.
_LEAST, _MOST = -5, 15


def figure(number: float, digits: int = _DIGITS) -> str:
    """A number with so many significant digits at least: 1390.26 as "1,390", −.00123456 as "−0.001235"."""
    size = 0 if number == 0 else math.floor(math.log10(abs(number)))
    if not _LEAST < size < _MOST:
        return f"{number:.{digits - 1}e}".replace("-", "−")
    places = max(0, digits - 1 - size)
    written = f"{number:,.{places}f}"
    short = written.rstrip("0").rstrip(".") if places else written
    return ("0" if short in ("-0", "") else short).replace("-", "−")


def amount(number: float, unit: str) -> str:
    """A share as "12.34 %", another number with its unit, if it has one: "1,390 ms"."""
    return percent(number, 2) if unit == SHARE else _with_unit(figure(number), unit)


def span(ends: Sequence[float], unit: str) -> str:
    """Both ends of an interval: "1.00 % … 2.00 %", "1,390 … 1,402 ms"."""
    low, high = ends
    if unit == SHARE:
        return f"{percent(low, 2)} … {percent(high, 2)}"
    return _with_unit(f"{figure(low)} … {figure(high)}", unit)


def rounded(number: float, unit: str) -> str:
    """A round number of an axis, without digits that say nothing: "20 %", "1,390 ms"."""
    if unit == SHARE:
        return percent(float(f"{number:.10g}"))
    return amount(number, unit)


def only_unit(units: Iterable[str]) -> str:
    """The unit that all answers have, "" where they have several."""
    found = set(units)
    return found.pop() if len(found) == 1 else ""


def number_span(ends: Sequence[float | None], unit: str) -> str:
    """From the low end of a bin to the high end of another: "10 … 15 min", "≤ 5 min", "from 60 min on"."""
    low, high = (None if end is None else figure(end, _ALL_DIGITS) for end in ends)
    if low is None and high is None:
        return "any number"
    if low is None:
        return _with_unit(f"≤ {high}", unit)
    if high is None:
        return f"from {_with_unit(str(low), unit)} on"
    return _with_unit(low if low == high else f"{low} … {high}", unit)


def _with_unit(text: str, unit: str) -> str:
    return f"{text} {unit}" if unit else text
