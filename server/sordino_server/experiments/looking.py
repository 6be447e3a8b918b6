"""The looks of experiments, made by workers: one for each planned day, and nothing else is read of open rounds.

Only workers import this module: it needs the estimators.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy.orm import Session

from sordino_analysis.answers.headline import Headline
from sordino_analysis.experiments.findings import finding_of
from sordino_analysis.experiments.looking import ExperimentDesign, is_decided, look, made
from sordino_analysis.experiments.looks import Looks
from sordino_server import aggregates
from sordino_server.experiments import repository
from sordino_server.kit.database_errors import DatabaseError
from sordino_server.kit.db import Database
from sordino_server.kit.logs import logger
from sordino_server.models import Campaign, ExperimentRow, LookRow, Round
from sordino_server.plans import service as plans
from sordino_shared.errors import SordinoError
from sordino_shared.protocol import Manifest, RoundState

log = logger(__name__)


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
    is_open = of_round.state == RoundState.OPEN
    if is_open and not _is_summed_on_ingest(database, of_round.device_digest):
        # Adding up the log of an open round would take long every day: such a plan is looked at once.
        return False
    with database.read("read looks") as session:
        earlier = [json.loads(each.content) for each in repository.looks(session, row.campaign_id)]
        manifest = Manifest.read(session.get_one(Campaign, row.campaign_id).manifest)
        device = plans.device_part(session, of_round.device_digest)
        analyst = plans.analyst_part(session, of_round.analyst_digest)
    # A round that its operator closed early spends what its information allows, as a look on any other day does; a rule
    # of one look has spent nothing before.
    ended = not is_open and (day >= row.days or row.looks == Looks.END)
    design = _design(row, manifest)
    before = [made(each, design) for each in earlier]

    def compute() -> dict[str, Any]:
        sums, blanket = aggregates.arms_of(database, of_round.id, device.randomizer), manifest.blanket_of_arm
        return look(design, device, analyst, sums, before, ended=ended, blanket=blanket)

    found = _computed(compute, row.campaign_id, day, ended)
    told = {"day": day, "closed": not is_open} | found
    content = json.dumps(told, ensure_ascii=False, sort_keys=True).encode()
    headline = Headline(sentences=(finding_of([told], Looks(row.looks), row.days),)).content()
    # A closed round gets no report more, so that nothing new could be looked at.
    over = not is_open or is_decided(found, design)

    def store(session: Session) -> bool:
        stored = LookRow(campaign_id=row.campaign_id, day=day, over=over, content=content, created_at=now)
        return repository.add(session, stored, headline, earlier=len(earlier))

    return database.run("store look", store)


@lru_cache(maxsize=64)
def _is_summed_on_ingest(database: Database, device_digest: str) -> bool:
    """Kept, since a worker asks every second while such a round is open, and its part may have megabytes."""
    with database.read("read device part") as session:
        return aggregates.summed_on_ingest(plans.device_part(session, device_digest).randomizer)


def _computed(compute: Callable[[], dict[str, Any]], campaign: str, day: int, ended: bool) -> dict[str, Any]:
    """The look, or why there is none: what is wrong with one experiment must not stop a worker, which has others."""
    try:
        return compute()
    except DatabaseError:
        raise
    except SordinoError as error:
        text = str(error)
    except Exception as error:
        log.error("bug", campaign=campaign, day=day, exc_info=error)
        text = f"the computation failed ({type(error).__name__}); the worker's log says where"
    return {"ended": ended, "error": text, "arms": [], "comparisons": []}


def _design(row: ExperimentRow, manifest: Manifest) -> ExperimentDesign:
    return ExperimentDesign(
        arms=manifest.arms,
        primary=row.primary_query,
        looks=Looks(row.looks),
        days=row.days,
        users=row.users,
        spread=row.spread,
        level=row.level,
        expect=row.expect,
    )
