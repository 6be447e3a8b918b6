"""Answers about rectangles from shifted grids on two attributes: those that are listed, and any other one on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator
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

# 2 MiB of doubles, and a few times that for the windows of a level.
_ENTRIES_AT_ONCE = 1 << 18


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

    def _queries(self) -> Iterator[tuple[slice, Floats]]:
        """The listed queries v (b, k₁, k₂), a few at a time."""
        count, at_once = self.workload.queries, max(1, _ENTRIES_AT_ONCE // math.prod(self.plane.shape))
        for start in range(0, count, at_once):
            rows = slice(start, min(start + at_once, count))
            yield rows, self.workload.operator.take(np.arange(rows.start, rows.stop)).reshape(-1, *self.plane.shape)

    def profile(self) -> ErrorProfile:
        count = self.workload.queries
        worst, bias, total = np.empty(count), np.empty(count), np.zeros(self.plane.shape)
        for rows, queries in self._queries():
            weights = self.law.weights(queries)
            variances = self.law.variances(queries, weights)
            worst[rows], bias[rows] = variances.max(axis=(1, 2)), self.law.bias(queries, weights)
            total += variances.sum(axis=0)
        further = [float(self.law.variances(self.plane.query(stops)[None]).max()) for stops in self.plane.at_the_ends]
        some = f"{count} of {self.plane.count} prefix sums spread over all" if count < self.plane.count else None
        return ErrorProfile(
            variance=worst,
            bias=bias,
            type_variance=total.ravel() / count,
            weights=np.ones(count),
            sought=max(further, default=0.0),
            over=None if some is None else f"{some}, and {len(further)} at the ends",
            mean_over=some,
            uniform=float(total.mean() / count),
        )

    def extremes(self) -> tuple[Floats, Floats]:
        """(Q,) bounds on what a report adds to each listed answer, over all offsets and all label matrices."""
        least, most = np.empty((2, self.workload.queries))
        parts = [[level.factor(self.plane.shape), level.high - 1, level.low - 1] for level in self.law.levels]
        factor, high, low = np.array(parts).T[:, :, None]
        for rows, queries in self._queries():
            weights = self.law.weights(queries).reshape(len(queries), -1)
            constant = weights.sum(axis=1)
            above, below = np.maximum(weights, 0.0).sum(axis=1), np.minimum(weights, 0.0).sum(axis=1)
            least[rows] = constant + (factor * (high * below + low * above)).min(axis=0)
            most[rows] = constant + (factor * (high * above + low * below)).max(axis=0)
        return least, most

    @cached_property
    def _by_type(self) -> Floats:
        """Var of each listed query for each type, (Q, k)."""
        check_dense(self.workload)
        found = np.empty(self.workload.operator.shape)
        for rows, queries in self._queries():
            found[rows] = self.law.variances(queries).reshape(len(queries), -1)
        return found

    def mixed_variances(self, histogram: Floats) -> Floats:
        return self._by_type @ histogram

    def variance_slopes(self, histogram: Floats) -> Floats:
        by_query = [
            regression_slopes(queries.reshape(len(queries), -1), self._by_type[rows], histogram)
            for rows, queries in self._queries()
        ]
        return np.concatenate(by_query)

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
