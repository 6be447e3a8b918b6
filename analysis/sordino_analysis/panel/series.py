"""A series of periods: estimates of each, of windows, of changes between them, and its trend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np

from sordino_analysis.arrays import SUM_TOLERANCE, Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.estimation.few_attributes import MOST_LISTED_TYPES
from sordino_analysis.estimation.intervals import bonferroni_quantile, normal_quantile
from sordino_analysis.estimation.linear import EstimationError, LinearEstimator
from sordino_analysis.evaluation.accumulate import Aggregate
from sordino_analysis.evaluation.listing import PublishedQueries
from sordino_analysis.panel.means import Mean, PooledMean, WeightedMean
from sordino_analysis.panel.period_answers import LEAST_REPORTS, By, Change, PeriodAnswers, target_of
from sordino_analysis.panel.smoother import Trend, smoothed_trend
from sordino_shared.errors import InvalidValue
from sordino_shared.protocol import DevicePart
from sordino_shared.quantities import quantity

# A device answers once in so many periods at most.
MOST_SLOTS = 4096
MOST_PERIODS = 2**32
# Periods times queries whose laws are worked out, in about a second, and whose coverage is, in some seconds where few
# events make up the errors. Of more, bands and marks are normal and no coverage is stated.
MOST_LAWS = 50_000
# Answers whose intervals are compared with exact laws; of more, moments judge.
MOST_JUDGED = 5_000

Window = tuple[int, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesEstimates:
    """Reports of closed periods of one plan, by the number of the period; each device has one turn in `slots` periods.

    Periods without reports are absent: nothing is interpolated. Errors of different periods are independent, since
    devices or their noise are fresh, so that an estimate with weights w has variance Σ w_i² V_i/n_i.

    `blanket` of the reports of each period are random ones of a shuffler: p periods have p·m of them. Their expected
    sum is subtracted, and their law is part of that of the error.
    """

    estimator: LinearEstimator
    periods: Mapping[int, Aggregate]
    slots: int
    level: float
    blanket: int = 0

    @classmethod
    def of(
        cls,
        estimator: LinearEstimator,
        periods: Mapping[int, Aggregate],
        slots: int,
        level: float = 0.95,
        blanket: int = 0,
    ) -> SeriesEstimates:
        """The periods that have reports of devices; raises InvalidValue for numbers that are none of a series."""
        if not 1 <= slots <= MOST_SLOTS:
            raise InvalidValue(f"a series has 1 to {MOST_SLOTS} slots, got {slots}", slots)
        if not 0 < level < 1:
            raise InvalidValue(f"the level of an interval lies between 0 and 1, got {level}", level)
        outside = [index for index in periods if not 0 <= index < MOST_PERIODS]
        if outside:
            raise InvalidValue(f"periods are numbered from 0 to 2^32 - 1, got {outside[0]}", outside[0])
        reporting = {index: periods[index] for index in sorted(periods) if periods[index].count > blanket}
        return cls(estimator=estimator, periods=reporting, slots=slots, level=level, blanket=blanket)

    @property
    def warnings(self) -> tuple[str, ...]:
        """One sentence where answers are so many that it is not worked out how often their intervals hold."""
        answers = self.estimator.workload.queries * len(self.periods)
        if answers <= MOST_JUDGED:
            return ()
        normal = "; bands and marks take their errors to be normal" if answers > MOST_LAWS else ""
        return (
            f"how often intervals hold was not worked out: {quantity(self.estimator.workload.queries, 'query')} in "
            f"{quantity(len(self.periods), 'period')} are more than {MOST_JUDGED:,} answers{normal}; use fewer periods",
        )

    def period(self, index: int) -> PeriodAnswers | None:
        """The estimate of one period; None where it has no reports."""
        return self.window(index, index)

    def window(self, first: int, last: int, by: By = "reports") -> PeriodAnswers | None:
        """The mean of the periods `first` … `last`; None where none has reports.

        `by` "reports" pools all reports, for the mean active device-period; "periods" is the mean of the periods.
        Raises InvalidValue where the window ends before it begins.
        """
        if last < first:
            raise InvalidValue(f"a window of periods cannot end before it begins, got {first} to {last}", last)
        return self._point((first, last), by, None) if self._reporting(first, last) else None

    def windows(self, length: int, first: int, last: int, by: By = "reports") -> list[PeriodAnswers]:
        """All windows of `length` periods within `first` … `last`, as points of a chart with a band.

        The band has Bonferroni's quantile over the points that have reports: 3.14 for 30 of them at .95. Where few
        events make up an error, it is from the law of one report at the same level.
        Raises InvalidValue for a length below 1.
        """
        _check_length(length)
        every = [(start, start + length - 1) for start in range(first, last - length + 2)]
        windows = [window for window in every if self._reporting(*window)]
        quantile = bonferroni_quantile(self.level, max(1, len(windows)))
        return [self._point(window, by, quantile) for window in windows]

    def change(self, earlier: Window, later: Window, by: By = "reports") -> Change | None:
        """The window `later` less the window `earlier`; None where either has no reports.

        They may share periods: the variance is of the difference of their weights. A change is marked at the level that
        Bonferroni's inequality leaves to one of the queries.
        """
        return self._change(earlier, later, by, 1) if self._reporting(*earlier) and self._reporting(*later) else None

    def changes(self, length: int, first: int, last: int, by: By = "reports") -> list[Change]:
        """Changes between neighbours of the windows that begin at multiples of `length`, marked among all of these.

        Raises InvalidValue for a length below 1.
        """
        _check_length(length)
        starts = range(-(-first // length) * length, last - length + 2, length)
        windows = [(start, start + length - 1) for start in starts]
        pairs = [pair for pair in pairwise(windows) if all(self._reporting(*one) for one in pair)]
        return [self._change(*pair, by, len(pairs)) for pair in pairs]

    def trend(self, first: int, last: int) -> Trend | None:
        """The smoothed line through the periods `first` … `last`, drawn beside them; None without reports."""
        periods = self._reporting(first, last)
        if not periods:
            return None
        means = [self._pooled((index,)) for index in periods]
        return smoothed_trend(
            periods, np.array([mean.answers for mean in means]), np.array([mean.noise for mean in means])
        )

    @cached_property
    def _pooled_means(self) -> dict[tuple[int, ...], PooledMean]:
        """Those that were worked out, by their periods: windows share them with changes."""
        return {}

    def _reporting(self, first: int, last: int) -> tuple[int, ...]:
        """The periods of a window that have reports."""
        if len(self.periods) <= last - first:
            return tuple(index for index in self.periods if first <= index <= last)
        return tuple(index for index in range(first, last + 1) if index in self.periods)

    def _pooled(self, periods: tuple[int, ...]) -> PooledMean:
        if periods not in self._pooled_means:
            aggregate = reduce(add, (self.periods[index] for index in periods))
            answers = self.estimator.workload.queries * len(self.periods)
            self._pooled_means[periods] = PooledMean.of(
                self.estimator.among(aggregate, self.blanket * len(periods)),
                aggregate,
                self.slots,
                self.level,
                lawful=answers <= MOST_LAWS,
                judged=answers <= MOST_JUDGED,
            )
        return self._pooled_means[periods]

    def _mean(self, periods: tuple[int, ...], by: By) -> Mean:
        if len(periods) == 1 or by == "reports":
            return self._pooled(periods)
        weights = self._weights(periods, by)
        return WeightedMean([(weight, self._pooled((index,))) for index, weight in weights.items()], 1 - 1 / self.slots)

    def _weights(self, periods: Iterable[int], by: By) -> dict[int, float]:
        counts = {index: self._users(index) if by == "reports" else 1 for index in periods}
        total = sum(counts.values())
        return {index: count / total for index, count in counts.items()}

    def _enough(self, weights: Mapping[int, float]) -> bool:
        """Whether 1/Σ w_i²/n_i, which is all reports where they are pooled, suffices for an interval."""
        share = sum(weight**2 / self._users(index) for index, weight in weights.items())
        return share * LEAST_REPORTS <= 1 + SUM_TOLERANCE

    def _point(self, window: Window, by: By, chart: float | None) -> PeriodAnswers:
        """The estimate of a window; `chart` is the quantile of the band of the chart that it is a point of."""
        periods = self._reporting(*window)
        mean, enough = self._mean(periods, by), self._enough(self._weights(periods, by))
        z = normal_quantile(self.level)
        return PeriodAnswers(
            workload=self.estimator.workload,
            level=self.level,
            reliability=lambda: mean.normality,
            first=window[0],
            last=window[1],
            periods=periods,
            reports=self._reports(periods),
            target=target_of(*window, by),
            value=self._cut(mean.answers),
            uncut=mean.answers,
            standard_error=np.sqrt(mean.noise),
            population_standard_error=np.sqrt(mean.noise + mean.sampling),
            interval=self._cut(mean.interval(z)) if enough else None,
            population_interval=self._cut(mean.population_interval(z)) if enough else None,
            band=self._cut(mean.band(chart)) if enough and chart is not None else None,
            parts=mean.parts,
            aggregates=tuple(self.periods[index] for index in periods),
            unasked=self._sampled,
        )

    def _change(self, earlier: Window, later: Window, by: By, comparisons: int) -> Change:
        windows = self._reporting(*earlier), self._reporting(*later)
        before, after = (self._weights(periods, by) for periods in windows)
        mean, enough = self._difference(before, after, by), self._enough(before) and self._enough(after)
        comparisons *= max(1, len(self.estimator.workload.varying_rows))
        z, strict = normal_quantile(self.level), bonferroni_quantile(self.level, comparisons)
        low, high = mean.population_interval(strict).T if enough else np.zeros((2, len(mean.answers)))
        return Change(
            workload=self.estimator.workload,
            level=self.level,
            reliability=lambda: mean.normality,
            reports=self._reports({*windows[0], *windows[1]}),
            earlier=earlier,
            later=later,
            value=mean.answers,
            standard_error=np.sqrt(mean.noise),
            population_standard_error=np.sqrt(mean.noise + mean.sampling),
            interval=mean.interval(z) if enough else None,
            population_interval=mean.population_interval(z) if enough else None,
            comparisons=comparisons,
            marked=(low > 0) | (high < 0),
        )

    def _difference(self, before: Mapping[int, float], after: Mapping[int, float], by: By) -> WeightedMean:
        """One mean less another, of which periods that each report weighs the same in are decoded together."""
        blocks: dict[tuple[bool, bool, int], list[int]] = {}
        for index in sorted({*before, *after}):
            blocks.setdefault((index in before, index in after, 0 if by == "reports" else index), []).append(index)
        parts = [
            (sum(after.get(index, 0.0) - before.get(index, 0.0) for index in block), self._pooled(tuple(block)))
            for block in blocks.values()
        ]
        return WeightedMean(parts, self._sampled)

    @property
    def _sampled(self) -> float:
        """The factor of sampling in a difference: active devices answer all periods where there is one slot."""
        return 1.0 if self.slots > 1 else 0.0

    def _reports(self, periods: Iterable[int]) -> int:
        return sum(self._users(index) for index in periods)

    def _users(self, index: int) -> int:
        """Devices that reported in a period."""
        return self.periods[index].count - self.blanket

    def _cut(self, values: Floats) -> Floats:
        """Values (Q,) or ends (Q, 2), those of shares within [0, 1]."""
        shares = self.estimator.workload.operator.shares().reshape(-1, *[1] * (values.ndim - 1))
        return np.where(shares, np.clip(values, 0.0, 1.0), values)


def series_estimator(device: DevicePart, analyst: AnalystPart) -> LinearEstimator:
    """The plan of a series made ready to decode many periods.

    Raises EstimationError where the two parts are not of one plan, or its domain is too large for a series.
    """
    workload = PublishedQueries.of(device, analyst).workload
    if not workload.is_listed or workload.size > MOST_LISTED_TYPES:
        raise EstimationError(
            f"the domain of a series has at most {MOST_LISTED_TYPES} cells, this one has {workload.size}; take coarser "
            "bins, or a campaign of one round"
        )
    return LinearEstimator.of(device, analyst)


def _check_length(length: int) -> None:
    if length < 1:
        raise InvalidValue(f"a window has at least one period, got {length}", length)
