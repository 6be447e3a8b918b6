"""Estimates of a series: what is asked of it, and which of its periods that is about, without reading any report.

`series_computing` computes them, in the process that keeps what it decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.orm import Session

from sordino_analysis.kinds.series import PeriodState
from sordino_server.answers import repository
from sordino_server.answers.stored import check_not_cancelled
from sordino_server.campaigns import service as campaigns
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.models import BatchState, Campaign, SeriesPause, SeriesRow
from sordino_server.rounds import periods
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import CampaignState, Manifest, Problem, RoundState

MOST_SHOWN = 1000
DEFAULT_SHOWN = 60


@dataclass(frozen=True, kw_only=True)
class SeriesQuestion:
    """Periods `first` … `last`, windows of `window` of them weighted by `by`, and whether a trend is asked for."""

    first: int | None
    last: int | None
    window: int
    by: Literal["reports", "periods"]
    trend: bool
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class PeriodsOfAnswer:
    """The periods of an answer: their states, and row numbers of those whose counts are final.

    `blanket` of the reports of each are random ones of a shuffler.
    """

    row: SeriesRow
    first: int
    last: int
    states: dict[int, PeriodState]
    closed: dict[int, int]
    open: dict[int, int]
    blanket: int


def series_of(session: Session, campaign: Campaign) -> SeriesRow:
    """The series of a campaign; raises InvalidValue where it is none."""
    row = periods.find_series(session, campaign.id)
    if row is None:
        raise ServerError(
            Problem.INVALID_REQUEST,
            f"campaign {campaign.id} is no series; its estimates are at /v1/campaigns/{campaign.id}/estimates",
        )
    return row


def asked_periods(session: Session, identifier: str, question: SeriesQuestion, now: int) -> PeriodsOfAnswer:
    """The periods that the question is about; raises `not-found`, `estimate-not-ready` for a cancelled series, and
    InvalidValue for a range that is too long.
    """
    campaign = campaigns.get(session, identifier)
    row = series_of(session, campaign)
    check_not_cancelled(session, identifier)
    earliest, latest = _begun(campaign, row, now)
    last = latest if question.last is None else min(question.last, latest)
    first = max(earliest, last - DEFAULT_SHOWN + 1) if question.first is None else max(question.first, earliest)
    if last - first + 1 > MOST_SHOWN:
        raise InvalidValue(
            f"/query/from: at most {MOST_SHOWN} periods are shown at once, not {last - first + 1}", first
        )
    known = repository.periods_between(session, identifier, first, last)
    blanket = Manifest.read(campaign.manifest).blanket
    # A closed period behind a shuffler is counted page by page while its batch is opened.
    final_states = (RoundState.ESTIMATED,) if blanket else (RoundState.CLOSED, RoundState.ESTIMATED)
    final = {each.number: each.id for each in known if each.state in final_states}
    return PeriodsOfAnswer(
        row=row,
        first=first,
        last=last,
        states=_states(campaign, row, (first, last), known, periods.pauses(session, identifier)),
        closed=final,
        open={each.number: each.id for each in known if each.state == RoundState.OPEN},
        blanket=blanket,
    )


def _begun(campaign: Campaign, row: SeriesRow, now: int) -> tuple[int, int]:
    """The first period that took reports after the series opened, and the last one that took any so far."""
    if campaign.opened_at is None:
        return 0, -1
    until = now if campaign.closed_at is None else min(now, campaign.closed_at)
    latest = (until - row.start) // row.period_s - row.lag
    over = (campaign.opened_at - row.late_s - row.start) // row.period_s - row.lag
    return max(over, 0), latest


def _states(
    campaign: Campaign,
    row: SeriesRow,
    shown: tuple[int, int],
    known: Sequence[repository.PeriodRow],
    paused: Sequence[SeriesPause],
) -> dict[int, PeriodState]:
    states = {each.number: _state(each) for each in known}
    running = campaign.state == CampaignState.OPEN
    for number in range(shown[0], shown[1] + 1):
        if states.get(number, "missing") == "missing":
            still_open = running and number >= row.closed_periods
            states[number] = "open" if still_open else "paused" if _was_paused(row, number, paused) else "missing"
    return states


def _state(row: repository.PeriodRow) -> PeriodState:
    if row.batch in (BatchState.WITHHELD, BatchState.UNREADABLE):
        return "withheld" if row.batch == BatchState.WITHHELD else "unreadable"
    if row.failed:
        return "failed"
    known: dict[str, PeriodState] = {
        RoundState.OPEN: "open",
        RoundState.CLOSED: "closed",
        RoundState.ESTIMATED: "estimated",
    }
    return known.get(row.state, "missing")


def _was_paused(row: SeriesRow, number: int, paused: Sequence[SeriesPause]) -> bool:
    """Whether the series was paused at a time when it would have taken reports of the period."""
    begins = row.start + (number + row.lag) * row.period_s
    ends = begins + row.period_s + row.late_s
    return any(each.paused_at < ends and (each.resumed_at is None or each.resumed_at > begins) for each in paused)


async def series_document(context: Context, campaign: str, question: SeriesQuestion) -> bytes:
    """The document of the answer; raises as `asked_periods` does."""
    url = context.database.url.render_as_string(hide_password=False)
    return await context.answers.run(_compute, url, campaign, question, context.clock.now())


def _compute(url: str, campaign: str, question: SeriesQuestion, now: int) -> bytes:
    # Imported here since the process that answers requests imports this module, and must not hold the estimators.
    from sordino_server.answers.series_computing import compute_series

    return compute_series(url, campaign, question, now)
