"""Numbers among the values that an app may pass."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational, Real

BLANKS = " \t\r\n"
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def exact_number(value: object) -> int | float | Fraction | None:
    """A number that compares exactly with floats, whatever its size; None for what is no number.

    The numbers of numpy are of the abstract kinds that the standard library names, and count as such.
    """
    if isinstance(value, bool) or is_missing(value):
        return None
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Decimal) or (isinstance(value, Real) and not isinstance(value, Rational)):
        return float(value)
    return None


def written_number(value: object) -> float | None:
    """The double nearest to a decimal number written in ASCII, blanks around it aside; None for other text."""
    if not isinstance(value, str):
        return None
    text = value.strip(BLANKS)
    return float(text) if _DECIMAL.fullmatch(text) else None


def is_missing(value: object) -> bool:
    """Whether a value stands for no value: None or a NaN."""
    if isinstance(value, Decimal):
        return value.is_nan()
    return value is None or (isinstance(value, Real) and not isinstance(value, Rational) and math.isnan(value))
