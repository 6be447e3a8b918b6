"""The prefix sums of two attributes at once: which they are, and some of them spread over all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.levels import Pair
from sordino_analysis.questions.linear.boxes import Box, Boxes
from sordino_analysis.questions.linear.operators import LinearMap
from sordino_analysis.questions.linear.workload import Workload

# With more queries than the first, only the second times itself are listed: an exact variance of each is a system.
_ALL_LISTED, _SPREAD = 2048, 6


@dataclass(frozen=True)
class PlanePrefixes:
    """[0, a) × [0, b) for a ≤ `bins`₁, b ≤ `bins`₂ of `shape` types, without the query of all types."""

    bins: Pair
    shape: Pair

    @property
    def count(self) -> int:
        """Q, without the query that is constant."""
        return self.bins[0] * self.bins[1] - (self.bins == self.shape)

    @property
    def listed(self) -> list[Pair]:
        """The (a, b) of all queries; of many, those in the middle of 6 × 6 parts of the plane."""
        if self.count <= _ALL_LISTED:
            whole = [(a + 1, b + 1) for a, b in np.ndindex(*self.bins)]
            return [stops for stops in whole if stops != self.shape]
        firsts, seconds = (_spread(count) for count in self.bins)
        return [(a, b) for a in firsts for b in seconds]

    @property
    def at_the_ends(self) -> list[Pair]:
        """Further (a, b) that hold all bins of an attribute, or one cell; none where all queries are listed."""
        if self.count <= _ALL_LISTED:
            return []
        first, second = self.bins
        return [(1, 1), *((a, second) for a in _spread(first)), *((first, b) for b in _spread(second))]

    def query(self, stops: Pair) -> Floats:
        """v (k₁, k₂)."""
        found = np.zeros(self.shape)
        found[: stops[0], : stops[1]] = 1.0
        return found


def plane_of(operator: LinearMap) -> PlanePrefixes | None:
    """The prefix sums that the rows of an operator are; None where they are none."""
    if operator.plane is None:
        return None
    first, second = operator.plane
    return PlanePrefixes((first.bins, second.bins), (first.size, second.size))


def listed_plane(workload: Workload, plane: PlanePrefixes) -> Workload:
    """The workload with only the prefix sums that are listed; others are asked one by one."""
    ends = plane.listed
    rows = [(a - 1) * plane.bins[1] + b - 1 for a, b in ends]
    boxes = [Box(workload.label(row), ((0, a - 1), (0, b - 1))) for row, (a, b) in zip(rows, ends, strict=True)]
    return replace(
        workload,
        operator=Boxes(boxes, workload.domain.shape),
        name_query=lambda query: boxes[query].label,
        scope=lambda query: workload.scope(rows[query]),
    )


def _spread(count: int) -> list[int]:
    places = np.floor((np.arange(_SPREAD) + 0.5) * count / _SPREAD).astype(int) + 1
    return [int(place) for place in np.unique(places)]
