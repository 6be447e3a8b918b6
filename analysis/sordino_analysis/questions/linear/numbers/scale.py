"""Which number each member of an ordered attribute stands for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.workload import WorkloadError
from sordino_shared.domains import Attribute, EvenEdges, Integers, Number, Ordered, Ordinal

# A double has 16 digits: so many times as far from 0 as they are apart, numbers of a range keep seven.
_MOST_TIMES_AS_FAR = 1e9
# Squares of numbers and their sums stay within the doubles.
_LARGEST, _SMALLEST = 1e100, 1e-100
# Distances of edges that differ by less are the same but for rounding.
_SAME = 1e-9
# One of them has two ends.
_FEWEST_BINS = 3
# Of bins at uneven distances each is a type of its own.
_MOST_UNEVEN = 512


@dataclass(frozen=True, eq=False, kw_only=True)
class NumberScale:
    """The numbers `low` to `high`, evenly spaced over the ordered members 0 to `last`; or `listed`, one for each.

    A number outside `low` to `high` counts as the nearer of both.
    """

    attribute: Ordered | Number
    last: int
    low: float
    high: float
    listed: tuple[float, ...] | None = None

    @property
    def unit(self) -> str:
        """The unit of the numbers, "" where there is none."""
        return self.attribute.unit

    def numbers(self, members: Sequence[int]) -> Floats:
        """(n,) the number of each ordered member."""
        if self.listed is not None:
            return np.array([self.listed[member] for member in members])
        return np.array([self.low + (self.high - self.low) * (member / self.last) for member in members])

    def first_above(self, number: float) -> int:
        """The first member whose numbers are above `number`; raises WorkloadError where that is none or all."""
        if not self.low <= number < self.high:
            raise WorkloadError(
                f"{self.attribute.name!r} has numbers from {self.low:g} to {self.high:g}: ask for the share above one "
                f"of them, not above {number:g}",
                number,
            )
        return self.attribute.encode(number, strict=False) + 1

    def within(self, low: float, high: float) -> tuple[int, int]:
        """The first member from `low` on, and the first one above `high`, `last` + 1 where there is none.

        Raises WorkloadError unless at least two numbers lie between.
        """
        first = 0 if low <= self.low else self.attribute.encode(low, strict=False)
        end = self.last + 1 if high >= self.high else self.attribute.encode(high, strict=False) + 1
        if not isinstance(self.attribute, Number):
            # A bin belongs to where its middle is, a whole number to where it is itself.
            first += first <= self.last and bool(self.numbers([first])[0] < low)
            end -= end <= self.last and bool(self.numbers([end - 1])[0] > high)
        if end - first < 2:
            raise WorkloadError(
                f"{self.attribute.name!r} has numbers from {self.low:g} to {self.high:g}, fewer than two of them from "
                f"{low:g} to {high:g}: ask for a wider part",
                (low, high),
            )
        if (first, end) == (0, self.last + 1):
            raise WorkloadError(
                f"all numbers of {self.attribute.name!r} lie within {low:g} to {high:g}: ask for the mean", (low, high)
            )
        return first, end


def scale_of(attribute: Attribute) -> NumberScale:
    """The scale of an ordered attribute; raises WorkloadError for another, and for numbers that doubles do not hold.

    A bin between two edges stands for the number in its middle. The first and the last bin, which have one edge, are
    taken to be as wide as their neighbours.
    """
    scale = _scale_of(attribute)
    largest, apart = max(abs(scale.low), abs(scale.high)), scale.high - scale.low
    if not (apart >= _SMALLEST and largest <= _LARGEST and largest <= _MOST_TIMES_AS_FAR * apart):
        raise WorkloadError(
            f"the numbers of {attribute.name!r}, {scale.low:g} to {scale.high:g}, are too large, too small or too far "
            "from 0 for their range: take another unit, or subtract a constant",
            attribute,
        )
    return scale


def _scale_of(attribute: Attribute) -> NumberScale:
    match attribute:
        case Number():
            return _even(attribute, attribute.low, attribute.high)
        case Integers():
            if attribute.bins < 2:
                raise WorkloadError(f"{attribute.name!r} has one number, so that its mean is known", attribute)
            return _even(attribute, float(attribute.low), float(attribute.high))
        case Ordinal():
            return _of_bins(attribute)
    raise WorkloadError(
        f"{attribute.name!r} is {attribute.kind} and has no numbers: ask about an attribute of kind number, integers "
        "or ordinal",
        attribute,
    )


def _even(attribute: Ordered | Number, low: float, high: float) -> NumberScale:
    return NumberScale(attribute=attribute, last=attribute.bins - 1, low=low, high=high)


def _of_bins(attribute: Ordinal) -> NumberScale:
    if attribute.bins < _FEWEST_BINS:
        raise WorkloadError(
            f"{attribute.name!r} has {attribute.bins} bins, none of which has two ends: give it more edges, or make it "
            "kind: number",
            attribute,
        )
    if isinstance(attribute.edges, EvenEdges):
        first, step, count = attribute.edges.start, attribute.edges.step, attribute.edges.count
        return _even(attribute, first - step / 2, first + (count - 0.5) * step)
    edges = np.array(attribute.edges)
    apart = np.diff(edges)
    middles = np.concatenate([[edges[0] - apart[0] / 2], (edges[:-1] + edges[1:]) / 2, [edges[-1] + apart[-1] / 2]])
    listed = tuple(middles.tolist())
    if math.isclose(apart.min(), apart.max(), rel_tol=_SAME):
        return _even(attribute, listed[0], listed[-1])
    if attribute.bins > _MOST_UNEVEN:
        raise WorkloadError(
            f"{attribute.name!r} has {attribute.bins} bins at uneven distances, and means are asked of at most "
            f"{_MOST_UNEVEN} such bins: use even bins, or kind: number",
            attribute,
        )
    return replace(_even(attribute, listed[0], listed[-1]), listed=listed)
