"""Bodies of /v1/experiments and /v1/campaigns/{id}/experiment."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

_LOOKS = "`planned` (every day), `end` (once), `any` (no end) or `always` (no end, for few reports too)."


class ExperimentDocument(BaseModel):
    """An experiment: what was pinned before the first report, and the looks that were made, by day."""

    campaign: str
    name: str
    state: str
    arms: list[str]
    primary: str = Field(description="Label of the query that decides.")
    looks: str = Field(description=_LOOKS)
    days: int = Field(description="The experiment ends after so many days.")
    users: int = Field(description="Planned users of all arms.")
    spread: float = Field(description="Planned standard deviation of the users' values, as a share of the scale.")
    level: float = Field(description="Of all arms and all looks together.")
    expect: float | None = Field(
        description="What the primary answer was expected to be, in its unit, for looks `always`; null if not pinned."
    )
    blanket: int = Field(
        description="Random reports that a shuffler adds for each arm, which its one look leaves out; 0 without one."
    )
    made: list[dict[str, Any]] = Field(description="The looks that were made, by day; none of them ever changes.")
    finding: str = Field(description="What the last look says, in one sentence.")


class ExperimentEntry(BaseModel):
    """An experiment in a list: its rule, and what its last look says."""

    campaign: str
    name: str
    state: str
    arms: list[str]
    primary: str = Field(description="Label of the query that decides.")
    looks: str = Field(description=_LOOKS)
    days: int
    users: int = Field(description="Planned users of all arms.")
    day: int | None = Field(description="Day of the last look; null before the first.")
    finding: str = Field(description="What the last look says, in one sentence.")
    created_at: int


class ExperimentList(BaseModel):
    """A page of experiments, newest first."""

    experiments: list[ExperimentEntry]
    next_page_token: str | None
