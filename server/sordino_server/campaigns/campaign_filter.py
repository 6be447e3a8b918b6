"""Which campaigns a list has: the query parameters, and the conditions on the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query
from sqlalchemy import ColumnElement

from sordino_server.models import Campaign
from sordino_shared.protocol import CampaignState


@dataclass(frozen=True, kw_only=True)
class CampaignFilter:
    """Chooses the campaigns that agree with every member that is not None."""

    state: CampaignState | None = None
    population: str | None = None
    name: str | None = None
    id_prefix: str | None = None
    since: int | None = None

    def conditions(self) -> Iterator[ColumnElement[bool]]:
        """On the columns of campaigns."""
        if self.state is not None:
            yield Campaign.state == self.state
        if self.population is not None:
            yield Campaign.population == self.population
        if self.name is not None:
            yield Campaign.name == self.name
        if self.id_prefix is not None:
            yield Campaign.id.startswith(self.id_prefix)
        if self.since is not None:
            yield Campaign.created_at >= self.since


def campaign_filter_of(
    state: Annotated[CampaignState | None, Query(description="Campaigns in this state.")] = None,
    population: Annotated[str | None, Query(max_length=200, description="Campaigns for this population.")] = None,
    name: Annotated[str | None, Query(max_length=200, description="Campaigns of exactly this name.")] = None,
    id_prefix: Annotated[
        str | None, Query(pattern="^[0-9a-f]{1,64}$", description="Campaigns whose id begins like this.")
    ] = None,
    since: Annotated[
        int | None, Query(ge=0, lt=2**62, description="Campaigns created at this Unix time or later.")
    ] = None,
) -> CampaignFilter:
    """The filter that a request names."""
    return CampaignFilter(state=state, population=population, name=name, id_prefix=id_prefix, since=since)


AskedCampaigns = Annotated[CampaignFilter, Depends(campaign_filter_of)]
