"""Queries on the table of estimates."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.models import Estimate, Round


def find(session: Session, round_id: int) -> bytes | None:
    """The stored bytes of a round's estimate."""
    row = session.get(Estimate, round_id)
    return None if row is None else row.content


def find_last(session: Session, campaign: str) -> bytes | None:
    """The stored bytes of the estimate of the campaign's last round that has one."""
    query = select(Estimate.content).join(Round).where(Round.campaign_id == campaign)
    return session.scalars(query.order_by(Round.index.desc()).limit(1)).first()
