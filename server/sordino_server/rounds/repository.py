"""Rounds in the database. A round's lock is shared for adding reports, exclusive for a change of state."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, and_, exists, func, or_, select, tuple_, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from sordino_analysis.kinds.registry import kinds
from sordino_server import aggregates
from sordino_server.kit import leases
from sordino_server.kit.db import FOR_CHANGE, Database
from sordino_server.models import (
    Accumulator,
    Batch,
    BatchState,
    Campaign,
    ClosingRule,
    ExperimentRow,
    Key,
    Round,
    SeriesPause,
    SeriesRow,
    Source,
    SourceSums,
)
from sordino_shared.protocol import CampaignState, RoundState

# Names the kind of thing that is locked; any other constant of the system's own locks must differ.
_LOCK_SPACE = 0x50D1

# Random ids touch a page of the index each, and a commit writes every page that it touches. Ids of one epoch lie
# together, on so few pages that a commit adds several ids to each; and so many devices have ids with the same head.
REPORTS_PER_EPOCH = 1 << 15
EPOCHS = 1 << 16

# A source whose keys are all revoked is not waited for: nothing can come from it.
_MAY_SEND = exists().where(Key.campaign_id == Source.campaign_id, Key.source == Source.name, Key.revoked_at.is_(None))

# A shuffler has said that the batch is whole, or that there is none.
_BATCH_ENDED = exists().where(Batch.round_id == Round.id, Batch.state != BatchState.RECEIVING)

RoundName = tuple[str, int]


@dataclass(frozen=True)
class SourceOfRound:
    """A source of a round's campaign, the sums that came from it, and whether the closed round waits for them."""

    round_id: int
    name: str
    sums: SourceSums | None
    awaited: bool


def find(session: Session, campaign: str, index: int) -> Round | None:
    """The round of a campaign by its index."""
    return session.scalars(select(Round).where(Round.campaign_id == campaign, Round.index == index)).one_or_none()


def of_campaign(session: Session, campaign: str) -> Sequence[Round]:
    """All rounds of a campaign in order."""
    return session.scalars(select(Round).where(Round.campaign_id == campaign).order_by(Round.index)).all()


def is_last_told(session: Session, campaign: str, index: int) -> bool:
    """Whether lists show the estimate of round `index`: no later period has one, and no looks are made."""
    later = exists().where(Round.campaign_id == campaign, Round.index > index, Round.state == RoundState.ESTIMATED)
    looked_at = exists().where(ExperimentRow.campaign_id == campaign)
    return not session.scalar(select(or_(later, looked_at)))


def newest_estimated_before(session: Session, row: Round) -> Round | None:
    """The estimated round of the same campaign with the largest index below that of `row`."""
    earlier = (Round.campaign_id == row.campaign_id) & (Round.index < row.index)
    query = select(Round).where(earlier, Round.state == RoundState.ESTIMATED).order_by(Round.index.desc())
    return session.scalars(query.limit(1)).first()


def newest_of(
    session: Session, campaigns: Collection[str], most: int
) -> Mapping[str, Sequence[tuple[Round, ClosingRule | None]]]:
    """The newest `most` rounds of each campaign in order, each with the rule by which it closes by itself."""
    place = func.row_number().over(partition_by=Round.campaign_id, order_by=Round.index.desc())
    newest = select(Round.id, place.label("place")).where(Round.campaign_id.in_(campaigns)).subquery()
    rule = (ClosingRule.campaign_id == Round.campaign_id) & (ClosingRule.index == Round.index)
    query = select(Round, ClosingRule).join(newest, newest.c.id == Round.id).outerjoin(ClosingRule, rule)
    found: dict[str, list[tuple[Round, ClosingRule | None]]] = {campaign: [] for campaign in campaigns}
    for row, closes in session.execute(query.where(newest.c.place <= most).order_by(Round.index)):
        found[row.campaign_id].append((row, closes))
    return found


def lock_for_reports(database: Database, session: Session, names: Iterable[RoundName]) -> dict[RoundName, Round]:
    """The rounds that exist, none of which changes its state before the transaction ends."""
    wanted = tuple_(Round.campaign_id, Round.index).in_(list(names))
    # Everybody locks in the order of ids, so that nobody waits in a circle.
    query = select(Round).where(wanted).order_by(Round.id).execution_options(populate_existing=True)
    rows = session.scalars(query).all()
    if not database.is_sqlite:
        for row in rows:
            database.lock(session, _LOCK_SPACE, row.id, shared=True)
        # Read again: what was read before the locks were held may have been closed while waiting.
        rows = session.scalars(query).all()
    return {(row.campaign_id, row.index): row for row in rows}


def epochs_begun(session: Session, row: Round) -> int:
    """How many epochs the ids of the round's reports may have: one more with every `REPORTS_PER_EPOCH` counted.

    The round's own is the first; ids of every epoch that has begun are taken for as long as the round is open.
    """
    counted = aggregates.counts_by_round(session, [row.id], own=True)[row.id]
    return min(1 + counted // REPORTS_PER_EPOCH, row.epochs)


def is_full(session: Session, row: Round) -> bool:
    """Whether a further epoch would be one of the campaign's next server, so that the round takes no report more."""
    if row.epochs == EPOCHS:
        return False
    return aggregates.counts_by_round(session, [row.id], own=True)[row.id] >= row.epochs * REPORTS_PER_EPOCH


def current_epoch(session: Session, row: Round) -> int:
    """The epoch of ids that are made now."""
    return (row.epoch + epochs_begun(session, row) - 1) % EPOCHS


def lock_for_change(database: Database, session: Session, number: int) -> Round:
    """The round, after every transaction that adds reports to it has ended and before another may begin."""
    database.lock(session, _LOCK_SPACE, number)
    return session.scalars(
        select(Round)
        .where(Round.id == number)
        .with_for_update(key_share=True)
        .execution_options(populate_existing=True)
    ).one()


def find_campaign_for_change(session: Session, identifier: str) -> Campaign | None:
    """The campaign, locked against other changes of its state until the transaction ends."""
    return session.get(Campaign, identifier, with_for_update=FOR_CHANGE, populate_existing=True)


def due_rounds(session: Session, now: int) -> Sequence[RoundName]:
    """Open rounds that by their rule are to be closed."""
    counted = select(func.coalesce(func.sum(Accumulator.count), 0)).where(Accumulator.round_id == Round.id)
    rule = (ClosingRule.campaign_id == Round.campaign_id) & (ClosingRule.index == Round.index)
    over = Round.opened_at + ClosingRule.after_s <= now
    full = ClosingRule.after_reports <= counted.scalar_subquery()
    query = select(Round.campaign_id, Round.index).join(ClosingRule, rule).where(Round.state == RoundState.OPEN)
    return [(campaign, index) for campaign, index in session.execute(query.where(or_(over, full)).order_by(Round.id))]


def add_unless_there(session: Session, row: Round) -> None:
    """Insert a round, unless it is there or another transaction just inserts it, whose end is waited for."""
    if find(session, row.campaign_id, row.index) is not None:
        return
    try:
        with session.begin_nested():
            session.add(row)
    except IntegrityError:
        if find(session, row.campaign_id, row.index) is None:
            raise


def find_series(session: Session, campaign: str) -> SeriesRow | None:
    """The series of a campaign, as it is now; None where it is none."""
    return session.get(SeriesRow, campaign, populate_existing=True)


def series_of(session: Session, campaigns: Collection[str]) -> dict[str, tuple[SeriesRow, bool]]:
    """Those of the campaigns that are series, each with whether it is paused."""
    paused = exists().where(SeriesPause.campaign_id == SeriesRow.campaign_id, SeriesPause.resumed_at.is_(None))
    query = select(SeriesRow, paused).where(SeriesRow.campaign_id.in_(campaigns))
    rows = session.execute(query.execution_options(populate_existing=True))
    return {row.campaign_id: (row, is_paused) for row, is_paused in rows}


def due_series(session: Session, now: int) -> Sequence[str]:
    """Open series with a period whose acceptance is over, and that is not closed or still has an open round."""
    over = SeriesRow.start + (SeriesRow.closed_periods + 1 + SeriesRow.lag) * SeriesRow.period_s + SeriesRow.late_s
    end = SeriesRow.start + (Round.index + 1 + SeriesRow.lag) * SeriesRow.period_s + SeriesRow.late_s
    left = exists().where(Round.campaign_id == SeriesRow.campaign_id, Round.state == RoundState.OPEN, end <= now)
    query = select(SeriesRow.campaign_id).join(Campaign, Campaign.id == SeriesRow.campaign_id)
    chosen = query.where(Campaign.state == CampaignState.OPEN, or_(over <= now, left))
    return session.scalars(chosen.order_by(SeriesRow.campaign_id)).all()


def open_before(session: Session, campaign: str, end: int) -> Sequence[int]:
    """Numbers of the open rounds before `end`, in order."""
    query = select(Round.index).where(Round.campaign_id == campaign, Round.state == RoundState.OPEN, Round.index < end)
    return session.scalars(query.order_by(Round.index)).all()


def first_number(session: Session, campaign: str) -> int | None:
    """The lowest index of a round; None where there is none."""
    return session.scalar(select(func.min(Round.index)).where(Round.campaign_id == campaign))


def pauses(session: Session, campaign: str) -> Sequence[SeriesPause]:
    """All pauses of a series in order."""
    query = select(SeriesPause).where(SeriesPause.campaign_id == campaign)
    return session.scalars(query.order_by(SeriesPause.id)).all()


def pause_of(session: Session, campaign: str) -> SeriesPause | None:
    """The pause that a series is in."""
    query = select(SeriesPause).where(SeriesPause.campaign_id == campaign, SeriesPause.resumed_at.is_(None))
    return session.scalars(query).first()


def count_by_state(session: Session) -> dict[str, int]:
    """How many rounds are in each state."""
    query = select(Round.state, func.count()).group_by(Round.state)
    counted = {state: int(count) for state, count in session.execute(query)}
    return {str(state): counted.get(state, 0) for state in RoundState}


def oldest_waiting(session: Session, now: int) -> int | None:
    """When the oldest round was closed that something is to come of and that nobody works on."""
    return session.scalar(select(func.min(Round.closed_at)).where(to_go_on(now), leases.nobodys(Round, now)))


def to_go_on(now: int) -> ColumnElement[bool]:
    """Whether a round is closed and another round, or its estimate, is still to come of it, and may come now."""
    waits = _waits(now) | (Round.shuffled & ~_BATCH_ENDED) | _follows_another()
    return (Round.state == RoundState.CLOSED) & Round.error.is_(None) & ~waits


def _waits(now: int) -> ColumnElement[bool]:
    """Whether sums of a source have not come, are not waived and not late."""
    came = exists().where(SourceSums.round_id == Round.id, SourceSums.source == Source.name)
    lacking = exists().where(Source.campaign_id == Round.campaign_id, ~came, _MAY_SEND)
    return and_(Round.sources_waived_at.is_(None), lacking, _in_time(now))


def _follows_another() -> ColumnElement[bool]:
    """Whether the estimate remembers earlier periods, and one of them is closed and still to be estimated."""
    earlier = aliased(Round)
    remembering = [name for name, kind in kinds().items() if kind.remembers_periods]
    batch_ended = exists().where(Batch.round_id == earlier.id, Batch.state != BatchState.RECEIVING)
    due = (earlier.state == RoundState.CLOSED) & earlier.error.is_(None) & ~(earlier.shuffled & ~batch_ended)
    before = exists().where(earlier.campaign_id == Round.campaign_id, earlier.index < Round.index, due)
    return exists().where(Campaign.id == Round.campaign_id, Campaign.kind.in_(remembering)) & before


def _in_time(now: int) -> ColumnElement[bool]:
    """Whether the time is not over for which a closed round of the campaign may wait for sums."""
    return exists().where(Campaign.id == Round.campaign_id, Round.closed_at + Campaign.sources_deadline_s > now)


def sources_of(session: Session, rounds: Collection[int], now: int) -> Iterator[SourceOfRound]:
    """The sources of the campaign of each round, by name."""
    came = (SourceSums.round_id == Round.id) & (SourceSums.source == Source.name)
    waits = (Round.state == RoundState.CLOSED) & Round.sources_waived_at.is_(None) & _in_time(now) & _MAY_SEND
    query = select(Round.id, Source.name, SourceSums, waits).join(Source, Source.campaign_id == Round.campaign_id)
    rows = session.execute(query.outerjoin(SourceSums, came).where(Round.id.in_(rounds)).order_by(Source.name))
    for number, name, sums, may_wait in rows:
        yield SourceOfRound(number, name, sums, bool(may_wait) and sums is None)


def lacking_sources(session: Session, row: Round) -> Sequence[str]:
    """The sources of the campaign whose sums of the round have not come, by name."""
    came = exists().where(SourceSums.round_id == row.id, SourceSums.source == Source.name)
    query = select(Source.name).where(Source.campaign_id == row.campaign_id, ~came, _MAY_SEND)
    return session.scalars(query.order_by(Source.name)).all()


def is_waiting(session: Session, row: Round, now: int) -> bool:
    """Whether a closed round waits for sums from elsewhere, so that nothing comes of it now."""
    return session.scalar(select(_waits(now)).where(Round.id == row.id)) or False


def is_final(session: Session, row: Round, source: str, now: int) -> bool:
    """Whether sums came of a source, and the time is over in which those of a closed round may be replaced."""
    came = exists().where(SourceSums.round_id == Round.id, SourceSums.source == source)
    return session.scalar(select(came & ~_in_time(now)).where(Round.id == row.id)) or False


def give_up(session: Session, attempts: int, error: str, now: int) -> None:
    """Note `error` on closed rounds that were claimed `attempts` times and that nobody holds any more."""
    left = (Round.attempts >= attempts) & (Round.lease_until <= now)
    session.execute(update(Round).where(to_go_on(now), left).values(error=error))
