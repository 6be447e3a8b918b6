"""A series of periods: estimates of each, of windows, of changes between them, and its trend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import pairwise
from operator import add

import numpy as np

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

MOST_SLOTS = 4096
MOST_PERIODS = 2**32

Window = tuple[int, int]


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesEstimates:
    """Reports of closed periods of one plan, by the number of the period; each device has one turn in `slots` periods.

    Periods without reports are absent: nothing is interpolated. Errors of different periods are independent, since
    devices or their noise are fresh, so that an estimate with weights w has variance Σ w_i² V_i/n_i.
    """

    estimator: LinearEstimator
    periods: Mapping[int, Aggregate]
    slots: int
    level: float

    @classmethod
    def of(
        cls, estimator: LinearEstimator, periods: Mapping[int, Aggregate], slots: int, level: float = 0.95
    ) -> SeriesEstimates:
        """The periods that have reports; raises InvalidValue for numbers that are none of a series."""
        if not 1 <= slots <= MOST_SLOTS:
            raise InvalidValue(f"a series has 1 to {MOST_SLOTS} slots, got {slots}", slots)
        if not 0 < level < 1:
            raise InvalidValue(f"the level of an interval lies between 0 and 1, got {level}", level)
        outside = [index for index in periods if not 0 <= index < MOST_PERIODS]
        if outside:
            raise InvalidValue(f"periods are numbered from 0 to 2^32 - 1, got {outside[0]}", outside[0])
        held = {index: periods[index] for index in sorted(periods) if periods[index].count}
        return cls(estimator=estimator, periods=held, slots=slots, level=level)

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
        return self._point((first, last), by, None) if self._held(first, last) else None

    def windows(self, length: int, first: int, last: int, by: By = "reports") -> list[PeriodAnswers]:
        """All windows of `length` periods within `first` … `last`, as points of a chart with a band.

        The band has Bonferroni's quantile over the points that have reports: 3.14 for 30 of them at .95.
        Raises InvalidValue for a length below 1.
        """
        _check_length(length)
        found = [(start, start + length - 1) for start in range(first, last - length + 2)]
        found = [window for window in found if self._held(*window)]
        quantile = bonferroni_quantile(self.level, max(1, len(found)))
        return [self._point(window, by, quantile) for window in found]

    def change(self, earlier: Window, later: Window, by: By = "reports") -> Change | None:
        """The window `later` less the window `earlier`; None where either has no reports.

        They may share periods: the variance is of the difference of their weights.
        """
        return self._change(earlier, later, by, 1) if self._held(*earlier) and self._held(*later) else None

    def changes(self, length: int, first: int, last: int, by: By = "reports") -> list[Change]:
        """Changes between neighbours of the windows that begin at multiples of `length`, marked among all of these.

        Raises InvalidValue for a length below 1.
        """
        _check_length(length)
        starts = range(-(-first // length) * length, last - length + 2, length)
        windows = [(start, start + length - 1) for start in starts]
        pairs = [pair for pair in pairwise(windows) if all(self._held(*one) for one in pair)]
        return [self._change(*pair, by, len(pairs)) for pair in pairs]

    def trend(self, first: int, last: int) -> Trend | None:
        """The smoothed line through the periods `first` … `last`, drawn beside them; None without reports."""
        held = self._held(first, last)
        if not held:
            return None
        chosen = [self._means[index] for index in held]
        return smoothed_trend(held, np.array([one.answers for one in chosen]), np.array([one.noise for one in chosen]))

    @cached_property
    def _means(self) -> dict[int, PooledMean]:
        return {index: self._pooled([index]) for index in self.periods}

    def _held(self, first: int, last: int) -> tuple[int, ...]:
        if len(self.periods) <= last - first:
            return tuple(index for index in self.periods if first <= index <= last)
        return tuple(index for index in range(first, last + 1) if index in self.periods)

    def _pooled(self, periods: Iterable[int]) -> PooledMean:
        aggregate = reduce(add, (self.periods[index] for index in periods))
        return PooledMean.of(self.estimator, aggregate, self.slots, self.level)

    def _mean(self, periods: tuple[int, ...], by: By) -> Mean:
        if len(periods) == 1:
            return self._means[periods[0]]
        return self._pooled(periods) if by == "reports" else WeightedMean.of(self._weights(periods, by), self._means)

    def _weights(self, periods: Iterable[int], by: By) -> dict[int, float]:
        counts = {index: self.periods[index].count if by == "reports" else 1 for index in periods}
        total = sum(counts.values())
        return {index: count / total for index, count in counts.items()}

    def _enough(self, weights: Mapping[int, float]) -> bool:
        """Whether 1/Σ w_i²/n_i, which is all reports where they are pooled, suffices for an interval."""
        share = sum(weight**2 / self.periods[index].count for index, weight in weights.items())
        return share * LEAST_REPORTS <= 1 + 1e-9

    def _point(self, window: Window, by: By, chart: float | None) -> PeriodAnswers:
        """The estimate of a window; `chart` is the quantile of the band of the chart that it is a point of."""
        held = self._held(*window)
        mean, enough = self._mean(held, by), self._enough(self._weights(held, by))
        z = normal_quantile(self.level)
        return PeriodAnswers(
            first=window[0],
            last=window[1],
            periods=held,
            reports=sum(self.periods[index].count for index in held),
            target=target_of(*window, by),
            value=mean.answers,
            standard_error=np.sqrt(mean.noise),
            population_standard_error=np.sqrt(mean.noise + mean.sampling),
            interval=mean.interval(z) if enough else None,
            population_interval=mean.population_interval(z) if enough else None,
            band=mean.interval(chart) if enough and chart is not None else None,
        )

    def _change(self, earlier: Window, later: Window, by: By, comparisons: int) -> Change:
        before, after = (self._weights(self._held(*window), by) for window in (earlier, later))
        weights = {index: after.get(index, 0.0) - before.get(index, 0.0) for index in sorted({*before, *after})}
        mean, enough = WeightedMean.of(weights, self._means), self._enough(before) and self._enough(after)
        comparisons *= max(1, len(self.estimator.workload.varying_rows))
        low, high = mean.interval(bonferroni_quantile(self.level, comparisons)).T
        return Change(
            earlier=earlier,
            later=later,
            value=mean.answers,
            standard_error=np.sqrt(mean.noise),
            population_standard_error=np.sqrt(mean.noise + mean.sampling),
            interval=mean.interval(normal_quantile(self.level)) if enough else None,
            comparisons=comparisons,
            marked=((low > 0) | (high < 0)) & enough,
        )


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
