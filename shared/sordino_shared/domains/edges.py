"""Edges of equal bins, which need no list."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import overload

from sordino_shared._checks import check_range, set_finite_floats
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue

MAX_EVEN_EDGES = 1 << 48


@dataclass(frozen=True)
class EvenEdges:
    """The edges start + i·step for i below count: exact rationals of the two doubles, shown as the nearest doubles.

    Unlike listed edges they cost a document three numbers. Where `step` is no sum of a few powers of two, as 0.1, edges
    differ from the decimal numbers that people mean by a few parts in 10¹⁶: choose a unit in which `step` is whole.
    """

    start: float
    step: float
    count: int

    def __post_init__(self) -> None:
        set_finite_floats(self, "start", "step")
        check_range(self.count, 1, MAX_EVEN_EDGES, "count of edges")
        if self.step <= 0:
            raise InvalidValue(f"the step between edges must be above 0, got {self.step!r}", self.step)
        if self.count > 1 and not (self._double(0) < self._double(1) and self._double(-2) < self._double(-1)):
            raise InvalidValue(
                f"edges from {self.start!r} in steps of {self.step!r} are not distinct doubles: use a larger step",
                self.step,
            )

    def exact(self, index: int) -> Fraction:
        """Edge `index` as the rational number that it is."""
        return Fraction(self.start) + index * Fraction(self.step)

    def below(self, number: int | float | Fraction) -> int:
        """How many edges are less than `number`, which may be infinite."""
        if number in (float("inf"), -float("inf")):
            return self.count if number > 0 else 0
        steps = (Fraction(number) - Fraction(self.start)) / Fraction(self.step)
        return min(max(-(-steps.numerator // steps.denominator), 0), self.count)

    def _double(self, index: int) -> float:
        try:
            return float(self.exact(index % self.count))
        except OverflowError as error:
            raise InvalidValue(f"edge {index % self.count} is beyond every double: use fewer edges", self) from error

    def __iter__(self) -> Iterator[float]:
        return map(self._double, range(self.count))

    def __len__(self) -> int:
        return self.count

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[float, ...]: ...
    def __getitem__(self, index: int | slice) -> float | tuple[float, ...]:
        if isinstance(index, slice):
            return tuple(map(self._double, range(*index.indices(self.count))))
        if not -self.count <= index < self.count:
            raise IndexError(index)
        return self._double(index)
