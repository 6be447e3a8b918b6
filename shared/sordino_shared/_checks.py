"""Named checks for constructors: each returns nothing and raises `InvalidValue` with the value kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sordino_shared.errors import InvalidValue


def check_name(name: str, what: str) -> None:
    """1 to 200 printable characters, without blanks at either end."""
    if not isinstance(name, str) or not name or name != name.strip() or len(name) > 200 or not name.isprintable():
        raise InvalidValue(
            f"{what} must be 1 to 200 printable characters without blanks at its ends, got {name!r}", name
        )


def check_distinct(values: Sequence[object], what: str) -> None:
    """No value occurs twice."""
    seen: set[object] = set()
    for value in values:
        if value in seen:
            raise InvalidValue(f"{what} must be distinct, {value!r} occurs twice", values)
        seen.add(value)


def check_increasing(values: Sequence[float], what: str) -> None:
    """Finite and strictly increasing."""
    if not all(math.isfinite(value) for value in values):
        raise InvalidValue(f"{what} must be finite numbers", values)
    if any(a >= b for a, b in zip(values, values[1:], strict=False)):
        raise InvalidValue(f"{what} must be strictly increasing", values)


def check_range(value: int, low: int, high: int, what: str) -> None:
    """low ≤ value ≤ high, a true integer."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidValue(f"{what} must be an integer from {low} to {high}, got {value!r}", value)
