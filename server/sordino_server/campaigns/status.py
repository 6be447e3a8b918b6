"""What operators see of a campaign: its state with everything that was counted."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.aggregates import counts_by_round
from sordino_server.campaigns import repository
from sordino_server.campaigns.schemas import CampaignStatus
from sordino_server.models import Campaign
from sordino_server.reports import refusals


def status_of(session: Session, campaign: Campaign) -> CampaignStatus:
    """The campaign with its rounds, their counts and closing rules, and refusals by reason."""
    known = rounds.of_campaign(session, campaign.id)
    counts = counts_by_round(session, [row.id for row in known])
    rules = repository.closing_rules(session, campaign.id)
    return CampaignStatus.with_counts(campaign, known, counts, rules, refusals(session, campaign.id))
