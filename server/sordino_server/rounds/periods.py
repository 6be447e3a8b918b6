"""Periods of series: which take reports by the server's clock, rounds made by the first report, and their end.

A period is closed at the end of its acceptance and for all times: where the clock is set back, `closed_periods` keeps
it closed. A period that nobody answered has no round.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy.orm import Session

from sordino_server import aggregates
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import Campaign, Round, SeriesPause, SeriesRow
from sordino_server.rounds import repository
from sordino_server.rounds.round_lifecycle import NoteClosing, cancel_round, close_round, lock_campaign, no_note
from sordino_shared.protocol import CampaignState, Manifest, Problem, Rotating, RoundState, ValueOf
from sordino_shared.protocol.routes import ShuffledRoute
from sordino_shared.quantities import quantity

# Rounds that are made at once after a server was away; a shuffler remembers as many passed periods.
_MOST_AWAITED = 1000


def row_of(manifest: Manifest, series: Rotating) -> SeriesRow:
    """What is kept of a series beside its manifest."""
    return SeriesRow(
        campaign_id=str(manifest.campaign),
        start=series.start,
        period_s=series.period_s,
        slots=series.slots,
        answers_max=series.answers_max,
        lag=int(series.value_of is ValueOf.PREVIOUS),
        late_s=series.late_s,
        nano=manifest.rounds[0].guarantee.nano,
        closed_periods=0,
    )


def find_series(session: Session, campaign: str) -> SeriesRow | None:
    """The series of a campaign; None where it is none."""
    return repository.find_series(session, campaign)


def is_paused(session: Session, campaign: str) -> bool:
    """Whether the series takes no reports until it is resumed."""
    return repository.pause_of(session, campaign) is not None


def pauses(session: Session, campaign: str) -> Sequence[SeriesPause]:
    """All pauses in order."""
    return repository.pauses(session, campaign)


def pause(session: Session, campaign: Campaign, now: int) -> None:
    """Take no reports until `resume`; raises `illegal-transition` where it is not an open series that takes some."""
    _check_open(session, campaign)
    if is_paused(session, campaign.id):
        raise ServerError(Problem.ILLEGAL_TRANSITION, "the series is paused already", state="paused")
    session.add(SeriesPause(campaign_id=campaign.id, paused_at=now))


def resume(session: Session, campaign: Campaign, now: int) -> None:
    """Take reports again; raises `illegal-transition` where it is not a paused series."""
    _check_open(session, campaign)
    row = repository.pause_of(session, campaign.id)
    if row is None:
        raise ServerError(Problem.ILLEGAL_TRANSITION, "the series is not paused", state=campaign.state)
    row.resumed_at = max(now, row.paused_at)


def missing_batch(
    manifest: Manifest,
    row: SeriesRow,
    opened_at: int | None,
    now: int,
    breaks: Sequence[SeriesPause] = (),
    *,
    closed: bool = False,
) -> bool:
    """Whether a shuffler owes the first batch of a series of which nothing has come.

    That of the first period since the series was opened that was not paused from beginning to end is due once its
    reports count no longer. A series that is `closed` has none where it was closed before that period began.
    """
    law = manifest.assignment
    if not isinstance(law, Rotating) or opened_at is None:
        return False
    first = max(0, (opened_at - row.start) // row.period_s - row.lag)
    # Each pause covers periods in a row, so the search ends where none covers the next one, or at one still to come.
    while now >= law.accepted_until(first) and _paused_throughout(law, first, breaks):
        first += 1
    begun = not closed or first < row.closed_periods
    return begun and now >= law.accepted_until(first)


def open_period(session: Session, manifest: Manifest, series: Rotating, number: int, now: int) -> None:
    """Make the round of a period of which something has come, unless it is there or another process just makes it."""
    plan = manifest.rounds[0].plan
    assert plan is not None
    shuffled = isinstance(manifest.route, ShuffledRoute)
    row = Round(
        campaign_id=str(manifest.campaign),
        index=number,
        state=RoundState.OPEN,
        device_digest=str(plan.device),
        analyst_digest=str(plan.analyst),
        epoch=0 if shuffled else series.epoch(number),
        shuffled=shuffled,
        opened_at=min(now, series.accepted_from(number)) if shuffled else now,
    )
    repository.add_unless_there(session, row)


def take_period(session: Session, manifest: Manifest, series: Rotating, number: int, now: int) -> None:
    """Make the round of a period whose batch has come, closed where nobody else would close it.

    Raises `round-not-open` before the series was opened or the period has begun, and `illegal-transition` where the
    series was cancelled, or closed before the period began.
    """
    campaign = lock_campaign(session, str(manifest.campaign))
    if campaign.state == CampaignState.READY or now < series.accepted_from(number):
        raise ServerError(Problem.ROUND_NOT_OPEN, f"period {number} has not begun", state=campaign.state)
    if campaign.state == CampaignState.CANCELLED:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION, "the series was cancelled: delete its batches", state=campaign.state
        )
    kept = repository.find_series(session, campaign.id)
    if campaign.state == CampaignState.CLOSED and kept is not None and number >= kept.closed_periods:
        raise ServerError(
            Problem.ILLEGAL_TRANSITION,
            f"the series was closed after {quantity(kept.closed_periods, 'period')}, before period {number} began: "
            "delete this batch",
            state=campaign.state,
        )
    open_period(session, manifest, series, number, now)
    row = repository.find(session, campaign.id, number)
    if campaign.state == CampaignState.CLOSED and row is not None and row.state == RoundState.OPEN:
        row.state, row.closed_at = RoundState.CLOSED, now


def close_due_periods(database: Database, now: int, note: NoteClosing = no_note) -> list[repository.RoundName]:
    """Close the periods of open series whose acceptance is over, in order; safe to do twice, and by two at once.

    `note` is called in the transaction of each.
    """
    with database.read("find due series") as session:
        due = repository.due_series(session, now)
    closed: list[repository.RoundName] = []
    for campaign in due:
        numbers = database.run("close due periods", partial(_close_due, database, campaign, now, note))
        closed += [(campaign, number) for number in numbers]
    return closed


def end_series(database: Database, session: Session, series: SeriesRow, now: int) -> None:
    """Close every period that has begun, of a locked series that ends."""
    begun = (now - series.start) // series.period_s - series.lag + 1
    _make_awaited(session, lock_campaign(session, series.campaign_id), series, begun, now)
    _close_before(database, session, series, max(begun, series.closed_periods), now)


def _close_due(database: Database, identifier: str, now: int, note: NoteClosing, session: Session) -> list[int]:
    campaign = lock_campaign(session, identifier)
    if campaign.state != CampaignState.OPEN:
        return []
    series = repository.find_series(session, identifier)
    assert series is not None
    over = (now - series.late_s - series.start) // series.period_s - series.lag
    _make_awaited(session, campaign, series, over, now)
    closed = _close_before(database, session, series, max(over, series.closed_periods), now)
    for number in closed:
        note(session, identifier, number, now)
    return closed


def _close_before(database: Database, session: Session, series: SeriesRow, end: int, now: int) -> list[int]:
    """Close the open rounds before period `end`; nothing comes of those whose reports were all refused."""
    numbers = list(repository.open_before(session, series.campaign_id, end))
    for number in numbers:
        row = close_round(database, session, series.campaign_id, number, now)
        # Reports behind a shuffler are counted when their batch is opened, after the round was closed.
        if not row.shuffled and not aggregates.counts_by_round(session, [row.id])[row.id]:
            cancel_round(database, session, series.campaign_id, number, now)
    series.closed_periods = max(series.closed_periods, end)
    return numbers


def _make_awaited(session: Session, campaign: Campaign, series: SeriesRow, end: int, now: int) -> None:
    """Make the rounds before period `end` whose batches a shuffler owes: of every period from its first batch on.

    Of a period in which the series was paused from beginning to end it need not send one.
    """
    manifest = Manifest.read(campaign.manifest)
    if not isinstance(manifest.route, ShuffledRoute) or not isinstance(manifest.assignment, Rotating):
        return
    first = repository.first_number(session, campaign.id)
    if first is None:
        return
    law, breaks = manifest.assignment, pauses(session, campaign.id)
    for number in range(max(first, series.closed_periods, end - _MOST_AWAITED), end):
        if not _paused_throughout(law, number, breaks):
            open_period(session, manifest, law, number, now)


def _paused_throughout(law: Rotating, number: int, breaks: Sequence[SeriesPause]) -> bool:
    """Whether one pause covers all the time in which a period takes reports."""
    begins, ends = law.accepted_from(number), law.accepted_until(number)
    return any(each.paused_at <= begins and (each.resumed_at or ends) >= ends for each in breaks)


def _check_open(session: Session, campaign: Campaign) -> None:
    if find_series(session, campaign.id) is None:
        raise ServerError(Problem.ILLEGAL_TRANSITION, "only a series can be paused and resumed", state=campaign.state)
    if campaign.state != CampaignState.OPEN:
        raise ServerError(Problem.ILLEGAL_TRANSITION, f"the series is {campaign.state}, not open", state=campaign.state)
