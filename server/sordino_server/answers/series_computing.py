"""The document of a series: a function of the database alone, from counts and not from reports.

Only the process that answers questions imports this module: it needs the estimators.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.kinds.registry import kind_named
from sordino_analysis.kinds.series import SeriesStates
from sordino_analysis.kinds.series_document import SeriesRange, series_document
from sordino_analysis.kinds.string_series_document import string_series_document
from sordino_analysis.panel.period_answers import PeriodAnswers
from sordino_analysis.panel.series import SeriesEstimates, series_estimator
from sordino_server import aggregates
from sordino_server.answers import repository
from sordino_server.answers.series import PeriodsOfAnswer, SeriesQuestion, asked_periods
from sordino_server.answers.stored import read_estimate
from sordino_server.campaigns import service as campaigns
from sordino_server.campaigns.series_terms import lasting
from sordino_server.errors import ServerError
from sordino_server.kit.db import Database
from sordino_server.plans import service as plans
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import Manifest, Problem

_KEPT_PLANS = 4


def compute_series(url: str, campaign: str, question: SeriesQuestion, now: int) -> bytes:
    """The document; raises ServerError or InvalidValue for a question that has none."""
    return document_of_series(_database(url), campaign, question, now).content()


def window_of_series(database: Database, campaign: str, question: SeriesQuestion, now: int) -> WindowOfSeries:
    """The answers of all periods that are asked for as one window; raises ServerError where none has reports."""
    read = _read(database, campaign, question, now)
    found = read.series.window(read.asked.first, read.asked.last, question.by)
    if found is None:
        detail = f"campaign {campaign}: no report was counted in the periods {read.asked.first} to {read.asked.last}"
        raise ServerError(Problem.ESTIMATE_NOT_READY, detail, state="closed")
    return WindowOfSeries(found, read.series.estimator)


def document_of_series(database: Database, campaign: str, question: SeriesQuestion, now: int) -> EstimateDocument:
    """Estimates of the closed periods that are asked for; the open ones have their counts so far."""
    with database.read("read kind of series") as session:
        kind = kind_named(campaigns.get(session, campaign).kind)
    if kind.remembers_periods:
        return _of_estimates(database, campaign, question, now)
    read = _read(database, campaign, question, now)
    shown = SeriesRange(
        first=read.asked.first, last=read.asked.last, window=question.window, by=question.by, trend=question.trend
    )
    return series_document(read.series, shown, _states(campaign, read.asked, read.counts))


def _of_estimates(database: Database, campaign: str, question: SeriesQuestion, now: int) -> EstimateDocument:
    """Lists of the estimated periods: what is found in reports is not added up over windows."""
    if question.trend or question.by != "reports":
        raise InvalidValue("/query: lists of strings have no windows and no smoothed line: leave out trend and by")
    with database.read("read series") as session:
        asked = asked_periods(session, campaign, question, now)
        manifest = Manifest.read(campaigns.get(session, campaign).manifest)
        counts = _counts(repository.shards_between(session, campaign, asked.first, asked.last))
        stored = repository.estimates_between(session, campaign, asked.first, asked.last)
        reference = manifest.rounds[0].plan
        assert reference is not None, "as of every series"
        device = plans.device_part(session, str(reference.device))
        analyst = plans.analyst_part(session, str(reference.analyst))
    estimates = {number: read_estimate(content) for number, content in stored.items()}
    terms = _states(campaign, asked, counts)
    return string_series_document(estimates, terms, device=device, analyst=analyst, slots=asked.row.slots)


def _states(campaign: str, asked: PeriodsOfAnswer, counts: Counter[int]) -> SeriesStates:
    return SeriesStates(
        campaign=campaign,
        start=asked.row.start,
        period_s=asked.row.period_s,
        of_previous=bool(asked.row.lag),
        states={number: asked.states[number] for number in range(asked.first, asked.last + 1)},
        reports={number: _users(counts[row], asked) for number, row in {**asked.open, **asked.closed}.items()},
        warnings=_warnings(asked),
    )


@dataclass(frozen=True)
class WindowOfSeries:
    """A window, and the estimator of the series' plan."""

    answers: PeriodAnswers
    estimator: LinearEstimator


@dataclass(frozen=True)
class _Read:
    """The periods that are asked for, the estimates of the closed ones, and how many reports each row has."""

    asked: PeriodsOfAnswer
    series: SeriesEstimates
    counts: Counter[int]


def _read(database: Database, campaign: str, question: SeriesQuestion, now: int) -> _Read:
    with database.read("read series") as session:
        asked = asked_periods(session, campaign, question, now)
        manifest = Manifest.read(campaigns.get(session, campaign).manifest)
        shards = repository.shards_between(session, campaign, asked.first, asked.last)
    reference = manifest.rounds[0].plan
    assert reference is not None
    url = database.url.render_as_string(hide_password=False)
    estimator = _estimator(url, str(reference.device), str(reference.analyst))
    counts = _counts(shards)
    sums = _aggregates(database, asked, estimator, shards)
    series = SeriesEstimates.of(estimator, sums, asked.row.slots, question.level, asked.blanket)
    return _Read(asked, series, counts)


def _counts(shards: Iterable[tuple[int, int, bytes]]) -> Counter[int]:
    """How many reports each row has so far."""
    counts = Counter[int]()
    for number, count, _ in shards:
        counts[number] += count
    return counts


def _users(reports: int, asked: PeriodsOfAnswer) -> int:
    """Reports of devices; of an open period behind a shuffler nobody knows how many there are."""
    return max(0, reports - asked.blanket)


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


def _warnings(request: PeriodsOfAnswer) -> list[str]:
    row = request.row
    if not row.lag:
        return []
    return [
        f"periods are about devices that were active again in the {lasting(row.period_s + row.late_s)} after them: "
        "others reported nothing"
    ]
