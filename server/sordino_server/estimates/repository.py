"""Queries on the table of estimates."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server.models import Estimate


def add(session: Session, estimate: Estimate) -> None:
    """Insert the estimate of a round; a second one is an error of the database."""
    session.add(estimate)
    session.flush()


def find(session: Session, round_id: int) -> bytes | None:
    """The stored bytes of a round's estimate."""
    row = session.get(Estimate, round_id)
    return None if row is None else row.content
