"""Subset selection at a random size: the law for histograms whose worst variance no single size reaches.

The size is drawn first, by weights that do not depend on the value, so the ratio of likelihoods is that of the size
with the largest one. A report is the set alone; its size is the number of its cells.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import ClassVar

from sordino_shared._checks import check_increasing, check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size, steps
from sordino_shared.randomizers.subset_selection import SubsetSelection
from sordino_shared.randomness import Randomness

MAX_SIZES = 64


@dataclass(frozen=True, kw_only=True)
class SubsetMixture(Randomizer):
    """Size s_j with chance size_weights[j]/2^bits; given it, the subset selection with include_weights[j]."""

    kind: ClassVar[str] = "subset_mixture"
    accumulator: ClassVar[str] = "sized_bit_counts"
    size: int
    bits: int
    subset_sizes: tuple[int, ...]
    size_weights: tuple[int, ...]
    include_weights: tuple[int, ...]

    def __post_init__(self) -> None:
        check_size(self.size)
        check_bits(self.bits)
        check_range(len(self.subset_sizes), 1, MAX_SIZES, "number of subset sizes")
        if not len(self.subset_sizes) == len(self.size_weights) == len(self.include_weights):
            raise InvalidValue("every subset size needs a weight and a weight of including the value", self)
        for chosen in self.subset_sizes:
            check_range(chosen, 1, self.size - 1, "subset size")
        check_increasing(self.subset_sizes, "subset sizes")
        for weight in self.size_weights:
            check_range(weight, 1, 1 << self.bits, "weight of a subset size")
        if sum(self.size_weights) != 1 << self.bits:
            raise InvalidValue("the weights of the subset sizes must sum to 2^bits", self.size_weights)
        # Making the parts checks each size and each weight of including the value.
        self.likelihood_ratio()

    @classmethod
    def for_guarantee(
        cls,
        size: int,
        subset_sizes: tuple[int, ...],
        chances: tuple[float, ...],
        guarantee: PureEpsilon,
        bits: int = 60,
    ) -> SubsetMixture:
        """Sizes with these chances, rounded so that the likeliest takes what is left; every size has the whole ε."""
        weights = [max(1, round(chance * 2.0**bits)) for chance in chances]
        likeliest = weights.index(max(weights))
        weights[likeliest] += (1 << bits) - sum(weights)
        included = [SubsetSelection.for_guarantee(size, s, guarantee, bits).include_weight for s in subset_sizes]
        return cls(
            size=size,
            bits=bits,
            subset_sizes=subset_sizes,
            size_weights=tuple(weights),
            include_weights=tuple(included),
        )

    @cached_property
    def parts(self) -> tuple[SubsetSelection, ...]:
        """The subset selection of every size."""
        pairs = zip(self.subset_sizes, self.include_weights, strict=True)
        return tuple(SubsetSelection(self.size, chosen, self.bits, weight) for chosen, weight in pairs)

    @property
    def payload_bytes(self) -> int:
        return (self.size + 7) // 8

    @property
    def accumulator_size(self) -> int:
        return len(self.subset_sizes) * self.size

    def likelihood_ratio(self) -> tuple[int, int]:
        worst = self.parts[0].likelihood_ratio()
        for part in self.parts[1:]:
            ratio = part.likelihood_ratio()
            if ratio[0] * worst[1] > worst[0] * ratio[1]:
                worst = ratio
        return worst

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        self._check_cell(cell)
        drawn = bisect_right(steps(self.size_weights), randomness.bits(self.bits))
        return self.parts[drawn].randomize(cell, randomness)
