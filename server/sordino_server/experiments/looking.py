"""The looks of experiments, made by workers: one for each planned day, and nothing else is read of open rounds.

Only workers import this module: it needs the estimators.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sordino_analysis.experiments.looking import ExperimentDesign, is_decided, look, made
from sordino_analysis.experiments.power import Looks
from sordino_server import aggregates
from sordino_server.experiments import repository
from sordino_server.kit.db import Database
from sordino_server.models import Campaign, ExperimentRow, Round
from sordino_server.plans import service as plans
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Manifest, RoundState


@dataclass(frozen=True)
class NewLook:
    """A look that was stored."""

    campaign: str
    day: int


def make_due_looks(database: Database, now: int) -> list[NewLook]:
    """Make the looks whose day is over. A worker that was away makes the latest of those that it missed."""
    with database.read("find looks to make") as session:
        waiting = list(repository.due(session, now))
    return [NewLook(row.campaign_id, day) for row, of_round, day in waiting if _make(database, row, of_round, day, now)]


def _make(database: Database, row: ExperimentRow, of_round: Round, day: int, now: int) -> bool:
    with database.read("read looks") as session:
        earlier = [json.loads(each.content) for each in repository.looks(session, row.campaign_id)]
        manifest = Manifest.read(session.get_one(Campaign, row.campaign_id).manifest)
        device = plans.device_part(session, of_round.device_digest)
        analyst = plans.analyst_part(session, of_round.analyst_digest)
    is_open = of_round.state == RoundState.OPEN
    if is_open and not aggregates.summed_on_ingest(device.randomizer):
        # Adding up the log of an open round would take long every day: such a plan is looked at once.
        return False
    # A round that its operator closed early spends what its information allows, as a look on any other day does.
    ended = not is_open and day >= row.days
    sums = aggregates.arms_of(database, of_round.id, device.randomizer)
    before = [made(each, len(manifest.arms)) for each in earlier]
    try:
        found: dict[str, Any] = look(_design(row, manifest), device, analyst, sums, before, ended=ended)
    except SordinoError as error:
        found = {"ended": True, "error": str(error), "arms": [], "comparisons": []}
    content = json.dumps({"day": day, "closed": not is_open} | found, ensure_ascii=False, sort_keys=True).encode()
    # A closed round gets no report more, so that nothing new could be looked at.
    over = not is_open or is_decided(found)
    return database.run("store look", lambda session: repository.add(session, row.campaign_id, day, over, content, now))


def _design(row: ExperimentRow, manifest: Manifest) -> ExperimentDesign:
    return ExperimentDesign(
        arms=manifest.arms,
        primary=row.primary_query,
        looks=Looks(row.looks),
        days=row.days,
        users=row.users,
        spread=row.spread,
        level=row.level,
    )
