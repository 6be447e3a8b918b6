"""The parameters of a URL that name a `CampaignFilter`, apart from it: a worker, which has no URLs, uses the filter."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query

from sordino_server.campaigns.campaign_filter import CampaignFilter
from sordino_shared.protocol import CampaignState


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
