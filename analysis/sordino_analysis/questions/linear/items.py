"""Histograms of too many items to list: one query stands for all of them, since they are alike."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.arrays import Floats
from sordino_analysis.questions.linear.operators import Indices, Symmetry, TooLargeForDense, ZeroOneMap

# Answers to more items than these are not listed: a few megabytes of names, numbers and intervals.
MOST_LISTED_ITEMS = 1 << 16


class AnyItem(ZeroOneMap):
    """One row for the share of any one of `size` items; it has no entries, since it names no item."""

    symmetry = Symmetry.TYPES

    def __init__(self, size: int) -> None:
        self.size = size

    @property
    def shape(self) -> tuple[int, int]:
        return 1, self.size

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
