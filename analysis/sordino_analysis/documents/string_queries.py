"""Queries and decoder of a plan that finds common strings, as the analyst part publishes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from sordino_shared._checks import check_range, set_finite_floats
from sordino_shared.domains.strings import MAX_DEPTH
from sordino_shared.errors import InvalidValue

# A beam of so many takes some minutes and a gigabyte for a million reports at the largest ε.
MAX_BEAM = 10_000
# Beyond these an error is no statement, or nothing is certified.
LEAST_ERROR, MOST_ERROR = 0.001, 0.5
# Texts that a workload names beforehand, and the bytes of the longest one.
MAX_WATCHED, MAX_TEXT_BYTES = 1000, 64 << 10
# Of the error, where strings are watched: they share it alike, and what is found has the rest.
WATCHED_SHARE = 0.5
# A string of half of the devices needs no search.
MOST_LEAST_SHARE = 0.5
# Of so many periods of a series together all changes hold: half a year of weeks.
PERIODS_AT_ONCE = 26


def reports_alone(users: float, random: int) -> float:
    """n²/(n + m): reports that tell as much as those of n `users` among m `random` ones of a shuffler."""
    return users**2 / (users + random)


def users_among(alone: float, random: int) -> float:
    """The n for which `reports_alone` is so many."""
    return (alone + math.sqrt(alone**2 + 4 * alone * random)) / 2


@dataclass(frozen=True)
class StringQueries:
    """The common strings of a text: paths that are kept on each level, and the error of the list and the intervals.

    `watched` are candidates that no search has to find: the bits of their codes, the last byte filled with zeros. Rarer
    strings than `least_share` are not shown; None stands for half of the share that is listed with 90 %.
    """

    kind: ClassVar[str] = "strings"
    beam: int
    error: float
    watched: tuple[bytes, ...] = ()
    least_share: float | None = None

    def __post_init__(self) -> None:
        check_range(self.beam, 1, MAX_BEAM, "beam")
        set_finite_floats(self, "error")
        if not LEAST_ERROR <= self.error <= MOST_ERROR:
            raise InvalidValue(f"the error is from {LEAST_ERROR} to {MOST_ERROR}, not {self.error}", self.error)
        check_range(len(self.watched), 0, MAX_WATCHED, "number of watched strings")
        for code in self.watched:
            check_range(len(code), 1, MAX_DEPTH // 8, "length of the code of a watched string")
        if len(set(self.watched)) < len(self.watched):
            raise InvalidValue("a string is watched once", len(self.watched))
        if self.least_share is not None:
            set_finite_floats(self, "least_share")
            if not 0 <= self.least_share <= MOST_LEAST_SHARE:
                raise InvalidValue(
                    f"the least share that is shown is from 0 to {MOST_LEAST_SHARE}, not {self.least_share}",
                    self.least_share,
                )

    def shown_from(self, found: float) -> float:
        """The share from which on strings are shown, where one of the share `found` is listed with 90 %."""
        return found / 2 if self.least_share is None else self.least_share


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

    def share_found(self, users: int, random: int = 0) -> float:
        """The share of the devices from which on a string is listed with 90 % by so many users; at most 1.

        Here and below `random` is how many random reports of a shuffler are among theirs.
        """
        return min(1.0, self.found * math.sqrt(self.variance / reports_alone(users, random)))

    def users_for(self, share: float, random: int = 0) -> int:
        """Users with whom a string of that share is listed with 90 %."""
        return max(1, math.ceil(users_among(self.variance * (self.found / share) ** 2, random)))

    def share_error(self, users: int, random: int = 0) -> float:
        """Standard error of the share of a rare string."""
        return math.sqrt(self.variance / (reports_alone(users, random) * self.held_out))
