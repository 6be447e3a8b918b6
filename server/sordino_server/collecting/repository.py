"""Queries of a collector and of its home."""

from __future__ import annotations

from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from sordino_server.models import Campaign, ClosingRule, Round, SourceSums
from sordino_server.rounds import RoundName
from sordino_shared.protocol import RoundState


def sums_digest(session: Session, round_id: int, source: str) -> str | None:
    """The digest of the document of a source that counts in a round; None where none came."""
    row = session.get(SourceSums, (round_id, source))
    return None if row is None else row.digest


def unsent(campaigns: list[str]) -> ColumnElement[bool]:
    """Whether a round of these campaigns is closed, did not fail, and its sums are not known to be at the home."""
    sent = exists().where(SourceSums.round_id == Round.id)
    closed = Round.campaign_id.in_(campaigns) & (Round.state == RoundState.CLOSED)
    return closed & Round.error.is_(None) & ~sent


def out_of_touch(session: Session, before: int) -> list[RoundName]:
    """Open rounds without an end by time, of campaigns that the home said nothing of since `before`."""
    timed = exists().where(
        ClosingRule.campaign_id == Round.campaign_id,
        ClosingRule.index == Round.index,
        ClosingRule.after_s.is_not(None),
    )
    silent = exists().where(Campaign.id == Round.campaign_id, Campaign.mirrored_at <= before)
    query = select(Round.campaign_id, Round.index).where(Round.state == RoundState.OPEN, silent, ~timed)
    return [(campaign, index) for campaign, index in session.execute(query.order_by(Round.id))]
