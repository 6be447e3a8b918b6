"""Series: campaigns whose rounds are periods."""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.models.base import Base, RowNumber
from sordino_shared.protocol import Rotating, ValueOf


class SeriesRow(Base):
    """What is computed with of a series: the terms of its manifest, and how many periods take no more reports.

    `lag` is how many periods after its own a value may be reported, `nano` what one answer costs in nano-ε. The first
    `closed_periods` periods are closed for all times, also where the clock is set back.
    """

    __tablename__ = "series"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    start: Mapped[int] = mapped_column(BigInteger)
    period_s: Mapped[int] = mapped_column(BigInteger)
    slots: Mapped[int]
    answers_max: Mapped[int]
    lag: Mapped[int]
    late_s: Mapped[int] = mapped_column(BigInteger)
    nano: Mapped[int] = mapped_column(BigInteger)
    closed_periods: Mapped[int] = mapped_column(BigInteger, default=0)

    @property
    def law(self) -> Rotating:
        """The terms as the manifest has them, without the series that this one replaces."""
        return Rotating(
            start=self.start,
            period_s=self.period_s,
            slots=self.slots,
            answers_max=self.answers_max,
            value_of=ValueOf.PREVIOUS if self.lag else ValueOf.CURRENT,
            late_s=self.late_s,
            replaces=None,
        )


class SeriesPause(Base):
    """From when until when a series took no reports; `resumed_at` is null while it still takes none."""

    __tablename__ = "series_pauses"
    __table_args__ = (Index(None, "campaign_id"),)

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"))
    paused_at: Mapped[int] = mapped_column(BigInteger)
    resumed_at: Mapped[int | None] = mapped_column(BigInteger)
