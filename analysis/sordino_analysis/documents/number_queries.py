"""What a plan publishes of questions about numbers: the attributes, how many levels each has, and what is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import check_name, check_range, finite_float, set_finite_floats
from sordino_shared.errors import InvalidValue

# Measures, each with how many numbers it takes.
MEASURES = {
    "mean": 0,
    "sum": 0,
    "variance": 0,
    "sd": 0,
    "share_above": 1,
    "mean_within": 2,
    "quantile": 1,
    "top": 0,
    "clipped": 0,
}
# Two knots for each level still fit a device.
MAX_LEVELS = 513
# Each bin has two ends.
MAX_BINS = 256
# Each one more takes precision from the others.
MAX_MEASURES = 16
# As many as a domain has.
_MOST_ATTRIBUTES = 255


@dataclass(frozen=True)
class NumberMeasure:
    """One thing that is asked of an attribute, such as `mean`, or `share_above` the number in `at`.

    The variance of its answers counts `weight` times in the objective.
    """

    name: str
    at: tuple[float, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.name not in MEASURES:
            raise InvalidValue(f"a measure is one of {', '.join(map(repr, MEASURES))}, not {self.name!r}", self.name)
        if len(self.at) != MEASURES[self.name]:
            raise InvalidValue(f"{self.name} takes {MEASURES[self.name]} numbers, got {len(self.at)}", self.at)
        object.__setattr__(self, "at", tuple(finite_float(number, self.name) for number in self.at))
        set_finite_floats(self, "weight")
        if self.weight <= 0:
            raise InvalidValue(f"the weight of {self.name} must be above 0, got {self.weight}", self.weight)
        if self.name == "mean_within" and not self.at[0] < self.at[1]:
            raise InvalidValue(f"mean_within takes the lower number first, got {self.at[0]:g}, {self.at[1]:g}", self.at)
        if self.name == "quantile" and not 0 < self.at[0] < 1:
            raise InvalidValue(
                f"a quantile lies between 0 and 1, as 0.5 for the median, not at {self.at[0]:g}", self.at
            )


@dataclass(frozen=True)
class AskedNumber:
    """The measures of one attribute, whose numbers are rounded at random to `levels` evenly spaced ones.

    Quantiles are told between the ends of so many `bins`, 1 where none is asked for, and 0 where each member is told.
    """

    attribute: str
    levels: int
    bins: int
    measures: tuple[NumberMeasure, ...]

    def __post_init__(self) -> None:
        check_name(self.attribute, "attribute name")
        check_range(self.levels, 2, MAX_LEVELS, "number of levels")
        check_range(self.bins, 0, MAX_BINS, "number of bins")
        check_range(len(self.measures), 1, MAX_MEASURES, "number of measures")
        asked = {(measure.name, measure.at) for measure in self.measures}
        if len(asked) < len(self.measures):
            raise InvalidValue(f"the measures of {self.attribute!r} are asked once each", self.measures)
        if (self.bins == 1) == any(measure.name == "quantile" for measure in self.measures):
            raise InvalidValue(f"{self.attribute!r} has bins for its quantiles, and 1 without any", self.bins)


@dataclass(frozen=True)
class NumberQueries:
    """Measures of the numbers of some attributes, of all users and of those in each category of the others."""

    kind: ClassVar[str] = "numbers"
    asked: tuple[AskedNumber, ...]

    def __post_init__(self) -> None:
        check_range(len(self.asked), 1, _MOST_ATTRIBUTES, "number of attributes that are asked about")
        if len({each.attribute for each in self.asked}) < len(self.asked):
            raise InvalidValue("an attribute is asked about once", self.asked)
