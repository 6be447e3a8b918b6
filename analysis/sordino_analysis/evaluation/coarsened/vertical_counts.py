"""How many of many words have bit b, for all 64 bits at once: rows of words are added as vertical counters.

A full adder takes three words of weight w to one of weight w and one of weight 2w in five operations, for 64 counters
and all columns together (Harley and Seal; Warren, Hacker's Delight, §5-1).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Counts = NDArray[np.int32]
# Bits of a word, each a counter.
LANES = 64


def count_lanes(rows: Iterable[Words], columns: int) -> Counts:
    """(columns, 64) how many of the rows (columns,) have each bit of each column's word."""
    return _counts(_planes(rows), columns)


def _planes(rows: Iterable[Words]) -> list[Words]:
    """Σ 2^k planes[k] over all rows, lane by lane."""
    waiting: list[list[Words]] = []
    for row in rows:
        _push(waiting, 0, row)
    planes, weight = list[Words](), 0
    # A carry adds another weight.
    while weight < len(waiting):
        # Two are left at most: a half adder makes one of them.
        if len(waiting[weight]) == 2:
            first, second = waiting[weight]
            waiting[weight] = [first ^ second]
            _push(waiting, weight + 1, first & second)
        planes.append(waiting[weight][0])
        weight += 1
    return planes


def _push(waiting: list[list[Words]], weight: int, row: Words) -> None:
    while True:
        if weight == len(waiting):
            waiting.append([])
        waiting[weight].append(row)
        if len(waiting[weight]) < 3:
            return
        first, second, third = waiting[weight]
        either = first ^ second
        waiting[weight] = [either ^ third]
        row = (first & second) | (either & third)
        weight += 1


def _counts(planes: list[Words], columns: int) -> Counts:
    counts = np.zeros((columns, LANES), dtype=np.int32)
    for weight, plane in enumerate(planes):
        lanes = np.unpackbits(plane.astype("<u8").view(np.uint8).reshape(columns, 8), axis=1, bitorder="little")
        counts += lanes.astype(np.int32) << weight
    return counts
