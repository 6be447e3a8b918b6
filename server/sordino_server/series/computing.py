"""The document of a series: a function of the database alone, from counts and not from reports.

Only the process that answers questions imports this module: it needs the estimators.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from sordino_analysis.arrays import Floats
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.panel.period_answers import Change, PeriodAnswers
from sordino_analysis.panel.series import SeriesEstimates, series_estimator
from sordino_analysis.panel.smoother import SENTENCES, Trend
from sordino_analysis.questions.linear.operators import Indices
from sordino_analysis.questions.linear.scopes import bounds_of
from sordino_server import aggregates
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.series_terms import lasting
from sordino_server.errors import ServerError
from sordino_server.estimates.schemas import Interval, PlanDigests
from sordino_server.kit.db import Database
from sordino_server.plans import service as plans
from sordino_server.series import repository
from sordino_server.series.schemas import (
    ChangeEntry,
    ListedQuery,
    PeriodEntry,
    PeriodFigures,
    SeriesDocument,
    TrendEntry,
    WindowEntry,
)
from sordino_server.series.service import PeriodsOfAnswer, SeriesQuestion, asked_periods
from sordino_shared.protocol import Manifest, Problem

_KEPT_PLANS = 4


def compute_series(url: str, campaign: str, question: SeriesQuestion, now: int) -> bytes:
    """The document; raises ServerError or InvalidValue for a question that has none."""
    return series_document(_database(url), campaign, question, now).content()


def series_document(database: Database, campaign: str, question: SeriesQuestion, now: int) -> SeriesDocument:
    """Estimates of the closed periods that are asked for; the open ones have their counts so far."""
    with database.read("read series") as session:
        asked = asked_periods(session, campaign, question, now)
        manifest = Manifest.read(campaigns.get(session, campaign).manifest)
        shards = repository.shards_between(session, campaign, asked.first, asked.last)
    reference = manifest.rounds[0].plan
    assert reference is not None
    url = database.url.render_as_string(hide_password=False)
    estimator = _estimator(url, str(reference.device), str(reference.analyst))
    counts: dict[int, int] = {}
    for number, count, _ in shards:
        counts[number] = counts.get(number, 0) + count
    sums = _aggregates(database, asked, estimator, shards)
    series = SeriesEstimates.of(estimator, sums, asked.row.slots, question.level)
    return _document(manifest, asked, question, series, counts)


@lru_cache(maxsize=1)
def _database(url: str) -> Database:
    return Database(url, connections=1)


@lru_cache(maxsize=_KEPT_PLANS)
def _estimator(url: str, device: str, analyst: str) -> LinearEstimator:
    with _database(url).read("read plan of series") as session:
        parts = plans.device_part(session, device), plans.analyst_part(session, analyst)
    try:
        return series_estimator(*parts)
    except EstimationError as error:
        raise ServerError(Problem.INVALID_REQUEST, str(error)) from error


def _aggregates(
    database: Database, request: PeriodsOfAnswer, estimator: LinearEstimator, shards: Iterable[tuple[int, int, bytes]]
) -> dict[int, Aggregate]:
    """What the reports of each closed period add up to; from the log where sums are not kept on ingest."""
    randomizer = estimator.device.randomizer
    if not aggregates.summed_on_ingest(randomizer):
        return {number: aggregates.aggregate(database, row, randomizer) for number, row in request.closed.items()}
    by_row = {row: Aggregate.empty(randomizer) for row in request.closed.values()}
    for row, count, content in shards:
        if row in by_row:
            by_row[row] += Aggregate.from_bytes(count, content)
    return {number: by_row[row] for number, row in request.closed.items()}


def _document(
    manifest: Manifest,
    request: PeriodsOfAnswer,
    question: SeriesQuestion,
    series: SeriesEstimates,
    counts: dict[int, int],
) -> SeriesDocument:
    estimator, row = series.estimator, request.row
    published = PublishedQueries.of(estimator.device, estimator.analyst)
    chosen = published.numbers
    changes = series.changes(question.window, request.first, request.last, question.by)
    trend = series.trend(request.first, request.last) if question.trend else None
    windows = series.windows(question.window, request.first, request.last, question.by)
    return SeriesDocument(
        campaign=str(manifest.campaign),
        plan=PlanDigests(device=str(estimator.device.digest), analyst=str(estimator.analyst.digest)),
        workload=estimator.analyst.workload,
        mechanism=estimator.analyst.mechanism,
        epsilon=estimator.device.guarantee.epsilon,
        slots=row.slots,
        period_s=row.period_s,
        value_of="previous" if row.lag else "current",
        level=question.level,
        by=question.by,
        window=question.window,
        comparisons=changes[0].comparisons if changes else 0,
        warnings=[*published.note, *series.warnings, *_warnings(request)],
        queries=_queries(published),
        periods=_periods(request, series, counts, chosen),
        windows=[
            WindowEntry(first=one.first, last=one.last, missing=one.missing, answers=_answers(one, chosen))
            for one in windows
        ],
        changes=[_change(one, chosen) for one in changes],
        trend=None if trend is None else _trend(trend, chosen),
    )


def _warnings(request: PeriodsOfAnswer) -> list[str]:
    row = request.row
    if not row.lag:
        return []
    return [
        f"periods are about devices that were active again in the {lasting(row.period_s + row.late_s)} after them: "
        "others reported nothing"
    ]


def _queries(published: PublishedQueries) -> list[ListedQuery]:
    workload = published.workload
    scopes = [(query, workload.scope(query)) for query in published.numbers.tolist()]
    return [
        ListedQuery(label=workload.label(query), kind=scope.kind, bounds=bounds_of(workload.domain, scope.sides))
        for query, scope in scopes
    ]


def _periods(
    request: PeriodsOfAnswer, series: SeriesEstimates, counts: dict[int, int], chosen: Indices
) -> list[PeriodEntry]:
    row = request.row
    points = {one.first: one for one in series.windows(1, request.first, request.last)}
    entries = []
    for number in range(request.first, request.last + 1):
        reports = counts.get(request.closed.get(number, request.open.get(number, -1)), 0)
        start = row.start + number * row.period_s
        known = number in points
        entries.append(
            PeriodEntry(
                period=number,
                start=start,
                end=start + row.period_s,
                state=request.states[number],
                reports=reports,
                active=row.slots * reports if known else None,
                active_standard_error=math.sqrt(row.slots * reports * (row.slots - 1)) if known else None,
                answers=_answers(points[number], chosen) if known else None,
            )
        )
    return entries


def _answers(answers: PeriodAnswers, chosen: Indices) -> PeriodFigures:
    return PeriodFigures(
        target=answers.target,
        reports=answers.reports,
        value=answers.value[chosen].tolist(),
        uncut=answers.unbiased[chosen].tolist(),
        standard_error=answers.standard_error[chosen].tolist(),
        interval=_intervals(answers.interval, chosen),
        population_standard_error=answers.population_standard_error[chosen].tolist(),
        population_interval=_intervals(answers.population_interval, chosen),
        band=_intervals(answers.band, chosen),
        **_held(answers, chosen),
    )


def _change(change: Change, chosen: Indices) -> ChangeEntry:
    return ChangeEntry(
        earlier=change.earlier,
        later=change.later,
        value=change.value[chosen].tolist(),
        standard_error=change.standard_error[chosen].tolist(),
        population_standard_error=change.population_standard_error[chosen].tolist(),
        interval=_intervals(change.interval, chosen),
        population_interval=_intervals(change.population_interval, chosen),
        marked=change.marked[chosen].tolist(),
        **_held(change, chosen),
    )


def _held(answers: PeriodAnswers | Change, chosen: Indices) -> dict[str, Any]:
    # The fourth digit of a coverage is below what the estimated histogram leaves open.
    def rounded(shares: Sequence[float | None]) -> list[float | None]:
        each = (shares[query] for query in chosen.tolist())
        return [None if share is None else round(share, 4) for share in each]

    return {
        "coverage": rounded(answers.coverage),
        "population_coverage": rounded(answers.population_coverage),
        "enough_reports": [answers.enough_reports[query] for query in chosen.tolist()],
        "warnings": list(answers.warnings),
    }


def _trend(trend: Trend, chosen: Indices) -> TrendEntry:
    return TrendEntry(
        periods=list(trend.periods),
        value=trend.value[:, chosen].tolist(),
        variance=trend.variance[:, chosen].tolist(),
        step_variance=trend.step_variance[chosen].tolist(),
        decay=trend.decay[chosen].tolist(),
        weights=[trend.weights(query)[-1].tolist() for query in chosen.tolist()],
        notes=list(SENTENCES),
    )


def _intervals(intervals: Floats | None, chosen: Indices) -> list[Interval] | None:
    return None if intervals is None else [(low, high) for low, high in intervals[chosen].tolist()]
