"""Queries on the tables of sessions and of sign-in links."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, or_, select, update
from sqlalchemy.orm import Session

from sordino_server.models import ConsoleSession, Key, SignInLink


def add(session: Session, row: ConsoleSession) -> None:
    """Insert a session, and delete those that expired before it began."""
    session.execute(delete(ConsoleSession).where(ConsoleSession.expires_at <= row.created_at))
    session.add(row)
    session.flush()


def find(session: Session, id_sha256: str, now: int) -> tuple[ConsoleSession, Key] | None:
    """A session and its key; None where one of them has ended."""
    query = select(ConsoleSession, Key).join(Key, ConsoleSession.key_id == Key.id)
    alive = (ConsoleSession.expires_at > now, *Key.in_use(now))
    row = session.execute(query.where(ConsoleSession.id_sha256 == id_sha256, *alive)).first()
    return None if row is None else (row[0], row[1])


def renew(session: Session, id_sha256: str, key_id: str, now: int, renew_at: int) -> bool:
    """Whether the session is the key's and has not expired, and so needs no renewal until then."""
    own = (ConsoleSession.id_sha256 == id_sha256, ConsoleSession.key_id == key_id, ConsoleSession.expires_at > now)
    changed = update(ConsoleSession).where(*own).values(renew_at=renew_at).returning(ConsoleSession.id_sha256)
    return session.scalars(changed).first() is not None


def alive(session: Session, ids_sha256: Collection[str], now: int) -> set[str]:
    """Those of the sessions that have not expired, and whose keys have not ended; of people only those that an OpenID
    provider vouched for within a quarter of an hour.
    """
    query = select(ConsoleSession.id_sha256).join(Key, ConsoleSession.key_id == Key.id)
    vouched = or_(Key.person.is_(None), ConsoleSession.renew_at > now)
    living = (ConsoleSession.expires_at > now, vouched, *Key.in_use(now))
    return set(session.scalars(query.where(ConsoleSession.id_sha256.in_(ids_sha256), *living)))


def remove(session: Session, id_sha256: str) -> None:
    """Delete a session."""
    session.execute(delete(ConsoleSession).where(ConsoleSession.id_sha256 == id_sha256))


def add_link(session: Session, row: SignInLink) -> None:
    """Insert a link, and delete those that expired before."""
    session.execute(delete(SignInLink).where(SignInLink.expires_at <= row.created_at))
    session.add(row)
    session.flush()


def take_link(session: Session, token_sha256: str, now: int) -> Key | None:
    """The key of a link, which is deleted: None where there is none, or it or the key has ended."""
    taken = delete(SignInLink).where(SignInLink.token_sha256 == token_sha256).returning(SignInLink)
    link = session.scalars(taken).first()
    if link is None or link.expires_at <= now:
        return None
    return session.scalars(select(Key).where(Key.id == link.key_id, *Key.in_use(now))).first()
