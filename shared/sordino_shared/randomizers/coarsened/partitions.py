"""Random partitions of the values into cells; what is drawn for one does not depend on the value and is public."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.errors import InvalidValue
from sordino_shared.quantities import quantity
from sordino_shared.randomizers.coarsened.bit_fields import Words, index_bits
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

    def draw(self, sizes: Sizes, count: int, randomness: Randomness) -> list[Words]:
        """(count,) offsets, one array for each width above 1."""
        return [randomness.below(width, count) for width in self.widths if width > 1]

    def coordinates(self, codes: Words, public: Sequence[Words]) -> list[Words]:
        """(n,) coordinates of the values `codes` (n, attributes), one array for each attribute looked at.

        Offsets (n, 1) and values (1, m, attributes) give the coordinates (n, m) of every value in every report.
        """
        offsets = iter(public)
        return [
            codes[..., a] if self.widths[a] == 1 else (codes[..., a] + next(offsets)) // np.uint64(self.widths[a])
            for a in self.attributes()
        ]

    def allows(self, sizes: Sizes, public: Sequence[Words]) -> NDArray[np.bool_]:
        """(n,) whether offsets are below their widths."""
        widths = [np.uint64(width) for width in self.widths if width > 1]
        whole = np.ones(len(public[0]) if public else 1, dtype=np.bool_)
        return reduce(np.logical_and, (o < w for o, w in zip(public, widths, strict=True)), whole)


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

    def draw(self, sizes: Sizes, count: int, randomness: Randomness) -> list[Words]:
        """(count,) places of distinct attributes, one array for each slot."""
        drawn: dict[int, Words] = {}
        everyone = np.arange(count)
        for size in dict.fromkeys(self.slots):
            places = [place for place, other in enumerate(sizes) if other == size]
            left = np.tile(np.array(places, dtype=np.uint8), (count, 1))
            for done, slot in enumerate(at for at, other in enumerate(self.slots) if other == size):
                chosen = done + randomness.below(len(places) - done, count).astype(np.intp)
                drawn[slot] = left[everyone, chosen].astype(np.uint64)
                left[everyone, chosen] = left[:, done]
        return [drawn[slot] for slot in range(len(self.slots))]

    def coordinates(self, codes: Words, public: Sequence[Words]) -> list[Words]:
        """(n,) coordinates of the values `codes` (n, attributes), one array for each slot.

        Places (n, 1) and values (1, m, attributes) give the coordinates (n, m) of every value in every report.
        """
        return [np.take_along_axis(codes, places.astype(np.intp)[..., None], axis=-1)[..., 0] for places in public]

    def allows(self, sizes: Sizes, public: Sequence[Words]) -> NDArray[np.bool_]:
        """(n,) whether the slots hold distinct attributes of their sizes."""
        # A place that no attribute has stands for one of a single member, which fits no slot.
        classes = np.full(1 << index_bits(len(sizes)), -1, dtype=np.int64)
        kinds = {size: number for number, size in enumerate(dict.fromkeys(self.slots))}
        classes[: len(sizes)] = [kinds.get(size, -1) for size in sizes]
        places = np.stack(public)
        wanted = np.array([kinds[slot] for slot in self.slots])
        ordered = np.sort(places, axis=0)
        distinct = (ordered[1:] != ordered[:-1]).all(axis=0)
        return np.asarray(distinct & (classes[places.astype(np.intp)] == wanted[:, None]).all(axis=0))


Partition = GridPartition | SubsetPartition


def cell_numbers(coordinates: Sequence[Words], shape: Sizes) -> Words:
    """(n,) numbers of cells, mixed radix: the last coordinate varies fastest."""
    cells = coordinates[0]
    for coordinate, count in zip(coordinates[1:], shape[1:], strict=True):
        cells = cells * np.uint64(count) + coordinate
    return cells


def cell_count(shape: Sizes) -> int:
    """How many cells there are."""
    return math.prod(shape)
