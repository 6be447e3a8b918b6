"""What operators see of campaigns: their states with everything that was counted."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.aggregates import counts_by_source
from sordino_server.campaigns.schemas import SHOWN_PERIODS, CampaignStatus, RoundStatus, SeriesStatus
from sordino_server.models import Campaign
from sordino_server.reports import refusals
from sordino_server.sources import service as sources


def status_of(session: Session, campaign: Campaign, now: int) -> CampaignStatus:
    """The campaign with its rounds, their counts and closing rules, and refusals by reason."""
    return statuses_of(session, [campaign], now)[0]


def statuses_of(session: Session, campaigns: Sequence[Campaign], now: int) -> list[CampaignStatus]:
    """The same of many campaigns, with as many statements as for one."""
    ids = [row.id for row in campaigns]
    series, refused = rounds.series_of(session, ids), refusals(session, ids)
    known = rounds.newest_of(session, ids, SHOWN_PERIODS)
    numbers = [row.id for found in known.values() for row, _ in found]
    counts = counts_by_source(session, numbers)
    elsewhere = sources.of_rounds(session, numbers, counts, now)
    return [
        CampaignStatus.with_counts(
            campaign,
            [
                RoundStatus.of(row, sum(counts[row.id].values()), elsewhere[row.id], rule)
                for row, rule in known[campaign.id]
            ],
            refused[campaign.id],
            SeriesStatus.of(*series[campaign.id], now) if campaign.id in series else None,
        )
        for campaign in campaigns
    ]
