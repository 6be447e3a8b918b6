"""What operators see of a campaign: its state with everything that was counted."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.aggregates import counts_by_round
from sordino_server.campaigns import repository
from sordino_server.campaigns.schemas import SHOWN_PERIODS, CampaignStatus, SeriesStatus
from sordino_server.models import Campaign
from sordino_server.reports import refusals
from sordino_server.rounds import periods
from sordino_server.sources import service as sources


def status_of(session: Session, campaign: Campaign, now: int) -> CampaignStatus:
    """The campaign with its rounds, their counts and closing rules, and refusals by reason."""
    row = periods.find_series(session, campaign.id)
    series = None if row is None else SeriesStatus.of(row, periods.is_paused(session, campaign.id), now)
    known = rounds.of_campaign(session, campaign.id)[-SHOWN_PERIODS if series else 0 :]
    counts = counts_by_round(session, [each.id for each in known])
    elsewhere = sources.of_rounds(session, known, now)
    rules = repository.closing_rules(session, campaign.id)
    return CampaignStatus.with_counts(campaign, known, counts, elsewhere, rules, refusals(session, campaign.id), series)
