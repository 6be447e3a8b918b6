"""δ or a share as a person writes it."""

from __future__ import annotations

import math
from fractions import Fraction

from sordino_shared.errors import InvalidValue


def chance_of(written: float | str | Fraction) -> Fraction:
    """The exact decimal; raises InvalidValue for what is no number between 0 and 1."""
    if isinstance(written, Fraction):
        return written
    try:
        number = float(written)
    except ValueError as error:
        raise InvalidValue(f"a chance must be a number such as 1e-6, got {written!r}", written) from error
    if not (math.isfinite(number) and 0 <= number < 1):
        raise InvalidValue(f"a chance must be from 0 to below 1, got {written!r}", written)
    # The shortest decimal of the float is what was written: 0.1 and not a little more.
    return Fraction(repr(number))
