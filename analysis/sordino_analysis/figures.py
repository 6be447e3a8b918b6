"""How numbers of answers are written for a reader: shares in per cent, others in their unit, no digit that is noise.

The ± of an answer has one figure, or two where it begins with 1 or 2; the answer and the ends of its intervals have the
decimals of their ±. This is the only place of the product that writes such numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sordino_analysis.percentages import percent

# The unit of an answer that is a share of the users.
SHARE = "share"
# Digits of a number where its error does not say how many.
_DIGITS = 4
# Digits of an answer without error.
_ALL_DIGITS = 15
# Of an end of a bin as many more than those of the bin's width: an end is off by half a hundredth of it at most.
_DIGITS_OF_WIDTH = 2
# Of ε, ρ and δ, which somebody chose too, as many as Python's own `g` has.
_CHOSEN_DIGITS = 6
# Numbers beyond these powers of ten are written with one.
_LEAST, _MOST = -5, 15
# An error below 10^−8 is one of rounding.
_MOST_PLACES = 8
# A ± whose first figures are below this has two.
_TWO_FIGURES_BELOW = 3


def figure(number: float, digits: int = _DIGITS) -> str:
    """A number with so many significant digits at least: 1390.26 as "1,390", −.00123456 as "−0.001235"."""
    if not math.isfinite(number):
        return str(number)
    size = 0 if number == 0 else math.floor(math.log10(abs(number)))
    if not _LEAST < size < _MOST:
        written = f"{abs(number):.{digits}g}"
        return f"−{written}" if number < 0 else written
    places = max(0, digits - 1 - size)
    written = f"{number:,.{places}f}"
    short = written.rstrip("0").rstrip(".") if places else written
    return ("0" if short in ("-0", "") else short).replace("-", "−")


def chosen(number: float) -> str:
    """A number that somebody chose, such as ε: "0.25", "1e-06"."""
    return figure(number, _CHOSEN_DIGITS)


def ratio(number: float) -> str:
    """How many times a bound something is, with three decimals: "1.003"."""
    return f"{number:,.3f}"


def amount(number: float, unit: str, error: float | None = None) -> str:
    """A share in per cent, another number with its unit, if it has one, with the digits that its error leaves.

    .61803 with an error of .0123 is "61.8 %", 1390.26 ms with one of 34 "1,390 ms". With an error of 0 it has all its
    digits; without one a share has two decimals, and any other number four digits.
    """
    return _with_unit(_written(number, unit, error), unit)


def span(ends: Sequence[float], unit: str, error: float | None = None) -> str:
    """Both ends of an interval with the digits of `amount`: "58.5 … 63.5 %", "1,390 … 1,402 ms"."""
    low, high = ends
    return _with_unit(f"{_written(low, unit, error)} … {_written(high, unit, error)}", unit)


def with_error(number: float, error: float, unit: str) -> str:
    """A number and its standard error: "61.8 % ± 1.2", "1,390 ± 30 ms"."""
    value, own = _written(number, unit, error), _written(error, unit, error)
    return f"{value} % ± {own}" if unit == SHARE else _with_unit(f"{value} ± {own}", unit)


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
    """From the low end of a bin to the high end of another: "10 … 15 min", "≤ 5 min", "from 60 min on".

    Ends that somebody chose have their digits; those of computed bins six, or as many as tell the two ends apart.
    """
    digits = _digits_of_ends([end for end in ends if end is not None])
    low, high = (None if end is None else figure(end, digits) for end in ends)
    if low is None and high is None:
        return "any number"
    if low is None:
        return _with_unit(f"≤ {high}", unit)
    if high is None:
        return f"from {_with_unit(str(low), unit)} on"
    return _with_unit(low if low == high else f"{low} … {high}", unit)


def _digits_of_ends(ends: Sequence[float]) -> int:
    apart, largest = max(ends, default=0) - min(ends, default=0), max(map(abs, ends), default=0)
    if not 0 < apart < math.inf:
        return _CHOSEN_DIGITS
    sizes = [math.floor(math.log10(number)) for number in (largest, apart)]
    return min(max(_CHOSEN_DIGITS, sizes[0] - sizes[1] + 1 + _DIGITS_OF_WIDTH), _ALL_DIGITS)


def places(error: float) -> int:
    """Decimals of a number with this error, negative for tens and hundreds: 1 for .12, 0 for 3.4, −1 for 34."""
    size = math.floor(math.log10(error))
    first = round(error / 10.0**size, 1)
    if first >= 10:
        size, first = size + 1, first / 10
    return min(_MOST_PLACES, (1 if first < _TWO_FIGURES_BELOW else 0) - size)


def _written(number: float, unit: str, error: float | None) -> str:
    """The number in its scale, without its unit."""
    scale = 100.0 if unit == SHARE else 1.0
    scaled = scale * number
    if error is None or not math.isfinite(error):
        return percent(number, 2).removesuffix(" %") if unit == SHARE else figure(number)
    if error <= 0:
        return figure(float(f"{scaled:.10g}"), _ALL_DIGITS)
    decimals = places(scale * error)
    text = f"{round(scaled, decimals):,.{max(0, decimals)}f}"
    return (text.removeprefix("-") if not text.strip("-0.,") else text).replace("-", "−")


def _with_unit(text: str, unit: str) -> str:
    if unit == SHARE:
        return f"{text} %"
    return f"{text} {unit}" if unit else text
