"""The public log: entries in a Merkle tree, its checkpoints, their witnesses, and what this server itself cosigned."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, SmallInteger, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, DigestText, RowNumber

_HASH = LargeBinary(32)


class Log(Base):
    """A log by its origin and its key; the one with the highest number is the server's, earlier ones are history.

    `ahead` is a size that a witness or a copy of the log knows and this database does not: it was restored.
    """

    __tablename__ = "logs"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    origin: Mapped[str] = mapped_column(String(200))
    key: Mapped[bytes] = mapped_column(LargeBinary(32))
    created_at: Mapped[int] = mapped_column(BigInteger)
    ahead: Mapped[int | None] = mapped_column(BigInteger)


class LogEntryRow(Base):
    """An entry, written in the transaction that it is about; a worker numbers it, and nothing else ever changes.

    `campaign` and `round` say of which manifest or plan it is, to find its proof.
    """

    __tablename__ = "log_entries"
    __table_args__ = (
        UniqueConstraint("log_id", "number"),
        Index("ix_log_entries_campaign_kind_round", "campaign", "kind", "round"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    log_id: Mapped[int] = mapped_column(ForeignKey("logs.id"))
    number: Mapped[int | None] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(String(16))
    campaign: Mapped[str | None] = mapped_column(DigestText)
    round: Mapped[int | None] = mapped_column(SmallInteger)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    leaf: Mapped[bytes] = mapped_column(_HASH)
    at: Mapped[int] = mapped_column(BigInteger)


class LogNode(Base):
    """The hash of 256^level entries, of which `index` times as many come before."""

    __tablename__ = "log_nodes"

    log_id: Mapped[int] = mapped_column(ForeignKey("logs.id"), primary_key=True, autoincrement=False)
    level: Mapped[int] = mapped_column(SmallInteger, primary_key=True, autoincrement=False)
    index: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    hash: Mapped[bytes] = mapped_column(_HASH)


class LogCheckpoint(Base):
    """A checkpoint that the log signed: the note has its signature, `log_cosignatures` those of witnesses.

    The notes of earlier days that a copy brought back have none.
    """

    __tablename__ = "log_checkpoints"

    log_id: Mapped[int] = mapped_column(ForeignKey("logs.id"), primary_key=True, autoincrement=False)
    size: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    root: Mapped[bytes] = mapped_column(_HASH)
    note: Mapped[str] = mapped_column(Text)
    at: Mapped[int] = mapped_column(BigInteger)


class LogCosignature(Base):
    """The line of a witness below a checkpoint."""

    __tablename__ = "log_cosignatures"

    log_id: Mapped[int] = mapped_column(ForeignKey("logs.id"), primary_key=True, autoincrement=False)
    size: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    witness: Mapped[str] = mapped_column(String(200), primary_key=True)
    line: Mapped[str] = mapped_column(Text)


class WitnessedCheckpoint(Base):
    """A checkpoint of another log that this server cosigned. It cosigns only what continues the largest one."""

    __tablename__ = "witnessed_checkpoints"

    origin: Mapped[str] = mapped_column(String(200), primary_key=True)
    size: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    root: Mapped[bytes] = mapped_column(_HASH)
    note: Mapped[str] = mapped_column(Text)
    at: Mapped[int] = mapped_column(BigInteger)
