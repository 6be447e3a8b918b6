"""Finite kernels as tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.arrays import array_of, computed_once, ndarray, pack_bits
from sordino_analysis.vectorized.payloads import Payloads, pack_indices, unpack_indices
from sordino_analysis.vectorized.randomness import uniform_bits
from sordino_shared.randomizers import DenseRows, FiniteKernel, TwoLevelRows
from sordino_shared.randomizers.finite_kernel import KernelRows
from sordino_shared.randomness import Randomness

Integers = NDArray[np.uint64]
# Rows are unpacked for this many entries at a time: 2 MiB as 64-bit integers.
_BATCH_ENTRIES = 1 << 18


def two_level_rows(low: Integers, high: Integers, members: NDArray[np.bool_]) -> TwoLevelRows:
    """Pack (m,) levels and the (m, k) membership."""
    return TwoLevelRows(members.shape[1], array_of(low, "<u8"), array_of(high, "<u8"), pack_bits(members))


def some_rows(rows: KernelRows, start: int, stop: int) -> Integers:
    """(stop − start, k) integers over 2^bits: the rows from `start` to before `stop`."""
    match rows:
        case DenseRows():
            table: Integers = ndarray(rows.table)[start:stop]
            return table
        case TwoLevelRows():
            members = ndarray(rows.members)[start:stop]
            bits = np.unpackbits(members, axis=1, bitorder="little")[:, : rows.types]
            return np.where(bits == 1, ndarray(rows.high)[start:stop, None], ndarray(rows.low)[start:stop, None])
        case _:
            assert_never(rows)


def column(rows: KernelRows, cell: int) -> Integers:
    """(m,) the integers of one type."""
    match rows:
        case DenseRows():
            found: Integers = ndarray(rows.table)[:, cell]
            return found
        case TwoLevelRows():
            inside = ndarray(rows.members)[:, cell // 8] >> np.uint8(cell % 8) & np.uint8(1)
            return np.where(inside == 1, ndarray(rows.high), ndarray(rows.low))
        case _:
            assert_never(rows)


def kernel_integers(rows: KernelRows) -> Integers:
    """(m, k) integers over 2^bits, without the null output."""
    return some_rows(rows, 0, rows.shape[0])


@computed_once
def kernel_table(kernel: FiniteKernel) -> Integers:
    """(outputs, k) integers over 2^bits, the null output last; every column sums to 2^bits."""
    integers = kernel_integers(kernel.rows)
    if not kernel.has_null_output:
        return integers
    # No column sums to more than 2^bits, which is less than a word.
    deficits = np.uint64(1 << kernel.bits) - integers.sum(axis=0, dtype=np.uint64)
    return np.vstack([integers, deficits[None, :]])


@computed_once
def possible_outputs(kernel: FiniteKernel) -> NDArray[np.bool_]:
    """(outputs,) whether some value produces the output: a row of zeros is never sent."""
    possible = np.concatenate([batch.any(axis=1) for batch in _batches(kernel.rows)])
    return np.append(possible, True) if kernel.has_null_output else possible


def _batches(rows: KernelRows) -> Iterator[Integers]:
    """The rows a few at a time."""
    count, types = rows.shape
    step = max(1, _BATCH_ENTRIES // types)
    for start in range(0, count, step):
        yield some_rows(rows, start, min(start + step, count))


def randomize_kernel(kernel: FiniteKernel, cells: NDArray[np.int64], randomness: Randomness) -> Payloads:
    """(n, width) an output of each cell."""
    draws = uniform_bits(randomness, kernel.bits, len(cells))
    outputs = np.empty(len(cells), dtype=np.int64)
    for cell in np.unique(cells):
        holders = cells == cell
        # What is above the last step is the null output, whose deficit ends at 2^bits.
        steps = np.cumsum(column(kernel.rows, int(cell)), dtype=np.uint64)
        outputs[holders] = np.searchsorted(steps, draws[holders], side="right")
    return pack_indices(outputs, kernel.payload_bytes)


def kernel_produces(kernel: FiniteKernel, payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether some value produces each payload."""
    outputs = unpack_indices(payloads)
    possible = possible_outputs(kernel)
    return (outputs < kernel.outputs) & possible[np.minimum(outputs, kernel.outputs - 1)]
