"""Intervals of neighbouring types on which a guess is even: a few hundred of unequal width stand for all types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices


@dataclass(frozen=True, eq=False)
class Cells:
    """m cells with `edges` (m + 1,) from 0 to k; the first `ordered` are of bins, each other one is a type of its own.

    Types without a number, such as `missing`, come after the bins and are in no order.
    """

    edges: Indices
    ordered: int

    @classmethod
    def even(cls, bins: int, size: int, count: int) -> Self:
        """About `count` cells of equal width, and one for each type after the bins."""
        inner = np.unique(np.rint(np.linspace(0, bins, min(count, bins) + 1)).astype(np.intp))
        return cls(np.concatenate([inner, np.arange(bins + 1, size + 1)]), len(inner) - 1)

    @property
    def widths(self) -> Indices:
        """(m,) types in each cell."""
        return np.diff(self.edges)

    @property
    def size(self) -> int:
        """k."""
        return int(self.edges[-1])

    @property
    def middles(self) -> Floats:
        """(ordered,) where the ordered cells are, as shares of all bins."""
        edges = self.edges[: self.ordered + 1] / self.edges[self.ordered]
        return np.asarray((edges[1:] + edges[:-1]) / 2)

    def spread(self, shares: Floats) -> Floats:
        """(…, k) shares of types from those of cells (…, m)."""
        return np.repeat(shares / self.widths, self.widths, axis=-1)

    def means(self, values: Floats) -> Floats:
        """(…, m) the mean of numbers of types (…, k) in each cell."""
        return np.asarray(np.add.reduceat(values, self.edges[:-1], axis=-1) / self.widths)

    def halved(self, shares: Floats, most: int) -> Cells:
        """With the cells of the largest `shares` (m,) halved: half as many as there are, and at most `most` in all."""
        inner = self.widths[: self.ordered]
        count = min(max(1, self.ordered // 2), most - len(self.widths))
        order = np.argsort(-shares[: self.ordered], kind="stable")
        chosen = order[inner[order] > 1][: max(0, count)]
        added = self.edges[chosen] + inner[chosen] // 2
        return Cells(np.sort(np.concatenate([self.edges, added])), self.ordered + len(chosen))
