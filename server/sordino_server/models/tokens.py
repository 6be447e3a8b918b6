"""Tokens of reports: the seed of each round's key, the accounts that have one, and the tokens that were counted."""

from __future__ import annotations

from sqlalchemy import ForeignKey, LargeBinary
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, RowNumber


class IssuerSeed(Base):
    """The secret from which the issuer's key of a round is derived; deleted once nothing comes of the round."""

    __tablename__ = "issuer_seeds"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    index: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=False)
    seed: Mapped[bytes] = mapped_column(LargeBinary(32))


class TokenAccount(Base):
    """An account that got its token of a round, as a keyed hash, with 16 bytes of the SHA-256 of what it asked for."""

    __tablename__ = "token_accounts"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    index: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=False)
    account: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    asked: Mapped[bytes] = mapped_column(LargeBinary(16))


class SpentToken(Base):
    """The secret of a token that a report of the round was counted with; as `reports`, without a foreign key."""

    __tablename__ = "spent"
    __table_args__ = ({"sqlite_with_rowid": False},)

    round_id: Mapped[int] = mapped_column(RowNumber, primary_key=True, autoincrement=False)
    token: Mapped[bytes] = mapped_column(LargeBinary(16), primary_key=True)
