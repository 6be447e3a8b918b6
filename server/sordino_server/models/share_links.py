"""Links to a result that anybody who holds them may open."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, DigestText, RowNumber


class ShareLink(Base):
    """A link to the estimate of a round, by the SHA-256 of its 256 random bits; without `until` it has no end."""

    __tablename__ = "share_links"

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    token_sha256: Mapped[str] = mapped_column(DigestText, unique=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), index=True)
    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"))
    created_by: Mapped[str] = mapped_column(String(200))
    created_at: Mapped[int] = mapped_column(BigInteger)
    until: Mapped[int | None] = mapped_column(BigInteger)
    revoked_at: Mapped[int | None] = mapped_column(BigInteger)
    openings: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
