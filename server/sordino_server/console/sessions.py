"""Sessions of browsers: 256 random bits in a cookie, whose SHA-256 is in the database.

Every sign-in makes a new session. It ends after 12 hours, at sign-out, or with its key; a person's is renewed every 15
minutes. Its id names the key, and ends with a MAC under the hash of the key's secret, so that an invented id is refused
without a query. The MAC proves nothing else: the database decides.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy.orm import Session

from sordino_server.console import repository
from sordino_server.console.known_sessions import KnownKeys
from sordino_server.context import Context
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.models import ConsoleSession, Key, Role
from sordino_shared.protocol import Problem

LIFETIME_S = 12 * 3600
_ID_BYTES = 32
# With which an id begins: those of its key's id.
KEY_DIGITS = 16
_LONGEST_NAME = 200
_ID = re.compile(r"(?P<start>(?P<key>[0-9a-f]{16})[A-Za-z0-9_-]{43})(?P<mac>[0-9a-f]{32})")

# What the audit log says was changed.
_AUDITED = "/console"


@dataclass(frozen=True)
class Found:
    """A session that is alive: its key or person, what pages call the person, and when it has to be renewed."""

    key: Key
    shown_name: str | None
    renew_at: int | None


def begin(
    session: Session,
    key: Key,
    now: int,
    shown_name: str | None = None,
    renew_at: int | None = None,
    *,
    told: dict[str, str] | None = None,
) -> str:
    """The secret id of a new session, noted in the audit log with what is `told`.

    Raises `forbidden` for an upload token.
    """
    keys.allow(key, Role.ANALYST)
    start = key.id + secrets.token_urlsafe(_ID_BYTES)
    identifier = start + _mac(start, key.secret_sha256)
    row = ConsoleSession(
        id_sha256=hashed(identifier),
        key_id=key.id,
        created_at=now,
        expires_at=now + LIFETIME_S,
        renew_at=renew_at,
        shown_name=None if shown_name is None else shown_name[:_LONGEST_NAME],
    )
    repository.add(session, row)
    keys.record(session, key, "sign in", _AUDITED, now, after=told or None)
    return identifier


def renew(session: Session, id_sha256: str, key: Key, now: int, renew_at: int) -> bool:
    """Whether the session is one of this person, and was renewed: its id stays, so that forms of open pages hold."""
    return repository.renew(session, id_sha256, key.id, now, renew_at)


async def is_made_here(known: KnownKeys, identifier: str) -> bool:
    """Whether the id was made for a key of this server, though its session may have ended."""
    parts = _ID.fullmatch(identifier)
    if parts is None:
        return False
    secret = await known.secret_sha256(parts["key"])
    return secret is not None and secrets.compare_digest(parts["mac"], _mac(parts["start"], secret))


def find(session: Session, identifier: str, now: int) -> Found:
    """The session; raises `unauthorized` where it or its key has ended."""
    found = repository.find(session, hashed(identifier), now)
    if found is None:
        raise ended()
    row, key = found
    return Found(key, row.shown_name, row.renew_at)


def ended() -> ServerError:
    """What is raised where a session is alive no more, or never was."""
    return ServerError(Problem.UNAUTHORIZED, "the session has ended; sign in again")


def alive(context: Context, ids_sha256: Collection[str]) -> set[str]:
    """Those of the hashed ids whose sessions and keys have not ended."""
    with context.database.read("console sessions") as session:
        return repository.alive(session, ids_sha256, context.clock.now())


def end(session: Session, identifier: str, now: int) -> None:
    """Forget a session; the audit log notes that it ended, where it was alive."""
    end_hashed(session, hashed(identifier), now)


def end_hashed(session: Session, id_sha256: str, now: int) -> None:
    """As `end`, of the session with this SHA-256."""
    found = repository.find(session, id_sha256, now)
    if found is not None:
        repository.remove(session, id_sha256)
        keys.record(session, found[1], "sign out", _AUDITED, now)


def form_token(identifier: str) -> str:
    """The token that every form of the session carries: HMAC-SHA-256 of a label under the session's secret id."""
    return hmac.new(identifier.encode(), b"sordino console form", hashlib.sha256).hexdigest()


def _mac(start: str, secret_sha256: str) -> str:
    """The first 128 bits of HMAC-SHA-256, as hexadecimal digits."""
    label = f"sordino console session {start}".encode()
    return hmac.new(secret_sha256.encode(), label, hashlib.sha256).hexdigest()[:32]


def hashed(identifier: str) -> str:
    """The SHA-256 by which the database knows a session."""
    return hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()
