"""Histograms of too many items to list: one query stands for all of them, since they are alike."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices, Symmetry, TooLargeForDense, ZeroOneMap

# Answers to more items than these are not listed: a few megabytes of names, numbers and intervals.
MOST_LISTED_ITEMS = 1 << 16


class _ManyItems(ZeroOneMap):
    """Rows for single items of a histogram over `size` of them, too many for any product."""

    symmetry = Symmetry.TYPES

    def __init__(self, size: int) -> None:
        self.size = size

    def matvec(self, histogram: Floats) -> Floats:
        self._refuse()

    def rmatvec(self, weights: Floats) -> Floats:
        self._refuse()

    def take(self, rows: Indices) -> Floats:
        self._refuse()

    def answers_of_codes(self, codes: NDArray[np.uint64], shape: tuple[int, ...]) -> Floats:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TooLargeForDense(f"a histogram of {self.size} items is not listed: ask for items one by one", self)


class AnyItem(_ManyItems):
    """One row for the share of any one of `size` items; it has no entries, since it names no item."""

    @property
    def shape(self) -> tuple[int, int]:
        return 1, self.size


class ChosenItems(_ManyItems):
    """A row for each of the items whose members have the indices `codes` (m, attributes)."""

    def __init__(self, size: int, codes: NDArray[np.uint64]) -> None:
        super().__init__(size)
        self.codes = codes

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes), self.size

    def answers_of_codes(self, codes: NDArray[np.uint64], shape: tuple[int, ...]) -> Floats:
        return np.array([(codes == item).all(axis=1).mean() for item in self.codes])
