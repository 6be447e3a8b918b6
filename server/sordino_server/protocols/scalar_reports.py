"""Reports of one bounded number with discrete Laplace noise, as an integer kernel over the types.

The noise is geometric on a grid and its tails are folded onto the two ends (the truncated geometric mechanism of Ghosh,
Roughgarden and Sundararajan 2012). Decoded as itself, an output inside the range is unbiased; the ends decode to
α/(1 − α) grid steps farther out, which makes the whole exactly unbiased, with a variance below that of Laplace noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino_server.design.arrays import Floats
from sordino_server.design.kernels import NULL_SHARE, dense_kernel
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers import FiniteKernel

_STEPS = 32


@dataclass(frozen=True)
class ScalarReports:
    """Numbers from `low` to `high`, under `guarantee`: neighbours on the grid have a ratio of e^(ε/steps) = 1/α.

    A number between two points of the grid is rounded to either at random, without bias: a mixture of their columns.
    """

    low: float
    high: float
    guarantee: PureEpsilon

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InvalidValue(f"the range of a number is from low to high, got {self.low} to {self.high}", self)

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def kernel(self, values: Floats) -> FiniteKernel:
        """The kernel over the (k,) types that hold these values, in integers; the null output is the last."""
        return dense_kernel(self._table() @ self._weights(values), self.guarantee)

    def decoded(self) -> Floats:
        """What every output stands for, less `middle`; nothing for the null output."""
        step = (self.high - self.low) / _STEPS
        inside = self.low - self.middle + step * np.arange(_STEPS + 1)
        ends = np.zeros(_STEPS + 1)
        ends[[0, -1]] = step * self._alpha / (1 - self._alpha) * np.array([-1, 1])
        return np.append((inside + ends) / (1 - NULL_SHARE), 0.0)

    def variances(self, values: Floats) -> Floats:
        """(k,) Var of the decoded report of either value."""
        squares = self.decoded()[:-1] ** 2 @ self._table()
        return np.asarray((1 - NULL_SHARE) * squares @ self._weights(values) - (values - self.middle) ** 2)

    @property
    def _alpha(self) -> float:
        return float(np.exp(-self.guarantee.epsilon / _STEPS))

    def _table(self) -> Floats:
        """(points, points) chances of every output for every point of the grid."""
        points = np.arange(_STEPS + 1)
        table = self._alpha ** np.abs(np.subtract.outer(points, points))
        table[1:-1] *= 1 - self._alpha
        return np.asarray(table / (1 + self._alpha))

    def _weights(self, values: Floats) -> Floats:
        """(points, k) the chances with which every value is rounded to the points of the grid."""
        if not ((values >= self.low) & (values <= self.high)).all():
            raise InvalidValue(f"a value lies outside {self.low} to {self.high}: clip it first", values)
        places = (values - self.low) / (self.high - self.low) * _STEPS
        below = np.minimum(places.astype(int), _STEPS - 1)
        weights, types = np.zeros((_STEPS + 1, len(values))), np.arange(len(values))
        weights[below, types], weights[below + 1, types] = 1 - (places - below), places - below
        return weights
