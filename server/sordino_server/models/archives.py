"""Archives: where the reports of a round lie as files."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, DigestText


class ArchiveRow(Base):
    """A folder to which the reports of a round were exported; `manifest` is null while that is not finished.

    Retention deletes a `managed` archive with the reports, from `deleting_at` on; any other one is the operator's.
    """

    __tablename__ = "archives"

    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"), primary_key=True, autoincrement=False)
    url: Mapped[str] = mapped_column(Text, primary_key=True)
    manifest: Mapped[str | None] = mapped_column(DigestText)
    managed: Mapped[bool]
    created_at: Mapped[int] = mapped_column(BigInteger)
    deleting_at: Mapped[int | None] = mapped_column(BigInteger)
