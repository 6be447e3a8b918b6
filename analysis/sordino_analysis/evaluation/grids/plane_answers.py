"""Answers about rectangles from shifted grids on two attributes: those that are listed, and any other one on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import (
    AnswerMoments,
    BlanketMoments,
    ErrorProfile,
    LawsOfSome,
    check_dense,
    regression_slopes,
)
from sordino_analysis.evaluation.coarsened.tables import reports_holding
from sordino_analysis.evaluation.contribution_law import ContributionLaw
from sordino_analysis.evaluation.grids.contributions import DrawnLaws, DrawnLevel, laws_of_some
from sordino_analysis.evaluation.grids.plane_levels import Pair, PlaneLevel
from sordino_analysis.evaluation.grids.plane_prefixes import PlanePrefixes, listed_plane
from sordino_analysis.evaluation.grids.shipped import shipped_plane_levels
from sordino_analysis.optimisation.block_toeplitz import BlockToeplitz
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Indices
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# The unbiased decoder of shifted grids on two attributes, and its exact variance for every type.
#
# M = 11ᵀ + Σ p f R is block-Toeplitz. A report of a level counts 1ᵀβ + f Σ_x β_x (u_x − 1) for a query v with Mβ = v,
# as the mean of u_x − 1 given x' is R and Mβ = 1·1ᵀβ + Σ p f Rβ.


@dataclass(frozen=True, eq=False)
class PlaneLaw:
    """Levels on `shape` (k₁, k₂) types, as shipped."""

    levels: Sequence[PlaneLevel]
    shape: Pair

    @cached_property
    def matrix(self) -> BlockToeplitz:
        """M."""
        column = np.ones(self.shape)
        for level in self.levels:
            column += level.chance * level.factor(self.shape) * level.kernel(self.shape)
        return BlockToeplitz(column)

    @cached_property
    def exchangeable(self) -> bool:
        """Whether the two attributes look alike: exchanged, the levels are the same."""
        levels = set(self.levels)
        return self.shape[0] == self.shape[1] and {level.exchanged for level in levels} == levels

    def weights(self, queries: Floats) -> Floats:
        """β (b, k₁, k₂) of queries v (b, k₁, k₂)."""
        return self.matrix.solve_all(queries)

    def bias(self, queries: Floats, weights: Floats) -> Floats:
        """(b,) max_x |E[answer | x] − v_x|, the residual of Mβ = v, for queries v with their β, both (b, k₁, k₂)."""
        return np.asarray(np.abs(self.matrix.product(weights) - queries).max(axis=(-2, -1)))

    def variances(self, queries: Floats, weights: Floats | None = None) -> Floats:
        """(b, k₁, k₂) Var of one report's contribution for each type, of queries v (b, k₁, k₂); exact for any β."""
        beta = self.weights(queries) if weights is None else weights
        found = -((queries - beta.sum(axis=(-2, -1), keepdims=True)) ** 2)
        for level in self.levels:
            found += level.chance * level.factor(self.shape) ** 2 * level.second_moments(beta)
        return np.asarray(np.maximum(found, 0.0))

    def blanket(self, queries: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of what a report with an even label adds to queries v (b, k₁, k₂): (b,) each."""
        beta = self.weights(queries)
        variance = np.zeros(len(queries))
        for level in self.levels:
            variance += level.chance * level.factor(self.shape) ** 2 * level.even_moment(beta)
        return np.asarray(beta.sum(axis=(-2, -1))), variance

    def histogram(self, excess: Floats) -> Floats:
        """ĥ (k₁, k₂), unbiased, from Σ_reports f(u_x − 1)/n for every type, `excess` (k₁, k₂)."""
        return self.matrix.solve(1 + excess)


# Half a MiB of doubles, and a few times that for the windows of a level; of 256 × 256 types one query.
_ENTRIES_AT_ONCE = 1 << 16


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

    def for_queries(self, workload: Workload) -> Self:
        """The law of the answers to other rectangles."""
        return replace(self, workload=workload)

    def _queries(self, chosen: Indices | None = None) -> Iterator[tuple[Indices, Floats]]:
        """Listed queries v (b, k₁, k₂) with their rows (b,), a few at a time: those `chosen`, or all."""
        every = np.arange(self.workload.queries) if chosen is None else chosen
        at_once = max(1, _ENTRIES_AT_ONCE // math.prod(self.plane.shape))
        for start in range(0, len(every), at_once):
            rows = every[start : start + at_once]
            yield rows, self.workload.operator.take(rows).reshape(-1, *self.plane.shape)

    @cached_property
    def _twins(self) -> Indices:
        """(Q,) the first listed query that is each one, or is it with the attributes exchanged if these look alike."""
        found, seen = np.arange(self.workload.queries), dict[bytes, int]()
        if self.law.exchangeable:
            for rows, queries in self._queries():
                for row, query in zip(rows.tolist(), queries, strict=True):
                    seen.setdefault(query.tobytes(), row)
                    found[row] = seen.get(query.T.tobytes(), row)
        return found

    @cached_property
    def _solved(self) -> dict[int, Floats]:
        """β of the listed queries by the first row of those that were solved together."""
        return {}

    def _weights(self, rows: Indices, queries: Floats) -> Floats:
        """β (b, k₁, k₂), kept: each is a system of all types."""
        first = int(rows[0])
        if first not in self._solved:
            self._solved[first] = self.law.weights(queries)
        return self._solved[first]

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        count, ends = self.workload.queries, self._different_ends
        worst, bias, total = np.empty(count), np.empty(count), np.zeros(self.plane.shape)
        different, times = np.unique(self._twins, return_counts=True)
        twice, steps = set(different[times > 1].tolist()), len(different) + len(ends)
        for rows, queries in self._queries(different):
            weights = self._weights(rows, queries)
            variances = self.law.variances(queries, weights)
            worst[rows], bias[rows] = variances.max(axis=(1, 2)), self.law.bias(queries, weights)
            total += variances.sum(axis=0)
            for row, by_type in zip(rows.tolist(), variances, strict=True):
                if row in twice:
                    total += by_type.T
            progress(Progress((np.searchsorted(different, rows[-1]) + 1) / steps))
        further = []
        for done, stops in enumerate(ends, start=len(different)):
            further.append(float(self.law.variances(self.plane.query(stops)[None]).max()))
            progress(Progress(done / steps))
        worst, bias = worst[self._twins], bias[self._twins]
        some = f"{count} of {self.plane.count} prefix sums spread over all" if count < self.plane.count else None
        return ErrorProfile(
            variance=worst,
            bias=bias,
            type_variance=total.ravel() / count,
            weights=np.ones(count),
            sought=max(further, default=0.0),
            over=None if some is None else f"{some}, and {len(self.plane.at_the_ends)} at the ends",
            mean_over=some,
            uniform=float(total.mean() / count),
        )

    @property
    def _different_ends(self) -> list[Pair]:
        """The queries at the ends, without those that are others with the attributes exchanged if these look alike."""
        ends = self.plane.at_the_ends
        return [one for one in ends if not (self.law.exchangeable and one[0] > one[1] and one[::-1] in ends)]

    def extremes(self) -> tuple[Floats, Floats]:
        """(Q,) bounds on what a report adds to each listed answer, over all offsets and all label matrices."""
        least, most = np.empty((2, self.workload.queries))
        parts = [[level.factor(self.plane.shape), level.high - 1, level.low - 1] for level in self.law.levels]
        factor, high, low = np.array(parts).T[:, :, None]
        for rows, queries in self._queries(np.unique(self._twins)):
            weights = self._weights(rows, queries).reshape(len(queries), -1)
            constant = weights.sum(axis=1)
            above, below = np.maximum(weights, 0.0).sum(axis=1), np.minimum(weights, 0.0).sum(axis=1)
            least[rows] = constant + (factor * (high * below + low * above)).min(axis=0)
            most[rows] = constant + (factor * (high * above + low * below)).max(axis=0)
        return least[self._twins], most[self._twins]

    @cached_property
    def _by_type(self) -> Floats:
        """Var of each listed query for each type, (Q, k)."""
        check_dense(self.workload)
        found = np.empty(self.workload.operator.shape)
        for rows, queries in self._queries():
            found[rows] = self.law.variances(queries).reshape(len(queries), -1)
        return found

    def blanket(self) -> BlanketMoments:
        mean, variance = np.zeros(self.workload.queries), np.zeros(self.workload.queries)
        for rows, queries in self._queries():
            mean[rows], variance[rows] = self.law.blanket(queries)
        return BlanketMoments(mean, variance)

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
            holding = reports_holding(shipped, self.randomizer.sizes, table).reshape(looked_at)
            excess += level.factor(self.plane.shape) * ((level.high - level.low) * holding + (level.low - 1) * share)
            start += 1 + entries
        return self.law.histogram(excess).ravel()

    def drawn_laws(self, histogram: Floats) -> LawsOfSome:
        return laws_of_some(self.workload.operator, self.plane.shape, partial(self._laws, histogram))

    def _laws(self, histogram: Floats, rows: Indices) -> Iterator[ContributionLaw]:
        shape = self.plane.shape
        levels = [DrawnLevel.of_plane(level, shape) for level in self.law.levels]
        drawn = DrawnLaws(levels, histogram.reshape(shape))
        for row in rows.tolist():
            query = self.workload.operator.take(np.array([row])).reshape(shape)
            weights = self.law.weights(query[None])[0]
            yield drawn.of(query, weights, float(weights.sum()), self._by_type[row].reshape(shape))

    def covariance_root(self, histogram: Floats) -> None:
        """Not worked out for a `histogram` (k,): the band is that of Bonferroni."""
