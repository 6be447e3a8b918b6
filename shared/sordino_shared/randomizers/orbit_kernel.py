"""Rows over a few attributes, carried to all others by symmetry: for parities, marginals and other symmetric questions.

The device draws a row (a set of cells over a few slots), gives each slot an attribute of its size, draws a cell z of
the row, where each cell in the set is `high`/`low` times as likely as each one outside, and reports the row, the
attributes and how far z is from its own values there: shift = x − z, slot by slot, modulo the sizes. Row and attributes
do not depend on the value, so the ratio of likelihoods is high/low, whatever the row. Averaging over the shifts and
arrangements makes the information of a report diagonal in the characters of the group of shifts.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from sordino_shared._checks import check_range
from sordino_shared._records import dataclass
from sordino_shared.arrays import Array
from sordino_shared.domains import MAX_CELLS
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.base import Randomizer, cell_codes, cell_number, check_bits, check_codes, steps
from sordino_shared.randomness import Randomness

# Attributes are numbered by a byte, of which 255 is no attribute.
MAX_ATTRIBUTES = 255
MAX_ROWS = 256
MAX_ROW_CELLS = 4096
# Sums that an aggregator keeps.
MAX_SUMS = 1 << 22
UNUSED = 255
SHIFT_BYTES = 2


@dataclass(frozen=True)
class BaseRow:
    """A set of cells over slots of the sizes `shape`: bit z (little-endian order) is 1 where cell z is in it."""

    shape: tuple[int, ...]
    members: Array

    def __post_init__(self) -> None:
        check_range(len(self.shape), 1, MAX_ATTRIBUTES, "number of slots of a row")
        for size in self.shape:
            check_range(size, 2, MAX_ROW_CELLS, "size of a slot")
        check_range(self.cells, 2, MAX_ROW_CELLS, "number of cells of a row")
        self.members.check_form("|u1", ((self.cells + 7) // 8,), "members of a row")
        if self._bits >> self.cells:
            raise InvalidValue("bits past the last cell must be zero", self.cells)
        if not 0 < self.inside < self.cells:
            raise InvalidValue("a row holds some cells and leaves some out", self)

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    def _bits(self) -> int:
        return int.from_bytes(self.members.data, "little")

    @property
    def inside(self) -> int:
        """How many cells are in the set."""
        return self._bits.bit_count()

    def sides(self) -> tuple[list[int], list[int]]:
        """The cells in the set, and those outside."""
        bits = self._bits
        sides: tuple[list[int], list[int]] = ([], [])
        for cell in range(self.cells):
            sides[~bits >> cell & 1].append(cell)
        return sides


@dataclass(frozen=True, kw_only=True)
class OrbitKernel(Randomizer):
    """Row b with chance row_weights[b]/2^bits, a uniform arrangement A, a shift t with the weight of x_A − t in b.

    `shape` holds the sizes of the attributes. A `pinned` attribute has the first slot of every row, and no other slot;
    without one, slots take attributes by their size alone. The aggregator adds up, row by row, the characters of up to
    `width` attributes; with `overlaps` it does so for every set of up to `width` attributes over the reports that hold
    the set, so that a decoder can tell how many of a query's attributes a report holds.
    """

    kind: ClassVar[str] = "orbit_kernel"
    accumulator: ClassVar[str] = "character_sums"
    shape: tuple[int, ...]
    width: int
    overlaps: bool
    bits: int
    low: int
    high: int
    row_weights: tuple[int, ...]
    rows: tuple[BaseRow, ...]
    pinned: int | None = None

    def __post_init__(self) -> None:
        check_bits(self.bits)
        check_range(len(self.shape), 1, MAX_ATTRIBUTES, "number of attributes")
        for size in self.shape:
            check_range(size, 1, 1 << 20, "size of an attribute")
        if self.size < 2:
            raise InvalidValue("a kernel needs at least two types", self.shape)
        check_range(self.width, 1, len(self.shape), "width of the characters")
        if self.pinned is not None:
            check_range(self.pinned, 0, len(self.shape) - 1, "number of the pinned attribute")
        check_range(len(self.rows), 1, MAX_ROWS, "number of rows")
        check_range(self.low, 1, 1 << self.bits, "low level")
        check_range(self.high, self.low, 1 << self.bits, "high level")
        if self.accumulator_size > MAX_SUMS:
            raise InvalidValue(
                f"{self.accumulator_size} sums of characters are too many: at most {MAX_SUMS}", self.width
            )
        for weight in self.row_weights:
            check_range(weight, 1, 1 << self.bits, "weight of a row")
        if len(self.row_weights) != len(self.rows) or sum(self.row_weights) != 1 << self.bits:
            raise InvalidValue("every row needs a weight, and the weights must sum to 2^bits", self.row_weights)
        for row in self.rows:
            self._check_row(row)

    def check_domain(self, shape: tuple[int, ...]) -> None:
        """As every randomizer does; besides, its attributes are the domain's, one by one."""
        super().check_domain(shape)
        if self.shape != shape:
            raise InvalidValue(f"the kernel's attributes have sizes {self.shape}, the domain's {shape}", self.shape)

    def _check_row(self, row: BaseRow) -> None:
        if Counter(self.slot_sizes(row)) - Counter(self.free_sizes):
            raise InvalidValue(f"a row has slots {row.shape}, the attributes have sizes {self.shape}", row)
        if self.pinned is not None and row.shape[0] != self.shape[self.pinned]:
            raise InvalidValue(
                f"the pinned attribute has {self.shape[self.pinned]} members, a row's first slot {row.shape[0]}", row
            )
        if self.mass(row) > 1 << 62:
            raise InvalidValue("the weights of a row's cells sum to more than 2^62", row)

    def mass(self, row: BaseRow) -> int:
        """Sum of the integer weights of the row's cells."""
        return row.inside * self.high + (row.cells - row.inside) * self.low

    @cached_property
    def free_sizes(self) -> tuple[int, ...]:
        """Sizes of the attributes, 0 for the pinned one, which no other slot takes."""
        return tuple(0 if place == self.pinned else size for place, size in enumerate(self.shape))

    def slot_sizes(self, row: BaseRow) -> tuple[int, ...]:
        """Sizes of the slots that take any attribute of their size: all, or all but the first."""
        return row.shape if self.pinned is None else row.shape[1:]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def slots(self) -> int:
        """Slots of the longest row: places for attributes in a payload."""
        return max(len(row.shape) for row in self.rows)

    @property
    def payload_bytes(self) -> int:
        return 1 + self.slots + SHIFT_BYTES

    @property
    def accumulator_size(self) -> int:
        """For each row its reports and the sums of characters: Σ Π (size − 1) over sets of up to `width` attributes.

        With `overlaps` Σ Π size, as characters of fewer attributes are counted again with each set around them.
        """
        sums = [1] + [0] * self.width
        for size in self.shape:
            characters = size if self.overlaps and size > 1 else size - 1
            for involved in range(self.width, 0, -1):
                sums[involved] += sums[involved - 1] * characters
        return len(self.rows) * sum(sums)

    @property
    def verified_entries(self) -> int:
        return sum(row.cells for row in self.rows)

    def likelihood_ratio(self) -> tuple[int, int]:
        return self.high, self.low

    @property
    def has_coin(self) -> bool:
        return True

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """As every randomizer does, where cells have numbers: up to 2^62 of them."""
        if self.size > MAX_CELLS:
            raise InvalidValue("more than 2^62 types have no cell numbers: give vectors of indices", self.size)
        self._check_cell(cell)
        return self._randomize(cell_codes(cell, self.shape), randomness, coin)

    def randomize_codes(
        self, codes: Sequence[int], shape: tuple[int, ...], randomness: Randomness, coin: Randomness | None = None
    ) -> bytes:
        self.check_domain(shape)
        check_codes(codes, shape)
        return self._randomize(codes, randomness, coin)

    def _randomize(self, codes: Sequence[int], randomness: Randomness, coin: Randomness | None) -> bytes:
        number, arranged = self._public(coin or randomness)
        shift = self._shift(self.rows[number], [codes[attribute] for attribute in arranged], randomness)
        return self._packed(number, arranged, shift)

    def agrees(self, payload: bytes, coin: Randomness) -> bool:
        return payload[:-SHIFT_BYTES] == self._packed(*self._public(coin), 0)[:-SHIFT_BYTES]

    def uniform_output(self, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        """A payload of no value: row and attributes as a device draws them, and a uniform shift."""
        number, arranged = self._public(coin or randomness)
        return self._packed(number, arranged, randomness.below(self.rows[number].cells))

    def _public(self, randomness: Randomness) -> tuple[int, list[int]]:
        """The number of a row and its attributes, which do not depend on the value."""
        number = bisect_right(steps(self.row_weights), randomness.bits(self.bits))
        return number, self._arrange(self.rows[number], randomness)

    def _packed(self, number: int, arranged: list[int], shift: int) -> bytes:
        unused = [UNUSED] * (self.slots - len(arranged))
        return bytes((number, *arranged, *unused)) + shift.to_bytes(SHIFT_BYTES, "little")

    def _arrange(self, row: BaseRow, randomness: Randomness) -> list[int]:
        """A uniformly random distinct attribute of the right size for every slot that is not pinned."""
        slots = self.slot_sizes(row)
        first = len(row.shape) - len(slots)
        arranged = [self.pinned or 0] * len(row.shape)
        for size in sorted(set(slots)):
            left = [place for place, free in enumerate(self.free_sizes) if free == size]
            for done, slot in enumerate(slot for slot, wanted in enumerate(slots, first) if wanted == size):
                chosen = done + randomness.below(len(left) - done)
                arranged[slot] = left[chosen]
                left[chosen] = left[done]
        return arranged

    def _shift(self, row: BaseRow, codes: Sequence[int], randomness: Randomness) -> int:
        """Number of codes − z, slot by slot modulo the sizes, for a cell z drawn by the row's weights."""
        members, others = row.sides()
        beyond = len(members) * self.high
        draw = randomness.below(self.mass(row))
        drawn = members[draw // self.high] if draw < beyond else others[(draw - beyond) // self.low]
        moved = zip(codes, cell_codes(drawn, row.shape), row.shape, strict=True)
        return cell_number([(code - z) % size for code, z, size in moved], row.shape)
