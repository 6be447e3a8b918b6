"""A round as JSON."""

from __future__ import annotations

from typing import Self

from pydantic import Field, computed_field

from sordino_server.kit.times import Opened, iso_8601_or_none
from sordino_server.models import BatchState, ClosingRule, Round
from sordino_server.shuffled.schemas import BatchStatus
from sordino_server.sources.schemas import RoundSources, SourceStatus
from sordino_shared.protocol import RoundState


class RoundStatus(Opened):
    """A round and how many reports were counted in it."""

    index: int
    state: RoundState
    reports: int = Field(description="Reports counted, those of sources too.")
    sources: list[SourceStatus] = Field(description="Sums that came from elsewhere.")
    waiting_for: list[str] = Field(
        description="Of a closed round: sources without whose sums nothing comes of it before the campaign's deadline."
    )
    device_digest: str
    analyst_digest: str
    purged_at: int | None = Field(description="When the reports were deleted; their aggregate stays.")
    progress: float | None = Field(
        None, description="Of a closed round whose reports are searched: how far that is, from 0 to 1."
    )
    error: str | None = Field(description="Why the step after the closed round failed, and what to do.")
    close_after_reports: int | None
    close_after_s: int | None
    batch: BatchStatus | None = Field(None, description="Of a shuffled round: how far its batch is.")

    @computed_field
    def purged(self) -> str | None:
        return iso_8601_or_none(self.purged_at)

    @computed_field  # type: ignore[prop-decorator]  # mypy knows no property under it
    @property
    def users(self) -> int:
        """Reports of devices: those counted, less the random ones of a shuffler once its batch is counted."""
        random = self.batch.blanket if self.batch is not None and self.batch.state is BatchState.COUNTED else 0
        return max(0, self.reports - random)

    @classmethod
    def of(
        cls,
        row: Round,
        reports: int,
        elsewhere: RoundSources,
        rule: ClosingRule | None,
        batch: BatchStatus | None = None,
        *,
        searched: bool = False,
    ) -> Self:
        """What is shown of a row; what comes of it may be `searched` for in its reports."""
        # There is nothing to search in before a shuffler's batch is whole.
        comes = batch is not None and batch.state is BatchState.RECEIVING
        waits = searched and row.state == RoundState.CLOSED and row.error is None and not comes
        return cls(
            batch=batch,
            progress=(row.progress or 0.0) if waits else None,
            index=row.index,
            state=RoundState(row.state),
            reports=reports,
            sources=elsewhere.came,
            waiting_for=elsewhere.waiting_for,
            device_digest=row.device_digest,
            analyst_digest=row.analyst_digest,
            opened_at=row.opened_at,
            closed_at=row.closed_at,
            purged_at=row.purged_at,
            error=row.error,
            close_after_reports=rule and rule.after_reports,
            close_after_s=rule and rule.after_s,
        )
