"""Reports of an orbit kernel: a row, its attributes and a shift."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino_analysis.vectorized.arrays import pack_bits, unpack_bits
from sordino_analysis.vectorized.payloads import Payloads, pack_indices, unpack_indices
from sordino_analysis.vectorized.randomness import uniform_below, uniform_bits
from sordino_shared.domains import MAX_CELLS
from sordino_shared.errors import InvalidValue
from sordino_shared.randomizers import BaseRow, OrbitKernel
from sordino_shared.randomizers.orbit_kernel import SHIFT_BYTES, UNUSED
from sordino_shared.randomness import Randomness

Integers = NDArray[np.int64]


def base_row(members: NDArray[np.bool_]) -> BaseRow:
    """The row of a table of booleans (s₁, …, s_d), one axis a slot."""
    return BaseRow(members.shape, pack_bits(members.ravel()))


def row_members(row: BaseRow) -> NDArray[np.bool_]:
    """(cells,) whether a cell is in the row's set."""
    return unpack_bits(row.members, row.cells)


def cell_codes(kernel: OrbitKernel, cells: Integers) -> Integers:
    """(n, attributes) the indices of (n,) cells; raises `InvalidValue` where cells have no numbers."""
    if kernel.size > MAX_CELLS:
        raise InvalidValue("more than 2^62 types have no cell numbers: give vectors of indices", kernel.size)
    return np.stack(np.unravel_index(cells, kernel.shape), axis=1).astype(np.int64)


def randomize_orbits(kernel: OrbitKernel, codes: Integers, randomness: Randomness) -> Payloads:
    """(n, width) one report for each of the (n, attributes) values."""
    steps = np.cumsum(np.array(kernel.row_weights, dtype=np.uint64))
    drawn = np.searchsorted(steps, uniform_bits(randomness, kernel.bits, len(codes)), side="right")
    payloads = np.full((len(codes), kernel.payload_bytes), UNUSED, dtype=np.uint8)
    payloads[:, 0] = drawn
    for index, row in enumerate(kernel.rows):
        holders = np.flatnonzero(drawn == index)
        if len(holders):
            arranged = _arrange(kernel, row, len(holders), randomness)
            shifts = _shift(kernel, row, np.take_along_axis(codes[holders], arranged, axis=1), randomness)
            payloads[holders, 1 : 1 + len(row.shape)] = arranged
            payloads[holders, -SHIFT_BYTES:] = pack_indices(shifts, SHIFT_BYTES)
    return payloads


def _arrange(kernel: OrbitKernel, row: BaseRow, count: int, randomness: Randomness) -> Integers:
    """(count, slots) a uniformly random distinct attribute of the right size for every slot that is not pinned."""
    slots, free = kernel.slot_sizes(row), np.array(kernel.free_sizes)
    first = len(row.shape) - len(slots)
    arranged = np.full((count, len(row.shape)), 0 if kernel.pinned is None else kernel.pinned, dtype=np.int64)
    everyone = np.arange(count)
    for size in sorted(set(slots)):
        left = np.tile(np.flatnonzero(free == size), (count, 1))
        for done, slot in enumerate(first + np.flatnonzero(np.array(slots) == size)):
            chosen = done + uniform_below(randomness, left.shape[1] - done, count).astype(np.int64)
            arranged[:, slot] = left[everyone, chosen]
            left[everyone, chosen] = left[:, done]
    return arranged


def _shift(kernel: OrbitKernel, row: BaseRow, codes: Integers, randomness: Randomness) -> Integers:
    """(n,) index of codes − z, slot by slot modulo the sizes, for a cell z drawn by the row's weights."""
    inside = row_members(row)
    members, others = np.flatnonzero(inside), np.flatnonzero(~inside)
    beyond = len(members) * kernel.high
    draws = uniform_below(randomness, kernel.mass(row), len(codes)).astype(np.int64)
    within = members[np.minimum(draws // kernel.high, len(members) - 1)]
    outside = others[np.maximum(draws - beyond, 0) // kernel.low]
    drawn = np.stack(np.unravel_index(np.where(draws < beyond, within, outside), row.shape), axis=1)
    shifts = (codes - drawn) % np.array(row.shape)
    return np.asarray(np.ravel_multi_index(tuple(shifts.T), row.shape), dtype=np.int64)


def orbit_produces(kernel: OrbitKernel, payloads: Payloads) -> NDArray[np.bool_]:
    """(n,) whether some value produces each payload."""
    allowed = np.zeros(len(payloads), dtype=np.bool_)
    sizes = np.zeros(256, dtype=np.int64)
    sizes[: len(kernel.shape)] = kernel.shape
    for index, row in enumerate(kernel.rows):
        holders = np.flatnonzero(payloads[:, 0] == index)
        used, unused = np.split(payloads[holders, 1:-SHIFT_BYTES], [len(row.shape)], axis=1)
        fits = (sizes[used] == np.array(row.shape)).all(axis=1) & (unused == UNUSED).all(axis=1)
        ordered = np.sort(used, axis=1)
        distinct = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
        if kernel.pinned is not None:
            fits &= used[:, 0] == kernel.pinned
        shifts = unpack_indices(payloads[holders, -SHIFT_BYTES:])
        allowed[holders] = fits & distinct & (shifts < row.cells)
    return allowed


def parse_orbits(kernel: OrbitKernel, payloads: Payloads, row: int) -> tuple[Integers, Integers]:
    """Attributes (n, slots) and shifts (n,) of the payloads that report this row."""
    reported = payloads[payloads[:, 0] == row]
    slots = len(kernel.rows[row].shape)
    return reported[:, 1 : 1 + slots].astype(np.int64), unpack_indices(reported[:, -SHIFT_BYTES:])
