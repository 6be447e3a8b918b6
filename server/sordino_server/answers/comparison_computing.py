"""Differences of two closed campaigns, of arms, or of windows: a function of the database alone.

Only the process that answers questions imports this module: it needs the estimators.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import singledispatch

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.comparisons.columns import columns_of_difference, columns_of_shifts
from sordino_analysis.comparisons.difference import DIFFERENT_PEOPLE, Side
from sordino_analysis.comparisons.measures import AnyDifference, compared, compared_arms
from sordino_analysis.comparisons.quantile_shift import QuantileShift, bias_of, quantile_shifts
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.linear import EstimationError
from sordino_analysis.experiments.decided import counts_contradict, decided_row, without_verdicts
from sordino_analysis.kinds.asked_side import side_of_distribution
from sordino_analysis.kinds.measured_side import side_of_plan
from sordino_analysis.kinds.two_campaigns import ComparedCampaign, ComparisonExtras, ComparisonKind
from sordino_server.aggregates import LogPurged, aggregate
from sordino_server.answers.compared_window import ComparedWindow
from sordino_server.answers.comparison import Compared, ComparedRound, ComparisonTerms, names_of, two_arms
from sordino_server.answers.on_demand_computing import database_at, plan_of
from sordino_server.answers.repository import rule_and_looks
from sordino_server.answers.series_computing import window_of_series
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart, Problem

Plan = tuple[DevicePart, AnalystPart]
_Columns = Mapping[str, Sequence[Cell]]


def compute_comparison(url: str, left: Compared, right: Compared, terms: ComparisonTerms) -> bytes:
    """The document of the right campaign's answers less the left one's; raises ServerError or InvalidValue."""
    database, names = database_at(url), names_of(left, right)
    arms = two_arms(left, right)
    if arms is not None or terms.quantiles:
        # Arms are samples of one population, and shifts of quantiles are of populations.
        terms = replace(terms, population=True)
    try:
        sides = [_planned(each, database, terms) for each in (left, right)]
        if terms.quantiles:
            others = 1 if arms is None else len(arms[0].arms) - 1
            shifts = quantile_shifts(sides[0].side, sides[1].side, terms.quantiles, pairs=others)
            extras = _extras((left, right), names, sides, terms, () if arms else (DIFFERENT_PEOPLE,))
            told = columns_of_shifts(shifts, *names)
            if arms is not None:
                told, _ = _by_looks(database, arms[0], names, told)
            return _shifts(shifts, told, extras, sum(bias_of(each.side) for each in sides))
        found: AnyDifference = (
            compared(sides[0].side, sides[1].side, only=terms.queries or None, population=terms.population)
            if arms is None
            else _arms(database, *arms, sides, terms)
        )
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error
    except LogPurged as error:
        raise ServerError(Problem.ILLEGAL_TRANSITION, str(error)) from error
    columns = columns_of_difference(found, *names)
    extras = _extras((left, right), names, sides, terms, found.warnings)
    if arms is not None:
        columns, sentence = _by_looks(database, arms[0], names, columns)
        extras = extras.model_copy(update={"decided": sentence})
    return EstimateDocument.of_columns(
        ComparisonKind.name,
        columns,
        extras,
        users=found.users,
        compared=len(found.labels),
        level=found.level,
        bias_bound=found.bias_bound,
    ).content()


def _extras(
    of: tuple[Compared, Compared],
    names: tuple[str, str],
    sides: Sequence[_Planned],
    terms: ComparisonTerms,
    warnings: tuple[str, ...],
) -> ComparisonExtras:
    left, right = (_described(*each) for each in zip(of, names, sides, strict=True))
    return ComparisonExtras(warnings=warnings, left=left, right=right, population=terms.population)


def _shifts(
    found: Sequence[tuple[QuantileShift, QuantileShift]], columns: _Columns, extras: ComparisonExtras, bias: float
) -> bytes:
    """The document of shifts of quantiles."""
    return EstimateDocument.of_columns(
        ComparisonKind.name,
        columns,
        extras,
        users=extras.left.users + extras.right.users,
        compared=len(found),
        level=found[0][0].level,
        bias_bound=bias,
    ).content()


def _arms(
    database: Database, left: ComparedRound, right: ComparedRound, sides: Sequence[_Planned], terms: ComparisonTerms
) -> AnyDifference:
    """The right arm less the left one, with a band that holds every arm less the left one at once."""
    others: dict[int | None, Side] = {}
    # In the order of the arms, so that draws behind the quantile are the same whichever arm is asked about.
    for arm in range(len(left.arms)):
        if arm == right.arm:
            others[arm] = sides[1].side
        elif arm != left.arm:
            with suppress(EstimationError):  # An arm without reports is compared with none.
                others[arm] = _side(database, replace(left, arm=arm), sides[0].plan, terms)
    found = compared_arms(sides[0].side, list(others.values()), only=terms.queries or None)
    return found[list(others).index(right.arm)]


def _by_looks(
    database: Database, of: ComparedRound, names: tuple[str, str], columns: _Columns
) -> tuple[dict[str, Sequence[Cell]], str | None]:
    """The columns of two arms, left and right, with what the looks say of them, and which look's row there is, if any.

    The row of the query that decides is that of its look; none has a verdict where counts contradict the weights.
    """
    with database.read("read looks of arms") as session:
        found = rule_and_looks(session, of.closed.campaign)
        if found is None:
            return dict(columns), None
        rule, texts = found
        looks = [json.loads(each) for each in texts]
        decided = decided_row(rule.primary_query, rule.level, looks, *names)
    sentence = None if decided is None or not decided.is_asked(columns) else decided.sentence
    told = dict(columns) if decided is None else decided.put_into(columns)
    return (without_verdicts(told) if counts_contradict(looks) else told), sentence


def _side(database: Database, of: ComparedRound, plan: Plan, terms: ComparisonTerms) -> Side:
    total, blanket = aggregate(database, of.closed.number, plan[0].randomizer, arm=of.arm), of.closed.blanket_of(of.arm)
    if terms.distribution is not None:
        return side_of_distribution(*plan, total, terms.level, terms.distribution, blanket)
    return side_of_plan(*plan, total, terms.level, blanket)


@dataclass(frozen=True)
class _Planned:
    """A side, and the plan that its reports are of."""

    side: Side
    plan: Plan


@singledispatch
def _planned(of: object, database: Database, terms: ComparisonTerms) -> _Planned:
    """The side of what is compared, at this level."""
    raise TypeError(f"{type(of).__name__} is not compared")


@_planned.register
def _(of: ComparedRound, database: Database, terms: ComparisonTerms) -> _Planned:
    plan = plan_of(database, of.closed)
    return _Planned(_side(database, of, plan, terms), plan)


@_planned.register
def _(of: ComparedWindow, database: Database, terms: ComparisonTerms) -> _Planned:
    if terms.distribution is not None:
        raise InvalidValue(
            "/query/distribution: it is asked of campaigns: of a series compare its prefix sums", terms.distribution
        )
    found = window_of_series(database, of.campaign, of.question(terms.level), of.now)
    return _Planned(Side.of_window(found.answers), (found.estimator.device, found.estimator.analyst))


def _described(of: Compared, name: str, planned: _Planned) -> ComparedCampaign:
    device, analyst = planned.plan
    return ComparedCampaign(
        campaign_id=of.campaign,
        # The column has the name of the arm alone where both are arms of one campaign.
        name=of.name if of.is_arm else name,
        arm=of.arm_name if isinstance(of, ComparedRound) else None,
        users=planned.side.users,
        epsilon=device.guarantee.epsilon,
        mechanism=analyst.mechanism,
    )
