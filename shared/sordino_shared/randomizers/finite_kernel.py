"""Finite kernels: a table of integers over 2^bits, whose rows have bounded ratios; the deficits go to a null output.

The table arrives dense, or as staircase rows (the extreme rays of the cone of ε-LDP rows): two levels and the set of
types at the upper one, one bit per entry. The rest of a column's 2^bits is the probability of the null output, an extra
output without a count of its own, so columns sum to one by construction.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import ClassVar

from sordino_shared._records import dataclass
from sordino_shared.arrays import Array, native
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.base import Randomizer, check_bits, check_size, index_bytes, steps
from sordino_shared.randomness import Randomness

MAX_OUTPUTS = 1 << 20
# A table of 2^24 integers is 128 MiB, and two megabytes of membership bits may ask for it.
MAX_ENTRIES = 1 << 24
_WORD_BYTES = 8


@dataclass(frozen=True)
class DenseRows:
    """`table` is <u8 of shape (m, k): row y holds the integers K(y|·)·2^bits."""

    kind: ClassVar[str] = "dense"
    table: Array

    def __post_init__(self) -> None:
        rows, columns = _two_dimensions(self.table)
        self.table.check_form("<u8", (rows, columns), "kernel table")
        _check_extent(rows, columns)

    @property
    def shape(self) -> tuple[int, int]:
        return _two_dimensions(self.table)

    def extremes(self) -> Iterator[tuple[int, int]]:
        """The least and the greatest integer of every row."""
        table, columns = self.table.numbers(), self.shape[1]
        for start in range(0, len(table), columns):
            row = table[start : start + columns]
            yield min(row), max(row)

    def sum_range(self) -> tuple[int, int]:
        """The least and the greatest sum of a column.

        A row is one large integer of 64-bit lanes. The upper and the lower halves of the words are added apart, so that
        2^20 rows of 2^32 fit a lane and no sum carries over into the next one.
        """
        columns, data = self.shape[1], self.table.data
        width = _WORD_BYTES * columns
        half = int.from_bytes((b"\xff" * 4 + b"\0" * 4) * columns, "little")
        upper = lower = 0
        for start in range(0, len(data), width):
            row = int.from_bytes(data[start : start + width], "little")
            lower += row & half
            upper += row >> 32 & half
        lanes = (native(halves.to_bytes(width, "little"), "Q") for halves in (lower, upper))
        sums = [low + (high << 32) for low, high in zip(*lanes, strict=True)]
        return min(sums), max(sums)

    def column(self, cell: int) -> memoryview:
        """(m,) the integers of one type."""
        return self.table.numbers()[cell :: self.shape[1]]


@dataclass(frozen=True)
class TwoLevelRows:
    """Row y is `high[y]` on the types whose bit (little-endian order) is set in `members[y]`, `low[y]` elsewhere."""

    kind: ClassVar[str] = "two_level"
    types: int
    low: Array
    high: Array
    members: Array

    def __post_init__(self) -> None:
        rows = self.low.shape[0]
        check_size(self.types)
        _check_extent(rows, self.types)
        self.low.check_form("<u8", (rows,), "low levels")
        self.high.check_form("<u8", (rows,), "high levels")
        self.members.check_form("|u1", (rows, (self.types + 7) // 8), "members")
        used = self.types % 8
        if used and max(self.members.data[self._width - 1 :: self._width]) >> used:
            raise InvalidValue("bits past the last type must be zero", self.types)

    @property
    def shape(self) -> tuple[int, int]:
        return self.low.shape[0], self.types

    @property
    def _width(self) -> int:
        """Bytes of a row's members."""
        return self.members.shape[1]

    def _rows(self) -> Iterator[tuple[int, int, int]]:
        """Low and high level of every row, and its set of types as the bits of an integer."""
        data, width = self.members.data, self._width
        starts = range(0, len(data), width)
        for low, high, start in zip(self.low.numbers(), self.high.numbers(), starts, strict=True):
            yield low, high, int.from_bytes(data[start : start + width], "little")

    def extremes(self) -> Iterator[tuple[int, int]]:
        """The least and the greatest integer of every row."""
        everything = (1 << self.types) - 1
        for low, high, members in self._rows():
            if members == everything:
                yield high, high
            elif not members:
                yield low, low
            else:
                yield min(low, high), max(low, high)

    def sum_range(self) -> tuple[int, int]:
        """The least and the greatest sum of a column."""
        base, sums, everything = 0, BitPlanes(self.types), (1 << self.types) - 1
        for low, high, members in self._rows():
            base += min(low, high)
            sums.add(abs(high - low), members if high >= low else everything ^ members)
        return base + sums.least(), base + sums.greatest()

    def column(self, cell: int) -> Sequence[int]:
        """(m,) the integers of one type."""
        inside, place = self.members.data[cell // 8 :: self._width], cell % 8
        levels = zip(self.low.numbers(), self.high.numbers(), strict=True)
        return [pair[byte >> place & 1] for pair, byte in zip(levels, inside, strict=True)]


KernelRows = DenseRows | TwoLevelRows


@dataclass(frozen=True)
class _Verified:
    """What one pass over the rows shows: the largest ratio (None: no finite one), and the null output's range."""

    ratio: tuple[int, int] | None
    least_null: int
    greatest_null: int


@dataclass(frozen=True)
class FiniteKernel(Randomizer):
    """K(y|x) = table[y, x]/2^bits for the m rows; output m, if any column leaves a deficit, is the null output."""

    kind: ClassVar[str] = "finite_kernel"
    accumulator: ClassVar[str] = "counts"
    bits: int
    rows: KernelRows

    def __post_init__(self) -> None:
        check_bits(self.bits)
        # Reads the rows and checks them.
        self.likelihood_ratio()

    @cached_property
    def _verified(self) -> _Verified:
        """One pass over the rows that keeps no list of them: there may be a million."""
        whole, largest = 1 << self.bits, (1, 1)
        finite = True
        for least, greatest in self.rows.extremes():
            if greatest > whole:
                raise InvalidValue("a kernel entry is above 2^bits: a probability above one")
            finite = finite and (least > 0 or greatest == 0)
            largest = _larger(largest, (greatest, least))
        low, high = self.rows.sum_range()
        if high > whole:
            raise InvalidValue("a kernel column sums to more than 2^bits: probabilities above one")
        least_null, greatest_null = whole - high, whole - low
        finite = finite and (least_null > 0 or greatest_null == 0)
        largest = _larger(largest, (greatest_null, least_null))
        return _Verified(largest if finite else None, least_null, greatest_null)

    @property
    def size(self) -> int:
        return self.rows.shape[1]

    @property
    def has_null_output(self) -> bool:
        return self._verified.greatest_null > 0

    @property
    def outputs(self) -> int:
        """m, plus one if there is a null output."""
        return self.rows.shape[0] + self.has_null_output

    @property
    def payload_bytes(self) -> int:
        return index_bytes(self.outputs)

    @property
    def accumulator_size(self) -> int:
        return self.outputs

    def likelihood_ratio(self) -> tuple[int, int] | None:
        return self._verified.ratio

    def randomize(self, cell: int, randomness: Randomness, coin: Randomness | None = None) -> bytes:
        self._check_cell(cell)
        draw = randomness.bits(self.bits)
        # What is above the last step is the null output, whose deficit ends at 2^bits.
        return bisect_right(steps(self.rows.column(cell)), draw).to_bytes(self.payload_bytes, "little")


def _larger(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    """The second ratio where it is above the first, else the first."""
    return second if second[0] * first[1] > first[0] * second[1] else first


def _check_extent(rows: int, columns: int) -> None:
    check_size(columns)
    if rows > MAX_OUTPUTS or rows * columns > MAX_ENTRIES:
        raise InvalidValue(
            f"a kernel of {rows} × {columns} is too large: at most {MAX_OUTPUTS} rows and {MAX_ENTRIES} entries",
            (rows, columns),
        )


def _two_dimensions(array: Array) -> tuple[int, int]:
    if len(array.shape) != 2:
        raise InvalidValue(f"a kernel table has two dimensions, got shape {array.shape}", array.shape)
    return array.shape[0], array.shape[1]


class BitPlanes:
    """Sums of `columns` columns, all 0 at first: plane j is an integer with one bit a column, bit j of its sum."""

    def __init__(self, columns: int) -> None:
        self._everything = (1 << columns) - 1
        self._planes: list[int] = []

    def add(self, number: int, chosen: int) -> None:
        """Add `number` to the columns whose bits are set in `chosen`: a ripple of carries over the planes."""
        planes, place, carry = self._planes, 0, 0
        while number or carry:
            if place == len(planes):
                planes.append(0)
            plane = planes[place]
            added = chosen if number & 1 else 0
            half = plane ^ added
            planes[place], carry = half ^ carry, plane & added | half & carry
            number, place = number >> 1, place + 1

    def greatest(self) -> int:
        """The largest sum: the columns that may have it grow fewer from the top plane down."""
        left, found = self._everything, 0
        for plane in reversed(self._planes):
            some = left & plane
            found = 2 * found + bool(some)
            left = some or left
        return found

    def least(self) -> int:
        """The smallest sum."""
        left, found = self._everything, 0
        for plane in reversed(self._planes):
            some = left & ~plane
            found = 2 * found + (not some)
            left = some or left
        return found
