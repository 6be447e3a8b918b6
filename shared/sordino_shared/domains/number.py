"""Numbers of a range, told apart in 2^32 steps: what a mean is asked of."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from sordino_shared._checks import check_name, set_finite_floats
from sordino_shared._records import KW_ONLY, dataclass
from sordino_shared.domains.members import trailing_label, unlisted
from sordino_shared.domains.numbers import exact_number, written_number
from sordino_shared.domains.ordinal import check_unit
from sordino_shared.errors import InvalidValue, OutsideDomain

STEPS = 1 << 32


@dataclass(frozen=True)
class Number:
    """Member U = ⌊(x − low)/(high − low)·2^32⌋ of a number x, from 0 to 2^32, then `missing` where there is one.

    x is the nearest double first, and each operation is one of doubles. What is out of range counts as the nearest end;
    where `strict` it raises `OutsideDomain`. The number of steps is fixed: how finely a plan looks at them is the
    randomizer's, and the domain of a manifest does not depend on a plan.
    """

    kind: ClassVar[str] = "number"
    other: ClassVar[bool] = False
    name: str
    low: float
    high: float
    _: KW_ONLY
    unit: str = ""
    missing: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        set_finite_floats(self, "low", "high")
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise InvalidValue(
                f"attribute {self.name!r}: low must be below high, and their difference a finite number, got "
                f"{self.low!r} and {self.high!r}",
                self.name,
            )
        check_unit(self.unit)

    @property
    def bins(self) -> int:
        """Number of ordered members."""
        return STEPS + 1

    @property
    def size(self) -> int:
        return self.bins + self.missing

    @property
    def listed(self) -> int:
        """Number of members before `missing`."""
        return self.bins

    @property
    def entries(self) -> int:
        """How many labels or edges a document holds for the attribute."""
        return 1

    def label(self, index: int) -> str:
        """What a person reads for a member: the number at which it begins."""
        if index >= self.bins:
            return trailing_label(self, index)
        return f"{float(Fraction(self.low) + (Fraction(self.high) - Fraction(self.low)) * index / STEPS):.12g}"

    def encode(self, value: object, *, strict: bool) -> int:
        """Member of a number; see the package's text for what anything else becomes."""
        exact = exact_number(value)
        number = None if exact is None else _nearest_double(exact)
        if number is None and not strict:
            number = written_number(value)
        if number is None:
            return self.bins if self.missing and not strict else unlisted(self, value, strict)
        if strict and not self.low <= number <= self.high:
            raise OutsideDomain(
                f"attribute {self.name!r} holds numbers from {self.low!r} to {self.high!r}, not {value!r}",
                value,
                self.name,
            )
        if number <= self.low:
            return 0
        if number >= self.high:
            return STEPS
        return math.floor((number - self.low) / (self.high - self.low) * STEPS)


def _nearest_double(number: int | float | Fraction) -> float:
    """Infinite for what is beyond the doubles."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf
