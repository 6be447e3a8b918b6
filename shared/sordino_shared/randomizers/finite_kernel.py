"""Finite kernels: a table of integers over 2^bits, whose rows have bounded ratios; the deficits go to a null output.

The table arrives dense, or as staircase rows (the extreme rays of the cone of ε-LDP rows): two levels and the set of
types at the upper one, one bit per entry. The rest of a column's 2^bits is the probability of the null output, an extra
output without a count of its own, so columns sum to one by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from sordino_shared._records import dataclass
from sordino_shared.arrays import Array
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers.base import (
    Randomizer,
    check_bits,
    check_size,
    index_bytes,
    pack_indices,
    unpack_indices,
)
from sordino_shared.randomness import Randomness

MAX_OUTPUTS = 1 << 20
# A table of 2^24 integers is 128 MiB, and two megabytes of membership bits may ask for it.
MAX_ENTRIES = 1 << 24
# Rows are unpacked for this many entries at a time: 2 MiB as 64-bit integers.
_BATCH_ENTRIES = 1 << 18
_LEVELS_AT_ONCE = 1 << 12
_HALF = np.uint64(2**32 - 1)


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

    def integers(self) -> NDArray[np.uint64]:
        """(m, k) integers over 2^bits."""
        return self.table.numpy()

    def some(self, start: int, stop: int) -> NDArray[np.uint64]:
        """(stop − start, k) the rows from `start` to before `stop`."""
        rows: NDArray[np.uint64] = self.table.numpy()[start:stop]
        return rows

    def column(self, cell: int) -> NDArray[np.uint64]:
        """(m,) the integers of one type."""
        column: NDArray[np.uint64] = self.table.numpy()[:, cell]
        return column


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
        if used and (self.members.numpy()[:, -1] >> np.uint8(used)).any():
            raise InvalidValue("bits past the last type must be zero", self.types)

    @classmethod
    def of(cls, low: NDArray[np.uint64], high: NDArray[np.uint64], members: NDArray[np.bool_]) -> TwoLevelRows:
        """Pack (m,) levels and the (m, k) membership."""
        packed = np.packbits(members, axis=1, bitorder="little")
        return cls(members.shape[1], Array.of(low, "<u8"), Array.of(high, "<u8"), Array.of(packed, "|u1"))

    @property
    def shape(self) -> tuple[int, int]:
        return self.low.shape[0], self.types

    def integers(self) -> NDArray[np.uint64]:
        """(m, k) integers over 2^bits."""
        return self.some(0, len(self.low.numpy()))

    def some(self, start: int, stop: int) -> NDArray[np.uint64]:
        """(stop − start, k) the rows from `start` to before `stop`."""
        bits = np.unpackbits(self.members.numpy()[start:stop], axis=1, bitorder="little")[:, : self.types]
        return np.where(bits == 1, self.high.numpy()[start:stop, None], self.low.numpy()[start:stop, None])

    def column(self, cell: int) -> NDArray[np.uint64]:
        """(m,) the integers of one type."""
        inside = self.members.numpy()[:, cell // 8] >> np.uint8(cell % 8) & np.uint8(1)
        return np.where(inside == 1, self.high.numpy(), self.low.numpy())


KernelRows = DenseRows | TwoLevelRows


@dataclass(frozen=True)
class FiniteKernel(Randomizer):
    """K(y|x) = table[y, x]/2^bits for the m rows; output m, if any column leaves a deficit, is the null output."""

    kind: ClassVar[str] = "finite_kernel"
    accumulator: ClassVar[str] = "counts"
    bits: int
    rows: KernelRows

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if int(self._extremes[1].max()) > 1 << self.bits:
            raise InvalidValue("a kernel entry is above 2^bits: a probability above one")
        if self._deficits is None:
            raise InvalidValue("a kernel column sums to more than 2^bits: probabilities above one")

    @property
    def size(self) -> int:
        return self.rows.shape[1]

    @cached_property
    def integers(self) -> NDArray[np.uint64]:
        """(m, k) integers over 2^bits, without the null output."""
        return self.rows.integers()

    def _batches(self) -> Iterator[NDArray[np.uint64]]:
        """The rows a few at a time: a device verifies and answers without ever holding the whole table."""
        rows, types = self.rows.shape
        step = max(1, _BATCH_ENTRIES // types)
        for start in range(0, rows, step):
            yield self.rows.some(start, min(start + step, rows))

    @cached_property
    def _extremes(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """(m,) the least and (m,) the greatest integer of every row."""
        pairs = [(batch.min(axis=1), batch.max(axis=1)) for batch in self._batches()]
        return np.concatenate([least for least, _ in pairs]), np.concatenate([most for _, most in pairs])

    @cached_property
    def _deficits(self) -> NDArray[np.uint64] | None:
        """(k,) what the rows leave of every column's 2^bits; None where they leave less than nothing."""
        # Sums of up to 2^20 entries of 62 bits overflow a word, so the two halves are summed apart.
        upper, lower = np.zeros((2, self.size), dtype=np.uint64)
        for batch in self._batches():
            upper += (batch >> np.uint64(32)).sum(axis=0, dtype=np.uint64)
            lower += (batch & _HALF).sum(axis=0, dtype=np.uint64)
        upper += lower >> np.uint64(32)
        if int(upper.max()) >> 31:
            return None
        sums = (upper << np.uint64(32)) | (lower & _HALF)
        whole = np.uint64(1 << self.bits)
        return None if (sums > whole).any() else whole - sums

    @cached_property
    def has_null_output(self) -> bool:
        return self._deficits is not None and bool(self._deficits.any())

    @property
    def _null(self) -> NDArray[np.uint64]:
        """(k,) the integers of the null output."""
        assert self._deficits is not None
        return self._deficits

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

    @cached_property
    def table(self) -> NDArray[np.uint64]:
        """(outputs, k) integers over 2^bits, the null output last; every column sums to 2^bits."""
        return np.vstack([self.integers, self._null[None, :]]) if self.has_null_output else self.integers

    def likelihood_ratio(self) -> tuple[int, int] | None:
        numerator, denominator = 1, 1
        for high, low in self._levels():
            if low == 0 and high > 0:
                return None
            if high * denominator > numerator * low:
                numerator, denominator = high, low
        return numerator, denominator

    def _levels(self) -> Iterator[tuple[int, int]]:
        """The greatest and the least integer of every output, the null output included."""
        least, most = self._extremes
        for start in range(0, len(most), _LEVELS_AT_ONCE):
            rows = slice(start, start + _LEVELS_AT_ONCE)
            yield from zip(most[rows].tolist(), least[rows].tolist(), strict=True)
        if self.has_null_output:
            yield int(self._null.max()), int(self._null.min())

    def randomize_many(self, cells: NDArray[np.int64], randomness: Randomness) -> NDArray[np.uint8]:
        self._check_cells(cells)
        draws = randomness.uniform_bits(self.bits, len(cells))
        outputs = np.empty(len(cells), dtype=np.int64)
        for cell in np.unique(cells):
            holders = cells == cell
            # What is above the last step is the null output, whose deficit ends at 2^bits.
            steps = np.cumsum(self.rows.column(int(cell)), dtype=np.uint64)
            outputs[holders] = np.searchsorted(steps, draws[holders], side="right")
        return pack_indices(outputs, self.payload_bytes)

    def in_alphabet(self, payloads: NDArray[np.uint8]) -> NDArray[np.bool_]:
        self._check_payloads(payloads)
        outputs = unpack_indices(payloads)
        return (outputs < self.outputs) & self._possible[np.minimum(outputs, self.outputs - 1)]

    @cached_property
    def _possible(self) -> NDArray[np.bool_]:
        """(outputs,) whether some value produces the output: a row of zeros is never sent."""
        possible = self._extremes[1] > 0
        return np.append(possible, True) if self.has_null_output else possible


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
