"""k-ary randomized response in closed form (Warner 1965; Kairouz, Bonawitz and Ramage 2016)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import (
    Randomizer,
    check_bits,
    check_size,
    index_bytes,
    pack_indices,
    unpack_indices,
)
from sordino_shared.randomness import Randomness


@dataclass(frozen=True)
class RandomizedResponse(Randomizer):
    """K(y|x) = other_weight/2^bits for y ≠ x, the rest of the mass on y = x."""

    kind: ClassVar[str] = "randomized_response"
    accumulator: ClassVar[str] = "counts"
    size: int
    bits: int
    other_weight: int

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_range(self.other_weight, 1, (1 << self.bits) // self.size, "weight of another value")

    @classmethod
    def for_guarantee(cls, size: int, guarantee: PureEpsilon, bits: int = 60) -> RandomizedResponse:
        """The least weight w with (2^bits − (k−1)w)/w ≤ e^ε: the closest law to the truth that keeps ε.

        Raises `InvalidValue` where 2^bits is too coarse for any.
        """
        scale = 128
        ratio = exp_lower_bound(guarantee.nano, scale)
        weight = -((-(1 << (bits + scale))) // (ratio + ((size - 1) << scale)))
        return cls(size, bits, weight)

    @property
    def own_weight(self) -> int:
        """Weight of the true value over 2^bits."""
        return (1 << self.bits) - (self.size - 1) * self.other_weight

    @property
    def payload_bytes(self) -> int:
        return index_bytes(self.size)

    @property
    def accumulator_size(self) -> int:
        return self.size

    def likelihood_ratio(self) -> tuple[int, int]:
        return self.own_weight, self.other_weight

    def randomize_many(self, cells: NDArray[np.int64], randomness: Randomness) -> NDArray[np.uint8]:
        self._check_cells(cells)
        draws = randomness.uniform_bits(self.bits, len(cells)).astype(np.int64)
        beyond = draws - self.own_weight
        others = beyond // self.other_weight
        others += others >= cells
        return pack_indices(np.where(beyond < 0, cells, others), self.payload_bytes)

    def in_alphabet(self, payloads: NDArray[np.uint8]) -> NDArray[np.bool_]:
        self._check_payloads(payloads)
        return unpack_indices(payloads) < self.size
