"""Several families of one line of types, each with a weight, and rows of a matrix as a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sordino_analysis.arrays import Floats, varying_rows
from sordino_analysis.evaluation.grids.families import CellFamily, LineFamily, Query, intervals_of
from sordino_analysis.questions.linear.operators import Dense, Identity, Indices, LinearMap, Symmetry
from sordino_analysis.questions.linear.stacks import Stack
from sordino_analysis.questions.linear.workload import Workload
from sordino_shared.domains import Ordered

# Singular values below this share of the largest are rounding.
_RANK = 1e-10


@dataclass(frozen=True, eq=False)
class MatrixRows(LineFamily):
    """The rows (m, k) of a `matrix`, (q,) naming row q; constant rows are listed, too, and are answered exactly."""

    matrix: Floats
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.matrix.shape[1])

    @cached_property
    def _varying(self) -> Floats:
        return np.asarray(self.matrix[varying_rows(self.matrix)])

    @cached_property
    def factors(self) -> Floats:
        """(r, k) as few rows as have the same Gram matrix: means over the queries depend on that alone."""
        rows = self._varying
        _, values, basis = np.linalg.svd(rows, full_matrices=False)
        kept = values > _RANK * values.max(initial=0.0)
        return np.asarray(values[kept, None] * basis[kept])

    @property
    def count(self) -> int:
        return len(self._varying)

    def gram(self, vectors: Floats) -> Floats:
        return np.asarray((vectors @ self._varying.T) @ self._varying)

    def cell_gram(self, edges: Indices) -> Floats:
        means = np.add.reduceat(self._varying, edges[:-1], axis=1) / np.diff(edges)
        return np.asarray(means.T @ means)

    def squared_distances(self, density: Floats) -> Floats:
        return np.asarray(((self._varying - (self._varying @ density)[:, None]) ** 2).sum(axis=0))

    def mirrored(self, query: Query) -> Query | None:
        return None

    def all(self) -> list[Query]:
        return [(row,) for row in range(len(self.matrix))]

    def neighbours(self, query: Query, step: int) -> list[Query]:
        return []

    def samples(self, count: int) -> list[Query]:
        rows = np.unique(np.linspace(0, len(self.matrix) - 1, min(count, len(self.matrix))).round().astype(int))
        return [(int(row),) for row in rows]

    def listed(self, count: int) -> list[Query]:
        """All: who wrote rows down wants the answer to each."""
        return self.all()

    def rows(self, queries: Sequence[Query]) -> Floats:
        return np.asarray(self.matrix[[query[0] for query in queries]])

    def place(self, query: Query) -> int:
        return query[0]

    def operator(self, queries: Sequence[Query]) -> LinearMap:
        return Dense(self.rows(queries))

    def resized(self, size: int) -> MatrixRows:
        """Each entry is the mean over the types that it stands for."""
        sums = np.concatenate([np.zeros((len(self.matrix), 1)), np.cumsum(self.matrix, axis=1)], axis=1)
        places = np.arange(size + 1) * self.size / size
        below = np.minimum(places.astype(int), self.size - 1)
        ends = sums[:, below] + (places - below) * self.matrix[:, below]
        return MatrixRows(np.diff(ends, axis=1) * size / self.size)


@dataclass(frozen=True, eq=False)
class StackFamily(LineFamily):
    """The queries of all `families`, (part, …) naming one, of which those of part i count `shares`_i times."""

    families: tuple[LineFamily, ...]
    shares: tuple[float, ...]
    size: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", self.families[0].size)

    @property
    def parts(self) -> Sequence[LineFamily]:
        return self.families

    @property
    def count(self) -> int:
        return sum(family.count for family in self.families)

    def gram(self, vectors: Floats) -> Floats:
        pairs = zip(self.shares, self.families, strict=True)
        return np.asarray(np.sum([share * family.gram(vectors) for share, family in pairs], axis=0))

    def cell_gram(self, edges: Indices) -> Floats:
        pairs = zip(self.shares, self.families, strict=True)
        return np.asarray(np.sum([share * family.cell_gram(edges) for share, family in pairs], axis=0))

    def squared_distances(self, density: Floats) -> Floats:
        pairs = zip(self.shares, self.families, strict=True)
        return np.asarray(np.sum([share * family.squared_distances(density) for share, family in pairs], axis=0))

    def mirrored(self, query: Query) -> Query | None:
        found = self.families[query[0]].mirrored(query[1:])
        return None if found is None else (query[0], *found)

    def all(self) -> list[Query]:
        return [(part, *query) for part, family in enumerate(self.families) for query in family.all()]

    def neighbours(self, query: Query, step: int) -> list[Query]:
        return [(query[0], *near) for near in self.families[query[0]].neighbours(query[1:], step)]

    def samples(self, count: int) -> list[Query]:
        each = max(3, count // len(self.families))
        return [(part, *query) for part, family in enumerate(self.families) for query in family.samples(each)]

    def listed(self, count: int) -> list[Query]:
        return [(part, *query) for part, family in enumerate(self.families) for query in family.listed(count)]

    def rows(self, queries: Sequence[Query]) -> Floats:
        return np.concatenate([self.families[query[0]].rows([query[1:]]) for query in queries])

    def weights(self, queries: Sequence[Query]) -> Floats:
        return np.array([self.shares[query[0]] for query in queries])

    def place(self, query: Query) -> int:
        before = self.families[: query[0]]
        return sum(rows_of(family) for family in before) + self.families[query[0]].place(query[1:])

    def operator(self, queries: Sequence[Query]) -> LinearMap:
        of_parts = [[query[1:] for query in queries if query[0] == part] for part in range(len(self.families))]
        maps = [family.operator(some) for family, some in zip(self.families, of_parts, strict=True)]
        return Stack(maps, self.shares)

    def resized(self, size: int) -> StackFamily:
        return StackFamily(tuple(family.resized(size) for family in self.families), self.shares)

    def weighed(self, factors: Floats) -> StackFamily:
        """The same with the weight of each part times one of `factors` (parts,)."""
        shares = tuple(share * factor for share, factor in zip(self.shares, factors.tolist(), strict=True))
        return StackFamily(self.families, shares)


def rows_of(family: LineFamily) -> int:
    """How many rows the family's part of a workload has, constant ones of a matrix included."""
    return len(family.matrix) if isinstance(family, MatrixRows) else family.count


def family_of(workload: Workload) -> LineFamily | None:
    """The family that the queries of a workload are; None where they are not about one ordered attribute.

    None of a histogram alone, too: it is listed as a whole, and other reports tell it with less variance.
    """
    attributes = workload.domain.attributes
    if workload.symmetry is Symmetry.TYPES:
        return None
    if len(attributes) != 1 or not isinstance(attributes[0], Ordered) or workload.dithering is not None:
        return None
    return _family(workload.operator)


def _family(operator: LinearMap) -> LineFamily | None:
    if isinstance(operator, Stack):
        families = [_family(part) for part in operator.parts]
        known = tuple(family for family in families if family is not None)
        return StackFamily(known, operator.weights) if len(known) == len(families) else None
    intervals = intervals_of(operator)
    if intervals is not None:
        return intervals
    if isinstance(operator, Identity):
        return CellFamily(operator.size, operator.size)
    return MatrixRows(operator.matrix) if type(operator) is Dense else None
