"""Batches of shuffled rounds: their sealed pages, what the shuffler says of them, and signed tasks."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import BigInteger, ForeignKey, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, RowNumber, one_of


class BatchState(StrEnum):
    """How far the batch of a round is."""

    RECEIVING = "receiving"
    STATED = "stated"
    COUNTED = "counted"
    WITHHELD = "withheld"
    UNREADABLE = "unreadable"


class Batch(Base):
    """What came of a round from its shuffler: pages in order, `last_id` the largest id, then one signed statement.

    `blanket` and `received` are those of the statement; `refused` counts reports without a valid payload.
    """

    __tablename__ = "batches"
    __table_args__ = (one_of("state", BatchState),)

    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"), primary_key=True, autoincrement=False)
    state: Mapped[str] = mapped_column(String(16), default=BatchState.RECEIVING)
    pages: Mapped[int] = mapped_column(BigInteger, default=0)
    reports: Mapped[int] = mapped_column(BigInteger, default=0)
    last_id: Mapped[bytes] = mapped_column(LargeBinary(16), default=b"")
    received: Mapped[int] = mapped_column(BigInteger, default=0)
    blanket: Mapped[int] = mapped_column(BigInteger, default=0)
    refused: Mapped[int] = mapped_column(BigInteger, default=0)
    statement: Mapped[bytes | None] = mapped_column(LargeBinary)


class SealedPage(Base):
    """Sealed reports of a batch by the number of their page; `sealed` is null once they are counted."""

    __tablename__ = "sealed_pages"

    round_id: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=False)
    page: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    digest: Mapped[bytes] = mapped_column(LargeBinary(32))
    ids: Mapped[bytes] = mapped_column(LargeBinary)
    sealed: Mapped[bytes | None] = mapped_column(LargeBinary)


class SignedTask(Base):
    """The last task of a shuffled campaign that was signed: the same bytes for everybody until something changes."""

    __tablename__ = "signed_tasks"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    content: Mapped[bytes] = mapped_column(LargeBinary)
