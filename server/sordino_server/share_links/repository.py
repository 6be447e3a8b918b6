"""Queries on share links."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from sordino_server.models import Estimate, Round, ShareLink


def last_estimated(session: Session, campaign: str) -> int | None:
    """Row number of the campaign's last round that has an estimate."""
    query = select(Round.id).join(Estimate, Estimate.round_id == Round.id).where(Round.campaign_id == campaign)
    return session.scalars(query.order_by(Round.index.desc()).limit(1)).first()


def alive(session: Session, campaign: str, now: int) -> int:
    """How many links of the campaign open now."""
    lasting = ShareLink.revoked_at.is_(None) & (ShareLink.until.is_(None) | (ShareLink.until > now))
    query = select(func.count()).select_from(ShareLink).where(ShareLink.campaign_id == campaign, lasting)
    return session.scalar(query) or 0


def of_campaign(session: Session, campaign: str) -> Sequence[ShareLink]:
    """All links of a campaign, newest first."""
    query = select(ShareLink).where(ShareLink.campaign_id == campaign)
    return session.scalars(query.order_by(ShareLink.id.desc())).all()


def find(session: Session, campaign: str, number: int) -> ShareLink | None:
    """The link of this number, if it is the campaign's."""
    return session.scalars(select(ShareLink).where(ShareLink.campaign_id == campaign, ShareLink.id == number)).first()


def find_by_token(session: Session, token_sha256: str) -> ShareLink | None:
    """The link with this token."""
    return session.scalars(select(ShareLink).where(ShareLink.token_sha256 == token_sha256)).first()


def count_openings(session: Session, number: int, more: int) -> None:
    """So many more openings, also where several processes count at once."""
    session.execute(update(ShareLink).where(ShareLink.id == number).values(openings=ShareLink.openings + more))
