"""Queries on the tables of sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from sordino_server.models import Key, Source, SourceSums


def find(session: Session, campaign: str, name: str) -> Source | None:
    """The source of a campaign."""
    return session.get(Source, (campaign, name), populate_existing=True)


def of_campaign(session: Session, campaign: str) -> Sequence[Source]:
    """All sources of a campaign, by name."""
    return session.scalars(select(Source).where(Source.campaign_id == campaign).order_by(Source.name)).all()


def names_with_keys(session: Session, campaign: str) -> Sequence[str]:
    """The sources from which sums may still come: those with a key that is not revoked."""
    usable = exists().where(Key.campaign_id == Source.campaign_id, Key.source == Source.name, Key.revoked_at.is_(None))
    return session.scalars(select(Source.name).where(Source.campaign_id == campaign, usable)).all()


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
