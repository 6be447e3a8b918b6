"""Rules and looks of experiments in the database."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import exists, func, or_, select, tuple_
from sqlalchemy.orm import Session

from sordino_analysis.experiments.looks import Looks
from sordino_server.kit.pagination import Page, newest_first
from sordino_server.models import Batch, BatchState, Campaign, ExperimentRow, LookRow, Round
from sordino_shared.protocol import RoundState

_DAY_S = 86_400
_LOOKED_AT = (RoundState.OPEN, RoundState.CLOSED, RoundState.ESTIMATED)


def find(session: Session, campaign: str) -> ExperimentRow | None:
    """The rule of a campaign; None for one without arms, or whose arms nobody looks at."""
    return session.get(ExperimentRow, campaign)


def looks(session: Session, campaign: str) -> Sequence[LookRow]:
    """The looks so far by day."""
    return session.scalars(select(LookRow).where(LookRow.campaign_id == campaign).order_by(LookRow.day)).all()


def due(session: Session, now: int) -> Sequence[tuple[ExperimentRow, Round, int]]:
    """Experiments with a day whose look is not made, the round of each, and the number of the latest such day.

    Of an open round the days that are over count, of a closed one the day that it was closed on. Of a cancelled one
    nothing is ever looked at, nor of a shuffled one before its whole batch is counted.
    """
    last = select(func.max(LookRow.day)).where(LookRow.campaign_id == ExperimentRow.campaign_id).scalar_subquery()
    query = select(ExperimentRow, Round, func.coalesce(last, 0)).join(
        Round, Round.campaign_id == ExperimentRow.campaign_id
    )
    found = []
    over = exists().where(LookRow.campaign_id == ExperimentRow.campaign_id, LookRow.over)
    counted = exists().where(Batch.round_id == Round.id, Batch.state == BatchState.COUNTED)
    here = or_(~Round.shuffled, counted)
    query = query.where(Round.opened_at.is_not(None), Round.state.in_(_LOOKED_AT), ~over, here)
    for row, of_round, seen in session.execute(query):
        day = _day(row, of_round, now)
        if day > seen and (row.looks != Looks.END or of_round.state != RoundState.OPEN):
            found.append((row, of_round, day))
    return found


def _day(row: ExperimentRow, of_round: Round, now: int) -> int:
    assert of_round.opened_at is not None
    if of_round.state == RoundState.OPEN:
        return min((now - of_round.opened_at) // _DAY_S, row.days - 1)
    ended = now if of_round.closed_at is None else of_round.closed_at
    return min(row.days, (ended - of_round.opened_at) // _DAY_S + 1)


def add(session: Session, look: LookRow, headline: str, *, earlier: int) -> bool:
    """Store a look that `earlier` looks came before, unless another worker stored one meanwhile; whether it was stored.

    A look is computed from those before it, so that a slow worker's is dropped where it would come between others.
    Lists show its `headline`.
    """
    campaign = session.get_one(Campaign, look.campaign_id, with_for_update=True)
    stored = looks(session, look.campaign_id)
    if len(stored) != earlier or (stored and (stored[-1].over or stored[-1].day >= look.day)):
        return False
    session.add(look)
    campaign.headline = headline
    session.flush()
    return True


def listed(session: Session, page: Page) -> Sequence[Campaign]:
    """A page of the campaigns that are experiments, newest first, and one row more."""
    every = select(Campaign).join(ExperimentRow, ExperimentRow.campaign_id == Campaign.id)
    return session.scalars(newest_first(every, Campaign.created_at, Campaign.id, page)).all()


def rules(session: Session, campaigns: Collection[str]) -> Mapping[str, ExperimentRow]:
    """The rules of these campaigns."""
    found = session.scalars(select(ExperimentRow).where(ExperimentRow.campaign_id.in_(campaigns)))
    return {rule.campaign_id: rule for rule in found}


def last_looks(session: Session, campaigns: Collection[str]) -> Mapping[str, LookRow]:
    """The last look of each campaign that has one."""
    last = select(LookRow.campaign_id, func.max(LookRow.day)).where(LookRow.campaign_id.in_(campaigns))
    places = last.group_by(LookRow.campaign_id)
    found = session.scalars(select(LookRow).where(tuple_(LookRow.campaign_id, LookRow.day).in_(places)))
    return {look.campaign_id: look for look in found}
