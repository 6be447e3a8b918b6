"""Answers about rectangles from shifted grids on two attributes: those that are listed, and any other one on demand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile, check_dense
from sordino_analysis.evaluation.grids.law import PlaneLaw
from sordino_analysis.evaluation.grids.levels import Pair
from sordino_analysis.evaluation.grids.moments import GridMoments, check_no_factors
from sordino_analysis.evaluation.grids.plane_prefixes import PlanePrefixes, listed_plane, plane_of
from sordino_analysis.evaluation.grids.shipped import shipped_plane_levels
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.operators import Indices
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# Half a MiB of doubles, and a few times that for the windows of a level; of 256 × 256 types one query.
_ENTRIES_AT_ONCE = 1 << 16


@dataclass(frozen=True, eq=False)
class PlaneAnswers(GridMoments):
    """The moments of the answers; `workload` has the listed rectangles, `plane` all prefix sums, `law` the decoder."""

    law: PlaneLaw
    plane: PlanePrefixes

    @classmethod
    def asks(cls, workload: Workload) -> bool:
        return plane_of(workload.operator) is not None

    @classmethod
    def listing(cls, workload: Workload) -> Workload:
        plane = plane_of(workload.operator)
        return workload if plane is None else listed_plane(workload, plane)

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload, factors: Floats | None = None) -> Self:
        check_no_factors(factors)
        plane = plane_of(workload.operator)
        if plane is None:
            raise InvalidValue("grids on a plane answer for prefix sums of two attributes", workload)
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(f"the grids are for {randomizer.sizes} types, not {workload.domain.shape}", workload)
        law = PlaneLaw(shipped_plane_levels(randomizer), plane.shape)
        return cls(listed_plane(workload, plane), randomizer, law, plane)

    def _of_boxes(self, boxes: Sequence[Box]) -> Boxes:
        return Boxes(boxes, self.plane.shape)

    def _queries(self, rows: Indices) -> Iterator[tuple[Indices, Floats]]:
        at_once = max(1, _ENTRIES_AT_ONCE // math.prod(self.plane.shape))
        for start in range(0, len(rows), at_once):
            some = rows[start : start + at_once]
            yield some, self.workload.operator.take(some).reshape(-1, *self.plane.shape)

    @cached_property
    def _twins(self) -> Indices:
        """(Q,) the first listed query that is each one, or is it with the attributes exchanged if these look alike."""
        found, seen = np.arange(self.workload.queries), dict[bytes, int]()
        if self.law.exchangeable:
            for rows, queries in self._queries(self._rows):
                for row, query in zip(rows.tolist(), queries, strict=True):
                    seen.setdefault(query.tobytes(), row)
                    found[row] = seen.get(query.T.tobytes(), row)
        return found

    @cached_property
    def _solved(self) -> dict[bytes, Floats]:
        """β of the listed queries by the rows that were solved together."""
        return {}

    def _weights(self, rows: Indices, queries: Floats) -> Floats:
        """β (b, k₁, k₂), kept: each is a system of all types."""
        together = rows.tobytes()
        if together not in self._solved:
            self._solved[together] = self.law.weights(queries)
        return self._solved[together]

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

    @cached_property
    def _by_type(self) -> Floats:
        """As on a line, and TooLargeForDense is raised; on a line those of 2^18 types are held."""
        check_dense(self.workload)
        return super()._by_type
