"""The decoder of grids on categories and one ordered attribute, and the exact variances of its answers.

A level that tells the attributes S apart adds to M the identity on S, all ones on the other attributes, and a Toeplitz
matrix on the line. Split the functions of each attribute without an order into the constant ones and those of sum 0:
on the part whose factors have the sum 0 on the attributes U, M is one Toeplitz matrix on the line,

    T_U = Σ_{S ⊇ U} p f R Π_{a ∉ S} c_a,  and 11ᵀ Π_a c_a more for the empty U,

with c_a members of attribute a. So M⁻¹ takes a Toeplitz system for each U: two where one attribute has categories, and
one on a line. As there, β = M⁻¹(v − c1) with c = ⟨a, v⟩ for the c of least variance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.evaluation.grids.category_levels import CategoryLevel
from sordino_analysis.evaluation.grids.levels import Shape
from sordino_analysis.optimisation.toeplitz import SymmetricToeplitz, ToeplitzInverse
from sordino_shared.errors import InvalidValue

# U: for each attribute without an order whether functions have the sum 0 on it.
Subset = tuple[bool, ...]
# What rounding leaves of a part of a query that is not there.
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Classes:
    """A function of the types that is alike for members of one class: `values` (r₁, …, k), the line last.

    `places` has the class of each member of an attribute without an order, `counts` the members of each class.
    """

    values: Floats
    places: tuple[NDArray[np.intp], ...]
    counts: tuple[Floats, ...]

    @classmethod
    def of(cls, cube: Floats) -> Classes:
        """Of a function (c₁, …, k), the line last."""
        places, counts = [], []
        for axis in range(cube.ndim - 1):
            rows = np.ascontiguousarray(np.moveaxis(cube, axis, 0)).reshape(cube.shape[axis], -1)
            seen: dict[bytes, int] = {}
            place = np.array([seen.setdefault(row.tobytes(), len(seen)) for row in rows])
            _, first, count = np.unique(place, return_index=True, return_counts=True)
            cube = np.take(cube, first, axis=axis)
            places.append(place)
            counts.append(count.astype(float))
        return cls(cube, tuple(places), tuple(counts))

    def spread(self, values: Floats) -> Floats:
        """Values of classes as those of all members, (c₁, …, k)."""
        for axis, place in enumerate(self.places):
            values = np.take(values, place, axis=axis)
        return values

    def sums(self, values: Floats) -> Floats:
        """(r₁, …, k) Σ over the members of each class of values of all types, (c₁, …, k)."""
        for axis, (place, count) in enumerate(zip(self.places, self.counts, strict=True)):
            members = place == np.arange(len(count))[:, None]
            values = np.moveaxis(np.tensordot(members.astype(float), values, (1, axis)), 0, axis)
        return values

    def total(self, values: Floats) -> float:
        """Σ over all types of `values` (r₁, …, k)."""
        for count in self.counts:
            values = np.tensordot(count, values, (0, 0))
        return float(values.sum())


@dataclass(frozen=True, eq=False)
class CategoryLaw:
    """Levels on types of `shape`, as shipped."""

    levels: Sequence[CategoryLevel]
    shape: Shape

    @property
    def axis(self) -> int:
        """The place of the ordered attribute."""
        return self.levels[0].axis

    @cached_property
    def sizes(self) -> Shape:
        """c of the attributes without an order."""
        return self.shape[: self.axis] + self.shape[self.axis + 1 :]

    @property
    def bins(self) -> int:
        """k of the ordered attribute."""
        return self.shape[self.axis]

    @cached_property
    def factors(self) -> list[float]:
        """f of each level."""
        return [level.factor(self.sizes, self.bins) for level in self.levels]

    @cached_property
    def inverses(self) -> dict[Subset, ToeplitzInverse]:
        """T_U⁻¹ for each U that the levels tell of."""
        columns = {subset: self._column(subset) for subset in _subsets(len(self.sizes))}
        return {
            subset: ToeplitzInverse(SymmetricToeplitz(column)) for subset, column in columns.items() if column.any()
        }

    def _column(self, subset: Subset) -> Floats:
        column = np.zeros(self.bins) if any(subset) else np.full(self.bins, float(math.prod(self.sizes)))
        for level, factor in zip(self.levels, self.factors, strict=True):
            if all(told or not needed for told, needed in zip(level.apart, subset, strict=True)):
                left = math.prod(size for size, told in zip(self.sizes, level.apart, strict=True) if not told)
                column += left * level.chance * factor * level.kernel(self.bins)
        return column

    @cached_property
    def flat(self) -> Floats:
        """(k,) M⁻¹1 of the types of one combination of categories."""
        return self.inverses[(False,) * len(self.sizes)].product(np.ones(self.bins))

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
        return Classes.of(np.moveaxis(query, self.axis, -1))

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
        return np.moveaxis(query.spread(values), -1, self.axis)

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
        cube = np.moveaxis(1 + excess, self.axis, -1)
        whole = Classes(cube, tuple(map(np.arange, self.sizes)), tuple(map(np.ones, self.sizes)))
        found = np.zeros(cube.shape)
        for subset, part in self._parts(cube, whole.counts):
            found = found + self.inverses[subset].product(part)
        return np.moveaxis(found + self.centre * (1 - found.sum()), -1, self.axis)


def _subsets(attributes: int) -> Iterator[Subset]:
    yield from (tuple(bool(number >> place & 1) for place in range(attributes)) for number in range(1 << attributes))
