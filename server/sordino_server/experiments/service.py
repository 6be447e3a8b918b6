"""What operators see of an experiment: its rule, its looks, and the one sentence that they allow."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy.orm import Session

from sordino_analysis.experiments.findings import finding_of
from sordino_analysis.experiments.looks import Looks
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import found
from sordino_server.experiments import repository
from sordino_server.experiments.schemas import ExperimentDocument
from sordino_server.models import Campaign, ExperimentRow
from sordino_shared.protocol import CampaignState, Manifest


def finding(session: Session, campaign: str) -> str | None:
    """What the last look says, in one sentence; None for a campaign that is no experiment."""
    row = repository.find(session, campaign)
    return None if row is None else told(campaigns.get(session, campaign), row, _made(session, campaign))


def told(campaign: Campaign, rule: ExperimentRow, made: list[dict[str, Any]]) -> str:
    """The sentence of the last look; of a cancelled experiment that it tells nothing."""
    if campaign.state == CampaignState.CANCELLED:
        return "the experiment was cancelled: it tells nothing any more"
    return finding_of(made, Looks(rule.looks), rule.days)


def document(session: Session, campaign: str) -> ExperimentDocument:
    """The experiment of a campaign; raises `not-found` for any other campaign."""
    shown = campaigns.get(session, campaign)
    row = found(repository.find(session, campaign), "the campaign is no experiment")
    made = [] if shown.state == CampaignState.CANCELLED else _made(session, campaign)
    manifest = Manifest.read(shown.manifest)
    return ExperimentDocument(
        campaign=shown.id,
        name=shown.name,
        state=shown.state,
        arms=[arm.name for arm in manifest.arms],
        primary=row.primary_query,
        looks=row.looks,
        days=row.days,
        users=row.users,
        spread=row.spread,
        level=row.level,
        expect=row.expect,
        made=made,
        blanket=manifest.blanket_of_arm,
        finding=told(shown, row, made),
    )


def _made(session: Session, campaign: str) -> list[dict[str, Any]]:
    return [json.loads(each.content) for each in repository.looks(session, campaign)]
