"""Queries on the table of campaigns."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from sordino_server.kit.db import FOR_CHANGE
from sordino_server.kit.once import add_once
from sordino_server.kit.pagination import Page, newest_first
from sordino_server.models import Campaign, Round


def add(session: Session, campaign: Campaign, first_round: Round) -> bool:
    """Insert a campaign with its first round; False where its digest is there already."""
    _, new = add_once(session, campaign)
    if new:
        session.add(first_round)
        session.flush()
    return new


def find(session: Session, identifier: str) -> Campaign | None:
    """The campaign of this digest."""
    return session.get(Campaign, identifier)


def find_for_change(session: Session, identifier: str) -> Campaign | None:
    """The campaign, locked against other changes of its state until the transaction ends."""
    return session.get(Campaign, identifier, with_for_update=FOR_CHANGE, populate_existing=True)


def listed(session: Session, page: Page) -> Sequence[Campaign]:
    """A page of campaigns, newest first, and one row more."""
    return session.scalars(newest_first(select(Campaign), Campaign.created_at, Campaign.id, page)).all()
