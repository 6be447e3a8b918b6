"""One level of a coarsened randomizer: a partition, a label of its cells, and the labels that get the high weight."""

from __future__ import annotations

from collections.abc import Sequence

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.coarsened.bit_fields import index_bits
from sordino_shared.randomizers.coarsened.labels import Label
from sordino_shared.randomizers.coarsened.partitions import (
    MAX_SIZE,
    GridPartition,
    Partition,
    Sizes,
    cell_count,
)
from sordino_shared.randomness import Randomness

CHANCE_BITS = 32
MAX_LEVELS = 256


@dataclass(frozen=True)
class Weights:
    """The weights of a response: `high` of each label z in a set, `low` of each one outside."""

    low: int
    high: int


@dataclass(frozen=True)
class Level:
    """Drawn with chance/2^32; y = t ⊖ z for the value's label t and a z of the high weight in `members`, low outside.

    `members` is a set of the G labels as a bitmap: bit z (little-endian order) is 1 where z is in it, and the last byte
    is not 0, so that {0, 1, 2} is the one byte 07 whatever G is.
    """

    chance: int
    partition: Partition
    label: Label
    members: bytes

    @classmethod
    def of_first(cls, chance: int, partition: Partition, label: Label, count: int) -> Level:
        """The level whose members are the labels 0, …, `count` − 1."""
        return cls(chance, partition, label, ((1 << count) - 1).to_bytes((count + 7) // 8, "little"))

    def check(self, sizes: Sizes) -> None:
        """Raise `InvalidValue` unless the level is one for attributes of these sizes."""
        self.partition.check(sizes)
        shape = self.shape(sizes)
        if not 2 <= cell_count(shape) <= MAX_SIZE:
            raise InvalidValue(f"a level has from 2 to 2^64 cells, got {cell_count(shape)}", self.partition)
        self.label.check(shape)
        labels = self.label.count
        if not self.members or not self.members[-1]:
            raise InvalidValue("the members of a level are a bitmap whose last byte is not 0", self.members)
        if 8 * (len(self.members) - 1) + self.members[-1].bit_length() > labels:
            raise InvalidValue(f"a member of a level is no label: there are {labels}", self.members)
        if int.from_bytes(self.members, "little").bit_count() == labels:
            raise InvalidValue(f"all {labels} labels are members of a level: it would tell nothing", self.members)

    def shape(self, sizes: Sizes) -> Sizes:
        """How many values each coordinate of a cell has."""
        return self.partition.shape(sizes)

    @property
    def density(self) -> tuple[int, int]:
        """(m, G): the members and the labels."""
        return int.from_bytes(self.members, "little").bit_count(), self.label.count

    @property
    def is_exact(self) -> bool:
        """Whether cells are the members of attributes themselves: nothing is drawn for the partition."""
        return isinstance(self.partition, GridPartition) and max(self.partition.widths) == 1

    def field_bits(self, sizes: Sizes) -> tuple[int, ...]:
        """Bits of each field that follows the level's number: offsets or places, words of the label, y."""
        words = self.label.word_bits(self.shape(sizes))
        return (*self.partition.public_bits(sizes), *words, index_bits(self.label.count))

    def draw_public(self, sizes: Sizes, coin: Randomness) -> tuple[list[int], list[int]]:
        """What does not depend on the value: offsets or places, then words of the label."""
        return self.partition.draw(sizes, coin), self.label.draw(self.shape(sizes), coin)

    def draw(
        self, sizes: Sizes, codes: Sequence[int], weights: Weights, randomness: Randomness, coin: Randomness
    ) -> list[int]:
        """The fields of one report for a value."""
        public, words = self.draw_public(sizes, coin)
        label = self.label.label(self.partition.coordinates(codes, public), self.shape(sizes), words)
        return [*public, *words, self.label.minus(label, self._draw_shift(weights, randomness))]

    def draw_uniform(self, sizes: Sizes, randomness: Randomness, coin: Randomness) -> list[int]:
        """The fields of a report of no value: the public ones as for a value, and a uniform label y."""
        public, words = self.draw_public(sizes, coin)
        return [*public, *words, randomness.below(self.label.count)]

    def _draw_shift(self, weights: Weights, randomness: Randomness) -> int:
        """A label z, drawn by its weight."""
        bits, labels = int.from_bytes(self.members, "little"), range(self.label.count)
        members = [z for z in labels if bits >> z & 1]
        others = [z for z in labels if not bits >> z & 1]
        beyond = len(members) * weights.high
        draw = randomness.below(beyond + len(others) * weights.low)
        return members[draw // weights.high] if draw < beyond else others[(draw - beyond) // weights.low]


@dataclass(frozen=True)
class LevelFamily:
    """Levels on the wire: one partition and one chance for each, and what they share."""

    label: Label
    members: bytes
    partitions: tuple[Partition, ...]
    chances: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(len(self.partitions), 1, MAX_LEVELS, "number of partitions")
        check_range(len(self.chances), 1, MAX_LEVELS, "number of chances")
        for chance in self.chances:
            check_range(chance, 1, 1 << CHANCE_BITS, "chance of a level")
        if len(self.partitions) != len(self.chances):
            raise InvalidValue(f"{len(self.partitions)} partitions have {len(self.chances)} chances", self.chances)

    def levels(self) -> tuple[Level, ...]:
        """The levels in their order."""
        pairs = zip(self.chances, self.partitions, strict=True)
        return tuple(Level(chance, partition, self.label, self.members) for chance, partition in pairs)


def families_of(levels: Sequence[Level]) -> tuple[LevelFamily, ...]:
    """The levels put together by label and members, in the order in which these first occur."""
    found: dict[tuple[Label, bytes], list[Level]] = {}
    for level in levels:
        found.setdefault((level.label, level.members), []).append(level)
    return tuple(
        LevelFamily(label, members, tuple(one.partition for one in alike), tuple(one.chance for one in alike))
        for (label, members), alike in found.items()
    )
