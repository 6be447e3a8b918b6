"""Linear maps made of others: products of factors, and a map without one of its rows."""

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices, LinearMap, OneAttribute, Prefix, Ranges, Symmetry


class Kronecker(LinearMap):
    """W₁ ⊗ W₂ ⊗ …: a query of each factor, asked of the product of their domains; the last varies fastest."""

    def __init__(self, factors: Sequence[LinearMap]) -> None:
        self.factors = tuple(factors)
        self.zero_one = all(factor.zero_one for factor in self.factors)
        # The one query about one member is its histogram, whatever it is called.
        if all(factor.symmetry is Symmetry.TYPES or factor.shape == (1, 1) for factor in self.factors):
            self.symmetry = Symmetry.TYPES
        match self.factors:
            case (Prefix() as first, Prefix() as second):
                self.plane = (first, second)
        constant = [factor.constant_row for factor in self.factors]
        known = [row for row in constant if row is not None]
        if len(known) == len(constant):
            self.constant_row = int(np.ravel_multi_index(known, self._heights))

    @property
    def shape(self) -> tuple[int, int]:
        return prod(self._heights), prod(self._widths)

    @property
    def factored(self) -> tuple[OneAttribute, ...] | None:
        found = tuple(factor for factor in self.factors if isinstance(factor, OneAttribute))
        return found if len(found) == len(self.factors) else None

    @property
    def _heights(self) -> tuple[int, ...]:
        return tuple(factor.shape[0] for factor in self.factors)

    @property
    def _widths(self) -> tuple[int, ...]:
        return tuple(factor.shape[1] for factor in self.factors)

    def matvec(self, histogram: Floats) -> Floats:
        return self._forward([factor.matvec for factor in self.factors], histogram)

    def squared_matvec(self, histogram: Floats) -> Floats:
        return self._forward([factor.squared_matvec for factor in self.factors], histogram)

    def rmatvec(self, weights: Floats) -> Floats:
        cube = weights.reshape(*self._heights, *weights.shape[1:])
        for axis, factor in enumerate(self.factors):
            cube = _along(axis, factor.rmatvec, cube)
        return cube.reshape(self.shape[1], *weights.shape[1:])

    def column(self, cell: int) -> Floats:
        cells = np.unravel_index(cell, self._widths)
        result: Floats = np.ones(1)
        for factor, part in zip(self.factors, cells, strict=True):
            result = np.multiply.outer(result, factor.column(int(part))).ravel()
        return result

    def take(self, rows: Indices) -> Floats:
        parts = np.unravel_index(rows, self._heights)
        blocks = (factor.take(part) for factor, part in zip(self.factors, parts, strict=True))
        return reduce(_rowwise_product, blocks)

    def _forward(self, products: Sequence[Callable[[Floats], Floats]], histogram: Floats) -> Floats:
        cube = histogram.reshape(*self._widths, *histogram.shape[1:])
        for axis, product in enumerate(products):
            cube = _along(axis, product, cube)
        return cube.reshape(self.shape[0], *histogram.shape[1:])


class WithoutRow(LinearMap):
    """A map without one of its queries, which is answered exactly and costs nothing."""

    def __init__(self, whole: LinearMap, omitted: int) -> None:
        self.whole, self.omitted = whole, omitted
        self.zero_one = whole.zero_one
        if omitted == whole.constant_row:
            self.plane = whole.plane

    @property
    def intervals(self) -> Prefix | Ranges | None:
        return self.whole.intervals if self.omitted == self.whole.constant_row else None

    @property
    def factored(self) -> tuple[OneAttribute, ...] | None:
        return self.whole.factored if self.omitted == self.whole.constant_row else None

    def varies(self) -> bool:
        return self.shape[0] > 0 and self.whole.varies()

    @property
    def shape(self) -> tuple[int, int]:
        return self.whole.shape[0] - 1, self.whole.shape[1]

    def matvec(self, histogram: Floats) -> Floats:
        return np.delete(self.whole.matvec(histogram), self.omitted, axis=0)

    def squared_matvec(self, histogram: Floats) -> Floats:
        return np.delete(self.whole.squared_matvec(histogram), self.omitted, axis=0)

    def rmatvec(self, weights: Floats) -> Floats:
        return self.whole.rmatvec(np.insert(weights, self.omitted, 0.0, axis=0))

    def column(self, cell: int) -> Floats:
        return np.delete(self.whole.column(cell), self.omitted)

    def take(self, rows: Indices) -> Floats:
        return self.whole.take(rows + (rows >= self.omitted))


def _along(axis: int, product: Callable[[Floats], Floats], cube: Floats) -> Floats:
    front = np.moveaxis(cube, axis, 0)
    result = product(front.reshape(front.shape[0], -1))
    return np.moveaxis(result.reshape(len(result), *front.shape[1:]), 0, axis)


def _rowwise_product(left: Floats, right: Floats) -> Floats:
    width = left.shape[1] * right.shape[1]
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), width))
