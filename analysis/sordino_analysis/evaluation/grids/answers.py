"""Answers about one ordered attribute from shifted grids: those that are listed, and any other one on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import ErrorProfile
from sordino_analysis.evaluation.grids.covariance import GridCovariance
from sordino_analysis.evaluation.grids.families import LineFamily, Query
from sordino_analysis.evaluation.grids.law import GridLaw
from sordino_analysis.evaluation.grids.means import mean_variances
from sordino_analysis.evaluation.grids.moments import GridMoments
from sordino_analysis.evaluation.grids.shipped import shipped_levels
from sordino_analysis.evaluation.grids.stacked import StackFamily, family_of
from sordino_analysis.evaluation.linear_answers import covariance_square_root, root_fits
from sordino_analysis.progress import Progress, ProgressCallback, ignore_progress
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.operators import Indices, Intervals, LinearMap
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened

# With more queries than the first, as many as the second are listed of each part, and the worst is sought among as many
# as the third that are spread over all, and then among some that are near the worst of these.
_ALL_LISTED, _LISTED, _SPREAD, _NEAR = 2048, 257, 1025, 64
# Entries of the queries whose covariances are worked out, in a second: all prefixes of 2,048 types.
_ROOT_ENTRIES = 1 << 22
# Queries whose bias is computed, evenly spread over all.
_BIASES = 32


@dataclass(frozen=True, eq=False)
class GridAnswers(GridMoments):
    """The moments of the answers; `workload` has the listed queries, `family` all of them, `law` the decoder.

    `listed` names the queries of the workload, unless they are others that were asked on demand.
    """

    law: GridLaw
    family: LineFamily
    listed: tuple[Query, ...] | None

    @classmethod
    def asks(cls, workload: Workload) -> bool:
        return family_of(workload) is not None

    @classmethod
    def listing(cls, workload: Workload) -> Workload:
        return listed_on_a_line(workload)

    @classmethod
    def of(cls, randomizer: Coarsened, workload: Workload, factors: Floats | None = None) -> Self:
        """For all queries of a workload; reports of the levels count `factors` (L,) where they are given.

        Raises InvalidValue where randomizer, workload and factors do not fit together.
        """
        family = family_of(workload)
        if family is None:
            raise InvalidValue("shifted grids answer for queries about one ordered attribute", workload)
        if randomizer.sizes != workload.domain.shape:
            raise InvalidValue(
                f"the grids are for {randomizer.sizes} types, the workload for {workload.size}", workload
            )
        law = GridLaw(shipped_levels(randomizer, factors), workload.size)
        return cls(listed_on_a_line(workload), randomizer, law, family, tuple(_listed(family)))

    def for_rows(self, operator: LinearMap, label: Callable[[int], str]) -> Self:
        """The moments of the answers to any rows, for grids decode all of them."""
        return replace(self, workload=replace(self.workload, operator=operator, name_query=label), listed=None)

    def for_boxes(self, boxes: Sequence[Box]) -> Self:
        return self.for_rows(self._of_boxes(boxes), lambda query: boxes[query].label)

    def _of_boxes(self, boxes: Sequence[Box]) -> Intervals:
        first, last = np.array([box.sides[0] for box in boxes], dtype=np.intp).T
        return Intervals(first, last + 1, self.workload.size)

    def _queries(self, rows: Indices) -> Iterator[tuple[Indices, Floats]]:
        for row in rows:
            yield np.array([row]), self.workload.operator.take(np.array([row]))

    def profile(self, progress: ProgressCallback = ignore_progress) -> ErrorProfile:
        if self.listed is None:
            return self._profile_of_rows()
        seen: dict[Query, float] = {}
        spread = self.family.samples(_SPREAD) if len(self.listed) < self.family.count else []
        for place, query in enumerate(together := [*self.listed, *spread]):
            self._worst(query, seen)
            progress(Progress(place / len(together)))
        worst = np.array([self._worst(query, seen) for query in self.listed])
        sought = self._sought(spread, seen) if spread else {}
        by_type = np.maximum(mean_variances(self.law, self.family), 0.0)
        return ErrorProfile(
            variance=worst,
            bias=np.full(len(worst), self._bias()),
            type_variance=by_type,
            weights=self.family.weights(self.listed),
            sought=max(sought.values(), default=0.0),
            weighted_sought=max((self._weight(query) * found for query, found in sought.items()), default=0.0),
            over=self._over(spread),
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

    def _profile_of_rows(self) -> ErrorProfile:
        """Of rows asked on demand, each of which counts once."""
        by_type = self._by_type
        bias = np.empty(len(by_type))
        for rows, queries in self._queries(self._rows):
            bias[rows] = self.law.bias(queries, self.law.weights(queries))
        return ErrorProfile(by_type.max(axis=1), bias, by_type.mean(axis=0), np.ones(len(bias)))

    def _over(self, spread: Sequence[Query]) -> str | None:
        if not spread:
            return None
        noun = "queries" if isinstance(self.family, StackFamily) else "intervals"
        return f"{len(spread)} of {self.family.count} {noun} spread over all, and {_NEAR} near the worst"

    def _worst(self, query: Query, seen: dict[Query, float]) -> float:
        """The largest variance of a query over the types; `seen` keeps that of its mirror image."""
        mirrored = self.family.mirrored(query)
        known = query if mirrored is None else min(query, mirrored)
        if known not in seen:
            seen[known] = float(self.law.variances(self.family.rows([known])).max())
        return seen[known]

    def _bias(self) -> float:
        """The largest bias of the listed answers, or of a few of them: all are what rounding leaves of a solution."""
        rows = self._rows[:: max(1, len(self._rows) // _BIASES)]
        queries = self.workload.operator.take(rows)
        return float(self.law.bias(queries, self.law.weights(queries)).max())

    def _weight(self, query: Query) -> float:
        return float(self.family.weights([query])[0])

    def _sought(self, spread: Sequence[Query], seen: dict[Query, float]) -> dict[Query, float]:
        """The query of the largest variance met on a way uphill from the worst of each part."""
        found: dict[Query, float] = {}
        for part in range(len(self.family.parts)):
            starts = [query for query in spread if not isinstance(self.family, StackFamily) or query[0] == part]
            start = max(starts, key=lambda query: self._worst(query, seen))
            top = self._ascended(start, seen)
            found[top] = self._worst(top, seen)
        return found

    def _ascended(self, query: Query, seen: dict[Query, float]) -> Query:
        """The worst query met on a way uphill from this one, its ends moved by steps that halve."""
        step, tries = max(1, self.family.size // _SPREAD), 0
        while step and tries < _NEAR:
            near = self.family.neighbours(query, step)
            tries += len(near) or _NEAR
            top = max(near, key=lambda one: self._worst(one, seen), default=query)
            if self._worst(top, seen) > self._worst(query, seen):
                query = top
            else:
                step //= 2
        return query

    def variance(self, query: Floats, histogram: Floats) -> float:
        """Σ_x h_x Var(answer | x) of any query v (k,), exactly, without a list of queries."""
        return float(self.law.variances(query[None])[0] @ histogram)


def _listed(family: LineFamily) -> list[Query]:
    return family.all() if family.count <= _ALL_LISTED else family.listed(_LISTED)


def listed_on_a_line(workload: Workload) -> Workload:
    """The workload with only the queries that grids list: all, or a few hundred of each part; others are asked one by
    one.

    A workload that is no family of queries about one ordered attribute is returned as it is.
    """
    family = family_of(workload)
    if family is None:
        return workload
    queries = _listed(family)
    places = [family.place(query) for query in queries]
    return Workload(
        name=workload.name,
        domain=workload.domain,
        published=workload.published,
        operator=family.operator(queries),
        name_query=lambda query: workload.label(places[query]),
        scope=lambda query: workload.scope(places[query]),
    )
