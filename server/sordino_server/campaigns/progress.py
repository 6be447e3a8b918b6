"""How far a campaign is: devices counted and wanted, when it closes, and which error more devices would leave."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pydantic import BaseModel, Field, computed_field
from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.aggregates import counted_over_time
from sordino_server.campaigns.question import Question
from sordino_server.campaigns.round_status import RoundStatus
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.kit.times import iso_8601_or_none
from sordino_shared.protocol import CampaignState, RoundState

# Devices come in waves of a day, and minutes say little of the hours to come.
RATE_OVER_S = 3600
# A rate after the first seconds would be that of the devices that waited.
_LEAST_S = 60
# Of the curve: from a third of the fewest that matter to three times the most.
_FEWEST, _POINTS, _BEYOND = 100, 25, 3
_PARTS_OF_LOG = 200
# What takes longer than a century at this rate has no date, and some such dates have no calendar.
_LONGEST_S = 100 * 365 * 86_400
_MARGINS = (0.05, 0.03, 0.02, 0.01)


class ErrorPoint(BaseModel):
    """What so many devices leave of the error of the worst answer, by a formula of the plan."""

    devices: int
    rmse: float = Field(description="Root mean squared error.")
    band: float = Field(description="Half of the width of the band over all answers, at most, in 19 of 20 results.")


class DevicesFor(BaseModel):
    """How many devices a band takes that is ± `margin` of the scale of an answer, which is 1 for shares."""

    margin: float
    devices: int


class CampaignProgress(BaseModel):
    """How far a campaign is; of several rounds the one that is open, of a series the period that runs."""

    campaign_id: str
    state: CampaignState
    devices: int = Field(description="Devices counted: of a series in its newest period that has any.")
    wanted: int | None = Field(description="Devices after which it closes, or that its plan was made for.")
    rate: float | None = Field(
        description="Reports a second over the last hour, or since it opened; null in the first minute."
    )
    closes_at: int | None = Field(description="When its time is over, in Unix seconds; null where no time closes it.")
    closes_about: int | None = Field(
        description="When it closes at this rate, or by its time if that is earlier; null where nothing tells."
    )
    band_now: float | None = Field(description="Half of the width of the band, if it closed now.")
    band_wanted: float | None = Field(description="The same with the number wanted.")
    scale: float | None = Field(description="Of means of numbers: the range that errors are of; null for shares.")
    unit: str | None = Field(description="Unit of errors of means; null for shares.")
    curve: list[ErrorPoint] = Field(description="Errors by the number of devices; empty where none can be told.")
    devices_for: list[DevicesFor] = Field(description="Devices for a band of ± 5, 3, 2 and 1 % of the scale.")

    @property
    def is_open(self) -> bool:
        """Whether devices may answer."""
        return self.state is CampaignState.OPEN

    @computed_field
    def closes(self) -> str | None:
        return iso_8601_or_none(self.closes_about)


def progress_of(status: CampaignStatus, rate: float | None, now: int) -> CampaignProgress:
    """How far the campaign is `now`, by its counts and its rate in reports a second.

    The error of an experiment's answers is no error of the difference of its arms: nothing is said of it.
    """
    question, predicted = None if status.arms else status.question, status.predicted
    devices = sum(each.users for each in status.rounds) if predicted is None else predicted.users_now
    wanted = None if predicted is None else predicted.users_wanted
    at, about = closing(status, rate, now)
    return CampaignProgress(
        campaign_id=status.id,
        state=status.state,
        devices=devices,
        wanted=wanted,
        rate=rate,
        closes_at=at,
        closes_about=about,
        band_now=None if question is None else question.band(devices),
        band_wanted=None if question is None or wanted is None else question.band(wanted),
        scale=None if question is None else question.scale,
        unit=None if question is None else question.unit,
        curve=[] if question is None else list(error_curve(question, devices, wanted)),
        devices_for=[] if question is None else list(_devices_for(question)),
    )


def closing(status: CampaignStatus, rate: float | None, now: int) -> tuple[int | None, int | None]:
    """When the open round closes by its time, and when at that rate; of a series the end of its period for both."""
    if status.state is not CampaignState.OPEN:
        return None, None
    if status.series is not None:
        end = status.series.start + (status.series.period + 1) * status.series.period_s
        return end, end
    open_round = next((each for each in status.rounds if each.state is RoundState.OPEN), None)
    if open_round is None:
        return None, None
    at = _by_time(open_round)
    return at, min((each for each in (at, _by_count(open_round, rate, now)) if each is not None), default=None)


def _by_time(each: RoundStatus) -> int | None:
    return None if each.close_after_s is None or each.opened_at is None else each.opened_at + each.close_after_s


def _by_count(each: RoundStatus, rate: float | None, now: int) -> int | None:
    if each.close_after_reports is None or not rate:
        return None
    left = max(0, each.close_after_reports - each.reports) / rate
    return now + math.ceil(left) if left < _LONGEST_S else None


def error_curve(question: Question, devices: int, wanted: int | None) -> Iterator[ErrorPoint]:
    """Numbers of devices an equal ratio apart, around what was counted and is wanted; none for a pairwise statistic."""
    known = [each for each in (devices, wanted) if each]
    low = max(1, min([*known, _FEWEST * _BEYOND]) // _BEYOND)
    high = _BEYOND * max([*known, _FEWEST])
    for number in sorted({round(low * (high / low) ** (part / (_POINTS - 1))) for part in range(_POINTS)}):
        rmse, band = question.rmse(number), question.band(number)
        if rmse is not None and band is not None:
            yield ErrorPoint(devices=number, rmse=rmse, band=band)


def _devices_for(question: Question) -> Iterator[DevicesFor]:
    for margin in _MARGINS:
        needed = question.devices_for(margin * (question.scale or 1.0))
        if needed is not None:
            yield DevicesFor(margin=margin, devices=needed)


def recent_rate(steps: Sequence[tuple[int, int]], opened_at: int, now: int) -> float | None:
    """Reports a second over the last hour, or since the round opened; None in its first minute.

    `steps` are times with the reports counted until then, in order.
    """
    begin = max(opened_at, now - RATE_OVER_S)
    if now - begin < _LEAST_S or not steps:
        return None
    # What came in the second in which it opened counts.
    earlier = [count for moment, count in steps if moment <= begin] if begin > opened_at else []
    before = max(earlier, default=0)
    return (steps[-1][1] - before) / (now - begin)


def rate_of(session: Session, status: CampaignStatus, now: int) -> float | None:
    """The rate of the round that is open; None where none is, and of a series, whose time alone closes its periods."""
    if status.series is not None:
        return None
    known = [row for row in rounds.of_campaign(session, status.id) if row.state == RoundState.OPEN]
    if not known or known[-1].opened_at is None:
        return None
    return recent_rate(counted_over_time(session, known[-1].id, _PARTS_OF_LOG), known[-1].opened_at, now)
