"""Answers about any interval of ordered values, and quantiles, from one decoded histogram: no list of queries.

An answer is a difference of cumulative sums, and its variance Σ_x h_x Var(x)/n is exact for the histogram h; the
unbiased ĥ stands for h. An interval is for a question that was fixed before. Anyone who looks first and asks then reads
the band, which has 1/Q of the error for each of the Q questions of its kind, so that it holds all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import ndtri

from sordino_analysis.arrays import Floats
from sordino_analysis.documents.analyst_part import AnalystPart
from sordino_analysis.documents.decoders import GridDecoder
from sordino_analysis.estimation.linear import EstimationError, check_aggregate
from sordino_analysis.evaluation.accumulate import Aggregate, mean_accumulator
from sordino_analysis.evaluation.grids.answers import GridAnswers
from sordino_analysis.questions.linear.building import build_workload
from sordino_shared.protocol import DevicePart
from sordino_shared.randomizers import Coarsened

Ends = tuple[int, int]
# Prefix sums whose band is looked at between two others, to tell a quantile's interval more finely.
_FINER = 32


@dataclass(frozen=True, eq=False, kw_only=True)
class RangeEstimate:
    """Shares of the users in m ranges [start, stop) of bins; `interval` and `band` (m, 2), all else (m,).

    Errors are about the users who reported; `population_standard_error` is about whom they are a sample of.
    """

    ends: tuple[Ends, ...]
    value: Floats
    standard_error: Floats
    population_standard_error: Floats
    interval: Floats
    band: Floats
    users: int
    level: float


@dataclass(frozen=True, kw_only=True)
class QuantileEstimate:
    """The first bin up to which at least `share` of the users are, and the bins between which it lies at the level.

    `band` (first, last) holds the quantiles of all shares at once, since it inverts the band of all prefix sums.
    """

    share: float
    bin: int
    band: tuple[int, int]
    level: float


@dataclass(frozen=True, eq=False)
class RangeEstimator:
    """A closed round of shifted grids, decoded once; raises EstimationError for other plans and for no reports."""

    device: DevicePart
    analyst: AnalystPart
    aggregate: Aggregate

    def __post_init__(self) -> None:
        if self.analyst.device_digest != self.device.digest:
            raise EstimationError("the two parts are not of one plan")
        if not isinstance(self.analyst.decoder, GridDecoder):
            raise EstimationError(f"reports of {self.analyst.mechanism} are not about ranges of ordered values")
        check_aggregate(self.device, self.aggregate)

    @cached_property
    def _answers(self) -> GridAnswers:
        assert isinstance(self.device.randomizer, Coarsened)
        workload = build_workload(self.device.domain, self.analyst.queries, self.analyst.workload)
        return GridAnswers.of(self.device.randomizer, workload)

    @property
    def bins(self) -> int:
        """How many ordered bins there are."""
        return self._answers.family.bins

    @cached_property
    def histogram(self) -> Floats:
        """ĥ (k,), unbiased; the members that are not ordered are the last."""
        return self._answers.histogram(mean_accumulator(self.device.randomizer, self.aggregate))

    @cached_property
    def _sums(self) -> Floats:
        return np.concatenate([[0.0], np.cumsum(self.histogram)])

    @cached_property
    def cumulative(self) -> Floats:
        """(bins,) the shares up to each bin as an increasing function between 0 and 1, the nearest to the answers."""
        nearest = isotonic_regression(self._sums[1 : self.bins + 1]).x
        return np.asarray(np.clip(nearest, 0.0, 1.0))

    def ranges(self, ends: Sequence[Ends], level: float = 0.95, *, prefixes: bool = False) -> RangeEstimate:
        """Shares of the users in the bins start … stop − 1 of each of the `ends`.

        The band is that of all ranges, or of all `prefixes`. Raises EstimationError for ends out of order.
        """
        for start, stop in ends:
            if not 0 <= start < stop <= self.bins or (prefixes and start):
                raise EstimationError(f"a range has 0 ≤ start < stop ≤ {self.bins}, got {start} to {stop}")
        if not 0 < level < 1:
            raise EstimationError(f"the level of an interval lies between 0 and 1, got {level}")
        users, bias = self.aggregate.count, self.analyst.figures.bias_bound
        value = np.array([self._sums[stop] - self._sums[start] for start, stop in ends])
        variance = np.array([self._variance(each) for each in ends])
        sampled = np.clip(value, 1 / (users + 2), 1 - 1 / (users + 2))
        error = np.sqrt(variance / users)
        questions = self.bins if prefixes else self.bins * (self.bins + 1) // 2

        def around(chance: float) -> Floats:
            half = -ndtri(chance / 2) * error + bias
            return np.stack([value - half, value + half], axis=1)

        return RangeEstimate(
            ends=tuple(ends),
            value=value,
            standard_error=error,
            population_standard_error=np.sqrt((variance + sampled * (1 - sampled)) / users),
            interval=around(1 - level),
            band=around((1 - level) / questions),
            users=users,
            level=level,
        )

    def quantile(self, share: float, level: float = 0.95) -> QuantileEstimate:
        """The quantile of the `share` among the ordered values, and a band by inverting that of the prefix sums.

        Raises EstimationError for a share that is not between 0 and 1.
        """
        if not 0 < share < 1:
            raise EstimationError(f"the share of a quantile lies between 0 and 1, got {share}")
        found = int(np.searchsorted(self.cumulative, share))
        cuts = np.unique([stop for _, stop in self._answers.family.samples(8 * _FINER + 1)])
        first, last = self._between(cuts, share, level)
        finer = [np.linspace(end - step, end + step, _FINER) for end, step in ((first, self._step), (last, self._step))]
        near = np.clip(np.concatenate(finer).round().astype(int), 1, self.bins)
        first, last = self._between(np.union1d(cuts, near), share, level)
        return QuantileEstimate(share=share, bin=min(found, self.bins - 1), band=(first, last), level=level)

    @property
    def _step(self) -> int:
        return -(-self.bins // (8 * _FINER))

    def _between(self, cuts: np.ndarray, share: float, level: float) -> tuple[int, int]:
        """First and last bin that the band at the prefix sums up to the `cuts` leaves for the quantile.

        Where F(stop) is the share of the bins before `stop`, the quantile is bin b with F(b) < share ≤ F(b + 1): no bin
        before a cut whose upper end is below the share, and none at or after one whose lower end reaches it.
        """
        stops = [int(stop) for stop in cuts]
        band = self.ranges([(0, stop) for stop in stops], level, prefixes=True).band
        below = [stop for stop, (_, high) in zip(stops, band, strict=True) if high < share]
        reached = [stop for stop, (low, _) in zip(stops, band, strict=True) if low >= share]
        first, last = max(below, default=0), min(reached, default=self.bins) - 1
        return min(first, last), max(first, last)

    def _variance(self, ends: Ends) -> float:
        """Σ_x ĥ_x Var(x) of one report, within the variances of the types: exact but for the noise of ĥ."""
        if ends in self._known:
            return self._known[ends]
        by_type = self._answers.law.variances(self._answers.family.rows([ends]))[0]
        self._known[ends] = float(np.clip(by_type @ self.histogram, by_type.min(), by_type.max()))
        return self._known[ends]

    @cached_property
    def _known(self) -> dict[Ends, float]:
        return {}
