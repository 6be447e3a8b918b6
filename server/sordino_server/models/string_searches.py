"""Searches for strings with a wider beam than that of an estimate."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, LargeBinary, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.kit.leases import Leased
from sordino_server.models.base import Base, RowNumber


class StringSearch(Leased, Base):
    """One search in the reports of an estimated round: the JSON of its paths, or why there are none.

    It is unfinished while it has neither; until then the reports are kept.
    """

    __tablename__ = "string_searches"
    __table_args__ = (UniqueConstraint("round_id", "beam"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"))
    beam: Mapped[int]
    progress: Mapped[float] = mapped_column(default=0.0)
    content: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)
