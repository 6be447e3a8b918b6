"""How many numbers of known users lie outside of the range of their attribute, and count as an end of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.figures import amount
from sordino_analysis.percentages import percent
from sordino_shared.domains import Domain, Integers, Number
from sordino_shared.domains.numbers import exact_number, written_number

# Above this share of the users an estimate and a simulation warn: a mean may be off by as much of the range, which is
# an error that users ask for.
MANY_CLIPPED = 0.01


@dataclass(frozen=True, kw_only=True)
class ClippedNumbers:
    """The shares of the users whose number of an attribute is `below` and `above` its range."""

    attribute: str
    unit: str
    low: float
    high: float
    below: float
    above: float

    def __str__(self) -> str:
        low, high = (amount(end, self.unit, 0.0) for end in (self.low, self.high))
        return f"{self.attribute}: {percent(self.below, 1)} below {low} and {percent(self.above, 1)} above {high}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """A sentence for each end beyond which more numbers are than a few."""
        ends = ((self.below, self.low, "below"), (self.above, self.high, "above"))
        return tuple(
            clipping_warning(self.attribute, percent(share, 1), f"{where} {amount(end, self.unit, 0.0)}")
            for share, end, where in ends
            if share > MANY_CLIPPED
        )


def clipping_warning(attribute: str, share: str, where: str) -> str:
    """What to do where this share of the numbers is out of the range, or at an end of it."""
    return (
        f"{share} of the users have {attribute} {where}: numbers out of the range count as its end, so that means and "
        "deviations are off. Plan with a wider range, or ask for quantiles"
    )


def clipped_numbers(domain: Domain, values: Sequence[object]) -> tuple[ClippedNumbers, ...]:
    """Of each attribute with numbers that are clipped; `values` has one of each user, as a device is given it."""
    return tuple(
        _clipped(attribute, np.array([_number(row[place]) for row in map(domain.parts, values)]))
        for place, attribute in enumerate(domain.attributes)
        if isinstance(attribute, (Number, Integers)) and not attribute.other
    )


def _clipped(attribute: Number | Integers, numbers: Floats) -> ClippedNumbers:
    count = max(len(numbers), 1)
    return ClippedNumbers(
        attribute=attribute.name,
        unit=attribute.unit,
        low=float(attribute.low),
        high=float(attribute.high),
        below=int((numbers < attribute.low).sum()) / count,
        above=int((numbers > attribute.high).sum()) / count,
    )


def _number(value: object) -> float:
    """NaN for what is no number; infinite beyond the doubles."""
    exact = exact_number(value)
    if exact is None:
        exact = written_number(value)
    if exact is None:
        return math.nan
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
