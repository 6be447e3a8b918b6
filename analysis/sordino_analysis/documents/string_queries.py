"""Queries and decoder of a plan that finds common strings, as the analyst part publishes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import check_range, set_finite_floats
from sordino_shared.errors import InvalidValue

# A beam of so many takes some minutes and a gigabyte for a million reports at the largest ε.
MAX_BEAM = 10_000
# Beyond these an error is no statement, or nothing is certified.
LEAST_ERROR, MOST_ERROR = 0.001, 0.5
# Of so many periods of a series together all changes hold: half a year of weeks.
PERIODS_AT_ONCE = 26


@dataclass(frozen=True)
class StringQueries:
    """The common strings of a text: paths that are kept on each level, and the error of the list and the intervals."""

    kind: ClassVar[str] = "strings"
    beam: int
    error: float

    def __post_init__(self) -> None:
        check_range(self.beam, 1, MAX_BEAM, "beam")
        set_finite_floats(self, "error")
        if not LEAST_ERROR <= self.error <= MOST_ERROR:
            raise InvalidValue(f"the error is from {LEAST_ERROR} to {MOST_ERROR}, not {self.error}", self.error)


@dataclass(frozen=True, kw_only=True)
class StringsDecoder:
    """Paths are followed level by level, and candidates certified by the level of the text itself.

    `variance` is V of one report about a string that its device does not hold, `held_out` p_W. In units of √(V/n),
    `found` is the share that is found and certified with 90 %, and `sought` the one that paths are scored for.
    """

    kind: ClassVar[str] = "prefix_paths"
    variance: float
    held_out: float
    found: float
    sought: float

    def __post_init__(self) -> None:
        set_finite_floats(self, "variance", "held_out", "found", "sought")
        if not (0 < self.held_out < 1 and min(self.variance, self.found, self.sought) > 0):
            raise InvalidValue("figures of a plan for strings are above 0, and the held-out share is below 1", self)

    def share_found(self, users: float) -> float:
        """The share of the devices from which on a string is listed with 90 % by so many users; at most 1."""
        return min(1.0, self.found * math.sqrt(self.variance / users))

    def users_for(self, share: float) -> int:
        """Users with whom a string of that share is listed with 90 %."""
        return max(1, math.ceil(self.variance * (self.found / share) ** 2))

    def share_error(self, users: float) -> float:
        """Standard error of the share of a rare string."""
        return math.sqrt(self.variance / (users * self.held_out))
