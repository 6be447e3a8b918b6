"""Random partitions of the values into cells; what is drawn for one does not depend on the value and is public."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity
from sordino_shared.randomizers.coarsened.bit_fields import index_bits
from sordino_shared.randomness import Randomness

Sizes = tuple[int, ...]
MAX_ATTRIBUTES = 255
MAX_SIZE = 1 << 64
# A slot has two members at least, and the cells of a level are at most 2^64.
MAX_SLOTS = 64
MAX_WIDTH = 1 << 63
# A grid's offset and the index it is added to fit a word, up to this size.
MAX_SHIFTED_SIZE = 1 << 62


@dataclass(frozen=True)
class GridPartition:
    """Coordinate ⌊(x_a + o_a)/w_a⌋ of each attribute of width w_a > 0, with o_a uniform in [0, w_a).

    A width of 0 leaves the attribute out; a width of 1 tells it exactly and needs no offset.
    """

    kind: ClassVar[str] = "grid"
    widths: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(len(self.widths), 1, MAX_ATTRIBUTES, "number of widths of a grid")
        for width in self.widths:
            check_range(width, 0, MAX_WIDTH, "width of a grid")
        if not any(self.widths):
            raise InvalidValue("a grid must look at one attribute at least: every width is 0", self.widths)

    def check(self, sizes: Sizes) -> None:
        """Raise `InvalidValue` unless the grid is one of attributes of these sizes."""
        if len(self.widths) != len(sizes):
            raise InvalidValue(
                f"a grid has {quantity(len(self.widths), 'width')} for {quantity(len(sizes), 'attribute')}",
                self.widths,
            )
        for width, size in zip(self.widths, sizes, strict=True):
            if width > 2 * size:
                raise InvalidValue(f"a grid on {size} members is at most {2 * size} wide, got {width}", width)
            if width > 1 and size > MAX_SHIFTED_SIZE:
                raise InvalidValue("an attribute of more than 2^62 members can only have the width 0 or 1", width)

    def attributes(self) -> list[int]:
        """Places of the attributes that the grid looks at, one for each coordinate."""
        return [place for place, width in enumerate(self.widths) if width]

    def shape(self, sizes: Sizes) -> Sizes:
        """How many values each coordinate has: ⌊(size − 1 + w − 1)/w⌋ + 1."""
        return tuple((sizes[a] + self.widths[a] - 2) // self.widths[a] + 1 for a in self.attributes())

    def public_bits(self, sizes: Sizes) -> tuple[int, ...]:
        """Bits of each offset; none for a width of 1."""
        return tuple(index_bits(width) for width in self.widths if width > 1)

    def draw(self, sizes: Sizes, randomness: Randomness) -> list[int]:
        """Offsets, one for each width above 1."""
        return [randomness.below(width) for width in self.widths if width > 1]

    def coordinates(self, codes: Sequence[int], public: Sequence[int]) -> list[int]:
        """Coordinates of a value, one for each attribute that the grid looks at."""
        offsets = iter(public)
        return [
            codes[a] if self.widths[a] == 1 else (codes[a] + next(offsets)) // self.widths[a] for a in self.attributes()
        ]


@dataclass(frozen=True)
class SubsetPartition:
    """The values of random attributes: each slot gets an attribute of its size, all placements being equally likely.

    `slots` are the sizes of the slots; no attribute is in two of them.
    """

    kind: ClassVar[str] = "subset"
    slots: tuple[int, ...]

    def __post_init__(self) -> None:
        check_range(len(self.slots), 1, MAX_SLOTS, "number of slots")
        for slot in self.slots:
            check_range(slot, 2, MAX_WIDTH, "size of a slot")

    def check(self, sizes: Sizes) -> None:
        """Raise `InvalidValue` unless attributes of these sizes fill the slots."""
        if missing := Counter(self.slots) - Counter(sizes):
            raise InvalidValue(f"there are too few attributes for slots of the sizes {sorted(missing)}", self.slots)

    def shape(self, sizes: Sizes) -> Sizes:
        """How many values each coordinate has: the sizes of the slots."""
        return self.slots

    def public_bits(self, sizes: Sizes) -> tuple[int, ...]:
        """Bits of the place of an attribute, for each slot."""
        return (index_bits(len(sizes)),) * len(self.slots)

    def draw(self, sizes: Sizes, randomness: Randomness) -> list[int]:
        """Places of distinct attributes, one for each slot."""
        drawn = [0] * len(self.slots)
        for size in dict.fromkeys(self.slots):
            left = [place for place, other in enumerate(sizes) if other == size]
            for done, slot in enumerate(at for at, other in enumerate(self.slots) if other == size):
                chosen = done + randomness.below(len(left) - done)
                drawn[slot] = left[chosen]
                left[chosen] = left[done]
        return drawn

    def coordinates(self, codes: Sequence[int], public: Sequence[int]) -> list[int]:
        """Coordinates of a value, one for each slot."""
        return [codes[place] for place in public]


Partition = GridPartition | SubsetPartition


def cell_count(shape: Sizes) -> int:
    """How many cells there are."""
    return math.prod(shape)
