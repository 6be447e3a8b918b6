"""Campaigns as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from sordino_server.identifiers import RequestText
from sordino_server.models import Campaign, Round
from sordino_shared.protocol import CampaignState, RoundState


class CampaignOrder(BaseModel):
    """What a campaign is made of."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1, max_length=200)
    sentence: str = Field(min_length=1, max_length=2000, description="What the owner of a device is told.")
    population: str = Field(min_length=1, max_length=200, description="Whose devices are asked.")
    plan_request: RequestText = Field(description="A plan request that is ready.")
    device_epsilon: StrictFloat | StrictInt | Annotated[str, Field(max_length=40)] | None = Field(
        None, description="ε that one device may spend in all rounds; the plan's ε unless given."
    )


class CampaignEntry(BaseModel):
    """A campaign in a list."""

    id: str
    name: str
    population: str
    state: CampaignState
    created_at: int
    opened_at: int | None
    closed_at: int | None

    @classmethod
    def of(cls, row: Campaign) -> Self:
        """What a list shows of a row."""
        return cls(
            id=row.id,
            name=row.name,
            population=row.population,
            state=CampaignState(row.state),
            created_at=row.created_at,
            opened_at=row.opened_at,
            closed_at=row.closed_at,
        )


class RoundStatus(BaseModel):
    """A round and how many reports were counted in it."""

    index: int
    state: RoundState
    reports: int
    device_digest: str
    analyst_digest: str
    opened_at: int | None
    closed_at: int | None
    error: str | None = Field(description="Why there will be no estimate.")

    @classmethod
    def of(cls, row: Round, reports: int) -> Self:
        """What is shown of a row."""
        return cls(
            index=row.index,
            state=RoundState(row.state),
            reports=reports,
            device_digest=row.device_digest,
            analyst_digest=row.analyst_digest,
            opened_at=row.opened_at,
            closed_at=row.closed_at,
            error=row.error,
        )


class CampaignStatus(CampaignEntry):
    """A campaign with its rounds, and the reports that were refused, by reason."""

    rounds: list[RoundStatus]
    refusals: dict[str, int]

    @classmethod
    def with_counts(
        cls, row: Campaign, rounds: Sequence[Round], counts: Mapping[int, int], refusals: Mapping[str, int]
    ) -> Self:
        """The row with what was counted."""
        return cls(
            **CampaignEntry.of(row).model_dump(),
            rounds=[RoundStatus.of(each, counts[each.id]) for each in rounds],
            refusals=dict(refusals),
        )


class CampaignList(BaseModel):
    """A page of campaigns, newest first."""

    campaigns: list[CampaignEntry]
    next_page_token: str | None
