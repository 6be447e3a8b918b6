"""What answers about categories and ordered attributes have in common, of one that is ordered or of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile, regression_slopes
from sordino_analysis.evaluation.grids.attribute_groups import AttributeGroups
from sordino_analysis.evaluation.grids.beside_law import LawBeside
from sordino_analysis.evaluation.grids.classes import Classes
from sordino_analysis.evaluation.grids.moments import GridMoments
from sordino_analysis.evaluation.linear_answers import covariance_square_root
from sordino_analysis.questions.linear.boxes import Box, Boxes, Side
from sordino_analysis.questions.linear.operators import Dense, Indices, LinearMap

# Rows on demand whose covariances are worked out: a mean takes two of them.
_JOINT = 8


@dataclass(frozen=True, eq=False)
class AnswersBeside(GridMoments):
    """The moments of the answers; the attributes of the `law` are `groups` of the workload's.

    Rows that are asked on demand, and not those of the plan, are `asked`.
    """

    law: LawBeside[Any, Any]
    groups: AttributeGroups
    asked: bool

    def for_rows(self, operator: LinearMap, label: Callable[[int], str]) -> Self:
        """The moments of the answers to any rows that the levels tell."""
        return replace(self, workload=replace(self.workload, operator=operator, name_query=label), asked=True)

    def for_boxes(self, boxes: Sequence[Box]) -> Self:
        return self.for_rows(self._of_boxes(boxes), lambda query: boxes[query].label)

    def _of_boxes(self, boxes: Sequence[Box]) -> Boxes:
        return Boxes(boxes, self.groups.shape)

    def _arranged(self, values: Floats) -> Floats:
        return self.groups.arranged(values)

    def _flattened(self, values: Floats) -> Floats:
        types = values.reshape(-1, *self.law.shape)
        return np.stack([self.groups.flattened(one) for one in types]).reshape(
            *values.shape[: -len(self.law.shape)], -1
        )

    def _queries(self, rows: Indices) -> Iterator[tuple[Indices, Floats]]:
        for row in rows:
            some = np.array([row])
            yield some, self._arranged(self.workload.operator.take(some))[None]

    @cached_property
    def _twins(self) -> Indices:
        """(Q,) the first listed query that is each one with members exchanged, which levels do not tell apart."""
        seen: dict[bytes, int] = {}
        found = np.arange(self.workload.queries)
        for row in self._rows:
            found[row] = seen.setdefault(_pattern(self._classes(row)), row)
        return found

    def _classes(self, row: int) -> Classes:
        operator = self.workload.operator
        if isinstance(operator, Boxes):
            return self._of_box(operator.boxes[row].sides)
        ((_, query),) = self._queries(np.array([row]))
        return self.law.classes(query[0])

    def _of_box(self, sides: Sequence[Side]) -> Classes:
        """Of a box: of each group of attributes the combinations of members that it holds, and the others."""
        groups, held = self.groups, [slice(first, last + 1) for first, last in sides]
        intervals = [np.zeros(groups.shape[axis]) for axis in groups.axes]
        for interval, axis in zip(intervals, groups.axes, strict=True):
            interval[held[axis]] = 1.0
        unordered = [side for place, side in enumerate(held) if place not in groups.axes]
        values: Floats = reduce(np.multiply.outer, intervals)
        places, counts = list[NDArray[np.intp]](), list[Floats]()
        for group in reversed(groups.groups):
            others = np.ones([groups.sizes[place] for place in group], dtype=np.intp)
            others[tuple(unordered[place] for place in group)] = 0
            counted = np.bincount(others.ravel(), minlength=2).astype(float)
            some = counted > 0
            values = np.multiply.outer(np.array([1.0, 0.0])[some], values)
            places.insert(0, others.ravel())
            counts.insert(0, counted[some])
        return Classes(values, tuple(places), tuple(counts))

    @cached_property
    def _solved(self) -> dict[bytes, Floats]:
        """Variances of the types of each class by what queries are up to an exchange of members."""
        return {}

    def _variances(self, query: Classes) -> Floats:
        pattern = _pattern(query)
        if pattern not in self._solved:
            self._solved[pattern] = self.law.class_variances(query)
        return self._solved[pattern]

    def mixed_variances(self, histogram: Floats) -> Floats:
        found, shares = np.empty(self.workload.queries), self._shares(histogram)
        for row in self._rows:
            query = self._classes(row)
            found[row] = float((query.sums(shares) * self._variances(query)).sum())
        return found

    def variance_slopes(self, histogram: Floats) -> Floats:
        slopes, shares = np.empty(self.workload.queries), self._shares(histogram)
        for row in self._rows:
            query = self._classes(row)
            columns = query.values.reshape(1, -1), self._variances(query).reshape(1, -1), query.sums(shares).ravel()
            slopes[row] = regression_slopes(*columns)[0]
        return slopes

    def covariance_root(self, histogram: Floats) -> Floats | None:
        """(Q, Q) of a few rows on demand, for a `histogram` (k,), by the variances of their sums; None of boxes."""
        count = self.workload.queries
        if not self.asked or count > _JOINT or not isinstance(self.workload.operator, Dense):
            return None
        rows = self.workload.operator.matrix
        pairs = [(one, other) for one in range(count) for other in range(one)]
        sums = np.array([rows[one] + rows[other] for one, other in pairs]).reshape(-1, rows.shape[1])
        found = self.for_rows(Dense(np.vstack([rows, sums])), str).mixed_variances(histogram)
        covariance = np.diag(found[:count])
        for (one, other), both in zip(pairs, found[count:], strict=True):
            covariance[one, other] = covariance[other, one] = (both - found[one] - found[other]) / 2
        return covariance_square_root(covariance)

    def _shares(self, histogram: Floats) -> Floats:
        """Of the types, the ordered attributes last."""
        axes = self.law.axes
        return np.moveaxis(self._arranged(histogram), axes, range(-len(axes), 0))

    def _profile_of_rows(self) -> ErrorProfile:
        """Of rows asked on demand, each of which counts once; its types are not listed."""
        worst, bias = np.empty((2, self.workload.queries))
        for row in self._rows:
            query = self._classes(row)
            worst[row], bias[row] = self._variances(query).max(), self.law.class_bias(query)
        return ErrorProfile(worst, bias, np.array([worst.mean()]), np.ones(len(worst)))


def _pattern(query: Classes) -> bytes:
    """A key: queries of one key differ by exchanged members only. Some such queries have two keys."""
    return b"|".join([query.values.tobytes(), *(count.tobytes() for count in query.counts)])
