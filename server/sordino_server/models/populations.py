"""Populations, whose ε is bounded over all campaigns, and the ledger of what was asked of them."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, DigestText


class Population(Base):
    """Whose devices are asked, under the digest of the folded name, with caps in nano-ε; null is no cap.

    One that is not `declared` was made by its first campaign, and no admin has said anything about it.
    """

    __tablename__ = "populations"

    id: Mapped[str] = mapped_column(DigestText, primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    period_nano: Mapped[int | None] = mapped_column(BigInteger)
    period_days: Mapped[int | None]
    lifetime_nano: Mapped[int | None] = mapped_column(BigInteger)
    version: Mapped[int]
    declared: Mapped[bool]
    created_at: Mapped[int] = mapped_column(BigInteger)


class AskedEpsilon(Base):
    """What one campaign asked of every device when it opened; the database refuses to change a row.

    `kind` is the tag of the guarantee, `nano` its price in nano-ε.
    """

    __tablename__ = "population_ledger"

    id: Mapped[str] = mapped_column("campaign_id", ForeignKey("campaigns.id"), primary_key=True)
    population_id: Mapped[str] = mapped_column(ForeignKey("populations.id"), index=True)
    kind: Mapped[str] = mapped_column(String(32), server_default="pure_epsilon")
    nano: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(BigInteger)
