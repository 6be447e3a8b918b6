"""Named checks for constructors: each raises `InvalidValue` with the value kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral, Rational, Real

from sordino_shared._text import is_legible, is_visible
from sordino_shared.errors import InvalidValue

MAX_NAME = 200
# What shows as nothing at the ends of a line, written out: every language's own trimming has another list.
_BLANKS = "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def check_name(name: str, what: str) -> None:
    """1 to 200 characters on one line, one of them visible and none hidden, without blanks at either end."""
    check_length(name, 1, MAX_NAME, what)
    if name != name.strip(_BLANKS):
        raise InvalidValue(f"{what} must neither begin nor end with a blank, got {name!r}", name)
    check_text(name, what)


def check_length(text: str, low: int, high: int, what: str) -> None:
    """low to high characters, which are Unicode code points."""
    if not isinstance(text, str) or not low <= len(text) <= high:
        shown = repr(text) if len(str(text)) <= high else f"{len(str(text))}"
        raise InvalidValue(f"{what} must be text of {low} to {high} characters, got {shown}", text)


def check_label(label: str) -> None:
    """A query's label: up to 2000 characters, none of them hidden: answers show it."""
    check_length(label, 0, 2000, "label of a query")
    if not is_legible(label):
        raise InvalidValue(
            f"labels of queries must be legible: no control, direction-changing or invisible characters, got {label!r}",
            label,
        )


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
    # The floats of numpy are real numbers and no rational ones, its integers integral.
    if isinstance(value, bool) or not isinstance(value, Real) or not _is_plain(value):
        raise InvalidValue(f"{what} must be a number, got {value!r}", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InvalidValue(f"{what} must be a finite number, got {value!r}", value)
    return number + 0.0


def _is_plain(value: Real) -> bool:
    return isinstance(value, Integral) or not isinstance(value, Rational)


def check_range(value: int, low: int, high: int, what: str) -> None:
    """low ≤ value ≤ high, a true integer."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InvalidValue(f"{what} must be an integer from {low} to {high}, got {value!r}", value)


def set_finite_floats(instance: object, *names: str) -> None:
    """Replace the named attributes of a frozen instance under construction by finite floats."""
    for name in names:
        object.__setattr__(instance, name, finite_float(getattr(instance, name), name))
