"""Tasks: what is open of a campaign now, as every device reads it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from sordino_server import rounds
from sordino_server.campaigns import repository
from sordino_server.campaigns.route_order import is_shuffled
from sordino_server.campaigns.service import get
from sordino_server.config import Settings
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.models import Campaign, Round
from sordino_server.rounds import periods, round_lifecycle
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_server.shuffled.tasks import signed
from sordino_shared.protocol import CampaignState, Digest, Manifest, Problem, RetryWindow, RoundState, Task

_DAY_S = 86_400


def task_for_devices(database: Database, identifier: str, settings: Settings, now: int) -> Task:
    """The task, signed where devices get it from a shuffler."""
    with database.read("get task") as session:
        found_task = task(session, identifier, settings, now)
        shuffled = is_shuffled(get(session, identifier))
    if not shuffled:
        return found_task
    if settings.round_keys is None:
        raise ServerError(Problem.INTERNAL_ERROR, "SORDINO_ROUND_KEYS is not set, and the campaign's tasks are signed")
    return signed(database, RoundKeys(settings.round_keys), found_task)


def task(session: Session, identifier: str, settings: Settings, now: int) -> Task:
    """What is open now, for every device alike."""
    campaign = get(session, identifier)
    if round_lifecycle.is_series(campaign):
        return _task_of_series(session, campaign, settings)
    shuffled = is_shuffled(campaign)
    known = rounds.of_campaign(session, identifier)
    is_open = next((row for row in known if row.state == RoundState.OPEN), None)
    ends_at = None if is_open is None else closes_at(session, is_open)
    return Task(
        campaign=Manifest.read(campaign.manifest).campaign,
        state=CampaignState(campaign.state),
        round=None if is_open is None else is_open.index,
        device_parts=tuple(Digest.parse(row.device_digest) for row in known),
        epoch=0 if shuffled else rounds.current_epoch(session, is_open or known[-1]),
        retry=RetryWindow(settings.retry_min_s, settings.retry_max_s),
        answer_until=None if is_open is None else _answer_until(settings.offline_days, ends_at, now),
        accept_until=ends_at,
    )


def _task_of_series(session: Session, campaign: Campaign, settings: Settings) -> Task:
    """The same document in all periods: whether periods may be answered, by the one plan of the manifest."""
    manifest = Manifest.read(campaign.manifest)
    plan = manifest.rounds[0].plan
    assert plan is not None
    answered = campaign.state == CampaignState.OPEN and not periods.is_paused(session, campaign.id)
    return Task(
        campaign=manifest.campaign,
        state=CampaignState(campaign.state),
        round=0 if answered else None,
        device_parts=(plan.device,),
        epoch=0,
        retry=RetryWindow(settings.retry_min_s, settings.retry_max_s),
        answer_until=None,
        accept_until=None,
    )


def closes_at(session: Session, row: Round) -> int | None:
    """When an open round closes by its time, if it has one."""
    rule = repository.closing_rule(session, row.campaign_id, row.index)
    return None if rule is None or rule.after_s is None or row.opened_at is None else row.opened_at + rule.after_s


def _answer_until(offline_days: int, closes_at: int | None, now: int) -> int | None:
    """The midnight (UTC) that ends the last of `offline_days` days, today's included, or the round's end before it.

    A midnight, so that the task is the same for all who read it on one day.
    """
    if offline_days == 0:
        return None
    midnight = (now // _DAY_S + offline_days) * _DAY_S
    return midnight if closes_at is None else min(midnight, closes_at)
