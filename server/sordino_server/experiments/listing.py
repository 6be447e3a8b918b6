"""All experiments in pages, each with what its last look says."""

from __future__ import annotations

import json

from sqlalchemy.orm import Session

from sordino_server.experiments import repository
from sordino_server.experiments.schemas import ExperimentEntry, ExperimentList
from sordino_server.experiments.service import told
from sordino_server.kit.pagination import Page, cut
from sordino_server.models import Campaign, ExperimentRow, LookRow
from sordino_shared.protocol import CampaignState, Manifest


def listed(session: Session, page: Page) -> ExperimentList:
    """A page of the experiments, newest first, in as many statements as for one."""
    rows, token = cut(repository.listed(session, page), page)
    ids = [row.id for row in rows]
    rules, last = repository.rules(session, ids), repository.last_looks(session, ids)
    entries = [_entry(row, rules[row.id], last.get(row.id)) for row in rows]
    return ExperimentList(experiments=entries, next_page_token=token)


def _entry(campaign: Campaign, rule: ExperimentRow, last: LookRow | None) -> ExperimentEntry:
    manifest = Manifest.read(campaign.manifest)
    made = [] if last is None or campaign.state == CampaignState.CANCELLED else [json.loads(last.content)]
    return ExperimentEntry(
        campaign=campaign.id,
        name=campaign.name,
        state=campaign.state,
        arms=[arm.name for arm in manifest.arms],
        primary=rule.primary_query,
        looks=rule.looks,
        days=rule.days,
        users=rule.users,
        day=None if not made else made[-1]["day"],
        finding=told(campaign, rule, made),
        created_at=campaign.created_at,
    )
