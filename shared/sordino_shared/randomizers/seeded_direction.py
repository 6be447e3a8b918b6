"""The half-sphere randomizer of a bounded vector as a seed and one bit.

`VRand` of Bassily, Bun, Nelson and Stemmer 2019 (Lemma 9 of Edmonds, Nikolov and Ullman 2020; after Duchi, Jordan and
Wainwright 2018). The seed is uniform and independent of the value; only the bit depends on it, through a binary
randomised response whose two probabilities are integers over 2^bits. So the likelihood ratio of (seed, bit) is the
coin's alone, whatever sign an implementation computes.
"""

from __future__ import annotations

from operator import mul
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size
from sordino_shared.randomizers.directions import SEED_BYTES, direction
from sordino_shared.randomness import Randomness

# |atom| < 2^15 and |direction entry| ≤ 2^31: 2^16 such products still fit a signed 64-bit sum.
MAX_DIMENSION = 1 << 16


@dataclass(frozen=True)
class SeededDirection(Randomizer):
    """P(bit = 1[⟨g, r_x⟩ ≥ 0]) = keep_weights[x]/2^bits for a direction g drawn from a uniform public seed.

    `vectors` is <i4 of shape (k, d), the directions r_x of the types, of any lengths; how long the type's vector is
    relative to the longest one is in `keep_weights`, <u8 of shape (k,): 2^(bits−1) for a zero vector.
    """

    kind: ClassVar[str] = "seeded_direction"
    accumulator: ClassVar[str] = "direction_sums"
    bits: int
    vectors: Array
    keep_weights: Array

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if len(self.vectors.shape) != 2:
            raise InvalidValue("vectors must have two dimensions (types, dimension)", self.vectors.shape)
        check_size(self.size)
        check_range(self.dimension, 1, MAX_DIMENSION, "dimension")
        self.vectors.check_form("<i4", (self.size, self.dimension), "vectors")
        self.keep_weights.check_form("<u8", (self.size,), "keep weights")
        weights = self.keep_weights.numbers()
        if not 0 < min(weights) <= max(weights) < 1 << self.bits:
            raise InvalidValue("a keep weight must be above 0 and below 2^bits")

    @staticmethod
    def largest_keep_weight(guarantee: PureEpsilon, bits: int = 60) -> int:
        """The largest c with c/(2^bits − c) ≤ e^ε."""
        scale = 128
        odds = exp_lower_bound(guarantee.nano, scale)
        return (odds << bits) // (odds + (1 << scale))

    @property
    def size(self) -> int:
        return self.vectors.shape[0]

    @property
    def dimension(self) -> int:
        """d, the dimension of the directions."""
        return self.vectors.shape[1]

    @property
    def payload_bytes(self) -> int:
        return SEED_BYTES + 1

    @property
    def accumulator_size(self) -> int:
        return self.dimension

    def likelihood_ratio(self) -> tuple[int, int]:
        # A seed can put any two types on either side, so the extremes over all types and both bits are reached.
        weights = self.keep_weights.numbers()
        least, most = min(weights), max(weights)
        return max(most, (1 << self.bits) - least), min(least, (1 << self.bits) - most)

    @property
    def has_coin(self) -> bool:
        return True

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        self._check_cell(cell)
        seed = (coin or randomness).bytes(SEED_BYTES)
        keep = randomness.bits(self.bits) < self.keep_weights.numbers()[cell]
        vector = self.vectors.numbers()[cell * self.dimension : (cell + 1) * self.dimension]
        positive = sum(map(mul, direction(seed, self.dimension), vector)) >= 0
        return seed + bytes((positive == keep,))

    def agrees(self, payload: bytes, coin: Randomness) -> bool:
        return payload[:SEED_BYTES] == coin.bytes(SEED_BYTES)

    def uniform_output(self, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """A payload of no value: a seed as a device draws it, and a fair bit."""
        return (coin or randomness).bytes(SEED_BYTES) + bytes((randomness.bits(1),))
