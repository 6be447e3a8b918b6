"""Row leases with expiry; results are stored only in a transaction that re-checks the owner.

A lease saves duplicate work; it does not guard the result. The guard is that every result is stored in a transaction
that first checks that its owner still has the lease (`hold`).
"""

from __future__ import annotations

from typing import TypeVar

from sqlalchemy import BigInteger, ColumnElement, String, or_, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from sordino_server.kit.db import FOR_CHANGE
from sordino_shared.errors import SordinoError


class Leased:
    """The columns of a table whose rows can be leased; `attempts` counts how often a row was claimed."""

    attempts: Mapped[int] = mapped_column(default=0)
    lease_owner: Mapped[str | None] = mapped_column(String(64))
    lease_until: Mapped[int | None] = mapped_column(BigInteger)


Row = TypeVar("Row", bound=Leased)


class LeaseLost(SordinoError):
    """The row belongs to somebody else by now, or to nobody: drop the work. `owner` is who thought to hold it."""

    def __init__(self, owner: str, row: object) -> None:
        super().__init__("the lease has passed to another worker; this result is dropped")
        self.owner = owner
        self.row = row


def claim(
    session: Session,
    table: type[Row],
    wanted: ColumnElement[bool],
    order: ColumnElement[int] | Mapped[int],
    *,
    owner: str,
    now: int,
    seconds: int,
) -> Row | None:
    """The first wanted row that nobody holds at `now`, held by `owner` for `seconds`; None if there is none.

    A lease that ends more than two leases from now is nobody's: the clock was set back since it was granted, and its
    holder may be long dead. The second one leaves room for the clocks of two machines.
    """
    free = or_(nobodys(table, now), table.lease_until > now + 2 * seconds)
    # Two workers never wait for each other: each skips what the other is just claiming.
    query = select(table).where(wanted, free).order_by(order).limit(1).with_for_update(skip_locked=True, key_share=True)
    row = session.scalars(query).first()
    if row is not None:
        row.lease_owner, row.lease_until = owner, now + seconds
        row.attempts += 1
    return row


def nobodys(table: type[Leased], now: int) -> ColumnElement[bool]:
    """Whether nobody holds a row at `now`."""
    return or_(table.lease_until.is_(None), table.lease_until <= now)


def hold(session: Session, table: type[Row], key: object, owner: str) -> Row:
    """The row, locked until the transaction ends, if `owner` holds its lease; raises `LeaseLost` otherwise."""
    row = session.get(table, key, with_for_update=FOR_CHANGE, populate_existing=True)
    if row is None or row.lease_owner != owner:
        raise LeaseLost(owner, key)
    return row


def check(session: Session, table: type[Row], key: object, owner: str) -> None:
    """Raise `LeaseLost` unless `owner` holds the lease now; locks nothing."""
    row = session.get(table, key)
    if row is None or row.lease_owner != owner:
        raise LeaseLost(owner, key)


def renew(session: Session, table: type[Row], key: object, *, owner: str, now: int, seconds: int) -> None:
    """Hold the row for another `seconds` from `now`."""
    hold(session, table, key, owner).lease_until = now + seconds


def release(row: Leased) -> None:
    """Give the row back; it was obtained from `hold` or `claim` in this transaction."""
    row.lease_owner = row.lease_until = None
