"""What follows from a closed round: its estimate or the plan of the next round, a function of the database alone.

Only workers import this module: it needs the estimators.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from sordino_analysis.answers.document import EstimateDocument, SourceReports
from sordino_analysis.documents.protocol_plans import AnyProtocolPlan
from sordino_analysis.kinds.participation import source_warnings
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.planning.rounds import ClosedRound, EarlierPeriod, RoundPlan
from sordino_analysis.progress import ProgressCallback, ignore_progress
from sordino_server import rounds
from sordino_server.aggregates import LogPurged, aggregate, logged_payloads, source_counts
from sordino_server.answers import repository
from sordino_server.answers.stored import read_estimate
from sordino_server.campaigns import service as campaigns
from sordino_server.kit.db import Database
from sordino_server.models import Round
from sordino_server.plans import service as plans
from sordino_server.rounds.round_lifecycle import EstimateReady, Outcome
from sordino_server.rounds.sealing import NextRound
from sordino_server.shuffled import opening
from sordino_server.shuffled.round_keys import RoundKeys
from sordino_server.sources import repository as sources
from sordino_shared.errors import InvalidValue, SordinoError
from sordino_shared.protocol import CampaignState, DrawOneRound, Manifest, Rotating
from sordino_shared.protocol.campaigns import WHOLE_WEIGHT
from sordino_shared.randomizers import AnyRandomizer


def compute(
    database: Database,
    number: int,
    processes: int = 1,
    *,
    keys: RoundKeys | None = None,
    now: int = 0,
    progress: ProgressCallback = ignore_progress,
) -> Outcome:
    """The estimate after the closed round with row number `number`, or the plan of the next round.

    Reports that were not added up when they arrived are added up by so many processes; as many open sealed ones with
    `keys`, which are logged as of `now`. A search in them tells its `progress`.

    Raises EstimationError or InvalidValue where the reports allow neither, AggregateMismatch where they were tampered
    with.
    """
    with database.read("read closed round") as session:
        row = session.get_one(Round, number)
        campaign = campaigns.get(session, row.campaign_id)
    blanket = opening.open_batch(database, row, keys, now, processes) if row.shuffled else 0
    manifest, last, kind = Manifest.read(campaign.manifest), row.index, kind_named(campaign.kind)
    if isinstance(manifest.assignment, Rotating):
        before = _period_before(database, row) if kind.remembers_periods else None
        period = replace(
            _closed_round(database, row, processes), blanket=blanket, number=last, before=before, progress=progress
        )
        estimate = kind.follow(manifest, None, (period,), conclude=True)
        assert isinstance(estimate, EstimateDocument), "a series asks what one round answers"
        return EstimateReady(estimate.content(), kind.headline(estimate).content())
    plan, closed = _read(database, manifest, last, processes)
    closed = (*closed[:-1], replace(closed[-1], blanket=blanket, progress=progress))
    remaining = last + 1 < len(manifest.rounds)
    closed_early = remaining and campaign.state == CampaignState.CLOSED
    if closed_early and last > 0 and closed[-1].aggregate.count == 0:
        # Nobody answered before the campaign was closed: as if the round had not been opened.
        closed = closed[:-1]
    # Where nobody answered the last round of all, the protocol may still have an answer from the others.
    if remaining and closed[-1].aggregate.count == 0:
        raise InvalidValue(
            f"no report was counted in round {last}, so nothing follows from it; cancel the campaign and "
            "start another one that stays open for longer",
            last,
        )
    outcome = kind.follow(manifest, plan, closed, conclude=closed_early)
    if isinstance(outcome, RoundPlan):
        return NextRound(outcome.device, outcome.analyst)
    with database.read("read sources of estimate") as session:
        known = rounds.of_campaign(session, row.campaign_id)[: len(closed)]
        estimate = _with_sources(session, manifest, known, outcome)
    return EstimateReady(estimate.content(), kind.headline(estimate).content())


@dataclass(frozen=True)
class NoOutcome:
    """Why the reports allow neither an estimate nor another round, in words for a person."""

    reason: str


def compute_at(
    url: str, number: int, keys: RoundKeys | None, now: int, progress: ProgressCallback
) -> Outcome | NoOutcome:
    """What `compute` says of the database at `url`, by one process alone: a child process may have none of its own."""
    database = Database(url, connections=1)
    try:
        return compute(database, number, keys=keys, now=now, progress=progress)
    except SordinoError as error:
        return NoOutcome(str(error))
    finally:
        database.close()


def reads_reports(database: Database, number: int) -> bool:
    """Whether the estimate after the round is found in its reports themselves."""
    with database.read("read kind of round") as session:
        campaign = campaigns.get(session, session.get_one(Round, number).campaign_id)
        return kind_named(campaign.kind).reads_reports


def _closed_round(database: Database, row: Round, processes: int) -> ClosedRound:
    with database.read("read closed period") as session:
        plan = RoundPlan(plans.device_part(session, row.device_digest), plans.analyst_part(session, row.analyst_digest))
    return _counted(database, row, plan, processes)


def _period_before(database: Database, row: Round) -> EarlierPeriod | None:
    """The newest estimated period of the series before that of `row`, with its reports unless they were purged."""
    with database.read("read period before") as session:
        earlier = rounds.newest_estimated_before(session, row)
        if earlier is None:
            return None
        content, late = repository.find(session, earlier.id), repository.estimated_after(session, earlier)
        randomizer = plans.device_part(session, earlier.device_digest).randomizer
    assert content is not None, "as of every estimated period"
    return EarlierPeriod(
        number=earlier.index,
        estimate=read_estimate(content),
        late=tuple(map(read_estimate, late)),
        payloads=_kept_payloads(database, earlier, randomizer),
    )


def _kept_payloads(
    database: Database, row: Round, randomizer: AnyRandomizer
) -> Callable[[], Iterable[NDArray[np.uint8]]] | None:
    """The reports of an estimated round, which are read here since they may be purged while an estimate is made."""
    try:
        total = aggregate(database, row.id, randomizer)
        pages = list(logged_payloads(database, row.id, randomizer.payload_bytes, total.count))
    except LogPurged:
        return None
    return partial(iter, pages)


def _read(
    database: Database, manifest: Manifest, last: int, processes: int
) -> tuple[AnyProtocolPlan | None, tuple[ClosedRound, ...]]:
    """The plan of the manifest's protocol, if it has one, and the rounds 0 … `last`."""
    with database.read("read closed rounds") as session:
        plan = None if manifest.protocol is None else plans.protocol_plan(session, str(manifest.protocol))
        known = rounds.of_campaign(session, str(manifest.campaign))[: last + 1]
        sealed = [
            RoundPlan(plans.device_part(session, row.device_digest), plans.analyst_part(session, row.analyst_digest))
            for row in known
        ]
    return plan, tuple(_counted(database, row, each, processes) for row, each in zip(known, sealed, strict=True))


def _counted(database: Database, row: Round, plan: RoundPlan, processes: int) -> ClosedRound:
    """A closed round with its sum, and its reports page by page for a kind that counts in them."""
    randomizer = plan.device.randomizer
    total = aggregate(database, row.id, randomizer, processes=processes)
    pages = partial(logged_payloads, database, row.id, randomizer.payload_bytes, total.count)
    return ClosedRound(plan, total, payloads=pages)


def _with_sources(
    session: Session, manifest: Manifest, rounds: Sequence[Round], estimate: EstimateDocument
) -> EstimateDocument:
    """The estimate from the `rounds`, with the reports of every source of the campaign and their warnings."""
    came = [(row, source_counts(session, row.id)) for row in rounds]
    expected = sources.names_with_keys(session, str(manifest.campaign))
    names = sorted(set(expected).union(*(found for _, found in came)))
    if not names:
        return estimate
    listed = [
        SourceReports(source=name, round=row.index, reports=found.get(name, 0)) for name in names for row, found in came
    ]
    assignment = manifest.assignment
    first_share = assignment.weights[0] / WHOLE_WEIGHT if isinstance(assignment, DrawOneRound) else None
    warnings = [
        text
        for name in names
        for text in source_warnings(name, first_share, {row.index: found.get(name) for row, found in came})
    ]
    return estimate.with_sources(listed, warnings)
