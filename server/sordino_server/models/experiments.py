"""Experiments: what was pinned before the first report, and the looks that were made."""

from __future__ import annotations

from sqlalchemy import BigInteger, Float, ForeignKey, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base


class ExperimentRow(Base):
    """The rule of a campaign with arms, immutable.

    `users` are those of all arms that were planned for, `spread` the standard deviation of their values as a share of
    the scale, `looks` one of `planned`, `end`, `any` and `always`. `expect` is what the primary answer was expected to
    be, for looks that hold always; null where nobody said.
    """

    __tablename__ = "experiments"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    primary_query: Mapped[str] = mapped_column(String(200))
    looks: Mapped[str] = mapped_column(String(16))
    days: Mapped[int]
    users: Mapped[int] = mapped_column(BigInteger)
    spread: Mapped[float] = mapped_column(Float)
    level: Mapped[float] = mapped_column(Float)
    expect: Mapped[float | None] = mapped_column(Float)


class LookRow(Base):
    """One look, on the day of that number after the opening: immutable JSON. None follows one that is `over`."""

    __tablename__ = "looks"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("experiments.campaign_id"), primary_key=True)
    day: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    over: Mapped[bool]
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(BigInteger)
