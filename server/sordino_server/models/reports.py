"""What came from devices: ids that were counted, the log of payloads, running sums, and counters of refusals."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, LargeBinary, SmallInteger, String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, RowNumber


class Report(Base):
    """An id that was counted, with 16 bytes of the SHA-256 of its payload to tell a replay from a conflict.

    There is no foreign key: the inserting transaction holds the round's lock and has just read its row, and a check per
    report would be the most expensive part of an insert on PostgreSQL.
    """

    __tablename__ = "reports"
    __table_args__ = ({"sqlite_with_rowid": False},)

    round_id: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=False)
    report_id: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
    content_hash: Mapped[bytes] = mapped_column(LargeBinary(16))


class ReportChunk(Base):
    """Payloads of `count` new reports of one transaction and one arm, end to end."""

    __tablename__ = "report_chunks"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"), index=True)
    arm: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    count: Mapped[int]
    payloads: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(BigInteger)


class Accumulator(Base):
    """One writer's share of an arm's aggregate; `sums` is empty where sums are computed from the log at the end.

    The shards of arms have names of their own, so that what adds up all shards of a round adds up all arms.
    """

    __tablename__ = "accumulators"

    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"), primary_key=True, autoincrement=False)
    shard: Mapped[str] = mapped_column(String(32), primary_key=True)
    arm: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    count: Mapped[int] = mapped_column(BigInteger)
    sums: Mapped[bytes] = mapped_column(LargeBinary)


class RefusalCount(Base):
    """How many reports of a campaign were refused for a reason; a request that cannot be read counts as one."""

    __tablename__ = "refusals"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    reason: Mapped[str] = mapped_column(String(64), primary_key=True)
    count: Mapped[int] = mapped_column(BigInteger)
