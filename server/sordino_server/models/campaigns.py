"""Campaigns, their rounds and what was estimated from them."""

from __future__ import annotations

from typing import Any, Self

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
    false,
)
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.kit.leases import Leased
from sordino_server.models.base import Base, DigestText, RowNumber, one_of
from sordino_shared.protocol import CampaignState, Manifest, RoundState


class Campaign(Base):
    """A manifest under its digest, and the state that may change; `question` is JSON, null from earlier versions.

    `kind` names the kind of question, which decides what follows from closed rounds; null on a collector. A closed
    round waits `sources_deadline_s` at most for sums from elsewhere. On a collector `mirrored_at` is when its home last
    said what it decided. `headline` is the JSON of a `Headline` of the last estimate, or of an experiment's last look.
    """

    __tablename__ = "campaigns"
    __table_args__ = (one_of("state", CampaignState),)

    id: Mapped[str] = mapped_column(DigestText, primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    population: Mapped[str] = mapped_column(String(200), index=True)
    manifest: Mapped[bytes] = mapped_column(LargeBinary)
    needs_token: Mapped[bool] = mapped_column(default=False, server_default=false())
    public: Mapped[bool] = mapped_column(default=False, server_default=false())
    state: Mapped[str] = mapped_column(String(16), default=CampaignState.READY)
    created_at: Mapped[int] = mapped_column(BigInteger, index=True)
    opened_at: Mapped[int | None] = mapped_column(BigInteger)
    closed_at: Mapped[int | None] = mapped_column(BigInteger)
    archived_at: Mapped[int | None] = mapped_column(BigInteger)
    kind: Mapped[str | None] = mapped_column(String(64))
    question: Mapped[str | None] = mapped_column(Text)
    sources_deadline_s: Mapped[int] = mapped_column(BigInteger, default=86400, server_default="86400")
    mirrored_at: Mapped[int | None] = mapped_column(BigInteger)
    headline: Mapped[str | None] = mapped_column(Text)

    @classmethod
    def of(cls, manifest: Manifest, now: int, **terms: Any) -> Self:
        """The row of a new campaign; `terms` are the columns that the manifest does not decide."""
        return cls(
            id=str(manifest.campaign),
            name=manifest.name,
            population=manifest.population,
            manifest=manifest.content,
            state=CampaignState.READY,
            created_at=now,
            **terms,
        )


class ClosingRule(Base):
    """When a round of a campaign closes by itself: at the first of so many reports and so many seconds open."""

    __tablename__ = "closing_rules"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    after_reports: Mapped[int | None] = mapped_column(BigInteger)
    after_s: Mapped[int | None] = mapped_column(BigInteger)


class ManifestSignature(Base):
    """An operator's Ed25519 signature of a campaign's manifest, by the public key."""

    __tablename__ = "manifest_signatures"

    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"), primary_key=True)
    key: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    signature: Mapped[bytes] = mapped_column(LargeBinary(64))
    created_at: Mapped[int] = mapped_column(BigInteger)


class Round(Leased, Base):
    """One round of a campaign; its row exists once its plan is sealed.

    The lease belongs to the worker that computes the next round or the estimate; `error` says why
    neither can be had. From `purged_at` on the reports are gone, and what they add up to is one accumulator. A closed
    round waits for the sums of every source until the campaign's deadline, or until `sources_waived_at`; one that is
    `shuffled` takes no report of a device and waits for its batch. `arms` is 0 where the campaign has none. Of a round
    `with_tokens` one report counts for each token. `progress` is that of a search in the reports of a closed round.
    """

    __tablename__ = "rounds"
    __table_args__ = (
        UniqueConstraint("campaign_id", "index"),
        one_of("state", RoundState),
        CheckConstraint("epoch >= 0 AND epoch < 65536", name="epoch"),
    )

    id: Mapped[int] = mapped_column(RowNumber, primary_key=True)
    campaign_id: Mapped[str] = mapped_column(ForeignKey("campaigns.id"))
    index: Mapped[int] = mapped_column(RowNumber)
    state: Mapped[str] = mapped_column(String(16), default=RoundState.PENDING, index=True)
    device_digest: Mapped[str] = mapped_column(ForeignKey("plan_parts.digest"))
    analyst_digest: Mapped[str] = mapped_column(ForeignKey("plan_parts.digest"))
    epoch: Mapped[int]
    shuffled: Mapped[bool] = mapped_column(default=False, server_default=false())
    epochs: Mapped[int] = mapped_column(default=1 << 16, server_default="65536")
    arms: Mapped[int] = mapped_column(SmallInteger, default=0, server_default="0")
    with_tokens: Mapped[bool] = mapped_column(default=False, server_default=false())
    opened_at: Mapped[int | None] = mapped_column(BigInteger)
    closed_at: Mapped[int | None] = mapped_column(BigInteger)
    purged_at: Mapped[int | None] = mapped_column(BigInteger)
    sources_waived_at: Mapped[int | None] = mapped_column(BigInteger)
    progress: Mapped[float | None]
    error: Mapped[str | None] = mapped_column(Text)


class Estimate(Base):
    """The canonical JSON of a closed round's estimate: immutable."""

    __tablename__ = "estimates"

    round_id: Mapped[int] = mapped_column(ForeignKey("rounds.id"), primary_key=True, autoincrement=False)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(BigInteger)
