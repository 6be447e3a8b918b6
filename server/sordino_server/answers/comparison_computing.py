"""Differences of two closed campaigns: a function of the database alone.

Only the process that answers questions imports this module: it needs the estimators.
"""

from __future__ import annotations

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.comparisons.columns import columns_of_difference
from sordino_analysis.comparisons.difference import Side, difference
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.kinds.two_campaigns import ComparedCampaign, ComparisonExtras, ComparisonKind
from sordino_server.aggregates import LogPurged, aggregate
from sordino_server.answers.comparison import ComparedRound, ComparisonTerms, names_of
from sordino_server.answers.on_demand_computing import database_at, plan_of
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_shared.protocol import DevicePart, Problem

Plan = tuple[DevicePart, AnalystPart]


def compute_comparison(url: str, left: ComparedRound, right: ComparedRound, terms: ComparisonTerms) -> bytes:
    """The document of the right campaign's answers less the left one's; raises ServerError or InvalidValue."""
    database, names = database_at(url), names_of(left, right)
    plans = [plan_of(database, each.closed) for each in (left, right)]
    try:
        sides = [_side(database, *pair, terms.level) for pair in zip((left, right), plans, strict=True)]
        found = difference(*sides, only=terms.queries or None, population=terms.population)
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    extras = ComparisonExtras(
        warnings=found.warnings,
        left=_compared(left, names[0], sides[0], plans[0]),
        right=_compared(right, names[1], sides[1], plans[1]),
        population=terms.population,
    )
    return EstimateDocument.of_columns(
        ComparisonKind.name,
        columns_of_difference(found, *names),
        extras,
        users=found.users,
        compared=len(found.queries),
        level=found.level,
        bias_bound=found.bias_bound,
    ).content()


def _side(database: Database, of: ComparedRound, plan: Plan, level: float) -> Side:
    total = aggregate(database, of.closed.number, plan[0].randomizer)
    return Side.of_plan(*plan, total, level, of.closed.blanket)


def _compared(of: ComparedRound, name: str, side: Side, plan: Plan) -> ComparedCampaign:
    device, analyst = plan
    return ComparedCampaign(
        campaign_id=of.closed.campaign,
        name=name,
        users=side.users,
        epsilon=device.guarantee.epsilon,
        mechanism=analyst.mechanism,
    )
