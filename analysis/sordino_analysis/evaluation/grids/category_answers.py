"""Answers about categories and one ordered attribute: those that are listed, and any other one on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile, regression_slopes
from sordino_analysis.evaluation.grids.attribute_groups import AttributeGroups
from sordino_analysis.evaluation.grids.category_families import CategoryFamily, CategoryPart, category_family_of
from sordino_analysis.evaluation.grids.category_law import CategoryLaw, Classes
from sordino_analysis.evaluation.grids.category_listing import Listed, listed_categories, listed_of
from sordino_analysis.evaluation.grids.category_means import category_mean_variances
from sordino_analysis.evaluation.grids.families import Query
from sordino_analysis.evaluation.grids.levels import CellLevel
from sordino_analysis.evaluation.grids.moments import GridMoments, check_no_factors
from sordino_analysis.evaluation.grids.shipped import shipped_category_levels
from sordino_analysis.evaluation.linear_answers import covariance_square_root
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box, Boxes, Side
from sordino_analysis.questions.linear.operators import Dense, Indices, LinearMap
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# A query of a part by its number, about any members.
Place = tuple[int, Query]
# The worst query is sought among so many of each part that are spread over all, and then among some near the worst.
_SPREAD, _NEAR = 65, 32
# Queries of each part whose bias is computed.
_BIASES = 3
# Rows on demand whose covariances are worked out: a mean takes two of them.
_JOINT = 8


@dataclass(frozen=True, eq=False)
class CategoryAnswers(GridMoments):
    """The moments of the answers; `workload` has the `listed` queries, `family` all of them, `law` the decoder.

    Of both attributes are `groups`. Where the workload's are others, asked on demand, `listed` is None.
    """

    law: CategoryLaw
    family: CategoryFamily
    groups: AttributeGroups
    listed: tuple[Listed, ...] | None

    @classmethod
    def asks(cls, workload: Workload) -> bool:
        return category_family_of(workload) is not None

    @classmethod
    def listing(cls, workload: Workload) -> Workload:
        family = category_family_of(workload)
        return workload if family is None else listed_categories(workload, family)

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload, factors: Floats | None = None) -> Self:
        check_no_factors(factors)
        family = category_family_of(workload)
        if family is None:
            raise InvalidValue("these grids answer about categories and one ordered attribute", workload)
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(f"the grids are for {randomizer.sizes} types, not {workload.domain.shape}", workload)
        levels = shipped_category_levels(randomizer, family.axis)
        groups = family.groups(level.apart for level in levels)
        law = CategoryLaw([level.grouped(groups) for level in levels], groups.grouped)
        listed = tuple(listed_of(family))
        return cls(listed_categories(workload, family), randomizer, law, family.grouped(groups), groups, listed)

    def for_rows(self, operator: LinearMap, label: Callable[[int], str]) -> Self:
        """The moments of the answers to any rows that the levels tell."""
        return replace(self, workload=replace(self.workload, operator=operator, name_query=label), listed=None)

    def for_boxes(self, boxes: Sequence[Box]) -> Self:
        return self.for_rows(self._of_boxes(boxes), lambda query: boxes[query].label)

    @property
    def _levels(self) -> Sequence[CellLevel]:
        return self.law.levels

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
        groups, held = self.groups, [(first, last + 1) for first, last in sides]
        interval = np.zeros(self.law.bins)
        interval[slice(*held.pop(groups.axis))] = 1.0
        values, places, counts = interval, list[NDArray[np.intp]](), list[Floats]()
        for group in reversed(groups.groups):
            others = np.ones([groups.sizes[place] for place in group], dtype=np.intp)
            others[tuple(slice(*held[place]) for place in group)] = 0
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
        if self.listed is not None or count > _JOINT or not isinstance(self.workload.operator, Dense):
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
        """Of the types, the ordered attribute last."""
        return np.moveaxis(self._arranged(histogram), self.family.axis, -1)

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        if self.listed is None:
            return self._profile_of_rows()
        seen: dict[Place, float] = {}
        spread = [(number, query) for number, part in enumerate(self.family.parts) for query in part.samples(_SPREAD)]
        further = spread if len(self.listed) < self.family.count else []
        together = [*dict.fromkeys(one.place for one in self.listed), *further]
        for done, place in enumerate(together):
            self._worst(place, seen)
            progress(Progress(done / len(together)))
        by_type = np.maximum(category_mean_variances(self.law, self.family), 0.0)
        tops = [self._ascended(number, seen) for number in range(len(self.family.parts))] if further else []
        return ErrorProfile(
            variance=np.array([self._worst(one.place, seen) for one in self.listed]),
            bias=np.full(len(self.listed), self._bias()),
            type_variance=by_type,
            weights=np.array([self.family.parts[one.part].weight for one in self.listed]),
            sought=max((seen[top] for top in tops), default=0.0),
            weighted_sought=max((self.family.parts[top[0]].weight * seen[top] for top in tops), default=0.0),
            over=self._over(len(further)),
            uniform=float(by_type.mean()),
        )

    def _profile_of_rows(self) -> ErrorProfile:
        """Of rows asked on demand, each of which counts once; its types are not listed."""
        worst, bias = np.empty((2, self.workload.queries))
        for row in self._rows:
            query = self._classes(row)
            worst[row], bias[row] = self._variances(query).max(), self.law.class_bias(query)
        return ErrorProfile(worst, bias, np.array([worst.mean()]), np.ones(len(worst)))

    def _over(self, spread: int) -> str | None:
        intervals = sum(part.intervals for part in self.family.parts)
        told = f"{spread} of {intervals} intervals of any member spread over all, and {_NEAR} near the worst"
        return told if spread else None

    def _of(self, part: CategoryPart, query: Query) -> Classes:
        """The query about the first member of each attribute that the part tells apart."""
        return self.law.classes(part.query(self.family.shape, self.family.axis, query))

    def _worst(self, place: Place, seen: dict[Place, float]) -> float:
        """The largest variance over the types of a query of a part, whatever its members are."""
        if place not in seen:
            number, query = place
            seen[place] = float(self.law.class_variances(self._of(self.family.parts[number], query)).max())
        return seen[place]

    def _ascended(self, number: int, seen: dict[Place, float]) -> Place:
        """The worst query met on a way uphill from the worst of a part, its ends moved by steps that halve."""
        best = max((place for place in seen if place[0] == number), key=seen.__getitem__)
        step, tries = max(1, self.family.bins // _SPREAD), 0
        while step and tries < _NEAR:
            near = [(number, query) for query in self.family.parts[number].family.neighbours(best[1], step)]
            tries += max(1, len(near))
            top = max(near, key=lambda place: self._worst(place, seen), default=best)
            if self._worst(top, seen) > self._worst(best, seen):
                best = top
            else:
                step //= 2
        return best

    def _bias(self) -> float:
        """The largest bias of some answers: all are what rounding leaves of a solution."""
        some = [(part, query) for part in self.family.parts for query in part.samples(_BIASES)]
        return max(self.law.class_bias(self._of(part, query)) for part, query in some)


def _pattern(query: Classes) -> bytes:
    """The same for queries that are one another with members exchanged; not always for all that are."""
    return b"|".join([query.values.tobytes(), *(count.tobytes() for count in query.counts)])
