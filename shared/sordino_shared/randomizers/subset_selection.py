"""Subset selection in closed form (Wang et al. 2016; Ye and Barg 2018, optimal for histograms at size k/(e^ε+1))."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size
from sordino_shared.randomness import Randomness


@dataclass(frozen=True)
class SubsetSelection(Randomizer):
    """A subset S of `subset_size` cells: P(x ∈ S) = include_weight/2^bits, and S is uniform given whether x is in it."""

    kind: ClassVar[str] = "subset_selection"
    statistic: ClassVar[str] = "bit_counts"
    size: int
    subset_size: int
    bits: int
    include_weight: int

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_range(self.subset_size, 1, self.size - 1, "subset size")
        check_range(self.include_weight, 1, (1 << self.bits) - 1, "weight of including the value")
        numerator, denominator = self._inclusion_ratio()
        if numerator < denominator:
            raise InvalidValue("subsets must contain the value at least as often as another", self.include_weight)

    @classmethod
    def for_guarantee(cls, size: int, subset_size: int, guarantee: PureEpsilon, bits: int = 60) -> SubsetSelection:
        """The largest weight p with p(k−d)/((2^bits−p)d) ≤ e^ε."""
        scale = 128
        check_range(subset_size, 1, size - 1, "subset size")
        odds = exp_lower_bound(guarantee.nano, scale) * subset_size
        weight = (odds << bits) // (odds + ((size - subset_size) << scale))
        return cls(size, subset_size, bits, weight)

    def _inclusion_ratio(self) -> tuple[int, int]:
        excluded = (1 << self.bits) - self.include_weight
        return self.include_weight * (self.size - self.subset_size), excluded * self.subset_size

    @property
    def payload_bytes(self) -> int:
        return (self.size + 7) // 8

    @property
    def statistic_size(self) -> int:
        return self.size

    def likelihood_ratio(self) -> tuple[int, int]:
        return self._inclusion_ratio()

    def randomize_many(self, cells: NDArray[np.int64], randomness: Randomness) -> NDArray[np.uint8]:
        self._check_cells(cells)
        draws = randomness.uniform_bits(self.bits, len(cells))
        included = draws < np.uint64(self.include_weight)
        # Uniform keys with the value's own key forced to the front or the back: the smallest keys are the subset.
        keys = self._distinct_keys(len(cells), randomness)
        rows = np.arange(len(cells))
        keys[rows, cells] = np.where(included, np.uint64(0), np.uint64(2**64 - 1))
        chosen = np.argpartition(keys, self.subset_size - 1, axis=1)[:, : self.subset_size]
        bitmap = np.zeros((len(cells), 8 * self.payload_bytes), dtype=np.uint8)
        np.put_along_axis(bitmap, chosen, 1, axis=1)
        return np.packbits(bitmap, axis=1, bitorder="little")

    def _distinct_keys(self, count: int, randomness: Randomness) -> NDArray[np.uint64]:
        """Rows of uniform keys in [1, 2^63] without ties: a row with a tie is redrawn, so every order is equally likely."""
        keys = self._keys(count, randomness)
        while len(tied := self._tied_rows(keys)):
            keys[tied] = self._keys(len(tied), randomness)
        return keys

    def _keys(self, count: int, randomness: Randomness) -> NDArray[np.uint64]:
        return randomness.uniform_bits(63, count * self.size).reshape(count, self.size) + np.uint64(1)

    @staticmethod
    def _tied_rows(keys: NDArray[np.uint64]) -> NDArray[np.intp]:
        ordered = np.sort(keys, axis=1)
        return np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))

    def in_alphabet(self, payloads: NDArray[np.uint8]) -> NDArray[np.bool_]:
        self._check_payloads(payloads)
        bitmap = np.unpackbits(payloads, axis=1, bitorder="little")
        full: NDArray[np.bool_] = bitmap[:, : self.size].sum(axis=1, dtype=np.int64) == self.subset_size
        return full & ~bitmap[:, self.size :].any(axis=1)
