"""Coarsen, then respond: for very large domains. Neither reports nor plans grow with the number of types.

Level, partition and label do not depend on the value. Given them, every y has the weight `high` or `low` over the same
sum, so that the ratio of likelihoods is high/low, whatever the partition and the label are.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.guarantees import PureEpsilon, exp_lower_bound
from sordino_shared.randomizers.base import Randomizer, cell_codes, check_codes, steps
from sordino_shared.randomizers.coarsened.bit_fields import index_bits, pack_fields
from sordino_shared.randomizers.coarsened.labels import ResidueLabel, cell_bits
from sordino_shared.randomizers.coarsened.level import (
    CHANCE_BITS,
    MAX_LEVELS,
    Level,
    LevelFamily,
    Weights,
    families_of,
)
from sordino_shared.randomizers.coarsened.partitions import MAX_ATTRIBUTES, MAX_SIZE, SubsetPartition
from sordino_shared.randomness import Randomness

MAX_WEIGHT = 1 << 62
# Cells have a number where it fits a signed word; beyond, values come as vectors only.
MAX_NUMBERED = 1 << 62
# Sums that an aggregator keeps: 256 MiB of them.
MAX_TABLES = 1 << 25


@dataclass(frozen=True)
class Coarsened(Randomizer):
    """Level ℓ with chance p_ℓ; the cell of x in its random partition; the cell's label t; y = t ⊖ z.

    `largest` holds the largest index of each attribute, its size − 1: 2^64 members fit the wire. z has the weight
    `high` in the level's members and `low` outside. Levels are numbered through the `families` from 0. A payload is the
    level's number, then its offsets or places, the words of its label and y, as bit fields of one little-endian
    integer; it is as wide as that of the widest level, and bits that a level does not use are 0.

    The cell itself as a label is no kind of its own: it is the residue modulo the sizes of the coordinates. The bits of
    a cell and the offsets' bits follow from sizes and widths and are not on the wire, where they could only be wrong.
    """

    kind: ClassVar[str] = "coarsened"
    accumulator: ClassVar[str] = "level_tables"
    largest: tuple[int, ...]
    low: int
    high: int
    families: tuple[LevelFamily, ...]

    def __post_init__(self) -> None:
        check_range(len(self.largest), 1, MAX_ATTRIBUTES, "number of attributes")
        for index in self.largest:
            check_range(index, 0, MAX_SIZE - 1, "largest index of an attribute")
        check_range(len(self.families), 1, MAX_LEVELS, "number of families")
        if len(self.levels) > MAX_LEVELS:
            raise InvalidValue(f"there are at most {MAX_LEVELS} levels, got {len(self.levels)}", len(self.levels))
        for level in self.levels:
            level.check(self.sizes)
        check_range(self.low, 1, MAX_WEIGHT, "low weight")
        check_range(self.high, self.low, MAX_WEIGHT, "high weight")
        if self.high * max(level.label.count for level in self.levels) >= 1 << 63:
            raise InvalidValue("the high weight times the number of labels must be below 2^63", self.high)
        total = sum(level.chance for level in self.levels)
        if total != 1 << CHANCE_BITS:
            raise InvalidValue(f"the chances of the levels must sum to 2^{CHANCE_BITS}, got {total}", total)

    @classmethod
    def for_guarantee(
        cls, sizes: tuple[int, ...], levels: Sequence[Level], guarantee: PureEpsilon, low: int = 1 << 40
    ) -> Coarsened:
        """Levels for attributes of these sizes, with the largest high weight whose ratio to `low` is within e^ε.

        Where weights of such a ratio do not fit, `low` is halved until they do. Levels that share their label and
        members are put together, so that `levels` may have another order.
        """
        scale, most = 128, max((level.label.count for level in levels), default=1)
        ratio = exp_lower_bound(guarantee.nano, scale)
        limit = min(MAX_WEIGHT, ((1 << 63) - 1) // most)
        while low > 1 and low * ratio >> scale > limit:
            low >>= 1
        high = low * ratio >> scale
        return cls(tuple(size - 1 for size in sizes), low, high, families_of(levels))

    @cached_property
    def levels(self) -> tuple[Level, ...]:
        """The levels of all families by their numbers."""
        return tuple(level for family in self.families for level in family.levels())

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the attributes."""
        return tuple(index + 1 for index in self.largest)

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def check_domain(self, shape: tuple[int, ...]) -> None:
        """The randomizer's attributes are the domain's, one by one."""
        if self.sizes != shape:
            raise InvalidValue(f"the randomizer's attributes have sizes {self.sizes}, the domain's {shape}", shape)

    @cached_property
    def field_bits(self) -> tuple[tuple[int, ...], ...]:
        """Bits of each field of a report, level by level: the level's number, then what the level tells."""
        number = index_bits(len(self.levels))
        return tuple((number, *level.field_bits(self.sizes)) for level in self.levels)

    @property
    def payload_bytes(self) -> int:
        return -(-max(map(sum, self.field_bits)) // 8)

    @cached_property
    def table_sizes(self) -> tuple[int, ...]:
        """Entries of each level's table; all 0 where together they exceed 2^25, so that answers need the reports.

        A grid of widths 1 with a random label has the 2^r entries of a Walsh table, every other grid one for each
        combination of members that it looks at; places of random attributes have none.
        """
        sizes = tuple(_table_size(level, self.sizes) for level in self.levels)
        return sizes if sum(sizes) <= MAX_TABLES else (0,) * len(sizes)

    @property
    def accumulator_size(self) -> int:
        """For each level its reports, then its table."""
        return len(self.levels) + sum(self.table_sizes)

    @property
    def verified_entries(self) -> int:
        # One report is of one level.
        return max(level.label.count for level in self.levels)

    def likelihood_ratio(self) -> tuple[int, int]:
        return self.high, self.low

    @property
    def has_coin(self) -> bool:
        return True

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """As every randomizer does, where cells have numbers: up to 2^62 of them."""
        if self.size > MAX_NUMBERED:
            raise InvalidValue("more than 2^62 types have no cell numbers: give vectors of indices", self.size)
        self._check_cell(cell)
        return self._randomize(cell_codes(cell, self.sizes), randomness, coin)

    def randomize_codes(
        self, codes: Sequence[int], shape: tuple[int, ...], randomness: Randomness, coin: Randomness | None = None
    ) -> bytes:
        self.check_domain(shape)
        check_codes(codes, shape)
        return self._randomize(codes, randomness, coin)

    def _randomize(self, codes: Sequence[int], randomness: Randomness, coin: Randomness | None) -> bytes:
        coin = coin or randomness
        number = self._draw_level(coin)
        fields = self.levels[number].draw(self.sizes, codes, Weights(self.low, self.high), randomness, coin)
        return pack_fields([number, *fields], self.field_bits[number], self.payload_bytes)

    def agrees(self, payload: bytes, coin: Randomness) -> bool:
        number, public, words = self.draw_public(coin)
        widths = self.field_bits[number]
        # The label y is the last field: what is below it is public.
        drawn = pack_fields([number, *public, *words, 0], widths, self.payload_bytes)
        mask = (1 << sum(widths[:-1])) - 1
        return int.from_bytes(payload, "little") & mask == int.from_bytes(drawn, "little")

    def draw_public(self, coin: Randomness) -> tuple[int, list[int], list[int]]:
        """What does not depend on the value: the level's number, offsets or places, words of the label."""
        number = self._draw_level(coin)
        return number, *self.levels[number].draw_public(self.sizes, coin)

    def uniform_output(self, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """A payload of no value: level and coins as a device draws them, and a uniform label."""
        coin = coin or randomness
        number = self._draw_level(coin)
        fields = self.levels[number].draw_uniform(self.sizes, randomness, coin)
        return pack_fields([number, *fields], self.field_bits[number], self.payload_bytes)

    def _draw_level(self, coin: Randomness) -> int:
        return bisect_right(steps([level.chance for level in self.levels]), coin.bits(CHANCE_BITS))


def _table_size(level: Level, sizes: tuple[int, ...]) -> int:
    if isinstance(level.partition, SubsetPartition):
        return 0
    if level.is_exact and not isinstance(level.label, ResidueLabel):
        return 1 << cell_bits(level.shape(sizes))
    return math.prod(sizes[attribute] for attribute in level.partition.attributes())
