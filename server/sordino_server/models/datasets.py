"""Datasets that this server holds, releases from them, and the ledger of what these spent, in ρ or in ε."""

from __future__ import annotations

from enum import StrEnum

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from sordino_server.kit.leases import Leased
from sordino_server.models.base import Base, DigestText, one_of


class DatasetAccount(StrEnum):
    """What a dataset's ledger adds up: ρ of concentrated privacy, or pure ε."""

    RHO = "rho"
    EPSILON = "epsilon"


class Dataset(Base):
    """Rows of people as sealed counts, under the digest of the folded name; `cells` is null once they were deleted.

    The row itself is never deleted, so that the same name never has again what it spent. `terms` is JSON: domain, unit,
    neighbours and δ. `rows` is their number where it is public. `account` is what the cap and the ledger count:
    nano-ρ or nano-ε.
    """

    __tablename__ = "datasets"
    __table_args__ = (one_of("account", DatasetAccount),)

    id: Mapped[str] = mapped_column(DigestText, primary_key=True)
    name: Mapped[str] = mapped_column(String(200))
    terms: Mapped[str] = mapped_column(Text)
    rows: Mapped[int | None] = mapped_column(BigInteger)
    cells: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    account: Mapped[str] = mapped_column(
        String(16), default=DatasetAccount.RHO, server_default=DatasetAccount.RHO.value
    )
    cap_nano: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[int]
    created_at: Mapped[int] = mapped_column(BigInteger)
    deleted_at: Mapped[int | None] = mapped_column(BigInteger)


class ReleaseState(StrEnum):
    """A release is queued and planned under a lease; it spends, and only then draws its noise.

    From `spent` on it ends `released`, or `lost` where its worker ended between; it never goes back. A `failed` one has
    spent nothing.
    """

    QUEUED = "queued"
    SPENT = "spent"
    RELEASED = "released"
    FAILED = "failed"
    LOST = "lost"


class Release(Leased, Base):
    """One release from a dataset: its answers as canonical JSON, its plan as CBOR.

    `kind` is the tag of the guarantee that it keeps, `nano` its nano-ρ or nano-ε, `mechanism` the one that was asked
    for by name. `key` is the Idempotency-Key, which is kept permanently.
    """

    __tablename__ = "releases"
    __table_args__ = (
        UniqueConstraint("dataset_id", "key"),
        one_of("state", ReleaseState),
        Index(None, "state", "created_at"),
    )

    id: Mapped[str] = mapped_column(String(64), primary_key=True)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id"))
    workload_id: Mapped[str] = mapped_column(ForeignKey("workloads.id"))
    key: Mapped[str] = mapped_column(String(255))
    objective: Mapped[str] = mapped_column(String(16))
    kind: Mapped[str] = mapped_column(String(32), default="zcdp", server_default="zcdp")
    nano: Mapped[int] = mapped_column(BigInteger)
    mechanism: Mapped[str | None] = mapped_column(String(32))
    state: Mapped[str] = mapped_column(String(16), default=ReleaseState.QUEUED)
    content: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    plan: Mapped[bytes | None] = mapped_column(LargeBinary, deferred=True)
    digest: Mapped[str | None] = mapped_column(DigestText)
    error: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[int] = mapped_column(BigInteger)
    finished_at: Mapped[int | None] = mapped_column(BigInteger)


class DatasetSpending(Base):
    """What one release spent, committed before its noise was drawn; the database refuses to change a row.

    `kind` is the tag of the guarantee, `nano` its price in the account of the dataset: nano-ρ or nano-ε.
    """

    __tablename__ = "dataset_ledger"

    id: Mapped[str] = mapped_column("release_id", ForeignKey("releases.id"), primary_key=True)
    dataset_id: Mapped[str] = mapped_column(ForeignKey("datasets.id"), index=True)
    kind: Mapped[str] = mapped_column(String(32))
    nano: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[int] = mapped_column(BigInteger)
