"""The plan of a question for common strings in numbers: which share is found, and how sure a share is."""

from __future__ import annotations

import math

from pydantic import Field

from sordino_analysis.documents.base_summary import BaseSummary
from sordino_analysis.documents.string_queries import reports_alone, users_among
from sordino_analysis.documents.summary_parts import BlanketSummary, PartDigests, is_none
from sordino_analysis.percentages import percent

# Half of the width of an interval of 95 %, in standard errors.
_TWO_SIDED = 1.96
# Of an interval that has about a fortieth of half of the error, as those of a list have.
_OF_LIST = 3.23
# For whom a plan says what it finds where nobody says how many there are.
_A_MILLION = 10**6


class StringsSummary(BaseSummary):
    """Which strings a plan finds, and how sure it is of their shares."""

    workload: str
    attribute: str = Field(description="Name of the text.")
    depth: int = Field(description="Bits of the code that are collected.")
    widths: tuple[int, ...] = Field(description="Bits of each level.")
    beam: int = Field(description="Paths that each level keeps.")
    error: float = Field(description="Of the list and of all intervals together.")
    epsilon: float
    mechanism: str
    label_bits: int
    report_variance: float = Field(description="V, of one report about a string that its device does not hold.")
    held_out: float = Field(description="Share of the devices whose reports certify and count.")
    found_units: float = Field(description="The share that is found with 90 %, in units of √(V/users).")
    report_bytes: int
    users: int | None = Field(None, exclude_if=is_none)
    found: float | None = Field(
        None, exclude_if=is_none, description="The share that is listed with 90 % by so many users."
    )
    watched: int = Field(0, description="Strings that are candidates without a search.")
    found_watched_units: float | None = Field(
        None, exclude_if=is_none, description="The share of a watched string that is certified with 90 %, in the same."
    )
    least_share: float | None = Field(
        None, description="Rarer strings are not shown; null: rarer than half of the share that is listed with 90 %."
    )
    blanket: BlanketSummary | None = Field(
        None, exclude_if=is_none, description="Of a plan for a shuffler: the random reports it adds."
    )
    direct_variance: float | None = Field(
        None, exclude_if=is_none, description="V of a report at the blanket's ε, where no shuffler is trusted."
    )
    device_bytes: int
    device_memory: int = Field(description="Bytes that a device needs to verify its part.")
    analyst_bytes: int
    digests: PartDigests
    seconds: float

    def share_found(self, users: int) -> float:
        """The share of the devices from which on strings are listed with 90 %; at most 1."""
        return self._share_of(self.found_units, users)

    def share_certified(self, users: int) -> float | None:
        """The share of a watched string that is certified with 90 %; at most 1, and None where none is watched."""
        return None if self.found_watched_units is None else self._share_of(self.found_watched_units, users)

    def _share_of(self, units: float, users: int) -> float:
        return min(1.0, units * math.sqrt(self.report_variance / reports_alone(users, self._random)))

    @property
    def shown(self) -> str:
        """Which strings people see, in words."""
        return shown_from(self.least_share)

    def users_for(self, share: float) -> int:
        """Users with whom strings of that share are listed with 90 %."""
        alone = self.report_variance * (self.found_units / share) ** 2
        return max(1, math.ceil(users_among(alone, self._random)))

    def users_without(self, users: int) -> int | None:
        """Users who find as much without a shuffler, at its ε of a device; None of a plan that has no shuffler."""
        if self.direct_variance is None:
            return None
        return max(1, math.ceil(self.direct_variance * (self.found_units / self.share_found(users)) ** 2))

    def share_error(self, users: int) -> float:
        """Standard error of the share of a rare string."""
        return math.sqrt(self.report_variance / (reports_alone(users, self._random) * self.held_out))

    @property
    def _random(self) -> int:
        return 0 if self.blanket is None else self.blanket.reports

    @property
    def strings(self) -> StringsSummary:
        """This one."""
        return self

    @property
    def cut_short(self) -> None:
        """None: nothing is searched."""

    @property
    def variance(self) -> float:
        """Of one user about a string that few hold."""
        return self.report_variance / self.held_out

    @property
    def ratio(self) -> None:
        """None: there is no lower bound for a search."""

    @property
    def answer_variance(self) -> float:
        """Of a rare string's share, for each user."""
        return self.variance

    @property
    def quality(self) -> str:
        """The share that a million users find."""
        return f"a million devices find strings that {percent(self.share_found(_A_MILLION), 2)} of them hold"

    def forecast(self, users: int) -> str:
        """The share that so many find, and how sure they are of it."""
        one = percent(_TWO_SIDED * self.share_error(users), 2)
        every = percent(_OF_LIST * self.share_error(users), 2)
        certified = self.share_certified(users)
        watched = "" if certified is None else f"; certified: watched strings of {percent(certified, 2)}"
        return (
            f"found with 90 %: strings that {percent(self.share_found(users), 2)} of the devices hold or more "
            f"({self.depth} bits of code){watched}; error of a share: ± {one} at 95 %, about ± {every} of all listed "
            "at once"
        )


def shown_from(least_share: float | None) -> str:
    """Which strings people see, in words."""
    if least_share is None:
        return "strings of half of the share that is listed with 90 %, or more"
    return f"strings of {percent(least_share)} or more" if least_share else "all certified strings"
