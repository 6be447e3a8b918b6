"""The answers of each arm, as the campaign's kind of question estimates a round.

Only the process that answers questions imports this module: it needs the estimators.
"""

from __future__ import annotations

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.kinds.arms import ArmReports, document_of_arms
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.planning.rounds import ClosedRound, RoundPlan
from sordino_server.aggregates import LogPurged, arms_of
from sordino_server.answers.on_demand import AnsweringRound
from sordino_server.answers.on_demand_computing import database_at, plan_of
from sordino_server.campaigns import service as campaigns
from sordino_server.errors import ServerError
from sordino_shared.protocol import Manifest, Problem


def compute_arms(url: str, closed: AnsweringRound) -> bytes:
    """The document of all arms; raises ServerError where their reports are gone."""
    database = database_at(url)
    with database.read("read experiment") as session:
        row = campaigns.get(session, closed.campaign)
        manifest, kind = Manifest.read(row.manifest), kind_named(row.kind)
    plan = RoundPlan(*plan_of(database, closed))
    try:
        sums = arms_of(database, closed.number, plan.device.randomizer)
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    found: list[tuple[ArmReports, EstimateDocument | None]] = []
    for arm, total in zip(manifest.arms, sums, strict=True):
        closed_round, users = ClosedRound(plan, total, manifest.blanket_of_arm), total.count - manifest.blanket_of_arm
        answers = kind.follow(manifest, None, (closed_round,), conclude=True) if users > 0 else None
        assert answers is None or isinstance(answers, EstimateDocument), "arms are of one round"
        found.append((ArmReports(name=arm.name, weight=arm.weight, reports=max(0, users)), answers))
    return document_of_arms(found).content()
