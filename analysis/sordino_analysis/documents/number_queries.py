"""What a plan publishes of questions about numbers: the attributes, how many levels each has, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import check_name, check_range, finite_float
from sordino_shared.errors import InvalidValue

# Measures, each with how many numbers it takes.
MEASURES = {"mean": 0, "sum": 0, "variance": 0, "sd": 0, "share_above": 1}
# Two knots for each level still fit a device.
MAX_LEVELS = 513
# Each one more takes precision from the others.
MAX_MEASURES = 16
# As many as a domain has.
_MOST_ATTRIBUTES = 255


@dataclass(frozen=True)
class NumberMeasure:
    """One thing that is asked of the numbers of an attribute, such as `mean`, or `share_above` the number in `at`."""

    name: str
    at: tuple[float, ...]

    def __post_init__(self) -> None:
        if self.name not in MEASURES:
            raise InvalidValue(f"a measure is one of {', '.join(map(repr, MEASURES))}, not {self.name!r}", self.name)
        if len(self.at) != MEASURES[self.name]:
            raise InvalidValue(f"{self.name} takes {MEASURES[self.name]} numbers, got {len(self.at)}", self.at)
        object.__setattr__(self, "at", tuple(finite_float(number, self.name) for number in self.at))


@dataclass(frozen=True)
class AskedNumber:
    """The measures of one attribute, whose numbers are rounded at random to `levels` evenly spaced ones."""

    attribute: str
    levels: int
    measures: tuple[NumberMeasure, ...]

    def __post_init__(self) -> None:
        check_name(self.attribute, "attribute name")
        check_range(self.levels, 2, MAX_LEVELS, "number of levels")
        check_range(len(self.measures), 1, MAX_MEASURES, "number of measures")
        if len(set(self.measures)) < len(self.measures):
            raise InvalidValue(f"the measures of {self.attribute!r} are asked once each", self.measures)


@dataclass(frozen=True)
class NumberQueries:
    """Measures of the numbers of some attributes, of all users and of those in each category of the others."""

    kind: ClassVar[str] = "numbers"
    asked: tuple[AskedNumber, ...]

    def __post_init__(self) -> None:
        check_range(len(self.asked), 1, _MOST_ATTRIBUTES, "number of attributes that are asked about")
        if len({each.attribute for each in self.asked}) < len(self.asked):
            raise InvalidValue("an attribute is asked about once", self.asked)
