"""Seeds of issuers, accounts that got their token, and tokens that were counted, in the database."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import delete, exists, select, text
from sqlalchemy.orm import Session, aliased

from sordino_server.kit.db import Database
from sordino_server.kit.insert_if_absent import insert_if_absent
from sordino_server.models import Batch, BatchState, Campaign, IssuerSeed, Round, SpentToken, TokenAccount
from sordino_shared.protocol import RoundState

_OVER = (RoundState.ESTIMATED, RoundState.CANCELLED)
# Tokens go in as one value, end to end, as ids of reports do.
_INSERT = (
    "INSERT INTO spent (round_id, token) SELECT :round, substr(:tokens, 16 * i + 1, 16) FROM {places}"
    " WHERE true ON CONFLICT DO NOTHING RETURNING token"
)
_POSTGRES_INSERT = text(_INSERT.format(places="generate_series(0, :count - 1) AS i"))
_SQLITE_INSERT = text(
    "WITH RECURSIVE places (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM places WHERE i + 1 < :count) "
    + _INSERT.format(places="places")
)


def seed(session: Session, campaign: str, index: int) -> bytes | None:
    """The seed of a round's key; None where it has none, or none any more."""
    row = session.get(IssuerSeed, (campaign, index))
    return None if row is None else row.seed


def has_tokens(session: Session, campaign: str) -> bool | None:
    """Whether a round of the campaign has a key, now or still to come; None where there is no such campaign."""
    seeded = exists().where(IssuerSeed.campaign_id == Campaign.id)
    return session.scalars(select(seeded).where(Campaign.id == campaign)).first()


def note_account(session: Session, campaign: str, index: int, account: bytes, asked: bytes) -> bool:
    """Whether the account may have what it asked for: it has no token of the round yet, or asked for this one."""
    row = TokenAccount(campaign_id=campaign, index=index, account=account, asked=asked)
    known, _ = insert_if_absent(session, row)
    return bytes(known.asked) == asked


def spend(database: Database, session: Session, round_id: int, tokens: Collection[bytes]) -> set[bytes]:
    """Insert those tokens that the round has not counted yet, in order, and say which they were.

    Where another transaction is just inserting one of them, its end is waited for.
    """
    ordered = sorted(tokens)
    if not ordered:
        return set()
    statement = _SQLITE_INSERT if database.is_sqlite else _POSTGRES_INSERT
    values = {"round": round_id, "tokens": b"".join(ordered), "count": len(ordered)}
    return set(map(bytes, session.connection().execute(statement, values).scalars()))


def ended(session: Session) -> list[tuple[str, int, int | None]]:
    """(campaign, index, row number) of rounds with a seed of which nothing comes any more, or released by no shuffler.

    The row number is None for a round that never began, of a campaign that is over.
    """
    round_of = (Round.campaign_id == IssuerSeed.campaign_id) & (Round.index == IssuerSeed.index)
    query = select(IssuerSeed.campaign_id, IssuerSeed.index, Round.id).outerjoin(Round, round_of)
    other = aliased(Round)
    unfinished = exists().where(other.campaign_id == IssuerSeed.campaign_id, other.state.not_in(_OVER))
    over = Campaign.closed_at.is_not(None) & Round.id.is_(None) & ~unfinished
    query = query.outerjoin(Batch, Batch.round_id == Round.id).join(Campaign, Campaign.id == IssuerSeed.campaign_id)
    query = query.where(Round.state.in_(_OVER) | (Batch.state == BatchState.WITHHELD) | over)
    return [(campaign, index, number) for campaign, index, number in session.execute(query)]


def forget(session: Session, campaign: str, index: int, round_id: int | None) -> None:
    """Delete the seed of a round, its accounts and its tokens."""
    for table in (IssuerSeed, TokenAccount):
        session.execute(delete(table).where(table.campaign_id == campaign, table.index == index))
    if round_id is not None:
        session.execute(delete(SpentToken).where(SpentToken.round_id == round_id))
