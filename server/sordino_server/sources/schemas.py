"""Sums from elsewhere as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, Field, computed_field

from sordino_server.kit.times import iso_8601_or_none
from sordino_server.models import SourceSums


class SourceStatus(BaseModel):
    """What came from a source for a round, and counts."""

    source: str
    reports: int = Field(description="Reports that the sums are of.")
    number: int = Field(description="Number of the document; another one of the source needs a higher number.")
    digest: str = Field(description="SHA-256 of the aggregate document.")
    manifest: str | None = Field(description="Digest of the archive that the sums are of; null where there is none.")
    received_at: int

    @computed_field
    def received(self) -> str | None:
        return iso_8601_or_none(self.received_at)

    @classmethod
    def of(cls, row: SourceSums, reports: int) -> Self:
        """What is shown of a row."""
        return cls(
            source=row.source,
            reports=reports,
            number=row.number,
            digest=row.digest,
            manifest=row.manifest,
            received_at=row.received_at,
        )


@dataclass(frozen=True)
class RoundSources:
    """The sums that came from elsewhere for a round, and the sources that it waits for."""

    came: list[SourceStatus]
    waiting_for: list[str]
