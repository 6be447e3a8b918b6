"""Differences of two closed campaigns, or of arms: a function of the database alone.

Only the process that answers questions imports this module: it needs the estimators.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.comparisons.columns import columns_of_difference
from sordino_analysis.comparisons.difference import DIFFERENT_PEOPLE, Difference, Side
from sordino_analysis.comparisons.measures import AnyDifference, compared
from sordino_analysis.comparisons.several import differences
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.experiments.decided import DecidedRow, decided_row
from sordino_analysis.kinds.measured_side import side_of_plan
from sordino_analysis.kinds.two_campaigns import ComparedCampaign, ComparisonExtras, ComparisonKind
from sordino_server.aggregates import LogPurged, aggregate
from sordino_server.answers.comparison import ComparedRound, ComparisonTerms, names_of
from sordino_server.answers.on_demand_computing import database_at, plan_of
from sordino_server.answers.repository import primary_and_looks
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_shared.protocol import DevicePart, Problem

Plan = tuple[DevicePart, AnalystPart]


def compute_comparison(url: str, left: ComparedRound, right: ComparedRound, terms: ComparisonTerms) -> bytes:
    """The document of the right campaign's answers less the left one's; raises ServerError or InvalidValue."""
    database, names = database_at(url), names_of(left, right)
    plans = [plan_of(database, each.closed) for each in (left, right)]
    are_arms = left.closed == right.closed
    if are_arms:
        # Arms are samples of one population.
        terms = replace(terms, population=True)
    try:
        sides = [_side(database, *pair, terms.level) for pair in zip((left, right), plans, strict=True)]
        found: AnyDifference = (
            _arms(database, left, right, sides, plans, terms) if are_arms else _campaigns(sides, terms)
        )
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    columns, decided = columns_of_difference(found, *names), _decided(database, left, *names) if are_arms else None
    extras = ComparisonExtras(
        warnings=tuple(each for each in found.warnings if not are_arms or each != DIFFERENT_PEOPLE),
        left=_compared(left, names[0], sides[0], plans[0]),
        right=_compared(right, names[1], sides[1], plans[1]),
        population=terms.population,
        decided=None if decided is None else decided.sentence,
    )
    return EstimateDocument.of_columns(
        ComparisonKind.name,
        columns if decided is None else decided.put_into(columns),
        extras,
        users=found.users,
        compared=len(found.labels),
        level=found.level,
        bias_bound=found.bias_bound,
    ).content()


def _campaigns(sides: Sequence[Side], terms: ComparisonTerms) -> AnyDifference:
    return compared(*sides, only=terms.queries or None, population=terms.population)


def _arms(
    database: Database,
    left: ComparedRound,
    right: ComparedRound,
    sides: Sequence[Side],
    plans: Sequence[Plan],
    terms: ComparisonTerms,
) -> Difference:
    """The right arm less the left one, with a band that holds every arm less the left one at once."""
    others: dict[int | None, Side] = {}
    # In the order of the arms, so that draws behind the quantile are the same whichever arm is asked about.
    for arm in range(len(left.arms)):
        if arm == right.arm:
            others[arm] = sides[1]
        elif arm != left.arm:
            with suppress(EstimationError):  # An arm without reports is compared with none.
                others[arm] = _side(database, replace(left, arm=arm), plans[0], terms.level)
    found = differences(sides[0], list(others.values()), only=terms.queries or None, population=True)
    return found[list(others).index(right.arm)]


def _decided(database: Database, of: ComparedRound, left: str, right: str) -> DecidedRow | None:
    with database.read("read looks of arms") as session:
        found = primary_and_looks(session, of.closed.campaign)
    return None if found is None else decided_row(found[0], [json.loads(each) for each in found[1]], left, right)


def _side(database: Database, of: ComparedRound, plan: Plan, level: float) -> Side:
    total = aggregate(database, of.closed.number, plan[0].randomizer, arm=of.arm)
    return side_of_plan(*plan, total, level, of.closed.blanket)


def _compared(of: ComparedRound, name: str, side: Side, plan: Plan) -> ComparedCampaign:
    device, analyst = plan
    return ComparedCampaign(
        campaign_id=of.closed.campaign,
        name=name if of.arm is None else of.name,
        arm=of.arm_name,
        users=side.users,
        epsilon=device.guarantee.epsilon,
        mechanism=analyst.mechanism,
    )
