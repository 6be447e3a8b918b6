"""Which campaigns a list has, by the parameters of its URL, and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from fastapi import Depends, Query

from sordino_shared.protocol import CampaignState


class CampaignSort(StrEnum):
    """What a list of campaigns is sorted by; those that agree in it by their ids."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    POPULATION = "population"
    STATE = "state"


@dataclass(frozen=True, kw_only=True)
class CampaignFilter:
    """Chooses the campaigns that agree with every member that is not None."""

    state: CampaignState | None = None
    population: str | None = None
    name: str | None = None
    id_prefix: str | None = None
    since: int | None = None
    archived: bool | None = None
    series: bool | None = None


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
    archived: Annotated[
        bool | None, Query(description="Only archived campaigns, or only the others; default: all.")
    ] = None,
    series: Annotated[bool | None, Query(description="Only series, or only the others; default: all.")] = None,
) -> CampaignFilter:
    """The filter that a request names."""
    return CampaignFilter(
        state=state,
        population=population,
        name=name,
        id_prefix=id_prefix,
        since=since,
        archived=archived,
        series=series,
    )


CampaignsQuery = Annotated[CampaignFilter, Depends(campaign_filter_of)]
