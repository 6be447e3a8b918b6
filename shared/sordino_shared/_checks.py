"""Named checks for constructors: each raises `InvalidValue` with the value kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sordino_shared._text import is_legible, is_visible
from sordino_shared.errors import InvalidValue


def check_name(name: str, what: str) -> None:
    """1 to 200 characters on one line, one of them visible and none hidden, without blanks at either end."""
    if not isinstance(name, str) or not name or name != name.strip() or len(name) > 200:
        raise InvalidValue(f"{what} must be 1 to 200 legible characters without blanks at its ends, got {name!r}", name)
    check_text(name, what)


def check_text(text: str, what: str) -> None:
    """People see what is written: something is visible, and nothing is hidden."""
    if not is_visible(text) or not is_legible(text):
        raise InvalidValue(
            f"{what} must be legible: at least one letter, number, punctuation mark or symbol, and no control, "
            f"direction-changing or invisible characters, got {text!r}",
            text,
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
