"""Queries on the table of estimates."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.models import Estimate, Round


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
