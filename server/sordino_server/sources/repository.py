"""Queries on the tables of sources."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import exists, select
from sqlalchemy.orm import Session

from sordino_server.models import Key, Source, SourceSums


def find(session: Session, campaign: str, name: str) -> Source | None:
    """The source of a campaign."""
    return session.get(Source, (campaign, name), populate_existing=True)


def names_with_keys(session: Session, campaign: str) -> Sequence[str]:
    """The sources from which sums may still come: those with a key that is not revoked."""
    usable = exists().where(Key.campaign_id == Source.campaign_id, Key.source == Source.name, Key.revoked_at.is_(None))
    return session.scalars(select(Source.name).where(Source.campaign_id == campaign, usable)).all()


def sums(session: Session, round_id: int, source: str) -> SourceSums | None:
    """What came from a source for a round."""
    return session.get(SourceSums, (round_id, source), populate_existing=True)
