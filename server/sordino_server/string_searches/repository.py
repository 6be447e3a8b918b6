"""Queries on searches for strings."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session, undefer

from sordino_server.kit import leases
from sordino_server.models import StringSearch

# Neither done nor failed.
_UNFINISHED: ColumnElement[bool] = StringSearch.content.is_(None) & StringSearch.error.is_(None)


def find(session: Session, round_id: int, beam: int) -> StringSearch | None:
    """The search of a round with this beam, with its content."""
    query = select(StringSearch).where(StringSearch.round_id == round_id, StringSearch.beam == beam)
    return session.scalars(query.options(undefer(StringSearch.content))).first()


def find_unfinished(session: Session, round_id: int) -> StringSearch | None:
    """The search of a round that has not ended."""
    return session.scalars(select(StringSearch).where(StringSearch.round_id == round_id, _UNFINISHED)).first()


def of_round(session: Session, round_id: int) -> Sequence[tuple[StringSearch, bool]]:
    """The searches of a round by their beams, each with whether it is done; their contents stay in the database."""
    query = select(StringSearch, StringSearch.content.is_not(None)).where(StringSearch.round_id == round_id)
    return [(row, done) for row, done in session.execute(query.order_by(StringSearch.beam))]


def claim(session: Session, *, owner: str, now: int, seconds: int) -> StringSearch | None:
    """An unfinished search that nobody holds, held by `owner` for `seconds`."""
    return leases.claim(session, StringSearch, _UNFINISHED, StringSearch.id, owner=owner, now=now, seconds=seconds)
