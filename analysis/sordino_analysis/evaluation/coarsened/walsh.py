"""Walsh–Hadamard transforms in integers: the number of reports that hold each cell, for all cells at once.

With labels t = A·c, 1[t ⊖ y ∈ M] = (1/G) Σ_j M̂_j (−1)^⟨j, y⟩ (−1)^⟨Aᵀj, c⟩, where M̂_j = Σ_{z ∈ M} (−1)^⟨j, z⟩. A report
adds M̂_j (−1)^⟨j, y⟩ at the index Aᵀj of its table, and the transform of the table is G times the number of reports.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
# Butterflies run over blocks of this many entries, which stay in a processor's cache: 1 MiB.
_BLOCK = 1 << 17


def transform(table: NDArray[Any]) -> None:
    """Replace (2^r,) entries v by Σ_j v_j (−1)^⟨j, c⟩ at every c, in place; a block of 1 MiB is all that is copied."""
    inner = min(len(table), 1 << (len(table).bit_length() // 2))
    matrix = table.reshape(-1, inner)
    rows = max(1, _BLOCK // inner)
    for start in range(0, len(matrix), rows):
        block = matrix[start : start + rows]
        block[:] = _butterflies(block.T.copy()).T
    columns = max(1, _BLOCK // len(matrix))
    for start in range(0, inner, columns):
        matrix[:, start : start + columns] = _butterflies(matrix[:, start : start + columns].copy())


def transform_columns(columns: NDArray[Any]) -> None:
    """The transform of every column of (2^r, m), in place, a few columns at a time."""
    height, count = columns.shape
    if count == 1:
        transform(columns.reshape(-1))
        return
    step = max(1, _BLOCK // height)
    for start in range(0, count, step):
        columns[:, start : start + step] = _butterflies(columns[:, start : start + step].copy())


def _butterflies(columns: NDArray[Any]) -> NDArray[Any]:
    """The transform along axis 0 of (2^s, m), in place."""
    height, step = len(columns), 1
    while step < height:
        pairs = columns.reshape(height // (2 * step), 2, step, -1)
        first, second = pairs[:, 0], pairs[:, 1]
        first += second
        second *= -2
        second += first
        step *= 2
    return columns


def add_spectrum(
    table: Integers,
    inside: NDArray[np.bool_],
    rows: Sequence[Words],
    shifted: Words,
    column: NDArray[np.intp] | None = None,
    columns: int = 1,
) -> None:
    """Add reports with `rows` of A, (n,) each, and y `shifted` (n,) to their (2^r,) table; `inside` (G,) is M.

    With several `columns` the table is (2^r, columns), flat, and each report adds to its own `column` (n,).
    """
    spectrum = inside.astype(np.int64)
    transform(spectrum)
    if column is None:
        table[0] += int(spectrum[0]) * len(shifted)
    else:
        table[:columns] += int(spectrum[0]) * np.bincount(column, minlength=columns)
    signs = [1 - 2 * ((shifted >> np.uint64(bit)) & np.uint64(1)).astype(np.int64) for bit in range(len(rows))]
    index, sign = np.zeros(len(shifted), dtype=np.uint64), np.ones(len(shifted), dtype=np.int64)
    # In the order of the Gray code one row is added at a time.
    for step in range(1, len(spectrum)):
        bit = (step & -step).bit_length() - 1
        index ^= rows[bit]
        sign *= signs[bit]
        weight = int(spectrum[step ^ (step >> 1)])
        if weight:
            place = index.astype(np.intp)
            np.add.at(table, place if column is None else place * columns + column, weight * sign)
