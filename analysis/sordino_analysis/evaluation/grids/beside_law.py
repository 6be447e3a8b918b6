"""The decoder of grids on categories and ordered attributes, and the exact variances of its answers.

A level that tells the attributes S apart adds to M the identity on S, all ones on the other attributes, and a Toeplitz
matrix on the ordered ones. Split the functions of each attribute without an order into the constant ones and those of
sum 0: on the part whose factors have the sum 0 on the attributes U, M is one (block-)Toeplitz matrix,

    T_U = Σ_{S ⊇ U} p f R Π_{a ∉ S} c_a,  and 11ᵀ Π_a c_a more for the empty U,

with c_a members of attribute a. So M⁻¹ takes a Toeplitz system for each U: two where one attribute has categories, and
one where none has. As on a line, β = M⁻¹(v − c1) with c = ⟨a, v⟩ for the c of least variance.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, Protocol, TypeVar

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.attribute_groups import Apart
from sordino_analysis.evaluation.grids.classes import Classes
from sordino_analysis.evaluation.grids.levels import CellLevel, Shape
from sordino_shared.errors import InvalidValue

# U: for each attribute without an order whether functions have the sum 0 on it.
Subset = tuple[bool, ...]
# What rounding leaves of a part of a query that is not there.
_NOTHING = 1e-12


class LevelBeside(CellLevel, Protocol):
    """A level whose cells are members of attributes without an order, too."""

    @property
    def apart(self) -> Apart:
        """Whether it tells the members of each of these attributes apart."""

    def second_moments(self, weights: Floats, counts: Sequence[Floats]) -> Floats:
        """E[(Σ β(u−1))² | x] for β (r₁, …, k) of classes of members: (r₁ or 1, …, k or 1); `counts` (r,)."""

    def even_moment(self, weights: Floats, counts: Sequence[Floats]) -> float:
        """E[(Σ β(u−1))²] of a report whose label is even, for β (r₁, …, k) of classes; `counts` (r,)."""


class Matrix(Protocol):
    """M or one of its parts."""

    def product(self, vectors: Floats) -> Floats:
        """M v for `vectors` (…, k)."""


class Inverse(Protocol):
    """The solution of systems of a matrix."""

    @property
    def matrix(self) -> Matrix:
        """What is inverted."""

    def product(self, vectors: Floats) -> Floats:
        """M⁻¹ v for `vectors` (…, k)."""


Level = TypeVar("Level", bound=LevelBeside)
Inverted = TypeVar("Inverted", bound=Inverse)


@dataclass(frozen=True, eq=False)
class LawBeside(ABC, Generic[Level, Inverted]):
    """Levels on types of `shape`, as shipped; arrays (k,) are (k₁, k₂) where two attributes are ordered."""

    levels: Sequence[Level]
    shape: Shape

    @property
    @abstractmethod
    def axes(self) -> Shape:
        """The places of the ordered attributes."""

    @property
    @abstractmethod
    def factors(self) -> list[float]:
        """f of each level."""

    @property
    @abstractmethod
    def kernels(self) -> list[Floats]:
        """R (k,) of each level for types of one combination of categories, by their distance."""

    @abstractmethod
    def inverse(self, column: Floats) -> Inverted:
        """Of the matrix with this first column, (k,)."""

    @cached_property
    def sizes(self) -> Shape:
        """c of the attributes without an order."""
        return tuple(size for place, size in enumerate(self.shape) if place not in self.axes)

    @cached_property
    def ordered(self) -> Shape:
        """k of the ordered attributes."""
        return tuple(self.shape[axis] for axis in self.axes)

    @property
    def _last(self) -> tuple[int, ...]:
        """Where functions of classes have the ordered axes."""
        return tuple(range(-len(self.axes), 0))

    @cached_property
    def inverses(self) -> dict[Subset, Inverted]:
        """T_U⁻¹ for each U that the levels tell of."""
        columns = {subset: self._column(subset) for subset in _subsets(len(self.sizes))}
        return {subset: self.inverse(column) for subset, column in columns.items() if column.any()}

    def _column(self, subset: Subset) -> Floats:
        column = np.zeros(self.ordered) if any(subset) else np.full(self.ordered, float(math.prod(self.sizes)))
        for level, factor, kernel in zip(self.levels, self.factors, self.kernels, strict=True):
            if all(told or not needed for told, needed in zip(level.apart, subset, strict=True)):
                left = math.prod(size for size, told in zip(self.sizes, level.apart, strict=True) if not told)
                column += left * level.chance * factor * kernel
        return column

    @cached_property
    def flat(self) -> Floats:
        """(k,) M⁻¹1 of the types of one combination of categories."""
        return self.inverses[(False,) * len(self.sizes)].product(np.ones(self.ordered))

    @cached_property
    def centre(self) -> Floats:
        """(k,) a of the types of one combination; see `GridLaw.centre`."""
        types = math.prod(self.shape)
        return np.asarray((2 * self.flat - 1 / types) / (2 * math.prod(self.sizes) * self.flat.sum() - 1))

    @cached_property
    def density(self) -> Floats:
        """(k,) τ of the types of one combination, with t = ⟨τ, v⟩; over all types its sum is 1."""
        return np.asarray(self.flat + self.centre * (1 - math.prod(self.sizes) * self.flat.sum()))

    def classes(self, query: Floats) -> Classes:
        """The classes of a query v (k₁, k₂, …) of the law's shape."""
        return Classes.of(np.moveaxis(query, self.axes, self._last), len(self.axes))

    def solved(self, query: Classes) -> Floats:
        """β (r₁, …, k) of the classes of v; raises InvalidValue where the levels do not tell v."""
        return self._inverse(query, query.values - query.total(query.values * self.centre))

    def _inverse(self, query: Classes, values: Floats) -> Floats:
        """M⁻¹ of the classes' `values`."""
        found = np.zeros(np.broadcast_shapes(values.shape, query.values.shape))
        rest = values
        for subset, part in self._parts(values, query.counts):
            found = found + self.inverses[subset].product(part)
            rest = rest - part
        if np.abs(rest).max() > _NOTHING:
            raise InvalidValue("the reports do not tell these members apart: plan for a workload that does", query)
        return found

    def _parts(self, values: Floats, counts: Sequence[Floats]) -> Iterator[tuple[Subset, Floats]]:
        """The parts of a function of classes that the levels tell: the mean over each attribute, or what differs."""
        yield from self._split((), values, counts)

    def _split(self, subset: Subset, part: Floats, counts: Sequence[Floats]) -> Iterator[tuple[Subset, Floats]]:
        axis = len(subset)
        if axis == len(counts):
            yield subset, part
            return
        mean = np.expand_dims(np.tensordot(part, counts[axis] / counts[axis].sum(), (axis, 0)), axis)
        if (*subset, False) in self._beginnings:
            yield from self._split((*subset, False), mean, counts)
        if len(counts[axis]) > 1 and (*subset, True) in self._beginnings:
            yield from self._split((*subset, True), part - mean, counts)

    @cached_property
    def _beginnings(self) -> set[Subset]:
        """Of the subsets that the levels tell."""
        return {subset[:end] for subset in self.inverses for end in range(1 + len(subset))}

    def constant(self, query: Classes) -> float:
        """t of v."""
        return query.total(query.values * self.density)

    def class_variances(self, query: Classes) -> Floats:
        """Var of one report's contribution for the types of each class, (r₁, …, k), exactly for the β that is used."""
        beta = self.solved(query)
        found = -((query.values - self.constant(query)) ** 2)
        for level, factor in zip(self.levels, self.factors, strict=True):
            found = found + level.chance * factor**2 * level.second_moments(beta, query.counts)
        return np.maximum(found, 0.0)

    def class_bias(self, query: Classes) -> float:
        """max_x |E[answer | x] − v_x|, the residual of Mβ = v − c1."""
        left = query.values - query.total(query.values * self.centre)
        for subset, part in self._parts(self.solved(query), query.counts):
            left = left - self.inverses[subset].matrix.product(part)
        return float(np.abs(left).max())

    def _spread(self, query: Classes, values: Floats) -> Floats:
        return np.moveaxis(query.spread(values), self._last, self.axes)

    def weights(self, queries: Floats) -> Floats:
        """β (b, …) of queries v (b, …) of the law's shape."""
        every = [self.classes(query) for query in queries]
        return np.stack([self._spread(query, self.solved(query)) for query in every])

    def constants(self, queries: Floats, weights: Floats) -> Floats:
        """t (b,) of queries v with their β, both (b, …)."""
        return np.array([self.constant(self.classes(query)) for query in queries])

    def variances(self, queries: Floats, weights: Floats | None = None) -> Floats:
        """(b, …) Var of one report's contribution for each type, of queries v (b, …)."""
        every = [self.classes(query) for query in queries]
        return np.stack([self._spread(query, self.class_variances(query)) for query in every])

    def blanket(self, queries: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of what a report with an even label adds to queries v (b, …): (b,) each."""
        means, variances = np.zeros(len(queries)), np.zeros(len(queries))
        for place, query in enumerate(map(self.classes, queries)):
            beta, means[place] = self.solved(query), self.constant(query)
            for level, factor in zip(self.levels, self.factors, strict=True):
                variances[place] += level.chance * factor**2 * level.even_moment(beta, query.counts)
        return means, variances

    def histogram(self, excess: Floats) -> Floats:
        """ĥ (k₁, k₂, …), unbiased and of sum 1, from Σ_reports f(u_x − 1)/n for every type, `excess` (k₁, k₂, …)."""
        cube = np.moveaxis(1 + excess, self.axes, self._last)
        whole = Classes(cube, tuple(map(np.arange, self.sizes)), tuple(map(np.ones, self.sizes)))
        found = np.zeros(cube.shape)
        for subset, part in self._parts(cube, whole.counts):
            found = found + self.inverses[subset].product(part)
        return np.moveaxis(found + self.centre * (1 - found.sum()), self._last, self.axes)


def _subsets(attributes: int) -> Iterator[Subset]:
    yield from (tuple(bool(number >> place & 1) for place in range(attributes)) for number in range(1 << attributes))
