"""Answers about rectangles from shifted grids on two attributes: those that are listed, and any other one on demand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import AnswerMoments, ErrorProfile, check_dense, regression_slopes
from sordino_analysis.evaluation.coarsened.tables import held
from sordino_analysis.evaluation.grids.plane_law import PlaneLaw
from sordino_analysis.evaluation.grids.plane_prefixes import PlanePrefixes, listed_plane
from sordino_analysis.evaluation.grids.shipped import shipped_plane_levels
from sordino_analysis.questions.linear import Workload
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened


@dataclass(frozen=True, eq=False)
class PlaneAnswers(AnswerMoments):
    """The law of the answers; `workload` has the listed rectangles, `plane` all prefix sums, `law` the decoder."""

    workload: Workload
    plane: PlanePrefixes
    randomizer: Coarsened
    law: PlaneLaw

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload, plane: PlanePrefixes) -> Self:
        """For all prefix sums of a workload; raises InvalidValue where it does not fit the randomizer."""
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(f"the grids are for {randomizer.sizes} types, not {workload.domain.shape}", workload)
        law = PlaneLaw(shipped_plane_levels(randomizer), plane.shape)
        return cls(listed_plane(workload, plane), plane, randomizer, law)

    def asked(self, workload: Workload) -> Self:
        """The law of the answers to other rectangles."""
        return replace(self, workload=workload)

    def _query(self, number: int) -> Floats:
        """A listed query v (k₁, k₂)."""
        return np.asarray(self.workload.operator.take(np.array([number]))[0].reshape(self.plane.shape))

    def profile(self) -> ErrorProfile:
        count = self.workload.queries
        worst, bias, total = np.empty(count), np.empty(count), np.zeros(self.plane.shape)
        for number in range(count):
            query = self._query(number)
            weights = self.law.weights(query)
            variances = self.law.variances(query, weights)
            worst[number], bias[number] = variances.max(), self.law.bias(query, weights)
            total += variances
        further = [float(self.law.variances(self.plane.query(stops)).max()) for stops in self.plane.at_the_ends]
        return ErrorProfile(
            variance=np.maximum(worst, 0.0),
            bias=bias,
            type_variance=np.maximum(total.ravel() / count, 0.0),
            weights=np.ones(count),
            sought=max(further, default=0.0),
            over=self._over(count, len(further)),
        )

    def _over(self, count: int, further: int) -> str | None:
        if count >= self.plane.count:
            return None
        return f"{count} of {self.plane.count} prefix sums spread over all, as is the mean, and {further} at the ends"

    def extremes(self) -> tuple[Floats, Floats]:
        """(Q,) bounds on what a report adds to each listed answer, over all offsets and all label matrices."""
        found = np.array([self._extremes(number) for number in range(self.workload.queries)])
        return found[:, 0], found[:, 1]

    def _extremes(self, number: int) -> tuple[float, float]:
        weights = self.law.weights(self._query(number))
        parts = [[level.factor(self.plane.shape), level.high - 1, level.low - 1] for level in self.law.levels]
        factor, high, low = np.array(parts).T
        above, below = np.maximum(weights, 0.0).sum(), np.minimum(weights, 0.0).sum()
        least, most = factor * (high * below + low * above), factor * (high * above + low * below)
        return float(weights.sum() + least.min()), float(weights.sum() + most.max())

    @cached_property
    def _by_type(self) -> Floats:
        """Var of each listed query for each type, (Q, k)."""
        check_dense(self.workload)
        found = np.empty(self.workload.operator.shape)
        for number in range(len(found)):
            found[number] = self.law.variances(self._query(number)).ravel()
        return np.maximum(found, 0.0, out=found)

    def mixed_variances(self, histogram: Floats) -> Floats:
        return self._by_type @ histogram

    def variance_slopes(self, histogram: Floats) -> Floats:
        rows = range(self.workload.queries)
        by_query = [
            regression_slopes(self._query(row).reshape(1, -1), self._by_type[[row]], histogram)[0] for row in rows
        ]
        return np.array(by_query)

    def type_variances(self) -> Floats:
        return self._by_type

    def decode(self, mean: Floats) -> Floats:
        return self.workload.operator.matvec(self.histogram(mean))

    def histogram(self, mean: Floats) -> Floats:
        """ĥ (k,), unbiased, from the mean accumulator (p,); any rectangle is a sum of it.

        Raises InvalidValue where the tables of the levels were too large to be kept.
        """
        if len(mean) == len(self.randomizer.levels):
            raise InvalidValue("tables of all values were too large to be kept: ask for fewer bins", len(mean))
        excess, start = np.zeros(self.plane.shape), 0
        levels = zip(self.law.levels, self.randomizer.levels, self.randomizer.table_sizes, strict=True)
        for level, shipped, entries in levels:
            share, table = mean[start], mean[start + 1 : start + 1 + entries]
            looked_at = [size if width else 1 for size, width in zip(self.plane.shape, level.widths, strict=True)]
            holding = held(shipped, self.randomizer.sizes, table).reshape(looked_at)
            excess += level.factor(self.plane.shape) * ((level.high - level.low) * holding + (level.low - 1) * share)
            start += 1 + entries
        return self.law.histogram(excess).ravel()

    def covariance_root(self, histogram: Floats) -> None:
        """Not worked out for a `histogram` (k,): the band is that of Bonferroni."""
