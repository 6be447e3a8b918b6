"""Queries on stored estimates, and on the counts of a series' periods, which read no report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import exists, or_, select, update
from sqlalchemy.orm import Session

from sordino_server.models import Accumulator, Batch, Campaign, Estimate, ExperimentRow, LookRow, Round


@dataclass(frozen=True, kw_only=True)
class PeriodRow:
    """A round of a series by its number of period; `batch` is the state of the batch of a shuffled one."""

    id: int
    number: int
    state: str
    failed: bool
    batch: str | None


def periods_between(session: Session, campaign: str, first: int, last: int) -> Sequence[PeriodRow]:
    """The rounds of the periods `first` … `last`, in order."""
    columns = (
        Round.id.label("id"),
        Round.index.label("number"),
        Round.state.label("state"),
        Round.error.is_not(None).label("failed"),
        Batch.state.label("batch"),
    )
    query = select(*columns).outerjoin(Batch, Batch.round_id == Round.id)
    chosen = query.where(Round.campaign_id == campaign, Round.index.between(first, last))
    return [PeriodRow(**row) for row in session.execute(chosen.order_by(Round.index)).mappings()]


def shards_between(session: Session, campaign: str, first: int, last: int) -> list[tuple[int, int, bytes]]:
    """(row number of the round, count, sums) of every share of these periods."""
    query = select(Accumulator.round_id, Accumulator.count, Accumulator.sums).join(
        Round, Round.id == Accumulator.round_id
    )
    chosen = query.where(Round.campaign_id == campaign, Round.index.between(first, last))
    return [(number, count, sums) for number, count, sums in session.execute(chosen)]


def estimates_between(session: Session, campaign: str, first: int, last: int) -> dict[int, bytes]:
    """The stored bytes of the estimates of these periods, by the number of the period."""
    query = select(Round.index, Estimate.content).join(Estimate, Estimate.round_id == Round.id)
    chosen = query.where(Round.campaign_id == campaign, Round.index.between(first, last)).order_by(Round.index)
    return dict(session.execute(chosen).tuples().all())


def estimated_after(session: Session, row: Round) -> Sequence[bytes]:
    """The stored bytes of earlier periods than the estimated one of `row` that were not estimated before it.

    They are of periods that had failed and were tried again; the earliest period comes first.
    """
    own = select(Estimate.created_at).where(Estimate.round_id == row.id).scalar_subquery()
    earlier = (Round.campaign_id == row.campaign_id) & (Round.index < row.index)
    query = select(Estimate.content).join(Round, Estimate.round_id == Round.id)
    return session.scalars(query.where(earlier, Estimate.created_at >= own).order_by(Round.index)).all()


def find(session: Session, round_id: int) -> bytes | None:
    """The stored bytes of a round's estimate."""
    row = session.get(Estimate, round_id)
    return None if row is None else row.content


def find_rounds(session: Session, campaign: str) -> Sequence[tuple[int, int]]:
    """Row number and index of all rounds of the campaign that have an estimate, in order."""
    query = select(Round.id, Round.index).join(Estimate, Estimate.round_id == Round.id)
    rows = session.execute(query.where(Round.campaign_id == campaign).order_by(Round.index))
    return [(number, index) for number, index in rows]


def find_last(session: Session, campaign: str) -> bytes | None:
    """The stored bytes of the estimate of the campaign's last round that has one."""
    query = select(Estimate.content).join(Round).where(Round.campaign_id == campaign)
    return session.scalars(query.order_by(Round.index.desc()).limit(1)).first()


def without_headline(session: Session) -> Sequence[str]:
    """The campaigns with an estimate or a look that have no headline."""
    estimated = exists().where(Round.campaign_id == Campaign.id, Estimate.round_id == Round.id)
    looked_at = exists().where(LookRow.campaign_id == Campaign.id)
    query = select(Campaign.id).where(Campaign.headline.is_(None), or_(estimated, looked_at))
    return session.scalars(query.order_by(Campaign.created_at)).all()


def fill_headline(session: Session, campaign: str, headline: str) -> bool:
    """Store a headline unless one was stored meanwhile; whether it was."""
    unfilled = update(Campaign).where(Campaign.id == campaign, Campaign.headline.is_(None))
    return session.scalar(unfilled.values(headline=headline).returning(Campaign.id)) is not None


def rule_and_looks(session: Session, campaign: str) -> tuple[ExperimentRow, Sequence[bytes]] | None:
    """The rule of an experiment, and its looks by day; None for any other campaign."""
    row = session.get(ExperimentRow, campaign)
    if row is None:
        return None
    query = select(LookRow.content).where(LookRow.campaign_id == campaign).order_by(LookRow.day)
    return row, session.scalars(query).all()
