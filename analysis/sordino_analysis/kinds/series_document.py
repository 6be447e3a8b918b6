"""The estimates of a series as a document, and as columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sordino_analysis.answers.columns import Cell
from sordino_analysis.answers.document import EstimateDocument
from sordino_analysis.answers.filling import cells_of_estimate
from sordino_analysis.answers.table import joined
from sordino_analysis.estimation.normality import columns_of_laws
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.kinds.series import SeriesExtras, SeriesStates, TrendTerms, iso_moment
from sordino_analysis.panel.period_answers import By, Change, PeriodAnswers
from sordino_analysis.panel.series import SeriesEstimates
from sordino_analysis.panel.smoother import SENTENCES, Trend
from sordino_analysis.questions.linear.columns import columns_of_queries

Columns = Mapping[str, Sequence[Cell]]


@dataclass(frozen=True, kw_only=True)
class SeriesRange:
    """Periods `first` … `last`, windows of `window` of them weighted by `by`, and whether a trend is asked for."""

    first: int
    last: int
    window: int
    by: By = "reports"
    trend: bool = False


def series_document(series: SeriesEstimates, asked: SeriesRange, terms: SeriesStates) -> EstimateDocument:
    """Estimates of the periods that have reports, of windows, of changes between windows, and the trend."""
    device, analyst = series.estimator.device, series.estimator.analyst
    published = PublishedQueries.of(device, analyst)
    rows = _Rows(series, published.numbers.tolist())
    made = rows.of(asked)
    extras = SeriesExtras(
        workload=analyst.workload,
        slots=series.slots,
        period_s=terms.period_s,
        value_of="previous" if terms.of_previous else "current",
        by=asked.by,
        window=asked.window,
        comparisons=made.comparisons,
        blanket=series.blanket or None,
        periods=[
            terms.listed(number, series.slots, known=number in series.periods)
            for number in range(asked.first, asked.last + 1)
        ],
        trend=None if made.trend is None else _trend(made.trend, rows.queries),
        warnings=(*published.note, *series.warnings, *terms.warnings),
    )
    starts = [None if number is None else iso_moment(terms.begins(int(number))) for number in made.columns["period"]]
    return EstimateDocument.of_columns(
        "series",
        {**made.columns, "period_start": starts},
        extras,
        campaign_id=terms.campaign,
        epsilon=device.guarantee.epsilon,
        level=series.level,
        bias_bound=analyst.figures.bias_bound,
        validity="worst_case",
        mechanism=analyst.mechanism,
        plan_device=str(device.digest),
        plan_analyst=str(analyst.digest),
    )


def series_columns(series: SeriesEstimates, asked: SeriesRange) -> Columns:
    """The columns of the answers to all queries, without how often intervals hold."""
    return _Rows(series, range(series.estimator.workload.queries), judged=False).of(asked).columns


@dataclass(frozen=True)
class _Made:
    """Columns with a row for each answer, how many changes are compared, and the trend that was asked for."""

    columns: dict[str, Sequence[Cell]]
    comparisons: int
    trend: Trend | None


@dataclass(frozen=True)
class _Rows:
    """What makes rows of the estimates: a block with a row for each of the `queries` of a point after the other."""

    series: SeriesEstimates
    queries: Sequence[int]
    judged: bool = True

    def of(self, asked: SeriesRange) -> _Made:
        series, first, last = self.series, asked.first, asked.last
        changes = series.changes(asked.window, first, last, asked.by)
        trend = series.trend(first, last) if asked.trend else None
        blocks = [
            *(self._point(one, part="period") for one in series.windows(1, first, last)),
            *(
                self._point(one, part="window", period_last=one.last)
                for one in series.windows(asked.window, first, last, asked.by)
            ),
            *(self._change(one) for one in changes),
            *(() if trend is None else self._line(trend)),
        ]
        about = columns_of_queries(series.estimator.workload, self.queries)
        columns: dict[str, Sequence[Cell]] = {name: [*cells] * len(blocks) for name, cells in about.items()}
        empty: list[Cell] = [None] * len(self.queries)
        names = dict.fromkeys(["period", *(name for block in blocks for name in block)])
        columns |= {name: [cell for block in blocks for cell in block.get(name, empty)] for name in names}
        return _Made(columns, changes[0].comparisons if changes else 0, trend)

    def _point(self, one: PeriodAnswers, **cells: Cell) -> Columns:
        return self._block(one, period=one.first, users=one.reports, target=one.target, **cells)

    def _change(self, one: Change) -> Columns:
        (begin, end), (first, last) = one.earlier, one.later
        verdicts: list[Cell] = [
            ("higher" if one.value[query] > 0 else "lower") if one.marked[query] else "undecided"
            for query in self.queries
        ]
        named = {"left": f"periods {begin} to {end}", "right": f"periods {first} to {last}"}
        return {**self._block(one, part="change", period=first, period_last=last, **named), "verdict": verdicts}

    def _line(self, trend: Trend) -> Iterable[Columns]:
        for period, line in zip(trend.periods, trend.value, strict=True):
            yield {**self._same({"part": "trend", "period": period}), "value": line[list(self.queries)].tolist()}

    def _block(self, one: PeriodAnswers | Change, **cells: Cell) -> Columns:
        if self.judged:
            cells["warnings"] = joined(one.warnings)
        laws = columns_of_laws([one.normality[query] for query in self.queries]) if self.judged else {}
        return {**self._same(cells), **cells_of_estimate(one, self.queries), **laws}

    def _same(self, cells: Mapping[str, Cell]) -> dict[str, Sequence[Cell]]:
        return {name: [cell] * len(self.queries) for name, cell in cells.items()}


def _trend(trend: Trend, queries: Sequence[int]) -> TrendTerms:
    chosen = list(queries)
    return TrendTerms(
        variance=trend.variance[:, chosen].tolist(),
        step_variance=trend.step_variance[chosen].tolist(),
        decay=trend.decay[chosen].tolist(),
        weights=[trend.weights(query)[-1].tolist() for query in chosen],
        notes=list(SENTENCES),
    )
