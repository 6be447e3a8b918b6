"""Answers about intervals from shifted grids: those that are listed, and any other one on demand."""

from __future__ import annotations

from collections.abc import Iterator
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
    regression_slopes,
)
from sordino_analysis.evaluation.coarsened.tables import reports_holding
from sordino_analysis.evaluation.contribution_law import ContributionLaw
from sordino_analysis.evaluation.grids.contributions import DrawnLaws, DrawnLevel, laws_of_some
from sordino_analysis.evaluation.grids.families import IntervalFamily, family_of
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.evaluation.grids.shipped import shipped_levels
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.operators import Indices, Intervals, LinearMap
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

Ends = tuple[int, int]
# With more queries than the first, as many as the second are listed, and the worst is sought among as many as the third
# that are spread over all, and then among some that are near the worst of these.
_ALL_LISTED, _LISTED, _SPREAD, _NEAR = 2048, 257, 1025, 64
# Queries whose bias is computed, evenly spread over all.
_BIASES = 32


@dataclass(frozen=True, eq=False)
class GridAnswers(AnswerMoments):
    """The law of the answers; `workload` has the listed intervals, `family` all of them, `law` the decoder."""

    workload: Workload
    family: IntervalFamily
    randomizer: Coarsened
    law: GridLaw

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload) -> Self:
        """For all intervals of a workload; raises InvalidValue where randomizer and workload do not fit together."""
        family = family_of(workload.operator)
        if family is None:
            raise InvalidValue("shifted grids answer for prefix sums or ranges of one attribute", workload)
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(
                f"the grids are for {randomizer.sizes} types, the workload for {workload.size}", workload
            )
        law = GridLaw(shipped_levels(randomizer), workload.size)
        return cls(listed_intervals(workload), family, randomizer, law)

    def for_queries(self, workload: Workload) -> Self:
        """The law of the answers to other intervals."""
        return replace(self, workload=workload)

    @property
    def _ends(self) -> list[Ends]:
        operator = self.workload.operator
        assert isinstance(operator, Intervals)
        return list(zip(operator.starts.tolist(), operator.stops.tolist(), strict=True))

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        seen: dict[Ends, float] = {}
        spread = self.family.samples(_SPREAD) if len(self._ends) < self.family.count else []
        for place, ends in enumerate(together := [*self._ends, *spread]):
            self._worst(ends, seen)
            progress(Progress(place / len(together)))
        worst = np.array([self._worst(ends, seen) for ends in self._ends])
        sought, over = 0.0, None
        if spread:
            start = max(spread, key=lambda ends: self._worst(ends, seen))
            sought = self._ascended(start, seen)
            over = f"{len(spread)} of {self.family.count} intervals spread over all, and {_NEAR} near the worst"
        by_type = np.maximum(mean_variances(self.law, self.family), 0.0)
        return ErrorProfile(
            variance=worst,
            bias=np.full(len(worst), self._bias()),
            type_variance=by_type,
            weights=np.ones(len(worst)),
            sought=sought,
            over=over,
            uniform=float(by_type.mean()),
        )

    def _worst(self, ends: Ends, seen: dict[Ends, float]) -> float:
        """The largest variance of an interval over the types; `seen` keeps that of its mirror image."""
        mirrored = self.family.mirrored(*ends)
        known = ends if mirrored is None else min(ends, mirrored)
        if known not in seen:
            seen[known] = float(self.law.variances(self.family.rows([known])).max())
        return seen[known]

    def _bias(self) -> float:
        """The largest bias of the listed answers, or of a few of them: all are what rounding leaves of a solution."""
        ends = self._ends[:: max(1, len(self._ends) // _BIASES)]
        queries = self.family.rows(ends)
        return float(self.law.bias(queries, self.law.weights(queries)).max())

    def _ascended(self, ends: Ends, seen: dict[Ends, float]) -> float:
        """The largest variance met on a way uphill from an interval, its ends moved by steps that halve."""
        best, step, tries = self._worst(ends, seen), max(1, self.family.bins // _SPREAD), 0
        while step and tries < _NEAR:
            near = self.family.neighbours(*ends, step)
            tries += len(near)
            top = max(near, key=lambda one: self._worst(one, seen), default=ends)
            if self._worst(top, seen) > best:
                ends, best = top, self._worst(top, seen)
            else:
                step //= 2
        return best

    def extremes(self) -> tuple[Floats, Floats]:
        """(Q,) bounds on what a report adds to each listed answer, over all offsets and all label matrices.

        A set of cells holds at most all types with a positive β. A device that lies chooses what it is said to draw.
        """
        found = np.array([self._extremes(ends) for ends in self._ends])
        return found[:, 0], found[:, 1]

    def _extremes(self, ends: Ends) -> tuple[float, float]:
        query = self.family.rows([ends])
        weights, constant = self.law.weights(query)[0], float(query[0] @ self.law.density)
        parts = np.array([[level.factor(self.family.size), level.high - 1, level.low - 1] for level in self.law.levels])
        factor, high, low = parts.T
        above, below = np.maximum(weights, 0.0).sum(), np.minimum(weights, 0.0).sum()
        least, most = factor * (high * below + low * above), factor * (high * above + low * below)
        return constant + float(least.min()), constant + float(most.max())

    @cached_property
    def _by_type(self) -> Floats:
        """Var of each listed query for each type, (Q, k)."""
        found = np.empty(self.workload.operator.shape)
        for place, ends in enumerate(self._ends):
            found[place] = self.law.variances(self.family.rows([ends]))[0]
        return np.maximum(found, 0.0, out=found)

    def blanket(self) -> BlanketMoments:
        mean, variance = np.zeros(len(self._ends)), np.zeros(len(self._ends))
        for place, ends in enumerate(self._ends):
            (mean[place],), (variance[place],) = self.law.blanket(self.family.rows([ends]))
        return BlanketMoments(mean, variance)

    def mixed_variances(self, histogram: Floats) -> Floats:
        return self._by_type @ histogram

    def variance_slopes(self, histogram: Floats) -> Floats:
        slopes = np.empty(self.workload.queries)
        for place, ends in enumerate(self._ends):
            slopes[place] = regression_slopes(self.family.rows([ends]), self._by_type[[place]], histogram)[0]
        return slopes

    def type_variances(self) -> Floats:
        return self._by_type

    def variance(self, query: Floats, histogram: Floats) -> float:
        """Σ_x h_x Var(answer | x) of any query v (k,), exactly, without a list of queries."""
        return float(self.law.variances(query[None])[0] @ histogram)

    def decode(self, mean: Floats) -> Floats:
        return self.workload.operator.matvec(self.histogram(mean))

    def histogram(self, mean: Floats) -> Floats:
        """ĥ (k,), unbiased and of sum 1, from the mean accumulator (p,); any interval is a difference of its sums.

        Raises InvalidValue where the tables of the levels were too large to be kept.
        """
        if len(mean) == len(self.randomizer.levels):
            raise InvalidValue("tables of all values were too large to be kept: ask for fewer bins", len(mean))
        excess, start, size = np.zeros(self.workload.size), 0, self.workload.size
        levels = zip(self.law.levels, self.randomizer.levels, self.randomizer.table_sizes, strict=True)
        for level, shipped, entries in levels:
            share, table = mean[start], mean[start + 1 : start + 1 + entries]
            holding = reports_holding(shipped, self.randomizer.sizes, table)
            excess += level.factor(size) * ((level.high - level.low) * holding + (level.low - 1) * share)
            start += 1 + entries
        return self.law.histogram(excess)

    def drawn_laws(self, histogram: Floats) -> LawsOfSome:
        return laws_of_some(self.workload.operator, (self.family.size, 1), partial(self._laws, histogram))

    def _laws(self, histogram: Floats, rows: Indices) -> Iterator[ContributionLaw]:
        levels = [DrawnLevel.of_line(level, self.family.size) for level in self.law.levels]
        drawn = DrawnLaws(levels, histogram[:, None])
        for row in rows.tolist():
            query = self.family.rows([self._ends[row]])
            weights, constant = self.law.weights(query)[0], float(query[0] @ self.law.density)
            yield drawn.of(query[0][:, None], weights[:, None], constant, self._by_type[row][:, None])

    def covariance_root(self, histogram: Floats) -> None:
        """Not worked out for a `histogram` (k,): the band is that of Bonferroni."""


def listed_intervals(workload: Workload) -> Workload:
    """The workload with only the intervals that grids list: all, or a few hundred of them; others are asked one by one.

    A workload that is no family of intervals is returned as it is.
    """
    family = family_of(workload.operator)
    if family is None:
        return workload
    count = family.count if family.count <= _ALL_LISTED else _LISTED
    ends = np.array(family.samples(count) if count < family.count else family.all(), dtype=np.intp)
    operator = Intervals(ends[:, 0], ends[:, 1], workload.size)
    rows = [_row(workload.operator, start, stop) for start, stop in ends.tolist()]
    return Workload(
        name=workload.name,
        domain=workload.domain,
        published=workload.published,
        operator=operator,
        name_query=lambda query: workload.label(rows[query]),
        scope=lambda query: workload.scope(rows[query]),
    )


def _row(operator: LinearMap, start: int, stop: int) -> int:
    """The index of an interval in the whole workload, whose constant row is left out."""
    assert operator.intervals is not None
    row, constant = operator.intervals.row(start, stop - 1), operator.intervals.constant_row
    return row - (constant is not None and row > constant)
