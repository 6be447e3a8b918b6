"""Some closed periods of a series as one of two sides that are compared: `CAMPAIGN@FIRST-LAST`."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.answers.series import SeriesQuestion, asked_periods
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Problem

MARK = "@"


@dataclass(frozen=True, kw_only=True)
class ComparedWindow:
    """The periods `first` … `last` of a series, none of which is open at the time `now`."""

    name: str
    campaign: str
    first: int
    last: int
    now: int

    @property
    def shown_name(self) -> str:
        """The name of the campaign with the periods."""
        return f"{self.name} {self.first}" if self.first == self.last else f"{self.name} {self.first}–{self.last}"

    @property
    def is_arm(self) -> bool:
        """Never: a series has no arms."""
        return False

    def question(self, level: float) -> SeriesQuestion:
        """What is asked of the series."""
        return SeriesQuestion(
            first=self.first, last=self.last, window=self.last - self.first + 1, by="reports", trend=False, level=level
        )


def compared_window(session: Session, given: str, now: int) -> ComparedWindow:
    """The window of `CAMPAIGN@FIRST-LAST` or `CAMPAIGN@PERIOD`.

    Raises ServerError for a campaign that is no series and for periods that are open or have not begun, InvalidValue
    for a window that ends before it begins.
    """
    campaign, _, periods = given.partition(MARK)
    first, _, last = periods.partition("-")
    row = campaigns.get(session, campaign)
    window = ComparedWindow(name=row.name, campaign=campaign, first=int(first), last=int(last or first), now=now)
    if window.last < window.first:
        raise ServerError(Problem.INVALID_REQUEST, f"a window of periods cannot end before it begins, got {periods}")
    asked = asked_periods(session, campaign, window.question(0.95), now)
    if (asked.first, asked.last) != (window.first, window.last):
        raise ServerError(
            Problem.ESTIMATE_NOT_READY,
            f"periods {window.first} to {window.last} are not all there: the series has {asked.first} to {asked.last}",
            state="open",
        )
    still_open = [number for number, state in asked.states.items() if state == "open"]
    if still_open:
        raise ServerError(
            Problem.ESTIMATE_NOT_READY, f"period {still_open[0]} is open: compare closed periods", state="open"
        )
    return window


def check_apart(left: ComparedWindow, right: ComparedWindow) -> None:
    """Raise InvalidValue for two windows of one series that share periods."""
    first, last = max(left.first, right.first), min(left.last, right.last)
    if left.campaign == right.campaign and first <= last:
        raise InvalidValue(
            f"/query/right: both windows have period {first}: compare windows without a common period, or read the "
            f"changes of /v1/campaigns/{left.campaign}/series",
            right,
        )
