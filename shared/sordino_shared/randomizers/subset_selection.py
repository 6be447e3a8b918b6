"""Subset selection in closed form (Wang et al. 2016; Ye and Barg 2018, optimal for histograms at size k/(e^ε+1))."""

from __future__ import annotations

from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size
from sordino_shared.randomness import Randomness


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

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        self._check_cell(cell)
        included = randomness.bits(self.bits) < self.include_weight
        chosen = _uniform_subset(self.size - 1, self.subset_size - included, randomness)
        # The others are numbered without the value's own cell.
        below = chosen & ((1 << cell) - 1)
        members = below | (chosen ^ below) << 1 | included << cell
        return members.to_bytes(self.payload_bytes, "little")


def _uniform_subset(count: int, size: int, randomness: Randomness) -> int:
    """A uniform set of `size` of `count` numbers, as the bits of an integer.

    Floyd's algorithm (Bentley and Floyd 1987), on the smaller of the set and its complement.
    """
    drawn = min(size, count - size)
    members = bytearray((count + 7) // 8)
    for last in range(count - drawn, count):
        number = randomness.below(last + 1)
        if members[number >> 3] >> (number & 7) & 1:
            number = last
        members[number >> 3] |= 1 << (number & 7)
    chosen = int.from_bytes(members, "little")
    return chosen if drawn == size else chosen ^ ((1 << count) - 1)
