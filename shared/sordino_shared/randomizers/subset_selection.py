"""Subset selection in closed form (Wang et al. 2016; Ye and Barg 2018, optimal for histograms at size k/(e^ε+1))."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size
from sordino_shared.randomness import Randomness

# Keys are drawn for this many entries at a time: 32 MiB of them.
_BATCH_ENTRIES = 1 << 22


@dataclass(frozen=True)
class SubsetSelection(Randomizer):
    """A subset S of `subset_size` cells: P(x ∈ S) = include_weight/2^bits; given whether x is in it, S is uniform."""

    kind: ClassVar[str] = "subset_selection"
    accumulator: ClassVar[str] = "bit_counts"
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
        """The largest weight p with p(k−d)/((2^bits−p)d) ≤ e^ε; raises `InvalidValue` where 2^bits is too coarse."""
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
    def accumulator_size(self) -> int:
        return self.size

    def likelihood_ratio(self) -> tuple[int, int]:
        return self._inclusion_ratio()

    def randomize_many(self, cells: NDArray[np.int64], randomness: Randomness) -> NDArray[np.uint8]:
        self._check_cells(cells)
        payloads = np.empty((len(cells), self.payload_bytes), dtype=np.uint8)
        batch = max(1, _BATCH_ENTRIES // self.size)
        for start in range(0, len(cells), batch):
            payloads[start : start + batch] = self._randomize_batch(cells[start : start + batch], randomness)
        return payloads

    def _randomize_batch(self, cells: NDArray[np.int64], randomness: Randomness) -> NDArray[np.uint8]:
        included = randomness.uniform_bits(self.bits, len(cells)) < np.uint64(self.include_weight)
        members = np.empty((len(cells), self.size), dtype=np.bool_)
        pending = np.arange(len(cells))
        while len(pending):
            members[pending] = self._smallest_keys(cells[pending], included[pending], randomness)
            pending = pending[members[pending].sum(axis=1) != self.subset_size]
        return np.packbits(members, axis=1, bitorder="little")

    def _smallest_keys(
        self, cells: NDArray[np.int64], included: NDArray[np.bool_], randomness: Randomness
    ) -> NDArray[np.bool_]:
        """(n, k) the types with the `subset_size` smallest of uniform keys, the value's own forced to either end.

        A tie at the boundary gives a larger set. Ties are as likely for every order of the other types, so a subset
        that is redrawn until there is none is exactly uniform.
        """
        keys = randomness.uniform_bits(63, len(cells) * self.size).reshape(len(cells), self.size) + np.uint64(1)
        keys[np.arange(len(cells)), cells] = np.where(included, np.uint64(0), np.uint64(2**64 - 1))
        largest = np.partition(keys, self.subset_size - 1, axis=1)[:, self.subset_size - 1]
        return keys <= largest[:, None]

    def in_alphabet(self, payloads: NDArray[np.uint8]) -> NDArray[np.bool_]:
        self._check_payloads(payloads)
        bitmap = np.unpackbits(payloads, axis=1, bitorder="little")
        full: NDArray[np.bool_] = bitmap[:, : self.size].sum(axis=1, dtype=np.int64) == self.subset_size
        return full & ~bitmap[:, self.size :].any(axis=1)
