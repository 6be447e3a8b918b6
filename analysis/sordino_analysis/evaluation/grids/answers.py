"""Answers about intervals from shifted grids: those that are listed, and any other one on demand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.grids.covariance import GridCovariance
from sordino_analysis.evaluation.grids.families import IntervalFamily, family_of
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.evaluation.grids.moments import GridMoments
from sordino_analysis.evaluation.grids.shipped import shipped_levels
from sordino_analysis.evaluation.linear_answers import covariance_square_root, root_fits
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.operators import Indices, Intervals, LinearMap
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

Ends = tuple[int, int]
# With more queries than the first, as many as the second are listed, and the worst is sought among as many as the third
# that are spread over all, and then among some that are near the worst of these.
_ALL_LISTED, _LISTED, _SPREAD, _NEAR = 2048, 257, 1025, 64
# Entries of the queries whose covariances are worked out, in a second: all prefixes of 2,048 types.
_ROOT_ENTRIES = 1 << 22
# Queries whose bias is computed, evenly spread over all.
_BIASES = 32


@dataclass(frozen=True, eq=False)
class GridAnswers(GridMoments):
    """The moments of the answers; `workload` has the listed intervals, `family` all of them, `law` the decoder."""

    law: GridLaw
    family: IntervalFamily

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
        return cls(listed_intervals(workload), randomizer, law, family)

    def _of_boxes(self, boxes: Sequence[Box]) -> Intervals:
        first, last = np.array([box.sides[0] for box in boxes], dtype=np.intp).T
        return Intervals(first, last + 1, self.workload.size)

    def _queries(self, rows: Indices) -> Iterator[tuple[Indices, Floats]]:
        for row in rows:
            yield np.array([row]), self.workload.operator.take(np.array([row]))

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

    def covariance_root(self, histogram: Floats) -> Floats | None:
        return self._root(GridCovariance(self.law, histogram))

    def blanket_root(self) -> Floats | None:
        return self._root(GridCovariance(self.law, None))

    def _root(self, covariance: GridCovariance) -> Floats | None:
        operator = self.workload.operator
        queries, types = operator.shape
        if queries * types > _ROOT_ENTRIES or not root_fits(queries, min(queries, types)):
            return None
        if queries > types:
            return operator.matvec(covariance_square_root(covariance.matrix()))
        moved = operator.matvec(covariance.product(operator.dense()).T)
        return covariance_square_root((moved + moved.T) / 2)

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

    def variance(self, query: Floats, histogram: Floats) -> float:
        """Σ_x h_x Var(answer | x) of any query v (k,), exactly, without a list of queries."""
        return float(self.law.variances(query[None])[0] @ histogram)


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
