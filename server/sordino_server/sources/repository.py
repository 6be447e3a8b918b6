"""Queries on the tables of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.models import Source, SourceSums


def find(session: Session, campaign: str, name: str) -> Source | None:
    """The source of a campaign."""
    return session.get(Source, (campaign, name), populate_existing=True)


def of_campaign(session: Session, campaign: str) -> Sequence[Source]:
    """All sources of a campaign, by name."""
    return session.scalars(select(Source).where(Source.campaign_id == campaign).order_by(Source.name)).all()


def sums(session: Session, round_id: int, source: str) -> SourceSums | None:
    """What came from a source for a round."""
    return session.get(SourceSums, (round_id, source), populate_existing=True)


def sums_by_round(session: Session, rounds: Sequence[int]) -> Mapping[int, list[SourceSums]]:
    """What came for each of the rounds, by source."""
    query = select(SourceSums).where(SourceSums.round_id.in_(rounds)).order_by(SourceSums.source)
    found: dict[int, list[SourceSums]] = {number: [] for number in rounds}
    for row in session.scalars(query):
        found[row.round_id].append(row)
    return found
