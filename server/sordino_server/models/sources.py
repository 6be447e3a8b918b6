"""Sources: who else adds up reports of a campaign, and the sums that came from them."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, DigestText


class Source(Base):
    """A name from which sums of a campaign's rounds come, and how many reports of a round it may have."""

    __tablename__ = "sources"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(24), primary_key=True)
    max_reports: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(BigInteger)


class SourceSums(Base):
    """Which aggregate document of a source counts in a round; its sums are the accumulator `source:<name>`.

    `manifest` is the digest of the archive that the sums are of, null where there is none.
    """

    __tablename__ = "source_sums"

    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"), primary_key=True, autoincrement=False)
    source: Mapped[str] = mapped_column(String(24), primary_key=True)
    number: Mapped[int] = mapped_column(BigInteger)
    digest: Mapped[str] = mapped_column(DigestText)
    manifest: Mapped[str | None] = mapped_column(DigestText)
    received_at: Mapped[int] = mapped_column(BigInteger)
