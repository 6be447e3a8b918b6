"""What answers from shifted grids have in common, on a line, on a plane or beside categories: moments and decoding.

A query v, its weights β and the variances of the types are arrays of the law's shape, (k,) or (k₁, k₂, …).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.answer_moments import AnswerMoments, BlanketMoments, LawsOfSome, regression_slopes
from sordino_analysis.evaluation.coarsened.tables import reports_holding
from sordino_analysis.evaluation.contribution_law import ContributionLaw
from sordino_analysis.evaluation.grids.beside_law import LawBeside
from sordino_analysis.evaluation.grids.contributions import DRAWN_FROM, DrawnLaws, laws_of_some
from sordino_analysis.evaluation.grids.drawn_coins import DrawnCoins
from sordino_analysis.evaluation.grids.law import GridLaw, PlaneLaw
from sordino_analysis.evaluation.grids.levels import CellLevel, Shape
from sordino_analysis.evaluation.mean_moves import MeanMoves, moves_of_ends, upper_mean
from sordino_analysis.questions.linear import Workload
from sordino_analysis.questions.linear.boxes import Box
from sordino_analysis.questions.linear.operators import Indices, LinearMap
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import Coarsened, GridPartition


@dataclass(frozen=True, eq=False)
class GridMoments(AnswerMoments):
    """The moments of answers whose decoder is `law`; `workload` has the listed boxes."""

    workload: Workload
    randomizer: Coarsened
    law: GridLaw | PlaneLaw | LawBeside[Any, Any]

    @property
    def judged_from(self) -> int:
        return DRAWN_FROM

    @classmethod
    @abstractmethod
    def asks(cls, workload: Workload) -> bool:
        """Whether this form of grids answers all queries of a workload."""

    @classmethod
    @abstractmethod
    def of(cls, randomizer: Coarsened, workload: Workload, factors: Floats | None = None) -> Self:
        """For all queries of a workload; reports of the levels count `factors` (L,) where they are given.

        Raises InvalidValue where workload or factors do not fit the randomizer.
        """

    @classmethod
    @abstractmethod
    def listing(cls, workload: Workload) -> Workload:
        """The workload with the listed queries only; others are asked one by one."""

    @abstractmethod
    def _queries(self, rows: Indices) -> Iterator[tuple[Indices, Floats]]:
        """The listed queries v (b, …) of `rows` (m,) with their rows (b,), a few at a time."""

    @abstractmethod
    def _of_boxes(self, boxes: Sequence[Box]) -> LinearMap:
        """The rows of other boxes."""

    def for_boxes(self, boxes: Sequence[Box]) -> Self:
        """The moments of the answers to other boxes."""
        workload = replace(self.workload, operator=self._of_boxes(boxes), name_query=lambda query: boxes[query].label)
        return replace(self, workload=workload)

    def _arranged(self, values: Floats) -> Floats:
        """Numbers of the types, in any shape, as an array of the law's shape."""
        return values.reshape(self.law.shape)

    def _flattened(self, values: Floats) -> Floats:
        """(…, k) from numbers of the types in the law's shape."""
        return values.reshape(*values.shape[: values.ndim - len(self.law.shape)], -1)

    @property
    def _cube(self) -> Shape:
        """(k₁, k₂, …) of the law: a line of types is a plane with one side of 1."""
        return (*self.law.shape, 1) if len(self.law.shape) == 1 else self.law.shape

    @property
    def _levels(self) -> Sequence[CellLevel]:
        """The levels on all attributes."""
        return self.law.levels

    @property
    def _rows(self) -> Indices:
        return np.arange(self.workload.queries)

    @property
    def _twins(self) -> Indices:
        """(Q,) the first listed query whose extremes are those of each one."""
        return self._rows

    def _weights(self, rows: Indices, queries: Floats) -> Floats:
        """β (b, …) of the listed queries of these rows."""
        return self.law.weights(queries)

    def extremes(self) -> tuple[Floats, Floats]:
        """(Q,) bounds on what a report adds to each listed answer, over all offsets and all label matrices.

        A set of cells holds at most all types with a positive β. A device that lies chooses what it is said to draw.
        """
        least, most = np.empty((2, self.workload.queries))
        levels = zip(self.law.factors, self._levels, strict=True)
        factor, high, low = np.array([[f, level.high - 1, level.low - 1] for f, level in levels]).T[:, :, None]
        for rows, queries in self._queries(np.unique(self._twins)):
            weights = self._weights(rows, queries)
            constant, flat = self.law.constants(queries, weights), weights.reshape(len(rows), -1)
            above, below = np.maximum(flat, 0.0).sum(axis=1), np.minimum(flat, 0.0).sum(axis=1)
            least[rows] = constant + (factor * (high * below + low * above)).min(axis=0)
            most[rows] = constant + (factor * (high * above + low * below)).max(axis=0)
        return least[self._twins], most[self._twins]

    def mean_moves(self, least: Floats, most: Floats) -> MeanMoves:
        """Of all listed queries whose answers lie in `least` (Q,) to `most` (Q,), or of some that are spread over all.

        Estimated from at most 10,000 coins, and above the mean of all with a chance of 1 − 10⁻⁶.
        """
        coins = DrawnCoins(self.randomizer, self._levels, self.law.factors)
        alike = np.unique(self._twins)
        alike = alike[
            np.unique(np.linspace(0, len(alike) - 1, min(len(alike), coins.most_queries)).round().astype(int))
        ]
        low, high = self.extremes()
        tables, constants = list[Floats](), list[Floats]()
        for rows, queries in self._queries(alike):
            weights = self._weights(rows, queries)
            tables.append(self._flattened(weights).reshape(len(rows), *self.randomizer.sizes))
            constants.append(self.law.constants(queries, weights))
        sums = coins.sums(np.concatenate(tables), np.concatenate(constants), least[alike], most[alike])
        chosen = moves_of_ends(low[alike], high[alike], least[alike], most[alike])
        found = np.zeros(self.workload.queries)
        found[alike] = upper_mean(*sums, coins.count, chosen, len(alike))
        rows = np.flatnonzero(np.isin(self._twins, alike))
        return MeanMoves(rows, found[self._twins[rows]])

    @cached_property
    def _by_type(self) -> Floats:
        """Var of each listed query for each type, (Q, k)."""
        by_type = np.empty(self.workload.operator.shape)
        for rows, queries in self._queries(self._rows):
            by_type[rows] = self._flattened(self.law.variances(queries))
        return np.maximum(by_type, 0.0, out=by_type)

    def blanket(self) -> BlanketMoments:
        mean, variance = np.empty((2, self.workload.queries))
        for rows, queries in self._queries(self._rows):
            mean[rows], variance[rows] = self.law.blanket(queries)
        return BlanketMoments(mean, variance)

    def mixed_variances(self, histogram: Floats) -> Floats:
        return self._by_type @ histogram

    def variance_slopes(self, histogram: Floats) -> Floats:
        slopes = np.empty(self.workload.queries)
        for rows, queries in self._queries(self._rows):
            slopes[rows] = regression_slopes(queries.reshape(len(rows), -1), self._by_type[rows], histogram)
        return slopes

    def type_variances(self) -> Floats:
        return self._by_type

    def decode(self, mean: Floats) -> Floats:
        return self.workload.operator.matvec(self.histogram(mean))

    def histogram(self, mean: Floats) -> Floats:
        """ĥ (k,), unbiased, from the mean accumulator (p,); any box is a sum of it, and on a line the whole is 1.

        Raises InvalidValue where the tables of the levels were too large to be kept.
        """
        if len(mean) == len(self.randomizer.levels):
            raise InvalidValue("tables of all values were too large to be kept: ask for fewer bins", len(mean))
        sizes = self.randomizer.sizes
        excess, start = np.zeros(sizes), 0
        shipped = zip(self.randomizer.levels, self.randomizer.table_sizes, strict=True)
        for factor, level, (part, entries) in zip(self.law.factors, self._levels, shipped, strict=True):
            share, table = mean[start], mean[start + 1 : start + 1 + entries]
            assert isinstance(part.partition, GridPartition)
            looked_at = [size if width else 1 for size, width in zip(sizes, part.partition.widths, strict=True)]
            holding = reports_holding(part, sizes, table).reshape(looked_at)
            excess += factor * ((level.high - level.low) * holding + (level.low - 1) * share)
            start += 1 + entries
        return self._flattened(self.law.histogram(self._arranged(excess)))

    def drawn_laws(self, histogram: Floats) -> LawsOfSome:
        return laws_of_some(self.workload.operator, self._cube, partial(self._laws, histogram))

    def _laws(self, histogram: Floats, rows: Indices) -> Iterator[ContributionLaw]:
        cube = self._cube
        drawn = DrawnLaws(self._levels, self.law.factors, self._arranged(histogram).reshape(cube))
        for row in rows:
            ((_, query),) = self._queries(np.array([row]))
            weights = self.law.weights(query)
            constant = float(self.law.constants(query, weights)[0])
            variances = self.law.variances(query).reshape(cube)
            yield drawn.of(query.reshape(cube), weights.reshape(cube), constant, variances)

    def covariance_root(self, histogram: Floats) -> Floats | None:
        """None: not worked out for a `histogram` (k,) on a plane, whose band is Šidák's."""
        return None


def check_no_factors(factors: Floats | None) -> None:
    """Raise InvalidValue where a decoder says what reports count; `factors` (L,) are for grids on a line."""
    if factors is not None:
        raise InvalidValue("factors of levels are for grids of one attribute", factors)
