"""Named checks for constructors: each raises `InvalidValue` with the value kept."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sordino_shared.errors import InvalidValue

_DIRECTION_CHANGES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def check_name(name: str, what: str) -> None:
    """1 to 200 characters on one line, without blanks at either end."""
    if not isinstance(name, str) or not name or name != name.strip() or len(name) > 200 or not is_legible(name):
        raise InvalidValue(f"{what} must be 1 to 200 legible characters without blanks at its ends, got {name!r}", name)


def is_legible(text: str) -> bool:
    """Whether people see what is written: no control or surrogate characters, none that changes the direction."""
    return text.isprintable() or not any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _DIRECTION_CHANGES
        for character in text
    )


def check_distinct(values: Sequence[object], what: str) -> None:
    """No value occurs twice."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise InvalidValue(f"{what} must be distinct, {value!r} occurs twice", values)
        seen.add(value)


def check_increasing(values: Sequence[float], what: str) -> None:
    """Strictly increasing."""
    if any(a >= b for a, b in pairwise(values)):
        raise InvalidValue(f"{what} must be strictly increasing", values)


def finite_float(value: object, what: str) -> float:
    """`value` as the float that goes on the wire, where an integer would be another type and zero has no sign."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InvalidValue(f"{what} must be a number, got {value!r}", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidValue(f"{what} must be a finite number, got {value!r}", value)
    return number + 0.0


def check_range(value: int, low: int, high: int, what: str) -> None:
    """low ≤ value ≤ high, a true integer."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidValue(f"{what} must be an integer from {low} to {high}, got {value!r}", value)


def set_finite_floats(instance: object, *names: str) -> None:
    """Replace the named attributes of a frozen instance under construction by finite floats."""
    for name in names:
        object.__setattr__(instance, name, finite_float(getattr(instance, name), name))
