"""Workloads, the requests to plan for them, and the immutable parts of finished plans."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, Text
from sqlalchemy.orm import Mapped, mapped_column

from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
from sordino_server.kit.leases import Leased
from sordino_server.models.base import Base, DigestText, one_of
from sordino_shared.protocol import DevicePart


class WorkloadRow(Base):
    """A workload by the digest of its canonical specification, and the name of its kind of question.

    `cells` is null while a number of bins is open.
    """

    __tablename__ = "workloads"

    id: Mapped[str] = mapped_column(DigestText, primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(64), server_default="linear")
    specification: Mapped[str] = mapped_column(Text)
    cells: Mapped[int | None] = mapped_column(BigInteger)
    queries: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(BigInteger)


class PlanPartKind(StrEnum):
    """The two documents a plan consists of."""

    DEVICE = "device_part"
    ANALYST = "analyst_part"


class PlanPart(Base):
    """Canonical bytes under their digest; never updated."""

    __tablename__ = "plan_parts"
    __table_args__ = (one_of("document", PlanPartKind),)

    digest: Mapped[str] = mapped_column(DigestText, primary_key=True)
    document: Mapped[str] = mapped_column(String(16))
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(BigInteger)

    @classmethod
    def of(cls, part: DevicePart | AnalystPart, now: int) -> Self:
        """The row of a part."""
        kind = PlanPartKind(part.document)
        return cls(digest=str(part.digest), document=kind, content=part.content, created_at=now)


class ProtocolPlanContent(Base):
    """The canonical JSON of a protocol's plan under its digest; never updated."""

    __tablename__ = "protocol_plans"

    digest: Mapped[str] = mapped_column(DigestText, primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[int] = mapped_column(BigInteger)

    @classmethod
    def of(cls, plan: AnyProtocolPlan, now: int) -> Self:
        """The row of a plan."""
        return cls(digest=str(plan.digest), content=plan.content, created_at=now)


class PlanRequestState(StrEnum):
    """A request is queued, computed under a lease, and ends ready, failed or cancelled."""

    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"
    CANCELLED = "cancelled"


class PlanRequestRow(Leased, Base):
    """One computation of a plan: what was asked, how far it is, what came of it.

    Requests of one `content_key` have the same plan; it is null where the plan was cut short.
    """

    __tablename__ = "plan_requests"
    __table_args__ = (one_of("state", PlanRequestState), Index(None, "state", "created_at"), Index(None, "content_key"))

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    workload_id: Mapped[str] = mapped_column(ForeignKey("workloads.id"))
    request: Mapped[str] = mapped_column(Text)
    content_key: Mapped[str | None] = mapped_column(DigestText)
    state: Mapped[str] = mapped_column(String(16), default=PlanRequestState.QUEUED)
    progress: Mapped[float] = mapped_column(default=0.0)
    stage: Mapped[str] = mapped_column(String(200), default="")
    variance: Mapped[float | None]
    ratio: Mapped[float | None]
    summary: Mapped[str | None] = mapped_column(Text)
    error: Mapped[str | None] = mapped_column(Text)
    device_digest: Mapped[str | None] = mapped_column(ForeignKey("plan_parts.digest"))
    analyst_digest: Mapped[str | None] = mapped_column(ForeignKey("plan_parts.digest"))
    protocol_digest: Mapped[str | None] = mapped_column(ForeignKey("protocol_plans.digest"))
    created_at: Mapped[int] = mapped_column(BigInteger)
    started_at: Mapped[int | None] = mapped_column(BigInteger)
    finished_at: Mapped[int | None] = mapped_column(BigInteger)
