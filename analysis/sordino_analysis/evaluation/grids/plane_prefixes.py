"""The prefix sums of two attributes at once: which queries they are."""

from __future__ import annotations

from dataclasses import dataclass

from sordino_analysis.evaluation.grids.plane_levels import Pair
from sordino_analysis.questions.linear.operators import LinearMap


@dataclass(frozen=True)
class PlanePrefixes:
    """[0, a) × [0, b) for a ≤ `bins`₁, b ≤ `bins`₂ of `shape` types, without the query of all types."""

    bins: Pair
    shape: Pair

    @property
    def count(self) -> int:
        """Q, without the query that is constant."""
        return self.bins[0] * self.bins[1] - (self.bins == self.shape)


def plane_of(operator: LinearMap) -> PlanePrefixes | None:
    """The prefix sums that the rows of an operator are; None where they are none."""
    if operator.plane is None:
        return None
    first, second = operator.plane
    return PlanePrefixes((first.bins, second.bins), (first.size, second.size))
