"""k-ary randomized response in closed form (Warner 1965; Kairouz, Bonawitz and Ramage 2016)."""

from __future__ import annotations

from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size, index_bytes
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

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        self._check_cell(cell)
        beyond = randomness.bits(self.bits) - self.own_weight
        other = beyond // self.other_weight
        other += other >= cell
        return (cell if beyond < 0 else other).to_bytes(self.payload_bytes, "little")
