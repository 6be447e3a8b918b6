"""Two randomizers of the same value in one report: their draws are independent, so their ε add up."""

from __future__ import annotations

from typing import ClassVar

from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.base import Randomizer
from sordino_shared.randomizers.finite_kernel import FiniteKernel
from sordino_shared.randomizers.seeded_direction import SeededDirection
from sordino_shared.randomness import Randomness

PairedRandomizer = FiniteKernel | SeededDirection


@dataclass(frozen=True)
class Pair(Randomizer):
    """K(y, z|x) = K₁(y|x)·K₂(z|x): a payload is a payload of `first`, then one of `second`.

    The statistic is that of `first`, then that of `second`, and, where both are directions of one dimension, one more
    entry for the inner product of the two: the sum over a user's own pair, which estimators of pairs of different users
    take out.
    """

    kind: ClassVar[str] = "pair"
    accumulator: ClassVar[str] = "pair_sums"
    first: PairedRandomizer
    second: PairedRandomizer

    def __post_init__(self) -> None:
        if self.first.size != self.second.size:
            raise InvalidValue(
                f"the two randomizers of a pair are for {self.first.size} and for {self.second.size} types",
                (self.first.size, self.second.size),
            )

    @property
    def size(self) -> int:
        return self.first.size

    @property
    def has_products(self) -> bool:
        """Whether the statistic ends with the inner product of the two directions."""
        both = isinstance(self.first, SeededDirection) and isinstance(self.second, SeededDirection)
        return both and self.first.accumulator_size == self.second.accumulator_size

    @property
    def payload_bytes(self) -> int:
        return self.first.payload_bytes + self.second.payload_bytes

    @property
    def accumulator_size(self) -> int:
        return self.first.accumulator_size + self.second.accumulator_size + self.has_products

    def likelihood_ratio(self) -> tuple[int, int] | None:
        # Of products the largest ratio is at most the product of the largest, and the two draws are independent.
        first, second = self.first.likelihood_ratio(), self.second.likelihood_ratio()
        if first is None or second is None:
            return None
        return first[0] * second[0], first[1] * second[1]

    @property
    def has_coin(self) -> bool:
        return self.first.has_coin or self.second.has_coin

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        return self.first.randomize(cell, randomness, coin) + self.second.randomize(cell, randomness, coin)

    def agrees(self, payload: bytes, coin: Randomness) -> bool:
        width = self.first.payload_bytes
        # Both are read, in this order, whatever the first says.
        first, second = self.first.agrees(payload[:width], coin), self.second.agrees(payload[width:], coin)
        return first and second
