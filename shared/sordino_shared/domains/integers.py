"""Whole numbers from a lowest to a highest, which need no list."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import ClassVar

from sordino_shared._checks import check_name, check_range
from sordino_shared._records import KW_ONLY, dataclass
from sordino_shared.domains.members import trailing_label, unlisted
from sordino_shared.domains.numbers import BLANKS, exact_number, written_number
from sordino_shared.domains.ordinal import check_unit
from sordino_shared.errors import InvalidValue, OutsideDomain

MAX_INTEGERS = 1 << 62
_WORD = 1 << 63
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True)
class Integers:
    """The whole numbers low, low + 1, …, high, in order.

    Where a value is no whole number, the next whole number above it counts, so that the share at or below each of them
    is exact. What is out of range is `other` where there is one, else the nearest of low and high. Where `strict`, both
    raise `OutsideDomain`. `missing` and `other` follow and are not ordered. `unit` is for people.
    """

    kind: ClassVar[str] = "integers"
    name: str
    low: int
    high: int
    _: KW_ONLY
    unit: str = ""
    missing: bool = False
    other: bool = False

    def __post_init__(self) -> None:
        check_name(self.name, "attribute name")
        check_range(self.low, -_WORD, _WORD - 1, f"lowest integer of attribute {self.name!r}")
        check_range(self.high, -_WORD, _WORD - 1, f"highest integer of attribute {self.name!r}")
        if self.high < self.low:
            raise InvalidValue(f"attribute {self.name!r} has no members from {self.low} to {self.high}", self.name)
        if self.bins > MAX_INTEGERS:
            raise InvalidValue(
                f"attribute {self.name!r} has {self.bins} integers, at most 2^62 can be told apart: narrow its range, "
                "or pass them as text to a `hashed` attribute",
                self.name,
            )
        check_unit(self.unit)

    @property
    def bins(self) -> int:
        """Number of ordered members."""
        return self.high - self.low + 1

    @property
    def size(self) -> int:
        return self.bins + self.missing + self.other

    @property
    def listed(self) -> int:
        """Number of members before `missing` and `other`."""
        return self.bins

    @property
    def entries(self) -> int:
        """How many labels or edges a document holds for the attribute."""
        return 1

    def label(self, index: int) -> str:
        """What a person reads for a member."""
        return str(self.low + index) if index < self.bins else trailing_label(self, index)

    def cut(self, index: int) -> str:
        """The number that bin `index` ends at, as text."""
        return str(self.low + index)

    def encode(self, value: object, *, strict: bool) -> int:
        """Place of a number; see the package's text for what anything else becomes."""
        number = exact_number(value)
        if number is None and not strict:
            number = _written(value)
        if number is None:
            return self.bins if self.missing and not strict else unlisted(self, value, strict)
        whole = _ceiling(number, self.low - 1, self.high + 1)
        if strict and not (self.low <= whole <= self.high and whole == number):
            raise OutsideDomain(
                f"attribute {self.name!r} holds whole numbers from {self.low} to {self.high}, not {value!r}",
                value,
                self.name,
            )
        if self.other and not self.low <= whole <= self.high:
            return self.bins + self.missing
        return min(max(whole, self.low), self.high) - self.low


def _ceiling(number: float | Fraction, low: int, high: int) -> int:
    """⌈number⌉ between `low` and `high`."""
    if number <= low:
        return low
    return high if number > high else math.ceil(number)


def _written(value: object) -> int | float | None:
    """A number written in ASCII: up to 19 digits exactly, else the nearest double; None for other text."""
    if isinstance(value, str) and _WHOLE.fullmatch(text := value.strip(BLANKS)):
        return int(text)
    return written_number(value)
